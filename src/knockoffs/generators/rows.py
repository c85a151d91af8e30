"""Rows that a density learns from: the split, several draws of latents, and noise for draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from knockoffs.density.density import AutoregressiveDensity, Noise
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.checks import check_count

MIN_TRAINING_ROWS = 8
MOST_HELD_OUT = 5_000  # rows: more would make choices no better, and each look at them slower


def split_rows(
    x: NDArray[Any], held_out: float, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Training rows and held-out rows, at random."""
    order = rng.permutation(len(x))
    count = max(1, min(round(held_out * len(x)), MOST_HELD_OUT))
    if len(x) - count < MIN_TRAINING_ROWS:
        raise ValueError(
            f"validation_fraction={held_out} leaves {len(x) - count} of {len(x)} rows for "
            f"training; "
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
    """Noise made row after row on the CPU: the same for the first rows whatever their number and
    the device.
    """
    uniform, normal = rng.spawn(2)
    shape = (rows, density.features)
    return Noise(
        torch.as_tensor(uniform.random(shape)).to(density.weight),
        torch.as_tensor(normal.standard_normal(shape)).to(density.weight),
    )


DRAWS = 6
# share of the cells that must be latent: else other draws are much the same rows again
MOSTLY = 2 / 3
LOOK_ROWS = 2_000
MOST_COLUMNS = 150  # internal ones; with 201 it took eleven times as long and gained nothing
MOST_CELLS = 10**7  # of all draws together, to save memory; with so many rows one draw is enough


def draw_rows(
    encoding: TableEncoding, codes: Array, rng: np.random.Generator, *, once: bool = False
) -> Array:
    """Internal columns of rows, `[draws, rows, columns]`:
    several draws where most cells are latent, or one.
    """
    first = encoding.encode(codes, rng)
    once = once or encoding.width > MOST_COLUMNS or share_latent(encoding, codes) < MOSTLY
    more = 0 if once else min(DRAWS, MOST_CELLS // first.size) - 1
    return np.stack([first, *(encoding.encode(codes, rng) for _ in range(more))])


def share_latent(encoding: TableEncoding, codes: Array) -> float:
    """Return the share of the cells of internal columns that are drawn, by some rows."""
    low, high = encoding.bounds(codes[:LOOK_ROWS])
    return float((low < high).mean())


@dataclass(frozen=True, slots=True)
class FitRows:
    """Training rows, and rows held out to judge by.

    Latents are random given their row. A network that meets one draw of them learns that draw by
    heart; with several it has to learn what they have in common.
    """

    x: Array  # with one draw of their latents: as many rows as there are independent ones
    drawn: Array  # the same rows with all draws, one draw after the other
    held_out: Array

    @property
    def several_draws(self) -> bool:
        return len(self.drawn) > len(self.x)

    @classmethod
    def split(cls, draws: Array, held_out: float, rng: np.random.Generator) -> Self:
        """Hold out a share of the rows, with all their draws."""
        train, judges = split_rows(np.arange(draws.shape[1]), held_out, rng)
        drawn = draws[:, train]
        return cls(drawn[0], drawn.reshape(-1, draws.shape[2]), draws[0, judges])
