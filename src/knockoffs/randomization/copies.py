"""A feature and its redrawn copies, as the columns of numbers that statistics see.

For each row there are several copies of the feature's cell, drawn given the rest of the row, and the cell itself.
Under the null hypothesis all are exchangeable, so a redraw takes any of them with the same probability, and what
is computed from all of them together (means, standard deviations, ranks, which levels are frequent) treats them
alike. Redraws are then choices among numbers that are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from knockoffs.arrays import Array, Flags
from knockoffs.schema import Column

COPIES = 63
MOST_LEVELS = 8  # of a nominal feature that have an indicator of their own
RANKS = 4_096  # values by which others are ranked
CLIPPED = 0.001  # share of the values, on either side, that are moved to the last of the others
LEAST_VARIANCE = 1e-4  # share of a shape's variance that must be its own, beside the shapes before it


@dataclass(frozen=True, slots=True)
class Copies:
    """Shapes of a feature, `[rows, 1 + copies, shapes]`, in standard units over rows and copies, its own first.

    The first shape of an ordered feature is its value; further ones are curves, and say whether it is missing. The
    shapes of a nominal feature are its levels.
    """

    shapes: Array
    ordered: bool
    unit: float  # one standard deviation of the value, in the units of the feature

    @property
    def centred(self) -> Array:
        """The shapes without their means over the copies of a row."""
        return self.shapes - self.shapes.mean(1, keepdims=True)


def copies_of(column: Column, own: Array, drawn: Array) -> Copies:
    """Describe a feature's cells, `[rows]`, and their copies, `[copies, rows]`."""
    cells = np.concatenate([own[None], drawn]).T
    gaps = np.isnan(cells)
    ordered = column.kind != "nominal"
    shapes = _curves(cells, gaps) if ordered else _levels(cells)
    if gaps.any() and not gaps.all():
        shapes.append(gaps.astype(np.float64))
    spread = float(np.std(shapes[0])) if shapes else 0.0
    return Copies(_independent(shapes, cells.shape), ordered and not gaps.all(), spread)


def _curves(cells: Array, gaps: Flags) -> list[Array]:
    """The value, its normal score, and the second and third Hermite polynomial of the score."""
    present = cells[~gaps]
    if len(present) == 0:
        return []
    low, high = np.quantile(present, [CLIPPED, 1 - CLIPPED], method="inverted_cdf")
    if low == high:  # nearly all cells have one value
        low, high = present.min(), present.max()
    value = np.where(gaps, present.mean(), np.clip(cells, low, high))
    if len(np.unique(present[:1000])) <= 2 and len(np.unique(present)) <= 2:
        return [value]
    in_order = np.sort(present)[:: max(1, len(present) // RANKS)]
    below, upto = (np.searchsorted(in_order, np.where(gaps, low, cells), side) for side in ("left", "right"))
    score = np.where(gaps, 0.0, ndtri((below + upto + 1) / (2 * len(in_order) + 2)))
    return [value, score, np.where(gaps, 0.0, score**2 - 1), np.where(gaps, 0.0, score**3 - 3 * score)]


def _levels(cells: Array) -> list[Array]:
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    frequent = values[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
    return [(cells == value).astype(np.float64) for value in frequent]


def _independent(shapes: list[Array], shape: tuple[int, ...]) -> Array:
    """Shapes in standard units, each without what those before it say; left out where that is all it says."""
    found: list[Array] = []
    for own in shapes:
        rest = own - own.mean()
        whole = np.mean(rest**2)
        for other in found:
            rest = rest - np.mean(rest * other) * other
        variance = np.mean(rest**2)
        if variance > max(LEAST_VARIANCE * whole, 1e-24 * (1 + np.max(np.abs(own)) ** 2)):
            found.append(rest / np.sqrt(variance))
    return np.stack(found, axis=2) if found else np.empty((*shape, 0))
