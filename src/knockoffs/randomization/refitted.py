"""The conditional statistic: a model is fitted anew to every redraw, and says how much it uses the feature."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LogisticRegression

from knockoffs.arrays import Array, Indices

UsedColumns = Callable[[Array, Array, Indices], float]


def refitted_statistic(statistic: Any, classes: bool, seed: int) -> UsedColumns:
    """Return what says how much a model of y uses some columns of x: a given function, or one of an estimator."""
    if statistic is None:
        statistic = LogisticRegression(C=1.0) if classes else LassoCV(cv=3, alphas=20, random_state=seed)
    if not hasattr(statistic, "fit"):
        return statistic

    def used(x: Array, y: Array, columns: Indices) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = clone(statistic).fit(x, y)
        return importance(model, columns)

    return used


def importance(model: Any, columns: Indices) -> float:
    """Return the sum of the importances of some columns in a fitted model, by absolute coefficients or its own."""
    coefficients = getattr(model, "coef_", None)
    if coefficients is not None:
        return float(np.abs(np.atleast_2d(coefficients)[:, columns]).sum())
    own = getattr(model, "feature_importances_", None)
    if own is None:
        raise ValueError(
            f"statistic={model!r} has neither coef_ nor feature_importances_ after its fit. Pass a function "
            '(x, y, columns) -> number, or use variant="distilled".'
        )
    return float(np.asarray(own)[columns].sum())


def is_function(statistic: Any) -> bool:
    """Return whether a statistic is a plain function, not an estimator or a class."""
    return callable(statistic) and not inspect.isclass(statistic) and not hasattr(statistic, "fit")
