"""How one feature is seen by a generator: as internal columns on a normal scale, and back.

The cells of a feature lie in boxes: a value that repeats, a level, or a missing cell owns an
interval of each of its internal columns, and a value of a continuous part is a point. A latent is
drawn inside its box; a drawn one is read as the value whose box it falls into.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from knockoffs.runtime.arrays import Array, Flags, Indices

FARTHEST = 8.0  # standard deviations
GRID = 513  # quantiles that describe a continuous column
KNOTS = 33  # of the map of a measured quantity to scores


class _Quantity:
    """What most features with one internal column, the value itself, have in common."""

    __slots__ = ()
    width: ClassVar[int] = 1

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return codes[:, None], codes[:, None]

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes)


class _Copied:
    """What features without internal columns have in common."""

    __slots__ = ()
    width: ClassVar[int] = 0

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return np.empty((len(codes), 0)), np.empty((len(codes), 0))


@dataclass(frozen=True, slots=True)
class Constant(_Copied):
    """A feature that has one value, or only missing cells."""

    value: float

    def decode(self, z: Array) -> Array:
        return np.full(len(z), self.value)

    def knows(self, codes: Array) -> Flags:
        return (codes == self.value) | (np.isnan(codes) & np.isnan(self.value))


@dataclass(frozen=True, slots=True)
class Intervals(_Quantity):
    """The values of a quantity and their places on the scale of probabilities.

    A value that is an atom owns the interval between the value below it and itself; the others are
    points of a continuous part, with straight lines between them. A missing cell may lie anywhere.
    """

    values: Array  # increasing
    upper: Array  # share of the rows with at most this value
    atom: Flags

    @property
    def lower(self) -> Array:
        return np.concatenate([[0.0], self.upper[:-1]])

    @property
    def middle(self) -> Array:
        return (self.lower + self.upper) / 2

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        nearest = np.searchsorted((self.values[1:] + self.values[:-1]) / 2, codes).clip(
            max=len(self.values) - 1
        )
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


@dataclass(frozen=True, slots=True)
class WithGaps:
    """A quantity with missing cells: its own internal columns,
    and one that says whether the cell is missing.
    """

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

    `codes` are the levels' numbers, with nan for missing cells, `low` and `high` the corners,
    `[levels, width]`. A level that the fit has not seen may lie anywhere.
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
        return np.vstack([self.low, -anywhere])[position], np.vstack([self.high, anywhere])[
            position
        ]

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


@dataclass(frozen=True, slots=True)
class Plain(_Quantity):
    """A continuous feature as it is. Its `intervals` give scores, where other features are latent.

    The fit has seen no missing cell; where new rows have one, the model sees the `typical` value.
    """

    typical: float = 0.0
    intervals: Intervals | None = None

    def encode(self, codes: Array, place: Array) -> Array:
        return np.where(np.isnan(codes), self.typical, codes)

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        filled = self.encode(codes, codes)
        return (
            (filled[:, None], filled[:, None])
            if self.intervals is None
            else self.intervals.bounds(filled)
        )

    def decode(self, z: Array) -> Array:
        return z[:, 0]


@dataclass(frozen=True, slots=True)
class Measured(_Quantity):
    """A continuous quantity with missing cells. Its internal column is the value,
    a drawn one if it is missing.

    Latents are drawn on a scale of `scores`. It is piecewise linear between the knots and goes on
    as a straight line, so that each value has its score and each score its value.
    """

    values: Array  # increasing
    scores: Array  # increasing

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        """The score of a value; a missing cell may lie anywhere in the range of the values,
        such as above zero.
        """
        score = self.score_of(codes)
        missing = np.isnan(codes)
        low, high = (
            np.where(missing, self.scores[0], score),
            np.where(missing, self.scores[-1], score),
        )
        return low[:, None], high[:, None]

    def decode(self, z: Array) -> Array:
        return self.value_at(z[:, 0])

    def score_of(self, value: Array) -> Array:
        return _line_through(self.values, self.scores, value)

    def value_at(self, score: Array) -> Array:
        return _line_through(self.scores, self.values, score)


def measured(column: Array) -> Measured:
    """The normal scores of a continuous column at some of its quantiles."""
    reach = float(ndtri(1 - 0.5 / len(column)))
    place = np.linspace(-reach, reach, min(KNOTS, len(column)))
    share = (np.arange(len(column)) + 0.5) / len(column)
    values, first = np.unique(np.interp(ndtr(place), share, np.sort(column)), return_index=True)
    return Measured(values, place[first])


def _line_through(x: Array, y: Array, at: Array) -> Array:
    """Interpolate linearly; beyond the ends with the mean slope of that half,
    which few rows cannot make steep.
    """
    middle = len(x) // 2
    below = (y[middle] - y[0]) / (x[middle] - x[0])
    above = (y[-1] - y[middle - 1]) / (x[-1] - x[middle - 1])
    beyond = np.minimum(at - x[0], 0.0) * below + np.maximum(at - x[-1], 0.0) * above
    return np.interp(at, x, y) + beyond


@dataclass(frozen=True, slots=True)
class Recoded(_Copied):
    """A feature that is a one-to-one function of an earlier one,
    whose internal columns stand for both.
    """

    given: Array  # values of the other feature, increasing, nan last
    values: Array  # those of this one

    def decode(self, z: Array) -> Array:
        """The cells of this feature by those of the other one, the only column of z."""
        missing, present = np.isnan(z[:, 0]), ~np.isnan(self.given)
        return np.where(
            missing, self.values[-1], np.interp(z[:, 0], self.given[present], self.values[present])
        )

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes) | bool(np.isnan(self.values).any())


@dataclass(frozen=True, slots=True)
class Spread(_Quantity):
    """A discrete feature in its own units: each value is spread evenly over the cell around it.

    With few values the spread weakens the dependence on other features, so this serves where a
    model is given in the units of the columns.
    """

    values: Array

    def encode(self, codes: Array, place: Array) -> Array:
        """Move the values to these places (0 to 1) in the cells around them;
        a missing one counts as largest.
        """
        half = np.diff(self.values) / 2
        below, above = np.append(half[0], half), np.append(half, half[-1])
        cell = _nearest(self.values, codes)
        return self.values[cell] - below[cell] + place * (below + above)[cell]

    def decode(self, z: Array) -> Array:
        return self.values[_nearest(self.values, z[:, 0])]


@dataclass(frozen=True, slots=True)
class Exact(_Quantity):
    """A discrete feature by the numbers of its values, for models of discrete distributions;
    nan is a value.
    """

    values: Array  # increasing, nan last

    def encode(self, codes: Array, place: Array) -> Array:
        return np.searchsorted(self.values, codes).clip(max=len(self.values) - 1).astype(np.float64)

    def decode(self, z: Array) -> Array:
        return self.values[z[:, 0].astype(np.intp)]

    def knows(self, codes: Array) -> Flags:
        found = self.values[np.searchsorted(self.values, codes).clip(max=len(self.values) - 1)]
        return (found == codes) | (np.isnan(found) & np.isnan(codes))


def _nearest(values: Array, codes: Array) -> Indices:
    return np.searchsorted((values[1:] + values[:-1]) / 2, codes).clip(max=len(values) - 1)


# What stands for a feature: `width` is the number of its internal columns, `bounds(codes)` says
# between which scores the latents of cells lie (`[rows, width]` each), `decode(z)` gives the cells
# that latents stand for, and `knows(codes)` says which cells have a value that the fit has seen, or
# that lies between such values.
FeatureUnit = Constant | Intervals | WithGaps | Boxes | Plain | Measured | Recoded | Spread | Exact


@dataclass(frozen=True, slots=True)
class Classed:
    """A feature that has a description of its own within each class of rows; see `relations.py`."""

    context: int  # number of the context that says the class
    within: tuple[FeatureUnit, ...]  # per class

    @property
    def width(self) -> int:
        return max(unit.width for unit in self.within)


Unit = FeatureUnit | Classed


def only_measured(unit: Unit) -> Measured | None:
    """The quantity that a feature's first internal column stands for,
    if it is the same in all classes of rows.
    """
    if isinstance(unit, Classed):
        free = [within for within in unit.within if within.width > 0]
        return only_measured(free[0]) if len(free) == 1 else None
    if isinstance(unit, WithGaps):
        return only_measured(unit.present)
    return unit if isinstance(unit, Measured) else None


def scores(probability: Array) -> Array:
    """Normal scores of probabilities, bounded."""
    return np.clip(ndtri(probability), -FARTHEST, FARTHEST)


def discrete_intervals(column: Array, atoms: Array | None = None) -> Intervals:
    """The intervals of a column's values: of all of them, or of `atoms` among continuous values."""
    values, counts = np.unique(column, return_counts=True)
    atom = np.ones(len(values), dtype=bool) if atoms is None else np.isin(values, atoms)
    return Intervals(values, np.cumsum(counts) / len(column), atom)


def level_boxes(column: Array) -> Boxes:
    """The intervals of two levels, or of levels in their order. Unlike a number,
    a new level lies near none.
    """
    intervals = discrete_intervals(column)
    return Boxes(
        intervals.values, scores(intervals.lower)[:, None], scores(intervals.upper)[:, None]
    )


def continuous_intervals(column: Array) -> Intervals:
    """A continuous column by its quantiles."""
    places = np.linspace(0, 1, min(GRID, len(column)))
    values = np.unique(np.quantile(column, places, method="inverted_cdf"))  # of values that occur
    share = np.searchsorted(np.sort(column), values, side="right") / len(column)
    return Intervals(values, share, np.zeros(len(values), dtype=bool))


def gap_threshold(missing_share: float) -> float:
    """Return the score above which this share of the cells lies."""
    return float(scores(np.array(1 - missing_share)))
