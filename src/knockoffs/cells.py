"""The cells of a column as numbers, and numbers as cells of a column like it.

A quantity is read as it is, a boolean as 0 or 1, a level of a text or category column as its number, and a missing
cell as nan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from decimal import Decimal
from numbers import Integral
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from knockoffs.arrays import LARGEST_WHOLE, Array, Flags

NUMERIC = "biuf"  # kinds of numpy types
Levels = tuple[Any, ...]
Precision = np.dtype[Any] | int | None

NUMPY_TYPES = frozenset(
    {"float16", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
)
NUMBERS = frozenset({"floating", "integer", "mixed-integer-float", "decimal", "empty"})
MOST_DECIMALS = 15  # that floats hold
AS_TEXT = "Convert it by .astype(str) if it is a category"


class Cells(NamedTuple):
    """A column as numbers; with `levels`, the number of a cell's level. `ordered` levels have a natural order.

    The levels of a text column are the texts that occur in it, in alphabetical order; a category column brings its
    own, also those that do not occur. `precision` is what numbers are rounded to when they are written: a type of
    floats with fewer digits than float64, or a number of decimals.
    """

    codes: Array
    levels: Levels | None = None
    ordered: bool = False
    is_text: bool = False
    precision: Precision = None


class UnreadableColumnError(ValueError):
    """A column that holds neither numbers nor categories; the message says what it holds, and the remedy."""


class NoCellsError(UnreadableColumnError):
    """A column of objects that are neither numbers nor text, such as lists."""


def pandas_cells(series: pd.Series[Any]) -> Cells:
    """Read a column of a pandas table."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy().astype(np.float64)
        return Cells(np.where(codes < 0, np.nan, codes), tuple(dtype.categories.tolist()), bool(dtype.ordered))
    if pd.api.types.is_complex_dtype(dtype):
        raise UnreadableColumnError(_says_type(dtype))
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        codes = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if pd.api.types.is_integer_dtype(dtype):
            _require_exact(codes, series.tolist)
        return Cells(codes, precision=_precision(_pandas_numbers(dtype)))
    if pd.api.types.is_object_dtype(dtype):
        return object_cells(series.to_numpy())
    if pd.api.types.is_string_dtype(dtype):
        return _text_cells(series)
    if str(dtype).startswith("dictionary<"):  # pyarrow's categories inside pandas
        return _dictionary_cells(_arrow_dictionary(series))
    if series.isna().all() and str(dtype).startswith("null"):
        return Cells(np.full(len(series), np.nan))
    raise UnreadableColumnError(_says_type(dtype))


def frame_cells(series: nw.Series[Any]) -> Cells:
    """Read a column of a table that narwhals knows, such as one of polars or pyarrow."""
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        native = _decimal_type(series) if dtype == nw.Decimal else _numpy_type(dtype)
        if dtype.is_integer() and series.implementation.is_pyarrow():  # which refuses large numbers by itself
            codes = np.array(series.to_native().cast("float64", safe=False), dtype=np.float64)
        else:
            codes = series.cast(nw.Float64).to_numpy().astype(np.float64)
        if dtype.is_integer():
            _require_exact(codes, series.to_list)
        return Cells(codes, precision=_precision(native))
    if dtype == nw.Enum:
        levels = tuple(series.cat.get_categories().to_list())
        return Cells(_level_numbers(series.cast(nw.String).to_numpy(), levels), levels)
    if dtype == nw.Categorical and series.implementation.is_pyarrow():
        return _dictionary_cells(series.to_native())
    if dtype == nw.Categorical:  # its list of categories may be shared with other columns: those that occur
        return _text_cells(series.cast(nw.String).to_numpy())._replace(is_text=False)
    if dtype == nw.String:
        return _text_cells(series.to_numpy())
    if dtype == nw.Object:
        return object_cells(np.array([*series.to_list(), None], dtype=object)[:-1])
    if dtype == nw.Unknown and series.null_count() == len(series):  # a column without a type
        return Cells(np.full(len(series), np.nan))
    raise UnreadableColumnError(_says_type(dtype))


