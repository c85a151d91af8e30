"""A feature and its redrawn copies, and all features, as columns of numbers for models of y.

For each row there are several copies of the feature's cell, drawn given the rest of the row, and
the cell itself. Under the null hypothesis all are exchangeable, so a redraw takes any of them with
the same probability, and what is computed from all of them together (means, standard deviations,
ranks, which levels are frequent) treats them alike. Redraws are then choices among numbers that are
computed once.

A test needs that what models see of other features knows nothing of the tested one, and that
redraws of the tested one are treated as its own cells are. So, unlike in `design.py`, no column
depends on other tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.schema.kinds import Kind
from knockoffs.schema.schema import Column, Schema

COPIES = 63
MOST_LEVELS = 8  # of a nominal feature that have an indicator of their own
RANKS = 4_096  # values by which others are ranked
CLIPPED = 0.001  # share of the values, on either side, that are moved to the last of the others
# share of a shape's variance that must be its own, beside the shapes before it
LEAST_VARIANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Copies:
    """Shapes of a feature, `[rows, 1 + copies, shapes]`, in standard units over rows and copies,
    its own first.

    The first shape of an ordered feature is its value; further ones are curves, and say whether it
    is missing. The shapes of a nominal feature are its levels.
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
    shapes = [] if all_missing else _shapes(column.holds, cells, gaps)
    if bool(gaps.any()) and not all_missing:
        shapes.append(gaps.double())
    spread = float(shapes[0].std(correction=0)) if shapes else 0.0
    return Copies(_independent(shapes, cells), column.holds.ordered and not all_missing, spread)


def _shapes(kind: Kind, cells: Tensor, gaps: Tensor) -> list[Tensor]:
    if kind.of_levels:
        return _levels(cells)
    if kind.as_they_are:
        return _curves(cells, gaps)
    numbers = torch.as_tensor(kind.numbers(cells.cpu().numpy()), device=cells.device)
    return [torch.where(gaps, own[~gaps].mean(), own) for own in numbers.unbind(-1)]


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
    # Without ties the places on both sides of a value are the same, but for the few that are ranked
    # by.
    ties = bool((in_order.diff() == 0).any())
    upto = torch.searchsorted(in_order, ranked, right=True) if ties else below
    score = torch.special.ndtri((below + upto + 1).double() / (2 * len(in_order) + 2))
    return [
        value,
        *(torch.where(gaps, 0.0, own) for own in (score, score**2 - 1, score**3 - 3 * score)),
    ]


def _levels(cells: Tensor) -> list[Tensor]:
    values, counts = cells[~cells.isnan()].unique(return_counts=True)
    frequent = values[counts.argsort(descending=True, stable=True)[:MOST_LEVELS]]
    return [(cells == value).double() for value in frequent]


def _independent(shapes: list[Tensor], cells: Tensor) -> Tensor:
    """Shapes in standard units, each without what those before it say;
    left out where that is all it says.
    """
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


MOST_INDICATORS = 30


class Columns(NamedTuple):
    """Columns of numbers, with nan for missing values, and the feature that each belongs to."""

    x: Array
    unit: Indices

    @property
    def features(self) -> int:
        return int(self.unit.max()) + 1

    def without(self, features: Indices) -> Array:
        """The columns of all other features."""
        return self.x[:, ~np.isin(self.unit, features)]


def table_columns(schema: Schema, codes: Array) -> Columns:
    """The columns of a table's cells."""
    parts = [feature_columns(column, codes[:, j]) for j, column in enumerate(schema)]
    widths = [part.shape[1] for part in parts]
    return Columns(np.hstack(parts), np.repeat(np.arange(len(parts)), widths))


def feature_columns(column: Column, cells: Array) -> Array:
    """The columns of one feature's cells: levels without an order as indicators,
    and one of missing cells.
    """
    missing = [np.isnan(cells)] if 0 < column.missing < 1 else []
    if column.holds.of_levels:
        own = [cells == value for value in column.values[:MOST_INDICATORS]]
        return np.stack([*own, *missing], axis=-1).astype(np.float64)
    numbers = column.holds.numbers(cells)
    return np.concatenate([numbers, *(gap[..., None] for gap in missing)], axis=-1)


def in_standard_units(x: Array, centre: Array, deviation: Array) -> Array:
    """Columns in standard units, with 0 for missing values."""
    return np.nan_to_num((x - centre) / deviation, nan=0.0)


def standard_units(x: Array) -> tuple[Array, Array]:
    """Per column the mean and the standard deviation of what is there (1 for a constant)."""
    there = ~np.isnan(x)
    count = np.maximum(there.sum(0), 1)
    centre = np.where(there, x, 0.0).sum(0) / count
    squares = np.where(there, (x - centre) ** 2, 0.0).sum(0) / count
    deviation = np.sqrt(squares)
    return centre, np.where(deviation > 1e-12 * np.maximum(np.abs(centre), 1e-300), deviation, 1.0)
