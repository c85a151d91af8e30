"""What a column can be: one class per kind, with all facts that other rooms ask for.

A new kind is one class and one call of `register_kind`; nothing else asks which kind a column is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from knockoffs.runtime.arrays import LARGEST_WHOLE, Array, Flags, Indices

RARE = 0.01  # share of the rows from which on a value among continuous ones is an atom
LEAST_ATOM = 3  # rows
REPEATED = 1.1  # rows per value from which on a column lies on a grid and has no continuous part
FEW = 20  # a column with at most so many values has no continuous part
TIED = 0.05  # share of the rows from which on a single value makes a column discrete


class Kind:
    """What a column holds, and what follows from that; a quantity without repeated values here.

    Attributes
    ----------
    name : str
        What users read and write.
    askable : bool
        Whether a user may ask for it.
    inferred : bool
        Whether the values of a column of numbers may tell it.
    from_repeats : bool
        Whether it is inferred from how often values repeat.
    varies : bool
        Whether the column has more than one value.
    most_values : int or None
        The most values that such a column has; None for any number.
    discrete : bool
        Whether every value is one of a list.
    atoms : bool
        Whether some values occur often, be it all of them.
    ordered : bool
        Whether values lie on a line, so that it makes sense to say that y rises along them.
    of_levels : bool
        Whether values are levels without an order: models of y see an indicator for each.
    own_order : bool
        Whether levels, where there are some, have an order of their own.
    as_they_are : bool
        Whether models of y see cells without gaps as they are, and not `numbers` of them.
    encoder : str
        The name of the default encoder for generators; see `kinds/fit_encoding.py`.
    explanation : str or None
        What a table of columns says of the kind below it.
    """

    name: ClassVar[str]
    askable: ClassVar[bool] = True
    inferred: ClassVar[bool] = True
    from_repeats: ClassVar[bool] = False
    varies: ClassVar[bool] = True
    most_values: ClassVar[int | None] = None
    discrete: ClassVar[bool] = False
    atoms: ClassVar[bool] = False
    ordered: ClassVar[bool] = True
    of_levels: ClassVar[bool] = False
    own_order: ClassVar[bool] = False
    as_they_are: ClassVar[bool] = True
    encoder: ClassVar[str] = "quantity"
    explanation: ClassVar[str | None] = None

    @property
    def of_numbers(self) -> bool:
        """Return whether cells that look like numbers are numbers, also such as 05."""
        return not self.discrete or self.own_order

    def listed(self, values: Array, counts: Indices) -> Array:
        """Return the values that a column keeps a list of, of all that occur so often."""
        return values[:0]

    def numbers(self, cells: Array) -> Array:
        """Return the columns in which models of y see cells, `[..., columns]`; nan where missing.

        Not asked for levels, which have an indicator each.
        """
        return cells[..., None]

    def words(self, values: Sequence[float], levels: Sequence[Any] | None) -> str:
        """Return the kind of a column with these values, or levels, in words."""
        return self.name


class Continuous(Kind):
    """A quantity whose values hardly repeat."""

    name = "continuous"


class Semicontinuous(Kind):
    """A continuous quantity that takes some values often, such as zero."""

    name = "semicontinuous"
    from_repeats = True
    atoms = True
    encoder = "quantity with atoms"

    def listed(self, values: Array, counts: Indices) -> Array:
        return values[frequent(counts)]


class Discrete(Kind):
    """What kinds with a list of values have in common."""

    discrete = True
    atoms = True
    encoder = "values"

    def listed(self, values: Array, counts: Indices) -> Array:
        return values


class Constant(Discrete):
    """At most one value."""

    name = "constant"
    askable = False
    varies = False
    most_values = 1


class Ordinal(Discrete):
    """Counts, grades, ordered categories, and quantities on a grid."""

    name = "ordinal"
    from_repeats = True
    own_order = True
    explanation = (
        "ordinal: counts, grades, and quantities on a grid, such as whole numbers or one decimal."
    )

    def words(self, values: Sequence[float], levels: Sequence[Any] | None) -> str:
        """Say what makes a column ordinal: its levels, whole numbers, or values that repeat."""
        if levels is not None:
            return "ordinal (levels)"
        whole = all(value == round(value) for value in values)
        return "ordinal (whole)" if whole else "ordinal (grid)"


class Binary(Discrete):
    """Two values."""

    name = "binary"
    most_values = 2


class Nominal(Discrete):
    """Levels without an order."""

    name = "nominal"
    inferred = False
    ordered = False
    of_levels = True
    as_they_are = False
    encoder = "levels"


KINDS: dict[str, Kind] = {}


def register_kind(kind: Kind) -> None:
    """Let columns be of this kind; replaces one of the same name."""
    KINDS[kind.name] = kind


for _kind in (Constant(), Continuous(), Semicontinuous(), Ordinal(), Binary(), Nominal()):
    register_kind(_kind)


def kind_choices() -> tuple[str, ...]:
    """Return the names of the kinds that a user may ask for."""
    return tuple(name for name, kind in KINDS.items() if kind.askable)


def kind_of(values: Array, counts: Indices, asked: str | None) -> Kind:
    """Return the kind of a column with these values: the `asked` one, if it has enough values.

    With at most two values a column is what these are, whatever the user calls them.
    """
    if len(values) <= 2:
        return KINDS[Constant.name if len(values) <= 1 else Binary.name]
    return KINDS[infer_kind(values, counts) if asked is None else asked]


def infer_kind(values: Array, counts: Indices) -> str:
    """Infer the kind of a column of numbers from its values, at least three,
    and how often each occurs.
    """
    rows = counts.sum()
    whole = bool(np.all(values == np.rint(values))) and np.abs(values).max() < LARGEST_WHOLE
    if not whole and len(values) > rows / 2 and counts.max() <= max(2, TIED * rows):
        return Continuous.name
    # Values of a continuous part hardly ever repeat; draws of a column on a grid, such as one
    # decimal, stay on it.
    rest = counts[~frequent(counts)]
    on_grid = rest.sum() > REPEATED * len(rest)
    discrete = whole or on_grid or len(values) <= FEW
    return Ordinal.name if discrete else Semicontinuous.name


def frequent(counts: Indices) -> Flags:
    """Which values are atoms: those that occur in a share of the rows."""
    return counts >= max(LEAST_ATOM, RARE * counts.sum())
