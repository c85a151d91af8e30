"""What y is: its task, its values as numbers, and how it is spoken of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from knockoffs.runtime.arrays import Array
from knockoffs.runtime.checks import check_choice
from knockoffs.schema.words import counted, listing
from knockoffs.table.row_structure import require_same_order
from knockoffs.table.table import Table, as_numpy, read_table
from knockoffs.targets.standard_units import varies
from knockoffs.targets.survival import Times, holds_times, median_follow_up, read_times

Task = Literal["regression", "classification", "survival"]
# what models do; a survival target is a quantity to them
ModelTask = Literal["regression", "classification"]

MOST_CLASSES = 20
SAID_CLASSES = 4
MOST_DIFFERENT = 0.5  # classes per row
LEAST_OF_CLASS = 5  # rows, by which a model may learn a class and be tested
RARER = 10  # times than in even shares
TaskChoice = Literal["auto", "regression", "classification", "survival"]
TASKS = get_args(TaskChoice)


class Target(NamedTuple):
    """The response y.

    Attributes
    ----------
    task : {"regression", "classification", "survival"}
        What is to be predicted: a quantity, a class, or the time to an event.
    values : array of shape (rows,)
        The quantity, the number of the class from 0 on, or martingale residuals: events minus the
        number to expect by the time of the row, which are large where the event comes early.
    classes : tuple of str
        The classes as they stand in y, in the order of their numbers; empty for a quantity and for
        times.
    name : str or None
        What y is called: the name of the series that was passed.
    times : Times or None
        When each row was last seen and whether with the event; None unless the task is "survival".
    """

    task: Task
    values: Array
    classes: tuple[str, ...] = ()
    name: str | None = None
    times: Times | None = None

    @classmethod
    def read(cls, y: Any, task: TaskChoice, *, rows: int, who: str) -> Target:
        """Read y; its kind is found out by its type where `task` is "auto"."""
        check_choice("task", task, TASKS)
        if holds_times(y, task):
            return cls.of_times(read_times(y, rows=rows, who=who))
        name = getattr(y, "name", None)  # of a pandas or polars series
        name = None if name is None or callable(name) else str(name)
        vector = _read_vector(y, rows, who)
        if task != "classification" and vector.dtype.kind in "cmMV":
            raise ValueError(
                f"{who}: y of type {vector.dtype} does not hold real numbers. Pass numbers (such "
                f"as days since a "
                "date), or task='classification'."
            )
        if task == "regression" or (task == "auto" and _is_quantity(vector)):
            return cls("regression", _quantity(vector, who), name=name)
        values, found = _classes(vector, who), np.unique(vector).tolist()
        labels = tuple(f"{c:g}" if isinstance(c, float) else str(c) for c in found)
        return cls("classification", values, labels, name)

    @classmethod
    def of_times(cls, times: Times) -> Target:
        """The target of survival times."""
        return cls("survival", times.residuals, name=f"time to {times.event_name}", times=times)

    @property
    def model_task(self) -> ModelTask:
        """What models do with `values`."""
        return "classification" if self.task == "classification" else "regression"

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of the rows of each class, or of censored rows and of events;
        empty for a quantity.
        """
        if self.times is not None:
            seen = float(self.times.event.mean())
            return 1 - seen, seen
        return (
            tuple(np.bincount(self.values.astype(int)) / len(self.values)) if self.classes else ()
        )

    @property
    def as_given(self) -> tuple[Array, ...]:
        """The columns of y as numbers: times and events, or its values."""
        return (
            (self.values,)
            if self.times is None
            else (self.times.time, self.times.event.astype(np.float64))
        )

    def to_native(self) -> NDArray[Any]:
        """Return y as it can be passed to a statistic: its values,
        or a structured array of events and times.
        """
        if self.times is None:
            return self.values
        fields = np.dtype([("event", bool), ("time", np.float64)])
        return np.array([*zip(self.times.event, self.times.time, strict=True)], dtype=fields)

    @property
    def described(self) -> str:
        """What y is, in words.

        >>> Target("regression", np.array([1.0, 2.0, 9.0])).described
        'a quantity: 1 to 9, median 2'
        >>> Target("classification", np.array([0.0, 1.0, 1.0]), ("ill", "well")).described
        '2 classes: ill (1), well (2)'
        >>> times = Times(np.array([1.0, 2.0, 9.0]), np.array([True, True, False]))
        >>> Target.of_times(times).described
        '2 of 3 rows have the event, median follow-up 9'
        """
        if self.times is not None:
            events, follow_up = self.times.event.sum(), median_follow_up(self.times)
            return (
                f"{events:,} of {len(self.values):,} rows have the event, median follow-up "
                f"{follow_up:.4g}"
            )
        if not self.classes:
            low, middle, high = np.quantile(self.values, (0, 0.5, 1))
            return f"a quantity: {low:.4g} to {high:.4g}, median {middle:.4g}"
        counts = np.bincount(self.values.astype(int))
        said = [f"{name} ({count:,})" for name, count in zip(self.classes, counts, strict=True)]
        return f"{len(said)} classes: {listing(said, SAID_CLASSES)}"

    def columns(self) -> Array:
        """Return what a regression explains, `[rows, outputs]`: `values`,
        or a column of 0 and 1 per class.
        """
        if not self.classes:
            return self.values[:, None]
        return (self.values[:, None] == np.arange(len(self.classes))).astype(np.float64)


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


