r"""Independent rows beside their knockoffs: what swaps change, and what they leave alone.

With $m = (x + \tilde x) / 2$ and $h = (x - \tilde x) / 2$ a swap of the coordinates S turns the
sign of $h_S$ and changes nothing else. So knockoffs are exact if and only if, given m and |h|, all
signs of h are independent tosses of a fair coin. Whatever is computed from m and |h| alone may be
used to look for signs that are not, and the test stays exact.

Columns of one feature, such as the indicators of its levels, are swapped together: their h have one
sign in common.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.covariance import ledoit_wolf

from knockoffs.generators.hierarchy import group_means
from knockoffs.runtime.arrays import TINY, Array, Flags, Indices
from knockoffs.table.design import paired_design
from knockoffs.table.table import Table


class Pairs:
    """Columns that differ from their knockoffs, on a scale that any increasing map of a column
    leaves as it is.

    The scale are normal scores of the ranks among a column's values and knockoff values together.

    Parameters
    ----------
    x, x_tilde : arrays of shape (rows, columns)
        Rows and their knockoffs.
    feature : array of shape (columns,), default=None
        The feature that each column belongs to; a feature's columns are swapped together. By
        default each column is a feature.
    derived : array of bool of shape (columns,), default=None
        Which columns are no part of the row itself, such as the means of its group. By default
        none.
    """

    def __init__(
        self, x: Array, x_tilde: Array, feature: Indices | None = None, derived: Flags | None = None
    ) -> None:
        self.raw, self.raw_tilde = x, x_tilde
        self.feature = np.arange(x.shape[1]) if feature is None else feature
        self.derived = np.zeros(x.shape[1], dtype=bool) if derived is None else derived
        self.rows, self.columns = x.shape
        self.features = int(self.feature.max()) + 1
        self.label = 2 * self.feature + self.derived
        self.main_columns = np.flatnonzero(~self.derived)  # those of the row itself
        both = np.concatenate([x, x_tilde])
        scores = ndtri((rankdata(both, axis=0) - 0.5) / len(both))
        scores /= np.maximum(scores.std(0), TINY)  # ties pull the scores together
        self.x, self.x_tilde = scores[: len(x)], scores[len(x) :]
        self.middle, self.half = (self.x + self.x_tilde) / 2, (self.x - self.x_tilde) / 2
        # About zero, since exact knockoffs have that mean and signs must not count.
        self.half_variance = np.maximum((self.half**2).mean(0), TINY)

    def first(self, rows: int) -> Pairs:
        """The first rows alone, on a scale of their own."""
        if rows >= self.rows:
            return self
        return Pairs(self.raw[:rows], self.raw_tilde[:rows], self.feature, self.derived)

    @cached_property
    def middle_covariance(self) -> Array:
        return ledoit_wolf(self.middle)[0] + TINY * np.eye(self.columns)

    @cached_property
    def covariance(self) -> Array:
        """The covariance of x as far as no swap changes it:
        h of two features have none for exact knockoffs.
        """
        found = self.middle_covariance + np.diag(self.half_variance)
        for block in self.blocks:
            own = self.half[:, block].T @ self.half[:, block] / self.rows
            found[np.ix_(block, block)] += own - np.diag(np.diag(own))
        return found

    @cached_property
    def own_variance(self) -> Array:
        """What of each column's variance the columns of other features do not explain linearly."""
        precision = np.linalg.inv(self.covariance)
        own = 1 / np.diag(precision)
        for block in self.blocks:
            own[block] = np.diag(np.linalg.inv(precision[np.ix_(block, block)]))
        return own

    @cached_property
    def blocks(self) -> list[Indices]:
        """The columns of each feature that has several,
        those of the row and the derived ones apart.
        """
        return [
            np.flatnonzero(self.label == one) for one in np.flatnonzero(np.bincount(self.label) > 1)
        ]

    @property
    def several_columns(self) -> Indices:
        """The features that the row itself has several columns of."""
        return np.flatnonzero(np.bincount(self.feature[self.main_columns]) > 1)

    @cached_property
    def weight(self) -> Array:
        """The weight of each column in a distance of rows: a feature counts as one,
        whatever its columns.
        """
        return 1 / np.sqrt(np.bincount(self.label)[self.label])

    def per_feature(self, values: Array) -> Array:
        """Means over the main columns of each feature of a number per main column."""
        feature = self.feature[self.main_columns]
        return np.bincount(feature, weights=values) / np.bincount(feature)

    def swapped(self, columns: Flags) -> tuple[Array, Array]:
        """[x, x̃] with these columns exchanged."""
        return np.where(columns, self.x_tilde, self.x), np.where(columns, self.x, self.x_tilde)


def inverse_root(covariance: Array) -> Array:
    """The symmetric matrix W with W Σ W = I."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / np.sqrt(np.maximum(values, TINY))) @ vectors.T


def independent_pairs(
    x: Table,
    x_tilde: Table,
    features: Indices,
    groups: Indices | None,
    most: int,
    rng: np.random.Generator,
) -> Pairs:
    """At most `most` rows in random order, independent of each other, with their knockoffs.

    Parameters
    ----------
    x, x_tilde : Table
        Rows and their knockoffs, with levels numbered alike (`design.aligned`).
    features : array of int
        Numbers of the features to compare.
    groups : array of shape (rows,) or None
        The group of each row. Groups are then what is independent. Of each this is one row, drawn
        at random, and beside it the group's mean, where the two differ: knockoffs that are right
        row by row may be too little alike within a group, which shows in its mean.
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
    """The design columns of some features on both sides,
    and the place of each column's feature among these.
    """
    design = paired_design(x, x_tilde)
    kept = np.isin(design.unit, features)
    table, table_tilde = design.tables
    return table[:, kept], table_tilde[:, kept], np.searchsorted(features, design.unit[kept])


def one_of_each_group(rows: Indices, groups: Indices, rng: np.random.Generator) -> Indices:
    """One row at random of each group, in the order of the groups."""
    shuffled = rng.permutation(rows)
    _, first = np.unique(groups[shuffled], return_index=True)
    return shuffled[first]
