"""What means do along bins, in words: they rise, fall, turn, or differ between levels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.arrays import Array, Flags, Indices

CLEAR = 2.0  # standard errors
NO_DIRECTION, NO_DIFFERENCE = "has no clear direction", "does not clearly differ between values"
NO_CLAIMS = (NO_DIRECTION, NO_DIFFERENCE)
INSIDE = (0.15, 0.85)  # share of the rows below a turning point that makes it one


class Shape(NamedTuple):
    """A shape in words, and the change that it is about: highest minus lowest, or last minus first bin."""

    words: str
    change: float | None
    error: float | None


def shape_of(
    mean: Array, covariance: Array, shares: Array, labels: tuple[str, ...], ordered: Flags, known: Flags
) -> Shape:
    """Say what the means do. `shares` are those of the rows; bins that are not `known` have too few rows."""
    in_order = np.flatnonzero(ordered & known)
    if ordered[known].sum() > 2:
        return _along(mean, covariance, shares, in_order)
    return _between(mean, covariance, labels, np.flatnonzero(known))


def _along(mean: Array, covariance: Array, shares: Array, bins: Indices) -> Shape:
    weight = shares[bins] / shares[bins].sum()
    place = np.cumsum(weight) - weight / 2  # the share of the rows below, from 0 to 1
    powers = np.stack([np.ones(len(bins)), place - 0.5, (place - 0.5) ** 2])
    fit = np.linalg.pinv((powers * weight) @ powers.T) @ (powers * weight)
    straight = np.linalg.pinv((powers[:2] * weight) @ powers[:2].T)[1] @ (powers[:2] * weight)
    own, own_covariance = mean[bins], covariance[np.ix_(bins, bins)]
    slope, bend = float(straight @ own), float(fit[2] @ own)
    slope_z, bend_z = (_ratio(contrast, own, own_covariance) for contrast in (straight, fit[2]))
    turn = 0.5 - float(fit[1] @ own) / (2 * bend) if bend else np.nan
    change, error = _difference(mean, covariance, int(bins[-1]), int(bins[0]))
    if abs(bend_z) >= CLEAR and INSIDE[0] < turn < INSIDE[1] and _turns(own, own_covariance, place, turn, bend):
        peak = int(bins[np.argmax(own) if bend < 0 else np.argmin(own)])
        end = min((int(bins[0]), int(bins[-1])), key=lambda k: abs(mean[peak] - mean[k]))
        size = _difference(mean, covariance, peak, end)
        return Shape("rises, then falls" if bend < 0 else "falls, then rises", *size)
    if abs(slope_z) >= CLEAR and change * np.sign(slope) >= CLEAR * error:
        return Shape("rises" if slope > 0 else "falls", change, error)
    if (
        abs(slope_z) >= CLEAR and change * slope > 0
    ):  # else the ends, whose difference is said, contradict the line
        return Shape("tends to rise" if slope > 0 else "tends to fall", change, error)
    return Shape(NO_DIRECTION, change, error)


def _turns(mean: Array, covariance: Array, place: Array, turn: float, bend: float) -> bool:
    """Return whether both ends differ clearly from the middle, on the side that the bend says."""
    middle = np.abs(place - turn) == np.abs(place - turn).min()
    for end in (place == place.min(), place == place.max()):
        contrast = middle / middle.sum() - end / end.sum()
        if _ratio(contrast, mean, covariance) * -np.sign(bend) < CLEAR:
            return False
    return True


def _between(mean: Array, covariance: Array, labels: tuple[str, ...], bins: Indices) -> Shape:
    """Name the highest and the lowest level."""
    if len(bins) < 2:
        return Shape("has too few rows at more than one value", None, None)
    high, low = int(bins[np.argmax(mean[bins])]), int(bins[np.argmin(mean[bins])])
    change, error = _difference(mean, covariance, high, low)
    if change < CLEAR * error:
        return Shape(NO_DIFFERENCE, change, error)
    return Shape(higher_at(labels[high], labels[low]), change, error)


def higher_at(high: str, low: str) -> str:
    """Say which of two levels has the higher mean."""
    return f"is higher at {high!r} than at {low!r}"


def _difference(mean: Array, covariance: Array, one: int, other: int) -> tuple[float, float]:
    variance = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
    return float(mean[one] - mean[other]), float(np.sqrt(max(variance, 0.0)))


def _ratio(contrast: Array, mean: Array, covariance: Array) -> float:
    error = float(np.sqrt(max(contrast @ covariance @ contrast, 0.0)))
    return float(contrast @ mean) / error if error > 0 else 0.0
