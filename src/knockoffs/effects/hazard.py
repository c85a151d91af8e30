"""How the event comes along a feature: hazard ratios by Cox's model, and survival curves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.effects.bins import (
    MISSING,
    Bins,
    Estimate,
    digits_apart,
    in_deviations,
    standard_errors,
)
from knockoffs.effects.result import HazardRatio, SurvivalCurves
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.targets.times import FARTHEST, RiskSets, Times, kaplan_meier

STEPS, TOLERANCE = 25, 1e-8
STEEPEST = 5.0  # of a coefficient in a step
# penalty of columns that are adjusted for: between a feature and a copy of it, it decides
LIGHT = 1.0
LEAST_EVENTS = 5  # of a level that is compared with another
DIGITS = 4


class _Contrast(NamedTuple):
    """Columns of a feature; the first coefficient is described,
    which was chosen among `compared` levels.
    """

    columns: Array
    per: str
    compared: int = 2
    levels: tuple[str, str] | None = None


def hazard_ratio(
    values: Array,
    bins: Bins,
    mean: Array,
    others: Array,
    times: Times,
    *,
    ordered: bool,
    level: float,
    groups: Indices | None = None,
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
        Columns in standard units to adjust for.
    times : Times
        The times of the rows.
    ordered : bool
        Whether the values have an order.
    level : float
        The level of the interval.
    groups : array of int, default=None
        Rows that belong together; standard errors are by groups then.

    Returns
    -------
    HazardRatio or None
        None where there is nothing to compare, or where the likelihood has no maximum.
    """
    contrast = _per_deviation(values) if ordered else _between_levels(bins, mean, times)
    found = None if contrast is None else cox_fit(contrast.columns, times, others, groups)
    if contrast is None or found is None:
        return None
    estimate = Estimate.of(*found, standard_errors(level, contrast.compared))
    if max(-estimate.low, estimate.high) >= FARTHEST:  # the feature and the times are in one order
        return None
    ratio, low, high = (
        float(f"{np.exp(b):.{DIGITS}g}") for b in (estimate.size, estimate.low, estimate.high)
    )
    return HazardRatio(contrast.per, ratio, low, high, contrast.levels)


def _per_deviation(values: Array) -> _Contrast | None:
    line = in_deviations(values)
    if not line.any():
        return None
    return _Contrast(np.stack([line, np.isnan(values)], axis=1), "standard deviation")


def _between_levels(bins: Bins, mean: Array, times: Times) -> _Contrast | None:
    events = np.bincount(bins.x, times.event, len(bins.labels))
    known = [
        k for k, label in enumerate(bins.labels) if label != MISSING and events[k] >= LEAST_EVENTS
    ]
    if len(known) < 2:
        return None
    high, low = max(known, key=lambda k: mean[k]), min(known, key=lambda k: mean[k])
    rest = [k for k in range(len(bins.labels)) if k not in (high, low)]
    columns = (bins.x[:, None] == np.array([high, *rest])).astype(np.float64)
    levels = bins.labels[high], bins.labels[low]
    return _Contrast(columns, f"{levels[0]!r} against {levels[1]!r}", len(known), levels)


def cox_fit(
    own: Array, times: Times, others: Array | None = None, groups: Indices | None = None
) -> tuple[float, float] | None:
    """Return the first coefficient of Cox's model and its standard error; None without any.

    Newton's method, with steps that are halved until the likelihood grows. Columns that do not vary
    are left out. The columns `own` have no penalty, `others` a light one.
    """
    if not own[:, 0].std() > 0:
        return None
    others = np.empty((len(own), 0)) if others is None else others
    z = np.hstack([own, others])
    varies = z.std(0) > 0
    penalty = np.repeat([0.0, LIGHT], [own.shape[1], others.shape[1]])[varies]
    z = z[:, varies] - z[:, varies].mean(0)
    likelihood = _Penalised(z, RiskSets(times), penalty)
    b = np.zeros(z.shape[1])
    loss = likelihood.loss(b)
    for _ in range(STEPS):
        step = likelihood.covariance(b) @ likelihood.slope(b)
        step *= min(1.0, STEEPEST / max(float(np.abs(step * z.std(0)).max()), 1e-300))
        while (new := likelihood.loss(b + step)) > loss + TOLERANCE:
            step = step / 2
        b, before, loss = b + step, loss, new
        if before - loss <= TOLERANCE:
            # Coefficients vary more than the information says, as in regressions: by the degrees of
            # freedom used.
            events = int(times.event.sum())
            variance = likelihood.variance_of_first(b, groups) * (
                events / max(events - z.shape[1], 1)
            )
            return float(b[0]), float(np.sqrt(max(variance, 0.0)))
    return None


class _Penalised(NamedTuple):
    """The partial likelihood of some columns with a ridge penalty for each."""

    z: Array
    risk_sets: RiskSets
    penalty: Array

    def loss(self, b: Array) -> float:
        return self.risk_sets.minus_log_likelihood(self.z @ b) + float(self.penalty @ b**2) / 2

    def slope(self, b: Array) -> Array:
        return self.z.T @ self.risk_sets.residuals(self.z @ b) - self.penalty * b

    def covariance(self, b: Array) -> Array:
        information = self.risk_sets.information(self.z, self.z @ b) + np.diag(self.penalty)
        return np.linalg.pinv(information, rcond=1e-10, hermitian=True)

    def variance_of_first(self, b: Array, groups: Indices | None) -> float:
        """By the information, or by the scores of groups of rows (Lin and Wei)."""
        covariance = self.covariance(b)
        if groups is None:
            return float(covariance[0, 0])
        by_row = self.risk_sets.score_residuals(self.z, self.z @ b) @ covariance[0]
        by_group = np.bincount(groups, by_row)
        by_penalty = float(self.penalty @ covariance[0] ** 2)
        return float((by_group**2).sum()) * len(by_group) / max(len(by_group) - 1, 1) + by_penalty


MOST_LEVELS = 4  # that have a curve
MOST_STEPS = 1000  # of a curve
CURVE_DIGITS = 6


def survival_curves(
    x: Array, x_tilde: Array, bins: Bins, times: Times, *, ordered: bool
) -> tuple[SurvivalCurves, ...]:
    """Return the share of rows without the event along time,
    for the low and the high half or for each level.
    """
    found = []
    for label, own, other in _parts(x, x_tilde, bins, ordered):
        if own.sum() and other.sum():
            curves = [_steps(times.rows(np.flatnonzero(rows))) for rows in (own, other)]
            found.append(SurvivalCurves(label, int(own.sum()), *curves[0], *curves[1]))
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
    frequent = np.argsort(-np.bincount(bins.x, minlength=len(bins.labels)), kind="stable")[
        :MOST_LEVELS
    ]
    return [(bins.labels[k], bins.x == k, bins.x_tilde == k) for k in sorted(frequent.tolist())]


def _steps(times: Times) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The times of events with the shares from then on, and the last observation.

    Of more than `MOST_STEPS` steps those are kept that pass the next of as many equal parts of the
    way down. The share is exact at each of them, and less than such a part, .001, above the exact
    one between them.
    """
    time, share = kaplan_meier(times)
    falls = np.diff(share, prepend=1.0) < 0
    if falls.sum() > MOST_STEPS:
        part = np.ceil(MOST_STEPS * (1 - share))
        falls &= np.diff(part, prepend=0.0) > 0
    falls[-1] = True
    return tuple(time[falls].tolist()), tuple(
        float(f"{s:.{CURVE_DIGITS}g}") for s in share[falls].tolist()
    )
