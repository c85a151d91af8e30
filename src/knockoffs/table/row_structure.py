"""Which rows of a table are independent of each other: groups that the user names, and rows that repeat others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import _safe_indexing

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.fingerprints import one_pattern
from knockoffs.schema.words import counted
from knockoffs.table.repeats import are_more_than_chance
from knockoffs.table.table import Table, group_labels


class RowStructure(NamedTuple):
    """How the rows of a table depend on each other.

    Rows that repeat another row exactly must share its knockoff: drawn row by row, their knockoffs would differ
    where the rows do not. So knockoffs are drawn for distinct rows alone. Independent rows of discrete columns are
    equal by chance: how often they are is part of their distribution, and all of them count.

    Attributes
    ----------
    distinct : array of int or None
        A row number for each distinct row; None where rows repeat others by chance at most.
    place : array of int of shape (rows,) or None
        For each row the position of its like among the distinct ones; None as above.
    groups : array of int or None
        The group of each distinct row; None where distinct rows are independent of each other.
    """

    distinct: Indices | None
    place: Indices | None
    groups: Indices | None

    def distinct_rows(self, table: Any) -> Any:
        """The rows of a table (or array) for which knockoffs are drawn."""
        return table if self.distinct is None else _rows(table, self.distinct)

    def all_rows(self, table: Any) -> Any:
        """A table of distinct rows with the repeated rows back in their places."""
        return table if self.place is None else _rows(table, self.place)

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
    """Find out which rows belong together, and warn of rows that repeat others.

    `values` are the codes of a table; rows that miss the same cells and agree in all others are equal.
    """
    labels = None if groups is None else group_labels(groups, rows=len(values), who=who)
    if labels is not None and labels.max(initial=-1) + 1 == len(labels):
        labels = None  # every row is a group of its own
    distinct, place = _distinct_rows(values)
    repeated = len(values) - len(distinct)
    if repeated and len(distinct) == 1:
        raise ValueError(
            f"{who}: every column of X is constant (all {len(values)} rows are equal), so that no feature can be "
            "selected. Pass columns that vary."
        )
    if repeated == 0 or not are_more_than_chance(values[distinct], np.bincount(place)):
        return RowStructure(None, None, labels)
    caution(
        f"{repeated} of {len(values)} rows {'repeats' if repeated == 1 else 'repeat'} another row exactly: "
        "more than chance explains. They count as one observation of X: there are "
        f"{counted(len(distinct), 'distinct row')}; repeated rows share a knockoff and stay on one side of every "
        "split. If they were copied by mistake, drop them."
    )
    if labels is None:
        return RowStructure(distinct, place, None)
    joined = _joined(labels, place)
    if joined.max() < labels.max():
        caution(
            "Some groups hold the same rows as others, so these groups are not independent of each other. They "
            f"are joined: of {labels.max() + 1} groups {joined.max() + 1} are left."
        )
    return RowStructure(distinct, place, _still_grouped(joined[distinct]))


def _rows(table: Any, index: Indices) -> Any:
    return table.rows(index) if isinstance(table, Table) else _safe_indexing(table, index)


def _distinct_rows(values: Array) -> tuple[Indices, Indices]:
    """Row numbers of the first of each kind of row, in the order of the table, and each row's place among them."""
    table = np.ascontiguousarray(one_pattern(values))
    rows = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1])))[:, 0]
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[place]


def _joined(labels: Indices, place: Indices) -> Indices:
    """Groups with those joined that share a row: connected components of the graph of groups and rows."""
    groups, rows = labels.max() + 1, place.max() + 1
    edges = coo_array((np.ones(len(labels)), (labels, groups + place)), shape=(groups + rows, groups + rows))
    component = connected_components(edges, directed=False)[1][:groups]
    return np.unique(component[labels], return_inverse=True)[1]


def _still_grouped(labels: Indices) -> Indices | None:
    """Labels of the distinct rows, or None where each is a group of its own by now."""
    renumbered = np.unique(labels, return_inverse=True)[1]
    return renumbered if renumbered.max() + 1 < len(labels) else None
