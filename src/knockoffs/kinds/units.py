"""How one feature is seen by a generator: as internal columns on a normal scale, and back.

The cells of a feature lie in boxes: a value that repeats, a level, or a missing cell owns an
interval of each of its internal columns, and a value of a continuous part is a point. A latent is
drawn inside its box; a drawn one is read as the value whose box it falls into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from knockoffs.kinds.encoder import (
    FARTHEST,
    CellEncoder,
    ClassesOf,
    Encoder,
    NoColumns,
    OneColumn,
    Scored,
    increase,
    require,
    scores,
)
from knockoffs.runtime.arrays import Array, Flags

NOT_FINITE = "a number of a column's description is not finite"
GRID = 513  # quantiles that describe a continuous column
KNOTS = 33  # of the map of a measured quantity to scores


@dataclass(frozen=True, slots=True)
class Constant(NoColumns):
    """A feature that has one value, or only missing cells."""

    value: float

    def decode(self, z: Array) -> Array:
        return np.full(len(z), self.value)

    def knows(self, codes: Array) -> Flags:
        return (codes == self.value) | (np.isnan(codes) & np.isnan(self.value))

    def levels(self) -> Array:
        return np.array([self.value])

    def require_valid(self, classes: list[int]) -> None:
        require(not np.isinf(self.value), NOT_FINITE)


@dataclass(frozen=True, slots=True)
class Intervals(OneColumn):
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

    @property
    def countable(self) -> bool:
        return bool(self.atom.all())

    def levels(self) -> Array:
        return self.values if self.countable else super(Intervals, self).levels()

    def require_valid(self, classes: list[int]) -> None:
        up_to_1 = increase(self.values, self.upper) and self.atom.shape == self.values.shape
        up_to_1 = up_to_1 and self.upper[0] > 0 and abs(self.upper[-1] - 1) <= 1e-9
        require(up_to_1, "the cells of a column are not in increasing order up to 1")


@dataclass(frozen=True, slots=True)
class WithGaps(CellEncoder):
    """A quantity with missing cells: its own internal columns,
    and one that says whether the cell is missing.
    """

    present: CellEncoder
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

    @property
    def many_present(self) -> bool:
        return not self.present.countable

    @property
    def quantity(self) -> Scored | None:
        return self.present.quantity

    def levels(self) -> Array:
        return self.present.levels()

    def require_valid(self, classes: list[int]) -> None:
        require(np.isfinite(self.threshold), NOT_FINITE)
        self.present.require_valid(classes)


@dataclass(frozen=True, slots=True)
class Plain(OneColumn):
    """A continuous feature as it is. Its `intervals` give scores, where other features are latent.

    The fit has seen no missing cell; where new rows have one, the model sees the `typical` value.
    """

    latent: ClassVar[bool] = False

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

    def require_valid(self, classes: list[int]) -> None:
        require(np.isfinite(self.typical), NOT_FINITE)
        if self.intervals is not None:
            self.intervals.require_valid(classes)


@dataclass(frozen=True, slots=True)
class Measured(Scored):
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

    @property
    def width(self) -> int:
        return 1

    @property
    def countable(self) -> bool:
        return False

    @property
    def quantity(self) -> Scored:
        return self

    @property
    def range(self) -> tuple[float, float]:
        return float(self.scores[0]), float(self.scores[-1])

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes)

    def decode(self, z: Array) -> Array:
        return self.value_at(z[:, 0])

    def score_of(self, value: Array) -> Array:
        return _line_through(self.values, self.scores, value)

    def value_at(self, score: Array) -> Array:
        return _line_through(self.scores, self.values, score)

    def require_valid(self, classes: list[int]) -> None:
        require(
            increase(self.values, self.scores) and len(self.values) > 1,
            "the values of a measured column and their scores are not finite and increasing",
        )


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
class Classed(Encoder):
    """A feature that has a description of its own within each class of rows; see `relations.py`."""

    context: int  # number of the context that says the class
    within: tuple[CellEncoder, ...]  # per class

    @property
    def width(self) -> int:
        return max(encoder.width for encoder in self.within)

    def parts(self, classes: ClassesOf) -> Iterator[tuple[CellEncoder, Flags | slice]]:
        of_rows = classes(self.context)
        yield from ((own, of_rows == k) for k, own in enumerate(self.within))

    @property
    def quantity(self) -> Scored | None:
        """The quantity of the first internal column, if it is the same in all classes of rows."""
        free = [own for own in self.within if own.width > 0]
        return free[0].quantity if len(free) == 1 else None

    def levels(self) -> Array:
        return np.concatenate([own.levels() for own in self.within])

    def require_valid(self, classes: list[int]) -> None:
        known = 0 <= self.context < len(classes) and len(self.within) == classes[self.context]
        require(known, "a column has classes of rows that do not exist")
        for own in self.within:
            own.require_valid(classes)


def discrete_intervals(column: Array, atoms: Array | None = None) -> Intervals:
    """The intervals of a column's values: of all of them, or of `atoms` among continuous values."""
    values, counts = np.unique(column, return_counts=True)
    atom = np.ones(len(values), dtype=bool) if atoms is None else np.isin(values, atoms)
    return Intervals(values, np.cumsum(counts) / len(column), atom)


def continuous_intervals(column: Array) -> Intervals:
    """A continuous column by its quantiles."""
    places = np.linspace(0, 1, min(GRID, len(column)))
    values = np.unique(np.quantile(column, places, method="inverted_cdf"))  # of values that occur
    share = np.searchsorted(np.sort(column), values, side="right") / len(column)
    return Intervals(values, share, np.zeros(len(values), dtype=bool))


def gap_threshold(missing_share: float) -> float:
    """Return the score above which this share of the cells lies."""
    return float(scores(np.array(1 - missing_share)))
