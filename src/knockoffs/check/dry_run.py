"""Responses simulated on the rows of a table, so that false discoveries can be counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from knockoffs.check.source import like
from knockoffs.datasets.known_truth import Response
from knockoffs.filtering.filter import fdp, knockoff_select, power
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import collect_cautions
from knockoffs.runtime.parallel import in_parallel, worker_count
from knockoffs.runtime.progress import report_stage
from knockoffs.statistics.any_statistic import is_statistic
from knockoffs.statistics.base import Statistic
from knockoffs.table.design import Design, expand
from knockoffs.table.table import Table, read_table
from knockoffs.targets.base import Target
from knockoffs.targets.quantity import Quantity
from knockoffs.targets.standard_units import standardise

LEAST_SHARE, MOST_SHARE, MOST_RELEVANT = 0.1, 0.4, 40  # of the features that a response depends on
ANY_QUANTITY = Quantity.example()  # responses are as they are simulated
LEAST_EXPLAINED, MOST_EXPLAINED = 0.3, 0.8  # share of the variance of y that these explain


def _linear(z: Array, rng: np.random.Generator) -> Array:
    return z @ _effects(z.shape[1], rng)


def _products(z: Array, rng: np.random.Generator) -> Array:
    """Products of neighbours, and half as much of each feature by itself."""
    pairs = z[:, 0:-1:2] * z[:, 1::2]
    return pairs @ rng.choice([-1.0, 1.0], size=pairs.shape[1]) + z @ _effects(z.shape[1], rng) / 2


def _steps(z: Array, rng: np.random.Generator) -> Array:
    # The second largest value has values on both sides, also where most cells hold the largest.
    highest = [column[column < column.max()].max() for column in z.T]
    cuts = [
        min(np.quantile(x, rng.uniform(0.3, 0.7)), most)
        for x, most in zip(z.T, highest, strict=True)
    ]
    return np.where(z > cuts, 1.0, -1.0) @ _effects(z.shape[1], rng)


def _smooth(z: Array, rng: np.random.Generator) -> Array:
    """Saturating curves and parabolas in turn."""
    curves = np.tanh(1.5 * z + rng.standard_normal(z.shape[1]))
    bowl = (np.arange(z.shape[1]) % 2 == 0) & np.array(
        [len(np.unique(column)) > 2 for column in z.T], dtype=bool
    )
    return np.where(bowl, z**2 / 2, curves) @ _effects(z.shape[1], rng)


KINDS: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "linear": _linear,
    "products": _products,
    "steps": _steps,
    "smooth": _smooth,
}


def simulated_response(
    design: Design, kind: str, seed: int, groups: Indices | None = None, first: Flags | None = None
) -> Response:
    """Return a response of random features, of a random number and strength.

    With `groups` (the group of each row) each group adds a normal number of its own to the
    response, as large as the noise. Features flagged in `first` are chosen before any others.
    """
    scores = feature_scores(design, seed)
    rng = np.random.default_rng(seed)
    (standard,), _, deviations = standardise(scores)
    varying = rng.permutation(np.flatnonzero(deviations > 0))
    if first is not None:
        varying = varying[np.argsort(~first[varying], kind="stable")]
    share = min(rng.uniform(LEAST_SHARE, MOST_SHARE) * len(varying), MOST_RELEVANT)
    chosen = varying[: max(1, min(len(varying) // 2, max(4, round(share))))]
    z = standard[:, chosen]
    signal = KINDS[kind](z, rng)
    deviation = signal.std()
    noise = np.sqrt(1 / rng.uniform(LEAST_EXPLAINED, MOST_EXPLAINED) - 1)
    y = signal / (deviation if deviation > 0 else 1.0) + noise * rng.standard_normal(len(z))
    if groups is not None:
        y = y + noise * rng.standard_normal(groups.max() + 1)[groups]
    return Response(y, np.isin(np.arange(scores.shape[1]), chosen))


def feature_scores(design: Design, seed: int) -> Array:
    """One number per cell for responses to depend on: a feature's column,
    or a random sum where it has several.

    So a nominal feature has an effect of each level, and a quantity with missing cells one of its
    value and one of being missing, and a group of features one of each of its columns. A feature's
    scores depend on that feature alone, so one that is not relevant has no part in the response.
    """
    (columns,) = design.tables
    if design.features == columns.shape[1]:
        return columns
    rng = np.random.default_rng([seed, len(design.unit)])
    effects = rng.standard_normal(columns.shape[1])
    deviation = standardise(columns).deviation
    # beside other columns, a value needs a unit of its own
    values = ~design.indicators & (deviation > 0)
    terms = effects * (columns / np.where(values, deviation, 1.0))
    alone = np.bincount(design.unit)[design.unit] == 1
    terms[:, alone] = columns[:, alone]
    starts = np.unique(design.unit, return_index=True)[1]
    return np.add.reduceat(terms, starts, axis=1)


def _effects(features: int, rng: np.random.Generator) -> Array:
    return rng.choice([-1.0, 1.0], size=features) * rng.uniform(0.5, 1.5, size=features)


LEVELS = (0.05, 0.1, 0.2, 0.3)
STEPS = 20  # levels that a calibration tries, up to the level that is asked for
EVERY_KIND = "all"
COINS = 8  # tosses for each response
AHEAD = 4  # responses per core whose knockoffs are in memory together
SELECTING = 0.5  # share of the responses with a selection that it takes to judge a level
# times the level asked for: levels to judge where that one seldom selects anything
HIGHER = (1.5, 2.0, 3.0, 5.0)
HIGHEST = 0.35
# responses that the level itself counts for in the share of false discoveries of selections
AT_LEVEL = 3


class Rate(NamedTuple):
    """False discoveries and power at one level,
    means over simulated responses with standard errors.

    Attributes
    ----------
    response : str
        The kind of response, or "all".
    level : float
        The level of the filter.
    fdp, fdp_error : float
        The false discovery proportion, 0 where nothing is selected.
    power, power_error : float
        The share of the relevant features that is selected, among those that can be: not of copies
        and of columns that are conditioned on, whose w is always 0.
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
        truths = self.relevant[runs]
        findable = truths & (self.ws != 0).any(0)
        false = np.array([fdp(*pair) for pair in zip(selections, truths, strict=True)])
        found = np.array(
            [
                power(s, r) if r.any() else math.nan
                for s, r in zip(selections, findable, strict=True)
            ]
        )
        some = np.array([selected.any() for selected in selections])
        among = float(false[some].mean()) if some.any() else math.nan
        return Rate(
            kind, level, *_mean_and_error(false), *_mean_and_error(found), float(some.mean()), among
        )

    def fdp_of_exact(self, level: float) -> float:
        """Return the false discovery proportion with the same |w| and fair coins for signs of
        irrelevant features.

        That is what exact knockoffs would give.
        """
        rng = np.random.default_rng(0)
        found = []
        for w, relevant in zip(self.ws, self.relevant, strict=True):
            coins = rng.choice([-1.0, 1.0], size=(COINS, len(w)))
            tossed = np.where(relevant, w, coins * np.abs(w))
            found += [
                fdp(knockoff_select(own, level, offset=self.offset), relevant) for own in tossed
            ]
        return float(np.mean(found))

    def false_share(self, level: float) -> float:
        """Return the mean false discovery proportion of the responses for which anything is
        selected.

        The level itself is counted in as a few more of these, so that the share is known where
        there are few.
        """
        rate = self.rate(level)
        count = rate.selecting * len(self.kinds)
        among = 0.0 if count == 0 else rate.fdp_of_selections
        return (count * among + AT_LEVEL * level) / (count + AT_LEVEL)

    def null_wins(self) -> tuple[Array, Array]:
        """Return how often each feature has w > 0 in responses that do not depend on it,
        and the number of these.

        Responses in which its w is 0 are not counted.
        """
        counted = ~self.relevant & (self.ws != 0)
        count = counted.sum(0).astype(np.float64)
        wins = (counted & (self.ws > 0)).sum(0)
        return np.divide(wins, count, out=np.full(len(count), np.nan), where=count > 0), count

    def judged(self, fdr: float) -> Rate | None:
        """Return the rate at the lowest level from `fdr` on at which responses usually lead to a
        selection.

        Where the filter seldom selects anything, few discoveries are false whatever the knockoffs.
        None where there is no such level.
        """
        levels = [fdr, *(times * fdr for times in HIGHER if times * fdr <= HIGHEST)]
        return next((rate for rate in map(self.rate, levels) if rate.selecting >= SELECTING), None)

    def calibrated_level(self, fdr: float) -> float:
        """Return the largest level up to `fdr` at which at most a share `fdr` is expected to be
        false.

        Over all kinds of response together, and up to a standard error for each of them: where
        knockoffs miss something, it is often one kind of response that suffers.
        """

        def worst(level: float) -> Rate:
            kinds = (self.rate(level, kind) for kind in dict.fromkeys(self.kinds))
            lenient = [rate._replace(fdp=rate.fdp - rate.fdp_error) for rate in kinds]
            return max(self.rate(level), *lenient, key=lambda rate: np.nan_to_num(rate.fdp))

        return calibrated_level(worst, fdr)


