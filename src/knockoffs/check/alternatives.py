"""What else could be done about too many false discoveries, and what to expect of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from knockoffs.check.dry_run import DryRun, Rate
from knockoffs.check.source import Source
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.runtime.cautions import collect_cautions
from knockoffs.statistics.crossfit import CrossFitted
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.lasso import LassoStatistic

BETTER = 0.9  # times the expected share of false discoveries: an alternative must be at least that much better


# What to expect of each of some statistics, with draws of knockoffs by a seed.
Expect = Callable[[Callable[[int], Any], list[Any]], list[DryRun]]


def find_alternatives(
    expectation: DryRun,
    fdr: float,
    *,
    source: Source,
    expect_of: Expect,
    exchangeable: bool,
    calibrated: bool = False,
) -> Iterator[tuple[str, Rate]]:
    """Yield alternatives that are expected to have fewer false discoveries: how to ask for them, and the rate.

    Parameters
    ----------
    expectation : DryRun
        What to expect as things are.
    fdr : float
        The level asked for; figures are those of the level that is judged, which is higher where that one seldom
        selects anything.
    source : Source
        The rows and their knockoffs.
    expect_of : callable
        Returns what to expect of other knockoffs and statistics.
    exchangeable : bool
        Whether another generator could be used; these are tried for independent rows alone.
    calibrated : bool, default=False
        Whether the level of the filter is calibrated as it is, which is then no alternative.
    """
    now = expectation.judged(fdr) or expectation.rate(fdr)
    lower = expectation.calibrated_level(fdr)
    if not calibrated and lower < now.level == fdr:
        yield f"a filter at level {lower:.2g} (calibrate=True, --calibrate)", expectation.rate(lower)
    held_out = isinstance(expectation.statistic, CrossFitted)
    other = LassoStatistic() if held_out else HoldoutStatistic()
    rate = expect_of(source.draw, [other])[0].rate(now.level)
    if _is_better(rate, now):
        yield f"{type(other).__name__}() (--statistic {'lasso' if held_out else 'mixture'})", rate
    if exchangeable and source.groups is None:
        with collect_cautions():
            model = GaussianKnockoffs().fit(source.table)

            def draw(seed: int) -> Any:
                return model.sample(source.table, random_state=seed)

            rate = expect_of(draw, [expectation.statistic])[0].rate(now.level)
        if _is_better(rate, now):
            yield "GaussianKnockoffs() (--generator gaussian)", rate


def _is_better(other: Rate, now: Rate) -> bool:
    """Return whether fewer discoveries are false; to find nothing at all is no remedy."""
    return other.selecting > 0 and other.fdp < BETTER * now.fdp
