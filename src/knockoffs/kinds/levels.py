"""Discrete columns: levels without an order as boxes of internal columns,
values by their numbers, and columns that are functions of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from knockoffs.kinds.encoder import (
    FARTHEST,
    CellEncoder,
    NoColumns,
    OneColumn,
    require,
    require_levels,
    scores,
)
from knockoffs.kinds.units import discrete_intervals, gap_threshold
from knockoffs.runtime.arrays import Array, Flags, Indices

PRIOR_ROWS = 10.0  # by which the means of rare levels are pulled to the mean of all rows


@dataclass(frozen=True, slots=True)
class Boxes(CellEncoder):
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

    def levels(self) -> Array:
        return self.codes

    def require_valid(self, classes: list[int]) -> None:
        low, high = self.low, self.high
        fits = low.ndim == 2 and low.shape == high.shape and (len(low),) == self.codes.shape
        require(
            fits and len(low) > 1 and (low < high).all(),
            "the boxes of a column's levels are empty",
        )


@dataclass(frozen=True, slots=True)
class Recoded(NoColumns):
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

    def of_alike(self, other: Array) -> Array:
        return self.decode(other[:, None])

    def levels(self) -> Array:
        return self.values

    def require_valid(self, classes: list[int]) -> None:
        require_levels(self.given, missing=True)
        require(
            self.values.shape == self.given.shape,
            "a function of a column has other values than this one",
        )


@dataclass(frozen=True, slots=True)
class Spread(OneColumn):
    """A discrete feature in its own units: each value is spread evenly over the cell around it.

    With few values the spread weakens the dependence on other features, so this serves where a
    model is given in the units of the columns.
    """

    latent: ClassVar[bool] = False

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

    @property
    def countable(self) -> bool:
        return True

    def encode_middle(self, codes: Array) -> Array:
        return codes

    def levels(self) -> Array:
        return self.values

    def require_valid(self, classes: list[int]) -> None:
        require_levels(self.values)


@dataclass(frozen=True, slots=True)
class Exact(OneColumn):
    """A discrete feature by the numbers of its values, for models of discrete distributions;
    nan is a value.
    """

    latent: ClassVar[bool] = False

    values: Array  # increasing, nan last

    def encode(self, codes: Array, place: Array) -> Array:
        return np.searchsorted(self.values, codes).clip(max=len(self.values) - 1).astype(np.float64)

    def decode(self, z: Array) -> Array:
        return self.values[z[:, 0].astype(np.intp)]

    def knows(self, codes: Array) -> Flags:
        found = self.values[np.searchsorted(self.values, codes).clip(max=len(self.values) - 1)]
        return (found == codes) | (np.isnan(found) & np.isnan(codes))

    @property
    def states(self) -> int:
        return len(self.values)

    @property
    def countable(self) -> bool:
        return True

    def levels(self) -> Array:
        return self.values

    def require_valid(self, classes: list[int]) -> None:
        require_levels(self.values, missing=True)


def _nearest(values: Array, codes: Array) -> Indices:
    return np.searchsorted((values[1:] + values[:-1]) / 2, codes).clip(max=len(values) - 1)


def level_boxes(column: Array) -> Boxes:
    """The intervals of two levels, or of levels in their order. Unlike a number,
    a new level lies near none.
    """
    intervals = discrete_intervals(column)
    return Boxes(
        intervals.values, scores(intervals.lower)[:, None], scores(intervals.upper)[:, None]
    )


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
