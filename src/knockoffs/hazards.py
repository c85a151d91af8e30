"""What in a table and its target endangers a selection, said before the work begins."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from knockoffs.arrays import Array, Indices
from knockoffs.cautions import caution
from knockoffs.filtering import draw_level
from knockoffs.statistics.base import MOST_CLASSES
from knockoffs.statistics.units import standardise
from knockoffs.tables import column_name, listing


def warn_of_hazards(
    values: Array, target: Array, names: list[str] | None, *, fdr: float, offset: int, n_draws: int
) -> None:
    """Warn of levels that can select nothing, identifiers, copies of the target, and fewer rows than columns."""
    for hazard in _hazards(values, target, names, fdr, offset, n_draws):
        caution(hazard)


def _hazards(
    values: Array, target: Array, names: list[str] | None, fdr: float, offset: int, n_draws: int
) -> Iterator[str]:
    rows, features = values.shape
    needed = math.ceil(offset / draw_level(fdr, n_draws) - 1e-9)
    if n_draws > 1:
        needed = max(needed, math.ceil(1 / fdr - 1e-9))  # e-BH asks as much whatever the offset
    if features < needed:
        enough = math.ceil(100 * needed * fdr / features) / 100
        remedies = [f"Raise fdr to {enough:g} or more" if enough < 1 else "Add features"]
        if offset and (n_draws == 1 or features >= 1 / fdr):
            remedies.append("pass offset=0")
        yield (
            f"fdr={fdr:g} with offset={offset} and n_draws={n_draws} needs at least {needed} selections, but X "
            f"has only {features} features, so none can be selected. {', or '.join(remedies)}."
        )
    for columns, problem in (
        (identifiers(values), "a different whole number in every row, as an identifier has. Drop it."),
        (copies_of_target(values, target), "a copy of the target y. Drop it: it hides all other features."),
    ):
        if len(columns):
            yield f"{listing([column_name(names, j) for j in columns])}: {problem}"
    if rows < features:
        yield (
            f"X has {rows} rows and {features} columns. Knockoffs learned from fewer rows than columns are rough, "
            "and the bound on false discoveries with them. Add rows, or drop columns (not by y)."
        )


def identifiers(values: Array) -> Indices:
    """Columns with a different whole number in every row."""
    whole = np.all(values == np.rint(values), axis=0) & (np.abs(values).max(0) < 2**53)
    return np.array(
        [j for j in np.flatnonzero(whole) if len(np.unique(values[:, j])) == len(values)], dtype=np.intp
    )


def copies_of_target(values: Array, target: Array) -> Indices:
    """Columns that are the target in other units, or its classes under other numbers."""
    (columns,), (y,) = standardise(values).tables, standardise(target).tables
    copies = np.abs(columns.T @ y) / len(y) > 1 - 1e-9  # the correlation
    classes = len(np.unique(target))
    if classes <= min(MOST_CLASSES, len(target) // 2):
        for j, column in enumerate(values.T):
            both = np.unique(np.stack([column, target]), axis=1).shape[1]
            copies[j] |= both == classes == len(np.unique(column))
    return np.flatnonzero(copies)
