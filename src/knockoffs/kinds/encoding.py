"""How a generator sees a table: internal columns of numbers for each feature,
and back to the features' cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, ndtri

from knockoffs.kinds.blocks import (
    BlockEncoder,
    RowClasses,
    by_blocks,
    decode_in_place,
    spread_known,
)
from knockoffs.kinds.encoder import FARTHEST, CellEncoder, Encoder, Scored
from knockoffs.kinds.latent import DRAW_SWEEPS, draw_latents, start_latents
from knockoffs.runtime.arrays import Array, Flags, Indices

CHUNK = 4_096  # rows whose random numbers are held at once


@dataclass(frozen=True, slots=True)
class FeatureCells:
    """The cells of one feature in some rows, and the way from its internal columns to them."""

    parts: tuple[tuple[CellEncoder, Flags | slice], ...]  # with the rows that each describes
    root: Array | None  # of the correlation of several internal columns
    measured: Scored | None  # the quantity whose value the first internal column is
    own: Array
    known: Flags

    def decode(self, encoded: Array) -> Array:
        """The cells of internal columns `[rows, draws, width]`;
        one that the fit has not seen stays as it is.
        """
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

        They are equal for a value of a continuous part, and nan where the row cannot have the
        value.
        """
        low, high = np.full((2, len(values)), np.nan)
        for unit, some in self._by_class():
            if unit.width == 0:
                continue
            below, above = unit.bounds(values[some])
            possible = (unit.decode((below + above) / 2) == values[some]) | (below == above)[:, 0]
            low[some], high[some] = (
                np.where(possible, ends[:, 0], np.nan) for ends in (below, above)
            )
        return low, high

    def fixed(self) -> Flags:
        """Rows that have one possible cell: a class with one value,
        or a cell that the fit has not seen.
        """
        fixed = ~self.known
        for unit, some in self._by_class():
            fixed[some] = unit.width == 0
        return fixed

    def only_whether_missing(self) -> bool:
        """Return whether the feature is a quantity with missing cells,
        whose values are too many to count.
        """
        return any(unit.many_present for unit, _ in self.parts)

    def _by_class(self) -> Iterator[tuple[CellEncoder, Flags]]:
        for unit, rows in self.parts:
            some = np.zeros(len(self.known), dtype=bool)
            some[rows] = self.known[rows]
            if some.any():
                yield unit, some


