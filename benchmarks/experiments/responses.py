"""Responses of kinds that no prediction of false discoveries simulates,
to compare predictions with.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from knockoffs.check.dry_run import feature_scores
from knockoffs.datasets.known_truth import Response, liang_response
from knockoffs.runtime.arrays import Array
from knockoffs.table.design import expand
from knockoffs.table.table import Table

SHARES = (0.4, 0.15)  # of the features are relevant, at most MOST
MOST = 40
NOISE = 0.7  # standard deviations of the signal


def liang(z: Array, rng: np.random.Generator) -> Array:
    """The paper's non-linear response: lines, products and hyperbolic tangents of sums."""
    count = z.shape[1] - z.shape[1] % 4
    return liang_response(z[:, :count], relevant=count, random_state=rng).y


def waves(z: Array, rng: np.random.Generator) -> Array:
    """Sines and absolute values of single features."""
    parts = [np.sin(2 * v) if k % 2 else np.abs(v) for k, v in enumerate(z.T)]
    return _noisy(np.stack(parts, axis=1) @ _effects(z.shape[1], rng), rng)


def network(z: Array, rng: np.random.Generator) -> Array:
    """A random network with one hidden layer, each unit of which sees four features."""
    signal = np.zeros(len(z))
    for _ in range(z.shape[1]):
        seen = rng.choice(z.shape[1], size=min(4, z.shape[1]), replace=False)
        signal += rng.normal() * np.tanh(z[:, seen] @ rng.normal(size=len(seen)) + rng.normal())
    # Every feature has an effect of its own, so that none is irrelevant by chance.
    return _noisy(signal / signal.std() + z @ _effects(z.shape[1], rng) / np.sqrt(z.shape[1]), rng)


def trees(z: Array, rng: np.random.Generator) -> Array:
    """Random trees of two questions each; every feature is asked in some of them."""
    signal = np.zeros(len(z))
    for first in np.tile(rng.permutation(z.shape[1]), 2):
        second = rng.integers(z.shape[1])
        above = [z[:, k] > np.quantile(z[:, k], rng.uniform(0.3, 0.7)) for k in (first, second)]
        signal += rng.choice([-1, 1]) * above[0] + rng.normal() * (above[0] & above[1])
    return _noisy(signal, rng)


def ratios(z: Array, rng: np.random.Generator) -> Array:
    """Each feature divided by what grows with its neighbour."""
    return _noisy((z / (1 + np.roll(z, 1, axis=1) ** 2)) @ _effects(z.shape[1], rng), rng)


KINDS: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "Liang": liang,
    "waves": waves,
    "network": network,
    "trees": trees,
    "ratios": ratios,
}


def unseen_response(table: Table, number: int, seed: int) -> Response:
    """A response of some of a table's features, drawn at random;
    kinds and shares of the features take turns.
    """
    kind, share = list(KINDS.values())[number % len(KINDS)], SHARES[number % len(SHARES)]
    scores = feature_scores(expand(table.schema, table.codes), seed)
    rng = np.random.default_rng(seed)
    varying = rng.permutation(np.flatnonzero(scores.std(0) > 0))
    count = max(4, 4 * round(min(share * len(varying), MOST) / 4))
    chosen = varying[:count]
    z = (scores[:, chosen] - scores[:, chosen].mean(0)) / scores[:, chosen].std(0)
    return Response(kind(z, rng), np.isin(np.arange(table.shape[1]), chosen))


def _effects(features: int, rng: np.random.Generator) -> Array:
    return rng.choice([-1.0, 1.0], size=features) * rng.uniform(0.6, 1.2, size=features)


def _noisy(signal: Array, rng: np.random.Generator) -> Array:
    return signal / signal.std() + NOISE * rng.standard_normal(len(signal))
