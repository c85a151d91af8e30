"""Columns that follow from others: indicators of all categories, totals, values with gaps filled in or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.kinds.relations import LEAST_ROWS, SOME_ROWS
from knockoffs.runtime.arrays import Array, Flags, Indices

NOTHING = 1e-10  # variance of a combination of standardised columns that is rounding
TAKES_PART = 1e-6  # square of a column's weight in such a combination, of length one
RIDGE = 1e-9
LEAST_SHARED = 0.5  # share of the cells of one column beside which the other is not missing either


class Dependence(NamedTuple):
    """How far columns follow from those of other units."""

    own: Array  # share of a column's variance that the others do not explain
    exact: Flags  # none at all


def linear_dependence(columns: Array, unit: Indices) -> Dependence:
    """Find out how far each column is a linear combination of those of other units.

    Parameters
    ----------
    columns : array of shape (rows, columns)
        Numbers; no column is constant.
    unit : array of int of shape (columns,)
        Columns with the same number are swapped together: none of them says anything about another.
    """
    correlation = np.corrcoef(columns.T)
    precision = np.linalg.inv(correlation + RIDGE * np.eye(len(unit)))
    own, exact = 1 / np.diag(precision), _in_exact_relations(correlation)
    for group in np.flatnonzero(np.bincount(unit) > 1):
        block = unit == group
        own[block] = np.diag(np.linalg.inv(precision[np.ix_(block, block)]))
        for j in np.flatnonzero(block & exact):
            others = np.append(j, np.flatnonzero(~block))
            exact[j] = _in_exact_relations(correlation[np.ix_(others, others)])[0]
    return Dependence(own, exact)


def _in_exact_relations(correlation: Array) -> Flags:
    values, vectors = np.linalg.eigh(correlation)
    return np.square(vectors[:, values < NOTHING]).sum(1) > TAKES_PART


def equal_where_present(core: Array, numbers: Flags) -> list[tuple[int, int]]:
    """Return pairs of columns that have equal cells wherever neither is missing.

    One of them is mostly the other one with some gaps filled in.

    Parameters
    ----------
    core : array of shape (rows, columns)
        Cells; nan where one is missing.
    numbers : array of bool of shape (columns,)
        Columns to look at.
    """
    gaps = np.flatnonzero(numbers & np.isnan(core).any(0))
    pairs = []
    for j in gaps:
        others = np.flatnonzero(
            numbers & ((np.arange(core.shape[1]) > j) | ~np.isin(np.arange(core.shape[1]), gaps))
        )
        present = np.flatnonzero(~np.isnan(core[:, j]))
        for rows in (present[:SOME_ROWS], present):  # few rows rule most columns out
            differ = core[np.ix_(rows, others)] != core[rows, j][:, None]
            others = others[~(differ & ~np.isnan(core[np.ix_(rows, others)])).any(0)]
        pairs += [(int(j), int(other)) for other in others if _share_enough(core[:, j], core[:, other])]
    return pairs


def _share_enough(first: Array, second: Array) -> bool:
    """Return whether two columns have so many cells side by side that being equal there is no coincidence."""
    shared = ~np.isnan(first) & ~np.isnan(second)
    least = LEAST_SHARED * min(np.count_nonzero(~np.isnan(first)), np.count_nonzero(~np.isnan(second)))
    counts = np.unique(first[shared], return_counts=True)[1]
    return shared.sum() >= least and shared.sum() - counts.max(initial=0) >= LEAST_ROWS
