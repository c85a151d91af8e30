r"""Times to an event, with proportional hazards: η is the logarithm of a hazard ratio.

Given the cumulative hazard $\hat H$ of rows without features, the log-likelihood of a row is
$e_i \eta_i - \hat H(t_i) \exp \eta_i$, with $e_i = 1$ for an event. Straight lines are fitted by
Cox's partial likelihood, which needs no $\hat H$, but is no sum over rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.targets.base import PER, Likelihood, Target
from knockoffs.targets.classes import or_fewer
from knockoffs.targets.either import Either, exp
from knockoffs.targets.heavy import in_normal_scores
from knockoffs.targets.times import RiskSets, Times, median_follow_up, read_times


@dataclass(frozen=True, eq=False, kw_only=True)
class Survival(Target):
    """Right-censored times.

    Values are martingale residuals: events minus the number to expect by the time of the row, which
    are large where the event comes early.

    Attributes
    ----------
    seen : Times or None
        When each row was last seen, and whether with the event.
    exposure : array of shape (rows,)
        The number of events to expect of each row by its time.
    """

    seen: Times
    exposure: Array

    task: ClassVar[str] = "survival"
    local: ClassVar[bool] = True
    timed: ClassVar[bool] = True
    along_a_feature: ClassVar[str] = (
        "How many more events than expected by its time a row has along a feature, all other "
        "features of the table being equal, and the share of rows without the event along time "
        "(Kaplan-Meier, not adjusted) for parts of the rows; there the knockoff's curves differ as "
        "far as other features tell what this one does. A hazard ratio says how many times as "
        "often the event comes, by Cox's model of the feature and the columns that tell of it or "
        "of the event."
    )
    strength_unit: ClassVar[str] = ", in units of that of events minus expected ones"

    @classmethod
    def of(cls, times: Times) -> Self:
        """Return the target of survival times."""
        exposure = times.exposure
        name = f"time to {times.event_name}"
        return cls(times.event - exposure, name, seen=times, exposure=exposure)

    @classmethod
    def read(cls, y: Any, *, rows: int, who: str) -> Self:
        return cls.of(read_times(y, rows=rows, who=who))

    @classmethod
    def example(cls) -> Self:
        """Times of which half are censored."""
        return cls.of(Times(np.array([1.0, 2.0]), np.array([True, False])))

    @property
    def times(self) -> Times:
        return self.seen

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of censored rows and of events."""
        events = float(self.seen.event.mean())
        return 1 - events, events

    @property
    def observed(self) -> Array:
        """Events and exposures."""
        return np.stack([self.seen.event.astype(np.float64), self.exposure], axis=1)

    def start(self) -> Array:
        return np.zeros(1)

    def log_density(self, observed: Either, eta: Either) -> Either:
        own = eta[..., 0, :]
        return observed[:, 0] * own - observed[:, 1] * exp(own)

    def score(self, eta: Array) -> Array:
        return self.seen.event[:, None] - self.exposure[:, None] * np.exp(eta)

    def information(self, eta: Array) -> Array:
        return (self.exposure[:, None] * np.exp(eta))[:, :, None]

    def simulate(self, eta: Array, rng: np.random.Generator) -> Self:
        """Draw times up to which hazards add up to an exponential number;
        the time under observation is that of another row, whatever its features.
        """
        hazard = rng.standard_exponential(len(eta)) / np.exp(eta[:, 0])
        order = np.argsort(self.seen.time, kind="stable")
        time, baseline = self.seen.time[order], self.exposure[order]
        number = np.searchsorted(baseline, hazard)
        comes = number < len(order)
        due = time[np.minimum(number, len(order) - 1)]
        end = np.where(self.seen.event, np.inf, self.seen.time)[rng.permutation(len(eta))]
        event, last = comes & (due <= end), np.minimum(due, end)
        exposure = baseline[np.searchsorted(time, last, side="right") - 1]
        seen = self.seen._replace(time=last, event=event)
        return replace(self, values=event - exposure, given=None, seen=seen, exposure=exposure)

    def imitated(self, response: Array, seed: int) -> Self:
        """Return times to an event that comes the earlier the larger the response is.

        Times that do not depend on it censor the same share of the rows. Only the order of times
        matters to statistics, so minus the response is as good a time as any.
        """
        rng = np.random.default_rng([seed, len(response)])
        others = rng.permutation(-response)
        end = others + np.quantile(-response - others, self.shares[-1])
        event = -response <= end
        first = np.minimum(-response, end)
        return type(self).of(Times(first - first.min(), event))

    def of_lines(self) -> Likelihood:
        """Return Cox's partial likelihood."""
        return PartialLikelihood(self.seen)

    def rows(self, index: Indices) -> Self:
        own = super().rows(index)
        return replace(own, seen=self.seen.rows(index), exposure=self.exposure[index])

    def strata(self, folds: int) -> Array | None:
        """Return the events, where there are enough."""
        if min(np.bincount(self.seen.event, minlength=2)) < folds:
            return None
        return self.seen.event.astype(np.float64)

    def check(self, name: str, folds: int, *, grouped: bool) -> None:
        events = int(self.seen.event.sum())
        if events < folds:
            raise ValueError(
                f"{name}={folds} needs as many rows with the event; there "
                f"{'is' if events == 1 else 'are'} {events}. "
                f"Collect more{or_fewer(name, events)}."
            )

    @property
    def telling_rows(self) -> int:
        return int(self.seen.event.sum())

    @property
    def as_given(self) -> tuple[Array, ...]:
        """The times and the events."""
        return self.seen.time, self.seen.event.astype(np.float64)

    def to_native(self) -> NDArray[Any]:
        """Return a structured array of events and times."""
        fields = np.dtype([("event", bool), ("time", np.float64)])
        return np.array([*zip(self.seen.event, self.seen.time, strict=True)], dtype=fields)

    @property
    def described(self) -> str:
        """What y is, in words.

        >>> times = Times(np.array([1.0, 2.0, 9.0]), np.array([True, True, False]))
        >>> Survival.of(times).described
        '2 of 3 rows have the event, median follow-up 9'
        """
        return (
            f"{self.telling_rows:,} of {len(self):,} rows have the event, median follow-up "
            f"{median_follow_up(self.seen):.4g}"
        )

    def meaning_of_effects(self) -> str:
        scores = "normal scores of " if in_normal_scores(self.values) else ""
        return (
            "An effect says by how many standard deviations events exceed those to expect by the "
            "time of a row "
            f"({scores}martingale residuals of the {self.called}) {PER}: above 0 the event comes "
            f"earlier, below 0 later."
        )


