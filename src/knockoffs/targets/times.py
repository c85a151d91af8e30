r"""Survival times: when each row was last seen, and whether the event had come by then.

All of it depends on the order of the times alone, so that a monotone transformation of time changes
no bit of it. The cumulative hazard that rows would have if no feature told anything of y is the
Nelson-Aalen estimate $\hat H(t) = \sum_{t_k \le t} d_k / n_k$, with $d_k$ events among the $n_k$
rows at risk at time $t_k$.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.words import counted
from knockoffs.table.table import as_numpy

FARTHEST = 200.0  # between log hazards
HOW = (
    "Pass a data frame of two columns, the time and whether the event was seen (True or 1; 0 if "
    "it is censored), "
    "or a structured array: np.array(list(zip(died, days)), dtype=[('died', bool), ('days', "
    "float)])"
)

# What pandas calls them (pandas.api.types.infer_dtype).
DURATIONS = "timedelta"
DATES = ("datetime", "date", "period")


class Times(NamedTuple):
    """Right-censored times.

    Attributes
    ----------
    time : array of shape (rows,)
        The time of the event, or that up to which it had not come.
    event : array of bool of shape (rows,)
        Whether the event was seen; False for a censored row.
    event_name : str
        What the event is called.
    """

    time: Array
    event: Flags
    event_name: str = "event"

    def rows(self, index: Indices) -> Self:
        return self._replace(time=self.time[index], event=self.event[index])

    @property
    def exposure(self) -> Array:
        r"""The number of events to expect of each row by its time, $\hat H(t_i)$."""
        return RiskSets(self).cumulative_hazard(np.ones(len(self.time)))

    @property
    def residuals(self) -> Array:
        """Martingale residuals: events minus the number to expect, with mean 0."""
        return self.event - self.exposure


class RiskSets:
    """Who is at risk at the time of each event, for the Cox model with Breslow's treatment of equal
    times.
    """

    def __init__(self, times: Times) -> None:
        self.event = times.event.astype(np.float64)
        self._order = np.argsort(times.time, kind="stable")
        distinct, self._place = np.unique(times.time, return_inverse=True)
        self._starts = np.searchsorted(times.time[self._order], distinct)
        self._events = np.bincount(self._place, self.event)  # at each distinct time

    def cumulative_hazard(self, weight: Array) -> Array:
        """Return Breslow's estimate at the time of each row,
        of a baseline whose hazard has weight 1.
        """
        return np.cumsum(self._events / self._at_risk(weight))[self._place]

    def minus_log_likelihood(self, score: Array) -> float:
        """Return minus the log of the partial likelihood of scores (log hazard ratios),
        the sum over events.
        """
        logs = np.log(self._at_risk(_weights(score))) + score.max()
        return float(self._events @ logs - self.event @ score)

    def residuals(self, score: Array) -> Array:
        """Return martingale residuals, which are the slope of the log partial likelihood along the
        scores.
        """
        weight = _weights(score)
        return self.event - weight * self.cumulative_hazard(weight)

    def information(self, z: Array, score: Array) -> Array:
        """Return minus the second derivative of the log partial likelihood by the coefficients of
        columns z.
        """
        weight = _weights(score)
        total = self._at_risk(weight)
        mean = self._at_risk(weight[:, None] * z) / total[:, None]
        return (z * (weight * self.cumulative_hazard(weight))[:, None]).T @ z - (
            mean * self._events[:, None]
        ).T @ mean

    def score_residuals(self, z: Array, score: Array) -> Array:
        """Return each row's part in the slope of the log partial likelihood by the coefficients of
        columns z.
        """
        weight = _weights(score)
        total = self._at_risk(weight)
        mean = self._at_risk(weight[:, None] * z) / total[:, None]
        passed = np.cumsum((self._events / total)[:, None] * mean, axis=0)
        own = self.residuals(score)[:, None] * z
        return own - self.event[:, None] * mean[self._place] + weight[:, None] * passed[self._place]

    def _at_risk(self, weight: Array) -> Array:
        """The sum of the weights of the rows at risk at each distinct time."""
        return np.cumsum(weight[self._order][::-1], axis=0)[::-1][self._starts]


def _weights(score: Array) -> Array:
    """Hazards in units of the largest; none so small that the sum over the last rows at risk would
    be 0.
    """
    return np.exp(np.maximum(score - score.max(), -FARTHEST))


class SurvivalCurve(NamedTuple):
    """The Kaplan-Meier estimate: `survival` from each of the times on, until the next."""

    time: Array
    survival: Array

    def median(self) -> float | None:
        """The first time at which at most half are left;
        None where more than half are to the end.
        """
        below = np.flatnonzero(self.survival <= 0.5)
        return float(self.time[below[0]]) if len(below) else None


def kaplan_meier(times: Times) -> SurvivalCurve:
    """Estimate the share of rows without the event along time."""
    distinct, place = np.unique(times.time, return_inverse=True)
    events = np.bincount(place, times.event, len(distinct))
    at_risk = np.cumsum(np.bincount(place)[::-1])[::-1]
    return SurvivalCurve(distinct, np.cumprod(1 - events / at_risk))


def median_follow_up(times: Times) -> float:
    """Return the median time under observation: events end it early,
    so they are taken for censored ones here.
    """
    reverse = kaplan_meier(times._replace(event=~times.event))
    middle = reverse.median()
    return float(times.time.max()) if middle is None else middle


class _Column(NamedTuple):
    """A column of y: its cells as numbers (nan for a missing one), whether these are yes and no,
    and its name.
    """

    cells: Array
    flags: bool
    name: str | None
    said: str

    @property
    def may_be_event(self) -> bool:
        """Return whether all cells are 0 or 1, as far as they are there."""
        present = self.cells[~np.isnan(self.cells)]
        return self.flags or bool(len(present) and np.isin(present, (0.0, 1.0)).all())


def holds_times(y: Any) -> bool:
    """Return whether y is read as survival times by its type: it has two columns or fields."""
    frame = _frame(y)
    return len(frame.columns) == 2 if frame is not None else _fields(y) is not None


def read_times(y: Any, *, rows: int, who: str) -> Times:
    """Read times and events.

    The event is the column of booleans, or else the only one of 0 and 1; the time is the other one,
    in whatever order they stand.

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
            f"{who}: y has {counted(len(columns[0].cells), 'row')}; pass a time and an event for "
            f"each of the "
            f"{rows}."
        )
    event, time = _told_apart(columns, who)
    for column in (event, time):
        missing = int(np.isnan(column.cells).sum())
        if missing:
            raise ValueError(
                f"{who}: {column.said} has {counted(missing, 'missing value')}. Drop those rows "
                f"from X and y."
            )
    _check_times(time, who)
    seen = event.cells == 1
    if not seen.any():
        raise ValueError(
            f"{who}: {event.said} says that no row has the event, so there is nothing to explain. "
            f"Check that "
            "events are coded as True or 1."
        )
    return Times(time.cells, seen, event.name or "event")


