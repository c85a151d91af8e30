"""The cells of one feature in some rows, for draws and probabilities of that feature alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from knockoffs.kinds.units import FeatureUnit, Intervals, Measured, WithGaps
from knockoffs.runtime.arrays import Array, Flags, Indices


@dataclass(frozen=True, slots=True)
class FeatureCells:
    """The cells of one feature in some rows, and the way from its internal columns to them."""

    units: tuple[FeatureUnit, ...]  # per class of rows
    classes: Indices
    root: Array | None  # of the correlation of several internal columns
    measured: Measured | None  # the quantity whose value the first internal column is
    own: Array
    known: Flags

    def decode(self, encoded: Array) -> Array:
        """The cells of internal columns `[rows, draws, width]`; one that the fit has not seen stays as it is."""
        draws = encoded.shape[1]
        if self.measured is not None:
            score = self.measured.score_of(encoded[..., 0])
            encoded = np.concatenate([score[..., None], encoded[..., 1:]], axis=2)
        if self.root is not None:
            encoded = encoded @ self.root.T
        cells = np.repeat(self.own[:, None], draws, axis=1)
        for unit, some in self._by_class():
            own = encoded[some][..., : unit.width].reshape(int(some.sum()) * draws, unit.width)
            cells[some] = unit.decode(own).reshape(-1, draws)
        return cells

    def bounds(self, values: Array) -> tuple[Array, Array]:
        """Between which scores of the only internal column values lie, per row.

        They are equal for a value of a continuous part, and nan where the row cannot have the value.
        """
        low, high = np.full((2, len(values)), np.nan)
        for unit, some in self._by_class():
            if unit.width == 0:
                continue
            below, above = unit.bounds(values[some])
            possible = (unit.decode((below + above) / 2) == values[some]) | (below == above)[:, 0]
            low[some], high[some] = (np.where(possible, ends[:, 0], np.nan) for ends in (below, above))
        return low, high

    def fixed(self) -> Flags:
        """Rows that have one possible cell: a class with one value, or a cell that the fit has not seen."""
        fixed = ~self.known
        for unit, some in self._by_class():
            fixed[some] = unit.width == 0
        return fixed

    def only_whether_missing(self) -> bool:
        """Return whether the feature is a quantity with missing cells, whose values are too many to count."""
        return any(
            isinstance(unit, WithGaps)
            and (
                isinstance(unit.present, Measured)
                or (isinstance(unit.present, Intervals) and not unit.present.atom.all())
            )
            for unit in self.units
        )

    def _by_class(self) -> Iterator[tuple[FeatureUnit, Flags]]:
        for k, unit in enumerate(self.units):
            some = (self.classes == k) & self.known
            if some.any():
                yield unit, some