class PartialLikelihood(Likelihood):
    """Cox's partial likelihood, per row."""

    local: ClassVar[bool] = True

    def __init__(self, times: Times) -> None:
        self._times, self._risk_sets = times, RiskSets(times)

    def rows(self, index: Indices) -> Self:
        return type(self)(self._times.rows(index))

    def start(self) -> Array:
        return np.zeros(1)

    def score(self, eta: Array) -> Array:
        return self._risk_sets.residuals(eta[:, 0])[:, None]

    def loss(self, eta: Array) -> float:
        return self._risk_sets.minus_log_likelihood(eta[:, 0]) / len(eta)

    def held_out_loss(self, eta: Array, seen: Self, train: Indices, test: Indices) -> float:
        """Return how much the likelihood of all rows is below that of the rows seen (Verweij and
        van Houwelingen, 1993).

        Held-out rows alone would have few others at risk beside them.
        """
        return (self.loss(eta) * len(eta) - seen.loss(eta[train]) * len(train)) / len(test)

    def steepest(self, z: Array) -> float:
        """Return the bound for coefficients near 0:
        rows weigh as many events as are expected of them.
        """
        weight = self._times.event[:, None] - self.score(np.zeros((len(z), 1)))
        return max(float(np.linalg.eigvalsh(z.T @ (weight * z) / len(z))[-1]), 1e-12)
