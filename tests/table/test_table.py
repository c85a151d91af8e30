"""Reading a table and writing one like it: nothing is lost,
and the caller's table stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from knockoffs.table.problems import UnusableColumnsError
from knockoffs.table.table import Table, group_labels, read_table

nan = np.nan
DICTIONARY = pa.dictionary(pa.int8(), pa.string())
INTERVALS = pd.cut(pd.Series([0.5, np.nan, 2.5, 1.5]), [0, 1, 2, 3, 4]).array
GRADES = pa.DictionaryArray.from_arrays(
    [2, None, 1, 2], ["none", "mid", "high", "low"], ordered=True
)


def read(X: Any, **options: Any) -> Table:
    return read_table(X, who="Test", **options)


# one column of each type, four rows

PANDAS: dict[str, Any] = {
    "float64": [0.5, 1e300, -2.0, 0.0],
    "float64 with gaps": [0.5, nan, -2.0, nan],
    "float32": np.array([0.1, 2, 3, nan], dtype=np.float32),
    "float16": np.array([0.1, 2, 3, 4], dtype=np.float16),
    "int64": [1, -2, 3, 2**53],
    "int8": np.array([-128, 127, 0, 1], dtype=np.int8),
    "uint64": np.array([0, 2**53, 3, 4], dtype=np.uint64),
    "bool": [True, False, True, True],
    "Int64": pd.array([1, None, 3, 4], dtype="Int64"),
    "UInt8": pd.array([1, None, 255, 4], dtype="UInt8"),
    "Float64": pd.array([1.5, None, 3, 4], dtype="Float64"),
    "boolean": pd.array([True, None, False, True], dtype="boolean"),
    "int64[pyarrow]": pd.array([1, None, 3, 4], dtype="int64[pyarrow]"),
    "float[pyarrow]": pd.array([0.5, None, 3, 4], dtype="float[pyarrow]"),
    "bool[pyarrow]": pd.array([True, None, False, True], dtype="bool[pyarrow]"),
    "string[pyarrow] of Arrow": pd.Series(["b", None, "a", "b"], dtype=pd.ArrowDtype(pa.string())),
    "dictionary of Arrow": pd.Series(["b", None, "a", "b"], dtype=pd.ArrowDtype(DICTIONARY)),
    "ordered dictionary of Arrow": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([GRADES]))
    ),
    "null of Arrow": pd.Series([None] * 4, dtype=pd.ArrowDtype(pa.null())),
    "str": pd.Series(["b", None, "a", "b"], dtype="str"),
    "string": pd.Series(["b", None, "a", "b"], dtype="string"),
    "text as objects": pd.Series(["b", "é 🙂", "a", "b"], dtype=object),
    "text with None": pd.Series(["b", None, "a", "b"], dtype=object),
    "text with nan": pd.Series(["b", nan, "a", "b"], dtype=object),
    "text with NA": pd.Series(["b", pd.NA, "a", "b"], dtype=object),
    "empty text": pd.Series(["", " ", "a", "b"], dtype="str"),
    "bool objects": pd.Series([True, None, False, True], dtype=object),
    "category": pd.Categorical(["b", None, "a", "b"]),
    "category with unused ones": pd.Categorical(
        ["b", "a", "a", "b"], categories=["z", "b", "a", "y"]
    ),
    "ordered category": pd.Categorical(
        ["low", None, "high", "low"], categories=["low", "high"], ordered=True
    ),
    "category of numbers": pd.Categorical([3, 1, None, 3]),
    "category of booleans": pd.Categorical([True, False, None, True]),
    "category of intervals": pd.cut([1.0, 5.0, 9.0, nan], [0, 3, 6, 10]),
    "sparse": pd.arrays.SparseArray([0.0, 1.0, 0.0, 0.0]),
    "entirely missing": [nan] * 4,
    "entirely missing objects": pd.Series([None] * 4, dtype=object),
    "entirely missing text": pd.Series([None] * 4, dtype="str"),
    "entirely missing category": pd.Categorical([None] * 4, categories=["a"]),
}
POLARS = {
    "String": pl.Series(["b", None, "a", "b"]),
    "Categorical": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
    "Enum": pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["z", "b", "a"])),
    "Boolean": pl.Series([True, None, False, True]),
    "Int8": pl.Series([1, None, -128, 4], dtype=pl.Int8),
    "UInt64": pl.Series([1, None, 2**53, 4], dtype=pl.UInt64),
    "Float32": pl.Series([0.1, None, 3, 4], dtype=pl.Float32),
    "Float64 with null": pl.Series([0.1, None, 3.0, 4.0]),
    "Float64 with NaN": pl.Series([0.1, nan, 3.0, 4.0]),
    "Null": pl.Series([None] * 4),
    "entirely missing String": pl.Series([None] * 4, dtype=pl.String),
    "entirely missing Float64": pl.Series([None] * 4, dtype=pl.Float64),
}
ARROW = {
    "string": pa.array(["b", None, "a", "b"]),
    "large_string": pa.array(["b", None, "a", "b"], pa.large_string()),
    "dictionary": pa.array(["b", None, "a", "b"], DICTIONARY),
    "dictionary of numbers": pa.array([30, None, 5, 30], pa.dictionary(pa.int8(), pa.int64())),
    "dictionary of booleans": pa.array([True, None, False, True]).dictionary_encode(),
    "ordered dictionary": GRADES,
    "intervals": pa.array(INTERVALS),
    "intervals in parts": pa.chunked_array([pa.array(INTERVALS[:2]), pa.array(INTERVALS[2:])]),
    "intervals without an order": pa.array(INTERVALS.as_unordered()),
    "months": pa.DictionaryArray.from_arrays(
        pa.array([1, None, 0, 1], pa.int8()),
        pa.array(pd.period_range("2020-01", periods=2, freq="M")),
    ),
    "dictionaries in parts": pa.chunked_array(
        [pa.array(own, DICTIONARY) for own in (["b", None], ["a", "b"])]
    ),
    "bool": pa.array([True, None, False, True]),
    "int8": pa.array([1, None, 127, 4], pa.int8()),
    "float": pa.array([0.5, None, 3, 4], pa.float32()),
    "double": pa.array([0.1, None, 3, 4]),
    "null": pa.nulls(4),
}
INDEX = ["patient 4", "patient 3", "patient 1", "patient 2"]


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_come_back(name: str) -> None:
    table = pd.DataFrame({"number": [1.0, 2.0, 3.0, 4.0]}, index=INDEX)
    table["x"] = pd.Series(PANDAS[name]).set_axis(INDEX)
    kept = table.copy(deep=True)
    found = read(table)
    assert found.codes.dtype == np.float64
    np.testing.assert_array_equal(np.isnan(found.codes), table.isna())
    back = found.to_native()
    pd.testing.assert_frame_equal(back, table)
    assert [repr(cell) for cell in back["x"]] == [repr(cell) for cell in table["x"]]
    pd.testing.assert_frame_equal(table, kept)


@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_come_back(name: str) -> None:
    table = pl.DataFrame({"number": [1.0, 2.0, 3.0, 4.0], "x": POLARS[name]})
    back = read(table).to_native()
    assert back.schema == table.schema
    assert back.equals(table)


def test_a_polars_column_with_nulls_and_nans_has_nulls_afterwards() -> None:
    table = pl.DataFrame({"x": [None, nan, 1.0]})
    assert read(table).to_native()["x"].to_list() == [None, None, 1.0]


def test_levels_of_other_polars_columns_are_not_taken_over() -> None:
    columns = {name: pl.Series([name, "shared"] * 5, dtype=pl.Categorical) for name in ("a", "b")}
    assert read(pl.DataFrame(columns)).levels == (("a", "shared"), ("b", "shared"))


@pytest.mark.parametrize("name", ARROW)
def test_pyarrow_columns_come_back(name: str) -> None:
    table = pa.table({"number": [1.0, 2.0, 3.0, 4.0], "x": ARROW[name]})
    back = read(table).to_native()
    assert back.schema == table.schema
    assert back.to_pylist() == table.to_pylist()


def test_categories_of_pyarrow_keep_their_order_and_their_list() -> None:
    plain = pa.array(["b", "a", "b"], DICTIONARY)
    table = pa.table({"grade": GRADES[:3], "plain": plain})
    for X in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        found = read(X)
        assert found.levels == (("none", "mid", "high", "low"), ("a", "b"))
        assert found.kinds == {0: "ordinal", 1: "nominal"}
        back = found.with_codes(np.array([[3, 0], [0, 0], [1, np.nan]])).to_native()
        grade, other = (
            column.chunk(0) if isinstance(column, pa.ChunkedArray) else pa.array(column)
            for column in (back["grade"], back["plain"])
        )
        assert grade.to_pylist() == ["low", "none", "mid"]
        assert grade.dictionary.to_pylist() == ["none", "mid", "high", "low"]
        assert other.to_pylist() == ["a", "a", None]
        assert other.dictionary.to_pylist() == ["b", "a"]


def test_intervals_are_the_same_levels_in_pandas_and_pyarrow() -> None:
    frame = pd.DataFrame({"number": [1.0, 2.0, 3.0, 4.0], "x": pd.Series(INTERVALS)})
    expected = read(frame)
    for X in (
        pa.Table.from_pandas(frame),
        pa.Table.from_pandas(frame).to_pandas(types_mapper=pd.ArrowDtype),
    ):
        found = read(X)
        np.testing.assert_array_equal(found.codes, expected.codes)
        assert found.levels == expected.levels
        assert found.kinds == expected.kinds == {1: "ordinal"}
        moved = found.with_codes(np.array([[1.0, 3], [2, 0], [3, np.nan], [4, 1]])).to_native()
        assert read(moved).levels == expected.levels
        np.testing.assert_array_equal(read(moved).codes[:, 1], [3, 0, np.nan, 1])


def test_categories_that_are_records_are_refused_by_name() -> None:
    records = pa.DictionaryArray.from_arrays([0, 1, 0], pa.array([{"a": 1}, {"a": 2}]))
    with pytest.raises(
        UnusableColumnsError, match=r"column .x.: has type struct<a: int64>; only numbers"
    ):
        read(pa.table({"number": [1.0, 2.0, 3.0], "x": records}))


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_pandas_extension_types_come_back(backend: Any, mixed_frame: pd.DataFrame) -> None:
    table = mixed_frame.convert_dtypes(dtype_backend=backend)
    pd.testing.assert_frame_equal(read(table).to_native(), table)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_arrays_keep_their_type(dtype: type) -> None:
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    back = read(x).to_native()
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, x)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 4)),
        elements=st.floats(-1e300, 1e300) | st.just(nan),
    ),
    st.booleans(),
)
def test_arrays_of_any_order_in_memory_come_back(x: np.ndarray, fortran: bool) -> None:
    x = np.asfortranarray(x) if fortran else x
    found = read(x)
    assert found.names is None
    np.testing.assert_array_equal(found.to_native(), x)


MIXED: list[list[Any]] = [
    [1, "a", 2.5, None],
    [3, "b", nan, True],
    [5, None, 0.0, False],
    [7, "a", 1.0, True],
]


@pytest.mark.parametrize("make", [list, tuple, lambda rows: np.array(rows, dtype=object)])
def test_lists_and_objects_are_read_cell_by_cell(make: Callable[[Any], Any]) -> None:
    found = read(make(MIXED))
    expected = [[1, 0, 2.5, nan], [3, 1, nan, 1], [5, nan, 0, 0], [7, 0, 1, 1]]
    np.testing.assert_array_equal(found.codes, expected)
    assert found.levels == (None, ("a", "b"), None, (False, True))
    assert [column.kind for column in found.schema] == ["ordinal", "binary", "continuous", "binary"]
    back = found.to_native()
    pd.testing.assert_frame_equal(
        pd.DataFrame(back).infer_objects(), pd.DataFrame(MIXED).infer_objects(), check_dtype=False
    )


def test_lists_and_objects_of_numbers_become_numbers() -> None:
    rows = [[1, 2.5], [3, 4]]
    for table in (
        rows,
        np.array(rows, dtype=object),
        np.array([[Decimal(1), 2.5], [Decimal(3), 4]]),
    ):
        back = read(table).to_native()
        assert back.dtype == np.float64
        np.testing.assert_array_equal(back, np.array(rows))


def test_arrays_of_text_hold_numbers_where_all_cells_are() -> None:
    found = read(np.array([["1", "x"], ["2", "y"], ["2.5", "x"]]))
    np.testing.assert_array_equal(found.codes, [[1, 0], [2, 1], [2.5, 0]])
    assert found.levels == (None, ("x", "y"))
    assert found.to_native().tolist() == [[1.0, "x"], [2.0, "y"], [2.5, "x"]]


def test_tensors_are_read() -> None:
    x = torch.tensor([[1.0, 2.5], [3.0, 4.0]])
    for tensor in (x, x.clone().requires_grad_(), x.bfloat16(), x.double()):
        np.testing.assert_array_equal(read(tensor).codes, x.numpy())


@pytest.mark.parametrize("dtype", [float, int, bool, object])
def test_masked_cells_are_missing(dtype: type) -> None:
    mask = np.array([[False, True], [False, False], [False, True]])
    found = read(np.ma.array(np.ones((3, 2), dtype=dtype), mask=mask))
    np.testing.assert_array_equal(np.isnan(found.codes), mask)
    np.testing.assert_array_equal(
        read(np.ma.array(np.ones((3, 2), dtype=dtype), mask=False)).codes, 1
    )


def cells_of(column: Any) -> list[Any]:
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)


DECIMALS = pa.array([Decimal("1.25"), None, Decimal("-0.10"), Decimal("7.00")], pa.decimal128(4, 2))
DECIMAL_TABLES = {
    "pandas": pd.DataFrame({"x": pd.Series(DECIMALS.to_pylist(), dtype=object)}),
    "pyarrow in pandas": pd.DataFrame(
        {"x": pd.Series(DECIMALS, dtype=pd.ArrowDtype(DECIMALS.type))}
    ),
    "polars": pl.DataFrame({"x": DECIMALS}),
    "pyarrow": pa.table({"x": DECIMALS}),
}


@pytest.mark.parametrize("table", DECIMAL_TABLES.values(), ids=DECIMAL_TABLES.keys())
def test_decimals_come_back_as_decimals(table: Any) -> None:
    found = read(table)
    back = found.to_native()["x"]
    assert [None if pd.isna(cell) else str(cell) for cell in cells_of(back)] == [
        "1.25",
        None,
        "-0.10",
        "7.00",
    ]
    others = found.with_codes(np.array([[0.126], [np.nan], [3.14159], [2.0]]))
    np.testing.assert_array_equal(others.codes[:, 0], [0.13, np.nan, 3.14, 2])
    written = cells_of(others.to_native()["x"])
    assert [None if pd.isna(cell) else str(cell) for cell in written] == [
        "0.13",
        None,
        "3.14",
        "2.00",
    ]
    assert all(pd.isna(cell) or isinstance(cell, Decimal) for cell in written)
    large = cells_of(found.with_codes(np.array([[100.0], [np.nan], [1.0], [2.0]])).to_native()["x"])
    assert float(large[0]) == 100  # beyond the type's digits: a wider type, not another number


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(
    "kind", ["array", "pandas", "polars", "pyarrow", "pyarrow in pandas", "sparse"]
)
def test_short_floats_hold_no_digits_that_will_not_be_written(dtype: Any, kind: str) -> None:
    """What is computed with, and checked, is what is written."""
    x = np.array([[0.1, 2.0], [np.nan, 1 / 3]]).astype(dtype)
    make: dict[str, Callable[[], Any]] = {
        "array": lambda: x,
        "pandas": lambda: pd.DataFrame(x, columns=["a", "b"]),
        "polars": lambda: pl.DataFrame({"a": x[:, 0], "b": x[:, 1]}),
        "pyarrow": lambda: pa.table({"a": x[:, 0], "b": x[:, 1]}),
        "pyarrow in pandas": lambda: pa.table({"a": x[:, 0], "b": x[:, 1]}).to_pandas(
            types_mapper=pd.ArrowDtype
        ),
        "sparse": lambda: pd.DataFrame(x, columns=["a", "b"]).astype(pd.SparseDtype(dtype)),
    }
    found = read(make[kind]())
    drawn = np.array([[1 / 7, np.nan], [1e30 if dtype is np.float32 else 1e4, 1 / 9]])
    table = found.with_codes(drawn)
    np.testing.assert_array_equal(table.codes, drawn.astype(dtype).astype(float))
    np.testing.assert_array_equal(read(table.to_native()).codes, table.codes)
    np.testing.assert_array_equal(found.with_codes(found.codes).codes, found.codes)
    beyond = np.full((2, 2), 1e300)
    np.testing.assert_array_equal(found.with_codes(beyond).codes, beyond)


@pytest.mark.parametrize(
    "columns", [[0, 1, 2], [2, 0, 1], [10, 1, -3]], ids=["range", "shuffled", "any numbers"]
)
def test_column_names_need_not_be_text(columns: list[Any]) -> None:
    x = np.arange(12.0).reshape(4, 3) + 0.5
    table = pd.DataFrame(x, columns=columns, index=[3, 1, 2, 0])
    found = read(table)
    np.testing.assert_array_equal(found.codes, x)
    pd.testing.assert_frame_equal(found.to_native(), table)


# any table

TEXTS = st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=3))
CELLS = {
    "number": st.floats(-1e300, 1e300) | st.just(nan),
    "whole": st.integers(-(2**53), 2**53),
    "bool": st.booleans(),
    "nullable": st.none() | st.integers(-100, 100),
    "text": TEXTS,
    "category": TEXTS,
}
TYPES = {"nullable": "Int8", "text": "str", "category": "category"}


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Tables of any types with gaps, of a few rows, so that no text has too many levels."""
    rows = draw(st.integers(1, 6))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=6))
    columns = {}
    for j, kind in enumerate(kinds):
        cells = draw(st.lists(CELLS[kind], min_size=rows, max_size=rows))
        columns[f"{kind} {j}"] = pd.Series(cells, dtype=TYPES.get(kind))
    return pd.DataFrame(columns)


