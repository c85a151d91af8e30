"""Exact p-values: swap rows by the toss of a coin, which changes nothing where knockoffs are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.arrays import Array

Signs = NDArray[np.float32]


def draw_signs(rng: np.random.Generator, draws: int, rows: int) -> Signs:
    """±1 for each row, `[rows, draws]`; the first draw leaves every row as it is, so that p-values are exact."""
    signs = 1 - 2 * rng.integers(0, 2, size=(rows, draws), dtype=np.int8).astype(np.float32)
    signs[:, 0] = 1
    return signs


def quadratic(kernel: Array, signs: Signs) -> Array:
    """ε' K ε for each draw of signs ε."""
    product: NDArray[Any] = kernel.astype(np.float32) @ signs
    return np.einsum("ib,ib->b", signs, product, dtype=np.float64)


def p_value(statistics: Array) -> float:
    """Share of the draws (the first, as observed, among them) that are at least as large as the first."""
    slack = 1e-6 * np.abs(statistics).max()  # rounding must not tell equal statistics apart
    return float(np.mean(statistics >= statistics[0] - slack))
