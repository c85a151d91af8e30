"""The lasso coefficient difference."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoLarsCV, LogisticRegressionCV
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from knockoffs.arrays import Array
from knockoffs.engine.training import Report
from knockoffs.randomness import RandomState
from knockoffs.statistics.base import (
    Problem,
    Statistic,
    TaskChoice,
    in_random_pair_order,
    require_enough_for,
)
from knockoffs.statistics.importance import importances


class LassoStatistic(Statistic):
    """|b_j| - |b̃_j|, the coefficients of a lasso fitted on [x, x̃] at the penalty that cross-validates best.

    The coefficients are those of columns in standard units, and of y in standard units where it is a quantity.
    Exact: flip-sign holds for any data. A logistic lasso for classes. Strong where y is close to linear in the
    features; on real data with imperfect knockoffs it exceeds its level more than `HoldoutStatistic` does.
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
        table, sign = in_random_pair_order(problem, rng)
        require_enough_for(problem, "cv", self.cv)
        # Shuffled, since files are often sorted by something.
        kind = StratifiedKFold if problem.task == "classification" else KFold
        splitter = (kind if problem.groups is None else GroupKFold)(
            self.cv, shuffle=True, random_state=int(rng.integers(2**31))
        )
        cv = [*splitter.split(table, problem.y, problem.groups)]
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
        first, second = np.split(importances(model, 2 * problem.features), 2)
        return sign * (first - second)
