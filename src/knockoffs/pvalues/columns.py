"""Features as columns of numbers for models of y: each by its own cells alone.

A test needs that what models see of other features knows nothing of the tested one, and that redraws of the tested
one are treated as its own cells are. So, unlike in `design.py`, no column depends on other tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.schema.schema import Column, Schema

MOST_INDICATORS = 30


class Columns(NamedTuple):
    """Columns of numbers, with nan for missing values, and the feature that each belongs to."""

    x: Array
    unit: Indices

    @property
    def features(self) -> int:
        return int(self.unit.max()) + 1

    def without(self, features: Indices) -> Array:
        """The columns of all other features."""
        return self.x[:, ~np.isin(self.unit, features)]


def table_columns(schema: Schema, codes: Array) -> Columns:
    """The columns of a table's cells."""
    parts = [feature_columns(column, codes[:, j]) for j, column in enumerate(schema)]
    widths = [part.shape[1] for part in parts]
    return Columns(np.hstack(parts), np.repeat(np.arange(len(parts)), widths))


def feature_columns(column: Column, cells: Array) -> Array:
    """The columns of one feature's cells: levels without an order as indicators, and one of missing cells."""
    missing = [np.isnan(cells)] if 0 < column.missing < 1 else []
    if column.kind == "nominal":
        own = [cells == value for value in column.values[:MOST_INDICATORS]]
        return np.stack([*own, *missing], axis=-1).astype(np.float64)
    return np.stack([cells, *missing], axis=-1)


def in_standard_units(x: Array, centre: Array, deviation: Array) -> Array:
    """Columns in standard units, with 0 for missing values."""
    return np.nan_to_num((x - centre) / deviation, nan=0.0)


def standard_units(x: Array) -> tuple[Array, Array]:
    """Per column the mean and the standard deviation of what is there (1 for a constant)."""
    there = ~np.isnan(x)
    count = np.maximum(there.sum(0), 1)
    centre = np.where(there, x, 0.0).sum(0) / count
    squares = np.where(there, (x - centre) ** 2, 0.0).sum(0) / count
    deviation = np.sqrt(squares)
    return centre, np.where(deviation > 1e-12 * np.maximum(np.abs(centre), 1e-300), deviation, 1.0)
