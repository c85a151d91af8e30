"""Linear-Gaussian models of a table: each column a regression on the columns before it.

They are where DDLK begins (see `starts`). Three ways to estimate one, for three kinds of
dependence: a few strong neighbours (sparse), common factors (factor), neither (shrunk).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from knockoffs.runtime.arrays import Array

MOST_FACTORS = 20
ITERATIONS, TOLERANCE = 50, 1e-3  # of the fit of a factor model, and of its variances, as a share
MORE_DIRECTIONS = 8  # than factors, by which eigenvectors are found in fewer steps
ALL_DIRECTIONS = 50  # columns up to which eigenvectors are computed anew each time


@dataclass(frozen=True)
class Moments:
    """What the estimators need to know of rows, computed in one pass."""

    rows: int
    mean: Array  # [d]
    covariance: Array  # [d, d]
    fourth: float  # mean over rows of the fourth power of a row's distance from the mean

    @classmethod
    def of(cls, x: Array) -> Moments:
        mean = x.mean(0)
        z = x - mean
        squares = np.einsum("ij,ij->i", z, z)
        return cls(len(x), mean, z.T @ z / len(x), float(np.mean(squares**2)))

    @cached_property
    def directions(self) -> Array:
        """The leading eigenvectors of the correlations, `[d, directions]`,
        from which all factor models begin.
        """
        root = np.sqrt(np.diag(self.covariance))
        size = len(root)
        last = (max(0, size - MOST_FACTORS - MORE_DIRECTIONS), size - 1)
        _, vectors = eigh(self.covariance / root[:, None] / root, subset_by_index=last)
        return vectors[:, ::-1]

    @classmethod
    def within(cls, groups: Sequence[Moments]) -> Moments:
        """Those of all rows about the means of their groups."""
        rows = sum(group.rows for group in groups)
        covariance = sum(group.rows / rows * group.covariance for group in groups)
        fourth = sum(group.rows / rows * group.fourth for group in groups)
        return cls(rows, np.zeros_like(groups[0].mean), np.asarray(covariance), fourth)


@dataclass(frozen=True, slots=True)
class LinearGaussian:
    r"""$x_j \mid x_{<j} \sim \mathcal N(a_j + \sum_{i<j} B_{ji} x_i, v_j)$."""

    mean: Array  # [d] of x
    slope: Array  # [d, d] B, strictly lower triangular
    variance: Array  # [d] v

    @property
    def intercept(self) -> Array:
        return self.mean - self.slope @ self.mean

    @property
    def covariance(self) -> Array:
        root = np.linalg.solve(np.eye(len(self.mean)) - self.slope, np.diag(np.sqrt(self.variance)))
        return root @ root.T

    def log_prob(self, x: Array) -> Array:
        """log q(x) per row."""
        residual = x - x @ self.slope.T - self.intercept
        return -0.5 * (residual**2 / self.variance + np.log(2 * np.pi * self.variance)).sum(1)

    @classmethod
    def from_covariance(cls, mean: Array, covariance: Array) -> LinearGaussian:
        root = np.linalg.cholesky(covariance)
        scale = np.diag(root)
        slope = np.eye(len(mean)) - scale[:, None] * np.linalg.inv(root)
        return cls(mean, np.tril(slope, -1), scale**2)


Estimator = Callable[[Moments], LinearGaussian]


def fit_shrunk(moments: Moments) -> LinearGaussian:
    """From the covariance of Ledoit and Wolf (2004): for dependence of no special form."""
    covariance = moments.covariance
    features = len(covariance)
    variance = np.trace(covariance) / features
    squares = float((covariance**2).sum())
    distance = squares - features * variance**2  # from equal variances and no correlation
    error = (moments.fourth - squares) / moments.rows
    shrinkage = min(error / distance, 1.0) if distance > 0 else 0.0
    shrunk = (1 - shrinkage) * covariance + shrinkage * variance * np.eye(features)
    return LinearGaussian.from_covariance(moments.mean, shrunk)


def fit_factor(moments: Moments, factors: int) -> LinearGaussian:
    """From a factor model's covariance L Lᵀ + diag(ψ), by alternating eigenvectors and ψ."""
    diagonal = np.diag(moments.covariance)
    factors = min(factors, MOST_FACTORS, len(diagonal) - 1)
    psi = diagonal / 2
    loadings = np.zeros((len(psi), factors))
    directions = moments.directions[:, : factors + MORE_DIRECTIONS]
    for _ in range(ITERATIONS):
        root = np.sqrt(psi)
        values, directions = _leading(moments.covariance / root[:, None] / root, directions)
        loadings = (
            root[:, None] * directions[:, :factors] * np.sqrt(np.maximum(values[:factors] - 1, 0))
        )
        before, psi = psi, np.maximum(diagonal - (loadings**2).sum(1), 1e-4 * diagonal)
        if np.abs(psi / before - 1).max() < TOLERANCE:
            break
    return LinearGaussian.from_covariance(moments.mean, loadings @ loadings.T + np.diag(psi))


