"""The table and the target of a fit, read and checked before any work begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from knockoffs.schema.schema import Kind
from knockoffs.table.row_labels import require_same_order
from knockoffs.table.table import Table, read_table
from knockoffs.targets.target import Target, TaskChoice


def read_inputs(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    task: TaskChoice,
    kinds: Mapping[Any, Kind] | None,
    groups: Any = None,
    who: str,
) -> tuple[Table, Target]:
    """Read what an estimator is fitted to, and let it remember the names of the columns, as scikit-learn asks.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    X : table of shape (n_rows, n_features)
        The features.
    y : array-like of shape (n_rows,), data frame of two columns, or structured array
        The target.
    task : {"auto", "regression", "classification", "survival"}
        What y is.
    kinds : mapping of column names (or numbers) to kinds, or None
        Kinds of columns that are known.
    groups : array-like of shape (n_rows,), default=None
        One label per row.
    who : str
        Who reads them; error messages begin with it.
    """
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    table = read_table(X, who=who, kinds=kinds)
    if 0 in table.shape:
        raise ValueError(
            f"{who}: X has {table.shape[0]} sample(s) and {table.shape[1]} feature(s) "
            f"(shape={table.shape}) while a minimum of 1 is required."
        )
    validate_data(estimator, X, skip_check_array=True, reset=True)
    require_same_order(X, y=y, groups=groups, who=who)
    return table, Target.read(y, task, rows=len(table), who=who)
