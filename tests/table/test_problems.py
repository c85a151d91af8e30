"""Tables that cannot be read: one error that names every column, what is wrong with it,
and the remedy.
"""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from knockoffs.table.problems import UnusableColumnsError
from knockoffs.table.table import infer_schema, read_table

ROWS = 60
NUMBERED = [f"name {i}" for i in range(ROWS)]
MARKED = [*map(str, range(ROWS - 1)), "?"]


def said_of(X: Any, **options: Any) -> str:
    """What the error says of a table that cannot be read."""
    with pytest.raises(
        ValueError, match=r"^Test: some columns cannot be used as they are"
    ) as error:
        read_table(X, who="Test", **options)
    return str(error.value)


BAD: dict[str, tuple[Any, str]] = {
    "free text": (
        NUMBERED,
        r"60 different texts or categories in 60 cells, as free text.*Drop the column \(--drop",
    ),
    "categories of free text": (
        pd.Categorical(NUMBERED),
        r"60 different texts or categories in 60 cells",
    ),
    "dates": (
        pd.date_range("2020", periods=ROWS),
        r"has type datetime64\[.*only numbers.*days since a date",
    ),
    "dates as text": (
        [f"2020-01-{i % 9 + 1:02d}" for i in range(ROWS)],
        r"dates as text.*days since a date",
    ),
    "dates with the day first": (["1.2.2020", "13.2.2020"] * 30, r"dates as text"),
    "dates in other forms": (
        ["17-08-1984", "25-4-85", "2012/01/01", "2012/1/2"] * 15,
        r"dates as text",
    ),
    "months by name": (
        ["17 Aug 1984", "3-sep-84", "17AUG1984", "September 3, 1984"] * 15,
        r"dates as text",
    ),
    "codes of digits and letters": (
        [*map(str, range(ROWS - 1)), "136A"],
        r"numbers, but for '136A' \(row 60\).*If these are codes, pass the kind \"nominal\" in "
        r"kinds= \(--kind\)",
    ),
    "times as text": (["2020-01-01T10:00:00Z", None] * 30, r"dates as text"),
    "durations": (
        pd.to_timedelta(range(ROWS), unit="D"),
        r"has type timedelta64.*Encode it as numbers",
    ),
    "periods": (pd.period_range("2020", periods=ROWS, freq="D"), r"has type period\[D\]"),
    "dates as objects": (
        [*pd.date_range("2020", periods=ROWS).date],
        r"has type date; only numbers",
    ),
    "complex": ([1j] * ROWS, r"has type complex128; only numbers"),
    "complex objects": (pd.Series([1j] * ROWS, dtype=object), r"has type complex; only numbers"),
    "text and numbers": (
        [1, "a"] * 30,
        r"holds cells of several types \(int, str\)\. Convert it by \.astype",
    ),
    "booleans and numbers": (
        pd.Series([1, True] * 30, dtype=object),
        r"several types \(bool, int\)",
    ),
    "bytes": (pd.Series([b"a"] * ROWS, dtype=object), r"has type bytes; only numbers"),
    "infinite": (
        [np.inf, -np.inf, *range(ROWS - 2)],
        r"\(2\): infinite values\. Replace them by finite",
    ),
    "marks": (
        MARKED,
        r"numbers, but for '\?' \(row 60\)\. Replace what is no number by missing cells",
    ),
    "marks among few numbers": (
        ["1", "2", "3", " ? "] * 15,
        r"numbers, but for ' \? ' \(15 cells, first in row 4\)\. Replace",
    ),
    "words for missing cells": (
        ["1", "2", "N/A", "unknown", "3"] * 12,
        r"'N/A' \(12 cells, first in row 3\), 'unknown' \(12 cells, first in row 4\)\.",
    ),
    "numbers as text": (
        [str(1000 * i) for i in range(ROWS)],
        r"numbers as text.*pd\.to_numeric.*--drop",
    ),
    "thousands": (
        [f"{1000 * i:,}" for i in range(ROWS)],
        r"numbers with signs that keep them from being read \('1,000', '10,000', '11,000' and \d+ "
        r"more\)\. Take",
    ),
    "currency": (
        [*(f"${i}.50" for i in range(ROWS - 1)), "n/a"],
        r"numbers with signs.*'\$0\.50'.*numbers",
    ),
    "per cent": ([f"{i} %" for i in range(ROWS)], r"numbers with signs.*'0 %'"),
    "decimal commas": (
        [*map(str, range(ROWS - 20)), *(f"{i},5" for i in range(20))],
        r"numbers, but for '0,5'",
    ),
}


