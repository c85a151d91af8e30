r"""Statistics of many responses at once, by straight lines and lassos that share their
factorisations.

They take the time of a few matrix products per response, and stand in for slower statistics where
many simulated responses are needed. `held_out_lines` is `HoldoutStatistic` with straight lines for
networks, and the same penalty on the use of features; `lasso_coefficients` is `LassoStatistic` on a
coarse grid of penalties. Without these penalties, that is by ridge regressions, faults of the
knockoffs did more harm than they do to the statistics themselves: a ridge regression spreads an
effect over all features that are correlated with the relevant one.

$\min_b \; \frac1{2n} \lVert y - xb \rVert^2 + \lambda \sum_g c_g \lVert b_g \rVert$ by the
alternating direction method of multipliers: a ridge regression towards the last shrunk
coefficients, then shrinkage, in turn. All responses take their steps together, each with a penalty
of its own, so a step is one matrix product. Gradient steps would need hundreds where a few
directions hold most of the variance, as with clusters of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.statistics.problem import Problem

# w `[responses, features]` of a problem and of responses, one per column
QuickStatistic = Callable[[Problem, Array, np.random.Generator], Array]
PENALTY = 0.025  # of the default models of held-out statistics, on the use of columns, in nats
SMALLEST = 1e-9  # variance of a feature


class Effort(NamedTuple):
    """How much work is done for a draw of knockoffs.

    `folds` and `blocks` are those of the held-out losses, `steps` those towards a lasso; a lasso's
    penalty is chosen by `splits` of the rows among `penalties`, each `ratio` times the one before.
    """

    folds: int
    blocks: int
    steps: int
    splits: int
    penalties: int
    ratio: float


# folds, blocks: HoldoutStatistic
USUAL = Effort(folds=5, blocks=20, steps=40, splits=3, penalties=16, ratio=0.6)
FOR_WIDE = Effort(folds=2, blocks=5, steps=15, splits=2, penalties=8, ratio=0.4)
WIDE = 200  # columns; beyond it each model takes longer
KEPT = 0.15  # share of the training rows that choose the penalty of a ridge regression
PENALTIES = np.logspace(-4, 1, 11)  # of the former, per row, of columns in standard units
RIDGE_PENALTIES = np.logspace(-3, 1.5, 12)  # of ridge coefficients, per row


class Lines(NamedTuple):
    """Straight lines from columns to responses: slopes `[columns, responses]`,
    and the means they start from.
    """

    slopes: Array
    x_mean: Array
    y_mean: Array

    def residuals(self, x: Array, y: Array) -> Array:
        return y - self.y_mean - (x - self.x_mean) @ self.slopes


def held_out_lines(problem: Problem, y: Array, rng: np.random.Generator) -> Array:
    r"""Return the mixture statistic of straight lines, `[responses, features]`; y is `[rows,
    responses]`.

    With slopes b, the residual r of an unseen row and $\delta = \tilde x_j - x_j$, its squared
    error grows by $(b_j \delta)^2 - 2 r b_j \delta$ when x̃_j takes the place of x_j.
    """
    y = _standard(y)
    effort = _effort(problem)
    totals = np.zeros((problem.features, y.shape[1]))
    unit = problem.units
    penalised = Penalised.of_units(unit, np.sqrt(np.bincount(unit)))
    blocks = min(effort.blocks, problem.features)
    for train, test in _folds(problem, effort.folds, rng):
        kept = rng.permutation(len(train)) < max(1, round(KEPT * len(train)))
        unseen = problem.rows(test)
        change = unseen.x_tilde - unseen.x
        for block in np.array_split(rng.permutation(problem.features), blocks):
            lines = _fit_lines(
                _mixed(problem, train, block, rng), y[train], kept, penalised, effort.steps
            )
            residuals = lines.residuals(unseen.x, y[test])
            for j in block:
                columns = problem.columns_of(np.array([j]))
                moved = change[:, columns] @ lines.slopes[columns]
                totals[j] += (moved**2 - 2 * residuals * moved).sum(0)
    return totals.T / len(y)


def lasso_coefficients(problem: Problem, y: Array, rng: np.random.Generator) -> Array:
    r"""Return the lasso coefficient difference, `[responses, features]`; y is `[rows, responses]`.

    Each response has the penalty that predicts held-out rows best. For several columns $|b_j|$ is
    the norm of their coefficients in units of the columns' standard deviations.
    """
    y = _standard(y)
    effort = _effort(problem)
    both = np.hstack([problem.x, problem.x_tilde])
    unit = problem.units
    variance = (problem.x.var(0) + problem.x_tilde.var(0)) / 2
    weight = np.sqrt(np.maximum(np.bincount(unit, variance), SMALLEST))
    penalised = Penalised.of_units(
        np.concatenate([unit, unit + problem.features]), np.tile(weight, 2)
    )
    stiffness = _typical(np.linalg.eigvalsh(_smaller_gram(both - both.mean(0)))) / len(both)
    whole = Lassos(both, y, penalised, stiffness)
    largest = penalised.norms(whole.cross).max(0)
    penalties = largest * effort.ratio ** np.arange(1, effort.penalties + 1)[:, None]
    losses = np.zeros(penalties.shape)
    for train, test in _folds(problem, effort.splits, rng):
        lassos = Lassos(both[train], y[train], penalised, stiffness)
        for number, penalty in enumerate(penalties):
            lines = Lines(lassos.step(penalty, effort.steps), lassos.x_mean, lassos.y_mean)
            losses[number] += (lines.residuals(both[test], y[test]) ** 2).sum(0)
    best = losses.argmin(0)
    # for all, so that no response depends on what others need
    for number in range(effort.penalties):
        whole.step(penalties[np.minimum(number, best), np.arange(len(best))], effort.steps)
    own, other = np.split(whole.slopes * both.std(0)[:, None], 2)
    return _norms(problem, own) - _norms(problem, other)


def ridge_coefficients(problem: Problem, y: Array, rng: np.random.Generator) -> Array:
    r"""Return the ridge coefficient difference, `[responses, features]`; y is `[rows, responses]`.

    The penalty minimises each response's generalised cross-validation. This stands in for
    statistics of which nothing is known: it spreads an effect over correlated features, so it errs
    on the side of care.
    """
    y = _standard(y)
    both = np.hstack([problem.x, problem.x_tilde])
    both = both - both.mean(0)
    rows, columns = both.shape
    values, vectors = np.linalg.eigh(_smaller_gram(both))
    values, wide = np.maximum(values, 0.0), columns > rows
    along = vectors.T @ (y if wide else both.T @ y)
    # y along the directions that lines can reach, from which the residual sum of squares of any
    # penalty follows
    squares = along**2 if wide else along**2 / np.maximum(values, SMALLEST)[:, None]
    best, solved = np.full(y.shape[1], np.inf), np.zeros_like(along)
    for penalty in RIDGE_PENALTIES * rows:
        hat = (values / (values + penalty))[:, None]
        score = ((y**2).sum(0) - (hat * (2 - hat) * squares).sum(0)) / (1 - hat.sum() / rows) ** 2
        better = score < best
        solved[:, better] = along[:, better] / (values + penalty)[:, None]
        best = np.minimum(best, score)
    slopes = both.T @ (vectors @ solved) if wide else vectors @ solved
    own, other = np.split(slopes * both.std(0)[:, None], 2)
    return _norms(problem, own) - _norms(problem, other)


def _effort(problem: Problem) -> Effort:
    return FOR_WIDE if problem.x.shape[1] > WIDE else USUAL


def _norms(problem: Problem, slopes: Array) -> Array:
    if problem.unit is None:
        return np.abs(slopes).T
    starts = np.searchsorted(problem.unit, np.arange(problem.features))
    return np.sqrt(np.add.reduceat(slopes**2, starts, axis=0)).T


def _standard(y: Array) -> Array:
    deviation = y.std(0)
    return (y - y.mean(0)) / np.where(deviation > 0, deviation, 1.0)


def _folds(
    problem: Problem, folds: int, rng: np.random.Generator
) -> Iterator[tuple[Indices, Indices]]:
    """Random folds of about equal size, those that leave rows to fit on;
    the rows of a group stay together.
    """
    group = np.arange(len(problem.x)) if problem.groups is None else problem.groups
    fold = (rng.permutation(group.max() + 1) % folds)[group]
    for number in range(folds):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(train) > 1 and len(test):
            yield train, test


def _mixed(problem: Problem, rows: Indices, block: Indices, rng: np.random.Generator) -> Array:
    """Rows of x with x̃_j for x_j of the block's features in half of them,
    by the toss of a coin.
    """
    columns = problem.columns_of(block)
    coins = rng.random((len(rows), problem.features)) < 0.5
    x = problem.x[rows]
    x[:, columns] = np.where(
        problem.per_column(coins, columns), problem.x_tilde[np.ix_(rows, columns)], x[:, columns]
    )
    return x


def _fit_lines(x: Array, y: Array, kept: Flags, penalised: Penalised, steps: int) -> Lines:
    """Fit the lasso of the networks' penalty to each response,
    in units of what a ridge regression leaves of it.

    The rows that are `kept` from the ridge regression choose its penalty, and say what it leaves.
    """
    x_mean, y_mean = x[~kept].mean(0), y[~kept].mean(0)
    fitted = x[~kept] - x_mean
    values, vectors = np.linalg.eigh(_smaller_gram(fitted))
    values = np.maximum(values, 0.0)
    if x.shape[1] > len(fitted):  # of rows: lead to those of columns
        along = vectors.T @ (y[~kept] - y_mean)
        vectors = fitted.T @ vectors
    else:
        along = vectors.T @ (fitted.T @ (y[~kept] - y_mean))
    seen = (x[kept] - x_mean) @ vectors
    target = y[kept] - y_mean
    best, solved = np.full(y.shape[1], np.inf), np.zeros_like(along)
    for penalty in PENALTIES * len(fitted):
        candidate = along / (values + penalty)[:, None]
        loss = ((target - seen @ candidate) ** 2).mean(0)
        better = loss < best
        solved[:, better] = candidate[:, better]
        best = np.minimum(best, loss)
    lassos = Lassos(x, y, penalised, _typical(values) / len(fitted))
    penalty = PENALTY * np.sqrt(best)
    lassos.start_at(vectors @ solved, penalty)
    return Lines(lassos.step(penalty, steps), lassos.x_mean, lassos.y_mean)


def _smaller_gram(x: Array) -> Array:
    return x @ x.T if x.shape[1] > x.shape[0] else x.T @ x


def _typical(values: Array) -> float:
    """The geometric mean of the median and the mean of those eigenvalues that are not all but
    zero.
    """
    kept = values[values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)]
    return float(np.sqrt(np.median(kept) * kept.mean())) if len(kept) else 1.0


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

    `stiffness` is the weight of the last coefficients in a step; a typical eigenvalue of the
    columns' covariance is best. `slopes` are the coefficients, `[columns, responses]`, after the
    steps so far.
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
        """Go on from other coefficients, taking them for the solution as far as their gradient
        allows.
        """
        gradient = self.cross - self._x.T @ (self._x @ slopes)
        inside = np.minimum(penalty / np.maximum(self._penalised.norms(gradient), LEAST), 1.0)
        self._dual = gradient * (
            inside if len(inside) == len(gradient) else inside[self._penalised.of]
        )
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
