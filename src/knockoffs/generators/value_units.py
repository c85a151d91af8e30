"""Features whose internal column is the value itself, spread or numbered where it is discrete."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from knockoffs.arrays import Array, Flags, Indices
from knockoffs.generators.feature_units import Intervals


@dataclass(frozen=True, slots=True)
class Plain:
    """A continuous feature as it is. Its `intervals` give scores, where other features are latent.

    The fit has seen no missing cell; where new rows have one, the model sees the `typical` value.
    """

    typical: float = 0.0
    intervals: Intervals | None = None
    width: int = 1

    def encode(self, codes: Array, place: Array) -> Array:
        return np.where(np.isnan(codes), self.typical, codes)

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        filled = self.encode(codes, codes)
        return (filled[:, None], filled[:, None]) if self.intervals is None else self.intervals.bounds(filled)

    def decode(self, z: Array) -> Array:
        return z[:, 0]

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes)


@dataclass(frozen=True, slots=True)
class Spread:
    """A discrete feature in its own units: each value is spread evenly over the cell around it.

    With few values the spread weakens the dependence on other features, so this serves where a model is given in
    the units of the columns.
    """

    values: Array
    width: int = 1

    def encode(self, codes: Array, place: Array) -> Array:
        """Move the values to these places (0 to 1) in the cells around them; a missing one counts as largest."""
        half = np.diff(self.values) / 2
        below, above = np.append(half[0], half), np.append(half, half[-1])
        cell = _nearest(self.values, codes)
        return self.values[cell] - below[cell] + place * (below + above)[cell]

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return codes[:, None], codes[:, None]

    def decode(self, z: Array) -> Array:
        return self.values[_nearest(self.values, z[:, 0])]

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes)


@dataclass(frozen=True, slots=True)
class Exact:
    """A discrete feature by the numbers of its values, for models of discrete distributions; nan is a value."""

    values: Array  # increasing, nan last
    width: int = 1

    def encode(self, codes: Array, place: Array) -> Array:
        return np.searchsorted(self.values, codes).clip(max=len(self.values) - 1).astype(np.float64)

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return codes[:, None], codes[:, None]

    def decode(self, z: Array) -> Array:
        return self.values[z[:, 0].astype(np.intp)]

    def knows(self, codes: Array) -> Flags:
        found = self.values[np.searchsorted(self.values, codes).clip(max=len(self.values) - 1)]
        return (found == codes) | (np.isnan(found) & np.isnan(codes))


def _nearest(values: Array, codes: Array) -> Indices:
    return np.searchsorted((values[1:] + values[:-1]) / 2, codes).clip(max=len(values) - 1)
