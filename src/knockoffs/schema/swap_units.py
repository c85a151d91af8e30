"""Units: what is swapped as a whole and gets one answer, a column by itself or a user's group of columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.words import called, column_number, listing

MOST_PROBLEMS = 10  # that an error names

FeatureGroups = Mapping[Any, Sequence[Any]] | None  # columns by the name of their group, as users pass them


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
        """The units of columns with these names, of which some belong to groups, by the columns' numbers."""
        number: dict[Any, int] = {}
        of = [
            number.setdefault(("group", groups[j]) if j in groups else j, len(number)) for j in range(len(names))
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
        return {own: columns for own, columns in zip(self.names, members, strict=True) if columns != (own,)}

    def all_of(self, flags: Flags) -> Flags:
        """Which units have all of their columns flagged."""
        return np.bincount(self.of, ~flags, len(self)) == 0

    def largest(self, values: Array) -> Array:
        """The largest number among the columns of each unit, nan where all are."""
        found = np.full(len(self), np.nan)
        np.fmax.at(found, self.of, values)
        return found


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
            f"{who}: feature_groups={feature_groups!r} is not valid: pass a dict of group names to lists of "
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
                    problems.append(f"group {group!r}: column {known[j]!r} is conditioned on, and so never tested")
                group_of[j] = group
                members.append(known[j])
        if group in known and members != [group]:
            problems.append(f"group {group!r} has the name of a column")
    if problems:
        more = f"; and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
        has = f"X has {listing([repr(name) for name in known])}" if columns else "X has no columns"
        raise ValueError(
            f"{who}: feature_groups: {'; '.join(problems[:MOST_PROBLEMS])}{more}. Give each group a name of its "
            f"own and a list of columns of X ({has}), each in one group."
        )
    return group_of