@pytest.mark.parametrize(("column", "said"), BAD.values(), ids=BAD.keys())
def test_a_column_that_cannot_be_read_is_named(column: Any, said: str) -> None:
    table = pd.DataFrame({"good": np.arange(float(ROWS))})
    table["bad"] = column
    assert re.search(
        rf"^Test: some columns cannot be used as they are\. column 'bad'.*{said}", said_of(table)
    )


GOOD: dict[str, tuple[Any, str, int]] = {
    "a text that is a number and more": (["0", "1", "2", "3+"] * 15, "nominal", 4),
    "ranges": (["0-4", "5-9", "10 or more"] * 20, "nominal", 3),
    "a mark among words": (["private", "state", "?"] * 20, "nominal", 3),
    "numbers as text": (["10", "20", "30"] * 20, "nominal", 3),
    "yes and no": (["yes", "no"] * 30, "binary", 2),
    "one text": (["same"] * ROWS, "constant", 1),
    "one row of a level": (["rare", *["a", "b"] * 29, "a"], "nominal", 3),
    "twenty levels": ([f"level {i % 20}" for i in range(ROWS)], "nominal", 20),
    "entirely missing": ([np.nan] * ROWS, "constant", 0),
    "entirely missing text": (pd.Series([None] * ROWS, dtype="str"), "constant", 0),
    "few numbers with signs": (["5 %", "10 %", "20 %"] * 20, "nominal", 3),
    "a date now and then": (["2020-01-01", "never"] * 30, "binary", 2),
    "codes with dashes": (["50-00-1", "64-17-5", "67-56-1"] * 20, "nominal", 3),
    "months": (["May", "June", "July"] * 20, "nominal", 3),
}


@pytest.mark.parametrize(("column", "kind", "values"), GOOD.values(), ids=GOOD.keys())
def test_what_could_look_wrong_and_is_not(column: Any, kind: str, values: int) -> None:
    (found,) = infer_schema(pd.DataFrame({"x": column}))
    assert (found.kind, len(found.values)) == (kind, values)


def test_a_thousand_levels_in_many_rows_are_categories() -> None:
    (found,) = infer_schema(pd.DataFrame({"x": [f"town {i % 1000}" for i in range(3000)]}))
    assert (found.kind, len(found.values)) == ("nominal", 1000)


def test_a_table_in_which_every_row_has_a_gap_is_read() -> None:
    x = np.arange(12.0).reshape(4, 3)
    x[[0, 1, 2, 3], [0, 1, 2, 0]] = np.nan
    np.testing.assert_array_equal(read_table(x, who="Test").codes, x)


def test_all_problems_are_in_one_message() -> None:
    table = pd.DataFrame(
        {name: column for name, (column, _) in BAD.items()} | {"good": range(ROWS)}
    )
    table["good too"] = ["a", None] * 30
    table.insert(0, "good", 1, allow_duplicates=True)
    said = said_of(table)
    assert "There are several columns named 'good'. Give each its own name." in said
    for name in BAD:
        assert f"column {name!r}" in said
    assert "good too" not in said
    dates = (
        "dates as text",
        "dates with the day first",
        "dates in other forms",
        "months by name",
        "times as text",
    )
    assert ", ".join(f"column {name!r}" for name in dates) + ": dates as" in said


def test_a_long_list_of_columns_is_cut() -> None:
    assert "column 'x4' (4) and 7 more: infinite values" in said_of(np.full((4, 12), np.inf))


