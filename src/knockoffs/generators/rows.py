"""Rows: the split into training and held-out rows, and noise for draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from knockoffs.density.density import AutoregressiveDensity, Noise
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.checks import check_count

MIN_TRAINING_ROWS = 8
MOST_HELD_OUT = 5_000  # rows: more would make choices no better, and each look at them slower


def split_rows(x: NDArray[Any], held_out: float, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Training rows and held-out rows, at random."""
    order = rng.permutation(len(x))
    count = max(1, min(round(held_out * len(x)), MOST_HELD_OUT))
    if len(x) - count < MIN_TRAINING_ROWS:
        raise ValueError(
            f"validation_fraction={held_out} leaves {len(x) - count} of {len(x)} rows for training; "
            f"at least {MIN_TRAINING_ROWS} are needed. Lower it or collect more rows."
        )
    return x[order[count:]], x[order[:count]]


def check_most_rows(most: int | None) -> None:
    """Raise an error for a `max_rows` that is no number of rows."""
    if most is not None:
        check_count("max_rows", most, least=2 * MIN_TRAINING_ROWS)


def some_rows(codes: Array, most: int | None, rng: np.random.Generator) -> Array:
    """All rows, or `most` of them, drawn at random, where there are more."""
    if most is None or len(codes) <= most:
        return codes
    return codes[np.sort(rng.choice(len(codes), most, replace=False))]


def draw_noise(rng: np.random.Generator, rows: int, density: AutoregressiveDensity) -> Noise:
    """Noise made row after row on the CPU: the same for the first rows whatever their number and the device."""
    uniform, normal = rng.spawn(2)
    shape = (rows, density.features)
    return Noise(
        torch.as_tensor(uniform.random(shape)).to(density.weight),
        torch.as_tensor(normal.standard_normal(shape)).to(density.weight),
    )
