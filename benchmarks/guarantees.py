"""`python -m benchmarks.guarantees`: whether bounds of several draws hold,
and the FDR of a filter with offset 0.

Exact knockoffs of Gaussian rows, and coefficients of a ridge regression, which have the flip-sign
property.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.repeated import Job, Row, add_options, means_as_text, measured, seeds_of, show
from knockoffs import fdp, fdp_bounds, knockoff_select, pfer_select
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.filtering.guarantees import false_in_sets, pfer_over_draws
from knockoffs.generators.gaussian import KnockoffLaw, knockoff_gaps
from knockoffs.runtime.arrays import Array, Flags

LEVEL, FALSE = 0.1, 2
PENALTY = 0.1  # times the number of rows
TOGETHER = 50  # data sets in one job


def equicorrelated(features: int, rho: float) -> Array:
    return (1 - rho) * np.eye(features) + rho


class Setting(NamedTuple):
    """A distribution with relevant features, and how many draws of knockoffs are made."""

    rows: int
    features: int
    covariance: str
    relevant: int
    amplitude: float  # of the coefficients, times the root of the rows
    draws: int


COVARIANCES: dict[str, Callable[[int], Array]] = {
    "autoregressive, .5": lambda features: AutoregressiveGaussian(features, rho=0.5).covariance,
    "equal, .3": lambda features: equicorrelated(features, 0.3),
}
OF_DRAWS = [
    Setting(300, 60, "autoregressive, .5", 20, 4.0, 20),
    Setting(300, 60, "autoregressive, .5", 0, 4.0, 20),
    *(Setting(500, 40, "equal, .3", 12, 4.0, draws) for draws in (1, 2, 5, 20)),
    Setting(500, 40, "equal, .3", 5, 8.0, 5),
]
OF_OFFSETS = [
    Setting(300, features, "autoregressive, .5", relevant, 4.0, 1)
    for features, relevant in (
        (20, 0),
        (20, 2),
        (20, 5),
        (20, 10),
        (60, 0),
        (60, 2),
        (60, 5),
        (60, 10),
        (60, 30),
    )
]


@lru_cache
def distribution(features: int, covariance: str) -> tuple[Array, KnockoffLaw]:
    """Return a root of the covariance, and exact knockoffs."""
    matrix = COVARIANCES[covariance](features)
    return np.linalg.cholesky(matrix), KnockoffLaw(
        np.zeros(features), matrix, knockoff_gaps(matrix)
    )


def replicate(setting: Setting, seed: int) -> tuple[Array, Flags]:
    """Return w of each draw, `[draws, features]`, and which features are relevant."""
    rows, features, covariance, relevant, amplitude, draws = setting
    root, law = distribution(features, covariance)
    rng = np.random.default_rng([seed, features, relevant, draws])
    x, true = rng.standard_normal((rows, features)) @ root.T, rng.permutation(features) < relevant
    y = x @ (
        true * rng.choice([-1.0, 1.0], features)
    ) * amplitude / rows**0.5 + rng.standard_normal(rows)
    ws = np.empty((draws, features))
    for w in ws:
        both = np.hstack([x, law.draw(x, rng.standard_normal(x.shape))])
        size = np.abs(
            np.linalg.solve(both.T @ both + PENALTY * rows * np.eye(2 * features), both.T @ y)
        )
        w[:] = size[:features] - size[features:]
    return ws, true


def of_draws(ws: Array, true: Flags) -> list[float]:
    """Failures of the bounds, also for sets of irrelevant features alone;
    false ones of other selections.
    """
    mean = ws.mean(0)
    order, worst = np.argsort(-mean, kind="stable"), np.lexsort((-mean, true))
    failed = [
        (np.cumsum(~true[o]) > false_in_sets(ws, o, LEVEL) + 1e-9).any() for o in (order, worst)
    ]
    of_mean = np.cumsum(~true[order]) > np.arange(1, len(mean) + 1) * fdp_bounds(mean, LEVEL) + 1e-9
    false = [
        float((chosen & ~true).sum())
        for chosen in (pfer_over_draws(ws, FALSE), pfer_select(mean, FALSE))
    ]
    return [
        float(any(failed)),
        float(of_mean.any()),
        *false,
        fdp(knockoff_select(mean, LEVEL), true),
    ]


def of_offsets(ws: Array, true: Flags) -> list[float]:
    return [fdp(knockoff_select(ws[0], LEVEL, offset=offset), true) for offset in (0, 1)]


def some_replicates(kind: str, setting: list[Any], first: int, count: int) -> list[Row]:
    """Return what one way to select gives on several data sets."""
    shown = Setting(*setting)
    headings, measure = KINDS[kind]
    about = {name: value for name, value in shown._asdict().items() if name in ABOUT}
    values = (measure(*replicate(shown, seed)) for seed in range(first, first + count))
    return [about | dict(zip(headings, own, strict=True)) for own in values]


ABOUT = ["rows", "features", "relevant", "draws"]
BOUNDS = [
    f"bounds fail ({LEVEL})",
    "mean w fails",
    f"false (at most {FALSE})",
    "of mean w",
    "FDR of mean w",
]
KINDS: dict[str, tuple[list[str], Callable[[Array, Flags], list[float]]]] = {
    "Several draws": (BOUNDS, of_draws),
    f"FDR at {LEVEL}": (["offset 0", "offset 1"], of_offsets),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "--runs", 1000)
    arguments = parser.parse_args()
    for kind, settings in zip(KINDS, (OF_DRAWS, OF_OFFSETS), strict=True):
        seeds = seeds_of(arguments)
        jobs = [
            Job(some_replicates, (kind, list(setting), first, min(TOGETHER, seeds.stop - first)))
            for setting in settings
            for first in seeds[::TOGETHER]
        ]
        found = means_as_text(measured(jobs, arguments), ABOUT, KINDS[kind][0])
        show(f"{kind}, {arguments.repeats} runs", found, names=0)


if __name__ == "__main__":
    main()
