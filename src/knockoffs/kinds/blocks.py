"""Encoders of several columns together: what they take, what they give, and what they know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from knockoffs.kinds.encoder import CellEncoder, increase, require
from knockoffs.kinds.relations import Context
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.kinds import Binary, Constant, Nominal
from knockoffs.schema.schema import Column, Schema


class BlockEncoder(ABC):
    """Columns of a table of which the encoders of single columns see others. Saved by its fields.

    It comes before the encoders of single columns, which describe what it gives.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def takes(self) -> Indices:
        """The columns of the table that it is about."""

    @property
    @abstractmethod
    def gives(self) -> Indices:
        """Those of these columns that stand for all; the others are constant to a model."""

    @abstractmethod
    def encode(self, cells: Array) -> Array:
        """Return the columns that it gives, of the cells of those that it takes."""

    @abstractmethod
    def decode(self, given: Array) -> Array:
        """Return the cells of the columns that it takes, of those that it gives."""

    @abstractmethod
    def describe(self, columns: Sequence[Column]) -> list[Column]:
        """Return what the columns that it gives hold, of what those that it takes hold."""

    @property
    @abstractmethod
    def levels(self) -> tuple[int, ...]:
        """The number of levels of each column that it gives."""

    @abstractmethod
    def require_valid(self, features: int) -> None:
        """Raise a ValueError for fields that describe no columns of a table with so many."""


@dataclass(frozen=True, eq=False)
class Joint(BlockEncoder):
    """Columns that are one to the model.

    Attributes
    ----------
    columns : array of int
        The columns; the first one stands for all.
    states : array of shape (states, columns)
        The combinations of cells that occur, nan for missing cells.
    """

    columns: Indices
    states: Array

    @property
    def takes(self) -> Indices:
        return self.columns

    @property
    def gives(self) -> Indices:
        return self.columns[:1]

    @property
    def levels(self) -> tuple[int, ...]:
        return (len(self.states),)

    def encode(self, cells: Array) -> Array:
        """The number of each row's state; one past the last for a state that the fit has not
        seen.
        """
        found = np.full((len(cells), 1), float(len(self.states)))
        for number, state in enumerate(self.states):
            found[((cells == state) | (np.isnan(cells) & np.isnan(state))).all(1)] = number
        return found

    def decode(self, given: Array) -> Array:
        return self.states[given[:, 0].astype(np.intp)]

    def describe(self, columns: Sequence[Column]) -> list[Column]:
        values = tuple(map(float, range(len(self.states))))
        kind = Nominal if len(values) > 2 else Binary
        return [replace(_constant(columns[0]), kind=kind.name, values=values)]

    def require_valid(self, features: int) -> None:
        width = len(np.unique(self.columns))
        known = len(self.columns) == width > 1 and np.isin(self.columns, np.arange(features)).all()
        require(known, "a joint state has columns that do not exist")
        fits = self.states.ndim == 2 and self.states.shape[1:] == self.columns.shape
        require(fits, "a joint state is not described for each of its columns")


@dataclass(frozen=True, eq=False)
class RowClasses:
    """Classes of rows, which knockoffs keep, and the internal columns that stand for the class.

    These have knockoffs like any other, which are not used: a row's knockoff stays in its class.
    """

    context: Context
    encoder: CellEncoder

    @property
    def takes(self) -> Indices:
        """The columns that the class is a function of."""
        return self.context.features

    @property
    def width(self) -> int:
        """Number of internal columns."""
        return self.encoder.width

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.context.keys)

    def of_rows(self, core: Array) -> Indices:
        """Return the class of each row."""
        return self.context.classes(core)

    def bounds(self, classes: Indices) -> tuple[Array, Array]:
        """Return between which scores the internal columns of classes lie."""
        return self.encoder.bounds(classes.astype(np.float64))

    def decode(self, z: Array) -> Indices:
        """Return the classes that internal columns stand for."""
        return self.encoder.decode(z).astype(np.intp)

    def require_valid(self, features: int) -> None:
        """Raise a ValueError for fields that describe no classes of the rows of such a table."""
        context, columns = self.context, np.arange(features)
        self.encoder.require_valid([])
        known = np.isin(np.concatenate([context.features, context.members]), columns).all()
        require(known, "a class of rows has columns that do not exist")
        width = len(context.features)
        fits = context.keys.ndim == 2 and context.keys.shape[1] == len(context.atoms) == width
        fits = fits and all(map(increase, context.atoms))
        require(fits, "a class of rows is not described for each of its columns")


def by_blocks(core: Array, blocks: Sequence[BlockEncoder]) -> Array:
    """Cells with what each block gives in place of what it takes, and 0 in its other columns."""
    if not blocks:
        return core
    core, given = core.copy(), core
    for block in blocks:
        core[:, block.takes] = 0.0
        core[:, block.gives] = block.encode(given[:, block.takes])
    return core


def decode_in_place(cells: Array, blocks: Sequence[BlockEncoder]) -> None:
    """Undo `by_blocks`."""
    for block in blocks:
        cells[:, block.takes] = block.decode(cells[:, block.gives])


def spread_known(known: Flags, blocks: Sequence[BlockEncoder]) -> None:
    """Let each column of a block be known where all that the block gives is known, in place."""
    for block in blocks:
        known[:, block.takes] = known[:, block.gives].all(axis=1, keepdims=True)


def schema_by_blocks(schema: Schema, blocks: Sequence[BlockEncoder]) -> Schema:
    """What the columns of cells `by_blocks` hold."""
    columns = list(schema.columns)
    for block in blocks:
        taken = [schema[int(j)] for j in block.takes]
        for j in block.takes:
            columns[j] = _constant(columns[j])
        for j, column in zip(block.gives, block.describe(taken), strict=True):
            columns[j] = column
    return Schema(tuple(columns))


def _constant(column: Column) -> Column:
    return replace(column, kind=Constant.name, values=(0.0,), levels=None, missing=0.0)
