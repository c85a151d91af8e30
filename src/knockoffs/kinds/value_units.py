"""Features whose internal column is the value itself, spread or numbered where it is discrete."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from knockoffs.kinds.feature_units import Intervals
from knockoffs.runtime.arrays import Array, Flags, Indices

KNOTS = 33  # of the map of a measured quantity to scores


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
class Measured:
    """A continuous quantity with missing cells. Its internal column is the value, a drawn one if it is missing.

    Latents are drawn on a scale of `scores`. It is piecewise linear between the knots and goes on as a straight
    line, so that each value has its score and each score its value.
    """

    values: Array  # increasing
    scores: Array  # increasing
    width: int = 1

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        """The score of a value; a missing cell may lie anywhere in the range of the values, such as above zero."""
        score = self.score_of(codes)
        missing = np.isnan(codes)
        low, high = np.where(missing, self.scores[0], score), np.where(missing, self.scores[-1], score)
        return low[:, None], high[:, None]

    def decode(self, z: Array) -> Array:
        return self.value_at(z[:, 0])

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes)

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
    """Interpolate linearly; beyond the ends with the mean slope of that half, which few rows cannot make steep."""
    middle = len(x) // 2
    below = (y[middle] - y[0]) / (x[middle] - x[0])
    above = (y[-1] - y[middle - 1]) / (x[-1] - x[middle - 1])
    beyond = np.minimum(at - x[0], 0.0) * below + np.maximum(at - x[-1], 0.0) * above
    return np.interp(at, x, y) + beyond


@dataclass(frozen=True, slots=True)
class Recoded:
    """A feature that is a one-to-one function of an earlier one, whose internal columns stand for both."""

    given: Array  # values of the other feature, increasing, nan last
    values: Array  # those of this one
    width: int = 0

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return np.empty((len(codes), 0)), np.empty((len(codes), 0))

    def decode(self, z: Array) -> Array:
        """The cells of this feature by those of the other one, the only column of z."""
        missing, present = np.isnan(z[:, 0]), ~np.isnan(self.given)
        return np.where(missing, self.values[-1], np.interp(z[:, 0], self.given[present], self.values[present]))

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes) | bool(np.isnan(self.values).any())


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