def array_cells(column: NDArray[Any]) -> Cells:
    """Read a column of an array; text that is all numbers counts as numbers."""
    if column.dtype.kind in NUMERIC:
        codes = column.astype(np.float64)
        if column.dtype.kind in "iu":
            _require_exact(codes, column.tolist)
        return Cells(codes, precision=_precision(column.dtype))
    if column.dtype.kind == "U":
        try:
            return Cells(column.astype(np.float64))
        except ValueError:
            return _text_cells(column.astype(object))
    if column.dtype.kind == "O":
        return object_cells(column)
    raise UnreadableColumnError(_says_type(column.dtype))


def object_cells(column: NDArray[np.object_]) -> Cells:
    """Read Python objects: all numbers, all booleans, or all text."""
    found = pd.api.types.infer_dtype(column, skipna=True)
    if found == "string":
        return _text_cells(column)
    missing = is_missing(column)
    present = column[~missing]
    if found == "boolean":
        codes = np.full(len(column), np.nan)
        codes[~missing] = present.astype(np.float64)
        return Cells(codes, (False, True))
    if found in NUMBERS or len(present) == 0:
        codes = np.full(len(column), np.nan)
        codes[~missing] = present.astype(np.float64)
        if found != "decimal":
            _require_exact(codes, column.tolist)
        return Cells(codes, precision=_decimals(present) if found == "decimal" else None)
    if found.startswith("mixed"):
        raise _says_objects(present)
    raise UnreadableColumnError(_says_type(found))


def _require_exact(codes: Array, cells: Callable[[], list[Any]]) -> None:
    """Refuse whole numbers that floats round: cells would change, and different ones become the same."""
    large = np.flatnonzero(np.abs(codes) > LARGEST_WHOLE)
    if not len(large):
        return
    listed = cells()
    for j, code in zip(large.tolist(), codes[large].tolist(), strict=True):
        if isinstance(listed[j], Integral) and int(listed[j]) != code:  # Python compares them exactly
            raise UnreadableColumnError(
                "holds whole numbers beyond 2**53, which floats would round. Drop it if it is an identifier "
                "(--drop at the command line), divide it by a power of ten if it is a quantity, or convert it by "
                ".astype(str) if it is a category"
            )


def _precision(dtype: Any) -> Precision:
    """The type of short floats, the decimals of a type of decimal numbers, or None."""
    if isinstance(dtype, np.dtype):
        return dtype if dtype.kind == "f" and dtype.itemsize < np.dtype(np.float64).itemsize else None
    scale = getattr(dtype, "scale", None)  # of the decimal types of polars and pyarrow
    return scale if scale is None or 0 <= scale <= MOST_DECIMALS else None


def _decimals(present: NDArray[np.object_]) -> int | None:
    """The most decimals that occur among decimal numbers; None where there are more than floats hold."""
    most = max((-int(cell.as_tuple().exponent) for cell in present), default=0)
    return most if most <= MOST_DECIMALS else None


def rounded(codes: Array, precision: Precision) -> Array:
    """Numbers as they will be once they are written; those beyond the range of a type keep their digits."""
    if precision is None:
        return codes
    if isinstance(precision, int):
        return np.round(codes, max(precision, 0))
    with np.errstate(over="ignore"):  # overflow is what is looked for
        short = codes.astype(precision).astype(np.float64)
    return np.where(np.isfinite(short), short, codes)


def is_missing(cells: Any) -> Flags:
    """Which cells of a column are missing: None, NaN, NaT and NA."""
    found = np.asarray(pd.isna(cells))
    return found if found.ndim == 1 else np.zeros(len(cells), dtype=bool)


def _text_cells(cells: Any) -> Cells:
    numbers, found = pd.factorize(cells)
    texts = np.asarray(found, dtype=object)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.full(len(texts) + 1, np.nan)  # the last entry, which -1 finds, is that of missing cells
    rank[order] = np.arange(len(texts))
    levels = (str(text) if isinstance(text, str) else text for text in texts[order])
    return Cells(rank[numbers], tuple(levels), is_text=True)