def _leading(matrix: Array, near: Array) -> tuple[Array, Array]:
    """The largest eigenvalues, falling, and their eigenvectors;
    `near` are those of a matrix that is much like it.

    Two steps of a subspace iteration from there take a fraction of the time.
    """
    size, count = near.shape
    if size <= ALL_DIRECTIONS:
        values, vectors = eigh(matrix, subset_by_index=(size - count, size - 1))
    else:
        basis, _ = np.linalg.qr(matrix @ near)
        values, rotation = np.linalg.eigh(basis.T @ (matrix @ basis))
        vectors = basis @ rotation
    return values[::-1], vectors[:, ::-1]


def fit_sparse(moments: Moments, gamma: float = 1.0) -> LinearGaussian:
    """Forward selection of each column's predictors among the earlier ones,
    stopped by the extended BIC.

    `gamma` weighs the number of candidates: 1 suits few strong neighbours, 0 (the plain BIC) many
    weak ones.
    """
    rows, covariance = moments.rows, moments.covariance
    features = len(covariance)
    slope = np.zeros((features, features))
    variance = np.diag(covariance).copy()
    for j in range(1, features):
        chosen, rest = _forward_selection(
            covariance[:j, :j], covariance[j, :j], covariance[j, j], rows, gamma
        )
        if chosen:
            slope[j, chosen] = np.linalg.solve(
                covariance[np.ix_(chosen, chosen)], covariance[chosen, j]
            )
        variance[j] = rest * rows / (rows - len(chosen) - 1)
    return LinearGaussian(moments.mean, slope, variance)


def _forward_selection(
    covariance: Array, with_target: Array, target_variance: float, rows: int, gamma: float
) -> tuple[list[int], float]:
    """Predictors in the order chosen, and the target's variance that they leave.

    Keeps, by Gram-Schmidt on the covariance, what the chosen predictors leave of every candidate.
    """
    left = np.diag(covariance).copy()  # of each candidate's variance
    smallest = 1e-6 * left  # below this a candidate is a combination of the chosen ones
    with_rest = with_target.copy()
    unexplained = 1e-8 * target_variance  # at least: a column may be a combination of others
    price = np.log(rows) + 2 * gamma * np.log(len(left))
    chosen: list[int] = []
    directions = np.empty((min(len(left), rows // 4), len(left)))
    while len(chosen) < len(directions):
        gain = np.where(left > smallest, with_rest**2 / np.maximum(left, smallest), 0.0)
        best = int(gain.argmax())
        remaining = max(target_variance - gain[best], unexplained)
        if rows * np.log(target_variance / remaining) < price:
            break
        done = directions[: len(chosen)]
        direction = (covariance[best] - done[:, best] @ done) / np.sqrt(left[best])
        with_rest = with_rest - direction * with_rest[best] / np.sqrt(left[best])
        left = left - direction**2
        left[best] = 0.0
        directions[len(chosen)] = direction
        chosen.append(best)
        target_variance = remaining
    return chosen, target_variance
