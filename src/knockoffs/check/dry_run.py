"""A dry run: responses simulated on the user's own rows, so that false discoveries can be counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from knockoffs.check.simulated import KINDS, as_target, simulated_response
from knockoffs.filtering.filter import fdp, knockoff_select, power
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import collect_cautions
from knockoffs.runtime.parallel import in_parallel, worker_count
from knockoffs.runtime.progress import report_stage
from knockoffs.statistics.base import is_statistic
from knockoffs.table.design import expand
from knockoffs.table.table import Table, read_table
from knockoffs.targets.target import Target, Task

LEVELS = (0.05, 0.1, 0.2, 0.3)
STEPS = 20  # levels that a calibration tries, up to the level that is asked for
EVERY_KIND = "all"
COINS = 8  # tosses for each response
AHEAD = 4  # responses per core whose knockoffs are in memory together
SELECTING = 0.5  # share of the responses with a selection that it takes to judge a level
HIGHER = (1.5, 2.0, 3.0, 5.0)  # times the level asked for: levels to judge where that one seldom selects anything
HIGHEST = 0.35
AT_LEVEL = 3  # responses that the level itself counts for in the share of false discoveries of selections


class Rate(NamedTuple):
    """False discoveries and power at one level, means over simulated responses with standard errors.

    Attributes
    ----------
    response : str
        The kind of response, or "all".
    level : float
        The level of the filter.
    fdp, fdp_error : float
        The false discovery proportion, 0 where nothing is selected.
    power, power_error : float
        The share of the relevant features that is selected, among those that can be: not of copies and of columns
        that are conditioned on, whose w is always 0.
    selecting : float
        The share of the responses for which anything is selected.
    fdp_of_selections : float
        The false discovery proportion over these alone; nan where there are none.
    """

    response: str
    level: float
    fdp: float
    fdp_error: float
    power: float
    power_error: float
    selecting: float
    fdp_of_selections: float


@dataclass(frozen=True, eq=False)
class DryRun:
    """What a statistic made of simulated responses.

    Attributes
    ----------
    ws : array of shape (responses, features)
        The statistic w of each response.
    relevant : array of bool of shape (responses, features)
        The features that each response depends on.
    kinds : tuple of str
        The kind of each response.
    offset : int
        The offset of the filter.
    statistic : object
        The statistic that w is of, or that something quick stood in for.
    """

    ws: Array
    relevant: Flags
    kinds: tuple[str, ...]
    offset: int = 1
    statistic: Any = None

    def rates(self, levels: Sequence[float] = LEVELS) -> list[Rate]:
        """Return the rates of each kind of response at each level."""
        return [self.rate(level, kind) for kind in dict.fromkeys(self.kinds) for level in levels]

    def rate(self, level: float, kind: str = EVERY_KIND) -> Rate:
        """Return the rate over all responses, or over those of one kind."""
        runs = [k for k, own in enumerate(self.kinds) if kind in (own, EVERY_KIND)]
        selections = [knockoff_select(self.ws[k], level, offset=self.offset) for k in runs]
        pairs = list(zip(selections, self.relevant[runs], strict=True))
        selectable = (self.ws != 0).any(0)
        false = np.array([fdp(*pair) for pair in pairs])
        found = np.array([_power(selected, relevant & selectable) for selected, relevant in pairs])
        some = np.array([selected.any() for selected in selections])
        among = float(false[some].mean()) if some.any() else math.nan
        return Rate(kind, level, *_mean_and_error(false), *_mean_and_error(found), float(some.mean()), among)

    def fdp_of_exact(self, level: float) -> float:
        """Return the false discovery proportion with the same |w| and fair coins for signs of irrelevant features.

        That is what exact knockoffs would give.
        """
        rng = np.random.default_rng(0)
        found = []
        for w, relevant in zip(self.ws, self.relevant, strict=True):
            for _ in range(COINS):
                coins = rng.choice([-1.0, 1.0], size=len(w))
                tossed = np.where(relevant, w, coins * np.abs(w))
                found.append(fdp(knockoff_select(tossed, level, offset=self.offset), relevant))
        return float(np.mean(found))

    def false_share(self, level: float) -> float:
        """Return the mean false discovery proportion of the responses for which anything is selected.

        The level itself is counted in as a few more of these, so that the share is known where there are few.
        """
        rate = self.rate(level)
        count = rate.selecting * len(self.kinds)
        among = 0.0 if count == 0 else rate.fdp_of_selections
        return (count * among + AT_LEVEL * level) / (count + AT_LEVEL)

    def null_wins(self) -> tuple[Array, Array]:
        """Return how often each feature has w > 0 in responses that do not depend on it, and the number of these.

        Responses in which its w is 0 are not counted.
        """
        counted = ~self.relevant & (self.ws != 0)
        count = counted.sum(0).astype(np.float64)
        wins = (counted & (self.ws > 0)).sum(0)
        return np.divide(wins, count, out=np.full(len(count), np.nan), where=count > 0), count

    def judged(self, fdr: float) -> Rate | None:
        """Return the rate at the lowest level from `fdr` on at which responses usually lead to a selection.

        Where the filter seldom selects anything, few discoveries are false whatever the knockoffs. None
        where there is no such level.
        """
        levels = [fdr, *(times * fdr for times in HIGHER if times * fdr <= HIGHEST)]
        return next((rate for rate in map(self.rate, levels) if rate.selecting >= SELECTING), None)

    def calibrated_level(self, fdr: float) -> float:
        """Return the largest level up to `fdr` at which at most a share `fdr` is expected to be false.

        Over all kinds of response together, and up to a standard error for each of them: where knockoffs miss
        something, it is often one kind of response that suffers.
        """

        def worst(level: float) -> Rate:
            kinds = (self.rate(level, kind) for kind in dict.fromkeys(self.kinds))
            lenient = [rate._replace(fdp=rate.fdp - rate.fdp_error) for rate in kinds]
            return max(self.rate(level), *lenient, key=lambda rate: np.nan_to_num(rate.fdp))

        return calibrated_level(worst, fdr)


def calibrated_level(rate: Callable[[float], Rate], fdr: float) -> float:
    """Return the largest level up to `fdr` at which the expected false discovery proportion is at most `fdr`.

    A heuristic: the true response may be harder than the simulated ones.
    """
    levels = [fdr, *(fdr * step / STEPS for step in range(STEPS - 1, 0, -1))]
    return next((level for level in levels if rate(level).fdp <= fdr), levels[-1])


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
    shares: Sequence[float] = (0.5, 0.5),
) -> DryRun:
    """Compute w for simulated responses of the rows of X, as the task has them (`as_target`).

    Knockoffs are drawn anew for each by `draw_knockoffs(seed)`, as a `Table` or as a table like X. With `groups`
    (the group of each row) each group adds a normal number of its own to the response, as large as the noise.
    """
    table = read_table(X, who="dry run")
    design = expand(table.schema, table.codes, units=table.units)
    tasks = [(kind, int(rng.integers(2**31))) for _ in range(replicates) for kind in KINDS]

    def one(kind: str, seed: int) -> tuple[Table, Target, int]:
        y, relevant = simulated_response(design, kind, seed, groups)
        truths.append(relevant)
        return like(table, draw_knockoffs(seed)), as_target(y, task, shares, seed), seed

    ws: list[Array] = []
    truths: list[Flags] = []
    some = AHEAD * worker_count()
    for start in range(0, len(tasks), some):
        own = (one(*task) for task in tasks[start : start + some])
        for w in in_parallel(_replicate, own, shared=(table, statistic, groups)):
            ws.append(w)
            report_stage("dry run", len(ws), len(tasks))
    return DryRun(np.stack(ws), np.stack(truths), tuple(kind for kind, _ in tasks), offset, statistic)


def like(table: Table, drawn: Any) -> Table:
    """Knockoffs as a table of the same kind, whatever kind they were drawn as."""
    knockoffs = read_table(drawn, who="dry run: the knockoffs", categories=table.categories)
    knockoffs = knockoffs.with_levels(table.levels)
    return table.with_codes(knockoffs.codes) if knockoffs.levels == table.levels else knockoffs


def _replicate(
    table: Table, statistic: Any, groups: Indices | None, knockoffs: Table, target: Target, seed: int
) -> Array:
    y = target.to_native()
    with collect_cautions():  # given once, by the selection itself
        if not is_statistic(statistic):
            return np.asarray(statistic(table.to_native(), knockoffs.to_native(), y), dtype=np.float64)
        own = clone(statistic)
        settings = {"random_state": seed, "task": target.task}
        own.set_params(**{k: v for k, v in settings.items() if k in own.get_params(deep=False)})
        return own.compute(table, knockoffs, y, groups=groups)


def _power(selected: Flags, relevant: Flags) -> float:
    """The power; nan where no feature that can be selected is relevant."""
    return power(selected, relevant) if relevant.any() else math.nan


def _mean_and_error(values: Array) -> tuple[float, float]:
    """Return the mean of the values that are there and its standard error; 0 where there are none (constants)."""
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return 0.0, math.nan
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(values.mean()), float(error)
