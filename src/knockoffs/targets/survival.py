r"""Survival times: when each row was last seen, and whether the event had come by then.

All of it depends on the order of the times alone, so that a monotone transformation of time changes no bit of it.
The cumulative hazard that rows would have if no feature told anything of y is the Nelson-Aalen estimate
$\hat H(t) = \sum_{t_k \le t} d_k / n_k$, with $d_k$ events among the $n_k$ rows at risk at time $t_k$.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices

FARTHEST = 200.0  # between log hazards


class Times(NamedTuple):
    """Right-censored times.

    Attributes
    ----------
    time : array of shape (rows,)
        The time of the event, or that up to which it had not come.
    event : array of bool of shape (rows,)
        Whether the event was seen; False for a censored row.
    event_name : str
        What the event is called.
    """

    time: Array
    event: Flags
    event_name: str = "event"

    def rows(self, index: Indices) -> Self:
        return self._replace(time=self.time[index], event=self.event[index])

    @property
    def exposure(self) -> Array:
        r"""The number of events to expect of each row by its time, $\hat H(t_i)$."""
        return RiskSets(self).cumulative_hazard(np.ones(len(self.time)))

    @property
    def residuals(self) -> Array:
        """Martingale residuals: events minus the number to expect, with mean 0."""
        return self.event - self.exposure


class RiskSets:
    """Who is at risk at the time of each event, for the Cox model with Breslow's treatment of equal times."""

    def __init__(self, times: Times) -> None:
        self.event = times.event.astype(np.float64)
        self._order = np.argsort(times.time, kind="stable")
        distinct, self._place = np.unique(times.time, return_inverse=True)
        self._starts = np.searchsorted(times.time[self._order], distinct)
        self._events = np.bincount(self._place, self.event)  # at each distinct time

    def cumulative_hazard(self, weight: Array) -> Array:
        """Return Breslow's estimate at the time of each row, of a baseline whose hazard has weight 1."""
        return np.cumsum(self._events / self._at_risk(weight))[self._place]

    def minus_log_likelihood(self, score: Array) -> float:
        """Return minus the log of the partial likelihood of scores (log hazard ratios), the sum over events."""
        logs = np.log(self._at_risk(_weights(score))) + score.max()
        return float(self._events @ logs - self.event @ score)

    def residuals(self, score: Array) -> Array:
        """Return martingale residuals, which are the slope of the log partial likelihood along the scores."""
        weight = _weights(score)
        return self.event - weight * self.cumulative_hazard(weight)

    def information(self, z: Array, score: Array) -> Array:
        """Return minus the second derivative of the log partial likelihood by the coefficients of columns z."""
        weight = _weights(score)
        total = self._at_risk(weight)
        mean = self._at_risk(weight[:, None] * z) / total[:, None]
        return (z * (weight * self.cumulative_hazard(weight))[:, None]).T @ z - (
            mean * self._events[:, None]
        ).T @ mean

    def score_residuals(self, z: Array, score: Array) -> Array:
        """Return each row's part in the slope of the log partial likelihood by the coefficients of columns z."""
        weight = _weights(score)
        total = self._at_risk(weight)
        mean = self._at_risk(weight[:, None] * z) / total[:, None]
        passed = np.cumsum((self._events / total)[:, None] * mean, axis=0)
        own = self.residuals(score)[:, None] * z
        return own - self.event[:, None] * mean[self._place] + weight[:, None] * passed[self._place]

    def _at_risk(self, weight: Array) -> Array:
        """The sum of the weights of the rows at risk at each distinct time."""
        return np.cumsum(weight[self._order][::-1], axis=0)[::-1][self._starts]


def _weights(score: Array) -> Array:
    """Hazards in units of the largest; none so small that the sum over the last rows at risk would be 0."""
    return np.exp(np.maximum(score - score.max(), -FARTHEST))


class SurvivalCurve(NamedTuple):
    """The Kaplan-Meier estimate: `survival` from each of the times on, until the next."""

    time: Array
    survival: Array

    def median(self) -> float | None:
        """The first time at which at most half are left; None where more than half are to the end."""
        below = np.flatnonzero(self.survival <= 0.5)
        return float(self.time[below[0]]) if len(below) else None


def kaplan_meier(times: Times) -> SurvivalCurve:
    """Estimate the share of rows without the event along time."""
    distinct, place = np.unique(times.time, return_inverse=True)
    events = np.bincount(place, times.event, len(distinct))
    at_risk = np.cumsum(np.bincount(place)[::-1])[::-1]
    return SurvivalCurve(distinct, np.cumprod(1 - events / at_risk))


def median_follow_up(times: Times) -> float:
    """Return the median time under observation: events end it early, so they are taken for censored ones here."""
    reverse = kaplan_meier(times._replace(event=~times.event))
    middle = reverse.median()
    return float(times.time.max()) if middle is None else middle
