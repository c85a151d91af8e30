"""Check the knockoffs of a selection, on its own rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from knockoffs.arrays import Flags, Indices
from knockoffs.cautions import caution
from knockoffs.diagnostics.certificate import Certificate
from knockoffs.diagnostics.check import MIN_ROWS, expect_and_examine
from knockoffs.diagnostics.expectation import Expectation, expect
from knockoffs.diagnostics.source import find_source
from knockoffs.engine.training import Report
from knockoffs.generators.base import is_generator, unfrozen
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.randomness import random_generator
from knockoffs.statistics.problem import Task
from knockoffs.tables import Table

LEAST_ROWS = 100


class SelectionCheck(NamedTuple):
    """What to expect of a selection, and the certificate; None where there are too few rows for one."""

    expectation: Expectation
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
    task: Task,
    shares: Sequence[float],
    seed: int,
    calibrated: bool = False,
    n_jobs: int | None = None,
    threads: int = 1,
    report: Report | None = None,
) -> SelectionCheck:
    """Say how many false discoveries to expect, and where the knockoffs differ from exact ones.

    A function that makes knockoffs is not called again: those that it has made are checked. Where the level is to
    be `calibrated`, that is no advice.
    """
    learned = is_generator(generator)
    source = find_source(generator, table, groups) if learned else find_source((table, knockoffs), None, groups)
    source = source.given(conditioned)
    # These are the rows that matter here, whether the generator was fitted on them or not.
    source = source._replace(subject=_subject(generator, learned, source.groups), share_of_fit=math.nan)
    rng = random_generator(seed)
    expect_of = partial(
        expect,
        table,
        offset=offset,
        seed=int(rng.integers(2**31)),
        task=task,
        shares=shares,
        groups=source.groups,
        n_jobs=n_jobs,
    )
    if not enough_rows(table, groups):
        (expectation,) = expect_of(source.draw, [statistic], report=report)
        return SelectionCheck(expectation, None)
    exchangeable = learned and not isinstance(unfrozen(generator), GaussianKnockoffs) and not conditioned.any()
    found = expect_and_examine(
        source,
        statistic,
        fdr,
        rng,
        expect_of=expect_of,
        threads=threads,
        exchangeable=exchangeable,
        calibrated=calibrated,
        report=report,
    )
    return SelectionCheck(*found)


def may_check(certify: bool, calibrate: bool, table: Table, groups: Indices | None) -> bool:
    """Return whether to check the knockoffs of a selection; a caution says where there are too few rows to."""
    enough = enough_rows(table, groups)
    if certify and not enough and not calibrate:  # which simulates responses on any number of rows
        among = "" if groups is None else f" in {len(np.unique(groups)):,} groups"
        needed = f"{LEAST_ROWS} different rows" + ("" if groups is None else f" in {MIN_ROWS} groups")
        caution(
            f"With {len(table):,} different rows{among} the knockoffs cannot be checked, which takes {needed}: "
            "nothing is known of how many discoveries are false beyond what holds for exact knockoffs. Collect "
            "more rows, or pass certify=False (--no-certify) if that is accepted."
        )
    return calibrate or (certify and enough)


def enough_rows(table: Table, groups: Indices | None) -> bool:
    """Return whether there are enough rows, and groups of rows, to check knockoffs of these."""
    independent = len(table) if groups is None else len(np.unique(groups))
    return len(table) >= LEAST_ROWS and independent >= MIN_ROWS


def _subject(generator: Any, learned: bool, groups: Indices | None) -> str:
    """What is checked, in words."""
    what = type(unfrozen(generator)).__name__ if learned else "knockoffs of a function"
    by = "" if groups is None else f", by one row of each of {groups.max() + 1} groups and the groups' means"
    return f"{what}, on the rows of the selection{by}"
