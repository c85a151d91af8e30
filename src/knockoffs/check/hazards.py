"""What in a table and its target endangers a selection, said before the work begins."""

from __future__ import annotations

import math

import numpy as np

from knockoffs.filtering.filter import NEXT_TO_NOTHING
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.schema.schema import Units
from knockoffs.schema.words import column_name, counted, listing
from knockoffs.table.doubts import doubts
from knockoffs.table.table import Table
from knockoffs.targets.base import Target
from knockoffs.targets.quantity import MOST_CLASSES
from knockoffs.targets.standard_units import standardise

LEAST_NEEDED = 2  # no level below 1 needs fewer selections
RARE = 1e-3  # how improbable it is that levels look like the target
LEAST_PRESENT = 10  # cells of a column with gaps that must agree with the target


def warn_of_hazards(table: Table, target: Target) -> None:
    """Warn of doubtful columns, copies of the target, and few rows."""
    rows, features = table.shape
    nominal = np.array([column.holds.of_levels for column in table.schema], dtype=bool)
    doubtful = doubts(table, target.as_given[0])
    if doubtful is not None:
        caution(doubtful)
    copies = sorted(
        {int(j) for y in target.as_given for j in copies_of_target(table.codes, y, nominal)}
    )
    if copies:
        named = listing([column_name(table.names, j) for j in copies])
        caution(f"{named}: a copy of the target y. Drop it: it hides all other features.")
    if rows < features:
        caution(
            f"X has {rows} rows and {features} columns. How columns depend on each other is "
            f"learned roughly from "
            "fewer rows than columns, and the bound on false discoveries is rough with it. Add "
            "rows, or drop "
            "columns (not by y)."
        )


def warn_of_few_features(
    units: Units, conditioned: Flags, *, fdr: float, offset: int, n_draws: int
) -> None:
    """Warn of a level that can select little or nothing among the features that are tested.

    A selection needs a number of features that stand out together; of few features that is much
    to ask.
    """
    features = int((~units.all_of(conditioned)).sum())
    needed = math.ceil(1 / fdr - 1e-9)
    if offset == 0 and n_draws == 1:
        if features < needed:
            caution(
                f"With offset=0, {NEXT_TO_NOTHING.format(needed=needed)}, and X has only "
                f"{counted(features, 'feature')} to test. Pass offset=1, and "
                f"{_more_room(features)}."
            )
        return
    # With no more than that, each would have to stand out in every single draw; one more leaves
    # room.
    comfortable = needed if n_draws == 1 else needed + 1
    if features >= needed and comfortable <= max(features / 2, LEAST_NEEDED):
        return
    remedies = [_more_room(features)]
    if n_draws > 1 and features >= needed:
        remedies.append("pass n_draws=1")
    remedy = ", or ".join(remedies)
    settings = f"fdr={fdr:g} with offset={offset} and n_draws={n_draws}"
    if features < needed:
        caution(
            f"{settings} needs at least {needed} selections, but X has only "
            f"{counted(features, 'feature')} to test, so none can be selected. "
            f"{remedy[0].upper()}{remedy[1:]}."
        )
    else:
        together = "together" if n_draws == 1 else "together in almost every draw"
        caution(
            f"{settings} needs at least {needed} of the {features} features to stand out "
            f"{together}, or none is "
            f"selected. If fewer may be relevant, {remedy}."
        )


def _more_room(features: int) -> str:
    """Advise a level at which a third of the features suffice, or more features."""
    if features < LEAST_NEEDED:
        return "add features"
    enough = max(features // 3, LEAST_NEEDED)
    level = math.ceil(100 / enough) / 100
    return f"raise fdr to {level:g} or more, where {math.ceil(1 / level)} suffice"


def copies_of_target(values: Array, target: Array, nominal: Flags | None = None) -> Indices:
    """Columns that are the target in other units, its classes under other numbers,
    or levels that decide it.

    Parameters
    ----------
    values : array of shape (rows, features)
        Codes of a table, nan for a missing cell.
    target : array of shape (rows,)
        The target as numbers.
    nominal : array of bool of shape (features,), default=None
        Which columns are levels without an order; by default none. Such a column may have several
        levels for one value of the target.

    Returns
    -------
    array of int
        Numbers of the columns.
    """
    nominal = np.zeros(values.shape[1], dtype=bool) if nominal is None else nominal
    missing = np.isnan(values)
    gaps = missing.any(0)
    copies = np.zeros(values.shape[1], dtype=bool)
    copies[~gaps] = _in_other_units(values[:, ~gaps], target)
    for j in np.flatnonzero(gaps):
        present = ~missing[:, j]
        if np.count_nonzero(present) >= max(len(target) / 2, LEAST_PRESENT):
            copies[j] = _in_other_units(values[present, j, None], target[present])[0]
    classes, target_class = np.unique(target, return_inverse=True)
    few_classes = len(classes) <= min(MOST_CLASSES, len(target) // 2)
    for j in np.flatnonzero(~copies & (nominal | few_classes)):
        # missing cells are a level of their own
        values_of, level = np.unique(values[:, j], return_inverse=True)
        both = len(np.unique(level * len(classes) + target_class))
        copies[j] |= few_classes and both == len(classes) == len(values_of)
        copies[j] |= (
            bool(nominal[j])
            and both == len(values_of)
            and _no_coincidence(len(values_of), target_class)
        )
    return np.flatnonzero(copies)


def _in_other_units(columns: Array, target: Array) -> Flags:
    (z,), (y,) = standardise(columns).tables, standardise(target).tables
    return np.abs(z.T @ y) / len(y) > 1 - 1e-9  # the correlation


def _no_coincidence(levels: int, target_class: Indices) -> bool:
    """Return whether levels that have nothing to do with the target would hardly have one value of
    it each.
    """
    shares = np.bincount(target_class) / len(target_class)
    # Each row beyond the first of its level would have to agree with that one.
    return (len(target_class) - levels) * math.log(np.square(shares).sum()) < math.log(RARE)
