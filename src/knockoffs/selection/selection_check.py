"""Check the knockoffs of a selection, on its own rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from knockoffs.check.certificate import Certificate
from knockoffs.check.dry_run import DryRun
from knockoffs.check.examine import CHECK, MIN_ROWS, examine
from knockoffs.check.expectation import expect
from knockoffs.check.source import Source, find_source
from knockoffs.generators.any_generator import declared_by, is_generator, name_of
from knockoffs.generators.completion import complete_again
from knockoffs.runtime.arrays import Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.parallel import background
from knockoffs.runtime.progress import Job, shown_during
from knockoffs.runtime.randomness import random_generator
from knockoffs.selection.parts import COMPARE
from knockoffs.selection.statistic_choice import tossed_source
from knockoffs.statistics.draws import Draws
from knockoffs.table.table import Table
from knockoffs.targets.base import Target

LEAST_ROWS = 100


class SelectionCheck(NamedTuple):
    """What to expect of a selection, the level of its filter, and the certificate.

    There is no certificate where there are too few rows for one.
    """

    expectation: DryRun
    level: float
    certificate: Certificate | None


def check_selection(
    generator: Any,
    table: Table,
    knockoffs: Table,
    *,
    groups: Indices | None,
    conditioned: Flags,
    statistic: Any,
    fdr: float,
    offset: int,
    target: Target,
    seed: int,
    gaps: Flags | None = None,
    calibrated: bool = False,
) -> SelectionCheck:
    """Say how many false discoveries to expect, and where the knockoffs differ from exact ones.

    A function that makes knockoffs is not called again: those that it has made are checked. A level
    that is to be `calibrated` is chosen by rows of which coins have taken half from the knockoffs,
    and is no advice.

    `gaps` flags cells that were filled in. Simulated responses then depend on the rows as they are,
    and are selected for with rows whose gaps were filled in once more: what is lost with a cell,
    its proxies tell.
    """
    learned = is_generator(generator)
    source = (
        find_source(generator, table, groups)
        if learned
        else find_source((table, knockoffs), None, groups)
    )
    source = source.given(conditioned)
    # These are the rows that matter here, whether the generator was fitted on them or not.
    source = source._replace(
        subject=_subject(generator, learned, source.groups), share_of_fit=math.nan
    )
    rng = random_generator(seed)
    simulate = partial(
        expect,
        offset=offset,
        seed=int(rng.integers(2**31)),
        target=target,
        groups=source.groups,
    )
    seen = source
    if learned and gaps is not None:
        seen = _completed_again(source, gaps, generator, conditioned, seed)
    expect_of = partial(simulate, seen.table, truth=seen.truth)
    level = fdr
    if calibrated:
        chosen = seen
        if learned:  # a function may know knockoffs of X alone, so that its level is a heuristic
            toss = random_generator(seed, stream=12)
            chosen = tossed_source(
                generator, table, knockoffs, groups=groups, conditioned=conditioned, rng=toss
            )
            if gaps is not None:
                chosen = _completed_again(chosen, gaps, generator, conditioned, seed)
        (expected,) = simulate(chosen.table, chosen.draw, [statistic], truth=chosen.truth)
        level = expected.calibrated_level(fdr)
    if not enough_rows(table, groups):
        (expectation,) = expect_of(seen.draw, [statistic])
        return SelectionCheck(expectation, level, None)
    exchangeable = learned and declared_by(generator).exchangeable and not conditioned.any()
    with background(lambda: expect_of(seen.draw, [statistic])[0]) as expected:
        certificate = examine(
            source,
            expected,
            fdr,
            rng,
            expect_of=expect_of,
            seen=seen,
            exchangeable=exchangeable,
            calibrated=calibrated,
        )
        return SelectionCheck(expected(), level, certificate)


def _completed_again(
    source: Source, gaps: Flags, generator: Any, conditioned: Flags, seed: int
) -> Source:
    """The same rows with their gaps filled in once more,
    for responses that depend on them as they were.
    """
    again = complete_again(source.table, gaps, source.groups, seed)
    return (
        find_source(generator, again, source.groups).given(conditioned)._replace(truth=source.table)
    )


def may_check(certify: bool, calibrate: bool, table: Table, groups: Indices | None) -> bool:
    """Return whether to check the knockoffs of a selection;
    a caution says where there are too few rows to.
    """
    enough = enough_rows(table, groups)
    if certify and not enough and not calibrate:  # which simulates responses on any number of rows
        among = "" if groups is None else f" in {len(np.unique(groups)):,} groups"
        needed = f"{LEAST_ROWS} different rows" + (
            "" if groups is None else f" in {MIN_ROWS} groups"
        )
        caution(
            f"With {len(table):,} different rows{among} the knockoffs cannot be checked, which "
            f"takes {needed}: "
            "nothing is known of how many discoveries are false beyond what holds for exact "
            "knockoffs. Collect "
            "more rows, or pass certify=False (--no-certify) if that is accepted."
        )
    return calibrate or (certify and enough)


def enough_rows(table: Table, groups: Indices | None) -> bool:
    """Return whether there are enough rows, and groups of rows, to check knockoffs of these."""
    independent = len(table) if groups is None else len(np.unique(groups))
    return len(table) >= LEAST_ROWS and independent >= MIN_ROWS


def _subject(generator: Any, learned: bool, groups: Indices | None) -> str:
    """What is checked, in words."""
    what = name_of(generator) if learned else "knockoffs of a function"
    by = (
        ""
        if groups is None
        else f", by one row of each of {groups.max() + 1} groups and the groups' means"
    )
    return f"{what}, on the rows of the selection{by}"


def compare(
    compute: Callable[[], Draws],
    check: Callable[[], SelectionCheck] | None,
    work: Job,
) -> tuple[Draws, SelectionCheck | None]:
    """Compute the statistic of all draws; the check goes on beside it where threads may."""
    if check is None:
        work.begin(COMPARE)
        return compute(), None

    def aside() -> SelectionCheck:
        with shown_during(CHECK):
            return check()

    with background(aside) as checked:
        work.begin(COMPARE)
        found = compute()
        work.begin(CHECK)
        return found, checked()
