"""The default models of held-out statistics: networks that use few columns,
on standardised columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from knockoffs.density.response_networks import (
    ResponseNetworks,
    fit_response,
    predictions_by_others,
    swap_differences,
)
from knockoffs.density.ridge import Line, Ridge, fit_ridges
from knockoffs.density.training import Schedule
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.randomness import torch_generator
from knockoffs.statistics.crossfit import HeldOut, Split
from knockoffs.statistics.problem import Problem
from knockoffs.statistics.quick import PENALTY
from knockoffs.targets.base import Target

WIDTH = 64
BATCH = 128
LEAST_RESIDUAL = 1e-6  # share of the variance of y that straight lines are taken to leave at least
ORDERS = 4  # of the held-out rows, by which a feature's values are replaced by those of other rows
EPOCH_STEPS = 100  # at most, so that work does not grow with the rows
MOST_TRAINING_ROWS = 50_000  # drawn at random where there are more; all rows are scored
STEEPNESS = (0.0, 0.25, 0.5, 1.0, 2.0)


class _Learned(NamedTuple):
    """y as networks learn it; a loss of 1 is `weight` nats, and `unit` in the statistic."""

    y: torch.Tensor
    target: Target
    weight: float
    unit: float

    def loss(self, outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return losses `[networks, rows]` of outputs `[networks, outputs, rows]`."""
        return -self.target.log_density(y, outputs) / self.weight


def network_differences(
    problem: Problem,
    base: Array,
    split: Split,
    rng: np.random.Generator,
    *,
    blocks: Sequence[Indices],
    mixture: float,
    device: torch.device,
    predict: bool = False,
) -> HeldOut:
    """Held-out losses with x̃_j in `base` minus those with x_j;
    networks are fitted to rows of `base`.

    With `predict` also what all features but one predict for the held-out rows.

    There is a network for each block of features, fitted on mixtures of these alone. It begins at
    straight lines, which networks with few rows are slow to find where columns are strongly
    correlated.
    """
    if len(split.train) > MOST_TRAINING_ROWS:
        split = split._replace(train=rng.choice(split.train, MOST_TRAINING_ROWS, replace=False))
    tables = (base, problem.x, problem.x_tilde)
    # Midpoints vary less than features. The mixture treats x and x̃ alike, also in their scale.
    centre, deviation = _scale(
        np.concatenate([t[split.train] for t in (tables[1:] if mixture > 0 else tables[:1])])
    )
    if problem.indicators is not None:  # which have a unit that suits rare ones, too
        deviation = np.where(problem.indicators, 1.0, deviation)

    def seen(table: Array, rows: Indices) -> torch.Tensor:
        return torch.as_tensor((table[rows] - centre) / deviation).float().to(device)

    train, test = (torch.as_tensor(rows, device=device) for rows in (split.train, split.test))
    b, x_tilde = seen(base, split.train), seen(problem.x_tilde, split.train)
    generator = torch_generator(rng, device)
    held_out = torch.as_tensor(_held_out(problem, split, rng), device=device)
    columns = [torch.as_tensor(problem.columns_of(block)) for block in blocks]
    mixed = (_mixed(b, x_tilde, block, problem, mixture, generator) for block in blocks)
    begin = _in_units_of_noise if problem.target.quadratic else _along_tangents
    learned, lines = begin(problem.target, train, mixed, held_out)
    unit = None if problem.unit is None else torch.as_tensor(problem.unit)
    beginning = torch_generator(rng, torch.device("cpu"))
    networks = ResponseNetworks(
        columns, problem.target.outputs, lines, width=WIDTH, unit=unit, generator=beginning
    )
    networks.to(device)
    fit_response(
        networks,
        b,
        x_tilde,
        learned.y[train],
        learned.loss,
        mixture=mixture,
        penalty=PENALTY / learned.weight,
        schedule=_schedule(int((~held_out).sum())),
        learning_rate=8e-3,
        held_out=held_out,
        generator=generator,
    )
    tested, x, x_tilde = (seen(table, split.test) for table in tables)
    found = swap_differences(networks, tested, x, x_tilde, learned.y[test], learned.loss)
    predictions = _by_others(networks, tested, x, learned) if predict else None
    return HeldOut(found.double().cpu().numpy() * learned.unit, predictions)


def _by_others(
    networks: ResponseNetworks, tested: torch.Tensor, x: torch.Tensor, learned: _Learned
) -> Array:
    """What all features but one predict for the held-out rows, in the units of the statistic."""
    rng = np.random.default_rng(0)  # of its own, so that w stays as it is
    orders = [torch.as_tensor(rng.permutation(len(x)), device=x.device) for _ in range(ORDERS)]
    predicted = predictions_by_others(networks, tested, x, orders, learned.target.predicted)
    return predicted.cpu().numpy() * np.float32(learned.unit**0.5)


