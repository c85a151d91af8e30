"""Tables in, numbers inside, tables of the same kind out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_array

from knockoffs.arrays import Array, Indices

NUMERIC = "biuf"  # kinds of numpy types


def read_table(X: Any, *, who: str) -> tuple[Array, list[str] | None]:
    """The numbers of a numeric table as float64, and its column names where it has them.

    Raises an error that names the column for text, dates, missing (or masked) and infinite cells.
    """
    _require_different_names(X, who)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names = list(frame.columns)
        values = _frame_values(frame, who)
    else:
        names = None
        values = _array_values(as_numpy(X), who)
    _require_finite(values, names, who)
    return values, names


def as_numpy(values: Any) -> Any:
    """Tensors and masked arrays as plain arrays, masked cells as missing ones; anything else as it is."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        return (values.float() if values.dtype == torch.bfloat16 else values).numpy()
    if np.ma.is_masked(values):
        kind = np.float64 if values.dtype.kind in NUMERIC else object
        return np.ma.filled(values.astype(kind), np.nan)
    return values


def require_same_order(X: Any, *, who: str, X_tilde: Any = None, y: Any = None, groups: Any = None) -> None:
    """Refuse rows or columns that carry the labels of X in another order, since they are paired by position.

    Labels of another set, such as a new 0, 1, 2, ... beside the names of patients, are ignored: they do not say
    how to pair rows.
    """
    for name, other in (("X_tilde", X_tilde), ("y", y), ("groups", groups)):
        labels, other_labels = _row_labels(X), _row_labels(other)
        if labels is None or other_labels is None or not _is_reordered(labels, other_labels):
            continue
        row = int(np.argmax(labels != other_labels))
        label, other_label = (found[row : row + 1].tolist()[0] for found in (labels, other_labels))
        remedy = (
            f"Pass {name}.loc[X.index] to pair rows by label"
            if labels.is_unique
            else "Bring both into one order (labels that occur twice cannot tell which rows belong together)"
        )
        raise ValueError(
            f"{who}: {name} has the row labels of X in another order: row {row} is {label!r} in X and "
            f"{other_label!r} in {name}. {remedy}, or {name}.to_numpy() if the order is meant."
        )
    names, other_names = _column_names(X), _column_names(X_tilde)
    if names is not None and other_names is not None and _is_reordered(names, other_names):
        raise ValueError(
            f"{who}: X_tilde has the columns of X in another order: {_quoted(other_names)} instead of "
            f"{_quoted(names)}. Pass X_tilde[list(X.columns)], or rename its columns if the order "
            "is meant."
        )


def _row_labels(table: Any) -> pd.Index | None:
    return table.index if isinstance(table, (pd.DataFrame, pd.Series)) else None


def _column_names(table: Any) -> pd.Index | None:
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    return pd.Index(frame.columns, tupleize_cols=False) if isinstance(frame, nw.DataFrame) else None


def _quoted(names: pd.Index) -> str:
    return listing([repr(name) for name in names.tolist()])


def _is_reordered(labels: pd.Index, other: pd.Index) -> bool:
    """Whether both hold the same labels, each as often, in different orders."""
    if len(labels) != len(other) or labels.equals(other):
        return False
    if labels[0] not in other or other[0] not in labels:  # mostly enough, and fast
        return False
    codes = pd.factorize(labels.append(other), use_na_sentinel=False)[0]
    first, second = (np.bincount(half, minlength=len(codes)) for half in np.split(codes, 2))
    return bool((first == second).all())


def write_like(X: Any, values: Array) -> Any:
    """`values` as a table like `X`: same kind, columns, dtypes and index."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        dtype = getattr(X, "dtype", None)
        numeric = isinstance(dtype, np.dtype) and dtype.kind in NUMERIC  # tensors have types of their own
        return values.astype(dtype) if numeric and _fits(values, dtype) else values
    arrays = [np.ascontiguousarray(column) for column in values.T]
    if frame.implementation.is_pandas():  # by its own types, of which narwhals keeps only the kind
        table = X.copy()
        for j, (array, kind) in enumerate(zip(arrays, X.dtypes, strict=True)):
            column = type(X.iloc[:, j])(array, index=X.index)
            table.isetitem(j, column.astype(kind) if _fits(array, getattr(kind, "numpy_dtype", kind)) else column)
        return table
    columns = []
    for array, (name, kind) in zip(arrays, frame.schema.items(), strict=True):
        column = nw.new_series(name, array, backend=frame.implementation)
        columns.append(column.cast(kind) if _fits(array, frame.get_column(name).to_numpy().dtype) else column)
    return frame.with_columns(*columns).to_native()


def _fits(values: Array, dtype: Any) -> bool:
    """Whether the numbers survive the cast: in range, and whole for whole numbers and booleans."""
    kind = getattr(dtype, "kind", "f")
    if kind == "f" and isinstance(dtype, np.dtype):
        with np.errstate(over="ignore"):  # overflow is what is looked for
            return bool(np.isfinite(values.astype(dtype)).all())
    if kind not in "biu" or len(values) == 0:
        return True
    low, high = (0, 1) if kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return bool(np.all(values == np.rint(values)) and values.min() >= low and values.max() <= high)


def _require_different_names(X: Any, who: str) -> None:
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):  # only pandas takes a name twice
        return
    twice = sorted(repr(name) for name, count in Counter(X.columns).items() if count > 1)
    if twice:
        raise ValueError(f"{who}: X has several columns named {listing(twice)}. Give each its own name.")


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
                raise ValueError("not a real number")
            column = values[:, j]
            if values.dtype.kind == "O":
                column = np.where(pd.isna(column), np.nan, column)  # pandas.NA is no number
            numbers[:, j] = column.astype(np.float64)
        except (TypeError, ValueError) as error:
            message = f"{_not_numbers(who, column_name(None, j), values.dtype)} ({error})"
            raise (TypeError if isinstance(error, TypeError) else ValueError)(message) from None
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


def group_labels(groups: Any, *, rows: int, who: str) -> Indices:
    """The group of each row as a number from 0 on."""
    labels = np.asarray(as_numpy(groups))
    if labels.shape != (rows,):
        entries = f"{len(labels)} entries" if labels.ndim == 1 else f"shape {labels.shape}"
        raise ValueError(f"{who}: groups has {entries}; pass one for each of the {rows} rows.")
    missing = np.asarray(pd.isna(labels))
    if missing.any():
        raise ValueError(
            f"{who}: labels are missing in groups ({missing.sum()}). Fill them in or drop those rows."
        )
    return np.asarray(pd.factorize(labels)[0])  # by first appearance, so that the names of groups do not matter
