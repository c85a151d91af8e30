"""What else could be done about too many false discoveries, and what to expect of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from knockoffs.arrays import Indices
from knockoffs.cautions import collect_cautions
from knockoffs.diagnostics.dry_run import Rate
from knockoffs.diagnostics.expectation import Expectation
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.statistics.crossfit import CrossFitted
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.tables import Table

Expect = Callable[[Callable[[int], Any]], Expectation]  # what to expect of knockoffs that are drawn by a seed
BETTER = 0.9  # times the expected share of false discoveries: an alternative must be at least that much better


def find_alternatives(
    expectation: Expectation, fdr: float, *, table: Table, groups: Indices | None, expect_of: Expect | None
) -> Iterator[tuple[str, Rate]]:
    """Yield alternatives that are expected to have fewer false discoveries: how to ask for them, and the rate.

    Parameters
    ----------
    expectation : Expectation
        What to expect as things are.
    fdr : float
        The level asked for.
    table : Table
        The rows.
    groups : array of int or None
        The group of each row; other generators are tried for independent rows alone.
    expect_of : callable or None
        Returns what to expect of other knockoffs; None where the generator cannot be exchanged.
    """
    now = expectation.rate(fdr)
    level = expectation.calibrated_level(fdr)
    if level < fdr:
        yield f"a filter at level {level:.2g} (calibrate=True, --calibrate)", expectation.rate(level)
    held_out = isinstance(expectation.statistic, CrossFitted)
    other = LassoStatistic() if held_out else HoldoutStatistic()
    rate = replace(expectation, statistic=other).rate(fdr)
    if rate.fdp < BETTER * now.fdp:
        yield f"{type(other).__name__}() (--statistic {'lasso' if held_out else 'mixture'})", rate
    if groups is None and expect_of is not None:
        with collect_cautions():
            model = GaussianKnockoffs().fit(table)
            rate = expect_of(lambda seed: model.sample(table, random_state=seed)).rate(fdr)
        if rate.fdp < BETTER * now.fdp:
            yield "GaussianKnockoffs() (--generator gaussian)", rate
