r"""p-values by redraws, with an end as soon as a feature is clearly not significant.

Besag and Clifford (1991): redraw until h statistics are at least as large as the observed one, at most M times.
If that happens at redraw l, p = h / l; if it does not, p = (1 + count) / (1 + M). Where the observed statistic and
the redrawn ones are exchangeable, p is at least uniform: p ≤ h / l means that among the first l redraws fewer than
h reach the observed one, or exactly h with the last among these, which has probability at most h / l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array

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
    """Redraw in growing batches, from `first` to `most` statistics at once; ties count as exceedances."""
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
