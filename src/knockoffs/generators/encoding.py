"""How a generator sees the columns of a table: as they are, or discrete ones as continuous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from knockoffs.arrays import Array, Indices

Levels = Sequence[Array | None]


class Encoding(Protocol):
    """A random map of rows to rows that generators can model, and back."""

    def encode(self, core: Array, rng: np.random.Generator) -> Array: ...

    def middles(self, core: Array) -> Array: ...

    def decode(self, encoded: Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class SpreadEncoding:
    """Discrete columns keep their units: each value is spread evenly over the cell around it.

    `levels` holds the values of discrete columns, and None for others. With few values the spread weakens the
    dependence on other columns, so this serves where a model is given in the units of the columns.
    """

    levels: Levels

    def encode(self, core: Array, rng: np.random.Generator) -> Array:
        return self.encode_at(core, rng.random(core.shape))

    def encode_at(self, core: Array, place: Array) -> Array:
        """Values of discrete columns moved to these places (0 to 1) in the cells around them."""
        core = core.copy()
        for j, levels in enumerate(self.levels):
            if levels is not None:
                half = np.diff(levels) / 2
                below, above = np.append(half[0], half), np.append(half, half[-1])
                cell = _nearest(levels, core[:, j])
                core[:, j] = levels[cell] - below[cell] + place[:, j] * (below + above)[cell]
        return core

    def middles(self, core: Array) -> Array:
        return core

    def decode(self, encoded: Array) -> Array:
        """Back to the nearest value seen in the fit."""
        core = encoded.copy()
        for j, levels in enumerate(self.levels):
            if levels is not None:
                core[:, j] = levels[_nearest(levels, core[:, j])]
        return core


@dataclass(frozen=True, slots=True)
class ExactEncoding:
    """For models of discrete distributions: columns as they are, and draws put back to values seen."""

    levels: Levels

    def encode(self, core: Array, rng: np.random.Generator) -> Array:
        return core

    def middles(self, core: Array) -> Array:
        return core

    def decode(self, encoded: Array) -> Array:
        return SpreadEncoding(self.levels).decode(encoded)


def discrete_levels(column: Array) -> Array | None:
    """The values of a discrete column: whole-numbered (below 2^53, where not all floats are), or full of ties."""
    values, counts = np.unique(column, return_counts=True)
    whole = np.all(values == np.rint(values)) and np.abs(values).max() < 2**53
    tied = len(values) <= len(column) / 2 or counts.max() > max(2, 0.05 * len(column))
    return values if whole or tied else None


def _nearest(levels: Array, values: Array) -> Indices:
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, values)