def refused_text(table: pd.DataFrame) -> dict[str, str]:
    """Texts such as dates are taken for categories where the user says so."""
    return {name: "nominal" for name in table.columns if name.startswith("text")}


@given(frames())
def test_any_table_comes_back(table: pd.DataFrame) -> None:
    kept = table.copy(deep=True)
    found = read(table, kinds=refused_text(table))
    pd.testing.assert_frame_equal(found.to_native(), table)
    pd.testing.assert_frame_equal(table, kept)
    np.testing.assert_array_equal(
        read(found.to_native(), kinds=refused_text(table)).codes, found.codes
    )


@given(frames(), st.randoms())
def test_a_permutation_of_columns_permutes_codes_and_schema(
    table: pd.DataFrame, random: Any
) -> None:
    order = list(range(table.shape[1]))
    random.shuffle(order)
    permuted = table.iloc[:, order]
    found, moved = (read(t, kinds=refused_text(table)) for t in (table, permuted))
    np.testing.assert_array_equal(moved.codes, found.codes[:, order])
    assert moved.schema.columns == tuple(found.schema[j] for j in order)


@given(frames(), st.data())
def test_rows_of_a_table_are_those_of_its_codes(table: pd.DataFrame, data: st.DataObject) -> None:
    index = data.draw(st.lists(st.integers(0, len(table) - 1), max_size=8))
    found = read(table, kinds=refused_text(table))
    some = found.rows(np.array(index, dtype=int))
    np.testing.assert_array_equal(some.codes, found.codes[index])
    pd.testing.assert_frame_equal(some.to_native(), table.iloc[index])
    again = some.rows(np.arange(len(index))[::-1])
    pd.testing.assert_frame_equal(again.to_native(), table.iloc[index[::-1]])


