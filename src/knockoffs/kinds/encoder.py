"""What all encoders promise, whatever a column holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from knockoffs.runtime.arrays import Array, Flags, Indices

FARTHEST = 8.0  # standard deviations

# the class of each row, by the number of a context
ClassesOf = Callable[[int], Indices]


class Encoder(ABC):
    """How the cells of one feature become internal columns, and back. Saved by its fields."""

    __slots__ = ()
    latent: ClassVar[bool] = True  # whether its internal columns are drawn given all others

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of internal columns."""

    @abstractmethod
    def parts(self, classes: ClassesOf) -> Iterator[tuple[CellEncoder, Flags | slice]]:
        """Yield what describes the feature, and the rows in which it does."""

    @abstractmethod
    def levels(self) -> Array:
        """Return the values that it may give; raises a ValueError where they cannot be listed."""

    @abstractmethod
    def require_valid(self, classes: list[int]) -> None:
        """Raise a ValueError for fields that describe no column.

        `classes` are the numbers of classes of rows that each context has.
        """

    @property
    def states(self) -> int:
        """Number of values, where the internal column is the number of a value; else 0."""
        return 0

    @property
    def quantity(self) -> Scored | None:
        """The quantity whose value the first internal column is, where it has a scale of scores."""
        return None

    def encode(self, codes: Array, place: Array) -> Array:
        """Return the only internal column of cells, if it is not latent, at a place (0 to 1)."""
        raise NotImplementedError

    def encode_middle(self, codes: Array) -> Array:
        """Return the only internal column of cells, if it is not latent, without randomness."""
        return self.encode(codes, codes)

    def of_alike(self, other: Array) -> Array:
        """Return cells by those of an earlier feature that stands for this one."""
        return other


class CellEncoder(Encoder):
    """An encoder that is the same in all rows, or in all of a class."""

    __slots__ = ()

    @abstractmethod
    def bounds(self, codes: Array) -> tuple[Array, Array]:
        """Return between which scores the internal columns of cells lie, `[rows, width]` each."""

    @abstractmethod
    def decode(self, z: Array) -> Array:
        """Return the cells that internal columns `[rows, width]` stand for."""

    @abstractmethod
    def knows(self, codes: Array) -> Flags:
        """Which cells have a value that the fit has seen, or that lies between such values."""

    @property
    def countable(self) -> bool:
        """Whether its values can be listed."""
        return True

    @property
    def many_present(self) -> bool:
        """Whether cells may be missing, and have values that cannot be listed if they are not."""
        return False

    def parts(self, classes: ClassesOf) -> Iterator[tuple[CellEncoder, Flags | slice]]:
        yield self, slice(None)

    def levels(self) -> Array:
        raise ValueError("a column of levels is described as a continuous one")

    def require_valid(self, classes: list[int]) -> None:
        """Do nothing: there is nothing to be wrong."""


class OneColumn(CellEncoder):
    """What most features with one internal column, the value itself, have in common."""

    __slots__ = ()

    @property
    def width(self) -> int:
        return 1

    @property
    def countable(self) -> bool:
        return False

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return codes[:, None], codes[:, None]

    def knows(self, codes: Array) -> Flags:
        return ~np.isnan(codes)


class NoColumns(CellEncoder):
    """What features without internal columns have in common."""

    __slots__ = ()

    @property
    def width(self) -> int:
        return 0

    def bounds(self, codes: Array) -> tuple[Array, Array]:
        return np.empty((len(codes), 0)), np.empty((len(codes), 0))


class Scored(CellEncoder):
    """A quantity that has a score for each value, and a value for each score."""

    __slots__ = ()

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """The scores between which a missing cell may lie."""

    @abstractmethod
    def score_of(self, value: Array) -> Array:
        """Return the scores of values."""

    @abstractmethod
    def value_at(self, score: Array) -> Array:
        """Return the values at scores."""


def scores(probability: Array) -> Array:
    """Normal scores of probabilities, bounded."""
    return np.clip(ndtri(probability), -FARTHEST, FARTHEST)


def require(fine: object, problem: str) -> None:
    """Raise a ValueError that says the problem of a description, if it is not fine."""
    if not fine:
        raise ValueError(problem)


def increase(*columns: Array) -> bool:
    """Return whether these are finite numbers in increasing order, equally many of each."""
    rising = all(np.isfinite(own).all() and (np.diff(own) > 0).all() for own in columns)
    return rising and columns[0].ndim == 1 and len({own.shape for own in columns}) == 1


def require_levels(values: Array, *, missing: bool = False) -> None:
    """Raise a ValueError for what are not the values of a discrete column,
    the last of which may be missing.
    """
    present = values[:-1] if missing and np.isnan(values[-1:]).any() else values
    rising = increase(present) and len(values) > 1
    require(rising, "the levels of a column are not two or more finite numbers in increasing order")
