"""The rows that a density learns from, with several draws of the latents of discrete columns and missing cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from knockoffs.arrays import Array
from knockoffs.generators.batches import split_rows
from knockoffs.generators.encoding import TableEncoding

DRAWS = 6
MOST_CELLS = 10**7  # of all draws together, to save memory; with so many rows one draw is enough


def mostly_latent(encoding: TableEncoding) -> bool:
    """Return whether at least half of the internal columns are latent, so that another draw is another row."""
    return 2 * len(encoding.latent) >= encoding.width


def draw_rows(encoding: TableEncoding, codes: Array, rng: np.random.Generator, *, several: bool) -> Array:
    """Internal columns of rows, `[draws, rows, columns]`, with one draw of their latents or several."""
    first = encoding.encode(codes, rng)
    draws = max(1, min(DRAWS, MOST_CELLS // first.size)) if several else 1
    return np.stack([first, *(encoding.encode(codes, rng) for _ in range(draws - 1))])


@dataclass(frozen=True, slots=True)
class FitRows:
    """Training rows, and rows held out to judge by.

    Latents are random given their row. A network that meets one draw of them learns that draw by heart; with
    several it has to learn what they have in common.
    """

    x: Array  # with one draw of their latents: as many rows as there are independent ones
    drawn: Array  # the same rows with all draws, one draw after the other
    held_out: Array

    @classmethod
    def split(cls, draws: Array, held_out: float, rng: np.random.Generator) -> Self:
        """Hold out a share of the rows, with all their draws."""
        train, judges = split_rows(np.arange(draws.shape[1]), held_out, rng)
        drawn = draws[:, train]
        return cls(drawn[0], drawn.reshape(-1, draws.shape[2]), draws[0, judges])
