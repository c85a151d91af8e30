"""The lasso coefficient difference."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoLarsCV, LogisticRegressionCV
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from knockoffs.arrays import Array, Indices
from knockoffs.engine.training import Report
from knockoffs.randomness import RandomState
from knockoffs.statistics.base import Statistic, TaskChoice, require_enough_for
from knockoffs.statistics.group_lasso import Groups, group_lasso
from knockoffs.statistics.importance import importances
from knockoffs.statistics.problem import Problem, in_random_pair_order

SINGULAR = 1e-9  # variance of a direction, as a share of the largest, below which it is a rounding error


class LassoStatistic(Statistic):
    """|b_j| - |b̃_j|, the coefficients of a lasso fitted on [x, x̃] at the penalty that cross-validates best.

    The coefficients are those of columns in standard units, and of y in standard units where it is a quantity.
    Exact: flip-sign holds for any data. A logistic lasso for classes. Strong where y is close to linear in the
    features; on real data with imperfect knockoffs it exceeds its level more than `HoldoutStatistic` does.

    Where a feature has several columns (levels of a nominal feature, a value and whether it is missing) a group
    lasso takes or leaves these as a whole, and |b_j| is the norm of their coefficients once the columns are made
    uncorrelated, of unit variance: the standard deviation of what the feature adds to the prediction.
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

    def _compute(self, problem: Problem, rng: np.random.Generator, report: Report) -> Array:
        ranks = np.ones(problem.features)
        if problem.unit is not None:
            problem, ranks = _uncorrelated(problem)
        table, sign = in_random_pair_order(problem, rng)
        require_enough_for(problem, "cv", self.cv)
        # Shuffled, since files are often sorted by something.
        kind = StratifiedKFold if problem.task == "classification" else KFold
        splitter = (kind if problem.groups is None else GroupKFold)(
            self.cv, shuffle=True, random_state=int(rng.integers(2**31))
        )
        cv = [*splitter.split(table, problem.y, problem.groups)]
        if problem.unit is None:
            found = self._coefficients(table, problem, cv, rng)
        else:
            units = np.concatenate([problem.unit, problem.unit + problem.features])
            groups = Groups(units, np.tile(np.sqrt(ranks), 2))
            found = groups.norms(group_lasso(table, problem.y, problem.task, groups, cv))
        first, second = np.split(found, 2)
        return sign * (first - second)

    def _coefficients(
        self, table: Array, problem: Problem, cv: list[tuple[Indices, Indices]], rng: np.random.Generator
    ) -> Array:
        """The absolute coefficient of each column."""
        if problem.task == "regression":
            # LARS follows the whole path; with strongly correlated columns a grid of penalties stops too early.
            model = LassoLarsCV(cv=cv, max_iter=4 * problem.features + 100, n_jobs=self.n_jobs)
        else:
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
            # Near-copies end a path early, and sparse fits need no last digit.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(table, problem.y)
        return importances(model, table.shape[1])


def _uncorrelated(problem: Problem) -> tuple[Problem, Array]:
    """The columns of each feature made uncorrelated and of unit variance, and how many of them there are then.

    Feature and knockoff by the same map, that of their mean covariance: a swap leaves it as it is.
    """
    x, x_tilde, ranks = problem.x.copy(), problem.x_tilde.copy(), np.zeros(problem.features)
    for j in range(problem.features):
        columns = problem.columns_of(np.array([j]))
        own, other = x[:, columns], x_tilde[:, columns]
        values, vectors = np.linalg.eigh((own.T @ own + other.T @ other) / (2 * len(x)))
        kept = values > SINGULAR * max(values[-1], SINGULAR)
        root = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        x[:, columns], x_tilde[:, columns], ranks[j] = own @ root, other @ root, max(kept.sum(), 1)
    return problem._replace(x=x, x_tilde=x_tilde), ranks
