r"""Lassos of many responses on the same columns, by steps that share one factorisation.

$\min_b \; \frac1{2n} \lVert y - xb \rVert^2 + \lambda \sum_g c_g \lVert b_g \rVert$ by the alternating direction
method of multipliers: a ridge regression towards the last shrunk coefficients, then shrinkage, in turn. All
responses take their steps together, each with a penalty of its own, so a step is one matrix product. Gradient
steps would need hundreds where a few directions hold most of the variance, as with clusters of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Indices

RELAXATION = 1.6  # of each step, which takes a third fewer of them
LEAST = 1e-12


class Penalised(NamedTuple):
    """The columns that a penalty takes or leaves together, and the weight of each such group."""

    starts: Indices  # the first column of each group
    of: Indices  # the group of each column
    weight: Array

    @classmethod
    def of_units(cls, unit: Indices, weight: Array) -> Penalised:
        """Groups by the number of each column's unit; numbers grow from column to column."""
        return cls(np.searchsorted(unit, np.arange(len(weight))), unit, weight[:, None])

    def norms(self, b: Array) -> Array:
        """The norm of each group's coefficients in units of its weight, `[groups, responses]`."""
        if len(self.of) == len(self.weight):
            return np.abs(b) / self.weight
        return np.sqrt(np.add.reduceat(b**2, self.starts, axis=0)) / self.weight

    def shrunk(self, b: Array, by: Array) -> Array:
        """Each group's coefficients, shortened by `by` (per response) times its weight."""
        norms = self.norms(b)
        left = np.maximum(1 - by / np.maximum(norms, LEAST), 0.0)
        return b * (left if len(self.of) == len(left) else left[self.of])


class Lassos:
    """The lassos of responses y, `[rows, responses]`, on columns x.

    `stiffness` is the weight of the last coefficients in a step; a typical eigenvalue of the columns' covariance
    is best. `slopes` are the coefficients, `[columns, responses]`, after the steps so far.
    """

    def __init__(self, x: Array, y: Array, penalised: Penalised, stiffness: float) -> None:
        self.x_mean, self.y_mean = x.mean(0), y.mean(0)
        self._penalised, self._stiffness = penalised, max(stiffness, LEAST)
        rows, columns = x.shape
        self._x = (x - self.x_mean) / np.sqrt(rows)
        self.cross = self._x.T @ ((y - self.y_mean) / np.sqrt(rows))
        self._wide = columns > rows
        gram = self._x @ self._x.T if self._wide else self._x.T @ self._x
        self._inverse = np.linalg.inv(gram + self._stiffness * np.eye(len(gram)))
        self.slopes = self._dual = np.zeros_like(self.cross)

    def start_at(self, slopes: Array, penalty: Array) -> None:
        """Go on from other coefficients, taking them for the solution as far as their gradient allows."""
        gradient = self.cross - self._x.T @ (self._x @ slopes)
        inside = np.minimum(penalty / np.maximum(self._penalised.norms(gradient), LEAST), 1.0)
        self._dual = gradient * (inside if len(inside) == len(gradient) else inside[self._penalised.of])
        self._dual /= self._stiffness
        self.slopes = slopes

    def step(self, penalty: Array, steps: int) -> Array:
        """Take steps at these penalties, one per response, and return the slopes."""
        slopes, dual = self.slopes, self._dual
        for _ in range(steps):
            moved = self._towards(self.cross + self._stiffness * (slopes - dual))
            moved = RELAXATION * moved + (1 - RELAXATION) * slopes + dual
            slopes = self._penalised.shrunk(moved, penalty / self._stiffness)
            dual = moved - slopes
        self.slopes, self._dual = slopes, dual
        return slopes

    def _towards(self, target: Array) -> Array:
        if not self._wide:
            return self._inverse @ target
        return (target - self._x.T @ (self._inverse @ (self._x @ target))) / self._stiffness
