"""Columns that are linear combinations of others: indicators of all categories, totals beside their parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.arrays import Array, Flags, Indices

NOTHING = 1e-10  # variance of a combination of standardised columns that is rounding
TAKES_PART = 1e-6  # square of a column's weight in such a combination, of length one
RIDGE = 1e-9


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
