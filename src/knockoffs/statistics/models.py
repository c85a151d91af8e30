"""Models of y that statistics know by name."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LogisticRegressionCV

from knockoffs.runtime.arrays import Array

NAMED = ("boosting", "linear+boosting", "lightgbm")


def make_model(estimator: Any, seed: int, *, of_classes: bool) -> Any:
    """An unfitted copy of the estimator, or a model by name, of classes or of a quantity."""
    if not isinstance(estimator, str):
        return clone(estimator)
    if estimator == "boosting":
        return _trees(seed, of_classes=of_classes)
    if estimator == "linear+boosting":
        return LinearClassifierWithTrees(seed) if of_classes else LinearRegressorWithTrees(seed)
    require_model(estimator)
    import lightgbm

    kind = lightgbm.LGBMClassifier if of_classes else lightgbm.LGBMRegressor
    return kind(n_estimators=100, num_leaves=15, n_jobs=1, verbosity=-1, random_state=seed)


def require_model(estimator: Any) -> None:
    """Find out whether the package of a model that is known by name is installed."""
    if isinstance(estimator, str) and estimator == "lightgbm" and find_spec("lightgbm") is None:
        raise ImportError(
            'estimator="lightgbm" needs the package lightgbm: '
            'pip install "knockoffs[lightgbm]", or pass "boosting".'
        )


def _trees(seed: int, *, of_classes: bool) -> Any:
    kind = HistGradientBoostingClassifier if of_classes else HistGradientBoostingRegressor
    return kind(max_iter=100, max_leaf_nodes=15, early_stopping=False, random_state=seed)


class LinearRegressorWithTrees(BaseEstimator):
    """A lasso, and boosted trees for what it leaves: trees alone are slow to learn straight lines.

    The lasso sees 0, the mean in standard units, where a value is missing.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, x: Array, y: Array) -> Self:
        with warnings.catch_warnings():
            # of penalties that are too small to matter
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.linear_ = LassoCV(cv=3, alphas=20, random_state=self.seed).fit(_filled(x), y)
        self.trees_ = _trees(self.seed, of_classes=False).fit(
            x, y - self.linear_.predict(_filled(x))
        )
        return self

    def predict(self, x: Array) -> Array:
        return self.linear_.predict(_filled(x)) + self.trees_.predict(x)


class LinearClassifierWithTrees(BaseEstimator):
    """Boosted trees that also see the scores of a logistic regression."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, x: Array, y: Array) -> Self:
        logistic = LogisticRegressionCV(
            Cs=5,
            cv=3,
            l1_ratios=(0.0,),
            scoring="neg_log_loss",
            use_legacy_attributes=False,
            max_iter=200,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.linear_ = logistic.fit(_filled(x), y)
        self.trees_ = _trees(self.seed, of_classes=True).fit(self._with_scores(x), y)
        self.classes_ = self.trees_.classes_
        return self

    def predict_proba(self, x: Array) -> Array:
        return self.trees_.predict_proba(self._with_scores(x))

    def predict(self, x: Array) -> Array:
        return self.classes_[self.predict_proba(x).argmax(axis=1)]

    def _with_scores(self, x: Array) -> Array:
        return np.column_stack([x, self.linear_.decision_function(_filled(x))])


def _filled(x: Array) -> Array:
    return np.where(np.isnan(x), 0.0, x)
