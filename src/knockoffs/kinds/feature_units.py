"""How one feature is seen by a generator: as internal columns on a normal scale, and back.

The cells of a feature lie in boxes: a value that repeats, a level, or a missing cell owns an interval of each of
its internal columns, and a value of a continuous part is a point. A latent is drawn inside its box; a drawn one is
read as the value whose box it falls into.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from knockoffs.runtime.arrays import Array, Flags, Indices

FARTHEST = 8.0  # standard deviations
GRID = 513  # quantiles that describe a continuous column


class FeatureUnit(Protocol):
    """The internal columns of one feature."""

    @property
    def width(self) -> int:
        """Number of internal columns."""
        ...

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        """Between which scores the latents of these cells lie, `[rows, width]` each."""
        ...

    def decode(self, z: Array) -> Array:
        """The cells that latents stand for."""
        ...

    def knows(self, codes: Array) -> Flags:
        """Which cells have a value that the fit has seen, or that lies between such values."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """A feature that has one value, or only missing cells."""

    value: float
    width: int = 0

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return np.empty((len(codes), 0)), np.empty((len(codes), 0))

    def decode(self, z: Array) -> Array:
        return np.full(len(z), self.value)

    def knows(self, codes: Array) -> Flags:
        return (codes == self.value) | (np.isnan(codes) & np.isnan(self.value))


@dataclass(frozen=True, slots=True)
class Intervals:
    """The values of a quantity and their places on the scale of probabilities.

    A value that is an atom owns the interval between the value below it and itself; the others are points of
    a continuous part, with straight lines between them. A missing cell may lie anywhere.
    """

    values: Array  # increasing
    upper: Array  # share of the rows with at most this value
    atom: Flags
    width: int = 1

    @property
    def lower(self) -> Array:
        return np.concatenate([[0.0], self.upper[:-1]])

    @property
    def middle(self) -> Array:
        return (self.lower + self.upper) / 2

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        nearest = np.searchsorted((self.values[1:] + self.values[:-1]) / 2, codes).clip(max=len(self.values) - 1)
        within = self.atom[nearest] & (self.atom.all() | (self.values[nearest] == codes))
        place = np.interp(codes, self.values, self.middle)
        low, high = (np.where(within, ends[nearest], place) for ends in (self.lower, self.upper))
        missing = np.isnan(codes)
        low, high = np.where(missing, 0.0, low), np.where(missing, 1.0, high)
        return scores(low)[:, None], scores(high)[:, None]

    def decode(self, z: Array) -> Array:
        place = ndtr(z[:, 0])
        cell = np.searchsorted(self.upper, place).clip(max=len(self.values) - 1)
        if self.atom.all():
            return self.values[cell]
        free = ~self.atom
        between = np.interp(place, self.middle[free], self.values[free])
        return np.where(self.atom[cell], self.values[cell], between)

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes)


@dataclass(frozen=True, slots=True)
class WithGaps:
    """A quantity with missing cells: its own internal columns, and one that says whether the cell is missing."""

    present: FeatureUnit
    threshold: float  # score above which the cell is missing

    @property
    def width(self) -> int:
        return self.present.width + 1

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        low, high = self.present.bounds(codes)
        missing = np.isnan(codes)
        return (
            np.column_stack([low, np.where(missing, self.threshold, -FARTHEST)]),
            np.column_stack([high, np.where(missing, FARTHEST, self.threshold)]),
        )

    def decode(self, z: Array) -> Array:
        return np.where(z[:, -1] > self.threshold, np.nan, self.present.decode(z[:, :-1]))

    def knows(self, codes: Array) -> Flags:
        return np.isnan(codes) | self.present.knows(codes)


@dataclass(frozen=True, slots=True)
class Boxes:
    """Levels without an order: each owns a box, and the boxes fill the space.

    `codes` are the levels' numbers, with nan for missing cells, `low` and `high` the corners, `[levels, width]`.
    A level that the fit has not seen may lie anywhere.
    """

    codes: Array
    low: Array
    high: Array

    @property
    def width(self) -> int:
        return self.low.shape[1]

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        position = self._position(codes)
        anywhere = np.full((1, self.width), FARTHEST)
        return np.vstack([self.low, -anywhere])[position], np.vstack([self.high, anywhere])[position]

    def decode(self, z: Array) -> Array:
        found = np.full(len(z), self.codes[0])
        for code, low, high in zip(self.codes, self.low, self.high, strict=True):
            # Boxes reach to infinity where they are unbounded.
            above = (z > low) | (low <= -FARTHEST)
            below = (z <= high) | (high >= FARTHEST)
            found[(above & below).all(1)] = code
        return found

    def knows(self, codes: Array) -> Flags:
        return self._position(codes) < len(self.codes)

    def _position(self, codes: Array) -> Indices:
        """Numbers of the boxes; one past the last for a level without a box."""
        place = np.full(len(codes), len(self.codes), dtype=np.intp)
        for k, code in enumerate(self.codes):
            place[np.isnan(codes) if np.isnan(code) else codes == code] = k
        return place


def scores(probability: Array) -> Array:
    """Normal scores of probabilities, bounded."""
    return np.clip(ndtri(probability), -FARTHEST, FARTHEST)


def discrete_intervals(column: Array, atoms: Array | None = None) -> Intervals:
    """The intervals of a column's values: of all of them, or of `atoms` among continuous values."""
    values, counts = np.unique(column, return_counts=True)
    atom = np.ones(len(values), dtype=bool) if atoms is None else np.isin(values, atoms)
    return Intervals(values, np.cumsum(counts) / len(column), atom)


def level_boxes(column: Array) -> Boxes:
    """The intervals of two levels, or of levels in their order. Unlike a number, a new level lies near none."""
    intervals = discrete_intervals(column)
    return Boxes(intervals.values, scores(intervals.lower)[:, None], scores(intervals.upper)[:, None])


def continuous_intervals(column: Array) -> Intervals:
    """A continuous column by its quantiles."""
    places = np.linspace(0, 1, min(GRID, len(column)))
    values = np.unique(np.quantile(column, places, method="inverted_cdf"))  # of values that occur
    share = np.searchsorted(np.sort(column), values, side="right") / len(column)
    return Intervals(values, share, np.zeros(len(values), dtype=bool))


def gap_threshold(missing_share: float) -> float:
    """Return the score above which this share of the cells lies."""
    return float(scores(np.array(1 - missing_share)))
