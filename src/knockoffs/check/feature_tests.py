"""Each feature beside its knockoff: how their distributions differ; and features that are twins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.check.exact import Signs
from knockoffs.check.pairs import Pairs, inverse_root
from knockoffs.runtime.arrays import TINY, Array, Indices
from knockoffs.table.design import _unit_length, expand, likeness
from knockoffs.table.table import Table

SAME = 0.9  # correlation from which on two features may be near-duplicates
STILL_CORRELATED = 0.7  # and so they must be given all others
NEIGHBOURS = 3  # of a feature, each of which its knockoff should follow as it does
GRID = 32  # places of a column at which its distribution and its knockoff's are compared


class PerFeature(NamedTuple):
    """One number per feature; p-values hold for all features together (max-T).

    A nominal feature is compared by the indicators of its levels, a quantity with missing cells by
    its values and the indicator of missing cells.

    Attributes
    ----------
    ks, ks_p : array
        The largest distance between the distributions of the feature and of its knockoff, and its
        p-value; for an indicator this is the difference between the two shares of rows.
    shift, shift_p : array
        The largest of |z| for a difference in location and for one in spread given the other
        features, which also finds another dependence on these, and for a feature with several
        columns for a difference in how well it fits the other features; and its p-value.
    correlation : array
        The correlation of the feature with its knockoff; the mean over its columns where it has
        several.
    freedom : array
        The variance of x - x̃ as a share of what it would be if both had the feature's own variance
        (what other features do not explain) and nothing else in common. Near 0 the knockoff is a
        copy, which costs power.
    """

    ks: Array
    ks_p: Array
    shift: Array
    shift_p: Array
    correlation: Array
    freedom: Array


def compare_features(pairs: Pairs, signs: Signs) -> PerFeature:
    """Compare each feature with its knockoff; `signs` are the random swaps of rows that p-values
    come from.
    """
    distances = _worst_of_each_feature(
        pairs, np.stack([_distances(pairs, j, signs) for j in range(pairs.columns)])
    )
    shifts = _worst_of_each_feature(pairs, _shifts(pairs, signs))
    several = pairs.several_columns
    shifts[several] = np.maximum(shifts[several], _fits(pairs, several, signs))
    main = pairs.main_columns
    z, z_tilde = _unit_length(pairs.raw[:, main]), _unit_length(pairs.raw_tilde[:, main])
    return PerFeature(
        ks=distances[:, 0].astype(np.float64),
        ks_p=_familywise(distances),
        shift=shifts[:, 0].astype(np.float64),
        shift_p=_familywise(shifts),
        correlation=pairs.per_feature((z * z_tilde).sum(0)),
        freedom=2
        * pairs.per_feature(pairs.half_variance[main])
        / pairs.per_feature(pairs.own_variance[main]),
    )


def _worst_of_each_feature(pairs: Pairs, statistics: Array) -> Array:
    """The largest statistic among a feature's columns, `[features, draws]`."""
    if pairs.columns == pairs.features:
        return statistics
    worst = np.zeros((pairs.features, statistics.shape[1]), dtype=statistics.dtype)
    np.maximum.at(worst, pairs.feature, statistics)
    return worst


def _distances(pairs: Pairs, j: int, signs: Signs) -> Array:
    """Kolmogorov-Smirnov distance of column j and its knockoff for each draw of row swaps."""
    x, x_tilde = pairs.x[:, j], pairs.x_tilde[:, j]
    grid = np.unique(np.quantile(np.concatenate([x, x_tilde]), np.arange(1, GRID) / GRID))
    below = (x[:, None] <= grid).astype(np.float32) - (x_tilde[:, None] <= grid)
    return np.abs(below.T @ signs).max(0) / pairs.rows


def _shifts(pairs: Pairs, signs: Signs) -> Array:
    """|z| for location and for spread, whichever is larger, `[columns, draws]`.

    The direction for spread is the score of a scaled knockoff where all else is Gaussian.
    """
    conditional = (
        pairs.middle @ np.linalg.inv(pairs.middle_covariance) + pairs.middle / pairs.half_variance
    )
    found = np.zeros((pairs.columns, signs.shape[1]), dtype=np.float32)
    for direction in (np.ones_like(conditional), conditional):
        terms = pairs.half * direction
        terms /= np.sqrt(np.maximum((terms**2).sum(0), TINY))
        found = np.maximum(found, np.abs(terms.astype(np.float32).T @ signs))
    return found


