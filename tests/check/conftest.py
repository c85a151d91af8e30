"""Pairs of rows and knockoffs whose truth is known, and swaps of them."""

from __future__ import annotations

import numpy as np

from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array, Flags

LAW = AutoregressiveGaussian(features=6, rho=0.6, mean=1.0)


def exact_pair(rows: int, seed: int, law: AutoregressiveGaussian = LAW) -> tuple[Array, Array]:
    x = law.sample(rows, random_state=seed)
    return x, law.knockoffs(x, random_state=seed + 10_000)


def discrete_pair(rows: int, seed: int) -> tuple[Array, Array]:
    """Exact too (rounding keeps the swap property), with many ties,
    also between a cell and its knockoff.
    """
    x, x_tilde = exact_pair(rows, seed)
    return np.rint(x), np.rint(x_tilde)


def swap_cells(x: Array, x_tilde: Array, cells: Flags) -> tuple[Array, Array]:
    return np.where(cells, x_tilde, x), np.where(cells, x, x_tilde)


PAIRS = {"continuous": exact_pair, "discrete": discrete_pair}
