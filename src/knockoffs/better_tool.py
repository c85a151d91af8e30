"""Whether a randomisation test would serve better than the knockoff filter, by what the filter has found."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from knockoffs.filtering import counts_beyond


def fewest_discoveries(level: float, offset: int = 1) -> int:
    """Return the fewest features that the filter can select at a level, if any.

    >>> fewest_discoveries(0.1), fewest_discoveries(0.3), fewest_discoveries(0.1, offset=0)
    (10, 4, 1)
    """
    return max(1, math.ceil(offset / level - 1e-9))


def plausible_discoveries(w: ArrayLike) -> int:
    """Return how many more features than their knockoffs stand out, where that is most.

    For each size t the number of features with w ≥ t, less that of those with w ≤ -t, estimates how many relevant
    ones are among the former.

    >>> plausible_discoveries([9, 8, 7, -2, 1, -1])
    3
    """
    _, above, below = counts_beyond(w)
    return int(np.max(above - below, initial=0))


def recommend_tests(w: ArrayLike, level: float, offset: int = 1) -> str | None:
    """Return why p-values would serve better than the filter that selected nothing, or None.

    That is so where something stands out, but fewer features than the filter could report at this level.

    Parameters
    ----------
    w : array-like of float
        One statistic per feature.
    level : float
        The level of the filter.
    offset : int, default=1
        The offset of the filter.
    """
    plausible, fewest = plausible_discoveries(w), fewest_discoveries(level, offset)
    if not 0 < plausible < fewest:
        return None
    return (
        f"At level {level:g} the filter reports at least {fewest} features or none, and about {plausible} stand "
        "out here. Randomisation tests can report a single feature: RandomizationTest, or knockoffs test."
    )
