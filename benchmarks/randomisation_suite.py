"""The eleven problems of the TabPFN-CRT suite, with the true mean of y and the conditionals of all
columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from knockoffs.runtime.arrays import Array

ROWS = 500
ALPHA = 0.05
NEAR = 0.1  # standard deviation of the difference of two columns that are nearly the same
ORACLE_DRAWS = 400


class Suite(NamedTuple):
    """A problem: how columns are drawn, the mean of y, its noise, relevant columns,
    and the reported power.
    """

    columns: int
    uniform: bool
    paired: bool  # column 1 is column 0 and a little noise
    mean: Callable[[Array], Array]
    noise: float
    relevant: tuple[int, ...]
    reported: float

    def sample(self, rng: np.random.Generator, rows: int = ROWS) -> tuple[Array, Array]:
        """Columns and y."""
        shape = (rows, self.columns)
        x = rng.random(shape) if self.uniform else rng.standard_normal(shape)
        if self.paired:
            x[:, 1] = x[:, 0] + NEAR * x[:, 1]
        return x, self.mean(x) + self.noise * rng.standard_normal(rows)

    def redraw(self, x: Array, feature: int, n_draws: int, rng: np.random.Generator) -> Array:
        """Draws of a column given all the others."""
        shape = (n_draws, len(x))
        if self.uniform:
            return rng.random(shape)
        drawn = rng.standard_normal(shape)
        if self.paired and feature == 1:
            return x[:, 0] + NEAR * drawn
        if self.paired and feature == 0:
            share = 1 / (1 + NEAR**2)
            return share * x[:, 1] + NEAR * np.sqrt(share) * drawn
        return drawn

    def oracle_power(self, feature: int, rng: np.random.Generator) -> tuple[float, float]:
        """The most power that any test of level `ALPHA` can have: that of the likelihood ratio,
        all else known.

        Beside it that of the two-sided test, which does not know the direction of the effect.
        """
        x, _ = self.sample(rng, 4 * ROWS)
        mean, without = self.mean(x), np.zeros(len(x))
        for drawn in self.redraw(x, feature, ORACLE_DRAWS, rng):
            changed = x.copy()
            changed[:, feature] = drawn
            without += self.mean(changed) / ORACLE_DRAWS
        distance = np.sqrt(ROWS * np.mean((mean - without) ** 2)) / self.noise
        beyond = norm.isf(ALPHA / 2)
        two_sided = norm.cdf(distance - beyond) + norm.cdf(-distance - beyond)
        return float(norm.cdf(distance - norm.isf(ALPHA))), float(two_sided)


SUITE = {
    "linear, sparse": Suite(
        10, False, False, lambda x: 3 * x[:, 0] - 2 * x[:, 1] + x[:, 2], 1.0, (0, 1, 2), 1.0
    ),
    "linear, dense": Suite(5, False, False, lambda x: x.sum(1), 1.0, (0, 1, 2, 3, 4), 1.0),
    "linear, weak": Suite(
        5, False, False, lambda x: 0.5 * x[:, 0] + 0.5 * x[:, 1], 1.0, (0, 1), 1.0
    ),
    "linear, noise block": Suite(20, False, False, lambda x: x[:, 0] + x[:, 1], 1.0, (0, 1), 1.0),
    "linear, correlated": Suite(5, False, True, lambda x: x[:, 0], 1.0, (0,), 1.0),
    "Friedman 1": Suite(
        10,
        True,
        False,
        lambda x: (
            10 * np.sin(np.pi * x[:, 0] * x[:, 1])
            + 20 * (x[:, 2] - 0.5) ** 2
            + 10 * x[:, 3]
            + 5 * x[:, 4]
        ),
        1.0,
        (0, 1, 2, 3, 4),
        1.0,
    ),
    "Friedman 2": Suite(
        10,
        True,
        False,
        lambda x: x[:, 0] ** 2 + x[:, 1] * x[:, 2] - x[:, 3] + np.sin(x[:, 4]),
        1.0,
        (0, 1, 2, 3, 4),
        0.6,
    ),
    "Friedman 3": Suite(
        10,
        True,
        False,
        lambda x: np.arctan((x[:, 0] + x[:, 1]) / (x[:, 2] + 0.1)) + x[:, 3] ** 2,
        1.0,
        (0, 1, 2, 3),
        0.4,
    ),
    "additive + product": Suite(
        6, False, False, lambda x: x[:, 0] + x[:, 1] * x[:, 2], 1.0, (0, 1, 2), 1.0
    ),
    "threshold": Suite(5, True, False, lambda x: (x[:, 0] > 0.5).astype(float), 0.1, (0,), 1.0),
    "conditional null": Suite(2, False, True, lambda x: np.sin(x[:, 0]), 1.0, (0,), 1.0),
}
