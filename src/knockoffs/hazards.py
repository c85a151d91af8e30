"""What in a table and its target endangers a selection, said before the work begins."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from knockoffs.arrays import Array, Indices
from knockoffs.cautions import caution
from knockoffs.statistics.base import MOST_CLASSES
from knockoffs.statistics.units import standardise
from knockoffs.words import column_name, listing

LEAST_NEEDED = 2  # no level below 1 needs fewer selections
RARE = 1e-3  # how improbable it is that measurements look like an identifier


def warn_of_hazards(
    values: Array, target: Array, names: list[str] | None, *, fdr: float, offset: int, n_draws: int
) -> None:
    """Warn of levels that can select little, identifiers, copies of the target, and fewer rows than columns."""
    for hazard in _hazards(values, target, names, fdr, offset, n_draws):
        caution(hazard)


def _hazards(
    values: Array, target: Array, names: list[str] | None, fdr: float, offset: int, n_draws: int
) -> Iterator[str]:
    rows, features = values.shape
    yield from _too_few_features(features, fdr, offset, n_draws)
    for columns, problem in (
        (
            identifiers(values),
            "a different whole number in every row, with few numbers left out or in the order of the rows, as "
            "identifiers have. Drop it if it is an identifier.",
        ),
        (copies_of_target(values, target), "a copy of the target y. Drop it: it hides all other features."),
    ):
        if len(columns):
            yield f"{listing([column_name(names, j) for j in columns])}: {problem}"
    if rows < features:
        yield (
            f"X has {rows} rows and {features} columns. Knockoffs learned from fewer rows than columns are rough, "
            "and the bound on false discoveries with them. Add rows, or drop columns (not by y)."
        )


def _too_few_features(features: int, fdr: float, offset: int, n_draws: int) -> Iterator[str]:
    """A selection needs a number of features that stand out together; with few features that is much to ask."""
    needed = 1 if offset == 0 and n_draws == 1 else math.ceil(1 / fdr - 1e-9)
    # With no more than that, each would have to stand out in every single draw; one more leaves room.
    comfortable = needed if n_draws == 1 else needed + 1
    if features >= needed and comfortable <= max(features / 2, LEAST_NEEDED):
        return
    remedies = ["add features"] if features < LEAST_NEEDED else [_realistic_level(features)]
    if n_draws == 1:
        remedies.append("pass offset=0, which bounds a slightly weaker rate")
    elif features >= needed:
        remedies.append("pass n_draws=1")
    remedy = ", or ".join(remedies)
    settings = f"fdr={fdr:g} with offset={offset} and n_draws={n_draws}"
    if features < needed:
        yield (
            f"{settings} needs at least {needed} selections, but X has only {features} features, so none can be "
            f"selected. {remedy[0].upper()}{remedy[1:]}."
        )
    else:
        together = "together" if n_draws == 1 else "together in almost every draw"
        yield (
            f"{settings} needs at least {needed} of the {features} features to stand out {together}, or none is "
            f"selected. If fewer may be relevant, {remedy}."
        )


def _realistic_level(features: int) -> str:
    """The level at which a third of the features suffice, as advice."""
    enough = max(features // 3, LEAST_NEEDED)
    level = math.ceil(100 / enough) / 100
    return f"raise fdr to {level:g} or more, where {math.ceil(1 / level)} suffice"


def identifiers(values: Array) -> Indices:
    """Columns that number the rows: all whole, all different, and either in the order of the rows or with so few
    numbers left out that independent measurements on that scale would almost certainly repeat one.
    """
    whole = np.all(values == np.rint(values), axis=0) & (np.abs(values).max(0) < 2**53)
    return np.array([j for j in np.flatnonzero(whole) if _numbers_the_rows(values[:, j])], dtype=np.intp)


def _numbers_the_rows(column: Array) -> bool:
    in_order = np.unique(column).astype(np.int64)
    rows = len(column)
    if len(in_order) < rows or rows < 2:
        return False
    steps = np.diff(column)
    if (steps > 0).all() or (steps < 0).all():
        return True
    unit = np.gcd.reduce(np.diff(in_order))  # 1000, 2000, 3000 number rows as 1, 2, 3 do
    scale = int((in_order[-1] - in_order[0]) // unit) + 1
    # The largest probability that independent draws on a scale of that many numbers are all different.
    log_probability = np.log1p(-np.arange(rows) / scale).sum()
    return bool(log_probability < math.log(RARE))


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
