"""Which rows of a table are independent of each other,
and whether paired tables have them in one order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import poisson
from sklearn.utils import _safe_indexing

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.fingerprints import one_pattern
from knockoffs.schema.words import counted, listing
from knockoffs.table.table import Table, group_labels

QUARTER = 4
TOLD_APART = 0.9  # share of the different rows that a quarter of the columns must distinguish
# up to so many times the expected repeats are chance: values are not spread evenly over a grid
SAFETY = 4
RARE = 1e-3  # probability of so many repeats
# times the median of how often rows occur; beyond it a row is a frequent state, such as all zero
USUAL = 5
ROUNDING = 1e-9  # of a column's range: smaller differences are no steps of a grid
NARROW = 8  # columns
FEW = 10  # values of a column that hardly says where on a grid a row lies
# share of the labels that two tables have in common, from which on they are about the same rows
NEARLY_ALL = 0.9


class RowStructure(NamedTuple):
    """How the rows of a table depend on each other.

    Rows that repeat another row exactly must share its knockoff: drawn row by row, their knockoffs
    would differ where the rows do not. So knockoffs are drawn for distinct rows alone. Independent
    rows of discrete columns are equal by chance: how often they are is part of their distribution,
    and all of them count.

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

    `values` are the codes of a table; rows that miss the same cells and agree in all others are
    equal.
    """
    labels = None if groups is None else group_labels(groups, rows=len(values), who=who)
    if labels is not None and labels.max(initial=-1) + 1 == len(labels):
        labels = None  # every row is a group of its own
    distinct, place = _distinct_rows(values)
    repeated = len(values) - len(distinct)
    if repeated and len(distinct) == 1:
        raise ValueError(
            f"{who}: every column of X is constant (all {len(values)} rows are equal), so that no "
            f"feature can be "
            "selected. Pass columns that vary."
        )
    if repeated == 0 or not are_more_than_chance(values[distinct], np.bincount(place)):
        return RowStructure(None, None, labels)
    caution(
        f"{repeated} of {len(values)} rows {'repeats' if repeated == 1 else 'repeat'} another row "
        f"exactly: "
        "more than chance explains. They count as one observation of X: there are "
        f"{counted(len(distinct), 'distinct row')}; repeated rows share a knockoff and stay on "
        f"one side of every "
        "split. If they were copied by mistake, drop them."
    )
    if labels is None:
        return RowStructure(distinct, place, None)
    joined = _joined(labels, place)
    if joined.max() < labels.max():
        caution(
            "Some groups hold the same rows as others, so these groups are not independent of "
            "each other. They "
            f"are joined: of {labels.max() + 1} groups {joined.max() + 1} are left."
        )
    kept = np.unique(joined[distinct], return_inverse=True)[1]
    return RowStructure(distinct, place, kept if kept.max() + 1 < len(kept) else None)


def _rows(table: Any, index: Indices) -> Any:
    return table.rows(index) if isinstance(table, Table) else _safe_indexing(table, index)


def _distinct_rows(values: Array) -> tuple[Indices, Indices]:
    """Row numbers of the first of each kind of row, in the order of the table,
    and each row's place among them.
    """
    table = np.ascontiguousarray(one_pattern(values))
    rows = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1])))[:, 0]
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[place]


def _joined(labels: Indices, place: Indices) -> Indices:
    """Groups with those joined that share a row:
    connected components of the graph of groups and rows.
    """
    groups, rows = labels.max() + 1, place.max() + 1
    edges = coo_array(
        (np.ones(len(labels)), (labels, groups + place)), shape=(groups + rows, groups + rows)
    )
    component = connected_components(edges, directed=False)[1][:groups]
    return np.unique(component[labels], return_inverse=True)[1]


def are_more_than_chance(distinct: Array, counts: Indices) -> bool:
    """Return whether more rows are repeated than chance explains,
    so that repeats are copies of others.

    Rows of discrete columns that are equal by chance are not alone: where independent rows can
    agree in all columns, others all but agree. Copies agree in everything, while hardly any two
    different rows come close. So the different rows alone tell how many repeats to expect by
    chance, however columns depend on each other.

    Parameters
    ----------
    distinct : array of shape (rows, columns)
        The different rows of a table, as numbers.
    counts : array of int of shape (rows,)
        How often each occurs.
    """
    repeated = int(np.sum((counts > 1) & (counts <= USUAL * np.median(counts))))
    # a missing cell is a value
    ranked = [np.unique(column, return_inverse=True) for column in distinct.T]
    codes = np.stack([place for _, place in ranked], axis=1)
    if repeated == 0 or not (codes.max() >= FEW or _a_quarter_suffices(codes)):
        return False
    follows = [_follows(values) for values, _ in ranked]
    return not (
        _explained(repeated, codes, follows, SAFETY)
        or _explained_without_one(repeated, codes, follows)
    )


def _explained(repeated: int, codes: Indices, follows: list[Flags], safety: float) -> bool:
    """Return whether so many repeats are no more than chance explains."""
    parts = _expected_repeats(codes, follows)
    return any(
        poisson.sf(repeated - 1, safety * expected) >= RARE for expected in accumulate(parts)
    )


def _explained_without_one(repeated: int, codes: Indices, follows: list[Flags]) -> bool:
    """Return whether chance explains the repeats once a column is left out that others decide.

    The body mass index follows from height and weight, so that no rows agree in two of the three
    alone.
    """
    for j in range(codes.shape[1] if 1 < codes.shape[1] <= NARROW else 0):
        rest = np.delete(codes, j, axis=1)
        decided = len(np.unique(_marks(rest).sum(1))) == len(rest)
        if decided and _explained(repeated, rest, follows[:j] + follows[j + 1 :], SAFETY / 2):
            return True
    return False


def _a_quarter_suffices(codes: Indices) -> bool:
    """Return whether a quarter of the columns distinguishes the rows.

    Otherwise columns of few values may decide each other, as indicators of one category do, so that
    no rows are close and yet equal by chance.
    """
    richest = np.argsort(-codes.max(0), kind="stable")[: codes.shape[1] // QUARTER]
    return len(np.unique(_marks(codes)[:, richest].sum(1))) >= TOLD_APART * len(codes)


def _expected_repeats(codes: Indices, follows: list[Flags]) -> Iterator[float]:
    """How many rows would be repeated by chance, judged by rows that differ a little,
    cheap parts first.
    """
    yield _by_chance_alone(codes)
    yield _neighbours(codes, follows) / 2
    marks = _marks(codes)
    rows = marks.sum(1)
    for column, own, after in zip(codes.T, marks.T, follows, strict=True):
        yield _by_one_column(column, rows - own, after)


def _follows(values: Array) -> Flags:
    """Which values of a column, in increasing order,
    come next after the one before them on the column's grid.
    """
    steps = np.diff(values)
    real = steps[steps > ROUNDING * np.nansum(steps)]
    return np.append(False, steps < 1.5 * real.min(initial=np.inf))


def _marks(codes: Indices) -> Indices:
    """Large random numbers that stand for the cells:
    sums over columns are equal for rows that agree in these.
    """
    rng = np.random.default_rng(0)
    marks = [
        rng.integers(2**63, size=column.max() + 1, dtype=np.uint64)[column] for column in codes.T
    ]
    return np.stack(marks, axis=1)


def _by_one_column(column: Indices, others: Indices, follows: Flags) -> float:
    """Expected repeats by pairs of rows that agree in all columns but this one.

    Such rows would agree in it as often as any two do; half as often as they are neighbours on its
    grid, at least. Values that occur in one row only say nothing of chance.
    """
    if not np.any(np.diff(np.sort(others)) == 0):  # in most tables with copies
        return 0.0
    _, group, sizes = np.unique(others, return_inverse=True, return_counts=True)
    some = np.flatnonzero(sizes[group] > 1)
    order = some[np.lexsort((column[some], group[some]))]
    one_step = (np.diff(group[order]) == 0) & (np.diff(column[order]) == 1)
    neighbours = np.count_nonzero(one_step & follows[column[order][1:]])
    frequency = np.bincount(column)
    recurs = frequency[column] > 1
    agree = _pairs(frequency)
    differ = max(_pairs(recurs.sum()) - agree, 1.0)
    return max(_pairs(np.bincount(group[recurs])) * agree / differ, neighbours / 2)


def _by_chance_alone(codes: Indices) -> float:
    """Expected repeats where columns are independent:
    at most one per combination of frequent values.

    Rows with the lowest value in several columns, or with zero, may have no others close to them.
    """
    frequencies = [np.bincount(column) for column in codes.T]
    combinations = math.prod(float(np.sum(own > 1)) for own in frequencies)
    pairs = _pairs(np.array([len(codes)]))
    return min(
        combinations, pairs * math.prod(_pairs(own) / max(pairs, 1.0) for own in frequencies)
    )


def _pairs(sizes: Indices | np.intp) -> float:
    return float(np.sum(sizes * (sizes - 1.0)) / 2)


def _neighbours(codes: Indices, follows: list[Flags]) -> int:
    """How many pairs of rows are neighbours in all columns, and on the grid of one.

    Where one column decides all others, as an age decides an age group, no two rows agree in all
    columns but one.
    """
    values = codes.max(0) + 1
    # by the column with the most values
    rows = codes[np.lexsort(codes.T[np.argsort(values, kind="stable")])]
    steps = np.abs(np.diff(rows, axis=0))
    after = [
        own[place] for own, place in zip(follows, np.maximum(rows[1:], rows[:-1]).T, strict=True)
    ]
    on_grid = (steps == 1) & np.stack(after, axis=1) & (values > FEW)
    near = (steps <= 1) & ((steps == 0) | (values > FEW))
    return int((near.all(1) & on_grid.any(1)).sum())


def require_same_order(
    X: Any, *, who: str, X_tilde: Any = None, y: Any = None, groups: Any = None
) -> None:
    """Refuse rows or columns that carry the labels of X in another order,
    since they are paired by position.

    Nearly the same labels in other rows, as after a shift, are warned of. Labels of another set,
    such as a new 0, 1, 2, ... beside the names of patients, are ignored: they do not say how to
    pair rows.
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
            else "Bring both into one order (labels that occur twice cannot tell which rows "
            "belong together)"
        )
        raise ValueError(
            f"{who}: {name} has the row labels of X in another order: row {row} is "
            f"{_label(labels, row)} in X "
            f"and {_label(other_labels, row)} in {name}. {remedy}, or {name}.to_numpy() if the "
            f"order is meant."
        )
    names, other_names = _column_names(X), _column_names(X_tilde)
    if names is not None and other_names is not None and _is_reordered(names, other_names):
        raise ValueError(
            f"{who}: X_tilde has the columns of X in another order: {_quoted(other_names)} "
            f"instead of "
            f"{_quoted(names)}. Pass X_tilde[list(X.columns)], or rename its columns if the order "
            "is meant."
        )