@dataclass(frozen=True, eq=False)
class TableEncoding:
    """A random map of rows to internal columns, and back.

    Attributes
    ----------
    units : tuple of Encoder
        One per feature. A feature without internal columns is copied: its only valid knockoff is a
        copy.
    alike : array of int
        Per feature the first one that is equal to it or a function of it (`dependence.py`), mostly
        itself.
    contexts : tuple of RowClasses
        Classes of rows that knockoffs keep. Each has internal columns behind those of the features.
    correlation : array or None
        Correlations of the internal columns on the normal scale; None where no column is latent.
    swapped : array of int or None
        Per feature the unit that it is swapped with, where groups of features are; None where each
        is a unit.
    together : tuple of BlockEncoder
        Features that are encoded together, such as those of a group that are one feature to the
        model.
    kept : tuple of int
        Features that others determine: their knockoff is a copy, and their internal columns tell of
        the others.
    """

    units: tuple[Encoder, ...]
    alike: Indices
    contexts: tuple[RowClasses, ...] = ()
    correlation: Array | None = None
    swapped: Indices | None = None
    together: tuple[BlockEncoder, ...] = ()
    kept: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        # now, so that no later use changes it
        for name in ("copied", "_places", "unit", "latent", "_roots", "_measured"):
            getattr(self, name)

    @cached_property
    def copied(self) -> Flags:
        """Features whose knockoff is a copy: duplicates, those without internal columns,
        and the kept ones.
        """
        own = np.arange(len(self.units))
        swapped = own if self.swapped is None else self.swapped
        # within a unit, the knockoff of one is that of the other
        duplicate = swapped[self.alike] != swapped
        empty = np.array([unit.width == 0 for unit in self.units])
        for block in self.together:  # which cannot be drawn one by one
            empty[block.takes] = empty[block.gives].all() or self.swapped is None
        empty[list(self.kept)] = True
        return np.isin(self.alike, self.alike[duplicate]) | empty[self.alike]

    @cached_property
    def _places(self) -> list[slice]:
        """The internal columns of each feature and then of each context."""
        duplicate = self.alike != np.arange(len(self.units))
        widths = [
            0 if alike else unit.width for unit, alike in zip(self.units, duplicate, strict=True)
        ]
        ends = np.cumsum([0, *widths, *(own.width for own in self.contexts)]).tolist()
        return [slice(start, end) for start, end in pairwise(ends)]

    @property
    def width(self) -> int:
        """Number of internal columns."""
        return self._places[-1].stop

    @cached_property
    def unit(self) -> Indices:
        """The feature that each internal column belongs to;
        those of contexts have numbers beyond the features.
        """
        widths = [place.stop - place.start for place in self._places]
        return np.repeat(np.arange(len(widths)), widths)

    @property
    def swap_unit(self) -> Indices:
        """The unit that each internal column is swapped with;
        numbers of contexts come behind all others.
        """
        if self.swapped is None:
            return self.unit
        return np.append(self.swapped, len(self.units) + np.arange(len(self.contexts)))[self.unit]

    @property
    def blocks(self) -> Indices | None:
        """The groups of internal columns that need not stand near their own knockoffs, by number.

        The columns of a group of several features; all others are groups of one. None where there
        are no others.
        """
        if self.swapped is None:
            return None
        several = np.bincount(self.swapped)[self.swapped] > 1
        grouped = np.append(several, np.zeros(len(self.contexts), dtype=bool))[self.unit]
        return np.where(
            grouped, self.swap_unit, len(self.units) + len(self.contexts) + np.arange(self.width)
        )

    @cached_property
    def latent(self) -> Indices:
        """Internal columns that are drawn given the others."""
        shown = [column for _, _, column in self._shown_units()]
        return np.setdiff1d(np.arange(self.width), shown)

    def _shown_units(self) -> Iterator[tuple[int, Encoder, int]]:
        """Features whose internal column is no latent, with that column; duplicates have none."""
        for j, (unit, place) in enumerate(zip(self.units, self._places, strict=False)):
            if not unit.latent and place.stop > place.start:
                yield j, unit, place.start

    def encode(self, core: Array, rng: np.random.Generator) -> Array:
        """Internal columns of rows; latent ones are drawn given all others.
        They depend on their row alone.
        """
        core = by_blocks(core, self.together)
        if self.correlation is None:
            return self._shown(
                core, np.empty((len(core), self.width)), rng.random((len(core), self.width))
            )
        encoded = np.empty((len(core), self.width))
        for start in range(0, len(core), CHUNK):
            part = core[start : start + CHUNK]
            noise = rng.random((len(part), DRAW_SWEEPS + 1, len(self.latent)))
            z = draw_latents(self.correlation, *self._bounds(part), self.latent, noise)
            encoded[start : start + CHUNK] = self._shown(part, z, z)
        return self._in_own_units(encoded)

    def encode_apart(self, core: Array, noise: Array) -> Array:
        """Internal columns with latents drawn whatever the other columns; `noise` is uniform,
        `[rows, width]`.
        """
        core = by_blocks(core, self.together)
        z = start_latents(*self._bounds(core), self.latent, noise[:, self.latent])
        return self._in_own_units(self._shown(core, z, noise))

    def middles(self, core: Array) -> Array:
        """Internal columns with latents in the middle of their intervals,
        for densities at given values.
        """
        core = by_blocks(core, self.together)
        low, high = self._bounds(core)
        z = (
            low
            if self.correlation is None
            else np.where(low == high, low, ndtri((ndtr(low) + ndtr(high)) / 2))
        )
        for j, unit, column in self._shown_units():
            z[:, column] = unit.encode_middle(core[:, j])
        return self._in_own_units(z)

    @cached_property
    def _roots(self) -> list[tuple[slice, Array]]:
        """The columns of features with several internal columns,
        and the Cholesky root of their correlations.
        """
        if self.correlation is None:
            return []
        several = [place for place in self._places if place.stop - place.start > 1]
        return [(place, np.linalg.cholesky(self.correlation[place, place])) for place in several]

    @cached_property
    def _measured(self) -> list[tuple[int, Scored]]:
        """The internal columns of measured quantities with missing cells."""
        places = zip(self.units, self._places, strict=False)
        found = ((place.start, unit.quantity) for unit, place in places if place.stop > place.start)
        return [(column, quantity) for column, quantity in found if quantity is not None]

    def _in_own_units(self, z: Array) -> Array:
        """Give scores the form that generators see: uncorrelated,
        and quantities in the units of their values.

        The columns of a feature are swapped together, so any invertible map of these is allowed.
        With uncorrelated ones generators that keep a distance column by column can keep a larger
        one. The margins of a quantity with gaps are left to the generator, as are those of other
        quantities.
        """
        for place, root in self._roots:  # which leaves the first column of each feature as it is
            z[:, place] = np.linalg.solve(root, z[:, place].T).T
        for column, unit in self._measured:
            z[:, column] = unit.value_at(z[:, column])
        return z

    def _as_scores(self, z: Array) -> Array:
        """Undo `_in_own_units`."""
        z = z.copy()
        for column, unit in self._measured:
            z[:, column] = unit.score_of(z[:, column])
        for place, root in self._roots:
            z[:, place] = z[:, place] @ root.T
        return z

    def _shown(self, core: Array, z: Array, noise: Array) -> Array:
        """Put the columns that are no latents in the places of their features."""
        for j, unit, column in self._shown_units():
            z[:, column] = unit.encode(core[:, j], noise[:, column])
        return z

    def bounds(self, core: Array) -> tuple[Array, Array]:
        """Between which scores the internal columns of rows lie, `[rows, width]` each;
        the same twice if known.
        """
        return self._bounds(by_blocks(core, self.together))

    def _bounds(self, core: Array) -> tuple[Array, Array]:
        # a class of rows leaves free what it does not use
        low = np.full((len(core), self.width), -FARTHEST)
        high = np.full((len(core), self.width), FARTHEST)
        for column, quantity in self._measured:
            low[:, column], high[:, column] = quantity.range
        classes = self._classes(core)
        for j, unit, rows in self._descriptions(classes):
            place = self._places[j]
            if place.stop > place.start:
                own = slice(place.start, place.start + unit.width)
                low[rows, own], high[rows, own] = unit.bounds(core[rows, j])
        places = self._places[len(self.units) :]
        for own, context, place in zip(classes, self.contexts, places, strict=True):
            low[:, place], high[:, place] = context.bounds(own)
        return low, high

    def _classes(self, core: Array) -> list[Indices]:
        return [context.of_rows(core) for context in self.contexts]

    def _descriptions(
        self, classes: Sequence[Indices]
    ) -> Iterator[tuple[int, CellEncoder, Flags | slice]]:
        """Each feature with what describes it, and the rows in which it does: all,
        or those of a class.
        """
        for j, unit in enumerate(self.units):
            yield from ((j, own, rows) for own, rows in unit.parts(classes.__getitem__))

    def decode(self, encoded: Array, original: Array | None = None) -> Array:
        """Cells of all features: new rows, or knockoffs of the `original` rows,
        whose classes they keep.

        A cell with a level that the fit has not seen is its own knockoff.
        """
        encoded = self._as_scores(encoded)
        drawn = zip(self.contexts, self._places[len(self.units) :], strict=True)
        if original is None:
            classes = [context.decode(encoded[:, place]) for context, place in drawn]
        else:
            classes = self._classes(by_blocks(original, self.together))
        cells = np.empty((len(encoded), len(self.units)))
        for j, unit, rows in self._descriptions(classes):
            if self.alike[j] == j:
                start = self._places[j].start
                cells[rows, j] = unit.decode(encoded[rows, start : start + unit.width])
        decode_in_place(cells, self.together)
        for j, (unit, first) in enumerate(zip(self.units, self.alike, strict=True)):
            if j != first:
                cells[:, j] = unit.of_alike(cells[:, first])
        if original is not None:
            # a copy is valid, also where a constant varies by now
            copied = self.copied | ~self.knows(original)
            cells = np.where(copied, original, cells)
        return cells

    def feature_cells(self, feature: int, core: Array, known: Flags) -> FeatureCells:
        """What leads from the internal columns of one feature to its cells in some rows, and back.

        `known` are the cells that the fit knows, by `knows`.
        """
        unit, place, core = (
            self.units[feature],
            self._places[feature],
            by_blocks(core, self.together),
        )
        return FeatureCells(
            parts=tuple(unit.parts(lambda k: self.contexts[k].of_rows(core))),
            root=next((root for own, root in self._roots if own == place), None),
            measured=next((own for column, own in self._measured if column == place.start), None),
            own=core[:, feature],
            known=known[:, feature],
        )

    def knows(self, core: Array) -> Flags:
        """Which cells have a value that the fit has seen, or that lies between such values; `[rows,
        features]`.
        """
        core = by_blocks(core, self.together)
        known = np.zeros(core.shape, dtype=bool)
        for j, unit, rows in self._descriptions(self._classes(core)):
            known[rows, j] = unit.knows(core[rows, j])
        spread_known(known, self.together)
        return known