def _dictionary_cells(column: Any) -> Cells:
    """Read pyarrow's categories, which may be of any type, and have an order of their own."""
    cells = np.array([*column.to_pylist(), None], dtype=object)[:-1]
    if not column.type.ordered:
        return _text_cells(cells)._replace(is_text=False)
    levels = _listed(column)
    return Cells(_level_numbers(cells, levels), levels, ordered=True)


def _listed(column: Any) -> Levels:
    """The levels that the dictionaries of a column of pyarrow list, also those that do not occur."""
    levels = (level for chunk in column.chunks for level in chunk.dictionary.to_pylist())
    return tuple(dict.fromkeys(level for level in levels if level is not None))


def _arrow_dictionary(series: pd.Series[Any]) -> Any:
    """A column of pyarrow's categories inside pandas as pyarrow has it."""
    import pyarrow as pa

    return pa.chunked_array([pa.array(series)])


def _level_numbers(cells: NDArray[np.object_], levels: Levels) -> Array:
    numbers = pd.Index(list(levels), dtype=object).get_indexer(pd.Index(cells, dtype=object))
    return np.where(numbers < 0, np.nan, numbers)


def _says_type(dtype: Any) -> str:
    return (
        f"has type {dtype}; only numbers, booleans, text and categories will do. Encode it as numbers (such as "
        "days since a date) or drop it"
    )


def _says_objects(present: NDArray[np.object_]) -> UnreadableColumnError:
    kinds = sorted({type(cell).__name__ for cell in present})
    if len(kinds) > 1 and not any(isinstance(cell, Collection) and not isinstance(cell, str) for cell in present):
        return UnreadableColumnError(
            f"holds cells of several types ({', '.join(kinds)}). {AS_TEXT}, or correct it"
        )
    return NoCellsError(
        f"holds objects ({', '.join(kinds)}), but a cell argument must be a string or a number. Encode them as "
        "numbers or drop it"
    )


def of_one_type(levels: Levels | None, codes: Array, others: Levels | None, other_codes: Array) -> bool:
    """Return whether two columns both hold text and categories, or both numbers, as far as one can see.

    Booleans with gaps are Python objects in pandas and have levels; they are like booleans without gaps, which are
    the numbers 0 and 1. A column without any cell is like any other.
    """
    if (levels is None) == (others is None):
        return True
    numbers, labels = (codes, others) if levels is None else (other_codes, levels)
    present = numbers[~np.isnan(numbers)]
    are_booleans = labels == (False, True) and all(isinstance(label, bool) for label in labels or ())
    return not len(present) or (are_booleans and bool(np.isin(present, (0, 1)).all()))


def labels_of(codes: Array, levels: Levels, gap: Any = None) -> NDArray[np.object_]:
    """The levels with these numbers, and `gap` for missing cells."""
    labels = np.empty(len(levels) + 1, dtype=object)
    for k, level in enumerate((*levels, gap)):
        labels[k] = level
    return labels[np.where(np.isnan(codes), len(levels), codes).astype(np.intp)]


def gap_like(cells: NDArray[np.object_]) -> Any:
    """The object that stands for a missing cell in a column of objects; None where no cell is missing."""
    missing = is_missing(cells)
    return cells[missing][0] if missing.any() else None


