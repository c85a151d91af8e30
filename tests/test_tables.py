"""Reading a table and writing one like it: nothing is lost, and errors name the column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from knockoffs.tables import column_name, listing, read_table, require_same_order, write_like

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


def test_a_shared_name_among_many_columns_is_found_at_once() -> None:
    """In a tenth of a second; counting every name anew would take minutes."""
    table = pd.DataFrame(np.zeros((1, 100_000)), columns=[*range(99_999), 7])
    with pytest.raises(ValueError, match=r"several columns named 7\."):
        read_table(table, who="Test")


@pytest.mark.parametrize("dtype", [float, int, bool, object])
def test_masked_cells_are_missing(dtype: type) -> None:
    mask = np.array([[False, True], [False, False], [False, True]])
    with pytest.raises(ValueError, match=r"missing values.*in column 1 \(2\)\."):
        read_table(np.ma.array(np.ones((3, 2), dtype=dtype), mask=mask), who="Test")
    values, _ = read_table(np.ma.array(np.ones((3, 2), dtype=dtype), mask=False), who="Test")
    np.testing.assert_array_equal(values, 1)


@pytest.mark.parametrize(
    "kind", ["Int64", "Float64", "boolean", "int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]"]
)
def test_missing_cells_of_extension_types_are_missing(kind: str) -> None:
    table = pd.DataFrame({"good": [1.0, 2.0, 3.0], "bad": pd.Series([1, None, 0], dtype=kind)})
    with pytest.raises(ValueError, match=r"missing values.*column 'bad' \(1\)\."):
        read_table(table, who="Test")
    with pytest.raises(ValueError, match=r"missing values.*column 1 \(1\)\."):
        read_table(table.to_numpy(dtype=object), who="Test")


def test_tensors_are_read() -> None:
    x = torch.tensor([[1.0, 2.5], [3.0, 4.0]])
    for tensor in (x, x.clone().requires_grad_(), x.bfloat16(), x.double()):
        np.testing.assert_array_equal(read_table(tensor, who="Test")[0], x.numpy())


# order of rows and columns --------------------------------------------------------------------------------------

LABELS = {
    "numbers": pd.RangeIndex(5),
    "names": pd.Index([f"patient {i}" for i in range(5)]),
    "dates": pd.date_range("2020-01-01", periods=5),
    "several levels": pd.MultiIndex.from_product([["a"], range(5)]),
    "a missing label": pd.Index([1.0, np.nan, 2.0, 3.0, 4.0]),
    "several types": pd.Index([0, "a", 1.5, None, "b"], dtype=object),
}
ORDER = [0, 3, 2, 4, 1]


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("other", ["y", "groups", "X_tilde"])
def test_row_labels_in_another_order_are_refused(labels: pd.Index, other: str) -> None:
    X = pd.DataFrame(np.eye(5), index=labels)
    table = X if other == "X_tilde" else X[0]
    require_same_order(X, who="Test", **{other: table})
    with pytest.raises(
        ValueError,
        match=rf"^Test: {other} has the row labels of X in another order: row 1 is .*"
        rf"Pass {other}\.loc\[X\.index\] to pair rows by label, or {other}\.to_numpy\(\)",
    ):
        require_same_order(X, who="Test", **{other: table.iloc[ORDER]})
    require_same_order(X, who="Test", **{other: table.iloc[ORDER].to_numpy()})
    require_same_order(X, who="Test", **{other: table.iloc[ORDER].loc[X.index]})


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("others", LABELS.values(), ids=LABELS)
def test_labels_of_unrelated_sets_are_ignored(labels: pd.Index, others: pd.Index) -> None:
    if labels is not others:
        require_same_order(pd.DataFrame(np.eye(5), index=labels), y=pd.Series(range(5), index=others), who="Test")


def test_labels_that_occur_twice() -> None:
    """In one order they pass; in another they are refused, though they cannot say which rows belong together."""
    X = pd.DataFrame(np.eye(4), index=["a", "a", "b", "c"])
    require_same_order(X, y=pd.Series(range(4), index=["a", "a", "b", "c"]), who="Test")
    require_same_order(X, y=pd.Series(range(4), index=["a", "b", "b", "c"]), who="Test")  # another set
    with pytest.raises(
        ValueError, match=r"row 1 is 'a' in X and 'b' in y\. Bring both into one order.*y\.to_numpy"
    ):
        require_same_order(X, y=pd.Series(range(4), index=["a", "b", "a", "c"]), who="Test")


@pytest.mark.parametrize("kind", KINDS)
def test_columns_in_another_order_are_refused(kind: str) -> None:
    X = KINDS[kind](pd.DataFrame(np.eye(3), columns=["a", "b", "c"]))
    reordered = KINDS[kind](pd.DataFrame(np.eye(3), columns=["a", "c", "b"]))
    require_same_order(X, X_tilde=X, who="Test")
    said = r"another order: 'a', 'c', 'b' instead of 'a', 'b', 'c'\. Pass X_tilde\[list"
    with pytest.raises(ValueError, match=said):
        require_same_order(X, X_tilde=reordered, who="Test")
    for unlabelled in (np.eye(3), np.eye(3).tolist(), KINDS[kind](pd.DataFrame(np.eye(3), columns=[*"xyz"]))):
        require_same_order(X, X_tilde=unlabelled, who="Test")
        require_same_order(unlabelled, X_tilde=X, who="Test")


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
