"""The schema of a table: what kind of feature each column is, its values, and whether cells are missing.

Inside the package a table is an array of numbers with one column per feature: a quantity as it is, a level of a
text column by its number, and nan for a missing cell. The schema says how to read these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from knockoffs.runtime.arrays import LARGEST_WHOLE, Array, Flags, Indices
from knockoffs.schema.swap_units import Units

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["constant", "continuous", "semicontinuous", "ordinal", "binary", "nominal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CHOICES = ("continuous", "semicontinuous", "ordinal", "binary", "nominal")  # those that a user may ask for

RARE = 0.01  # share of the rows from which on a value among continuous ones is an atom
LEAST_ATOM = 3  # rows
REPEATED = 1.1  # rows per value from which on a column lies on a grid and has no continuous part
FEW = 20  # a column with at most so many values has no continuous part
TIED = 0.05  # share of the rows from which on a single value makes a column discrete


@dataclass(frozen=True, slots=True)
class Column:
    """One feature of a table.

    Attributes
    ----------
    name : str
        Name of the column, or "x0", "x1", ... where the table has no names.
    kind : {"constant", "continuous", "semicontinuous", "ordinal", "binary", "nominal"}
        `"semicontinuous"` is a continuous quantity that takes some values often, such as zero; `"ordinal"` are
        counts, grades, ordered categories, and quantities on a grid: whole numbers, and values that repeat as
        those with one decimal do (glucose in steps of 5), whose knockoffs take the same values. In a small table
        values with one decimal hardly repeat, and the column is `"continuous"`. `"constant"` is a column with at
        most one value.
    values : tuple of float
        Values that occur, increasing (numbers of levels where there are `levels`): all of them for discrete
        kinds, the frequent ones of a semicontinuous column, none of a continuous one.
    levels : tuple or None
        Levels of a text or category column, in the order of their numbers; None for a column of numbers.
    missing : float
        Share of the rows in which the cell is missing.
    unit : str
        Name of the unit that is swapped as a whole and has one statistic w: the feature itself, however many
        internal columns encode it, or the group of features that it belongs to.

    Examples
    --------
    >>> import pandas as pd
    >>> from knockoffs import infer_schema
    >>> column = infer_schema(pd.DataFrame({"smoker": ["yes", "no", None, "no"]}))[0]
    >>> column.kind, column.levels, column.missing
    ('binary', ('no', 'yes'), 0.25)
    """

    name: str
    kind: Kind
    values: tuple[float, ...] = ()
    levels: tuple[Any, ...] | None = None
    missing: float = 0.0
    unit: str = ""

    @property
    def discrete(self) -> bool:
        """Return whether every value is one of a list."""
        return self.kind in ("constant", "ordinal", "binary", "nominal")

    @property
    def varies(self) -> bool:
        """Return whether the column has more than one value, a missing cell counting as one."""
        return self.kind != "constant" or 0 < self.missing < 1

    def labels(self) -> tuple[Any, ...]:
        """The values as they stand in the table."""
        return self.values if self.levels is None else tuple(self.levels[int(code)] for code in self.values)


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """What each column of a table holds; `infer_schema` finds it out.

    Examples
    --------
    >>> import pandas as pd
    >>> from knockoffs import infer_schema
    >>> table = pd.DataFrame({"sex": ["f", "m", "f", None], "children": [0, 3, 2, 1]})
    >>> infer_schema(table)
    Schema(2 columns: 1 ordinal, 1 binary; 1 with missing cells)
    """

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, j: int) -> Column:
        return self.columns[j]

    def __repr__(self) -> str:
        counts = [(sum(column.kind == kind for column in self), kind) for kind in KINDS]
        said = ", ".join(f"{count} {kind}" for count, kind in counts if count)
        missing = sum(column.missing > 0 for column in self)
        return f"Schema({len(self)} columns: {said}" + (f"; {missing} with missing cells)" if missing else ")")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self)

    @property
    def varies(self) -> Flags:
        return np.array([column.varies for column in self], dtype=bool)

    @property
    def units(self) -> Units:
        # no group of several columns has the name of a column
        return Units.of_groups(self.names, {j: c.unit for j, c in enumerate(self) if c.unit != c.name})

    def to_frame(self) -> pd.DataFrame:
        """One row per column: name, kind, number of values, share of missing cells, and unit."""
        import pandas as pd

        return pd.DataFrame(
            {
                "feature": self.names,
                "kind": [column.kind for column in self],
                "values": [len(column.values) if column.discrete else np.nan for column in self],
                "missing": [column.missing for column in self],
                "unit": [column.unit for column in self],
            }
        )


def describe_columns(
    codes: Array,
    names: Sequence[str],
    levels: Sequence[tuple[Any, ...] | None],
    kinds: Mapping[int, Kind],
    groups: Mapping[int, str] | None = None,
) -> Schema:
    """Describe columns of numbers; `kinds` are those that are given instead of being inferred.

    `groups` are the names of the groups of features that columns belong to.
    """
    groups = groups or {}
    return Schema(
        tuple(
            _describe(column, str(name), labels, kinds.get(j), groups.get(j, str(name)))
            for j, (column, name, labels) in enumerate(zip(codes.T, names, levels, strict=True))
        )
    )


def _describe(column: Array, name: str, levels: tuple[Any, ...] | None, kind: Kind | None, unit: str) -> Column:
    gaps = np.isnan(column)
    present = column[~gaps]
    missing = float(gaps.mean()) if len(column) else 0.0
    values, counts = np.unique(present, return_counts=True)
    if len(values) <= 2:
        kind = "constant" if len(values) <= 1 else "binary"
    elif kind is None:
        kind = infer_kind(values, counts)
    kept = {"continuous": values[:0], "semicontinuous": values[frequent(counts)]}.get(kind, values)
    return Column(name, kind, tuple(kept.tolist()), levels, missing, unit)


def infer_kind(values: Array, counts: Indices) -> Kind:
    """Infer the kind of a column of numbers from its values, at least three, and how often each occurs."""
    rows = counts.sum()
    whole = bool(np.all(values == np.rint(values))) and np.abs(values).max() < LARGEST_WHOLE
    if not whole and len(values) > rows / 2 and counts.max() <= max(2, TIED * rows):
        return "continuous"
    # Values of a continuous part hardly ever repeat; draws of a column on a grid, such as one decimal, stay on it.
    rest = counts[~frequent(counts)]
    on_grid = rest.sum() > REPEATED * len(rest)
    return "ordinal" if whole or on_grid or len(values) <= FEW else "semicontinuous"


def frequent(counts: Indices) -> Flags:
    """Which values are atoms: those that occur in a share of the rows."""
    return counts >= max(LEAST_ATOM, RARE * counts.sum())
