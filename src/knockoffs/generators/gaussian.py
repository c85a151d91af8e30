"""Gaussian knockoffs: how far each knockoff may stand from its original, and their law given x."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.linalg.blas import dger

from knockoffs.arrays import Array
from knockoffs.checks import check_choice

Method = Literal["mvr", "maxent"]


def knockoff_gaps(covariance: Array, method: Method = "mvr", *, sweeps: int = 100, tol: float = 1e-6) -> Array:
    r"""The diagonal s of D in cov(x, x̃) = Σ - D, by coordinate descent with rank-one updates.

    `"mvr"` minimises $\operatorname{tr} (2\Sigma - D)^{-1} + \sum_j 1 / s_j$ (minimum variance-based
    reconstructability), `"maxent"` maximises $\log\det(2\Sigma - D) + \sum_j \log s_j$ (entropy of x̃
    given x). Both keep 2Σ - D and D positive definite by themselves.
    """
    check_choice("method", method, get_args(Method))
    deviation = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviation, deviation)
    gaps = np.full(len(correlation), min(1.0, 0.9 * 2 * np.linalg.eigvalsh(correlation)[0]))
    for _ in range(sweeps):
        before = gaps.copy()
        # Anew each sweep, since updates lose digits.
        inverse = np.asfortranarray(np.linalg.inv(2 * correlation - np.diag(gaps)))
        for j in range(len(gaps)):
            column, pivot = inverse[:, j].copy(), inverse[j, j]
            # The change of s_j for which the derivative of the objective is zero.
            if method == "mvr":
                norm = np.sqrt(column @ column)
                change = (1 - norm * gaps[j]) / (norm + pivot)
            else:
                change = (1 - pivot * gaps[j]) / (2 * pivot)
            gaps[j] += change
            inverse = dger(change / (1 - change * pivot), column, column, a=inverse, overwrite_a=True)
        if np.abs(gaps / before - 1).max() < tol:
            break
    return gaps * deviation**2


def knockoff_law(covariance: Array, gaps: Array) -> tuple[Array, Array]:
    r"""P and C such that $\tilde x \mid x \sim \mathcal N(x - P (x - \mu), C)$: P = D Σ⁻¹, C = 2D - D Σ⁻¹ D."""
    pull = np.linalg.solve(covariance, np.diag(gaps)).T
    spread = np.diag(2 * gaps) - pull * gaps
    return pull, (spread + spread.T) / 2
