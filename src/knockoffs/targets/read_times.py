"""Survival times as people have them: a structured array, a data frame or an array of two columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array
from knockoffs.schema.words import counted
from knockoffs.table.table import as_numpy
from knockoffs.targets.survival import Times

HOW = (
    "Pass a data frame of two columns, the time and whether the event was seen (True or 1; 0 if it is censored), "
    "or a structured array: np.array(list(zip(died, days)), dtype=[('died', bool), ('days', float)])"
)

# What pandas calls them (pandas.api.types.infer_dtype).
DURATIONS = "timedelta"
DATES = ("datetime", "date", "period")


class _Column(NamedTuple):
    """A column of y: its name, its cells as numbers (nan for a missing one), and whether these are yes and no."""

    name: str | None
    cells: Array
    flags: bool

    @property
    def said(self) -> str:
        return _said(self.name)

    @property
    def may_be_event(self) -> bool:
        """Return whether all cells are 0 or 1, as far as they are there."""
        present = self.cells[~np.isnan(self.cells)]
        return self.flags or bool(len(present) and np.isin(present, (0.0, 1.0)).all())


def _said(name: str | None) -> str:
    return "a column of y" if name is None else f"the column {name!r} of y"


def holds_times(y: Any, task: str) -> bool:
    """Return whether y is to be read as survival times: on request, or by its type."""
    if task == "auto":
        frame = _frame(y)
        return len(frame.columns) == 2 if frame is not None else _fields(y) is not None
    return task == "survival"


def read_times(y: Any, *, rows: int, who: str) -> Times:
    """Read times and events.

    The event is the column of booleans, or else the only one of 0 and 1; the time is the other one, in whatever
    order they stand.

    Parameters
    ----------
    y : data frame, structured array or array of shape (rows, 2)
        The times and events.
    rows : int
        The number of rows of X.
    who : str
        Who reads y; error messages begin with it.
    """
    columns = _columns(y, who)
    if len(columns) != 2:
        held = counted(len(columns), "column")
        raise ValueError(f"{who}: y has {held}, and survival times need two. {HOW}.")
    if any(len(column.cells) != rows for column in columns):
        raise ValueError(
            f"{who}: y has {counted(len(columns[0].cells), 'row')}; pass a time and an event for each of the "
            f"{rows}."
        )
    event, time = _told_apart(columns, who)
    for column in (event, time):
        missing = int(np.isnan(column.cells).sum())
        if missing:
            raise ValueError(
                f"{who}: {column.said} has {counted(missing, 'missing value')}. Drop those rows from X and y."
            )
    _check_times(time, who)
    seen = event.cells == 1
    if not seen.any():
        raise ValueError(
            f"{who}: {event.said} says that no row has the event, so there is nothing to explain. Check that "
            "events are coded as True or 1."
        )
    return Times(time.cells, seen, event.name or "event")


def _check_times(time: _Column, who: str) -> None:
    if not np.isfinite(time.cells).all():
        raise ValueError(
            f"{who}: {time.said} has infinite times. For rows without the event pass the time up to which they "
            "were observed."
        )
    negative = time.cells[time.cells < 0]
    if len(negative):
        raise ValueError(
            f"{who}: {time.said} has {counted(len(negative), 'negative time')} (the first is {negative[0]:g}). "
            "Count time from the start of each row's observation, and drop rows that were not observed."
        )
    if len(np.unique(time.cells)) == 1:
        raise ValueError(
            f"{who}: {time.said} is constant ({time.cells[0]:g}), so no event comes before another. Pass the "
            "event alone as y, as two classes."
        )


def _told_apart(columns: list[_Column], who: str) -> tuple[_Column, _Column]:
    """The event, then the time."""
    flags = [column.flags for column in columns]
    may_be = flags if any(flags) else [column.may_be_event for column in columns]
    names = " and ".join("without a name" if c.name is None else repr(c.name) for c in columns)
    if sum(may_be) == 2:
        raise ValueError(
            f"{who}: both columns of y ({names}) could be the event. Make the column of the event boolean, and "
            "check that of the time."
        )
    if sum(may_be) == 0:
        raise ValueError(
            f"{who}: y has two columns ({names}), and neither says whether the event was seen: one of them has to "
            "hold only True and False, or 1 and 0 (where 2 stands for the event, pass COLUMN == 2). For any other "
            "target pass one column."
        )
    return columns[may_be.index(True)], columns[may_be.index(False)]


def _columns(y: Any, who: str) -> list[_Column]:
    frame, fields = _frame(y), _fields(y)
    if frame is not None:
        return [_column(str(name), as_numpy(frame.get_column(name).to_native()), who) for name in frame.columns]
    if fields is not None:
        return [_column(name, np.asarray(y)[name], who) for name in fields]
    try:
        table = np.asarray(as_numpy(y))
    except ValueError as error:
        raise ValueError(f"{who}: y is no array ({error}). {HOW}.") from None
    if table.ndim != 2:
        raise ValueError(f"{who}: y of shape {table.shape} is not survival times. {HOW}.")
    return [_column(None, column, who) for column in table.T]


def _column(name: str | None, cells: NDArray[Any], who: str) -> _Column:
    cells = np.asarray(cells)
    present = cells[~np.asarray(pd.isna(cells))]
    said = "a column of y" if name is None else f"the column {name!r} of y"
    found = pd.api.types.infer_dtype(present, skipna=True)
    if found.startswith(DURATIONS):
        raise ValueError(
            f"{who}: {said} holds durations ({found}), not numbers. Pass numbers, such as days: the column "
            "divided by pd.Timedelta(days=1) in pandas."
        )
    if found.startswith(DATES):
        raise ValueError(
            f"{who}: {said} holds dates, not times. Pass the time from the start of each row's "
            "observation as a number, such as days: (end - start) / pd.Timedelta(days=1) in pandas."
        )
    flags = len(present) > 0 and all(isinstance(cell, (bool, np.bool_)) for cell in present[:1].tolist())
    try:
        numbers = pd.to_numeric(pd.Series(cells), errors="raise").to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError(
            f"{who}: {_said(name)} does not hold numbers, nor True and False. Pass times as numbers (such as days "
            "since the start), and events as True and False or 1 and 0."
        ) from None
    return _Column(name, numbers, flags)


def _frame(y: Any) -> nw.DataFrame[Any] | None:
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _fields(y: Any) -> tuple[str, ...] | None:
    """The names of the fields of a structured array."""
    return y.dtype.names if isinstance(y, np.ndarray) else None
