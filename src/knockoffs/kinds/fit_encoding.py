"""Find out how a generator sees a table: describe each feature, find relations,
learn correlations of latents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from knockoffs.kinds.dependence import find_joints, joined, joined_schema
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.kinds.latent import fit_correlation
from knockoffs.kinds.relations import (
    LEAST_ROWS,
    Context,
    context_of_states,
    features_with_few_gaps,
    find_contexts,
    find_kept_states,
)
from knockoffs.kinds.units import (
    FARTHEST,
    GRID,
    Boxes,
    Classed,
    Constant,
    Exact,
    FeatureUnit,
    Plain,
    Recoded,
    Spread,
    Unit,
    WithGaps,
    continuous_intervals,
    discrete_intervals,
    gap_threshold,
    level_boxes,
    measured,
    scores,
)
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.fingerprints import one_pattern
from knockoffs.schema.schema import Column, Schema
from knockoffs.table.design import expand

PRIOR_ROWS = 10.0  # by which the means of rare levels are pulled to the mean of all rows


def spread_encoding(core: Array, schema: Schema, alike: Indices) -> TableEncoding:
    """Encode a table for a model in the units of its columns:
    discrete values are spread around themselves.
    """
    units: list[Unit] = [Constant(first) for first in core[0]]
    for j in np.flatnonzero(schema.varies):
        own, continuous = core[:, j], not schema[int(j)].holds.atoms
        units[j] = Plain(float(np.median(own))) if continuous else Spread(np.unique(own))
    return TableEncoding(tuple(units), alike)


def exact_encoding(core: Array, schema: Schema, alike: Indices) -> TableEncoding:
    """Encode a table for a model of discrete values: the number of each value,
    nan counting as one.
    """
    return TableEncoding(
        tuple(
            Exact(np.unique(core[:, j])) if column.varies else Constant(core[0, j])
            for j, column in enumerate(schema)
        ),
        alike,
    )


def fit_encoding(
    core: Array, schema: Schema, alike: Indices, rng: np.random.Generator
) -> TableEncoding:
    """Describe all features, find relations between them, and learn the correlations of latents."""
    joints = find_joints(core, schema, alike)
    found = _fit_features(joined(core, joints), joined_schema(schema, joints), alike, rng)
    return _with_recoded(replace(found, joints=joints), core)


def _fit_features(
    core: Array, schema: Schema, alike: Indices, rng: np.random.Generator
) -> TableEncoding:
    distinct = alike == np.arange(len(alike))
    # relations are those among features that are no duplicates of others
    own = np.flatnonzero(distinct)
    columns = [schema[int(j)] for j in own]
    if all(_is_plain(column) for column in columns if column.varies):
        return spread_encoding(core, schema, alike)  # nothing to spread
    found = find_contexts(core[:, own], columns)
    contexts = [Context(own[c.features], c.keys, c.atoms, own[c.members]) for c in found]
    others = _Others(core, schema)
    units: list[Unit] = [others.describe(j) for j in range(len(schema))]
    context_units = []
    for k, context in enumerate(contexts):
        classes = context.classes(core)
        for j in context.members:
            within = (
                others.describe(j, classes == c, bounded=True) for c in range(len(context.keys))
            )
            units[j] = Classed(k, tuple(within))
        context_units.append(others.classes(classes, context.members))
    free = distinct & [column.holds.varies for column in schema]
    free[[j for context in contexts for j in context.members]] = False
    kept = {int(own[k]): atoms for k, atoms in find_kept_states(core[:, own], columns).items()}
    kept |= {int(j): np.empty(0) for j in features_with_few_gaps(core)}
    for j, atoms in kept.items():
        context = context_of_states(j, core[:, j], atoms)
        classes = context.classes(core)
        within = tuple(others.describe(j, classes == c) for c in range(len(context.keys)))
        if free[j] and any(unit.width > 0 for unit in within):
            units[j] = Classed(len(contexts), within)
            contexts.append(context)
            context_units.append(others.classes(classes, context.members))
    return _with_correlation(
        TableEncoding(tuple(units), alike, tuple(contexts), tuple(context_units)), core, rng
    )


def with_units(encoding: TableEncoding, schema: Schema) -> TableEncoding:
    """The same encoding with the groups of features that the schema knows."""
    units = schema.units
    return encoding if units.single else replace(encoding, swapped=units.of)


def fit_complete_encoding(
    core: Array, completed: Array, schema: Schema, rng: np.random.Generator
) -> TableEncoding:
    """Describe the features of a table with missing cells, which may have any value,
    by cells of a completed one.

    Cells of `completed` may be missing too, and are then left out.
    """
    others = _Others(completed, schema)
    units = tuple(others.describe_present(j) for j in range(len(schema)))
    found = TableEncoding(units, np.arange(len(schema)))
    return _with_correlation(found, core, rng) if len(found.latent) else found


def _with_correlation(
    encoding: TableEncoding, core: Array, rng: np.random.Generator
) -> TableEncoding:
    return replace(
        encoding, correlation=fit_correlation(*encoding.bounds(core), encoding.latent, rng)
    )


class _Others:
    """Descriptions of features, those of nominal ones with regard to the other features."""

    def __init__(self, core: Array, schema: Schema) -> None:
        self._core, self._schema = core, schema
        design = expand(schema, core)
        table, self._unit = design.tables[0], design.unit
        deviation = table.std(0)
        self._table = (table - table.mean(0)) / np.where(deviation > 0, deviation, 1.0)

    def describe(self, j: int, rows: Flags | None = None, *, bounded: bool = False) -> FeatureUnit:
        """The internal columns of feature j, learned from all rows or from those of a class.

        A class may be an interval of the feature's values: a `bounded` quantity keeps to the range
        it was seen in.
        """
        column, codes = self._schema[j], self._core[:, j]
        if rows is None and _is_plain(column):
            return Plain(float(np.median(codes)), continuous_intervals(codes))
        codes = codes if rows is None else codes[rows]
        present = codes[~np.isnan(codes)]
        values = np.unique(present)
        if len(values) == 0 or (len(values) == 1 and len(present) == len(codes)):
            return Constant(codes[0])
        if column.holds.of_levels and len(values) > 2:
            others = self._table[:, self._unit != j]
            return nominal_boxes(codes, others if rows is None else others[rows])
        unit = _quantity(column, present, bounded=bounded)
        missing = 1 - len(present) / len(codes)
        return WithGaps(unit, gap_threshold(missing)) if missing > 0 else unit

    def describe_present(self, j: int) -> FeatureUnit:
        """The internal columns of feature j by the cells that are not missing,
        all of them latent.
        """
        column, codes = self._schema[j], self._core[:, j]
        present = ~np.isnan(codes)
        if column.holds.of_levels:
            return nominal_boxes(codes[present], self._table[present][:, self._unit != j])
        return _quantity(column, codes[present])

    def classes(self, classes: Indices, members: Indices) -> FeatureUnit:
        """Internal columns for a class of rows; none where nearly all rows are in one class."""
        codes = classes.astype(np.float64)
        most = np.bincount(classes).argmax()
        if np.count_nonzero(classes != most) < LEAST_ROWS:
            return Constant(float(most))
        if classes.max() == 1:
            return discrete_intervals(codes)
        return nominal_boxes(codes, self._table[:, ~np.isin(self._unit, members)])


def _is_plain(column: Column) -> bool:
    """Return whether a column is a quantity that generators see as it is."""
    return not column.holds.atoms and column.missing == 0


def _quantity(column: Column, present: Array, *, bounded: bool = False) -> FeatureUnit:
    if present.min() == present.max():
        return Constant(present[0])
    if not column.holds.atoms:
        return continuous_intervals(present) if bounded else measured(present)
    if column.levels is not None:
        return level_boxes(present)
    return discrete_intervals(present, None if column.discrete else np.array(column.values))


def first_alike(core: Array) -> Indices:
    """Return, per column, the number of the first column that is equal to it."""
    seen: dict[bytes, int] = {}
    return np.array(
        [seen.setdefault(column.tobytes(), j) for j, column in enumerate(one_pattern(core).T)],
        dtype=np.intp,
    )


def _with_recoded(encoding: TableEncoding, core: Array) -> TableEncoding:
    """The same encoding, with features that are functions of earlier ones in terms of these."""
    units = list(encoding.units)
    for j in np.flatnonzero(encoding.alike != np.arange(len(units))):
        other = core[:, encoding.alike[j]]
        if not np.array_equal(other, core[:, j], equal_nan=True):
            units[j] = _recoded(other, core[:, j])
    return replace(encoding, units=tuple(units))


def _recoded(other: Array, column: Array) -> Recoded:
    given, rows, counts = np.unique(other, return_index=True, return_counts=True)
    kept = counts > 1
    # enough to draw lines between
    kept[np.linspace(0, len(given) - 1, GRID).astype(np.intp)] = True
    return Recoded(given[kept], column[rows[kept]])


def nominal_boxes(codes: Array, others: Array) -> Boxes:
    """Give each level of a column, and its missing cells, a box,
    placed by how levels differ in the other columns.

    Levels are laid out along the two directions in which their means of the other columns differ
    most. The first internal column says the group of levels along the first direction, the second
    one the level within it, along the second direction. So levels that are alike lie close to each
    other, and a Gaussian describes how both columns depend on others, which it could not for
    numbers given to the levels. One column for each split of the levels would describe a little
    more, but columns that a level leaves open tell of the other features instead, and knockoffs
    then have to stay closer to these.

    Parameters
    ----------
    codes : array of shape (rows,)
        Numbers of levels, nan for missing cells.
    others : array of shape (rows, columns)
        The other features as standardised columns, by which levels are found to be alike.
    """
    missing = np.isnan(codes)
    levels, position = np.unique(codes[~missing], return_inverse=True)
    counts = np.bincount(position, minlength=len(levels)).astype(np.float64)
    means = np.zeros((len(levels), others.shape[1]))
    np.add.at(means, position, others[~missing])
    means /= (counts + PRIOR_ROWS)[:, None]
    place = _places(means, counts)
    group = _groups(place[:, 0], counts, max(2, round(len(levels) ** 0.5)))
    low, high = _corners(group, place, counts)
    if not missing.any():
        return Boxes(levels, low, high)
    threshold = gap_threshold(missing.mean())
    anywhere = np.full((1, low.shape[1]), FARTHEST)
    return Boxes(
        np.append(levels, np.nan),
        np.column_stack(
            [np.vstack([low, -anywhere]), np.append(np.full(len(levels), -FARTHEST), threshold)]
        ),
        np.column_stack(
            [np.vstack([high, anywhere]), np.append(np.full(len(levels), threshold), FARTHEST)]
        ),
    )


def _places(means: Array, counts: Array) -> Array:
    """Coordinates of the levels in the two directions in which their means differ most, `[levels,
    2]`.
    """
    weight = np.sqrt(counts / counts.sum())[:, None]
    centred = means - (weight**2 * means).sum(0)
    if centred.shape[1] < 2:
        centred = np.column_stack([centred, np.arange(len(means)), np.zeros(len(means))])
    _, _, directions = np.linalg.svd(weight * centred, full_matrices=False)
    place = centred @ directions[:2].T
    return place if place.shape[1] == 2 else np.column_stack([place, np.zeros(len(place))])


def _groups(place: Array, counts: Array, groups: int) -> Indices:
    """Levels in so many groups of about equal share, neighbours together."""
    order = np.argsort(place, kind="stable")
    middle = (np.cumsum(counts[order]) - counts[order] / 2) / counts.sum()
    group = np.empty(len(place), dtype=np.intp)
    group[order] = np.minimum((middle * groups).astype(np.intp), groups - 1)
    return np.unique(group, return_inverse=True)[1]


def _line(place: Array, counts: Array) -> tuple[Array, Array]:
    """Neighbouring intervals of one column, as large as the shares of their levels."""
    order = np.argsort(place, kind="stable")
    ends = scores(np.concatenate([[0.0], np.cumsum(counts[order]) / counts.sum()]))
    low, high = np.empty((len(place), 1)), np.empty((len(place), 1))
    low[order, 0], high[order, 0] = ends[:-1], ends[1:]
    return low, high


def _corners(group: Indices, place: Array, counts: Array) -> tuple[Array, Array]:
    """Corners of the boxes: an interval for the group, and within it one for the level."""
    shares = np.bincount(group, weights=counts).astype(np.float64)
    low, high = _line(np.arange(len(shares), dtype=np.float64), shares)
    low, high = (np.column_stack([ends[group, 0], np.empty(len(group))]) for ends in (low, high))
    for k in range(len(shares)):
        members = np.flatnonzero(group == k)
        inner = _line(place[members, 1], counts[members])
        low[members, 1], high[members, 1] = inner[0][:, 0], inner[1][:, 0]
    return low, high
