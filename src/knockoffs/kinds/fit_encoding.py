"""Find out how a generator sees a table: describe each feature, find relations,
learn correlations of latents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from knockoffs.kinds.blocks import RowClasses, by_blocks, schema_by_blocks
from knockoffs.kinds.dependence import find_joints
from knockoffs.kinds.encoder import Encoder
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.kinds.fit_columns import ColumnFits, is_plain
from knockoffs.kinds.latent import fit_correlation
from knockoffs.kinds.levels import Exact, Recoded, Spread
from knockoffs.kinds.relations import (
    Context,
    context_of_states,
    features_with_few_gaps,
    find_contexts,
    find_kept_states,
)
from knockoffs.kinds.units import GRID, Classed, Constant, Plain
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.fingerprints import one_pattern
from knockoffs.schema.schema import Schema


def spread_encoding(core: Array, schema: Schema, alike: Indices) -> TableEncoding:
    """Encode a table for a model in the units of its columns:
    discrete values are spread around themselves.
    """
    units: list[Encoder] = [Constant(first) for first in core[0]]
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
    found = _fit_features(by_blocks(core, joints), schema_by_blocks(schema, joints), alike, rng)
    return _with_recoded(replace(found, together=joints), core)


def _fit_features(
    core: Array, schema: Schema, alike: Indices, rng: np.random.Generator
) -> TableEncoding:
    distinct = alike == np.arange(len(alike))
    # relations are those among features that are no duplicates of others
    own = np.flatnonzero(distinct)
    columns = [schema[int(j)] for j in own]
    if all(is_plain(column) for column in columns if column.varies):
        return spread_encoding(core, schema, alike)  # nothing to spread
    found = find_contexts(core[:, own], columns)
    contexts: list[RowClasses] = []
    others = ColumnFits(core, schema)
    units: list[Encoder] = [others.describe(j) for j in range(len(schema))]
    for k, c in enumerate(found):
        context = Context(own[c.features], c.keys, c.atoms, own[c.members])
        classes = context.classes(core)
        for j in context.members:
            within = (
                others.describe(j, classes == label, bounded=True) for label in range(len(c.keys))
            )
            units[j] = Classed(k, tuple(within))
        contexts.append(RowClasses(context, others.classes(classes, context.members)))
    free = distinct & [column.holds.varies for column in schema]
    free[[j for c in contexts for j in c.context.members]] = False
    kept = {int(own[k]): atoms for k, atoms in find_kept_states(core[:, own], columns).items()}
    kept |= {int(j): np.empty(0) for j in features_with_few_gaps(core)}
    for j, atoms in kept.items():
        context = context_of_states(j, core[:, j], atoms)
        classes = context.classes(core)
        within = tuple(others.describe(j, classes == c) for c in range(len(context.keys)))
        if free[j] and any(unit.width > 0 for unit in within):
            units[j] = Classed(len(contexts), within)
            contexts.append(RowClasses(context, others.classes(classes, context.members)))
    return _with_correlation(TableEncoding(tuple(units), alike, tuple(contexts)), core, rng)


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
    others = ColumnFits(completed, schema)
    units = tuple(others.describe_present(j) for j in range(len(schema)))
    found = TableEncoding(units, np.arange(len(schema)))
    return _with_correlation(found, core, rng) if len(found.latent) else found


def _with_correlation(
    encoding: TableEncoding, core: Array, rng: np.random.Generator
) -> TableEncoding:
    return replace(
        encoding, correlation=fit_correlation(*encoding.bounds(core), encoding.latent, rng)
    )


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
