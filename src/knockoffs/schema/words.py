"""Names of columns, as users give them and as messages and results show them,
and other words that are shared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def called(names: Sequence[Any] | None, columns: int) -> list[str]:
    """Return what results call columns: by their names as text, or "x0", "x1", ...
    where there are no names.
    """
    return [f"x{j}" for j in range(columns)] if names is None else [str(name) for name in names]


def column_number(column: Any, names: Sequence[Any] | None, columns: int) -> int | None:
    """Return the number of a column that a user gives by its name or its number;
    None for one that is neither.
    """
    if names is not None and column in names:
        return list(names).index(column)
    whole = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    return int(column) if whole and 0 <= column < columns else None


def column_name(names: list[str] | None, j: int | np.integer[Any]) -> str:
    """Return what messages call a column: by its name,
    or "x3" as results do where there are no names.
    """
    return f"column {f'x{j}' if names is None else names[j]!r}"


def listing(items: list[str], most: int = 5) -> str:
    """At most `most` of the items, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def counted(count: int | np.integer[Any], noun: str, plural: str | None = None) -> str:
    """Return a number of things as text, with the noun that fits it: "1 row", "2,000 rows".

    The plural is the noun with an s unless it is given.
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def amount(count: float) -> str:
    """Return a mean number of features as text: with a decimal where it is small."""
    return f"{count:.1f}" if count < 9.95 else f"{count:.0f}"


def rounded_up(level: float) -> float:
    """Return a level with three decimals that allows what the level itself allows."""
    return math.ceil(1000 * level - 1e-9) / 1000
