r"""Rows that come in groups, taken apart into what a group has in common and what is a row's own.

The model is a hierarchical Gaussian: row i of group g is $x_{gi} = a_g + e_{gi}$ with independent
$a_g \sim \mathcal N(\mu, \Sigma_a)$ and $e_{gi} \sim \mathcal N(0, \Sigma_e)$.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from knockoffs.runtime.arrays import Array, Indices

ITERATIONS = 100
TOLERANCE = 1e-4
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The hierarchical Gaussian with its mean μ and its covariances between and within groups."""

    mean: Array
    between: Array
    within: Array

    def draw_common_parts(self, x: Array, labels: Indices, noise: Array) -> Array:
        """Draw a from its distribution given the rows of each group;
        `noise` has one normal row per group.
        """
        counts, means = group_means(x, labels)
        drawn = np.empty_like(means)
        for size in np.unique(counts):
            alike = counts == size
            gain, left = self._posterior(size)
            values, vectors = np.linalg.eigh(left)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            drawn[alike] = self.mean + (means[alike] - self.mean) @ gain.T + noise[alike] @ root.T
        return drawn

    def _posterior(self, size: int) -> tuple[Array, Array]:
        """How far the mean of `size` rows moves the estimate of a,
        and the covariance that is left.
        """
        gain = np.linalg.solve(self.between + self.within / size, self.between).T
        left = self.between - gain @ self.between
        return gain, (left + left.T) / 2

    def require_covariances(self) -> None:
        """Raise a ValueError if the model, read from a file, is none."""
        for covariance in (self.between, self.within):
            if (
                not np.allclose(covariance, covariance.T)
                or np.linalg.eigvalsh(covariance)[0] < -ROUNDING
            ):
                raise ValueError("a covariance of the hierarchy is not symmetric and positive")
        if np.linalg.eigvalsh(self.between)[0] <= 0:
            raise ValueError("the covariance between groups is singular")


def fit_hierarchy(x: Array, labels: Indices) -> Hierarchy:
    """Fit the model: contrasts within groups give Σ_e, the EM algorithm μ and Σ_a.

    Both covariances are shrunk towards their diagonals (Ledoit and Wolf): groups may be fewer than
    columns.
    """
    counts, means = group_means(x, labels)
    contrasts = within_contrasts(x, labels)  # whose mean is known to be zero
    within = _shrunk(contrasts.T @ contrasts / len(contrasts), _shrinkage(contrasts))
    shrinkage = _shrinkage(means - means.mean(0))
    model = Hierarchy(means.mean(0), _shrunk(np.cov(means.T, bias=True), shrinkage), within)
    for _ in range(ITERATIONS):
        expected, uncertainty = np.empty_like(means), np.zeros_like(within)
        for size in np.unique(counts):
            alike = counts == size
            gain, left = model._posterior(size)
            expected[alike] = model.mean + (means[alike] - model.mean) @ gain.T
            uncertainty += alike.sum() * left
        centre = expected.mean(0)
        scatter = (expected - centre).T @ (expected - centre)
        between = _shrunk((scatter + uncertainty) / len(means), shrinkage)
        change = np.abs(between - model.between).max()
        model = Hierarchy(centre, between, within)
        if change <= TOLERANCE * np.abs(between).max():
            break
    return model


def group_means(x: Array, labels: Indices) -> tuple[Indices, Array]:
    """The number of rows of each group, and their mean."""
    counts = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return counts, np.add.reduceat(x[order], starts, axis=0) / counts[:, None]


def within_contrasts(x: Array, labels: Indices) -> Array:
    """Each row but the first of its group against the mean of those before it,
    scaled to a row's own variance.

    These (Helmert's) contrasts have the covariance Σ_e and do not depend on each other or on the
    group's mean.
    """
    order = np.argsort(labels, kind="stable")
    x, sorted_labels = x[order], labels[order]
    counts = np.bincount(labels)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    before = np.arange(len(x)) - starts[sorted_labels]  # rows of the same group above each row
    total = np.cumsum(x, axis=0)
    above = (total - x) - (total - x)[starts[sorted_labels]]
    later = before > 0
    number = before[later][:, None]
    return (x[later] - above[later] / number) * np.sqrt(number / (number + 1))


def _shrinkage(centred: Array) -> float:
    deviation = np.sqrt((centred**2).mean(0))
    return float(
        ledoit_wolf_shrinkage(
            centred / np.where(deviation > 0, deviation, 1.0), assume_centered=True
        )
    )


def _shrunk(covariance: Array, shrinkage: float) -> Array:
    return (1 - shrinkage) * covariance + shrinkage * np.diag(np.diag(covariance))
