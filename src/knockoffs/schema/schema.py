"""The schema of a table: what kind of feature each column is, its values,
whether cells are missing, its unit.

Inside the package a table is an array of numbers with one column per feature: a quantity as it is,
a level of a text column by its number, and nan for a missing cell. The schema says how to read
these numbers. A unit is what is swapped as a whole and gets one answer: a column by itself, or a
user's group of columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.checks import check_choice
from knockoffs.schema.kinds import KINDS, Kind, kind_of
from knockoffs.schema.words import called, column_number, listing

if TYPE_CHECKING:
    import pandas as pd

MOST_PROBLEMS = 10  # that an error names

# columns by the name of their group, as users pass them
FeatureGroups = Mapping[Any, Sequence[Any]] | None


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a table, in the order of their first columns.

    Attributes
    ----------
    names : tuple of str
        The name of each unit: that of its group, or of its only column.
    of : array of int of shape (columns,)
        The number of the unit that each column belongs to.
    """

    names: tuple[str, ...]
    of: Indices

    @classmethod
    def of_groups(cls, names: Sequence[str], groups: Mapping[int, str]) -> Units:
        """The units of columns with these names, of which some belong to groups,
        by the columns' numbers.
        """
        number: dict[Any, int] = {}
        of = [
            number.setdefault(("group", groups[j]) if j in groups else j, len(number))
            for j in range(len(names))
        ]
        first = np.unique(of, return_index=True)[1].tolist() if of else []
        return cls(tuple(groups.get(j, names[j]) for j in first), np.array(of, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def single(self) -> bool:
        """Return whether every column is a unit of its own."""
        return len(self.names) == len(self.of)

    def columns(self, unit: int) -> Indices:
        """The columns of a unit."""
        return np.flatnonzero(self.of == unit)

    def groups(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The columns, by these names, of each unit that is a group."""
        members = [tuple(names[j] for j in self.columns(k)) for k in range(len(self))]
        return {
            own: columns
            for own, columns in zip(self.names, members, strict=True)
            if columns != (own,)
        }

    def all_of(self, flags: Flags) -> Flags:
        """Which units have all of their columns flagged."""
        return np.bincount(self.of, ~flags, len(self)) == 0

    def largest(self, values: Array) -> Array:
        """The largest number among the columns of each unit, nan where all are."""
        found = np.full(len(self), np.nan)
        np.fmax.at(found, self.of, values)
        return found


@dataclass(frozen=True, slots=True)
class Column:
    """One feature of a table.

    Attributes
    ----------
    name : str
        Name of the column, or "x0", "x1", ... where the table has no names.
    kind : {"constant", "continuous", "semicontinuous", "ordinal", "binary", "nominal"} or str
        `"semicontinuous"` is a continuous quantity that takes some values often, such as zero;
        `"ordinal"` are counts, grades, ordered categories, and quantities on a grid: whole numbers,
        and values that repeat as those with one decimal do (glucose in steps of 5), whose knockoffs
        take the same values. In a small table values with one decimal hardly repeat, and the column
        is `"continuous"`. `"constant"` is a column with at most one value. The name of another
        kind that was registered, too.
    values : tuple of float
        Values that occur, increasing (numbers of levels where there are `levels`): all of them for
        discrete kinds, the frequent ones of a semicontinuous column, none of a continuous one.
    levels : tuple or None
        Levels of a text or category column, in the order of their numbers; None for a column of
        numbers.
    missing : float
        Share of the rows in which the cell is missing.
    unit : str
        Name of the unit that is swapped as a whole and has one statistic w: the feature itself,
        however many internal columns encode it, or the group of features that it belongs to.

    Examples
    --------
    >>> import pandas as pd
    >>> from knockoffs import infer_schema
    >>> column = infer_schema(pd.DataFrame({"smoker": ["yes", "no", None, "no"]}))[0]
    >>> column.kind, column.levels, column.missing
    ('binary', ('no', 'yes'), 0.25)
    """

    name: str
    kind: str
    values: tuple[float, ...] = ()
    levels: tuple[Any, ...] | None = None
    missing: float = 0.0
    unit: str = ""

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)

    @property
    def holds(self) -> Kind:
        """Return what follows from the kind."""
        return KINDS[self.kind]

    @property
    def discrete(self) -> bool:
        """Return whether every value is one of a list."""
        return self.holds.discrete

    @property
    def varies(self) -> bool:
        """Return whether the column has more than one value, a missing cell counting as one."""
        return self.holds.varies or 0 < self.missing < 1

    def labels(self) -> tuple[Any, ...]:
        """The values as they stand in the table."""
        return (
            self.values
            if self.levels is None
            else tuple(self.levels[int(code)] for code in self.values)
        )


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
        return f"Schema({len(self)} columns: {said}" + (
            f"; {missing} with missing cells)" if missing else ")"
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self)

    @property
    def varies(self) -> Flags:
        return np.array([column.varies for column in self], dtype=bool)

    @property
    def units(self) -> Units:
        # no group of several columns has the name of a column
        return Units.of_groups(
            self.names, {j: c.unit for j, c in enumerate(self) if c.unit != c.name}
        )

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
    kinds: Mapping[int, str],
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


def _describe(
    column: Array, name: str, levels: tuple[Any, ...] | None, asked: str | None, unit: str
) -> Column:
    gaps = np.isnan(column)
    present = column[~gaps]
    missing = float(gaps.mean()) if len(column) else 0.0
    values, counts = np.unique(present, return_counts=True)
    kind = kind_of(values, counts, asked)
    listed = kind.listed(values, counts)
    return Column(name, kind.name, tuple(listed.tolist()), levels, missing, unit)


def read_feature_groups(
    feature_groups: Mapping[Any, Sequence[Any]],
    names: Sequence[Any] | None,
    columns: int,
    *,
    who: str,
    conditioned: Flags | None = None,
    target: Any = None,
) -> dict[int, str]:
    """Return the name of the group of each column that is in one, by the column's number.

    Raises one error that names all problems of the groups.

    Parameters
    ----------
    feature_groups : mapping of group names to sequences of column names or numbers
        What the user passed.
    names : sequence or None
        The names of the columns; None for an array, whose columns are numbered.
    columns : int
        The number of columns.
    who : str
        Who reads it; the error begins with it.
    conditioned : array of bool of shape (columns,), default=None
        Columns that are conditioned on, which belong to no group.
    target : object, default=None
        The name of the target, which is no column of X.
    """
    if not isinstance(feature_groups, Mapping):
        raise ValueError(
            f"{who}: feature_groups={feature_groups!r} is not valid: pass a dict of group names "
            f"to lists of "
            'columns, such as {"liver": ["alt", "ast"]}.'
        )
    known = called(names, columns)
    problems: list[str] = []
    group_of: dict[int, str] = {}
    seen: set[str] = set()
    for key, given in feature_groups.items():
        group = str(key)
        if group in seen:
            problems.append(f"group {group!r} is named twice")
        seen.add(group)
        if isinstance(given, (str, Mapping)) or not isinstance(given, Collection):
            problems.append(f"group {group!r} is {given!r}, not a list of columns")
            continue
        if len(given) == 0:
            problems.append(f"group {group!r} has no columns")
        members = []
        for column in given:
            j = column_number(column, names, columns)
            if j is None:
                is_target = target is not None and str(column) == str(target)
                what = "the target" if is_target else "no column of X"
                problems.append(f"group {group!r}: {column!r} is {what}")
            elif j in group_of:
                again = "twice" if group_of[j] == group else f"in group {group_of[j]!r} as well"
                problems.append(f"group {group!r}: column {known[j]!r} is there {again}")
            else:
                if conditioned is not None and conditioned[j]:
                    problems.append(
                        f"group {group!r}: column {known[j]!r} is conditioned on, and so never "
                        f"tested"
                    )
                group_of[j] = group
                members.append(known[j])
        if group in known and members != [group]:
            problems.append(f"group {group!r} has the name of a column")
    if problems:
        more = (
            f"; and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
        )
        has = f"X has {listing([repr(name) for name in known])}" if columns else "X has no columns"
        raise ValueError(
            f"{who}: feature_groups: {'; '.join(problems[:MOST_PROBLEMS])}{more}. Give each group "
            f"a name of its "
            f"own and a list of columns of X ({has}), each in one group."
        )
    return group_of
