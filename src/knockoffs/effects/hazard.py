"""What a feature does to the time of an event: a hazard ratio by Cox's model, and shares without the event."""

from __future__ import annotations

import numpy as np

from knockoffs.arrays import Array, Flags, Indices
from knockoffs.effects.bins import MISSING, Bins
from knockoffs.effects.result import HazardRatio, SurvivalCurves
from knockoffs.statistics.survival import RiskSets, Times, kaplan_meier

INTERVAL = 1.96  # standard errors
STEPS, TOLERANCE = 25, 1e-8
STEEPEST = 5.0  # of a coefficient in a step
LEAST_EVENTS = 5  # of a level that is compared with another
MOST_LEVELS = 4  # that have a curve
POINTS = 80  # of a curve
DIGITS = 4


def hazard_ratio(
    values: Array, bins: Bins, mean: Array, others: Array, times: Times, *, ordered: bool
) -> HazardRatio | None:
    """Return the ratio of hazards per standard deviation, or of the highest and the lowest level.

    Parameters
    ----------
    values : array of shape (rows,)
        The feature's codes; nan for a missing cell, which has a coefficient of its own.
    bins : Bins
        The bin of each row.
    mean : array of shape (bins,)
        The adjusted mean of y in each bin, by which the levels to compare are chosen.
    others : array of shape (rows, any)
        What other features say of the hazard; adjusted for.
    times : Times
        The times of the rows.
    ordered : bool
        Whether the values have an order.

    Returns
    -------
    HazardRatio or None
        None where there is nothing to compare, or where the likelihood has no maximum.
    """
    gaps, levels = np.isnan(values), None
    if ordered:
        deviation = values[~gaps].std()
        if not deviation > 0:
            return None
        line = np.where(gaps, 0.0, (values - values[~gaps].mean()) / deviation)
        columns, per = np.stack([line, gaps], axis=1), "standard deviation"
    else:
        events = np.bincount(bins.x, times.event, len(bins.labels))
        known = [k for k, label in enumerate(bins.labels) if label != MISSING and events[k] >= LEAST_EVENTS]
        if len(known) < 2:
            return None
        high, low = max(known, key=lambda k: mean[k]), min(known, key=lambda k: mean[k])
        rest = [k for k in range(len(bins.labels)) if k not in (high, low)]
        columns = (bins.x[:, None] == np.array([high, *rest])).astype(np.float64)
        levels = bins.labels[high], bins.labels[low]
        per = f"{levels[0]!r} against {levels[1]!r}"
    found = cox_fit(np.hstack([columns, others]), times)
    if found is None:
        return None
    b, error = found
    ratio, low_end, high_end = (float(f"{np.exp(b + sign * INTERVAL * error):.{DIGITS}g}") for sign in (0, -1, 1))
    return HazardRatio(per, ratio, low_end, high_end, levels)


def cox_fit(z: Array, times: Times) -> tuple[float, float] | None:
    """Return the first coefficient of Cox's model of a few columns and its standard error; None without any.

    Newton's method, with steps that are halved until the likelihood grows. Columns that do not vary are left out.
    """
    z = z[:, z.std(0) > 0] if z[:, 0].std() > 0 else z[:, :0]
    if z.shape[1] == 0:
        return None
    z = z - z.mean(0)
    risk_sets = RiskSets(times)
    b, loss = np.zeros(z.shape[1]), risk_sets.minus_log_likelihood(np.zeros(len(z)))
    for _ in range(STEPS):
        information = risk_sets.information(z, z @ b)
        step = np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ (z.T @ risk_sets.residuals(z @ b))
        step *= min(1.0, STEEPEST / max(float(np.abs(step * z.std(0)).max()), 1e-300))
        while (new := risk_sets.minus_log_likelihood(z @ (b + step))) > loss + TOLERANCE:
            step = step / 2
        b, before, loss = b + step, loss, new
        if before - loss <= TOLERANCE:
            covariance = np.linalg.pinv(risk_sets.information(z, z @ b), rcond=1e-10, hermitian=True)
            return float(b[0]), float(np.sqrt(max(covariance[0, 0], 0.0)))
    return None


def survival_curves(
    x: Array, x_tilde: Array, bins: Bins, times: Times, *, ordered: bool
) -> tuple[SurvivalCurves, ...]:
    """Return the share of rows without the event along time, for the low and the high half or for each level."""
    grid = np.unique(np.quantile(times.time, np.linspace(0, 1, POINTS), method="lower"))
    found = []
    for label, own, other in _parts(x, x_tilde, bins, ordered):
        if own.sum() and other.sum():
            sides = (_shares(times.rows(np.flatnonzero(rows)), grid) for rows in (own, other))
            found.append(SurvivalCurves(label, int(own.sum()), _plain(grid), *map(_plain, sides)))
    return tuple(found)


def _parts(x: Array, x_tilde: Array, bins: Bins, ordered: bool) -> list[tuple[str, Flags, Flags]]:
    """Rows of a feature, and those of its knockoff, whose curves are compared."""
    if ordered:
        middle = float(np.nanmedian(x))
        middle = middle if (x > middle).any() else float(x[x < middle].max())
        return [
            (f"up to {middle:.4g}", x <= middle, x_tilde <= middle),
            (f"above {middle:.4g}", x > middle, x_tilde > middle),
        ]
    frequent = np.argsort(-np.bincount(bins.x, minlength=len(bins.labels)), kind="stable")[:MOST_LEVELS]
    return [(bins.labels[k], bins.x == k, bins.x_tilde == k) for k in sorted(frequent.tolist())]


def _shares(times: Times, grid: Array) -> Array:
    curve = kaplan_meier(times)
    place: Indices = np.searchsorted(curve.time, grid, side="right")
    return np.append(1.0, curve.survival)[place]


def _plain(values: Array) -> tuple[float, ...]:
    return tuple(float(f"{value:.{DIGITS}g}") for value in values.tolist())
