"""Single columns that a network sees beside linear predictors:
those that say most of what lines leave.

Linear predictors cannot show that a test is ordered for patients who breathe very fast or very
slowly. In tables of discrete columns and missing cells such relations are common. A network that
sees the right column learns them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from knockoffs.density.density import AutoregressiveDensity
from knockoffs.density.starts import LinearConditionals
from knockoffs.generators.clusters import ClusteredGaussian, regression_on_all_others
from knockoffs.runtime.arrays import Array, Flags, Indices

VIEWS = 4  # columns per network
LOOK_ROWS = 10_000  # rows that columns are chosen by


def view_joint(
    start: LinearConditionals, model: ClusteredGaussian, z: Tensor
) -> LinearConditionals:
    """Let the network of column j of q_joint see single columns before j."""
    columns = z.shape[1]
    earlier = np.tri(columns, k=-1, dtype=bool)
    overall = model.overall
    chosen = strongest_columns(_some(z), overall.slope, overall.intercept, earlier)
    return _with_seen(start, _slopes(chosen, columns))


def view_knockoffs(
    start: LinearConditionals, model: ClusteredGaussian, z: Tensor
) -> LinearConditionals:
    r"""Let the network of $\tilde x_j$ see single columns of x but $x_j$,
    and the same ones of $\tilde x_{<j}$.
    """
    columns = z.shape[1]
    others = ~np.eye(columns, dtype=bool)
    chosen = strongest_columns(_some(z), *regression_on_all_others(model.overall), others)
    of_x, of_knockoffs = _slopes(chosen, columns), _slopes(chosen, columns) * np.tri(columns, k=-1)
    nothing = np.zeros_like(of_x)
    slopes = np.concatenate([np.dstack([of_x, nothing]), np.dstack([nothing, of_knockoffs])])
    return _with_seen(start, slopes)


@torch.no_grad()
def silence_views(
    density: AutoregressiveDensity, linear: LinearConditionals
) -> AutoregressiveDensity:
    """Let networks ignore what they see beyond the projections of `linear`,
    until training finds a use for it.
    """
    first = density.first
    if first is not None:
        first.weight[:, :, len(linear.seen_slope) :] = 0.0
    return density


def strongest_columns(z: Array, slope: Array, intercept: Array, allowed: Flags) -> Indices:
    """Per column the `VIEWS` allowed columns that say most of what its regression leaves;
    -1 where there is none.

    What is left, or its size, may follow a column or that column's distance from its middle: the
    largest of the four correlations counts.
    """
    left = z - z @ slope.T - intercept
    found = np.zeros((z.shape[1], z.shape[1]))
    for target in (left, np.abs(left)):
        for column in (z, np.abs(z - np.median(z, axis=0))):
            found = np.maximum(found, np.abs(_standard(target).T @ _standard(column)))
    found = np.where(allowed, found, -1.0)
    order = np.argsort(-found, axis=1, kind="stable")[:, :VIEWS]
    return np.where(np.take_along_axis(found, order, axis=1) > 0, order, -1)


def _some(z: Tensor) -> Array:
    return z[:LOOK_ROWS].cpu().double().numpy()


def _standard(x: Array) -> Array:
    centred = x - x.mean(0)
    size = np.sqrt((centred**2).sum(0))
    return centred / np.where(size > 0, size, 1.0)


def _slopes(chosen: Indices, columns: int) -> Array:
    """Projections `[views, columns, columns]` onto the chosen columns;
    nothing where there is none.
    """
    return np.stack([np.eye(columns + 1)[of_view][:, :columns] for of_view in chosen.T])


def _with_seen(start: LinearConditionals, slopes: Array) -> LinearConditionals:
    more = torch.as_tensor(slopes).to(start.seen_slope)
    return replace(
        start,
        seen_slope=torch.cat([start.seen_slope, more]),
        seen_intercept=torch.cat([start.seen_intercept, more.new_zeros(more.shape[:2])]),
    )
