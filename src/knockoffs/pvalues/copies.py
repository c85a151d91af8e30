"""A feature and its redrawn copies, as the columns of numbers that statistics see.

For each row there are several copies of the feature's cell, drawn given the rest of the row, and the cell itself.
Under the null hypothesis all are exchangeable, so a redraw takes any of them with the same probability, and what
is computed from all of them together (means, standard deviations, ranks, which levels are frequent) treats them
alike. Redraws are then choices among numbers that are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from knockoffs.runtime.arrays import Array
from knockoffs.schema.schema import Column

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

    shapes: Tensor
    ordered: bool
    unit: float  # one standard deviation of the value, in the units of the feature

    @property
    def centred(self) -> Tensor:
        """The shapes without their means over the copies of a row."""
        return self.shapes - self.shapes.mean(1, keepdim=True)


def copies_of(column: Column, own: Array, drawn: Array, device: torch.device) -> Copies:
    """Describe a feature's cells, `[rows]`, and their copies, `[copies, rows]`."""
    cells = torch.as_tensor(np.concatenate([own[None], drawn]), device=device).T.contiguous()
    gaps = cells.isnan()
    all_missing = bool(gaps.all())
    ordered = column.kind != "nominal"
    shapes = [] if all_missing else _curves(cells, gaps) if ordered else _levels(cells)
    if bool(gaps.any()) and not all_missing:
        shapes.append(gaps.double())
    spread = float(shapes[0].std(correction=0)) if shapes else 0.0
    return Copies(_independent(shapes, cells), ordered and not all_missing, spread)


def _curves(cells: Tensor, gaps: Tensor) -> list[Tensor]:
    """The value, its normal score, and the second and third Hermite polynomial of the score."""
    present = cells[~gaps].sort().values
    count = len(present)
    low, high = present[round(CLIPPED * (count - 1))], present[round((1 - CLIPPED) * (count - 1))]
    if low == high:  # nearly all cells have one value
        low, high = present[0], present[-1]
    value = torch.where(gaps, present.mean(), cells.clamp(low, high))
    if int((present.diff() > 0).sum()) <= 1:  # at most two values
        return [value]
    in_order = present[:: max(1, count // RANKS)].contiguous()
    ranked = torch.where(gaps, low, cells)
    below = torch.searchsorted(in_order, ranked)
    # Without ties the places on both sides of a value are the same, but for the few that are ranked by.
    ties = bool((in_order.diff() == 0).any())
    upto = torch.searchsorted(in_order, ranked, right=True) if ties else below
    score = torch.special.ndtri((below + upto + 1).double() / (2 * len(in_order) + 2))
    return [value, *(torch.where(gaps, 0.0, own) for own in (score, score**2 - 1, score**3 - 3 * score))]


def _levels(cells: Tensor) -> list[Tensor]:
    values, counts = cells[~cells.isnan()].unique(return_counts=True)
    frequent = values[counts.argsort(descending=True, stable=True)[:MOST_LEVELS]]
    return [(cells == value).double() for value in frequent]


def _independent(shapes: list[Tensor], cells: Tensor) -> Tensor:
    """Shapes in standard units, each without what those before it say; left out where that is all it says."""
    found: list[Tensor] = []
    for own in shapes:
        rest = own - own.mean()
        whole = rest.square().mean()
        for other in found:
            rest = rest - (rest * other).mean() * other
        variance = rest.square().mean()
        if variance > torch.maximum(LEAST_VARIANCE * whole, 1e-24 * (1 + own.abs().amax() ** 2)):
            found.append(rest / variance.sqrt())
    return torch.stack(found, dim=2) if found else cells.new_empty((*cells.shape, 0))