def _fits(pairs: Pairs, features: Indices, signs: Signs) -> Array:
    """|z| for whether a feature fits the others better than its knockoff does, `[features, draws]`.

    Of levels this is their probability given the other features, by a linear regression of their
    indicators. No level need occur too often for knockoffs to have it in the wrong rows. The
    largest of several z: over all columns of the feature, for each, and by what each of its
    strongest neighbours says alone, since a knockoff that follows the wrong neighbour may fit no
    worse on the whole.
    """
    found = np.zeros((len(features), signs.shape[1]), dtype=np.float32)
    precision = np.linalg.inv(pairs.middle_covariance) if len(features) else np.empty((0, 0))
    for place, j in enumerate(features):
        own = pairs.feature == j
        weights = -precision[np.ix_(~own, own)] @ np.linalg.inv(precision[np.ix_(own, own)])
        half, others, of_others = pairs.half[:, own], pairs.middle[:, ~own], pairs.feature[~own]
        by_column = half * (others @ weights)
        by_neighbour = [
            (half * (others[:, of_others == k] @ weights[of_others == k])).sum(1)
            for k in _strongest(weights, of_others)
        ]
        terms = np.column_stack([by_column, by_column.sum(1), *by_neighbour])
        terms /= np.sqrt(np.maximum((terms**2).sum(0), TINY))
        found[place] = np.abs(terms.astype(np.float32).T @ signs).max(0)
    return found


def _strongest(weights: Array, feature: Indices) -> Indices:
    """The features whose columns have the largest weights."""
    size = np.bincount(feature, weights=np.square(weights).sum(1))
    return np.argsort(-size, kind="stable")[: min(NEIGHBOURS, np.count_nonzero(size))]


def _familywise(statistics: Array) -> Array:
    """p-value of each feature against the largest statistic of all features in each draw."""
    largest = np.sort(statistics.max(0))
    slack = 1e-6 * largest[-1]
    return (len(largest) - np.searchsorted(largest, statistics[:, 0] - slack, side="left")) / len(
        largest
    )


def near_duplicates(pairs: Pairs) -> list[tuple[int, int]]:
    """Pairs of features that hardly differ: correlated, also given the others,
    and with little variance left.
    """
    main = pairs.main_columns
    feature = pairs.feature[main]
    precision = np.linalg.inv(pairs.covariance[np.ix_(main, main)])
    columns = [np.flatnonzero(feature == j) for j in range(pairs.features)]
    alike = np.argwhere(np.triu(likeness(pairs.x[:, main], feature), k=1) > SAME)
    return [
        (int(j), int(k))
        for j, k in alike
        if _partial_correlation(precision, columns[j], columns[k]) > STILL_CORRELATED
        and min(_own_variance(precision, columns[j]), _own_variance(precision, columns[k])) < 0.1
    ]


def _partial_correlation(precision: Array, one: Indices, other: Indices) -> float:
    """The largest canonical correlation of two sets of columns given all others."""
    first, second = (inverse_root(precision[np.ix_(own, own)]) for own in (one, other))
    return float(np.linalg.norm(first @ precision[np.ix_(one, other)] @ second, ord=2))


def _own_variance(precision: Array, columns: Indices) -> float:
    return float(np.diag(np.linalg.inv(precision[np.ix_(columns, columns)])).mean())


ALIKE = 0.95  # correlation
MOST_PAIRS = 50
MOST_ROWS = 5_000
MOST_COLUMNS = 2_000  # all pairs of more would take too much memory


def find_twins(table: Table) -> list[tuple[str, str]]:
    """Return pairs of features that are correlated almost perfectly, the most alike first.

    Two nominal features are alike where each level of one stands for a level of the other, two
    groups of features where columns of theirs are. Nothing is returned for tables of many columns.
    """
    some = np.linspace(0, len(table) - 1, min(len(table), MOST_ROWS)).astype(int)
    design = expand(table.schema, table.codes[some])
    if design.tables[0].shape[1] > MOST_COLUMNS:
        return []
    alike = np.triu(likeness(design.tables[0], design.unit), k=1)
    names, unit = table.units.names, table.units.of
    first, second = np.nonzero((alike >= ALIKE) & (unit[:, None] != unit))
    order = np.argsort(-alike[first, second], kind="stable")
    pairs = dict.fromkeys((names[unit[first[k]]], names[unit[second[k]]]) for k in order)
    return list(pairs)[:MOST_PAIRS]
