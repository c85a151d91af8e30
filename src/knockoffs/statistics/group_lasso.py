r"""The group lasso for any target: few groups of columns,
with the penalty that cross-validates best.

$\min_b \; \frac1n \sum_i \ell(y_i, z_i^\top b) + \lambda \sum_g c_g \lVert b_g \rVert$ by
accelerated proximal gradients. Each step treats all groups alike and at once, so that the order of
columns changes nothing but rounding errors, wherever the steps stop; descent along one group after
the other would favour the first. Written here since scikit-learn has no group lasso, and packages
that do have one would each be a new dependency for 100 lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.targets.base import Likelihood

RATIO = 0.88  # of a penalty to the one before it
PENALTIES = 72  # down to 1e-4 of the largest
# penalties without a better prediction of held-out rows, after which smaller ones are not tried
PATIENCE = 6
STEPS = 1000
TOLERANCE = 1e-5  # of a step, as a share of the largest coefficient
ROUNDING = 1e-10  # share of a loss


class Groups(NamedTuple):
    """The group of each column, numbered from 0 on,
    and the weight c of each group in the penalty.
    """

    of: Indices
    weight: Array

    def norms(self, b: Array) -> Array:
        """The norm over the columns of a group and all outputs."""
        return np.sqrt(np.bincount(self.of, np.square(b).sum(1), len(self.weight)))

    def shrunk(self, b: Array, by: float) -> Array:
        """The proximal map of the penalty: each group shortened by `by` times its weight."""
        norms = self.norms(b)
        left = np.maximum(norms - by * self.weight, 0.0)
        return (
            b * np.divide(left, norms, out=np.zeros_like(left), where=norms > 0)[self.of][:, None]
        )

    def only(self, active: Flags) -> tuple[Indices, Groups]:
        """The columns of some groups, and these groups alone."""
        columns = np.flatnonzero(active[self.of])
        return columns, Groups((np.cumsum(active) - 1)[self.of[columns]], self.weight[active])


def group_lasso(
    z: Array, response: Likelihood, groups: Groups, splits: Sequence[tuple[Indices, Indices]]
) -> Array:
    """Coefficients `[columns, outputs]` at the penalty that predicts held-out rows best."""
    # a constant beside the columns, in a group of its own that is not penalised
    z = np.column_stack([z, np.ones(len(z))])
    groups = Groups(np.append(groups.of, len(groups.weight)), np.append(groups.weight, 0.0))
    penalties = _largest_penalty(z, response, groups) * RATIO ** np.arange(1, PENALTIES + 1)
    parts = [response.rows(train) for train, _ in splits]
    paths = [
        _path(z[train], part, groups, penalties)
        for part, (train, _) in zip(parts, splits, strict=True)
    ]
    held_out: list[float] = []
    for found in zip(*paths, strict=True):
        losses = [
            response.held_out_loss(z @ b, part, *split)
            for part, split, b in zip(parts, splits, found, strict=True)
        ]
        held_out.append(float(np.mean(losses)))
        if len(held_out) > np.argmin(held_out) + PATIENCE:
            break
    best = int(np.argmin(held_out))
    *_, b = _path(z, response, groups, penalties[: best + 1])
    return b[:-1]


def _largest_penalty(z: Array, response: Likelihood, groups: Groups) -> float:
    """The penalty from which on all groups but the constant are silent."""
    level = np.broadcast_to(response.start(), (len(z), response.outputs))
    slope = groups.norms(z.T @ response.score(level) / len(z))
    return float((slope[:-1] / groups.weight[:-1]).max())


def _path(z: Array, response: Likelihood, groups: Groups, penalties: Array) -> Iterator[Array]:
    """Coefficients at decreasing penalties, each from those at the one before.

    Only groups that may enter (by the sequential strong rule) are fitted, and whether the others
    rightly stay silent is checked.
    """
    b = np.zeros((z.shape[1], response.outputs))
    before = penalties[0] / RATIO
    for penalty in penalties:
        slope = groups.norms(z.T @ response.score(z @ b) / len(z))
        active = (groups.norms(b) > 0) | (slope >= groups.weight * (2 * penalty - before))
        while True:
            columns, those = groups.only(active)
            b[columns] = _fit(z[:, columns], response, those, penalty, b[columns])
            slope = groups.norms(z.T @ response.score(z @ b) / len(z))
            missed = ~active & (slope > groups.weight * penalty * (1 + 1e-3))
            if not missed.any():
                break
            active |= missed
        before = penalty
        yield b.copy()


def _fit(z: Array, response: Likelihood, groups: Groups, penalty: float, start: Array) -> Array:
    """Accelerated proximal gradients that start again wherever they would overshoot."""
    gradient, steepest = _gradient(z, response), response.steepest(z)
    b, ahead, speed = start, start, 1.0
    for _ in range(STEPS):
        slope = gradient(ahead)
        new = groups.shrunk(ahead - slope / steepest, penalty / steepest)
        while response.local and _too_long(z, response, ahead, new, slope, steepest):
            steepest *= 2
            new = groups.shrunk(ahead - slope / steepest, penalty / steepest)
        change = new - b
        if ((ahead - new) * change).sum() > 0:
            speed = 1.0
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        ahead, b, speed = new + (speed - 1) / faster * change, new, faster
        if np.abs(change).max() <= TOLERANCE * np.abs(b).max():
            break
    return b


def _gradient(z: Array, response: Likelihood) -> Callable[[Array], Array]:
    """The gradient of the loss."""
    if response.quadratic:
        gram, cross = z.T @ z / len(z), z.T @ response.score(np.zeros((len(z), 1))) / len(z)
        return lambda b: gram @ b - cross
    return lambda b: -(z.T @ response.score(z @ b)) / len(z)


def _too_long(
    z: Array, response: Likelihood, b: Array, new: Array, slope: Array, steepest: float
) -> bool:
    """Return whether the loss after a step is above what a parabola of this curvature allows."""
    step, before = new - b, response.loss(z @ b)
    allowed = before + float((slope * step).sum() + steepest / 2 * np.square(step).sum())
    return response.loss(z @ new) > allowed + ROUNDING * abs(before)
