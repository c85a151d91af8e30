"""Importances of one model fitted on features and knockoffs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from knockoffs.runtime.arrays import Array
from knockoffs.runtime.parallel import jobs
from knockoffs.runtime.randomness import RandomState
from knockoffs.statistics.base import Statistic, require_estimator_for
from knockoffs.statistics.problem import Problem, in_random_pair_order
from knockoffs.targets.base import Target
from knockoffs.targets.registry import TaskChoice


class ImportanceStatistic(Statistic):
    """A feature's importance minus its knockoff's, in a model fitted on [x, x̃].

    The importance of a feature of several columns (levels, missing cells, a group) is the sum of
    theirs. Exact: flip-sign holds for any data.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn model with `feature_importances_` or `coef_`; by default a random forest.
    standardise : bool, default=True
        Whether the estimator sees X and a quantity y in standard units: mean 0 and standard
        deviation 1, with a common mean and standard deviation for a feature and its knockoff. A
        fixed penalty then acts on standardised columns, and w does not depend on the units and
        origins of X and y. Pass False for an estimator that needs the numbers as they are, such as
        a Poisson regression or a pipeline with a logarithm.
    task : {"auto", "regression", "classification", "count", "survival"}, default="auto"
        What y is; `"auto"` decides by the type of y.
    random_state : int, numpy Generator or None, default=None
        Seed.
    n_jobs : int, default=None
        Number of cores for the default forest.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import ImportanceStatistic
    >>> # independent columns: exact knockoffs
    >>> X, X_tilde = np.random.default_rng(0).normal(size=(2, 200, 4))
    >>> w = ImportanceStatistic(random_state=0).compute(X, X_tilde, 3 * X[:, 0])
    >>> int(w.argmax())
    0
    """

    name = "importance"
    exact = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        standardise: bool = True,
        task: TaskChoice = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.standardise = standardise
        self.task = task
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _compute(self, problem: Problem, rng: np.random.Generator) -> Array:
        require_estimator_for(self.standardise, self.estimator)
        table, sign = in_random_pair_order(problem, rng)
        model = self._model(problem.target, int(rng.integers(2**31))).fit(table, problem.y)
        first, second = np.split(importances(model, table.shape[1]), 2)
        return sign * (problem.per_feature(first) - problem.per_feature(second))

    def _model(self, target: Target, seed: int) -> Any:
        if self.estimator is not None:
            return clone(self.estimator)
        forest = RandomForestClassifier if target.categorical else RandomForestRegressor
        return forest(200, max_features="sqrt", n_jobs=jobs(), random_state=seed)


def importances(model: Any, columns: int) -> Array:
    """One number per column: `feature_importances_`, or |`coef_`| summed over classes."""
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
        raise ValueError(
            f"estimator={model!r} gave {len(found)} importances for {columns} columns."
        )
    return np.asarray(found, dtype=np.float64)
