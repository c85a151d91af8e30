"""Adjusted means in the bins of a feature, and what they say, as plain numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.effects.bins import MISSING, Bins
from knockoffs.effects.intervals import Estimate, standard_errors
from knockoffs.effects.regression import Adjusted
from knockoffs.effects.result import Curve
from knockoffs.effects.shape import shape_of
from knockoffs.runtime.arrays import Array, Flags

LEAST_ROWS = 5  # of a bin that is described
DIGITS = 6


class Explained(NamedTuple):
    """A column of y that is described.

    Attributes
    ----------
    output : int
        Its number.
    of : str or None
        The class that it stands for.
    scale : float
        How far y varies.
    unit : float
        What y was divided by, so that squares of very large or small numbers are numbers, too.
    lowest, highest : float
        How far y may be below and above its mean: a share is within 0 and 1.
    """

    output: int
    of: str | None
    scale: float
    unit: float
    lowest: float
    highest: float


def curve_of(found: Adjusted, bins: Bins, what: Explained, level: float) -> Curve:
    """Return the curve of one column of y along a feature, with intervals of this level."""
    count = len(bins.labels)
    sides = []
    for start, which in ((0, bins.x), (count, bins.x_tilde)):
        own = slice(start, start + count)
        rows = np.bincount(which, minlength=count)
        shares = rows / rows.sum()
        centred = np.eye(count) - shares  # the mean over rows is 0
        mean = centred @ found.coefficients[own, what.output]
        covariance = centred @ found.covariances[what.output, own, own] @ centred.T
        known = rows >= LEAST_ROWS
        sides.append((mean, covariance, shares, known))
    mean, covariance, shares, known = sides[0]
    limit = what.highest - what.lowest  # of differences
    ordered = np.array(bins.ordered)
    shape = shape_of(mean, covariance, shares, bins.labels, ordered, known, level=level, limit=limit)
    missing = _where_missing(mean, covariance, shares, bins, known, level, limit)
    (plain, errors), (plain_tilde, errors_tilde) = (
        (
            _known(np.clip(m, what.lowest, what.highest) * what.unit, k),
            _known(np.sqrt(np.maximum(np.diag(v), 0.0)) * what.unit, k),
        )
        for m, v, _, k in sides
    )
    strengths = [short(float(np.sqrt((s * m**2 * k).sum())) / what.scale) for m, _, s, k in sides]
    return Curve(
        of=what.of,
        mean=plain,
        error=errors,
        knockoff=plain_tilde,
        knockoff_error=errors_tilde,
        **_named("change", shape.change, what.unit),
        **_named("missing", missing, what.unit),
        strength=strengths[0],
        knockoff_strength=strengths[1],
        shape=shape.words,
    )


def _named(name: str, found: Estimate | None, unit: float) -> dict[str, float | None]:
    """An estimate as fields of a curve."""
    if found is None:
        return dict.fromkeys((name, f"{name}_error", f"{name}_low", f"{name}_high"))
    size, error, low, high = (short(v * unit) for v in (found.size, found.error, found.low, found.high))
    return {name: size, f"{name}_error": error, f"{name}_low": low, f"{name}_high": high}


def _where_missing(
    mean: Array, covariance: Array, shares: Array, bins: Bins, known: Flags, level: float, limit: float
) -> Estimate | None:
    """The mean where the feature is missing minus that of all other rows."""
    if bins.labels[-1] != MISSING or not known[-1] or shares[-1] == 1:
        return None
    others = 1 / (1 - shares[-1])  # the mean over all rows is 0
    error = float(np.sqrt(max(covariance[-1, -1], 0.0))) * others
    return Estimate(float(mean[-1]) * others, error, standard_errors(level), limit)


def _known(values: Array, known: Flags) -> tuple[float | None, ...]:
    return tuple(short(v) if k else None for v, k in zip(values.tolist(), known, strict=True))


def short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
