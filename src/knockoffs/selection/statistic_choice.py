"""`statistic="auto"`: the statistic that finds most among those that are expected to hold the level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from knockoffs.check.dry_run import Rate, simulate
from knockoffs.check.expectation import expect
from knockoffs.runtime.arrays import Flags, Indices
from knockoffs.runtime.randomness import random_generator
from knockoffs.runtime.reports import Report
from knockoffs.selection.tossed import tossed_source
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.table.table import Table
from knockoffs.targets.target import Target

AUTO = "auto"
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
            f"{type(self.statistic).__name__} {held} it ({self.expected.fdp:.2f} ± {self.expected.fdp_error:.2f}) "
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
    n_jobs: int | None,
    report: Report | None,
) -> StatisticChoice:
    """Choose by responses that are simulated on rows that coins have taken from X and its knockoffs.

    So the choice costs no validity (`tossed`); y has no part in it but for its type and the shares of its classes.
    False discoveries are those of `expect`; the relevant features found are those of the statistics themselves,
    for one response of each kind.
    """
    rng = random_generator(seed, stream=11)
    source = tossed_source(generator, table, knockoffs, groups=groups, conditioned=conditioned, rng=rng)
    statistics = [make() for make in CANDIDATES]
    expected = expect(
        source.table,
        source.draw,
        statistics,
        offset=offset,
        seed=seed,
        task=target.task,
        shares=target.shares,
        groups=groups,
        n_jobs=n_jobs,
        report=report,
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
            task=target.task,
            groups=groups,
            shares=target.shares,
            n_jobs=n_jobs,
            report=report,
        )
        candidates.append(_Candidate(statistic, of_statistic.rate(level), found.rate(level).power))
    return _best(candidates)


def _best(candidates: Sequence[_Candidate]) -> StatisticChoice:
    """The most power among those that hold the level; where none does, the fewest false discoveries."""
    holding = [own for own in candidates if own.holds]
    chosen = max(holding, key=lambda own: own.power) if holding else min(candidates, key=lambda o: o.expected.fdp)
    figures = "; ".join(map(str, candidates))
    return StatisticChoice(
        chosen.statistic,
        f"{type(chosen.statistic).__name__} was chosen by responses simulated on X at level "
        f"{chosen.expected.level:.2g}: {figures} of the relevant features.",
    )