def pandas_column(like: pd.Series[Any], codes: Array, levels: Levels | None) -> pd.Series[Any]:
    """Return a column of the type of `like`; of a wider type where the numbers do not fit into that."""
    dtype: Any = like.dtype
    if np.isnan(codes).all() and like.isna().all():
        return like.copy()
    if levels is None:
        of_objects = pd.api.types.is_object_dtype(dtype)
        decimals = _object_decimals(like, codes) if of_objects else _typed_decimals(_pandas_numbers(dtype), codes)
        if decimals is not None:
            return type(like)(decimals, index=like.index, dtype=dtype)
        if dtype == np.dtype(bool) and np.isnan(codes).any() and _fits(codes, np.dtype(bool), nullable=True):
            return type(like)(labels_of(codes, (False, True)), index=like.index)  # booleans with gaps in pandas
        column = type(like)(codes, index=like.index)
        return column.astype(dtype) if _fits_pandas(codes, dtype) else column
    if isinstance(dtype, pd.CategoricalDtype):
        return type(like)(_categorical(codes, levels, dtype), index=like.index)
    gap = gap_like(like.to_numpy()) if pd.api.types.is_object_dtype(dtype) else None
    if pd.api.types.is_numeric_dtype(dtype) or str(dtype).startswith("null"):  # of a column without any text
        dtype = None
    if str(dtype).startswith("dictionary<"):
        categories = dtype.__from_arrow__(_dictionary(_arrow_dictionary(like), codes, levels))
        return type(like)(categories, index=like.index)
    return type(like)(labels_of(codes, levels, gap), index=like.index, dtype=dtype)


def _categorical(codes: Array, levels: Levels, dtype: pd.CategoricalDtype) -> pd.Categorical:
    if levels == tuple(dtype.categories.tolist()):
        numbers = np.where(np.isnan(codes), -1, codes).astype(np.intp)
        return pd.Categorical.from_codes(numbers.tolist(), dtype=dtype)
    known = _used(codes, levels) <= set(dtype.categories)
    kept = dtype if known else pd.CategoricalDtype(list(levels), dtype.ordered)
    return pd.Categorical(labels_of(codes, levels), dtype=kept)


def _used(codes: Array, levels: Levels) -> set[Any]:
    return {levels[int(code)] for code in np.unique(codes[~np.isnan(codes)])}


def frame_column(like: nw.Series[Any], codes: Array, levels: Levels | None) -> nw.Series[Any]:
    """Return a column of the type of `like` for tables that narwhals knows."""
    name, backend = like.name, like.implementation
    if np.isnan(codes).all() and like.null_count() == len(like):
        return like
    if levels is not None:
        labels = labels_of(codes, levels).tolist()
        if backend.is_pyarrow() and like.dtype == nw.Categorical:
            categories = _dictionary(like.to_native(), codes, levels)
            return nw.from_native(categories, series_only=True).alias(name)
        if backend.is_pyarrow():  # narwhals does not keep the types inside a dictionary
            return _arrow_column(like, labels, None if _holds_no_text(like.dtype) else like.to_native().type)
        dtype = None if _holds_no_text(like.dtype) else like.dtype
        if isinstance(dtype, nw.Enum) and not _used(codes, levels) <= set(dtype.categories):
            dtype = nw.Enum(levels)
        return nw.new_series(name, labels, dtype, backend=backend)
    if like.dtype == nw.Decimal:
        native, dtype = like.to_native(), _decimal_type(like)
        decimals = _typed_decimals(dtype, codes)
        if decimals is not None and backend.is_pyarrow():
            return _arrow_column(like, decimals, dtype)
        if decimals is not None:
            return nw.from_native(type(native)(name, decimals, dtype=dtype), series_only=True)
    values: Any = codes
    if np.isnan(codes).any() and (like.null_count() or not like.dtype.is_float()):
        values = [None if np.isnan(code) else code for code in codes.tolist()]
    column = nw.new_series(name, values, nw.Float64, backend=backend)
    if not _fits(codes, _numpy_type(like.dtype), nullable=True):
        return column
    if like.dtype == nw.Boolean:
        return column.cast(nw.Int64).cast(nw.Boolean)
    return column.cast(like.dtype)


def _decimal_type(series: nw.Series[Any]) -> Any:
    """The type of a column of decimals, with its digits, which narwhals does not keep."""
    native: Any = series.to_native()
    return native.type if series.implementation.is_pyarrow() else native.dtype


def _object_decimals(like: pd.Series[Any], codes: Array) -> list[Any] | None:
    """Numbers as Python's decimals, with the gaps of a column of these; None where it is no such column."""
    cells = like.to_numpy()
    present = cells[~is_missing(cells)]
    if not len(present) or not all(isinstance(cell, Decimal) for cell in present):
        return None
    decimals = _decimals(present)
    return None if decimals is None else _written_with(decimals, codes, gap_like(cells))