# writing other cells


def test_other_cells_are_written_in_the_types_of_the_table() -> None:
    table = pd.DataFrame(
        {
            "level": pd.Categorical(["a", "b", None], categories=["b", "a"]),
            "text": ["x", "y", "x"],
            "count": np.array([1, 2, 3], dtype=np.int8),
            "yes": [True, False, True],
        },
        index=[7, 8, 9],
    )
    found = read(table)
    codes = np.array([[0, 1, 5, 0], [nan, nan, 6, 1], [1, 0, 7, 0]])
    back = found.with_codes(codes).to_native()
    expected = table.assign(
        level=pd.Categorical(["b", None, "a"], categories=["b", "a"]),
        text=["y", None, "x"],
        count=np.array([5, 6, 7], dtype=np.int8),
        yes=[False, True, False],
    )
    pd.testing.assert_frame_equal(back, expected)


@pytest.mark.parametrize("cell", [nan, 300.0, 0.5, -129.0])
def test_numbers_that_do_not_fit_get_a_wider_type(cell: float) -> None:
    for table in (
        pd.DataFrame({"x": np.array([1, 2], dtype=np.int8)}),
        np.array([[1], [2]], dtype=np.int8),
    ):
        back = read(table).with_codes(np.array([[cell], [1.0]])).to_native()
        np.testing.assert_array_equal(np.asarray(back, dtype=float), [[cell], [1.0]])
    polars = read(pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Int8)})).with_codes(
        np.array([[cell], [1.0]])
    )
    assert polars.to_native()["x"].to_list() == [None if np.isnan(cell) else cell, 1.0]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_the_ends_of_whole_numbers(dtype: type) -> None:
    """2^63 is a float, but no longer an int64."""
    beyond = float(np.iinfo(dtype).max + 1)
    for cell, fits in ((np.nextafter(beyond, 0), True), (beyond, False)):
        back = (
            read(np.array([[1], [2]], dtype=dtype))
            .with_codes(np.array([[cell], [1.0]]))
            .to_native()
        )
        assert back[0, 0] == cell
        assert (back.dtype == dtype) == fits


