"""A feature and its knockoff in bins: levels where it has few, else tenths of its rows, and missing cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.schema import Column

MOST_LEVELS = 12
TENTHS = 10
MOST_DIGITS = 17  # that a number has
ROWS_PER_BIN = 25  # of a quantity in a small table
MISSING, OTHERS = "missing", "others"


def within_bins(values: Array, which: Indices) -> Array:
    """Return how far values and their squares lie from the mean of their bin, `[rows, 2]`; 0 where one is missing.

    Beside a column for each bin they say what happens within bins. Else other features that resemble this one
    would be credited with that, and the differences between bins would look smaller than they are.
    """
    gaps = np.isnan(values)
    filled = np.where(gaps, 0.0, values)
    deviation = filled[~gaps].std() if not gaps.all() else 0.0
    z = (filled - filled[~gaps].mean()) / deviation if deviation > 0 else np.zeros(len(values))
    powers = np.where(gaps, 0.0, np.stack([z, z**2]))
    counts = np.maximum(np.bincount(which), 1)
    return np.stack([power - (np.bincount(which, power) / counts)[which] for power in powers], axis=1)


class Bins(NamedTuple):
    """The bin of each row, for a feature and for its knockoff.

    Attributes
    ----------
    x, x_tilde : array of int of shape (rows,)
        The bin of each row.
    labels : tuple of str
        What each bin holds, in words.
    places : tuple of float or None
        The mean of the feature's values in each bin of a quantity; None for levels and for missing cells.
    ordered : tuple of bool
        Whether the bin has a place among the others: not a missing cell, nor a level without an order.
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
    if column.levels is not None or column.kind == "nominal" or len(values) <= MOST_LEVELS:
        which, labels, places = _levels(column, both, values, counts)
    else:
        which, labels, places = _tenths(both, x, gaps)
    ordered = [column.kind != "nominal" and label != OTHERS for label in labels]
    if gaps.any():
        which = np.where(gaps, len(labels), which)
        labels, places, ordered = [*labels, MISSING], [*places, None], [*ordered, False]
    first, second = np.split(which, 2)
    return Bins(first, second, tuple(labels), tuple(places), tuple(ordered))


def _levels(
    column: Column, both: Array, values: Array, counts: Indices
) -> tuple[Indices, list[str], list[float | None]]:
    """A bin for each level; the rarest ones share one."""
    kept = values
    if len(values) > MOST_LEVELS:
        kept = values[np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1])]
    digits = digits_apart(kept, least=6)
    labels = [f"{value:.{digits}g}" if column.levels is None else str(column.levels[int(value)]) for value in kept]
    place = np.searchsorted(kept, both)  # a missing cell comes last
    own = np.isin(both, kept)
    if len(kept) < len(values):
        labels.append(OTHERS)
    return np.where(own, place, len(kept)), labels, [None] * len(labels)


def _tenths(both: Array, x: Array, gaps: Flags) -> tuple[Indices, list[str], list[float | None]]:
    """Bins with about as many rows each, of the feature and its knockoff together; equal values share a bin."""
    present = both[~gaps]
    count = int(np.clip(len(x) // ROWS_PER_BIN, 2, TENTHS))
    ends = np.unique(np.quantile(present, np.arange(1, count) / count, method="lower"))
    ends = ends[ends < present.max()]
    which = np.searchsorted(ends, both)
    own = which[: len(x)][~gaps[: len(x)]]
    kept = x[~gaps[: len(x)]]
    inside = [kept[own == k] for k in range(len(ends) + 1)]
    places = [float(some.mean()) if len(some) else None for some in inside]
    lows, highs = (np.array([end(some) if len(some) else np.nan for some in inside]) for end in (np.min, np.max))
    return which, _ranges(lows, highs), places


def _ranges(lows: Array, highs: Array) -> list[str]:
    """Ranges in words; no two begin or end alike, and none ends where it begins."""
    digits = max(digits_apart(lows), digits_apart(highs), *map(digits_apart, np.stack([lows, highs], axis=1)))
    return [
        f"{a:.{digits}g}" if a == b else f"{a:.{digits}g} to {b:.{digits}g}"
        for a, b in zip(lows.tolist(), highs.tolist(), strict=True)
    ]


def digits_apart(values: Array, least: int = 4) -> int:
    """Return how many digits it takes to tell different numbers apart, at least so many.

    >>> digits_apart(np.array([2459001.5, 2459002.5]))
    8
    """
    distinct = np.unique(values[~np.isnan(values)]).tolist()
    enough = (k for k in range(least, MOST_DIGITS) if len({f"{v:.{k}g}" for v in distinct}) == len(distinct))
    return next(enough, MOST_DIGITS)
