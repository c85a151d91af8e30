"""The share of rows without the event along time, for parts of the rows."""

from __future__ import annotations

import numpy as np

from knockoffs.effects.bins import Bins, digits_apart
from knockoffs.effects.result import SurvivalCurves
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.targets.survival import Times, kaplan_meier

MOST_LEVELS = 4  # that have a curve
MOST_STEPS = 1000  # of a curve
DIGITS = 6


def survival_curves(
    x: Array, x_tilde: Array, bins: Bins, times: Times, *, ordered: bool
) -> tuple[SurvivalCurves, ...]:
    """Return the share of rows without the event along time, for the low and the high half or for each level."""
    found = []
    for label, own, other in _parts(x, x_tilde, bins, ordered):
        if own.sum() and other.sum():
            sides = (_steps(times.rows(np.flatnonzero(rows))) for rows in (own, other))
            (time, share), (knockoff_time, knockoff) = sides
            found.append(SurvivalCurves(label, int(own.sum()), time, share, knockoff_time, knockoff))
    return tuple(found)


def _parts(x: Array, x_tilde: Array, bins: Bins, ordered: bool) -> list[tuple[str, Flags, Flags]]:
    """Rows of a feature, and those of its knockoff, whose curves are compared."""
    if ordered:
        middle = float(np.nanmedian(x))
        middle = middle if (x > middle).any() else float(x[x < middle].max())
        said = f"{middle:.{digits_apart(np.array([np.nanmin(x), middle, np.nanmax(x)]))}g}"
        return [
            (f"up to {said}", x <= middle, x_tilde <= middle),
            (f"above {said}", x > middle, x_tilde > middle),
        ]
    frequent = np.argsort(-np.bincount(bins.x, minlength=len(bins.labels)), kind="stable")[:MOST_LEVELS]
    return [(bins.labels[k], bins.x == k, bins.x_tilde == k) for k in sorted(frequent.tolist())]


def _steps(times: Times) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The times of events with the shares from then on, and the last observation.

    Of more than `MOST_STEPS` steps those are kept that pass the next of as many equal parts of the way down. The
    share is exact at each of them, and less than such a part, .001, above the exact one between them.
    """
    time, share = kaplan_meier(times)
    falls = np.diff(share, prepend=1.0) < 0
    if falls.sum() > MOST_STEPS:
        part = np.ceil(MOST_STEPS * (1 - share))
        falls &= np.diff(part, prepend=0.0) > 0
    falls[-1] = True
    return tuple(time[falls].tolist()), tuple(float(f"{s:.{DIGITS}g}") for s in share[falls].tolist())
