"""Responses that are simulated on the rows of a table, so that their relevant features are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from knockoffs.datasets.known_truth import Response
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.table.design import Design
from knockoffs.targets.standard_units import standardise
from knockoffs.targets.survival import Times
from knockoffs.targets.target import Target, Task

LEAST_SHARE, MOST_SHARE, MOST_RELEVANT = 0.1, 0.4, 40  # of the features that a response depends on
LEAST_EXPLAINED, MOST_EXPLAINED = 0.3, 0.8  # share of the variance of y that these explain


def _linear(z: Array, rng: np.random.Generator) -> Array:
    return z @ _effects(z.shape[1], rng)


def _products(z: Array, rng: np.random.Generator) -> Array:
    """Products of neighbours, and half as much of each feature by itself."""
    pairs = z[:, 0:-1:2] * z[:, 1::2]
    return pairs @ rng.choice([-1.0, 1.0], size=pairs.shape[1]) + z @ _effects(z.shape[1], rng) / 2


def _steps(z: Array, rng: np.random.Generator) -> Array:
    cuts = [min(np.quantile(column, rng.uniform(0.3, 0.7)), _second_largest(column)) for column in z.T]
    return np.where(z > cuts, 1.0, -1.0) @ _effects(z.shape[1], rng)


def _second_largest(column: Array) -> float:
    """The largest cut that has values on both sides, also where most cells hold the largest value."""
    return column[column < column.max()].max()


def _smooth(z: Array, rng: np.random.Generator) -> Array:
    """Saturating curves and parabolas in turn."""
    curves = np.tanh(1.5 * z + rng.standard_normal(z.shape[1]))
    bowl = (np.arange(z.shape[1]) % 2 == 0) & np.array([len(np.unique(column)) > 2 for column in z.T], dtype=bool)
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

    With `groups` (the group of each row) each group adds a normal number of its own to the response, as large as
    the noise. Features flagged in `first` are chosen before any others.
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


def as_target(y: Array, task: Task, shares: Sequence[float], seed: int) -> Target:
    """Return a response as the task has it.

    For classification it is cut into classes with these shares of the rows. For survival the event comes the
    earlier the larger the response is, and times that do not depend on it censor the first of the `shares`. Only
    the order of times matters to statistics, so minus the response is as good a time as any.
    """
    if task == "survival":
        return Target.of_times(_censored(-y, shares[-1], np.random.default_rng([seed, len(y)])))
    if task == "regression":
        return Target(task, y)
    cuts = np.quantile(y, np.minimum(np.cumsum(shares)[:-1], 1.0))
    codes = np.searchsorted(cuts, y)
    return Target(task, codes.astype(np.float64), tuple(map(str, range(len(shares)))))


def _censored(time: Array, share: float, rng: np.random.Generator) -> Times:
    """Times of events of which this share is seen: the others are censored at the shifted times of other rows."""
    others = rng.permutation(time)
    end = others + np.quantile(time - others, share)
    seen = time <= end
    first = np.minimum(time, end)
    return Times(first - first.min(), seen)


def feature_scores(design: Design, seed: int) -> Array:
    """One number per cell for responses to depend on: a feature's column, or a random sum where it has several.

    So a nominal feature has an effect of each level, and a quantity with missing cells one of its value and one
    of being missing, and a group of features one of each of its columns. A feature's scores depend on that feature
    alone, so one that is not relevant has no part in the response.
    """
    (columns,) = design.tables
    if design.features == columns.shape[1]:
        return columns
    rng = np.random.default_rng([seed, len(design.unit)])
    effects = rng.standard_normal(columns.shape[1])
    deviation = standardise(columns).deviation
    values = ~design.indicators & (deviation > 0)  # beside other columns, a value needs a unit of its own
    terms = effects * (columns / np.where(values, deviation, 1.0))
    alone = np.bincount(design.unit)[design.unit] == 1
    terms[:, alone] = columns[:, alone]
    starts = np.unique(design.unit, return_index=True)[1]
    return np.add.reduceat(terms, starts, axis=1)


def _effects(features: int, rng: np.random.Generator) -> Array:
    return rng.choice([-1.0, 1.0], size=features) * rng.uniform(0.5, 1.5, size=features)
