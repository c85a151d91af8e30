"""A dry run: responses simulated on the user's own rows, so that false discoveries can be counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from knockoffs.arrays import Array, Flags, Indices
from knockoffs.cautions import collect_cautions
from knockoffs.datasets.responses import Response, liang_response, linear_response
from knockoffs.design import Design, expand
from knockoffs.engine.training import Report
from knockoffs.filtering import fdp, knockoff_select, power
from knockoffs.statistics.base import Task
from knockoffs.tables import Table, read_table

LEVELS = (0.05, 0.1, 0.2, 0.3)
AMPLITUDE = 10.0  # of the linear response, over √rows: large enough to find most features, not all
MOST_RELEVANT = 20


class Rate(NamedTuple):
    """False discovery proportion and power at one level, means over simulated responses with standard errors."""

    response: str
    level: float
    fdp: float
    fdp_error: float
    power: float
    power_error: float


@dataclass(frozen=True, eq=False)
class DryRun:
    """Statistics w of simulated responses and which features these depend on, `[replicates, features]` each."""

    ws: dict[str, Array]
    relevant: dict[str, Flags]
    offset: int = 1

    def rates(self, levels: Sequence[float] = LEVELS) -> list[Rate]:
        return [self._rate(response, level) for response in self.ws for level in levels]

    def _rate(self, response: str, level: float) -> Rate:
        selections = [knockoff_select(w, level, offset=self.offset) for w in self.ws[response]]
        pairs = list(zip(selections, self.relevant[response], strict=True))
        false, found = (np.array([score(*pair) for pair in pairs]) for score in (fdp, power))
        return Rate(response, level, *_mean_and_error(false), *_mean_and_error(found))

    def calibrated_level(self, fdr: float) -> float:
        """The largest level up to `fdr` whose expected FDP, plus its standard error, is at most `fdr`.

        For every kind of response. A heuristic: the true response may be harder than the simulated ones. With
        exact knockoffs the level is lowered in more than half of the runs, since few responses are simulated.
        """
        levels = [fdr, *(fdr * twentieths / 20 for twentieths in range(19, 0, -1))]
        held = (level for level in levels if all(r.fdp + r.fdp_error <= fdr for r in self.rates([level])))
        return next(held, levels[-1])


def simulate(
    X: Any,
    draw_knockoffs: Callable[[int], Any],
    statistic: Any,
    *,
    replicates: int,
    offset: int,
    rng: np.random.Generator,
    task: Task = "regression",
    groups: Indices | None = None,
    class_shares: Sequence[float] = (0.5, 0.5),
    n_jobs: int | None = None,
    report: Report | None = None,
) -> DryRun:
    """Compute w for simulated responses of the rows of X, for classification cut into classes of these shares.

    Knockoffs are drawn anew for each by `draw_knockoffs(seed)`, as a `Table` or as a table like X. With `groups`
    (the group of each row) each group adds a normal number of its own to the response, as large as the noise.
    """
    table = read_table(X, who="dry run")
    design = expand(table.schema, table.codes)
    kinds = _kinds(feature_scores(design, 0))
    tasks = [(kind, int(rng.integers(2**31))) for _ in range(replicates) for kind in kinds]
    work = (
        delayed(_replicate)(
            table,
            _like(table, draw_knockoffs(seed)),
            _with_classes(respond(feature_scores(design, seed), kind, seed, groups), task, class_shares),
            statistic,
            task,
            groups,
            seed,
        )
        for kind, seed in tasks
    )
    ws: dict[str, list[Array]] = {kind: [] for kind in kinds}
    relevant: dict[str, list[Flags]] = {kind: [] for kind in kinds}
    results: Iterator[Any] = Parallel(n_jobs, return_as="generator")(work)
    for done, ((kind, _), (w, truth)) in enumerate(zip(tasks, results, strict=True), start=1):
        ws[kind].append(w)
        relevant[kind].append(truth)
        if report is not None:
            report("dry run", done, len(tasks), None)
    return DryRun(
        {kind: np.stack(found) for kind, found in ws.items()},
        {kind: np.stack(found) for kind, found in relevant.items()},
        offset,
    )


def feature_scores(design: Design, seed: int) -> Array:
    """One number per cell for responses to depend on: a feature's column, or a random sum where it has several.

    So a nominal feature has an effect of each level, and a quantity with missing cells one of its value and one
    of being missing. A feature's scores depend on that feature alone, so one that is not relevant has no part in
    the response.
    """
    (columns,) = design.tables
    if design.features == columns.shape[1]:
        return columns
    rng = np.random.default_rng([seed, len(design.unit)])
    effects = rng.standard_normal(columns.shape[1])
    deviation = columns.std(0)
    has_gaps = (design.indicator >= 0) & (deviation > 0)  # beside an indicator, a value needs a unit of its own
    terms = effects * columns / np.where(has_gaps, deviation, 1.0)
    alone = np.bincount(design.unit)[design.unit] == 1
    terms[:, alone] = columns[:, alone]
    starts = np.unique(design.unit, return_index=True)[1]
    return np.add.reduceat(terms, starts, axis=1)


def respond(x: Array, kind: str, seed: int, groups: Indices | None = None) -> Response:
    """A sparse linear response, or the paper's non-linear one, of random columns in standard units.

    Each of the `groups` adds a normal number to the response of its rows.
    """
    rng = np.random.default_rng(seed)
    varying = rng.permutation(np.flatnonzero(x.std(0) > 0))
    z = (x[:, varying] - x[:, varying].mean(0)) / x[:, varying].std(0)
    count = _relevant(len(varying))
    if kind == "linear":
        y, chosen = linear_response(z, relevant=count, amplitude=AMPLITUDE, random_state=seed)
    else:
        y, chosen = liang_response(z, relevant=count, random_state=seed)
    relevant = np.zeros(x.shape[1], dtype=bool)
    relevant[varying[chosen]] = True
    if groups is not None:
        y = y + rng.standard_normal(groups.max() + 1)[groups]
    return Response(y, relevant)


def _with_classes(response: Response, task: Task, shares: Sequence[float]) -> Response:
    """For classification the response cut at its quantiles: classes with these shares of the rows."""
    if task == "regression":
        return response
    cuts = np.quantile(response.y, np.minimum(np.cumsum(shares)[:-1], 1.0))
    return Response(np.searchsorted(cuts, response.y).astype(np.float64), response.relevant)


def _kinds(x: Array) -> tuple[str, ...]:
    return ("linear", "non-linear") if np.count_nonzero(x.std(0) > 0) >= 8 else ("linear",)


def _relevant(features: int) -> int:
    """A fifth of the features, a multiple of four where there are enough."""
    count = min(MOST_RELEVANT, features // 5)
    return max(4, count - count % 4) if features >= 8 else max(1, features // 3)


def _like(table: Table, drawn: Any) -> Table:
    """Knockoffs as a table of the same kind, whatever kind they were drawn as."""
    knockoffs = read_table(drawn, who="dry run: the knockoffs", categories=table.categories)
    knockoffs = knockoffs.with_levels(table.levels)
    return table.with_codes(knockoffs.codes) if knockoffs.levels == table.levels else knockoffs


def _replicate(
    table: Table,
    knockoffs: Table,
    response: Response,
    statistic: Any,
    task: Task,
    groups: Indices | None,
    seed: int,
) -> tuple[Array, Flags]:
    with collect_cautions():  # given once, by the selection itself
        return _compute(statistic, table, knockoffs, response.y, task, groups, seed), response.relevant


def _compute(
    statistic: Any, table: Table, knockoffs: Table, y: Array, task: Task, groups: Indices | None, seed: int
) -> Array:
    if not hasattr(statistic, "compute"):
        return np.asarray(statistic(table.to_native(), knockoffs.to_native(), y), dtype=np.float64)
    own = clone(statistic)
    settings = {"random_state": seed, "task": task}
    own.set_params(**{k: v for k, v in settings.items() if k in own.get_params(deep=False)})
    return own.compute(table, knockoffs, y, groups=groups)


def _mean_and_error(values: Array) -> tuple[float, float]:
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(values.mean()), float(error)
