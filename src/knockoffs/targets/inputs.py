"""Reading a table and its target, once, at the door of a public class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from knockoffs.runtime.checks import check_choice
from knockoffs.table.row_structure import require_same_order
from knockoffs.table.table import Table, read_table
from knockoffs.targets.base import Target
from knockoffs.targets.classes import Classes
from knockoffs.targets.quantity import Quantity, is_quantity
from knockoffs.targets.registry import AUTO, TARGETS, TaskChoice, task_names
from knockoffs.targets.survival import Survival
from knockoffs.targets.times import holds_times
from knockoffs.targets.vectors import read_vector, refuse_other_numbers


def read_target(y: Any, task: TaskChoice, *, rows: int, who: str) -> Target:
    """Read y; what it is is found out by its type where `task` is "auto"."""
    check_choice("task", task, task_names())
    return _kind_of(y, task, rows, who).read(y, rows=rows, who=who)


def _kind_of(y: Any, task: TaskChoice, rows: int, who: str) -> type[Target]:
    if task != AUTO:
        return TARGETS[task]
    if holds_times(y):
        return Survival
    vector = read_vector(y, rows, who)
    refuse_other_numbers(vector, who)
    return Quantity if is_quantity(vector) else Classes


def read_inputs(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    task: TaskChoice,
    kinds: Mapping[Any, str] | None,
    groups: Any = None,
    who: str,
) -> tuple[Table, Target]:
    """Read what an estimator is fitted to, and let it remember the names of the columns,
    as scikit-learn asks.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    X : table of shape (n_rows, n_features)
        The features.
    y : array-like of shape (n_rows,), data frame of two columns, or structured array
        The target.
    task : {"auto", "regression", "classification", "count", "survival"}
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
    return table, read_target(y, task, rows=len(table), who=who)


def task_of(task: TaskChoice, statistic: Any) -> TaskChoice:
    """Return the task that is asked for, or that the statistic has,
    so that all speak of the same.
    """
    own: TaskChoice = getattr(statistic, "task", AUTO)
    if own == AUTO or task == own:
        return task
    if task != AUTO:
        raise ValueError(
            f"task={task!r} is not valid with a statistic of task={own!r}: w and the check would "
            f"be about "
            f"different things. Pass task={own!r}, or leave it out of one of them."
        )
    return own
