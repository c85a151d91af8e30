"""What columns hold where rows come in groups: kinds, grids, and what a group has in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.kinds import infer_kind
from knockoffs.schema.schema import Schema
from knockoffs.table.table import Table

FINEST_GRID = 6  # decimals


def with_kinds_of_groups(table: Table, labels: Indices) -> Table:
    """Give columns of numbers the kinds that they have with each value once per group.

    A value that is repeated within its group alone does not make a column discrete.
    """
    kinds = dict(table.kinds)
    for j, column in enumerate(table.schema):
        if j not in kinds and column.holds.from_repeats:
            codes = table.codes[:, j]
            pairs = np.column_stack([labels.astype(np.float64), codes])[~np.isnan(codes)]
            kinds[j] = infer_kind(*np.unique(np.unique(pairs, axis=0)[:, 1], return_counts=True))
    return replace(table, kinds=kinds)


def decimals_of_grids(table: Table, schema: Schema) -> Indices:
    """Return the decimals of columns that lie on a grid and are modelled as continuous;
    -1 for all others.

    Values with one decimal hardly repeat among few groups; they repeat within groups.
    """
    found = np.full(len(schema), -1)
    for j, (alone, own) in enumerate(zip(table.schema, schema, strict=True)):
        if alone.holds.from_repeats and not own.discrete:
            values = np.unique(table.codes[~np.isnan(table.codes[:, j]), j])
            fitting = (
                d for d in range(FINEST_GRID + 1) if np.array_equal(np.round(values, d), values)
            )
            found[j] = next(fitting, -1)
    return found


def constant_within(z: Array, labels: Indices) -> Flags:
    """Which columns have one value in each group."""
    first = np.unique(labels, return_index=True)[1]
    return (z == z[first][labels]).all(0)