def _typed_decimals(dtype: Any, codes: Array) -> list[Any] | None:
    """Numbers as decimals of a type of polars or pyarrow; None where it is another type, or has too few digits."""
    decimals = _precision(dtype)
    if not isinstance(decimals, int):
        return None
    largest = np.abs(codes[~np.isnan(codes)]).max(initial=0)
    return _written_with(decimals, codes, None) if largest < 10.0 ** (dtype.precision - decimals) else None


def _written_with(decimals: int, codes: Array, gap: Any) -> list[Any]:
    return [gap if np.isnan(code) else Decimal(f"{code:.{max(decimals, 0)}f}") for code in codes.tolist()]


def _arrow_column(like: nw.Series[Any], cells: list[Any], dtype: Any) -> nw.Series[Any]:
    import pyarrow as pa

    column = pa.chunked_array([pa.array(cells, type=dtype)])
    return nw.from_native(column, series_only=True).alias(like.name)


def _dictionary(like: Any, codes: Array, levels: Levels) -> Any:
    """A column of pyarrow's categories that lists the levels of `like`, and others only where they occur."""
    import pyarrow as pa

    dtype, used = like.type, _used(codes, levels)
    others = (level for level in levels if level in used)
    listed = levels if dtype.ordered else tuple(dict.fromkeys((*_listed(like), *others)))
    number = {level: k for k, level in enumerate(listed)}
    numbers = [None if np.isnan(code) else number[levels[int(code)]] for code in codes.tolist()]
    indices, dictionary = pa.array(numbers, dtype.index_type), pa.array(listed, dtype.value_type)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, dictionary, ordered=dtype.ordered)])


def _holds_no_text(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype in (nw.Boolean, nw.Unknown))


def _numpy_type(dtype: Any) -> np.dtype[Any]:
    if dtype == nw.Boolean:
        return np.dtype(bool)
    name = str(dtype).lower()
    return np.dtype(name if name in NUMPY_TYPES else object)  # decimals and numbers of 128 bits are none


def fits_array(codes: Array, dtype: Any) -> bool:
    """Return whether numbers fit into an array of this type."""
    return isinstance(dtype, np.dtype) and dtype.kind in NUMERIC and _fits(codes, dtype, nullable=False)


def _fits_pandas(codes: Array, dtype: Any) -> bool:
    nullable = isinstance(dtype, pd.api.extensions.ExtensionDtype) and not isinstance(dtype, pd.SparseDtype)
    numbers = _pandas_numbers(dtype)
    return isinstance(numbers, np.dtype) and _fits(codes, numbers, nullable=nullable)


def _pandas_numbers(dtype: Any) -> Any:
    """The numpy type of numbers in a column of pandas; pyarrow's type where numpy has none, as for decimals."""
    if isinstance(dtype, pd.SparseDtype):
        return dtype.subtype
    numbers = getattr(dtype, "numpy_dtype", dtype)
    return getattr(dtype, "pyarrow_dtype", numbers) if numbers == np.dtype(object) else numbers


def _fits(values: Array, dtype: np.dtype[Any], *, nullable: bool) -> bool:
    """Return whether numbers survive the cast: in range, and whole for whole numbers and booleans."""
    missing = np.isnan(values)
    present = values[~missing]
    if dtype.kind == "f":
        with np.errstate(over="ignore"):  # overflow is what is looked for
            return bool(np.isfinite(present.astype(dtype)).all())
    if dtype.kind not in "biu" or (missing.any() and not nullable):
        return False
    # The largest number plus one is a power of two, which a float holds exactly.
    low, beyond = (0, 2) if dtype.kind == "b" else (np.iinfo(dtype).min, float(np.iinfo(dtype).max + 1))
    return bool(np.all((present == np.rint(present)) & (present >= low) & (present < beyond)))
