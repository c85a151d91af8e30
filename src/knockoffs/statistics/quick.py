r"""Statistics of many responses at once, by ridge regressions that share their factorisations.

They take the time of a few matrix products per response, and stand in for slower statistics where many simulated
responses are needed. `held_out_ridge` is `HoldoutStatistic` with straight lines for networks; `ridge_coefficients`
is the coefficient difference of a ridge regression on [x, x̃].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from knockoffs.arrays import Array, Flags, Indices
from knockoffs.statistics.problem import Problem

FOLDS, BLOCKS = 5, 20  # as in HoldoutStatistic
WIDE = 200  # columns; beyond it there are fewer models, since each takes longer
WIDE_FOLDS, WIDE_BLOCKS = 2, 5
KEPT = 0.15  # share of the training rows that choose the penalty
PENALTIES = np.logspace(-4, 1, 11)  # per row, of columns in standard units
COEFFICIENT_PENALTIES = np.logspace(-3, 1.5, 12)


class Lines(NamedTuple):
    """Straight lines from columns to responses: slopes `[columns, responses]`, and the means they start from."""

    slopes: Array
    x_mean: Array
    y_mean: Array

    def residuals(self, x: Array, y: Array) -> Array:
        return y - self.y_mean - (x - self.x_mean) @ self.slopes


def held_out_ridge(problem: Problem, y: Array, rng: np.random.Generator) -> Array:
    r"""Return the mixture statistic of straight lines, `[responses, features]`; y is `[rows, responses]`.

    With slopes b, the residual r of an unseen row and $\delta = \tilde x_j - x_j$, its squared error grows by
    $(b_j \delta)^2 - 2 r b_j \delta$ when x̃_j takes the place of x_j.
    """
    y = _standard(y)
    totals = np.zeros((problem.features, y.shape[1]))
    wide = problem.x.shape[1] > WIDE
    blocks = min(WIDE_BLOCKS if wide else BLOCKS, problem.features)
    for train, test in _folds(problem, WIDE_FOLDS if wide else FOLDS, rng):
        kept = rng.permutation(len(train)) < max(1, round(KEPT * len(train)))
        unseen = problem.rows(test)
        change = unseen.x_tilde - unseen.x
        for block in np.array_split(rng.permutation(problem.features), blocks):
            lines = _fit_lines(_mixed(problem, train, block, rng), y[train], kept)
            residuals = lines.residuals(unseen.x, y[test])
            for j in block:
                columns = problem.columns_of(np.array([j]))
                moved = change[:, columns] @ lines.slopes[columns]
                totals[j] += (moved**2 - 2 * residuals * moved).sum(0)
    return totals.T / len(y)


def ridge_coefficients(problem: Problem, y: Array, rng: np.random.Generator) -> Array:
    r"""Return the ridge coefficient difference, `[responses, features]`; y is `[rows, responses]`.

    The penalty minimises each response's generalised cross-validation. For several columns $|b_j|$ is the norm of
    their coefficients in units of the columns' standard deviations.
    """
    y = _standard(y)
    both = np.hstack([problem.x, problem.x_tilde])
    both = both - both.mean(0)
    rows, columns = both.shape
    values, vectors, along = _spectrum(both, y)
    best, solved = np.full(y.shape[1], np.inf), np.zeros_like(along)
    for penalty in COEFFICIENT_PENALTIES * rows:
        shrunk = 1 / (values + penalty)
        freedom = (values * shrunk).sum()
        # rss = |y|² - 2 y'Hy + |Hy|², with the eigenvalues h of the hat matrix H
        hat = (values * shrunk)[:, None]
        squares = along**2 / np.maximum(values, 1e-12)[:, None] if columns <= rows else along**2
        rss = (y**2).sum(0) - (hat * (2 - hat) * squares).sum(0)
        score = rss / (1 - freedom / rows) ** 2
        better = score < best
        solved[:, better] = shrunk[:, None] * along[:, better]
        best = np.minimum(best, score)
    slopes = vectors @ solved if columns <= rows else both.T @ (vectors @ solved)
    own, other = np.split(slopes * both.std(0)[:, None], 2)
    return _norms(problem, own) - _norms(problem, other)


def _norms(problem: Problem, slopes: Array) -> Array:
    if problem.unit is None:
        return np.abs(slopes).T
    starts = np.searchsorted(problem.unit, np.arange(problem.features))
    return np.sqrt(np.add.reduceat(slopes**2, starts, axis=0)).T


def _standard(y: Array) -> Array:
    deviation = y.std(0)
    return (y - y.mean(0)) / np.where(deviation > 0, deviation, 1.0)


def _folds(problem: Problem, folds: int, rng: np.random.Generator) -> Iterator[tuple[Indices, Indices]]:
    """Random folds of about equal size, those that leave rows to fit on; the rows of a group stay together."""
    group = np.arange(len(problem.x)) if problem.groups is None else problem.groups
    fold = (rng.permutation(group.max() + 1) % folds)[group]
    for number in range(folds):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(train) > 1 and len(test):
            yield train, test


def _mixed(problem: Problem, rows: Indices, block: Indices, rng: np.random.Generator) -> Array:
    """Rows of x with x̃_j for x_j of the block's features in half of them, by the toss of a coin."""
    columns = problem.columns_of(block)
    coins = rng.random((len(rows), problem.features)) < 0.5
    x = problem.x[rows]
    x[:, columns] = np.where(
        problem.per_column(coins, columns), problem.x_tilde[np.ix_(rows, columns)], x[:, columns]
    )
    return x


def _fit_lines(x: Array, y: Array, kept: Flags) -> Lines:
    """Fit a ridge regression to each response; the rows that are `kept` from the fit choose its penalty."""
    x_mean, y_mean = x[~kept].mean(0), y[~kept].mean(0)
    fitted = x[~kept] - x_mean
    values, vectors, along = _spectrum(fitted, y[~kept] - y_mean)
    if len(vectors) != x.shape[1]:  # of rows: lead to those of columns
        vectors = fitted.T @ vectors
    seen = (x[kept] - x_mean) @ vectors
    target = y[kept] - y_mean
    best, solved = np.full(y.shape[1], np.inf), np.zeros_like(along)
    for penalty in PENALTIES * len(fitted):
        candidate = along / (values + penalty)[:, None]
        loss = ((target - seen @ candidate) ** 2).mean(0)
        better = loss < best
        solved[:, better] = candidate[:, better]
        best = np.minimum(best, loss)
    return Lines(vectors @ solved, x_mean, y_mean)


def _spectrum(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Eigenvalues and eigenvectors of the smaller of the two Gram matrices, and y along these."""
    by_rows = x.shape[1] > x.shape[0]
    values, vectors = np.linalg.eigh(x @ x.T if by_rows else x.T @ x)
    return np.maximum(values, 0.0), vectors, vectors.T @ (y if by_rows else x.T @ y)
