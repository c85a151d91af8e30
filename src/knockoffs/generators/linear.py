"""Linear-Gaussian models of a table: each column a regression on the columns before it.

They are where DDLK begins (see `starts`). Three ways to estimate one, for three kinds of dependence:
a few strong neighbours (sparse), common factors (factor), neither (shrunk).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf

from knockoffs.arrays import Array


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

    @classmethod
    def from_covariance(cls, mean: Array, covariance: Array) -> LinearGaussian:
        root = np.linalg.cholesky(covariance)
        scale = np.diag(root)
        slope = np.eye(len(mean)) - scale[:, None] * np.linalg.inv(root)
        return cls(mean, np.tril(slope, -1), scale**2)


Estimator = Callable[[Array], LinearGaussian]


def fit_shrunk(x: Array) -> LinearGaussian:
    """From the Ledoit-Wolf covariance: for dependence of no special form."""
    covariance, _ = ledoit_wolf(x)
    return LinearGaussian.from_covariance(x.mean(0), covariance)


def fit_factor(x: Array, factors: int, *, iterations: int = 50, tol: float = 1e-3) -> LinearGaussian:
    """From a factor model's covariance L Lᵀ + diag(ψ), by alternating eigenvectors and ψ."""
    factors = min(factors, x.shape[1] - 1)
    covariance = np.cov(x.T, bias=True)
    diagonal = np.diag(covariance)
    psi = diagonal / 2
    loadings = np.zeros((len(psi), factors))
    for _ in range(iterations):
        root = np.sqrt(psi)
        largest = (x.shape[1] - factors, x.shape[1] - 1)
        values, vectors = eigh(covariance / np.outer(root, root), subset_by_index=largest)
        loadings = root[:, None] * vectors * np.sqrt(np.maximum(values - 1, 0))
        before, psi = psi, np.maximum(diagonal - (loadings**2).sum(1), 1e-4 * diagonal)
        if np.abs(psi / before - 1).max() < tol:
            break
    return LinearGaussian.from_covariance(x.mean(0), loadings @ loadings.T + np.diag(psi))


def fit_sparse(x: Array, gamma: float = 1.0) -> LinearGaussian:
    """Forward selection of each column's predictors among the earlier ones, stopped by the extended BIC.

    `gamma` weighs the number of candidates: 1 suits few strong neighbours, 0 (the plain BIC) many weak ones.
    """
    rows, features = x.shape
    covariance = np.cov(x.T, bias=True)
    slope = np.zeros((features, features))
    variance = np.diag(covariance).copy()
    for j in range(1, features):
        chosen, rest = _forward_selection(covariance[:j, :j], covariance[j, :j], covariance[j, j], rows, gamma)
        if chosen:
            slope[j, chosen] = np.linalg.solve(covariance[np.ix_(chosen, chosen)], covariance[chosen, j])
        variance[j] = rest * rows / (rows - len(chosen) - 1)
    return LinearGaussian(x.mean(0), slope, variance)


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
