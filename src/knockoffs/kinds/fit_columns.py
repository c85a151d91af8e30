"""Learn the encoder of one column from its cells, by the name that its kind gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from knockoffs.kinds.encoder import CellEncoder
from knockoffs.kinds.levels import level_boxes, nominal_boxes
from knockoffs.kinds.relations import LEAST_ROWS
from knockoffs.kinds.units import (
    Constant,
    Plain,
    WithGaps,
    continuous_intervals,
    discrete_intervals,
    gap_threshold,
    measured,
)
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.schema import Column, Schema
from knockoffs.table.design import expand

QUANTITY, VALUES = "quantity", "values"


@dataclass(frozen=True, slots=True)
class ColumnCells:
    """The cells that an encoder is learned from.

    Attributes
    ----------
    column : Column
        What the column holds.
    codes : array of shape (rows,)
        The cells, without the missing ones if a wrapper is to see these.
    others : function
        Returns the other features of the same rows as standardised columns.
    bounded : bool
        Whether the cells may be those of an interval, to whose range draws keep.
    """

    column: Column
    codes: Array
    others: Callable[[], Array]
    bounded: bool = False


class EncoderFit(NamedTuple):
    """How an encoder is learned, and whether it encodes missing cells, too; else a wrapper does."""

    fit: Callable[[ColumnCells], CellEncoder]
    with_missing: bool = False


def _fit_quantity(cells: ColumnCells) -> CellEncoder:
    return continuous_intervals(cells.codes) if cells.bounded else measured(cells.codes)


def _fit_quantity_with_atoms(cells: ColumnCells) -> CellEncoder:
    return discrete_intervals(cells.codes, np.array(cells.column.values))


def _fit_values(cells: ColumnCells) -> CellEncoder:
    if cells.column.levels is not None:
        return level_boxes(cells.codes)
    return discrete_intervals(cells.codes)


def _fit_levels(cells: ColumnCells) -> CellEncoder:
    return nominal_boxes(cells.codes, cells.others())


ENCODERS: dict[str, EncoderFit] = {
    QUANTITY: EncoderFit(_fit_quantity),
    "quantity with atoms": EncoderFit(_fit_quantity_with_atoms),
    VALUES: EncoderFit(_fit_values),
    "levels": EncoderFit(_fit_levels, with_missing=True),
}


def register_encoder(name: str, fit: EncoderFit) -> None:
    """Let kinds of columns name this encoder; replaces one of the same name."""
    ENCODERS[name] = fit


class ColumnFits:
    """Encoders of the columns of a table, those of levels with regard to the other columns."""

    def __init__(self, core: Array, schema: Schema) -> None:
        self._core, self._schema = core, schema
        design = expand(schema, core)
        table, self._unit = design.tables[0], design.unit
        deviation = table.std(0)
        self._table = (table - table.mean(0)) / np.where(deviation > 0, deviation, 1.0)

    def describe(self, j: int, rows: Flags | None = None, *, bounded: bool = False) -> CellEncoder:
        """The internal columns of feature j, learned from all rows or from those of a class.

        A class may be an interval of the feature's values: a `bounded` quantity keeps to the range
        it was seen in.
        """
        column, codes = self._schema[j], self._core[:, j]
        if rows is None and is_plain(column):
            return Plain(float(np.median(codes)), continuous_intervals(codes))
        codes = codes if rows is None else codes[rows]
        present = codes[~np.isnan(codes)]
        values = np.unique(present)
        if len(values) == 0 or (len(values) == 1 and len(present) == len(codes)):
            return Constant(codes[0])
        # two levels need no other columns to be placed by
        few = column.discrete and len(values) <= 2
        encoder = ENCODERS[VALUES if few else column.holds.encoder]
        if encoder.with_missing:
            return encoder.fit(ColumnCells(column, codes, lambda: self._others(j, rows)))
        return _with_gaps(
            _fit(encoder, ColumnCells(column, present, lambda: self._others(j, rows), bounded)),
            1 - len(present) / len(codes),
        )

    def describe_present(self, j: int) -> CellEncoder:
        """The internal columns of feature j by the cells that are not missing,
        all of them latent.
        """
        column, codes = self._schema[j], self._core[:, j]
        present = ~np.isnan(codes)
        cells = ColumnCells(column, codes[present], lambda: self._others(j, present))
        encoder = ENCODERS[column.holds.encoder]
        return encoder.fit(cells) if encoder.with_missing else _fit(encoder, cells)

    def classes(self, classes: Indices, members: Indices) -> CellEncoder:
        """Internal columns for a class of rows; none where nearly all rows are in one class."""
        codes = classes.astype(np.float64)
        most = np.bincount(classes).argmax()
        if np.count_nonzero(classes != most) < LEAST_ROWS:
            return Constant(float(most))
        if classes.max() == 1:
            return discrete_intervals(codes)
        return nominal_boxes(codes, self._table[:, ~np.isin(self._unit, members)])

    def _others(self, j: int, rows: Flags | None) -> Array:
        others = self._table[:, self._unit != j]
        return others if rows is None else others[rows]


def is_plain(column: Column) -> bool:
    """Return whether a column is a quantity that generators see as it is."""
    return column.holds.encoder == QUANTITY and column.missing == 0


def _fit(encoder: EncoderFit, cells: ColumnCells) -> CellEncoder:
    """Learn an encoder of cells of which none is missing."""
    if cells.codes.min() == cells.codes.max():
        return Constant(cells.codes[0])
    return encoder.fit(cells)


def _with_gaps(encoder: CellEncoder, missing: float) -> CellEncoder:
    return WithGaps(encoder, gap_threshold(missing)) if missing > 0 else encoder