def calibrated_level(rate: Callable[[float], Rate], fdr: float) -> float:
    """Return the largest level up to `fdr` at which the expected false discovery proportion is at
    most `fdr`.

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
    target: Target = ANY_QUANTITY,
    groups: Indices | None = None,
) -> DryRun:
    """Compute w for simulated responses of the rows of X, as the target has them.

    Knockoffs are drawn anew for each by `draw_knockoffs(seed)`, as a `Table` or as a table like X.
    With `groups` (the group of each row) each group adds a normal number of its own to the
    response, as large as the noise.
    """
    table = read_table(X, who="dry run")
    design = expand(table.schema, table.codes, units=table.units)
    kinds = (*KINDS,) * replicates
    seeds = [int(rng.integers(2**31)) for _ in kinds]
    responses = [
        simulated_response(design, kind, seed, groups)
        for kind, seed in zip(kinds, seeds, strict=True)
    ]
    tasks = (
        (like(table, draw_knockoffs(seed)), target.imitated(response.y, seed), seed)
        for response, seed in zip(responses, seeds, strict=True)
    )
    ws: list[Array] = []
    ahead = AHEAD * worker_count()
    for _ in range(0, len(kinds), ahead):
        some = islice(tasks, ahead)
        for w in in_parallel(_replicate, some, shared=(table, statistic, groups)):
            ws.append(w)
            report_stage("dry run", len(ws), len(kinds))
    return DryRun(
        np.stack(ws), np.stack([own.relevant for own in responses]), kinds, offset, statistic
    )


def _replicate(
    table: Table,
    statistic: Any,
    groups: Indices | None,
    knockoffs: Table,
    target: Target,
    seed: int,
) -> Array:
    with collect_cautions():  # given once, by the selection itself
        y = target.to_native()
        if not is_statistic(statistic):
            w = statistic(table.to_native(), knockoffs.to_native(), y)
            return np.asarray(w, dtype=np.float64)
        own = clone(statistic)
        settings = {"random_state": seed, "task": target.task}
        own.set_params(**{k: v for k, v in settings.items() if k in own.get_params(deep=False)})
        if isinstance(own, Statistic):
            return own.compute_read(table, knockoffs, target, groups)[0]
        return own.compute(table, knockoffs, y, groups=groups)


def _mean_and_error(values: Array) -> tuple[float, float]:
    """Return the mean of the values that are there and its standard error;
    0 where there are none (constants).
    """
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return 0.0, math.nan
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(values.mean()), float(error)
