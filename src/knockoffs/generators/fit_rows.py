"""The rows that a density learns from, with several draws of the latents of discrete columns and missing cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from knockoffs.generators.rows import split_rows
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.runtime.arrays import Array

DRAWS = 6
MOSTLY = 2 / 3  # share of the cells that must be latent: else other draws are much the same rows again
LOOK_ROWS = 2_000
MOST_COLUMNS = 150  # internal ones; with 201 it took eleven times as long and gained nothing
MOST_CELLS = 10**7  # of all draws together, to save memory; with so many rows one draw is enough


def draw_rows(encoding: TableEncoding, codes: Array, rng: np.random.Generator, *, once: bool = False) -> Array:
    """Internal columns of rows, `[draws, rows, columns]`: several draws where most cells are latent, or one."""
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

    Latents are random given their row. A network that meets one draw of them learns that draw by heart; with
    several it has to learn what they have in common.
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
