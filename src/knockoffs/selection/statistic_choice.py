r"""`statistic="auto"`: the statistic that finds most among those expected to hold the level.

By the toss of a coin each feature is taken from X or from its knockoffs:

$$x'_j = x_j \text{ or } \tilde x_j .$$

If a feature that does not matter trades places with its knockoff and its coin is turned over, x'
stays as it is. So for exact knockoffs the signs of the w of such features are fair coins whatever
is chosen by looking at x', responses that are simulated on it, and fresh knockoffs of it. Choices
by X itself have no such proof: to swap a feature changes X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from knockoffs.check.dry_run import Rate, simulate
from knockoffs.check.expectation import expect
from knockoffs.check.source import Source, find_source
from knockoffs.runtime.arrays import Flags, Indices
from knockoffs.runtime.randomness import random_generator
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.table.design import aligned
from knockoffs.table.table import Table
from knockoffs.targets.base import Target

CANDIDATES: tuple[Callable[[], Statistic], ...] = (HoldoutStatistic, LassoStatistic)
ERRORS = 2  # standard errors by which a level may be exceeded


class StatisticChoice(NamedTuple):
    """The statistic that was chosen, and why."""

    statistic: Statistic
    reason: str


class _Candidate(NamedTuple):
    statistic: Statistic
    expected: Rate
    power: float

    @property
    def holds(self) -> bool:
        return self.expected.fdp - ERRORS * self.expected.fdp_error <= self.expected.level

    def __str__(self) -> str:
        held = "holds" if self.holds else "exceeds"
        return (
            f"{type(self.statistic).__name__} {held} it ({self.expected.fdp:.2f} ± "
            f"{self.expected.fdp_error:.2f}) "
            f"and finds {self.power:.0%}"
        )


def choose_statistic(
    generator: Any,
    table: Table,
    knockoffs: Table,
    *,
    conditioned: Flags,
    fdr: float,
    offset: int,
    target: Target,
    groups: Indices | None,
    seed: int,
) -> StatisticChoice:
    """Choose by responses that are simulated on rows that coins have taken from X and its
    knockoffs.

    So the choice costs no validity (`tossed`); y has no part in it but for its type and the shares
    of its classes. False discoveries are those of `expect`; the relevant features found are those
    of the statistics themselves, for one response of each kind.
    """
    rng = random_generator(seed, stream=11)
    source = tossed_source(
        generator, table, knockoffs, groups=groups, conditioned=conditioned, rng=rng
    )
    statistics = [make() for make in CANDIDATES]
    expected = expect(
        source.table,
        source.draw,
        statistics,
        offset=offset,
        seed=seed,
        target=target,
        groups=groups,
    )
    level = (expected[0].judged(fdr) or expected[0].rate(fdr)).level
    candidates = []
    for statistic, of_statistic in zip(statistics, expected, strict=True):
        found = simulate(
            source.table,
            source.draw,
            statistic,
            replicates=1,
            offset=offset,
            rng=np.random.default_rng(seed + 1),  # the same responses and knockoffs for all
            target=target,
            groups=groups,
        )
        candidates.append(_Candidate(statistic, of_statistic.rate(level), found.rate(level).power))
    return _best(candidates)


def _best(candidates: Sequence[_Candidate]) -> StatisticChoice:
    """The most power among those that hold the level; where none does,
    the fewest false discoveries.
    """
    holding = [own for own in candidates if own.holds]
    chosen = (
        max(holding, key=lambda own: own.power)
        if holding
        else min(candidates, key=lambda o: o.expected.fdp)
    )
    figures = "; ".join(map(str, candidates))
    return StatisticChoice(
        chosen.statistic,
        f"{type(chosen.statistic).__name__} was chosen by responses simulated on X at level "
        f"{chosen.expected.level:.2g}: {figures} of the relevant features.",
    )


def tossed_source(
    generator: object,
    table: Table,
    knockoffs: Table,
    *,
    groups: Indices | None,
    conditioned: Flags,
    rng: np.random.Generator,
) -> Source:
    """Return rows that coins have chosen, of which a generator draws fresh knockoffs."""
    rows, _ = exchanged(table, knockoffs, rng.random(len(table.units)) < 1 / 2)
    return find_source(generator, rows, groups).given(conditioned)


def exchanged(table: Table, knockoffs: Table, coins: Flags) -> tuple[Table, Table]:
    """Let some features, one coin for each, trade places with their knockoffs."""
    x, x_tilde = aligned(table, knockoffs, who="simulated responses")
    swapped = coins[table.units.of]
    return (
        x.with_codes(np.where(swapped, x_tilde.codes, x.codes)),
        x_tilde.with_codes(np.where(swapped, x.codes, x_tilde.codes)),
    )
