"""How many discoveries to expect to be false, and what else could be done about it.

Many responses whose relevant features are known are simulated on the rows of the selection
themselves, and selected for with fresh draws of its knockoffs. Straight lines stand in for the
statistic, which take no time: one factorisation per model serves all responses.
docs/how/certificate.md says how well they predict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from knockoffs.check.dry_run import ANY_QUANTITY, KINDS, DryRun, Rate, simulated_response
from knockoffs.check.source import Source, like
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import collect_cautions
from knockoffs.runtime.parallel import in_parallel
from knockoffs.runtime.progress import report_stage
from knockoffs.statistics.any_statistic import declared_by
from knockoffs.statistics.group_effects import subtract_group_means
from knockoffs.statistics.problem import Problem
from knockoffs.statistics.registry import STATISTICS
from knockoffs.table.design import aligned, copied_features, expand, paired_design
from knockoffs.table.table import Table
from knockoffs.targets.base import Target

DRAWS, RESPONSES = 4, 40  # draws of knockoffs, and simulated responses for each of them


def expect(
    table: Table,
    draw_knockoffs: Callable[[int], Any],
    statistics: Sequence[Any],
    *,
    offset: int,
    seed: int,
    target: Target = ANY_QUANTITY,
    groups: Indices | None = None,
    truth: Table | None = None,
) -> list[DryRun]:
    """Simulate responses of all kinds on the rows of a table,
    and select for them with quick statistics.

    Returns what to expect of each of the statistics, of which all see the same responses.

    Parameters
    ----------
    table : Table
        The rows.
    draw_knockoffs : callable
        Returns knockoffs of the rows by a seed, as a `Table` or as a table like X.
    statistics : sequence of objects
        The statistics that are to be stood in for.
    offset : int
        The offset of the filter.
    seed : int
        The same seed gives the same responses and draws of knockoffs, whatever the statistics.
    target : Target, default=ANY_QUANTITY
        What responses are like: they have the same footing, such as the shares of classes or of
        events.
    groups : array of int, default=None
        The group of each row. Each group adds a normal number of its own to the response.
    truth : Table, default=None
        What responses depend on, where that is not what is seen: the same rows before cells were
        filled in.
    """
    kinds = (*KINDS,) * (RESPONSES // len(KINDS))
    seeds = np.random.default_rng(seed).integers(2**31, size=DRAWS).tolist()
    tasks = ((like(table, draw_knockoffs(own)), own) for own in seeds)
    shared = (table, table if truth is None else truth, kinds, statistics, target, groups)
    ws, truths = [], []
    for done, (w, relevant) in enumerate(in_parallel(_of_a_draw, tasks, shared=shared), start=1):
        ws.append(w)
        truths.append(relevant)
        report_stage("simulated responses", done, DRAWS)
    return [
        DryRun(own, np.concatenate(truths), kinds * DRAWS, offset, statistic)
        for own, statistic in zip(np.concatenate(ws, axis=1), statistics, strict=True)
    ]


def _of_a_draw(
    table: Table,
    truth: Table,
    kinds: Sequence[str],
    statistics: Sequence[Any],
    target: Target,
    groups: Indices | None,
    knockoffs: Table,
    seed: int,
) -> tuple[Array, Flags]:
    """Return w of each statistic and response, `[statistics, responses, features]`,
    and the relevant features.
    """
    design = expand(truth.schema, truth.codes, units=truth.units)
    # what is told in the place of lost cells is seen where features that have lost some are
    # relevant
    first = ~table.units.all_of((truth.codes == table.codes).all(0)) if truth is not table else None
    responses = [
        simulated_response(design, kind, seed + k, groups, first)
        for k, kind in enumerate(kinds, start=1)
    ]
    targets = [target.imitated(own.y, seed + k) for k, own in enumerate(responses, start=1)]
    problem, y = _problem(table, knockoffs, targets, groups)
    ws = np.stack(
        [declared_by(own).stand_in()(problem, y, np.random.default_rng(seed)) for own in statistics]
    )
    relevant = np.stack([response.relevant for response in responses])
    return np.where(copied_features(table, knockoffs), 0.0, ws), relevant


def _problem(
    table: Table, knockoffs: Table, targets: Sequence[Target], groups: Indices | None
) -> tuple[Problem, Array]:
    """Rows as statistics see them, and the responses beside them."""
    design = paired_design(*aligned(table, knockoffs, who="check of the knockoffs"))
    y = np.stack([target.values for target in targets], axis=1)
    problem = Problem.of(design, targets[0], groups).in_standard_units()
    if groups is None or not targets[0].quadratic:
        return problem, y
    x, x_tilde, y = (
        subtract_group_means(part, groups, 1.0) for part in (problem.x, problem.x_tilde, y)
    )
    return problem._replace(x=x, x_tilde=x_tilde), y


# times the expected share of false discoveries: an alternative must be at least that much better
BETTER = 0.9


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
    """Yield alternatives that are expected to have fewer false discoveries: how to ask for them,
    and the rate.

    Parameters
    ----------
    expectation : DryRun
        What to expect as things are.
    fdr : float
        The level asked for; figures are those of the level that is judged, which is higher where
        that one seldom selects anything.
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
        yield (
            f"a filter at level {lower:.2g} (calibrate=True, --calibrate)",
            expectation.rate(lower),
        )
    alternative = declared_by(expectation.statistic).alternative
    other = STATISTICS[alternative]()
    rate = expect_of(source.draw, [other])[0].rate(now.level)
    if _is_better(rate, now):
        yield f"{type(other).__name__}() (--statistic {alternative})", rate
    if exchangeable and source.groups is None:
        with collect_cautions():
            model = GaussianKnockoffs().fit(source.table)

            drawn = expect_of(
                lambda seed: model.sample(source.table, random_state=seed), [expectation.statistic]
            )
            rate = drawn[0].rate(now.level)
        if _is_better(rate, now):
            yield "GaussianKnockoffs() (--generator gaussian)", rate


def _is_better(other: Rate, now: Rate) -> bool:
    """Return whether fewer discoveries are false; to find nothing at all is no remedy."""
    return other.selecting > 0 and other.fdp < BETTER * now.fdp
