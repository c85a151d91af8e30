"""How far intervals reach: their level, and an estimate with its ends."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import studentized_range

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