def test_what_is_written_is_not_the_callers_memory(mixed_frame: pd.DataFrame) -> None:
    kept = mixed_frame.copy(deep=True)
    found = read(mixed_frame)
    back = found.with_codes(np.where(found.codes > 0.5, 0, found.codes)).to_native()
    assert not back["<b>"].equals(kept["<b>"])
    pd.testing.assert_frame_equal(mixed_frame, kept)
    assert not np.shares_memory(
        read(mixed_frame.to_numpy(dtype=float)).codes, mixed_frame.to_numpy()
    )


# levels


def test_levels_are_numbered_alphabetically_or_as_the_type_says() -> None:
    table = pd.DataFrame(
        {
            "text": ["b", "c", "a"],
            "category": pd.Categorical(["b", "c", "a"], categories=["c", "b", "a"]),
        }
    )
    found = read(table)
    assert found.levels == (("a", "b", "c"), ("c", "b", "a"))
    np.testing.assert_array_equal(found.codes, [[1, 1], [2, 0], [0, 2]])


def test_the_order_of_rows_does_not_change_the_levels() -> None:
    cells = ["b", None, "c", "a", "b"]
    assert read(pd.DataFrame({"x": cells})).levels == read(pd.DataFrame({"x": cells[::-1]})).levels


@pytest.mark.parametrize("kind", ["str", "object", "category"])
def test_levels_of_another_table(kind: str) -> None:
    """A new table may lack levels or have more; its cells stay the same."""
    table = pd.DataFrame({"x": pd.Series(["b", None, "new", "a"], dtype=kind), "y": [1.0, 2, 3, 4]})
    found = read(table)
    moved = found.with_levels((("z", "b", "a"), None))
    assert moved.levels == (("z", "b", "a", "new"), None)
    np.testing.assert_array_equal(moved.codes[:, 0], [1, nan, 3, 2])
    pd.testing.assert_frame_equal(moved.to_native(), table)
    assert moved.with_levels(moved.levels) is moved
    drawn = moved.with_codes(np.where(moved.codes == 3, 0, moved.codes)).to_native()
    assert drawn["x"].tolist()[2] == "z"


def test_levels_of_another_table_for_polars() -> None:
    for dtype in (pl.String, pl.Categorical, pl.Enum(["a", "b"])):
        table = pl.DataFrame({"x": pl.Series(["b", None, "a"], dtype=dtype)})
        moved = read(table).with_levels([("z", "b", "a")])
        assert moved.to_native()["x"].to_list() == ["b", None, "a"]
        assert moved.with_codes(np.zeros((3, 1))).to_native()["x"].to_list() == ["z"] * 3


def test_a_table_that_was_read_is_passed_through() -> None:
    found = read(np.eye(3))
    assert read(found) is found
    assert len(found) == 3


# groups


def test_groups_are_numbered_by_first_appearance() -> None:
    np.testing.assert_array_equal(group_labels(["b", "a", "b"], rows=3, who="Test"), [0, 1, 0])
    with pytest.raises(ValueError, match="groups has 2 entries; pass one for each of the 3 rows"):
        group_labels(["b", "a"], rows=3, who="Test")
    with pytest.raises(ValueError, match=r"labels are missing in groups \(1\)"):
        group_labels(["b", None, "a"], rows=3, who="Test")
