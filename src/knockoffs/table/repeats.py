"""Whether rows that repeat others exactly are copies, or equal by chance as rows of discrete columns are.

Rows that are equal by chance are not alone: where independent rows can agree in all columns, others all but agree.
Copies agree in everything, while hardly any two different rows come close. So the different rows alone tell how
many repeats to expect by chance, however columns depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate

import numpy as np
from scipy.stats import poisson

from knockoffs.runtime.arrays import Array, Flags, Indices

QUARTER = 4
TOLD_APART = 0.9  # share of the different rows that a quarter of the columns must distinguish
SAFETY = 4  # up to so many times the expected repeats are chance: values are not spread evenly over a grid
RARE = 1e-3  # probability of so many repeats
USUAL = 5  # times the median of how often rows occur; beyond it a row is a frequent state, such as all zero
ROUNDING = 1e-9  # of a column's range: smaller differences are no steps of a grid
NARROW = 8  # columns
FEW = 10  # values of a column that hardly says where on a grid a row lies


def are_more_than_chance(distinct: Array, counts: Indices) -> bool:
    """Return whether more rows are repeated than chance explains.

    Parameters
    ----------
    distinct : array of shape (rows, columns)
        The different rows of a table, as numbers.
    counts : array of int of shape (rows,)
        How often each occurs.
    """
    repeated = int(np.sum((counts > 1) & (counts <= USUAL * np.median(counts))))
    ranked = [np.unique(column, return_inverse=True) for column in distinct.T]  # a missing cell is a value
    codes = np.stack([place for _, place in ranked], axis=1)
    if repeated == 0 or not (codes.max() >= FEW or _a_quarter_suffices(codes)):
        return False
    follows = [_follows(values) for values, _ in ranked]
    return not (_explained(repeated, codes, follows, SAFETY) or _explained_without_one(repeated, codes, follows))


def _explained(repeated: int, codes: Indices, follows: list[Flags], safety: float) -> bool:
    """Return whether so many repeats are no more than chance explains."""
    parts = _expected_repeats(codes, follows)
    return any(poisson.sf(repeated - 1, safety * expected) >= RARE for expected in accumulate(parts))


def _explained_without_one(repeated: int, codes: Indices, follows: list[Flags]) -> bool:
    """Return whether chance explains the repeats once a column is left out that others decide.

    The body mass index follows from height and weight, so that no rows agree in two of the three alone.
    """
    for j in range(codes.shape[1] if 1 < codes.shape[1] <= NARROW else 0):
        rest = np.delete(codes, j, axis=1)
        decided = len(np.unique(_marks(rest).sum(1))) == len(rest)
        if decided and _explained(repeated, rest, follows[:j] + follows[j + 1 :], SAFETY / 2):
            return True
    return False


def _a_quarter_suffices(codes: Indices) -> bool:
    """Return whether a quarter of the columns distinguishes the rows.

    Otherwise columns of few values may decide each other, as indicators of one category do, so that no rows are
    close and yet equal by chance.
    """
    richest = np.argsort(-codes.max(0), kind="stable")[: codes.shape[1] // QUARTER]
    return len(np.unique(_marks(codes)[:, richest].sum(1))) >= TOLD_APART * len(codes)


def _expected_repeats(codes: Indices, follows: list[Flags]) -> Iterator[float]:
    """How many rows would be repeated by chance, judged by rows that differ a little, cheap parts first."""
    yield _by_chance_alone(codes)
    yield _neighbours(codes, follows) / 2
    marks = _marks(codes)
    rows = marks.sum(1)
    for column, own, after in zip(codes.T, marks.T, follows, strict=True):
        yield _by_one_column(column, rows - own, after)


def _follows(values: Array) -> Flags:
    """Which values of a column, in increasing order, come next after the one before them on the column's grid."""
    steps = np.diff(values)
    real = steps[steps > ROUNDING * np.nansum(steps)]
    return np.append(False, steps < 1.5 * real.min(initial=np.inf))


def _marks(codes: Indices) -> Indices:
    """Large random numbers that stand for the cells: sums over columns are equal for rows that agree in these."""
    rng = np.random.default_rng(0)
    marks = [rng.integers(2**63, size=column.max() + 1, dtype=np.uint64)[column] for column in codes.T]
    return np.stack(marks, axis=1)


def _by_one_column(column: Indices, others: Indices, follows: Flags) -> float:
    """Expected repeats by pairs of rows that agree in all columns but this one.

    Such rows would agree in it as often as any two do; half as often as they are neighbours on its grid, at least.
    Values that occur in one row only say nothing of chance.
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
    """Expected repeats where columns are independent: at most one per combination of frequent values.

    Rows with the lowest value in several columns, or with zero, may have no others close to them.
    """
    frequencies = [np.bincount(column) for column in codes.T]
    combinations = math.prod(float(np.sum(own > 1)) for own in frequencies)
    pairs = _pairs(np.array([len(codes)]))
    return min(combinations, pairs * math.prod(_pairs(own) / max(pairs, 1.0) for own in frequencies))


def _pairs(sizes: Indices | np.intp) -> float:
    return float(np.sum(sizes * (sizes - 1.0)) / 2)


def _neighbours(codes: Indices, follows: list[Flags]) -> int:
    """How many pairs of rows are neighbours in all columns, and on the grid of one.

    Where one column decides all others, as an age decides an age group, no two rows agree in all columns but one.
    """
    values = codes.max(0) + 1
    rows = codes[np.lexsort(codes.T[np.argsort(values, kind="stable")])]  # by the column with the most values
    steps = np.abs(np.diff(rows, axis=0))
    after = [own[place] for own, place in zip(follows, np.maximum(rows[1:], rows[:-1]).T, strict=True)]
    on_grid = (steps == 1) & np.stack(after, axis=1) & (values > FEW)
    near = (steps <= 1) & ((steps == 0) | (values > FEW))
    return int((near.all(1) & on_grid.any(1)).sum())
