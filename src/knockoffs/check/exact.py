"""Exact p-values: by tosses of coins, and by redraws that end early for features without effect.

Coins: rows are swapped, which changes nothing where knockoffs are exact.

Redraws (Besag and Clifford 1991): until h statistics are at least as large as the observed one, at
most M times. If that happens at redraw l, p = h / l; if it does not, p = (1 + count) / (1 + M).
Where the observed statistic and the redrawn ones are exchangeable, p is at least uniform: p ≤ h / l
means that among the first l redraws fewer than h reach the observed one, or exactly h with the last
among these, which has probability at most h / l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array

Signs = NDArray[np.float32]

SLACK = 1e-6  # rounding must not tell equal statistics apart
BATCH, EXCEEDANCES = 500, 50


def draw_signs(rng: np.random.Generator, draws: int, rows: int) -> Signs:
    """±1 for each row, `[rows, draws]`; the first draw leaves every row as it is,
    so that p-values are exact.
    """
    signs = 1 - 2 * rng.integers(0, 2, size=(rows, draws), dtype=np.int8).astype(np.float32)
    signs[:, 0] = 1
    return signs


def quadratic_p_value(kernel: Array, signs: Signs) -> float:
    """The p-value of ε' K ε, for signs ε; draws end once enough of them have reached what is
    observed.
    """
    kernel = kernel.astype(np.float32)
    observed, *_ = quadratic(kernel, signs[:, :1])
    slack = SLACK * max(abs(observed), float(np.linalg.norm(kernel)))
    starts = iter(range(1, signs.shape[1], BATCH))

    def redraw(count: int) -> Array:
        start = next(starts)
        return quadratic(kernel, signs[:, start : start + count])

    return sequential_pvalue(
        observed - slack,
        redraw,
        resamples=signs.shape[1] - 1,
        exceedances=EXCEEDANCES,
        first=BATCH,
        most=BATCH,
    ).pvalue


def quadratic(kernel: Array, signs: Signs) -> Array:
    """ε' K ε for each draw of signs ε."""
    return np.einsum(
        "ib,ib->b", signs, kernel.astype(np.float32, copy=False) @ signs, dtype=np.float64
    )


def p_value(statistics: Array) -> float:
    """Share of the draws (the first, as observed, among them)
    that are at least as large as the first.
    """
    slack = SLACK * np.abs(statistics).max()
    return float(np.mean(statistics >= statistics[0] - slack))


FIRST_BATCH = 128


class Found(NamedTuple):
    """A p-value, and the number of redraws that it took."""

    pvalue: float
    resamples: int


def sequential_pvalue(
    observed: float,
    redraw: Callable[[int], Array],
    *,
    resamples: int,
    exceedances: int,
    first: int = FIRST_BATCH,
    most: int | None = None,
) -> Found:
    """Redraw in growing batches, from `first` to `most` statistics at once;
    ties count as exceedances.
    """
    done = reached = 0
    batch = first
    while done < resamples:
        statistics = redraw(min(batch, resamples - done))
        hits = np.flatnonzero(statistics >= observed)
        if reached + len(hits) >= exceedances:
            end = done + int(hits[exceedances - reached - 1]) + 1
            return Found(exceedances / end, end)
        done, reached = done + len(statistics), reached + len(hits)
        batch = 2 * batch if most is None else min(2 * batch, most)
    return Found((1 + reached) / (1 + resamples), resamples)