def _warn_if_displaced(name: str, labels: pd.Index, other: pd.Index) -> None:
    """Warn of nearly the same labels in other rows."""
    common, moves = _common_labels(labels, other)
    # 0, 1, ..., of rows without labels
    new = any(own.equals(pd.RangeIndex(len(own))) for own in (labels, other))
    if len(common) < NEARLY_ALL * len(labels) or not moves.any() or (new and np.ptp(moves) > 0):
        return
    row = int(common[np.argmax(moves != 0)])
    caution(
        f"{name} has {len(common)} of the {len(labels)} row labels of X, in other rows: row {row} "
        f"is "
        f"{_label(labels, row)} in X and {_label(other, row)} in {name}. Rows are paired by "
        f"position, so {name} "
        f"may be shifted against X. To pair rows by label, pass X.loc[both] and {name}.loc[both], "
        f"where both = "
        f"X.index.intersection({name}.index). If the order is meant, pass {name}.to_numpy()."
    )


def _common_labels(labels: pd.Index, other: pd.Index) -> tuple[Indices, Indices]:
    """The rows whose labels occur in the other table too,
    and how many rows further on they are there.
    """
    if (
        len(labels) != len(other)
        or not (labels.is_unique and other.is_unique)
        or labels.equals(other)
    ):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    # overlapping intervals have no such place
    place = other.astype(object).get_indexer(labels.astype(object))
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
