"""What a group lasso explains: a quantity, classes, or the hazard of an event, each with its loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from scipy.special import expit, log_softmax, softmax

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.statistics.problem import Problem
from knockoffs.targets.survival import RiskSets, Times
from knockoffs.targets.target import Task


class Response(ABC):
    """y as outputs `[rows, outputs]`.

    `curvature` bounds the second derivative of the losses by the outputs. Where a bound holds only near where the
    steps begin (`local`), each of these is checked.
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

    def held_out_loss(self, predicted: Array, seen: Response, train: Indices, test: Indices) -> float:
        """The loss of rows that a model has not seen; predictions are those of all rows, `seen` are those seen."""
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

    def held_out_loss(self, predicted: Array, seen: Response, train: Indices, test: Indices) -> float:
        """How much the likelihood of all rows is below that of the rows seen (Verweij and van Houwelingen, 1993).

        Held-out rows alone would have few others at risk beside them.
        """
        return (self.loss(predicted) * len(predicted) - seen.loss(predicted[train]) * len(train)) / len(test)

    def steepest(self, z: Array) -> float:
        """Return the bound for coefficients near 0: rows weigh as many events as are expected of them."""
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
    return read_response(problem.y, problem.task) if problem.times is None else Hazard(problem.times)
