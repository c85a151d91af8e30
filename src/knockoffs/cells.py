"""The cells of a column as numbers, and numbers as cells of a column like it.

A quantity is read as it is, a boolean as 0 or 1, a level of a text or category column as its number, and a missing
cell as nan.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from knockoffs.arrays import Array

NUMERIC = "biuf"  # kinds of numpy types
Levels = tuple[Any, ...]

NUMBERS = frozenset({"floating", "integer", "mixed-integer-float", "decimal", "empty"})
AS_TEXT = "Convert it by .astype(str) if it is a category"


class Cells(NamedTuple):
    """A column as numbers; with `levels`, the number of a cell's level. `ordered` levels have a natural order."""

    codes: Array
    levels: Levels | None = None
    ordered: bool = False


class UnreadableColumnError(ValueError):
    """A column that holds neither numbers nor categories; the message says what it holds, and the remedy."""


def pandas_cells(series: pd.Series[Any]) -> Cells:
    """Read a column of a pandas table."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy().astype(np.float64)
        return Cells(np.where(codes < 0, np.nan, codes), tuple(dtype.categories.tolist()), bool(dtype.ordered))
    if pd.api.types.is_bool_dtype(dtype) or (
        pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)
    ):
        return Cells(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        return object_cells(series.to_numpy(dtype=object))
    raise UnreadableColumnError(_says_type(dtype))


def frame_cells(series: nw.Series[Any]) -> Cells:
    """Read a column of a table that narwhals knows, such as one of polars."""
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Cells(series.cast(nw.Float64).to_numpy().astype(np.float64))
    if dtype in (nw.Categorical, nw.Enum):
        levels = tuple(series.cat.get_categories().to_list())
        return Cells(_numbers_of(series.to_list(), levels), levels)
    if dtype == nw.String or dtype == nw.Object:
        return object_cells(np.array(series.to_list(), dtype=object))
    raise UnreadableColumnError(_says_type(dtype))


def array_cells(column: NDArray[Any]) -> Cells:
    """Read a column of an array."""
    if column.dtype.kind in NUMERIC:
        return Cells(column.astype(np.float64))
    if column.dtype.kind == "U":
        try:
            return Cells(column.astype(np.float64))
        except ValueError:
            return object_cells(column.astype(object))
    if column.dtype.kind == "O":
        return object_cells(column)
    raise UnreadableColumnError(_says_type(column.dtype))


def object_cells(column: NDArray[np.object_]) -> Cells:
    """Read Python objects: all numbers, or all text."""
    missing = np.asarray(pd.isna(column))
    present = column[~missing]
    found = pd.api.types.infer_dtype(present, skipna=False)
    if found in NUMBERS:
        codes = np.full(len(column), np.nan)
        codes[~missing] = present.astype(np.float64)
        return Cells(codes)
    if found in ("string", "boolean"):
        levels = (False, True) if found == "boolean" else tuple(sorted(set(present)))
        return Cells(_numbers_of(np.where(missing, None, column), levels), levels)
    if found.startswith("mixed"):
        if not any(isinstance(cell, str) for cell in present):
            present.astype(np.float64)  # raises numpy's own error for what is no number
        kinds = sorted({type(cell).__name__ for cell in present})
        raise UnreadableColumnError(f"holds cells of several types ({', '.join(kinds)}). {AS_TEXT}, or correct it")
    raise UnreadableColumnError(_says_type(found))


def _numbers_of(cells: Iterable[Any], levels: Levels) -> Array:
    number = {level: float(code) for code, level in enumerate(levels)}
    return np.array([number.get(cell, np.nan) for cell in cells], dtype=np.float64)


def _says_type(dtype: Any) -> str:
    return (
        f"has type {dtype}; only numbers, booleans, text and categories will do. Encode it as numbers (such as "
        "days since a date) or drop it"
    )


def labels_of(codes: Array, levels: Levels) -> NDArray[np.object_]:
    """The levels with these numbers, None for missing cells."""
    labels = np.array([*levels, None], dtype=object)
    return labels[np.where(np.isnan(codes), len(levels), codes).astype(np.intp)]


def pandas_column(like: pd.Series[Any], codes: Array, levels: Levels | None) -> pd.Series[Any]:
    """Return a column of the type of `like`; of a wider type where the numbers do not fit into that."""
    dtype = like.dtype
    if levels is None:
        column = type(like)(codes, index=like.index)
        fits = _fits(codes, getattr(dtype, "numpy_dtype", dtype), nullable=_is_nullable(dtype))
        return column.astype(dtype) if fits and not pd.api.types.is_object_dtype(dtype) else column
    labels = labels_of(codes, levels)
    if isinstance(dtype, pd.CategoricalDtype):
        kept = dtype if set(levels) <= set(dtype.categories) else pd.CategoricalDtype(list(levels), dtype.ordered)
        return type(like)(pd.Categorical(labels, dtype=kept), index=like.index)
    if pd.api.types.is_object_dtype(dtype):  # a missing cell as the table writes it
        gaps = like.to_numpy(dtype=object)[np.asarray(pd.isna(like))]
        labels[np.isnan(codes)] = gaps[0] if len(gaps) else None
        return type(like)(labels, index=like.index, dtype=object)
    return type(like)(labels, index=like.index, dtype=dtype)


def frame_column(like: nw.Series[Any], codes: Array, levels: Levels | None) -> nw.Series[Any]:
    """Return a column of the type of `like` for tables that narwhals knows."""
    name, backend = like.name, like.implementation
    if levels is not None:
        return nw.new_series(name, labels_of(codes, levels).tolist(), like.dtype, backend=backend)
    values: Any = codes
    if np.isnan(codes).any() and (like.null_count() or not like.dtype.is_float()):
        values = [None if np.isnan(code) else code for code in codes.tolist()]
    column = nw.new_series(name, values, nw.Float64, backend=backend)
    numpy_type = _numpy_type(like.dtype)
    if not _fits(codes, numpy_type, nullable=True):
        return column
    if like.dtype == nw.Boolean:
        return column.cast(nw.Int64).cast(nw.Boolean)
    return column.cast(like.dtype)


def _numpy_type(dtype: Any) -> np.dtype[Any]:
    if dtype == nw.Boolean:
        return np.dtype(bool)
    try:
        return np.dtype(str(dtype).lower())
    except TypeError:
        return np.dtype(np.float64)


def array_column(dtype: Any, codes: Array) -> bool:
    """Whether numbers fit into an array of this type."""
    return isinstance(dtype, np.dtype) and dtype.kind in NUMERIC and _fits(codes, dtype, nullable=False)


def _is_nullable(dtype: Any) -> bool:
    return isinstance(dtype, pd.api.extensions.ExtensionDtype)


def _fits(values: Array, dtype: Any, *, nullable: bool) -> bool:
    """Whether numbers survive the cast: in range, and whole for whole numbers and booleans."""
    kind = getattr(dtype, "kind", "f")
    missing = np.isnan(values)
    if kind == "f" and isinstance(dtype, np.dtype):
        with np.errstate(over="ignore"):  # overflow is what is looked for
            return bool(np.isfinite(values[~missing].astype(dtype)).all())
    if kind not in "biu" or len(values) == 0:
        return True
    if missing.any() and not nullable:
        return False
    values = values[~missing]
    if len(values) == 0:
        return True
    low, high = (0, 1) if kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return bool(np.all(values == np.rint(values)) and values.min() >= low and values.max() <= high)
