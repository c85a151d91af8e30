"""The cells of a column as numbers; `write_cells.py` leads back.

A quantity is read as it is, a boolean as 0 or 1, a level of a text or category column as its
number, and a missing cell as nan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from numbers import Integral
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from knockoffs.runtime.arrays import LARGEST_WHOLE, Array, Flags

NUMERIC = "biuf"  # kinds of numpy types
Levels = tuple[Any, ...]
Precision = np.dtype[Any] | int | None

NUMPY_TYPES = frozenset(
    {
        "float16",
        "float32",
        "float64",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    }
)
NUMBERS = frozenset({"floating", "integer", "mixed-integer-float", "decimal", "empty"})
MOST_DECIMALS = 15  # that floats hold
AS_TEXT = "Convert it by .astype(str) if it is a category"


class Cells(NamedTuple):
    """A column as numbers; with `levels`, the number of a cell's level.
    `ordered` levels have a natural order.

    The levels of a text column are the texts that occur in it, in alphabetical order; a category
    column brings its own, also those that do not occur. `precision` is what numbers are rounded to
    when they are written: a type of floats with fewer digits than float64, or a number of decimals.
    """

    codes: Array
    levels: Levels | None = None
    ordered: bool = False
    is_text: bool = False
    precision: Precision = None


class UnreadableColumnError(ValueError):
    """A column that holds neither numbers nor categories; the message says what it holds,
    and the remedy.
    """


class NoCellsError(UnreadableColumnError):
    """A column of objects that are neither numbers nor text, such as lists."""


def pandas_cells(series: pd.Series[Any]) -> Cells:
    """Read a column of a pandas table."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy().astype(np.float64)
        return Cells(
            np.where(codes < 0, np.nan, codes),
            tuple(dtype.categories.tolist()),
            bool(dtype.ordered),
        )
    is_number = pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype)
    if is_number and not pd.api.types.is_complex_dtype(dtype):
        codes = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if pd.api.types.is_integer_dtype(dtype):
            _require_exact(codes, series.tolist)
        return Cells(codes, precision=precision_of(numbers_type(dtype)))
    if pd.api.types.is_object_dtype(dtype):
        return object_cells(series.to_numpy())
    if pd.api.types.is_string_dtype(dtype):
        return _text_cells(series)
    if str(dtype).startswith("dictionary<"):  # pyarrow's categories inside pandas
        return _dictionary_cells(arrow_dictionary(series))
    if series.isna().all() and str(dtype).startswith("null"):
        return Cells(np.full(len(series), np.nan))
    raise UnreadableColumnError(_says_type(dtype))


def frame_cells(series: nw.Series[Any]) -> Cells:
    """Read a column of a table that narwhals knows, such as one of polars or pyarrow."""
    dtype = series.dtype
    if dtype == nw.Enum:
        levels = tuple(series.cat.get_categories().to_list())
        return Cells(_level_numbers(series.cast(nw.String).to_numpy(), levels), levels)
    if dtype == nw.Object:
        return object_cells(np.array([*series.to_list(), None], dtype=object)[:-1])
    if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.String, nw.Categorical, nw.Unknown)):
        raise UnreadableColumnError(_says_type(dtype))
    cells = series.to_arrow()
    return pandas_cells(pd.Series(cells, dtype=pd.ArrowDtype(cells.type)))


def array_cells(column: NDArray[Any]) -> Cells:
    """Read a column of an array; text that is all numbers counts as numbers."""
    if column.dtype.kind == "U":
        try:
            return Cells(column.astype(np.float64))
        except ValueError:
            return _text_cells(column.astype(object))
    if column.dtype.kind in "SV":
        raise UnreadableColumnError(_says_type(column.dtype))
    return object_cells(column) if column.dtype.kind == "O" else pandas_cells(pd.Series(column))


def object_cells(column: NDArray[np.object_]) -> Cells:
    """Read Python objects: all numbers, all booleans, or all text."""
    found = pd.api.types.infer_dtype(column, skipna=True)
    if found == "string":
        return _text_cells(column)
    missing = is_missing(column)
    present = column[~missing]
    if not (found == "boolean" or found in NUMBERS or len(present) == 0):
        raise (
            _says_objects(present)
            if found.startswith("mixed")
            else UnreadableColumnError(_says_type(found))
        )
    codes = np.full(len(column), np.nan)
    codes[~missing] = present.astype(np.float64)
    if found == "boolean":
        return Cells(codes, (False, True))
    if found == "decimal":
        return Cells(codes, precision=most_decimals(present))
    _require_exact(codes, column.tolist)
    return Cells(codes)


def _require_exact(codes: Array, cells: Callable[[], list[Any]]) -> None:
    """Refuse whole numbers that floats round: cells would change,
    and different ones become the same.
    """
    large = np.flatnonzero(np.abs(codes) > LARGEST_WHOLE)
    if not len(large):
        return
    listed = cells()
    for j, code in zip(large.tolist(), codes[large].tolist(), strict=True):
        # Python compares them exactly
        if isinstance(listed[j], Integral) and int(listed[j]) != code:
            raise UnreadableColumnError(
                "holds whole numbers beyond 2**53, which floats would round. Drop it if it is an "
                "identifier "
                f"(--drop at the command line) or divide it by a power of ten if it is a "
                f"quantity. {AS_TEXT}"
            )


def precision_of(dtype: Any) -> Precision:
    """Return the type of short floats, the decimals of a type of decimal numbers, or None."""
    if isinstance(dtype, np.dtype):
        return (
            dtype if dtype.kind == "f" and dtype.itemsize < np.dtype(np.float64).itemsize else None
        )
    scale = getattr(dtype, "scale", None)  # of the decimal types of polars and pyarrow
    return scale if scale is None or 0 <= scale <= MOST_DECIMALS else None


