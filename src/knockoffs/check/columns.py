"""From two tables to the columns that tests compare, on rows that are independent of each other."""

from __future__ import annotations

import numpy as np

from knockoffs.check.pairs import Pairs
from knockoffs.generators.hierarchy import group_means
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.table.design import paired_design
from knockoffs.table.table import Table


def independent_pairs(
    x: Table, x_tilde: Table, features: Indices, groups: Indices | None, most: int, rng: np.random.Generator
) -> Pairs:
    """At most `most` rows in random order, independent of each other, with their knockoffs.

    Parameters
    ----------
    x, x_tilde : Table
        Rows and their knockoffs, with levels numbered alike (`design.aligned`).
    features : array of int
        Numbers of the features to compare.
    groups : array of shape (rows,) or None
        The group of each row. Groups are then what is independent. Of each this is one row, drawn at random, and
        beside it the group's mean, where the two differ: knockoffs that are right row by row may be too little
        alike within a group, which shows in its mean.
    most : int
        The most rows.
    rng : Generator
        Chooses the rows.
    """
    if groups is None:
        order = rng.permutation(len(x))[:most]
        return Pairs(*_design(x.rows(order), x_tilde.rows(order), features))
    row, row_tilde, feature = _design(x, x_tilde, features)
    chosen = one_of_each_group(np.arange(len(row)), groups, rng)
    mean, mean_tilde = group_means(row, groups)[1], group_means(row_tilde, groups)[1]
    differs = ((row[chosen] != mean) | (row_tilde[chosen] != mean_tilde)).any(0)
    order = rng.permutation(len(chosen))[:most]
    return Pairs(
        np.hstack([row[chosen], mean[:, differs]])[order],
        np.hstack([row_tilde[chosen], mean_tilde[:, differs]])[order],
        np.concatenate([feature, feature[differs]]),
        np.arange(len(feature) + int(differs.sum())) >= len(feature),
    )


def _design(x: Table, x_tilde: Table, features: Indices) -> tuple[Array, Array, Indices]:
    """The design columns of some features on both sides, and the place of each column's feature among these."""
    design = paired_design(x, x_tilde)
    kept = np.isin(design.unit, features)
    table, table_tilde = design.tables
    return table[:, kept], table_tilde[:, kept], np.searchsorted(features, design.unit[kept])


def one_of_each_group(rows: Indices, groups: Indices, rng: np.random.Generator) -> Indices:
    """One row at random of each group, in the order of the groups."""
    shuffled = rng.permutation(rows)
    _, first = np.unique(groups[shuffled], return_index=True)
    return shuffled[first]
