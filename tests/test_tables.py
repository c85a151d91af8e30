"""Reading a table and writing one like it: nothing is lost, and errors name the column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from knockoffs.tables import column_name, listing, read_table, write_like

KINDS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame({name: frame[name].to_numpy() for name in frame}),
    "pyarrow": lambda frame: pa.table({name: frame[name].to_numpy() for name in frame}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_reading_gives_the_numbers_and_names(kind: str, mixed_frame: pd.DataFrame) -> None:
    values, names = read_table(KINDS[kind](mixed_frame), who="Test")
    assert names == list(mixed_frame.columns)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, mixed_frame.to_numpy(dtype=np.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_writing_what_was_read_gives_the_same_table(kind: str, mixed_frame: pd.DataFrame) -> None:
    table = KINDS[kind](mixed_frame)
    back = write_like(table, read_table(table, who="Test")[0])
    assert type(back) is type(table)
    assert back.equals(table)
    if kind == "pandas":
        pd.testing.assert_frame_equal(back, table)
    if kind == "polars":
        assert back.schema == table.schema


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_pandas_extension_types_come_back(backend: str, mixed_frame: pd.DataFrame) -> None:
    table = mixed_frame.convert_dtypes(dtype_backend=backend)
    back = write_like(table, read_table(table, who="Test")[0])
    pd.testing.assert_frame_equal(back, table)


@pytest.mark.parametrize(
    "columns",
    [[0, 1, 2], [2, 0, 1], [10, 1, -3]],
    ids=["range", "shuffled", "any numbers"],
)
def test_column_names_need_not_be_text(columns: list[Any]) -> None:
    x = np.arange(12.0).reshape(4, 3) + 0.5
    table = pd.DataFrame(x, columns=columns, index=[3, 1, 2, 0])
    values, _ = read_table(table, who="Test")
    np.testing.assert_array_equal(values, x)
    pd.testing.assert_frame_equal(write_like(table, values), table)


@given(
    arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats(-1e300, 1e300)),
    st.booleans(),
)
def test_arrays_of_any_order_in_memory_round_trip(x: np.ndarray, fortran: bool) -> None:
    x = np.asfortranarray(x) if fortran else x
    values, names = read_table(x, who="Test")
    assert names is None
    np.testing.assert_array_equal(write_like(x, values), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_arrays_keep_their_type(dtype: type) -> None:
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    back = write_like(x, read_table(x, who="Test")[0])
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, x)


def test_lists_and_objects_become_numbers() -> None:
    rows = [[1, 2.5], [3, 4]]
    for table in (rows, np.array(rows, dtype=object)):
        back = write_like(table, read_table(table, who="Test")[0])
        assert back.dtype == np.float64
        np.testing.assert_array_equal(back, np.array(rows))


def test_what_is_written_is_not_the_callers_memory(mixed_frame: pd.DataFrame) -> None:
    kept = mixed_frame.copy(deep=True)
    values, _ = read_table(mixed_frame, who="Test")
    back = write_like(mixed_frame, values + 1)
    assert not back["<b>"].equals(kept["<b>"])
    pd.testing.assert_frame_equal(mixed_frame, kept)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (["x", "y", "z"], r"column 'bad' has type String.*Encode it as numbers"),
        (pd.to_datetime(["2020-01-01"] * 3), r"column 'bad' has type Datetime.*days since a date"),
        (pd.to_timedelta([1, 2, 3], unit="D"), r"column 'bad' has type Duration"),
        (pd.Categorical(["x", "y", "x"]), r"column 'bad' has type Categorical.*Encode it as numbers"),
        ([1.0, np.nan, np.nan], r"missing values.*column 'bad' \(2\)\. Impute them"),
        (pd.array([1, None, 3], dtype="Int64"), r"missing values.*column 'bad' \(1\)\. Impute them"),
        ([1.0, np.inf, 2.0], r"infinite values.*column 'bad' \(1\)\. Replace them"),
        ([1.0, -np.inf, 2.0], r"infinite values.*column 'bad' \(1\)\. Replace them"),
    ],
    ids=["text", "date", "duration", "category", "NaN", "NA", "inf", "-inf"],
)
def test_a_column_without_numbers_is_named(bad: Any, said: str) -> None:
    table = pd.DataFrame({"good": [1.0, 2.0, 3.0]})
    table["bad"] = bad
    with pytest.raises(ValueError, match=rf"^Test: .*{said}"):
        read_table(table, who="Test")


def test_polars_nulls_count_as_missing() -> None:
    table = pl.DataFrame({"good": [1.0, 2.0], "bad": [None, 1]})
    with pytest.raises(ValueError, match=r"missing values.*column 'bad' \(1\)"):
        read_table(table, who="Test")


@pytest.mark.parametrize(
    "bad",
    [
        np.array([[1, "x"], [2, "y"]], dtype=object),
        np.array([["1", "x"], ["2", "y"]]),
        np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"),
        np.array([[1, 2]], dtype="timedelta64[D]"),
    ],
    ids=["objects with text", "text", "dates", "durations"],
)
def test_arrays_without_numbers_are_refused_like_columns_without(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"Test.*(only numbers|numeric)"):
        read_table(bad, who="Test")


def test_columns_that_share_a_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"several columns named 'a'. Give each its own name"):
        read_table(pd.DataFrame(np.eye(3), columns=["a", "b", "a"]), who="Test")


def test_columns_of_arrays_are_named_by_number() -> None:
    x = np.ones((4, 3))
    x[1:, 2] = np.nan
    with pytest.raises(ValueError, match=r"in column 2 \(3\)\."):
        read_table(x, who="Test")


def test_a_long_list_of_columns_is_cut() -> None:
    assert listing([str(i) for i in range(5)]) == "0, 1, 2, 3, 4"
    assert listing([str(i) for i in range(9)]) == "0, 1, 2, 3, 4 and 4 more"
    x = np.full((4, 12), np.nan)
    with pytest.raises(ValueError, match=r"column 4 \(4\) and 7 more\."):
        read_table(x, who="Test")


def test_column_names_are_quoted() -> None:
    assert column_name(["a b"], 0) == "column 'a b'"
    assert column_name(None, 3) == "column 3"
