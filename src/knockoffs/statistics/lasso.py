"""The lasso coefficient difference."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.randomness import RandomState
from knockoffs.runtime.reports import Report
from knockoffs.statistics.base import Statistic, require_enough_for
from knockoffs.statistics.group_lasso import Groups, group_lasso
from knockoffs.statistics.importance import importances
from knockoffs.statistics.lars import lars_lasso
from knockoffs.statistics.lasso_responses import response_of
from knockoffs.statistics.problem import Problem, in_random_pair_order
from knockoffs.targets.target import TaskChoice

SMALLEST = 1e-9  # variance of the columns of a feature, in standard units; below it they are constant


class LassoStatistic(Statistic):
    """|b_j| - |b̃_j|, the coefficients of a lasso fitted on [x, x̃] at the penalty that cross-validates best.

    The coefficients are those of columns in standard units, and of y in standard units where it is a quantity.
    Exact: flip-sign holds for any data. A logistic lasso for classes, a Cox lasso for survival times. Strong where
    y is close to linear in the features; on real data with imperfect knockoffs it exceeds its level more than
    `HoldoutStatistic` does.

    Where features have several columns (levels of a nominal feature, a value and whether it is missing, a group of
    features) a group lasso takes or leaves these as a whole, and |b_j| is the standard deviation of what they add
    to the prediction: for one column, its absolute coefficient.

    Parameters
    ----------
    cv : int, default=5
        Number of folds of the cross-validation that chooses the penalty.
    task : {"auto", "regression", "classification", "survival"}, default="auto"
        What y is; `"auto"` decides by the type of y.
    random_state : int, numpy Generator or None, default=None
        Seed.
    n_jobs : int, default=None
        Number of cores for the cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import LassoStatistic
    >>> X, X_tilde = np.random.default_rng(0).normal(size=(2, 200, 4))  # independent columns: exact knockoffs
    >>> w = LassoStatistic(random_state=0).compute(X, X_tilde, 3 * X[:, 0])
    >>> int(w.argmax())
    0
    """

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

    def check_settings(self) -> None:
        """Refuse settings that are not valid."""
        check_count("cv", self.cv, least=2)

    def _compute(self, problem: Problem, rng: np.random.Generator, report: Report) -> Array:
        table, sign = in_random_pair_order(problem, rng)
        require_enough_for(problem, "cv", self.cv)
        # Shuffled, since files are often sorted by something.
        strata = problem.strata(self.cv)
        kind = KFold if strata is None else StratifiedKFold
        splitter = (kind if problem.groups is None else GroupKFold)(
            self.cv, shuffle=True, random_state=int(rng.integers(2**31))
        )
        cv = [*splitter.split(table, strata, problem.groups)]
        if problem.unit is None and problem.times is None:
            found = self._coefficients(table, problem, cv, rng)
        else:
            covariances = 2 * _covariances(problem)  # of features, and of knockoffs
            # noise of a group grows with the standard deviation of all of its columns, which for one column is 1
            weight = np.sqrt([max(np.trace(covariance), SMALLEST) for covariance in covariances])
            unit = problem.units
            groups = Groups(np.concatenate([unit, unit + problem.features]), weight)
            found = _deviations(group_lasso(table, response_of(problem), groups, cv), groups, covariances)
        first, second = np.split(found, 2)
        return sign * (first - second)

    def _coefficients(
        self, table: Array, problem: Problem, cv: list[tuple[Indices, Indices]], rng: np.random.Generator
    ) -> Array:
        """The absolute coefficient of each column."""
        if problem.task == "regression":
            return np.abs(lars_lasso(table, problem.y, cv, n_jobs=self.n_jobs))
        model = LogisticRegressionCV(
            Cs=10,
            cv=cv,
            l1_ratios=(1.0,),
            solver="saga",
            scoring="neg_log_loss",
            max_iter=300,
            tol=1e-3,
            n_jobs=self.n_jobs,
            random_state=int(rng.integers(2**31)),
            use_legacy_attributes=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # sparse fits need no last digit
            model.fit(table, problem.y)
        return importances(model, table.shape[1])


def _covariances(problem: Problem) -> list[Array]:
    """The covariance of the columns of each feature, over it and its knockoff: a swap leaves it as it is."""
    covariances: list[Array] = []
    for j in range(problem.features):
        columns = problem.columns_of(np.array([j]))
        own, other = problem.x[:, columns], problem.x_tilde[:, columns]
        covariances.append((own.T @ own + other.T @ other) / (2 * len(own)))
    return covariances


def _deviations(b: Array, groups: Groups, covariances: list[Array]) -> Array:
    """The standard deviation of what the columns of each group add to the prediction, over all outputs."""
    parts = (b[groups.of == g] for g in range(len(groups.weight)))
    variances = [np.sum(part * (c @ part)) for part, c in zip(parts, covariances, strict=True)]
    return np.sqrt(np.maximum(variances, 0.0))