@pytest.mark.parametrize(
    "cell", [{"a": 1}, [1], {1}, (1, 2), object()], ids=lambda cell: type(cell).__name__
)
def test_objects_are_refused_by_a_type_error(cell: Any) -> None:
    """scikit-learn asks for that type and these words."""
    column = np.empty(3, dtype=object)
    column[:] = [1.0, 2.0, None]
    column[2] = cell
    with pytest.raises(
        TypeError, match=r"column 'x'.*argument must be a string or a number.*drop it"
    ):
        read_table(pd.DataFrame({"x": [cell] * 3}), who="Test")
    if type(cell) is not object:
        with pytest.raises(TypeError, match=r"column 'x1': holds objects \(.*float"):
            read_table(np.stack([np.ones(3), column], axis=1), who="Test")


@pytest.mark.parametrize(
    "bad",
    [
        np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"),
        np.array([[1, 2]], dtype="timedelta64[D]"),
        np.array([[b"1", b"x"]]),
    ],
    ids=["dates", "durations", "bytes"],
)
def test_arrays_without_numbers_are_refused_like_columns_without(bad: np.ndarray) -> None:
    assert re.search(r"column 'x0', column 'x1': has type .*; only numbers", said_of(bad))


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"good": [1, 2], "bad": pl.Series(["2020-01-01", None]).str.to_date()}),
        pl.DataFrame({"good": [1, 2], "bad": [[1], [2]]}),
        pa.table({"good": [1, 2], "bad": pa.array([1, 2], pa.timestamp("s"))}),
    ],
    ids=["dates", "lists", "pyarrow"],
)
def test_columns_of_other_tables_are_named(table: Any) -> None:
    assert re.search(r"column 'bad': has type (Date|List|Datetime).*; only numbers", said_of(table))


HASHES = [2**60 + 3 * row + 1 for row in range(9)]  # floats have steps of 256 there
OF_HASHES = {
    "pandas": pd.DataFrame({"good": range(9), "bad": HASHES}),
    "pandas with gaps": pd.DataFrame(
        {"good": range(9), "bad": pd.array([*HASHES[1:], None], dtype="Int64")}
    ),
    "pyarrow in pandas": pd.DataFrame(
        {"good": range(9), "bad": pd.array(HASHES, dtype="uint64[pyarrow]")}
    ),
    "objects": pd.DataFrame(
        {"good": range(9), "bad": pd.Series([2.5, None, *HASHES[2:]], dtype=object)}
    ),
    "polars": pl.DataFrame({"good": range(9), "bad": [*HASHES[1:], None]}),
    "pyarrow": pa.table({"good": [*range(9)], "bad": [*HASHES[1:], None]}),
}


@pytest.mark.parametrize("table", OF_HASHES.values(), ids=OF_HASHES.keys())
def test_whole_numbers_that_floats_would_round_are_refused(table: Any) -> None:
    assert re.search(
        r"column 'bad': holds whole numbers beyond 2\*\*53.*Drop it if it is an", said_of(table)
    )
    with pytest.raises(ValueError, match=r"column 'x1': holds whole numbers beyond"):
        infer_schema(np.column_stack([np.arange(9), HASHES]))


def test_large_whole_numbers_that_floats_hold_come_back() -> None:
    days = [day * 86_400 * 10**9 for day in (18_000, 18_001, 19_000)]  # in nanoseconds since 1970
    for table in (
        pd.DataFrame({"x": days}),
        pl.DataFrame({"x": [*days, None]}),
        pa.table({"x": [*days, None]}),
    ):
        back = read_table(table, who="Test").to_native()["x"]
        assert (
            back.dtype == table["x"].dtype
            if not isinstance(table, pa.Table)
            else back.type == table["x"].type
        )
        assert (back.to_pylist() if isinstance(table, pa.Table) else back.to_list())[:3] == days


def test_a_shared_name_among_many_columns_is_found_at_once() -> None:
    """In a few seconds; counting every name anew would take minutes."""
    table = pd.DataFrame(np.zeros((1, 20_000)), columns=[*range(19_999), 7])
    assert "several columns named 7." in said_of(table)


def test_a_name_that_repeats_in_pyarrow_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^Test: X has several columns of one name\. Give each its own name"
    ):
        read_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), who="Test")


def test_a_query_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"Test: X is a query that has not been run\. Pass X\.collect\(\)"
    ):
        read_table(pl.LazyFrame({"a": [1]}), who="Test")


