"""Numbers as the cells of a column like another one: the way back from `read_cells.py`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array
from knockoffs.table.read_cells import (
    NUMERIC,
    Levels,
    Precision,
    arrow_dictionary,
    decimal_type,
    is_missing,
    listed_levels,
    most_decimals,
    numbers_type,
    numpy_type,
    precision_of,
)


def rounded(codes: Array, precision: Precision) -> Array:
    """Numbers as they will be once they are written;
    those beyond the range of a type keep their digits.
    """
    if precision is None:
        return codes
    if isinstance(precision, int):
        return np.round(codes, max(precision, 0))
    with np.errstate(over="ignore"):  # overflow is what is looked for
        short = codes.astype(precision).astype(np.float64)
    return np.where(np.isfinite(short), short, codes)


def labels_of(codes: Array, levels: Levels, gap: Any = None) -> NDArray[np.object_]:
    """The levels with these numbers, and `gap` for missing cells."""
    labels = np.empty(len(levels) + 1, dtype=object)
    for k, level in enumerate((*levels, gap)):
        labels[k] = level
    return labels[np.where(np.isnan(codes), len(levels), codes).astype(np.intp)]


def gap_like(cells: NDArray[np.object_]) -> Any:
    """The object that stands for a missing cell in a column of objects;
    None where no cell is missing.
    """
    missing = is_missing(cells)
    return cells[missing][0] if missing.any() else None


def pandas_column(like: pd.Series[Any], codes: Array, levels: Levels | None) -> pd.Series[Any]:
    """Return a column of the type of `like`; of a wider type where the numbers do not fit into
    that.
    """
    dtype: Any = like.dtype
    if np.isnan(codes).all() and like.isna().all():
        return like.copy()
    if levels is None:
        of_objects = pd.api.types.is_object_dtype(dtype)
        decimals = (
            _object_decimals(like, codes)
            if of_objects
            else _typed_decimals(numbers_type(dtype), codes)
        )
        if decimals is not None:
            return type(like)(decimals, index=like.index, dtype=dtype)
        if (
            dtype == np.dtype(bool)
            and np.isnan(codes).any()
            and _fits(codes, np.dtype(bool), nullable=True)
        ):
            # booleans with gaps in pandas
            return type(like)(labels_of(codes, (False, True)), index=like.index)
        column = type(like)(codes, index=like.index)
        return column.astype(dtype) if _fits_pandas(codes, dtype) else column
    if isinstance(dtype, pd.CategoricalDtype):
        return type(like)(_categorical(codes, levels, dtype), index=like.index)
    gap = gap_like(like.to_numpy()) if pd.api.types.is_object_dtype(dtype) else None
    # of a column without any text
    if pd.api.types.is_numeric_dtype(dtype) or str(dtype).startswith("null"):
        dtype = None
    if str(dtype).startswith("dictionary<"):
        categories = dtype.__from_arrow__(_dictionary(arrow_dictionary(like), codes, levels))
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
        no_text = bool(like.dtype.is_numeric() or like.dtype in (nw.Boolean, nw.Unknown))
        if backend.is_pyarrow() and like.dtype == nw.Categorical:
            categories = _dictionary(like.to_native(), codes, levels)
            return nw.from_native(categories, series_only=True).alias(name)
        if backend.is_pyarrow():  # narwhals does not keep the types inside a dictionary
            return _arrow_column(like, labels, None if no_text else like.to_native().type)
        dtype = None if no_text else like.dtype
        if isinstance(dtype, nw.Enum) and not _used(codes, levels) <= set(dtype.categories):
            dtype = nw.Enum(levels)
        return nw.new_series(name, labels, dtype, backend=backend)
    if like.dtype == nw.Decimal:
        native, dtype = like.to_native(), decimal_type(like)
        decimals = _typed_decimals(dtype, codes)
        if decimals is not None and backend.is_pyarrow():
            return _arrow_column(like, decimals, dtype)
        if decimals is not None:
            return nw.from_native(type(native)(name, decimals, dtype=dtype), series_only=True)
    values: Any = codes
    if np.isnan(codes).any() and (like.null_count() or not like.dtype.is_float()):
        values = [None if np.isnan(code) else code for code in codes.tolist()]
    column = nw.new_series(name, values, nw.Float64, backend=backend)
    if not _fits(codes, numpy_type(like.dtype), nullable=True):
        return column
    if like.dtype == nw.Boolean:
        return column.cast(nw.Int64).cast(nw.Boolean)
    return column.cast(like.dtype)


def _object_decimals(like: pd.Series[Any], codes: Array) -> list[Any] | None:
    """Numbers as Python's decimals, with the gaps of a column of these;
    None where it is no such column.
    """
    cells = like.to_numpy()
    present = cells[~is_missing(cells)]
    if not len(present) or not all(isinstance(cell, Decimal) for cell in present):
        return None
    decimals = most_decimals(present)
    return None if decimals is None else _written_with(decimals, codes, gap_like(cells))


def _typed_decimals(dtype: Any, codes: Array) -> list[Any] | None:
    """Numbers as decimals of a type of polars or pyarrow; None where it is another type,
    or has too few digits.
    """
    decimals = precision_of(dtype)
    if not isinstance(decimals, int):
        return None
    largest = np.abs(codes[~np.isnan(codes)]).max(initial=0)
    return (
        _written_with(decimals, codes, None)
        if largest < 10.0 ** (dtype.precision - decimals)
        else None
    )


def _written_with(decimals: int, codes: Array, gap: Any) -> list[Any]:
    return [
        gap if np.isnan(code) else Decimal(f"{code:.{max(decimals, 0)}f}")
        for code in codes.tolist()
    ]


def _arrow_column(like: nw.Series[Any], cells: list[Any], dtype: Any) -> nw.Series[Any]:
    column = pa.chunked_array([pa.array(cells, type=dtype)])
    return nw.from_native(column, series_only=True).alias(like.name)


def _dictionary(like: Any, codes: Array, levels: Levels) -> Any:
    """A column of pyarrow's categories that lists the levels of `like`,
    and others only where they occur.
    """
    dtype, used = like.type, _used(codes, levels)
    others = (level for level in levels if level in used)
    listed = levels if dtype.ordered else tuple(dict.fromkeys((*listed_levels(like), *others)))
    number = {level: k for k, level in enumerate(listed)}
    numbers = [None if np.isnan(code) else number[levels[int(code)]] for code in codes.tolist()]
    of_pandas = isinstance(dtype.value_type, pa.BaseExtensionType)  # such as intervals
    dictionary = (
        pa.array(pd.array(list(listed))) if of_pandas else pa.array(listed, dtype.value_type)
    )
    indices = pa.array(numbers, dtype.index_type)
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(indices, dictionary, ordered=dtype.ordered)]
    )


def fits_array(codes: Array, dtype: Any) -> bool:
    """Return whether numbers fit into an array of this type."""
    return (
        isinstance(dtype, np.dtype)
        and dtype.kind in NUMERIC
        and _fits(codes, dtype, nullable=False)
    )


def _fits_pandas(codes: Array, dtype: Any) -> bool:
    nullable = isinstance(dtype, pd.api.extensions.ExtensionDtype) and not isinstance(
        dtype, pd.SparseDtype
    )
    numbers = numbers_type(dtype)
    return isinstance(numbers, np.dtype) and _fits(codes, numbers, nullable=nullable)


def _fits(values: Array, dtype: np.dtype[Any], *, nullable: bool) -> bool:
    """Return whether numbers survive the cast: in range,
    and whole for whole numbers and booleans.
    """
    missing = np.isnan(values)
    present = values[~missing]
    if dtype.kind == "f":
        with np.errstate(over="ignore"):  # overflow is what is looked for
            return bool(np.isfinite(present.astype(dtype)).all())
    if dtype.kind not in "biu" or (missing.any() and not nullable):
        return False
    # The largest number plus one is a power of two, which a float holds exactly.
    low, beyond = (
        (0, 2) if dtype.kind == "b" else (np.iinfo(dtype).min, float(np.iinfo(dtype).max + 1))
    )
    return bool(np.all((present == np.rint(present)) & (present >= low) & (present < beyond)))