def task_of(task: TaskChoice, statistic: Any) -> TaskChoice:
    """Return the task that is asked for, or that the statistic has,
    so that all speak of the same.
    """
    own: TaskChoice = getattr(statistic, "task", "auto")
    if own == "auto" or task == own:
        return task
    if task != "auto":
        raise ValueError(
            f"task={task!r} is not valid with a statistic of task={own!r}: w and the check would "
            f"be about "
            f"different things. Pass task={own!r}, or leave it out of one of them."
        )
    return own


def _read_vector(y: Any, rows: int, who: str) -> NDArray[Any]:
    """One finite value per row, under the simplest type that holds them all."""
    try:
        target = np.asarray(as_numpy(y))
    except ValueError as error:
        raise ValueError(
            f"{who}: y is no array ({error}). Pass one value for each of the {rows} rows."
        ) from None
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.shape != (rows,):
        raise ValueError(
            f"{who}: y has shape {target.shape}; pass one value for each of the {rows} rows."
        )
    missing = np.asarray(pd.isna(target))
    if missing.any():
        raise ValueError(
            f"{who}: y has {counted(missing.sum(), 'missing value')}. Drop those rows from X and y."
        )
    if target.dtype.kind == "O":
        target = pd.Series(target.tolist()).infer_objects().to_numpy()
        # exact numbers that numpy has no type for
        if pd.api.types.infer_dtype(target) in ("decimal", "integer"):
            target = target.astype(np.float64)
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        raise ValueError(f"{who}: y has infinite values. Drop those rows from X and y.")
    return target


def _is_quantity(target: NDArray[Any]) -> bool:
    """Return whether y is a number, not a class: a fraction, over 20 different whole numbers,
    or a count.

    Counts become rare on the way up, classes that are numbered are all frequent enough to be told
    from others.
    """
    if target.dtype.kind not in "iuf":
        return False
    values, counts = np.unique(target, return_counts=True)
    rare = counts.min(initial=LEAST_OF_CLASS) < min(
        LEAST_OF_CLASS, len(target) / (RARER * max(len(values), 1))
    )
    return (
        bool((target != np.rint(target)).any())
        or len(values) > MOST_CLASSES
        or bool(len(values) > 2 and rare)
    )


def _classes(target: NDArray[Any], who: str) -> Array:
    try:
        classes, codes = np.unique(target, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"{who}: y holds classes of several types, such as text and numbers. Pass classes of "
            f"one type, for "
            "example by y.astype(str)."
        ) from None
    if len(classes) > max(MOST_CLASSES, MOST_DIFFERENT * len(target)):
        numbers = pd.to_numeric(pd.Series(classes), errors="coerce").notna().all()
        quantity = (
            "Pass task='regression' (--task regression)" if numbers else "Convert it to numbers"
        )
        raise ValueError(
            f"{who}: y has {len(classes)} classes in {len(target)} rows, too few rows of each to "
            f"learn what they "
            f"differ in. {quantity} if it is a quantity, or join classes."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{who}: y has one class only ({classes.tolist()[0]!r}). Pass rows of at least two "
            f"classes."
        )
    return codes.astype(np.float64)


def _quantity(target: NDArray[Any], who: str) -> Array:
    try:
        values = target.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{who}: y of type {target.dtype} does not hold numbers, as task='regression' needs. "
            "Pass numbers, or task='classification'."
        ) from None
    if not np.isfinite(values).all():
        raise ValueError(f"{who}: y has infinite values. Drop those rows from X and y.")
    if not varies(values.min(), values.max()):
        raise ValueError(
            f"{who}: y is constant ({values[0]:g}) up to rounding. There is nothing to explain."
        )
    return values