@pytest.mark.parametrize(
    "X", [None, 3.0, np.zeros(4), np.zeros((2, 2, 2)), "text", {"a": [1]}, [[1, 2], [3]]]
)
def test_what_is_no_table_is_refused(X: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        read_table(X, who="Test")


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0), (0, 0)])
def test_an_empty_table_has_no_schema(rows: int, columns: int) -> None:
    for X in (np.zeros((rows, columns)), pd.DataFrame(np.zeros((rows, columns)))):
        assert read_table(X, who="Test").shape == (rows, columns)
        with pytest.raises(
            ValueError, match=rf"^infer_schema: X has {rows} rows and {columns} columns\. Pass a"
        ):
            infer_schema(X)


# kinds that the user asks for

TABLE = pd.DataFrame(
    {
        "ward": [3, 1, 2] * 20,
        "day": [f"2020-01-{i % 9 + 1:02d}" for i in range(ROWS)],
        "size": pd.Categorical(["s", "m", "l"] * 20, categories=["s", "m", "l"]),
        "weight": np.linspace(50, 90, ROWS),
        "code": ["1", "2", "?"] * 20,
    }
)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({"ward": "nominal"}, {"ward": "nominal"}),
        ({"ward": "continuous"}, {"ward": "continuous"}),
        ({"size": "ordinal"}, {"size": "ordinal"}),
        ({"weight": "ordinal"}, {"weight": "ordinal"}),
        ({0: "nominal", np.int64(2): "ordinal"}, {"ward": "nominal", "size": "ordinal"}),
    ],
    ids=str,
)
def test_kinds_are_those_asked_for(kinds: dict[Any, Any], expected: dict[str, str]) -> None:
    schema = infer_schema(TABLE, kinds={"day": "nominal", "code": "nominal"} | kinds)
    inferred = {
        "ward": "ordinal",
        "day": "nominal",
        "size": "nominal",
        "weight": "continuous",
        "code": "nominal",
    }
    assert {column.name: column.kind for column in schema} == inferred | expected


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ({"ward": "binary"}, r"column 'ward': kinds asks for \"binary\", but there are 3 values"),
        (
            {"size": "continuous"},
            r"column 'size': kinds asks for \"continuous\", but the column holds text",
        ),
        ({"day": "ordinal"}, r"column 'day': kinds asks for \"ordinal\", but text has no order"),
        (
            {"weight": "nominal"},
            r"column 'weight': kinds asks for \"nominal\", but there are 60 different values",
        ),
    ],
    ids=str,
)
def test_kinds_that_will_not_do_are_refused_with_all_other_problems(
    kinds: dict[Any, Any], said: str
) -> None:
    found = said_of(TABLE, kinds=kinds)
    assert re.search(said, found)
    assert "column 'code': numbers, but for '?'" in found


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (
            {"wards": "nominal"},
            r"Test: kinds names 'wards', which is no column of X\. Pass one of 'ward', 'day'",
        ),
        ({9: "nominal"}, r"Test: kinds names 9, which is no column of X"),
        ({-1: "nominal"}, r"Test: kinds names -1, which is no column of X"),
        ({"ward": "text"}, r"kinds\['ward'\]='text' is not valid: pass one of 'continuous'"),
        ({"ward": "constant"}, r"kinds\['ward'\]='constant' is not valid"),
        (
            ["ward"],
            r"Test: kinds=\['ward'\] is not valid: pass a dict of columns to kinds, such as "
            r"\{'ward': 'nominal'",
        ),
        ("nominal", r"Test: kinds='nominal' is not valid: pass a dict"),
    ],
    ids=str,
)
def test_kinds_of_no_column_and_no_kinds_are_refused(kinds: dict[Any, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_table(TABLE, who="Test", kinds=kinds)


def test_the_error_travels_between_processes() -> None:
    with pytest.raises(UnusableColumnsError) as caught:
        read_table(pd.DataFrame({"good": range(ROWS), "bad": NUMBERED}), who="Test")
    error = pickle.loads(pickle.dumps(caught.value))
    assert (type(error), str(error), error.columns) == (
        UnusableColumnsError,
        str(caught.value),
        (1,),
    )
