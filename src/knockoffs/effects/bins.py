"""A feature and its knockoff in bins, and what means of y do along these, in words.

Bins are levels where a feature has few, else tenths of its rows, and missing cells. Means rise,
fall, turn, or differ between levels. Nothing is claimed that the interval beside it does not
support.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import studentized_range

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.schema import Column

MOST_LEVELS = 12
TENTHS = 10
MOST_DIGITS = 17  # that a number has
ROWS_PER_BIN = 25  # of a quantity in a small table
MISSING, OTHERS = "missing", "others"


def within_bins(values: Array, which: Indices) -> Array:
    """Return how far values and their squares lie from the mean of their bin, `[rows, 2]`;
    0 where one is missing.

    Beside a column for each bin they say what happens within bins. Else other features that
    resemble this one would be credited with that, and the differences between bins would look
    smaller than they are.
    """
    z = in_deviations(values)
    counts = np.maximum(np.bincount(which), 1)
    return np.stack(
        [power - (np.bincount(which, power) / counts)[which] for power in (z, z**2)], axis=1
    )


def in_deviations(values: Array) -> Array:
    """Return values in standard deviations from their mean; 0 if missing, or if all are equal."""
    present = values[~np.isnan(values)]
    deviation = present.std() if len(present) else 0.0
    return (
        np.nan_to_num((values - present.mean()) / deviation)
        if deviation > 0
        else np.zeros(len(values))
    )


class Bins(NamedTuple):
    """The bin of each row, for a feature and for its knockoff.

    Attributes
    ----------
    x, x_tilde : array of int of shape (rows,)
        The bin of each row.
    labels : tuple of str
        What each bin holds, in words.
    places : tuple of float or None
        The mean of the feature's values in each bin of a quantity; None for levels and for missing
        cells.
    ordered : tuple of bool
        Whether the bin has a place among the others: not a missing cell, nor a level without an
        order.
    """

    x: Indices
    x_tilde: Indices
    labels: tuple[str, ...]
    places: tuple[float | None, ...]
    ordered: tuple[bool, ...]


def bins_of(column: Column, x: Array, x_tilde: Array) -> Bins:
    """Divide the cells of a feature and of its knockoff into the same bins."""
    both = np.concatenate([x, x_tilde])
    gaps = np.isnan(both)
    values, counts = np.unique(both[~gaps], return_counts=True)
    if column.levels is not None or column.holds.of_levels or len(values) <= MOST_LEVELS:
        which, labels, places = _levels(column, both, values, counts)
    else:
        which, labels, places = _tenths(both, x, gaps)
    ordered = [column.holds.ordered and label != OTHERS for label in labels]
    if gaps.any():
        which = np.where(gaps, len(labels), which)
        labels, places, ordered = [*labels, MISSING], [*places, None], [*ordered, False]
    first, second = np.split(which, 2)
    return Bins(first, second, tuple(labels), tuple(places), tuple(ordered))


def _levels(
    column: Column, both: Array, values: Array, counts: Indices
) -> tuple[Indices, list[str], list[float | None]]:
    """A bin for each level; the rarest ones share one."""
    most = MOST_LEVELS - (len(values) > MOST_LEVELS)  # the others take one
    kept = values[np.sort(np.argsort(-counts, kind="stable")[:most])]
    digits = digits_apart(kept, least=6)
    labels = [
        f"{value:.{digits}g}" if column.levels is None else str(column.levels[int(value)])
        for value in kept
    ]
    which = np.where(np.isin(both, kept), np.searchsorted(kept, both), len(kept))
    if len(kept) < len(values):
        labels.append(OTHERS)
    return which, labels, [None] * len(labels)


def _tenths(both: Array, x: Array, gaps: Flags) -> tuple[Indices, list[str], list[float | None]]:
    """Bins with about as many rows each, of the feature and its knockoff together;
    equal values share a bin.
    """
    present = both[~gaps]
    count = int(np.clip(len(x) // ROWS_PER_BIN, 2, TENTHS))
    ends = np.unique(np.quantile(present, np.arange(1, count) / count, method="lower"))
    ends = ends[ends < present.max()]
    which = np.searchsorted(ends, both)
    own = np.where(gaps, -1, which)[: len(x)]
    inside = [x[own == k] for k in range(len(ends) + 1)]
    places = [float(some.mean()) if len(some) else None for some in inside]
    lows, highs = (
        np.array([end(some) if len(some) else np.nan for some in inside])
        for end in (np.min, np.max)
    )
    # No two ranges begin or end alike in words, and none ends where it begins.
    digits = max(map(digits_apart, [lows, highs, *np.stack([lows, highs], axis=1)]))
    labels = [
        f"{a:.{digits}g}" if a == b else f"{a:.{digits}g} to {b:.{digits}g}"
        for a, b in zip(lows.tolist(), highs.tolist(), strict=True)
    ]
    return which, labels, places


def digits_apart(values: Array, least: int = 4) -> int:
    """Return how many digits it takes to tell different numbers apart, at least so many.

    >>> digits_apart(np.array([2459001.5, 2459002.5]))
    8
    """
    distinct = np.unique(values[~np.isnan(values)]).tolist()
    enough = (
        k
        for k in range(least, MOST_DIGITS)
        if len({f"{v:.{k}g}" for v in distinct}) == len(distinct)
    )
    return next(enough, MOST_DIGITS)


LEVEL = 0.95


def level_for_discoveries(selected: int, tested: int) -> float:
    """Return the level of intervals that are given for discoveries alone.

    Looking at selected features alone picks estimates that are too large. The level 1 - .05 R / m,
    for R of m features, bounds the expected share of intervals that miss their truth (the false
    coverage rate) for simple selections of independent estimates (Benjamini and Yekutieli, 2005).
    It is no theorem for knockoffs.

    >>> level_for_discoveries(5, 50)
    0.995
    """
    return 1 - (1 - LEVEL) * selected / tested if selected else LEVEL


@lru_cache(maxsize=256)
def standard_errors(level: float, compared: int = 2) -> float:
    """Return how many standard errors an interval reaches on each side.

    For the difference of two means that were chosen among `compared` ones by looking at them, the
    interval is simultaneous for all pairs (Tukey and Kramer).

    >>> round(standard_errors(0.95), 2), round(standard_errors(0.95, 6), 2)
    (1.96, 2.85)
    """
    return float(studentized_range.ppf(level, compared, np.inf)) / 2**0.5


class Estimate(NamedTuple):
    """A difference, its standard error, and the ends of its interval.

    Differences of shares are within `limit`, 1. An estimate beyond it is moved there, and so comes
    closer to any possible truth.
    """

    size: float
    error: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, error: float, reach: float, limit: float = np.inf) -> Estimate:
        """Return an estimate whose interval reaches so many standard errors."""
        size = np.clip(value, -limit, limit)
        low, high = np.clip([size - reach * error, size + reach * error], -limit, limit).tolist()
        return cls(float(size), error, low, high)

    @property
    def clear(self) -> bool:
        """Return whether all of the interval lies on one side of zero."""
        return self.low > 0 or self.high < 0


NO_DIRECTION, NO_DIFFERENCE = "has no clear direction", "does not clearly differ between values"
NO_CLAIMS = (NO_DIRECTION, NO_DIFFERENCE)
INSIDE = (0.15, 0.85)  # share of the rows below a turning point that makes it one


class Shape(NamedTuple):
    """A shape in words, and the change that it is about."""

    words: str
    change: Estimate | None


class _Means(NamedTuple):
    """Means in bins, their covariance, and how differences of them become estimates."""

    mean: Array
    covariance: Array
    level: float
    limit: float

    def contrast(self, weights: Array, compared: int = 2) -> Estimate:
        """Return a weighted sum of the means, which was chosen among the pairs of `compared`
        means.
        """
        error = float(np.sqrt(max(weights @ self.covariance @ weights, 0.0)))
        reach = standard_errors(self.level, compared)
        return Estimate.of(float(weights @ self.mean), error, reach, self.limit)

    def difference(self, one: int, other: int, compared: int = 2) -> Estimate:
        unit = np.eye(len(self.mean))
        return self.contrast(unit[one] - unit[other], compared)

    def only(self, bins: Indices) -> _Means:
        return self._replace(mean=self.mean[bins], covariance=self.covariance[np.ix_(bins, bins)])


def shape_of(
    mean: Array,
    covariance: Array,
    shares: Array,
    labels: tuple[str, ...],
    ordered: Flags,
    known: Flags,
    *,
    level: float = LEVEL,
    limit: float = np.inf,
) -> Shape:
    """Say what the means do.

    `shares` are those of the rows; bins that are not `known` have too few rows. No difference is
    larger than `limit`.
    """
    means = _Means(mean, covariance, level, limit)
    if ordered[known].sum() > 2:
        bins = np.flatnonzero(ordered & known)
        return _along(means.only(bins), shares[bins] / shares[bins].sum())
    bins = np.flatnonzero(known)
    return _between(means.only(bins), tuple(labels[k] for k in bins))


def _along(means: _Means, weight: Array) -> Shape:
    place = np.cumsum(weight) - weight / 2  # the share of the rows below, from 0 to 1
    powers = np.stack([np.ones(len(weight)), place - 0.5, (place - 0.5) ** 2])
    straight = np.linalg.pinv((powers[:2] * weight) @ powers[:2].T)[1] @ (powers[:2] * weight)
    turning = _turning(means, np.linalg.pinv((powers * weight) @ powers.T) @ (powers * weight))
    if turning is not None:
        return turning
    line = means.contrast(straight * (place[-1] - place[0]))
    ends = means.difference(-1, 0)
    if not line.clear:
        return Shape(NO_DIRECTION, line)
    if line.size * ends.size <= 0:  # a size beside the direction would contradict it
        return Shape(NO_DIRECTION, None)
    verb = "rise" if line.size > 0 else "fall"
    return Shape(f"{verb}s", ends) if ends.clear else Shape(f"tends to {verb}", line)


def _turning(means: _Means, fit: Array) -> Shape | None:
    """The shape of means that turn, and the smaller of their two parts;
    None where one of these is unclear.

    The highest (or lowest) bin is found by looking at all of them.
    """
    bend = means._replace(limit=np.inf).contrast(fit[2])
    turn = 0.5 - float(fit[1] @ means.mean) / (2 * bend.size) if bend.size else np.nan
    if not (bend.clear and INSIDE[0] < turn < INSIDE[1]):
        return None
    side = -np.sign(bend.size)
    peak = int(np.argmax(side * means.mean))
    parts = [means.difference(peak, end, len(means.mean)) for end in (0, -1)]
    if not all(part.clear for part in parts):
        return None
    return Shape(
        "rises, then falls" if side > 0 else "falls, then rises",
        min(parts, key=lambda p: abs(p.size)),
    )


def _between(means: _Means, labels: tuple[str, ...]) -> Shape:
    """Name the highest and the lowest level, which are found by looking at all of them."""
    if len(labels) < 2:
        return Shape("has too few rows at more than one value", None)
    high, low = int(np.argmax(means.mean)), int(np.argmin(means.mean))
    change = means.difference(high, low, len(labels))
    return Shape(higher_at(labels[high], labels[low]) if change.clear else NO_DIFFERENCE, change)


def higher_at(high: str, low: str) -> str:
    """Say which of two levels has the higher mean."""
    return f"is higher at {high!r} than at {low!r}"
