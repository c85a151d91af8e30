"""The lasso coefficient difference, and the lasso of a quantity along the exact paths of LARS."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV, lars_path
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.parallel import in_parallel, jobs
from knockoffs.runtime.randomness import RandomState
from knockoffs.statistics.base import Statistic, require_enough_for
from knockoffs.statistics.group_lasso import Groups, group_lasso
from knockoffs.statistics.importance import importances
from knockoffs.statistics.problem import Problem, in_random_pair_order
from knockoffs.statistics.quick import SMALLEST, QuickStatistic, lasso_coefficients
from knockoffs.targets.registry import TaskChoice

# variance of the columns of a feature, in standard units; below it they are constant


class LassoStatistic(Statistic):
    """|b_j| - |b̃_j| of a lasso fitted on [x, x̃] at the penalty that cross-validates best.

    The coefficients are those of columns in standard units, and of y in standard units where it is
    a quantity. Exact: flip-sign holds for any data. A logistic lasso for classes, a Cox lasso for
    survival times. Strong where y is close to linear in the features; on real data with imperfect
    knockoffs it exceeds its level more than `HoldoutStatistic` does.

    Where features have several columns (levels of a nominal feature, a value and whether it is
    missing, a group of features) a group lasso takes or leaves these as a whole, and |b_j| is the
    standard deviation of what they add to the prediction: for one column, its absolute coefficient.

    Parameters
    ----------
    cv : int, default=5
        Number of folds of the cross-validation that chooses the penalty.
    task : {"auto", "regression", "classification", "count", "survival"}, default="auto"
        What y is; `"auto"` decides by the type of y.
    random_state : int, numpy Generator or None, default=None
        Seed.
    n_jobs : int, default=None
        Number of cores for the cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import LassoStatistic
    >>> # independent columns: exact knockoffs
    >>> X, X_tilde = np.random.default_rng(0).normal(size=(2, 200, 4))
    >>> w = LassoStatistic(random_state=0).compute(X, X_tilde, 3 * X[:, 0])
    >>> int(w.argmax())
    0
    """

    name = "lasso"
    exact = True

    def __init__(
        self,
        *,
        cv: int = 5,
        task: TaskChoice = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.cv = cv
        self.task = task
        self.random_state = random_state
        self.n_jobs = n_jobs

    def stand_in(self) -> QuickStatistic:
        """Return a lasso on a coarse grid of penalties."""
        return lasso_coefficients

    def check_settings(self) -> None:
        """Refuse settings that are not valid."""
        check_count("cv", self.cv, least=2)

    def _compute(self, problem: Problem, rng: np.random.Generator) -> Array:
        table, sign = in_random_pair_order(problem, rng)
        require_enough_for(problem, "cv", self.cv)
        # Shuffled, since files are often sorted by something.
        strata = problem.target.strata(self.cv)
        kind = KFold if strata is None else StratifiedKFold
        splitter = (kind if problem.groups is None else GroupKFold)(
            self.cv, shuffle=True, random_state=int(rng.integers(2**31))
        )
        cv = [*splitter.split(table, strata, problem.groups)]
        if problem.unit is None and (problem.target.quadratic or problem.target.categorical):
            found = self._coefficients(table, problem, cv, rng)
        else:
            covariances = 2 * _covariances(problem)  # of features, and of knockoffs
            # noise of a group grows with the standard deviation of all of its columns, which for
            # one column is 1
            weight = np.sqrt([max(np.trace(covariance), SMALLEST) for covariance in covariances])
            unit = problem.units
            groups = Groups(np.concatenate([unit, unit + problem.features]), weight)
            found = _deviations(
                group_lasso(table, problem.target.of_lines(), groups, cv), groups, covariances
            )
        first, second = np.split(found, 2)
        return sign * (first - second)

    def _coefficients(
        self,
        table: Array,
        problem: Problem,
        cv: list[tuple[Indices, Indices]],
        rng: np.random.Generator,
    ) -> Array:
        """The absolute coefficient of each column."""
        if problem.target.quadratic:
            return np.abs(lars_lasso(table, problem.y, cv))
        model = LogisticRegressionCV(
            Cs=10,
            cv=cv,
            l1_ratios=(1.0,),
            solver="saga",
            scoring="neg_log_loss",
            max_iter=300,
            tol=1e-3,
            n_jobs=jobs(),
            random_state=int(rng.integers(2**31)),
            use_legacy_attributes=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # sparse fits need no last digit
            model.fit(table, problem.y)
        return importances(model, table.shape[1])


def _covariances(problem: Problem) -> list[Array]:
    """The covariance of the columns of each feature, over it and its knockoff:
    a swap leaves it as it is.
    """
    covariances: list[Array] = []
    for j in range(problem.features):
        columns = problem.columns_of(np.array([j]))
        own, other = problem.x[:, columns], problem.x_tilde[:, columns]
        covariances.append((own.T @ own + other.T @ other) / (2 * len(own)))
    return covariances


def _deviations(b: Array, groups: Groups, covariances: list[Array]) -> Array:
    """The standard deviation of what the columns of each group add to the prediction,
    over all outputs.
    """
    parts = (b[groups.of == g] for g in range(len(groups.weight)))
    variances = [np.sum(part * (c @ part)) for part, c in zip(parts, covariances, strict=True)]
    return np.sqrt(np.maximum(variances, 0.0))


FIRST_STEPS = 256  # of a path; it is followed further while its best penalty may still lie ahead
BEHIND = 0.5  # share of a path, in steps, behind which its best penalty must lie
PENALTIES = 200
SMALLEST_PENALTY = 1e-6  # penalty, as a share of the largest


class _Path(NamedTuple):
    """Residuals of unseen rows along the path of a fold;
    between its penalties they are straight lines.
    """

    penalties: Array  # falling
    residuals: Array  # [rows, penalties]

    def losses(self, penalties: Array) -> Array:
        """The sum of squares of the residuals at other penalties,
        none of them beyond the end of the path.
        """
        if len(self.penalties) == 1:
            return np.full(len(penalties), (self.residuals**2).sum())
        after = np.clip(np.searchsorted(-self.penalties, -penalties), 1, len(self.penalties) - 1)
        before, gap = self.penalties[after - 1], self.penalties[after - 1] - self.penalties[after]
        share = np.clip((before - penalties) / np.maximum(gap, np.finfo(float).tiny), 0, 1)
        found = self.residuals[:, after - 1] * (1 - share) + self.residuals[:, after] * share
        return (found**2).sum(0)


def lars_lasso(x: Array, y: Array, cv: Sequence[tuple[Indices, Indices]]) -> Array:
    """Return the coefficients of the lasso at the penalty with the smallest loss over the folds.

    A path is not followed to its end, where it has as many coefficients as there are columns or
    rows: it is followed until its fold's loss was smallest in the first half of the steps. With
    strongly correlated columns a grid of penalties that is set beforehand stops too early.
    """
    paths = list(in_parallel(_fold_path, cv, shared=(x, y)))
    largest = max(path.penalties[0] for path in paths)
    if largest == 0:
        return np.zeros(x.shape[1])
    end = max(path.penalties[-1] for path in paths)
    penalties = np.geomspace(largest, max(end, SMALLEST_PENALTY * largest), PENALTIES)
    best = penalties[np.sum([path.losses(penalties) for path in paths], axis=0).argmin()]
    _, coefficients = _follow(x - x.mean(0), y - y.mean(), steps=_most_steps(x), least=float(best))
    return coefficients[:, -1]


def _fold_path(x: Array, y: Array, train: Indices, test: Indices) -> _Path:
    x_mean, y_mean = x[train].mean(0), y[train].mean()
    seen, target = x[train] - x_mean, y[train] - y_mean
    gram = seen.T @ seen if len(seen) > seen.shape[1] else None
    most = _most_steps(x)
    steps = min(FIRST_STEPS, most)
    while True:
        penalties, coefficients = _follow(seen, target, steps=steps, gram=gram)
        residuals = (y[test] - y_mean)[:, None] - (x[test] - x_mean) @ coefficients
        best = int((residuals**2).sum(0).argmin())
        if best < BEHIND * steps or len(penalties) < steps or steps == most:
            return _Path(penalties, residuals)
        steps = min(2 * steps, most)


def _most_steps(x: Array) -> int:
    return 2 * x.shape[1] + 100


def _follow(
    x: Array, y: Array, *, steps: int, gram: Array | None = None, least: float = 0.0
) -> tuple[Array, Array]:
    """Penalties, falling, and the coefficients `[columns, penalties]` at them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near-copies end a path early
        penalties, _, coefficients = lars_path(
            x, y, Gram=gram, max_iter=steps, alpha_min=least, method="lasso"
        )
    return penalties, coefficients