def most_decimals(present: NDArray[np.object_]) -> int | None:
    """Return the most decimals that occur among decimal numbers;
    None where there are more than floats hold.
    """
    most = max((-int(cell.as_tuple().exponent) for cell in present), default=0)
    return most if most <= MOST_DECIMALS else None


def is_missing(cells: Any) -> Flags:
    """Which cells of a column are missing: None, NaN, NaT and NA."""
    found = np.asarray(pd.isna(cells))
    return found if found.ndim == 1 else np.zeros(len(cells), dtype=bool)


def _text_cells(cells: Any) -> Cells:
    numbers, found = pd.factorize(cells)
    texts = np.asarray(found, dtype=object)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    # the last entry, which -1 finds, is that of missing cells
    rank = np.full(len(texts) + 1, np.nan)
    rank[order] = np.arange(len(texts))
    levels = (str(text) if isinstance(text, str) else text for text in texts[order])
    return Cells(rank[numbers], tuple(levels), is_text=True)


def _dictionary_cells(column: Any) -> Cells:
    """Read pyarrow's categories, which may be of any type, and have an order of their own."""
    chunks = [
        (_arrow_labels(chunk.dictionary), chunk.indices.to_pylist()) for chunk in column.chunks
    ]
    labels = [None if k is None else own[k] for own, numbers in chunks for k in numbers]
    cells = np.array([*labels, None], dtype=object)[:-1]
    if not column.type.ordered:
        return _text_cells(cells)._replace(is_text=False)
    levels = listed_levels(column)
    return Cells(_level_numbers(cells, levels), levels, ordered=True)


def listed_levels(column: Any) -> Levels:
    """Return the levels that the dictionaries of a column of pyarrow list,
    also those that do not occur.
    """
    levels = dict.fromkeys(
        level for chunk in column.chunks for level in _arrow_labels(chunk.dictionary)
    )
    return tuple(level for level in levels if level is not None)


def _arrow_labels(array: Any) -> list[Any]:
    """Values of pyarrow as Python objects; those of pandas' own types, such as intervals,
    as pandas has them.
    """
    of_pandas = isinstance(array.type, pa.BaseExtensionType)
    labels = array.to_pandas().tolist() if of_pandas else array.to_pylist()
    if not all(isinstance(label, Hashable) for label in labels):
        raise UnreadableColumnError(_says_type(array.type))
    return labels


def arrow_dictionary(series: pd.Series[Any]) -> Any:
    """Return a column of pyarrow's categories inside pandas as pyarrow has it."""
    return pa.chunked_array([pa.array(series)])


def _level_numbers(cells: NDArray[np.object_], levels: Levels) -> Array:
    numbers = pd.Index(list(levels), dtype=object).get_indexer(pd.Index(cells, dtype=object))
    return np.where(numbers < 0, np.nan, numbers)


def _says_type(dtype: Any) -> str:
    return (
        f"has type {dtype}; only numbers, booleans, text and categories will do. Encode it as "
        f"numbers (such as "
        "days since a date) or drop it"
    )


def _says_objects(present: NDArray[np.object_]) -> UnreadableColumnError:
    kinds = sorted({type(cell).__name__ for cell in present})
    if len(kinds) > 1 and not any(
        isinstance(cell, Collection) and not isinstance(cell, str) for cell in present
    ):
        return UnreadableColumnError(
            f"holds cells of several types ({', '.join(kinds)}). {AS_TEXT}, or correct it"
        )
    return NoCellsError(
        f"holds objects ({', '.join(kinds)}), but a cell argument must be a string or a number. "
        f"Encode them as "
        "numbers or drop it"
    )


def of_one_type(
    levels: Levels | None, codes: Array, others: Levels | None, other_codes: Array
) -> bool:
    """Return whether two columns both hold text and categories, or both numbers,
    as far as one can see.

    Booleans with gaps are Python objects in pandas and have levels; they are like booleans without
    gaps, which are the numbers 0 and 1. A column without any cell is like any other.
    """
    if (levels is None) == (others is None):
        return True
    numbers, labels = (codes, others) if levels is None else (other_codes, levels)
    present = numbers[~np.isnan(numbers)]
    are_booleans = labels == (False, True) and all(
        isinstance(label, bool) for label in labels or ()
    )
    return not len(present) or (are_booleans and bool(np.isin(present, (0, 1)).all()))


def decimal_type(series: nw.Series[Any]) -> Any:
    """Return the type of a column of decimals, with its digits, which narwhals does not keep."""
    native: Any = series.to_native()
    return native.type if series.implementation.is_pyarrow() else native.dtype


def numpy_type(dtype: Any) -> np.dtype[Any]:
    """Return the numpy type of a type of narwhals; that of objects where numpy has none."""
    if dtype == nw.Boolean:
        return np.dtype(bool)
    name = str(dtype).lower()
    # decimals and numbers of 128 bits are none
    return np.dtype(name if name in NUMPY_TYPES else object)


def numbers_type(dtype: Any) -> Any:
    """Return the numpy type of numbers in a pandas column; pyarrow's where numpy has none,
    as for decimals.
    """
    if isinstance(dtype, pd.SparseDtype):
        return dtype.subtype
    numbers = getattr(dtype, "numpy_dtype", dtype)
    return getattr(dtype, "pyarrow_dtype", numbers) if numbers == np.dtype(object) else numbers
