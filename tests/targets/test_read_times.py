"""Survival times are recognised in whatever form they come, or refused with a remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from knockoffs.targets.inputs import read_target

DAYS = np.arange(1.0, 31.0)
DIED = np.arange(30) % 3 == 0
FIELDS = [("died", bool), ("days", float)]
STRUCTURED = np.array([*zip(DIED, DAYS, strict=True)], dtype=FIELDS)

FORMS = {
    "structured": STRUCTURED,
    "structured, time first": STRUCTURED[["days", "died"]],
    "pandas": pd.DataFrame({"days": DAYS, "died": DIED}),
    "pandas, event first": pd.DataFrame({"died": DIED, "days": DAYS}),
    "0 and 1": pd.DataFrame({"days": DAYS, "died": DIED.astype(int)}),
    "whole days": pd.DataFrame({"days": DAYS.astype(int), "died": DIED.astype(float)}),
    "nullable": pd.DataFrame(
        {"days": pd.array(DAYS, "Float64"), "died": pd.array(DIED, "boolean")}
    ),
    "objects": pd.DataFrame({"days": DAYS.astype(object), "died": DIED.astype(object)}),
    "polars": pl.DataFrame({"days": DAYS, "died": DIED}),
    "arrow": pl.DataFrame({"days": DAYS, "died": DIED}).to_arrow(),
}


@pytest.mark.parametrize("task", ["auto", "survival"])
@pytest.mark.parametrize("y", FORMS.values(), ids=FORMS)
def test_forms(y: Any, task: Any) -> None:
    target = read_target(y, task, rows=30, who="T")
    assert target.task == "survival"
    assert target.name == "time to died"
    assert target.times is not None
    np.testing.assert_array_equal(target.times.time, DAYS)
    np.testing.assert_array_equal(target.times.event, DIED)
    assert target.described == "10 of 30 rows have the event, median follow-up 20"
    again = read_target(target.to_native(), "auto", rows=30, who="T")
    np.testing.assert_array_equal(again.values, target.values)


def test_a_plain_array_is_read_on_request_only() -> None:
    y = np.column_stack([DAYS, DIED])
    assert read_target(y, "survival", rows=30, who="T").shares == pytest.approx((2 / 3, 1 / 3))
    with pytest.raises(ValueError, match="pass one value for each"):
        read_target(y, "auto", rows=30, who="T")


SINCE = pd.DataFrame({"days": pd.to_timedelta(DAYS, unit="D"), "died": DIED})


def with_cell(column: str, value: Any) -> pd.DataFrame:
    frame = FORMS["objects"].copy()
    frame.loc[3, column] = value
    return frame


REFUSED = {
    "negative": (
        with_cell("days", -1.0),
        "'days' of y has 1 negative time .*Count time from the start",
    ),
    "missing time": (with_cell("days", np.nan), "'days' of y has 1 missing value. Drop those rows"),
    "missing event": (with_cell("died", None), "'died' of y has 1 missing value. Drop those rows"),
    "infinite": (with_cell("days", np.inf), "infinite times. For rows without the event"),
    "no events": (FORMS["pandas"].assign(died=False), "no row has the event.*coded as True or 1"),
    "1 and 2": (
        FORMS["pandas"].assign(died=1 + DIED),
        "neither says whether the event was seen.*COLUMN == 2",
    ),
    "text": (
        FORMS["pandas"].assign(died="yes"),
        "'died' of y does not hold numbers.*events as True and False",
    ),
    "two events": (FORMS["pandas"].assign(days=DIED), "both columns .* could be the event"),
    "constant": (FORMS["pandas"].assign(days=7), "is constant .7.*Pass the event alone"),
    "three fields": (
        np.zeros(30, dtype=[*FIELDS, ("ward", int)]),
        "y has 3 columns, and survival times need two",
    ),
    "durations": (
        SINCE,
        r"'days' of y holds durations \(timedelta64\), not numbers.*pd.Timedelta\(days=1\)",
    ),
    "polars durations": (pl.from_pandas(SINCE), "'days' of y holds durations"),
    "objects of durations": (SINCE.astype(object), r"'days' of y holds durations \(timedelta\)"),
    "dates": (
        SINCE.assign(days=pd.Timestamp("2020-01-01") + SINCE["days"]),
        "'days' of y holds dates.*end - start",
    ),
    "rows": (STRUCTURED[:20], "y has 20 rows; pass a time and an event for each of the 30"),
}


@pytest.mark.parametrize(("y", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^T: .*{said}"):
        read_target(y, "auto", rows=30, who="T")


@pytest.mark.parametrize(
    "y", [DAYS, [*DAYS], pd.Series(DAYS), pd.DataFrame({"days": DAYS})], ids=repr
)
def test_times_without_events_are_refused_on_request(y: Any) -> None:
    with pytest.raises(ValueError, match=r"^T: y .*Pass a data frame of two columns"):
        read_target(y, "survival", rows=30, who="T")
