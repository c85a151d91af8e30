"""Tables in, numbers inside, tables of the same kind out."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import check_array

from knockoffs.arrays import Array


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
        values = check_array(
            X,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name="X",
            estimator=who,
        )
    _require_finite(values, names, who)
    return values, names


def write_like(X: Any, values: Array) -> Any:
    """`values` as a table like `X`: same kind, columns, dtypes and index."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        dtype = getattr(X, "dtype", np.dtype(np.float64))
        return values.astype(dtype if np.issubdtype(dtype, np.number) or dtype.kind == "b" else np.float64)
    columns = [
        nw.new_series(name, np.ascontiguousarray(values[:, j]), backend=frame.implementation).cast(dtype)
        for j, (name, dtype) in enumerate(frame.schema.items())
    ]
    return frame.with_columns(*columns).to_native()


def _frame_values(frame: nw.DataFrame[Any], who: str) -> Array:
    values = np.empty(frame.shape, dtype=np.float64)
    for j, (name, dtype) in enumerate(frame.schema.items()):
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(
                f"{who}: column {name!r} has type {dtype}, but only numbers and booleans can be used. "
                "Encode it as numbers (codes, indicators, days since a date) or drop it."
            )
        values[:, j] = frame[name].cast(nw.Float64).to_numpy()
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
