"""Tables in, numbers inside, tables of the same kind out."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import check_array

from knockoffs.arrays import Array

NUMERIC = "biuf"  # kinds of numpy types


def read_table(X: Any, *, who: str) -> tuple[Array, list[str] | None]:
    """The numbers of a numeric table as float64, and its column names where it has them.

    Raises an error that names the column for text, dates, missing and infinite cells.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names = list(frame.columns)
        values = _frame_values(frame, who)
    else:
        names = None
        values = _array_values(X, who)
    _require_finite(values, names, who)
    return values, names


def write_like(X: Any, values: Array) -> Any:
    """`values` as a table like `X`: same kind, columns, dtypes and index."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        dtype = getattr(X, "dtype", np.dtype(object))
        return _round_if(dtype.kind in "iub", values).astype(dtype) if dtype.kind in NUMERIC else values
    whole = [dtype.is_integer() or dtype == nw.Boolean for dtype in frame.schema.values()]
    arrays = [_round_if(whole[j], np.ascontiguousarray(values[:, j])) for j in range(len(whole))]
    if frame.implementation.is_pandas():  # by its own types, of which narwhals keeps only the kind
        table = X.copy()
        for j, array in enumerate(arrays):
            column = type(X.iloc[:, j])(array, index=X.index).astype(X.dtypes.iloc[j])
            table.isetitem(j, column)
        return table
    columns = [
        nw.new_series(name, array, backend=frame.implementation).cast(dtype)
        for array, (name, dtype) in zip(arrays, frame.schema.items(), strict=True)
    ]
    return frame.with_columns(*columns).to_native()


def _round_if(whole: bool, values: Array) -> Array:
    return np.rint(values) if whole else values


def _array_values(X: Any, who: str) -> Array:
    values = check_array(
        X,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="X",
        estimator=who,
    )
    if values.dtype.kind in NUMERIC:
        return values.astype(np.float64)
    numbers = np.empty(values.shape)
    for j in range(values.shape[1]):
        try:
            if values.dtype.kind in "mMc":
                raise TypeError
            numbers[:, j] = values[:, j].astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(_not_numbers(who, column_name(None, j), values.dtype)) from None
    return numbers


def _not_numbers(who: str, column: str, dtype: Any) -> str:
    return (
        f"{who}: {column} has type {dtype} and does not hold numbers alone; only numbers and booleans will do. "
        "Encode it as numbers (codes, indicators, days since a date) or drop it."
    )


def _frame_values(frame: nw.DataFrame[Any], who: str) -> Array:
    values = np.empty(frame.shape, dtype=np.float64)
    for j, (name, dtype) in enumerate(frame.schema.items()):
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(_not_numbers(who, f"column {name!r}", dtype))
        values[:, j] = frame.get_column(name).cast(nw.Float64).to_numpy()
    return values


def _require_finite(values: Array, names: list[str] | None, who: str) -> None:
    for what, bad, remedy in (
        ("missing", np.isnan(values), "Impute them or drop the rows or columns that hold them."),
        ("infinite", np.isinf(values), "Replace them by finite numbers or drop the rows that hold them."),
    ):
        count = bad.sum(axis=0)
        if count.any():
            where = listing([f"{column_name(names, j)} ({count[j]})" for j in np.flatnonzero(count)])
            raise ValueError(f"{who}: X contains {what} values (no NaN or infinity allowed) in {where}. {remedy}")


def column_name(names: list[str] | None, j: int | np.integer[Any]) -> str:
    return f"column {j}" if names is None else f"column {names[j]!r}"


def listing(items: list[str], most: int = 5) -> str:
    """At most `most` of the items, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