def _check_times(time: _Column, who: str) -> None:
    if not np.isfinite(time.cells).all():
        raise ValueError(
            f"{who}: {time.said} has infinite times. For rows without the event pass the time up "
            f"to which they "
            "were observed."
        )
    negative = time.cells[time.cells < 0]
    if len(negative):
        raise ValueError(
            f"{who}: {time.said} has {counted(len(negative), 'negative time')} (the first is "
            f"{negative[0]:g}). "
            "Count time from the start of each row's observation, and drop rows that were not "
            "observed."
        )
    if len(np.unique(time.cells)) == 1:
        raise ValueError(
            f"{who}: {time.said} is constant ({time.cells[0]:g}), so no event comes before "
            f"another. Pass the "
            "event alone as y, as two classes."
        )


def _told_apart(columns: list[_Column], who: str) -> tuple[_Column, _Column]:
    """The event, then the time."""
    flags = [column.flags for column in columns]
    may_be = flags if any(flags) else [column.may_be_event for column in columns]
    names = " and ".join("without a name" if c.name is None else repr(c.name) for c in columns)
    if sum(may_be) == 2:
        raise ValueError(
            f"{who}: both columns of y ({names}) could be the event. Make the column of the event "
            f"boolean, and "
            "check that of the time."
        )
    if sum(may_be) == 0:
        raise ValueError(
            f"{who}: y has two columns ({names}), and neither says whether the event was seen: "
            f"one of them has to "
            "hold only True and False, or 1 and 0 (where 2 stands for the event, pass COLUMN == "
            "2). For any other "
            "target pass one column."
        )
    return columns[may_be.index(True)], columns[may_be.index(False)]


def _columns(y: Any, who: str) -> list[_Column]:
    frame, fields = _frame(y), _fields(y)
    if frame is not None:
        return [
            _column(str(name), as_numpy(frame.get_column(name).to_native()), who)
            for name in frame.columns
        ]
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
            f"{who}: {said} holds durations ({found}), not numbers. Pass numbers, such as days: "
            f"the column "
            "divided by pd.Timedelta(days=1) in pandas."
        )
    if found.startswith(DATES):
        raise ValueError(
            f"{who}: {said} holds dates, not times. Pass the time from the start of each row's "
            "observation as a number, such as days: (end - start) / pd.Timedelta(days=1) in pandas."
        )
    flags = len(present) > 0 and all(
        isinstance(cell, (bool, np.bool_)) for cell in present[:1].tolist()
    )
    try:
        numbers = pd.to_numeric(pd.Series(cells), errors="raise").to_numpy(
            dtype=np.float64, na_value=np.nan
        )
    except (TypeError, ValueError):
        raise ValueError(
            f"{who}: {said} does not hold numbers, nor True and False. Pass times as numbers "
            f"(such as days "
            "since the start), and events as True and False or 1 and 0."
        ) from None
    return _Column(numbers, flags, name, said)


def _frame(y: Any) -> nw.DataFrame[Any] | None:
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _fields(y: Any) -> tuple[str, ...] | None:
    """The names of the fields of a structured array."""
    return y.dtype.names if isinstance(y, np.ndarray) else None
