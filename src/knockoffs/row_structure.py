"""Which rows of a table are independent of each other: groups that the user names, and rows that repeat others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from knockoffs.arrays import Array, Flags, Indices
from knockoffs.cautions import caution
from knockoffs.tables import group_labels

CONTINUOUS = 0.9  # share of different values among different rows from which on a column counts as continuous


class RowStructure(NamedTuple):
    """How the rows of a table depend on each other.

    Rows that repeat another row exactly must share its knockoff: drawn row by row, their knockoffs would differ
    where the rows do not. So knockoffs are drawn for distinct rows alone.

    distinct : a row number for each distinct row; None where no row repeats another.
    place : for each row the position of its like among the distinct ones; None where no row repeats another.
    groups : the group of each distinct row; None where distinct rows are independent of each other.
    """

    distinct: Indices | None
    place: Indices | None
    groups: Indices | None

    def distinct_rows(self, table: Any) -> Any:
        """The rows of a table (or array) for which knockoffs are drawn."""
        return table if self.distinct is None else _safe_indexing(table, self.distinct)

    def all_rows(self, table: Any) -> Any:
        """A table of distinct rows with the repeated rows back in their places."""
        return table if self.place is None else _safe_indexing(table, self.place)

    @property
    def kept_together(self) -> Indices | None:
        """A label for each row; rows with the same label must stay on one side of a split."""
        if self.groups is not None:
            return self.groups if self.place is None else self.groups[self.place]
        return self.place

    @property
    def group_count(self) -> int | None:
        return None if self.groups is None else int(self.groups.max()) + 1


def row_structure(values: Array, groups: Any, *, who: str) -> RowStructure:
    """Find out which rows belong together, and warn of rows that repeat others."""
    labels = None if groups is None else group_labels(groups, rows=len(values), who=who)
    if labels is not None and labels.max(initial=-1) + 1 == len(labels):
        labels = None  # every row is a group of its own
    distinct, place = _distinct_rows(values, labels)
    if len(distinct) == len(values) or not _has_continuous_column(values):
        return RowStructure(None, None, labels)
    caution(
        f"{len(values) - len(distinct)} of {len(values)} rows repeat another row exactly, also in columns that "
        f"have a different value in nearly every other row. They count as one observation of X: there are "
        f"{len(distinct)} distinct rows, repeated rows share a knockoff and stay on one side of every split. If "
        "they were copied by mistake, drop them."
    )
    return RowStructure(distinct, place, None if labels is None else _still_grouped(labels[distinct]))


def _distinct_rows(values: Array, labels: Indices | None) -> tuple[Indices, Indices]:
    """Row numbers of the first of each kind of row, in the order of the table, and each row's place among them."""
    table = np.ascontiguousarray(values + 0.0 if labels is None else np.column_stack([labels, values + 0.0]))
    rows = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1])))[:, 0]
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[place]


def _has_continuous_column(values: Array) -> bool:
    """Whether different rows hardly ever share a value of some column, so that equal rows cannot be chance."""
    distinct = values[_distinct_rows(values, None)[0]]
    flags: Flags = np.array([len(np.unique(column)) >= CONTINUOUS * len(distinct) for column in distinct.T])
    return bool(flags.any())


def _still_grouped(labels: Indices) -> Indices | None:
    """Labels of the distinct rows, or None where each is a group of its own by now."""
    renumbered = np.unique(labels, return_inverse=True)[1]
    return renumbered if renumbered.max() + 1 < len(labels) else None
