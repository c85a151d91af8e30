"""From the statistics of all draws to the finished selection, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from knockoffs.check.certificate import Certificate
from knockoffs.check.dry_run import DryRun, Rate
from knockoffs.filtering.filter import combine_draws, draw_threshold
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.notebook import described
from knockoffs.runtime.versions import versions_in_use
from knockoffs.schema.words import amount, counted, listing
from knockoffs.selection.explanation import explain_selection, next_steps
from knockoffs.selection.result import UNBOUNDED, MissingHandling, RowHandling, Selection
from knockoffs.statistics.any_statistic import declared_by
from knockoffs.table.table import Table, given_kinds
from knockoffs.targets.base import Target


def conclude(
    ws: Array,
    *,
    table: Table,
    conditioned: Flags,
    target: Target,
    missing: MissingHandling,
    kinds: Mapping[Any, str] | None,
    level: float,
    fdr: float,
    offset: int,
    calibrated: bool,
    keep_at_least: int,
    generator: Any,
    statistic: Any,
    expectation: DryRun | None,
    twins: Sequence[tuple[str, str]],
    groups: int | None,
    row_handling: RowHandling,
    seed: int,
) -> Selection:
    """Filter the statistics of the tested features at `level`, and say what was found of a target.

    `conditioned` flags columns.
    """
    units, columns = table.units, table.schema.names
    # the table's are also those of text
    given = given_kinds(kinds, table.names, len(columns), "KnockoffSelector")
    names, conditioned = units.names, units.all_of(conditioned)
    tested = ~conditioned
    ws = np.where(tested, ws, 0.0)  # what is not tested counts in no guarantee
    selected, evalues = np.zeros(len(tested), dtype=bool), np.zeros(len(tested))
    selected[tested], evalues[tested] = combine_draws([*ws[:, tested]], level, offset=offset)
    thresholds = np.array([draw_threshold(w[tested], level, len(ws), offset=offset) for w in ws])
    explanation = explain_selection(
        ws[:, tested], selected[tested], evalues[tested], level, offset=offset
    )
    if calibrated:
        explanation += (
            f" This level was calibrated for fdr={fdr:g} by simulated responses, a heuristic."
        )
    found = int(selected.sum())
    expected_false = None
    if expectation is not None and found and len(ws) == 1:
        expected_false = found * expectation.false_share(level)
        explanation += _about_false(expected_false, found, fdr, expectation.rate(level))
    advice: list[str] = []
    if not found:
        power = None if expectation is None else expectation.rate(level).power
        of_tested = [name for name, own in zip(names, tested, strict=True) if own]
        advice = next_steps(
            ws[:, tested],
            evalues[tested],
            of_tested,
            level,
            rows=len(target.values),
            twins=twins,
            power=power,
            testable=groups is None and units.single,
            offset=offset,
        )
    declared = declared_by(statistic)
    return Selection(
        names=tuple(names),
        selected=selected,
        evalues=evalues,
        frequency=(ws >= thresholds[:, None]).mean(0),
        draws=ws,
        thresholds=thresholds,
        fdr=float(fdr),
        level=level,
        offset=int(offset),
        task=target.task if declared.task == "auto" else declared.task,
        rows=len(target.values),
        generator=described(generator),
        statistic=described(statistic),
        groups=groups,
        row_handling=row_handling,
        exact=False if row_handling == UNBOUNDED else declared.exact,
        seed=seed,
        explanation=explanation,
        expected_false=expected_false,
        target=target.name,
        target_kind=target.described,
        conditioned=tuple(name for name, own in zip(names, conditioned, strict=True) if own),
        versions=versions_in_use(),
        kept=_kept(names, ws.mean(0), selected, tested, keep_at_least),
        advice=tuple(advice),
        twins=tuple(twins),
        feature_groups=units.groups(columns),
        missing=missing,
        kinds={columns[j]: kind for j, kind in given.items()},
    )


def _about_false(expected: float, found: int, fdr: float, rate: Rate) -> str:
    """Say how many of the selected features to expect to be false, beside what was accepted."""
    accepted = accepted_on_average(expected, found, fdr, rate)
    return f" Expect about {amount(expected)} of these {found} to be false; {accepted}."


def accepted_on_average(expected: float, found: int, fdr: float, rate: Rate | None) -> str:
    """Say how many false ones of those found were accepted; `rate` is what to expect at the level,
    where known.

    The level is one of the mean over all answers, and an empty answer has no false discoveries:
    where many answers are empty, the others may have more than the level, and that is said.
    """
    said = f"you accepted {amount(fdr * found)} on average"
    if rate is not None and expected > fdr * found and rate.fdp <= fdr:
        said += (
            f" over all answers, of which {1 - rate.selecting:.0%} are empty for simulated "
            f"responses"
        )
    return said


def _kept(
    names: Sequence[str], w: Array, selected: Flags, tested: Flags, least: int
) -> tuple[str, ...]:
    """Return the features with the largest w that are kept beside the selected ones,
    until there are enough.
    """
    best = [names[j] for j in np.argsort(-w, kind="stable") if tested[j] and not selected[j]]
    return tuple(best[: max(0, least - int(selected.sum()))])


def warn_of_kept(selection: Selection, keep_at_least: int) -> None:
    """Warn of features that are kept although they are not selected."""
    if selection.kept:
        caution(
            f"keep_at_least={keep_at_least} keeps {listing(list(selection.kept))} without any "
            f"guarantee: the "
            "share of false ones among these is not bounded."
        )


def warn_of_nothing(selection: Selection) -> None:
    if not selection.selected.any():
        caution(
            f"Nothing is selected at fdr={selection.fdr:g}: the selection's explanation says why, "
            f"and its advice "
            "what to do next."
        )


def warn_of_certificate(found: Certificate | None) -> None:
    """Warn of a check that the knockoffs did not pass."""
    if found is not None and found.verdict != "pass":
        more = len(found.reasons) - 1 + len(found.advice)
        pointer = f" The certificate says more ({counted(more, 'sentence')})." if more else ""
        caution(f"Check of the knockoffs: {found.verdict}. {found.reasons[0]}{pointer}")
