"""A kind of column that the package does not know: angles, which come back to where they began."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from knockoffs.kinds.encoder import CellEncoder, OneColumn, require
from knockoffs.kinds.fit_columns import ColumnCells, EncoderFit
from knockoffs.kinds.units import continuous_intervals
from knockoffs.runtime.arrays import Array
from knockoffs.schema.kinds import Kind

TURN = 2 * np.pi


class Circular(Kind):
    """Angles in radians. Models of y see sine and cosine."""

    name = "circular"
    inferred = False
    ordered = False
    as_they_are = False
    encoder = "cut circle"
    explanation = "circular: angles in radians."

    def numbers(self, cells: Array) -> Array:
        return np.stack([np.sin(cells), np.cos(cells)], axis=-1)


@dataclass(frozen=True, slots=True)
class CutCircle(OneColumn):
    """A circle that is cut at some angle, as a line."""

    at: float
    line: CellEncoder

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return self.line.bounds((codes - self.at) % TURN)

    def decode(self, z: Array) -> Array:
        return (self.line.decode(z) + self.at) % TURN

    def require_valid(self, classes: list[int]) -> None:
        require(np.isfinite(self.at), "the cut of a circle is not finite")
        self.line.require_valid(classes)


def cut_circle(cells: ColumnCells) -> CellEncoder:
    """Cut the circle in the middle of its largest gap."""
    angles = np.sort(cells.codes % TURN)
    gaps = np.diff(np.append(angles, angles[0] + TURN))
    widest = int(gaps.argmax())
    at = float(angles[widest] + gaps[widest] / 2)
    return CutCircle(at, continuous_intervals((cells.codes - at) % TURN))


CUT = EncoderFit(cut_circle)
