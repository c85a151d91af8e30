"""Exact p-values: swap rows by the toss of a coin, which changes nothing where knockoffs are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.check.sequential import sequential_pvalue
from knockoffs.runtime.arrays import Array

Signs = NDArray[np.float32]

SLACK = 1e-6  # rounding must not tell equal statistics apart
BATCH, EXCEEDANCES = 500, 50


def draw_signs(rng: np.random.Generator, draws: int, rows: int) -> Signs:
    """±1 for each row, `[rows, draws]`; the first draw leaves every row as it is, so that p-values are exact."""
    signs = 1 - 2 * rng.integers(0, 2, size=(rows, draws), dtype=np.int8).astype(np.float32)
    signs[:, 0] = 1
    return signs


def quadratic_p_value(kernel: Array, signs: Signs) -> float:
    """The p-value of ε' K ε, for signs ε; draws end once enough of them have reached what is observed."""
    kernel = kernel.astype(np.float32)
    observed, *_ = quadratic(kernel, signs[:, :1])
    slack = SLACK * max(abs(observed), float(np.linalg.norm(kernel)))
    starts = iter(range(1, signs.shape[1], BATCH))

    def redraw(count: int) -> Array:
        start = next(starts)
        return quadratic(kernel, signs[:, start : start + count])

    return sequential_pvalue(
        observed - slack, redraw, resamples=signs.shape[1] - 1, exceedances=EXCEEDANCES, first=BATCH, most=BATCH
    ).pvalue


def quadratic(kernel: Array, signs: Signs) -> Array:
    """ε' K ε for each draw of signs ε."""
    product: NDArray[Any] = kernel.astype(np.float32, copy=False) @ signs
    return np.einsum("ib,ib->b", signs, product, dtype=np.float64)


def p_value(statistics: Array) -> float:
    """Share of the draws (the first, as observed, among them) that are at least as large as the first."""
    slack = SLACK * np.abs(statistics).max()
    return float(np.mean(statistics >= statistics[0] - slack))
