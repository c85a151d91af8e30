"""What means do along bins, in words, and how far the intervals of their differences reach.

Means rise, fall, turn, or differ between levels.
Nothing is claimed that the interval beside it does not support.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import studentized_range

from knockoffs.runtime.arrays import Array, Flags, Indices

LEVEL = 0.95


def level_for_discoveries(selected: int, tested: int) -> float:
    """Return the level of intervals that are given for discoveries alone.

    Looking at selected features alone picks estimates that are too large. The level 1 - .05 R / m, for R of m
    features, bounds the expected share of intervals that miss their truth (the false coverage rate) for simple
    selections of independent estimates (Benjamini and Yekutieli, 2005). It is no theorem for knockoffs.

    >>> level_for_discoveries(5, 50)
    0.995
    """
    return 1 - (1 - LEVEL) * selected / tested if selected else LEVEL


@lru_cache(maxsize=256)
def standard_errors(level: float, compared: int = 2) -> float:
    """Return how many standard errors an interval reaches on each side.

    For the difference of two means that were chosen among `compared` ones by looking at them, the interval is
    simultaneous for all pairs (Tukey and Kramer).

    >>> round(standard_errors(0.95), 2), round(standard_errors(0.95, 6), 2)
    (1.96, 2.85)
    """
    return float(studentized_range.ppf(level, compared, np.inf)) / 2**0.5


class Estimate(NamedTuple):
    """A difference, its standard error, and the standard errors that its interval reaches.

    Differences of shares are within `limit`, 1. An estimate beyond it is moved there, and so comes closer to any
    possible truth.
    """

    value: float
    error: float
    reach: float
    limit: float = np.inf

    @property
    def size(self) -> float:
        return self._within(self.value)

    @property
    def low(self) -> float:
        return self._within(self.size - self.reach * self.error)

    @property
    def high(self) -> float:
        return self._within(self.size + self.reach * self.error)

    @property
    def clear(self) -> bool:
        """Return whether all of the interval lies on one side of zero."""
        return self.low > 0 or self.high < 0

    def _within(self, value: float) -> float:
        return float(np.clip(value, -self.limit, self.limit))


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
        """Return a weighted sum of the means, which was chosen among the pairs of `compared` means."""
        error = float(np.sqrt(max(weights @ self.covariance @ weights, 0.0)))
        return Estimate(float(weights @ self.mean), error, standard_errors(self.level, compared), self.limit)

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

    `shares` are those of the rows; bins that are not `known` have too few rows. No difference is larger than
    `limit`.
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
    """The shape of means that turn, and the smaller of their two parts; None where one of these is unclear.

    The highest (or lowest) bin is found by looking at all of them.
    """
    bend = means._replace(limit=np.inf).contrast(fit[2])
    turn = 0.5 - float(fit[1] @ means.mean) / (2 * bend.value) if bend.value else np.nan
    if not (bend.clear and INSIDE[0] < turn < INSIDE[1]):
        return None
    side = -np.sign(bend.value)
    peak = int(np.argmax(side * means.mean))
    parts = [means.difference(peak, end, len(means.mean)) for end in (0, -1)]
    if not all(part.clear for part in parts):
        return None
    return Shape("rises, then falls" if side > 0 else "falls, then rises", min(parts, key=lambda p: abs(p.size)))


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
