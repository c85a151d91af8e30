"""Importances of one model fitted on features and knockoffs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from knockoffs.arrays import Array
from knockoffs.engine.training import Report
from knockoffs.randomness import RandomState
from knockoffs.statistics.base import Problem, Statistic, Task, TaskChoice, in_random_pair_order


class ImportanceStatistic(Statistic):
    """The difference between a feature's importance and its knockoff's in a model fitted on [x, x̃].

    Exact: flip-sign holds for any data. `estimator` is any scikit-learn model with `feature_importances_` or
    `coef_` (a random forest by default).
    """

    exact = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        task: TaskChoice = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _compute(self, problem: Problem, rng: np.random.Generator, report: Report) -> Array:
        table, sign = in_random_pair_order(problem, rng)
        model = self._model(problem.task, int(rng.integers(2**31))).fit(table, problem.y)
        first, second = np.split(importances(model, 2 * problem.features), 2)
        return sign * (first - second)

    def _model(self, task: Task, seed: int) -> Any:
        if self.estimator is not None:
            return clone(self.estimator)
        forest = RandomForestRegressor if task == "regression" else RandomForestClassifier
        return forest(200, max_features="sqrt", n_jobs=self.n_jobs, random_state=seed)


def importances(model: Any, columns: int) -> Array:
    """One number a column: `feature_importances_`, or |`coef_`| summed over classes."""
    found = getattr(model, "feature_importances_", None)
    if found is None:
        coefficients = getattr(model, "coef_", None)
        if coefficients is None:
            raise ValueError(
                f"estimator={model!r} has neither feature_importances_ nor coef_ after its fit. "
                "Pass one that has, or use HoldoutStatistic, which needs predictions alone."
            )
        found = np.abs(np.atleast_2d(coefficients)).sum(0)
    if len(found) != columns:
        raise ValueError(f"estimator={model!r} gave {len(found)} importances for {columns} columns.")
    return np.asarray(found, dtype=np.float64)
