r"""The group lasso for any target: few groups of columns,
with the penalty that cross-validates best.

$\min_b \; \frac1n \sum_i \ell(y_i, z_i^\top b) + \lambda \sum_g c_g \lVert b_g \rVert$ by
accelerated proximal gradients. Each step treats all groups alike and at once, so that the order of
columns changes nothing but rounding errors, wherever the steps stop; descent along one group after
the other would favour the first. Written here since scikit-learn has no group lasso, and packages
that do have one would each be a new dependency for 100 lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from scipy.special import expit, log_softmax, softmax

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.statistics.problem import Problem
from knockoffs.targets.survival import RiskSets, Times
from knockoffs.targets.target import Task

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
    z: Array, response: Response, groups: Groups, splits: Sequence[tuple[Indices, Indices]]
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


def _largest_penalty(z: Array, response: Response, groups: Groups) -> float:
    """The penalty from which on all groups but the constant are silent."""
    level = np.broadcast_to(response.level, response.y.shape)
    slope = groups.norms(z.T @ response.residual(level) / len(z))
    return float((slope[:-1] / groups.weight[:-1]).max())


def _path(z: Array, response: Response, groups: Groups, penalties: Array) -> Iterator[Array]:
    """Coefficients at decreasing penalties, each from those at the one before.

    Only groups that may enter (by the sequential strong rule) are fitted, and whether the others
    rightly stay silent is checked.
    """
    b = np.zeros((z.shape[1], response.y.shape[1]))
    before = penalties[0] / RATIO
    for penalty in penalties:
        slope = groups.norms(z.T @ response.residual(z @ b) / len(z))
        active = (groups.norms(b) > 0) | (slope >= groups.weight * (2 * penalty - before))
        while True:
            columns, those = groups.only(active)
            b[columns] = _fit(z[:, columns], response, those, penalty, b[columns])
            slope = groups.norms(z.T @ response.residual(z @ b) / len(z))
            missed = ~active & (slope > groups.weight * penalty * (1 + 1e-3))
            if not missed.any():
                break
            active |= missed
        before = penalty
        yield b.copy()


def _fit(z: Array, response: Response, groups: Groups, penalty: float, start: Array) -> Array:
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


def _gradient(z: Array, response: Response) -> Callable[[Array], Array]:
    """The gradient of the mean loss."""
    if isinstance(response, Quantity):
        gram, cross = z.T @ z / len(z), z.T @ response.y / len(z)
        return lambda b: gram @ b - cross
    return lambda b: z.T @ response.residual(z @ b) / len(z)


def _too_long(
    z: Array, response: Response, b: Array, new: Array, slope: Array, steepest: float
) -> bool:
    """Return whether the loss after a step is above what a parabola of this curvature allows."""
    step, before = new - b, response.loss(z @ b)
    allowed = before + float((slope * step).sum() + steepest / 2 * np.square(step).sum())
    return response.loss(z @ new) > allowed + ROUNDING * abs(before)


class Response(ABC):
    """y as outputs `[rows, outputs]`.

    `curvature` bounds the second derivative of the losses by the outputs. Where a bound holds only
    near where the steps begin (`local`), each of these is checked.
    """

    curvature = 1.0
    local = False

    def __init__(self, y: Array) -> None:
        self.y = y

    def rows(self, index: Indices) -> Self:
        return type(self)(self.y[index])

    @property
    @abstractmethod
    def level(self) -> Array:
        """What a model without columns predicts."""

    @abstractmethod
    def residual(self, predicted: Array) -> Array:
        """The derivative of the losses by the outputs."""

    @abstractmethod
    def loss(self, predicted: Array) -> float: ...

    def held_out_loss(
        self, predicted: Array, seen: Response, train: Indices, test: Indices
    ) -> float:
        """The loss of rows that a model has not seen; predictions are those of all rows,
        `seen` are those seen.
        """
        return self.rows(test).loss(predicted[test])

    def steepest(self, z: Array) -> float:
        """A bound on how fast the gradient of the mean loss by the coefficients of z changes."""
        return self.curvature * float(np.linalg.eigvalsh(z.T @ z / len(z))[-1])


class Quantity(Response):
    """Half the squared error of a quantity."""

    @property
    def level(self) -> Array:
        return self.y.mean(0)

    def residual(self, predicted: Array) -> Array:
        return predicted - self.y

    def loss(self, predicted: Array) -> float:
        return float(0.5 * np.square(predicted - self.y).mean())


class TwoClasses(Response):
    """The log-loss of 0 and 1."""

    curvature = 0.25

    @property
    def level(self) -> Array:
        share = self.y.mean(0)
        return np.log(share / (1 - share))

    def residual(self, predicted: Array) -> Array:
        return expit(predicted) - self.y

    def loss(self, predicted: Array) -> float:
        return float((np.logaddexp(0, predicted) - self.y * predicted).mean())


class Classes(Response):
    """The log-loss of indicators of several classes."""

    curvature = 0.5

    @property
    def level(self) -> Array:
        return np.log(self.y.mean(0))

    def residual(self, predicted: Array) -> Array:
        return softmax(predicted, axis=1) - self.y

    def loss(self, predicted: Array) -> float:
        return float(-(log_softmax(predicted, axis=1) * self.y).sum(1).mean())


class Hazard(Response):
    """Minus the log of Cox's partial likelihood, per row; y are martingale residuals."""

    local = True

    def __init__(self, times: Times) -> None:
        self._times, self._risk_sets = times, RiskSets(times)
        super().__init__(self._risk_sets.residuals(np.zeros(len(times.time)))[:, None])

    def rows(self, index: Indices) -> Self:
        return type(self)(self._times.rows(index))

    @property
    def level(self) -> Array:
        return np.zeros(1)

    def residual(self, predicted: Array) -> Array:
        return -self._risk_sets.residuals(predicted[:, 0])[:, None]

    def loss(self, predicted: Array) -> float:
        return self._risk_sets.minus_log_likelihood(predicted[:, 0]) / len(predicted)

    def held_out_loss(
        self, predicted: Array, seen: Response, train: Indices, test: Indices
    ) -> float:
        """How much the likelihood of all rows is below that of the rows seen (Verweij and van
        Houwelingen, 1993).

        Held-out rows alone would have few others at risk beside them.
        """
        return (
            self.loss(predicted) * len(predicted) - seen.loss(predicted[train]) * len(train)
        ) / len(test)

    def steepest(self, z: Array) -> float:
        """Return the bound for coefficients near 0:
        rows weigh as many events as are expected of them.
        """
        weight = self._times.event[:, None] - self.y
        return max(float(np.linalg.eigvalsh(z.T @ (weight * z) / len(z))[-1]), 1e-12)


def read_response(y: Array, task: Task) -> Response:
    """Return y, a quantity or numbers of classes, as what a group lasso explains."""
    if task == "regression":
        return Quantity(y[:, None])
    if y.max() == 1:
        return TwoClasses(y[:, None])
    return Classes((y[:, None] == np.arange(y.max() + 1)).astype(np.float64))


def response_of(problem: Problem) -> Response:
    """What a lasso explains in a problem."""
    return (
        read_response(problem.y, problem.task) if problem.times is None else Hazard(problem.times)
    )
