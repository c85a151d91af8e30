"""Labels of rows and names of columns: whether two tables that are paired by position are in one order."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from knockoffs.runtime.arrays import Indices
from knockoffs.runtime.cautions import caution
from knockoffs.schema.words import listing

NEARLY_ALL = 0.9  # share of the labels that two tables have in common, from which on they are about the same rows


def require_same_order(X: Any, *, who: str, X_tilde: Any = None, y: Any = None, groups: Any = None) -> None:
    """Refuse rows or columns that carry the labels of X in another order, since they are paired by position.

    Nearly the same labels in other rows, as after a shift, are warned of. Labels of another set, such as a new
    0, 1, 2, ... beside the names of patients, are ignored: they do not say how to pair rows.
    """
    for name, other in (("X_tilde", X_tilde), ("y", y), ("groups", groups)):
        labels, other_labels = _row_labels(X), _row_labels(other)
        if labels is None or other_labels is None:
            continue
        if not _is_reordered(labels, other_labels):
            _warn_if_displaced(name, labels, other_labels)
            continue
        row = int(np.argmax(labels != other_labels))
        remedy = (
            f"Pass {name}.loc[X.index] to pair rows by label"
            if labels.is_unique
            else "Bring both into one order (labels that occur twice cannot tell which rows belong together)"
        )
        raise ValueError(
            f"{who}: {name} has the row labels of X in another order: row {row} is {_label(labels, row)} in X "
            f"and {_label(other_labels, row)} in {name}. {remedy}, or {name}.to_numpy() if the order is meant."
        )
    names, other_names = _column_names(X), _column_names(X_tilde)
    if names is not None and other_names is not None and _is_reordered(names, other_names):
        raise ValueError(
            f"{who}: X_tilde has the columns of X in another order: {_quoted(other_names)} instead of "
            f"{_quoted(names)}. Pass X_tilde[list(X.columns)], or rename its columns if the order "
            "is meant."
        )


def _warn_if_displaced(name: str, labels: pd.Index, other: pd.Index) -> None:
    """Warn of nearly the same labels in other rows."""
    common, moves = _common_labels(labels, other)
    new = any(own.equals(pd.RangeIndex(len(own))) for own in (labels, other))  # 0, 1, ..., of rows without labels
    if len(common) < NEARLY_ALL * len(labels) or not moves.any() or (new and np.ptp(moves) > 0):
        return
    row = int(common[np.argmax(moves != 0)])
    caution(
        f"{name} has {len(common)} of the {len(labels)} row labels of X, in other rows: row {row} is "
        f"{_label(labels, row)} in X and {_label(other, row)} in {name}. Rows are paired by position, so {name} "
        f"may be shifted against X. To pair rows by label, pass X.loc[both] and {name}.loc[both], where both = "
        f"X.index.intersection({name}.index). If the order is meant, pass {name}.to_numpy()."
    )


def _common_labels(labels: pd.Index, other: pd.Index) -> tuple[Indices, Indices]:
    """The rows whose labels occur in the other table too, and how many rows further on they are there."""
    if len(labels) != len(other) or not (labels.is_unique and other.is_unique) or labels.equals(other):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    place = other.astype(object).get_indexer(labels.astype(object))  # overlapping intervals have no such place
    common = np.flatnonzero(place >= 0)
    return common, place[common] - common


def _label(labels: pd.Index, row: int) -> str:
    return repr(labels[row : row + 1].tolist()[0])


def _row_labels(table: Any) -> pd.Index | None:
    return table.index if isinstance(table, (pd.DataFrame, pd.Series)) else None


def _column_names(table: Any) -> pd.Index | None:
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    return pd.Index(frame.columns, tupleize_cols=False) if isinstance(frame, nw.DataFrame) else None


def _quoted(names: pd.Index) -> str:
    return listing([repr(name) for name in names.tolist()])


def _is_reordered(labels: pd.Index, other: pd.Index) -> bool:
    """Return whether both hold the same labels, each as often, in different orders."""
    if len(labels) != len(other) or labels.equals(other):
        return False
    if labels[0] not in other or other[0] not in labels:  # mostly enough, and fast
        return False
    codes = pd.factorize(labels.append(other), use_na_sentinel=False)[0]
    first, second = (np.bincount(half, minlength=len(codes)) for half in np.split(codes, 2))
    return bool((first == second).all())