def _scale(values: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; 1 where it is constant,
    be it only up to rounding.
    """
    centre, deviation = values.mean(0), values.std(0)
    return centre, np.where(deviation > 1e-9 * np.abs(values).max(0), deviation, 1.0)


def _schedule(rows: int) -> Schedule:
    """A patience of 8 epochs, or of 120 steps where that is more: few rows make short epochs."""
    steps = max(1, round(rows / BATCH))  # in an epoch
    return Schedule(
        300, BATCH, max(8, math.ceil(120 / steps)), averaging=0.97, epoch_steps=EPOCH_STEPS
    )


def _mixed(
    x: torch.Tensor,
    x_tilde: torch.Tensor,
    block: Indices,
    problem: Problem,
    mixture: float,
    generator: torch.Generator,
) -> torch.Tensor:
    """Rows of x with x̃_j for x_j of the block in a share of the rows."""
    x, columns = x.clone(), torch.as_tensor(problem.columns_of(block), device=x.device)
    widths = torch.as_tensor(
        [len(problem.columns_of(block[[k]])) for k in range(len(block))], device=x.device
    )
    coins = torch.rand(len(x), len(block), generator=generator, device=x.device) < mixture
    coins = coins.repeat_interleave(widths, dim=1)
    x[:, columns] = torch.where(coins, x_tilde[:, columns], x[:, columns])
    return x


def _held_out(problem: Problem, split: Split, rng: np.random.Generator) -> Flags:
    """Which training rows are kept for early stopping: about 15 %,
    whole groups where there are several.
    """
    group = np.arange(len(split.train))
    if problem.groups is not None:
        labels, found = np.unique(problem.groups[split.train], return_inverse=True)
        group = found if len(labels) > 1 else group
    count = group.max() + 1
    return (rng.permutation(count) < max(1, round(0.15 * count)))[group]


def _in_units_of_noise(
    target: Target, train: torch.Tensor, tables: Iterable[torch.Tensor], held_out: torch.Tensor
) -> tuple[_Learned, list[Line]]:
    """A quantity in units of what straight lines leave of it,
    so that one penalty suits strong and weak responses.
    """
    y = torch.tensor(target.observed, device=train.device)
    found = [ridge for _, ridge in fit_ridges(tables, y[train, None], held_out)]
    left = max(float(np.mean([ridge.loss for ridge in found])), LEAST_RESIDUAL)
    lines = [
        Line(ridge.line.slope / left**0.5, ridge.line.intercept / left**0.5) for ridge in found
    ]
    # a squared error of 1 is half a nat
    return _Learned((y / left**0.5).float(), target, 0.5, left), lines


def _along_tangents(
    target: Target, train: torch.Tensor, tables: Iterable[torch.Tensor], held_out: torch.Tensor
) -> tuple[_Learned, list[Line]]:
    """y as its likelihood reads it, and lines to η from lines to what its tangent explains."""
    rows = train.cpu().numpy()
    seen = target.rows(rows)
    explained, *constants = (
        torch.as_tensor(part, device=train.device).double()
        for part in seen.tangent(np.flatnonzero(~held_out.cpu().numpy()))
    )
    centre, level, information = constants
    kept = torch.as_tensor(seen.observed, device=train.device)[held_out]

    def to_eta(line: Line, steepness: float) -> Line:
        slope = steepness * line.slope / information[:, None]
        return Line(slope, level + steepness * (line.intercept - centre) / information)

    def loss(predicted: torch.Tensor) -> float:
        return -target.log_density(kept, predicted.T).mean().item()

    lines = _steepest(fit_ridges(tables, explained, held_out), to_eta, loss, held_out)
    y = torch.as_tensor(target.observed, device=train.device).float()
    return _Learned(y, target, 1.0, 1.0), lines


def _steepest(
    ridges: Iterable[tuple[torch.Tensor, Ridge]],
    transformed: Callable[[Line, float], Line],
    loss: Callable[[torch.Tensor], float],
    held_out: torch.Tensor,
) -> list[Line]:
    """Lines on another scale, which is about linear near its middle:
    held-out rows say how steep is best.
    """

    def best(x: torch.Tensor, ridge: Ridge) -> Line:
        kept = x[held_out].double()
        lines = [transformed(ridge.line, steepness) for steepness in STEEPNESS]
        return min(lines, key=lambda line: loss(kept @ line.slope.T + line.intercept))

    return [best(x, ridge) for x, ridge in ridges]
