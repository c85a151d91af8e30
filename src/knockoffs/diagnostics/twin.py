"""Check a generator on rows that it has not seen, where it is to be fitted on all of them: by a twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from knockoffs.arrays import Indices
from knockoffs.cautions import caution, collect_cautions
from knockoffs.diagnostics.certificate import Certificate
from knockoffs.diagnostics.check import MIN_ROWS, check_swap
from knockoffs.diagnostics.source import table_for
from knockoffs.engine.training import TrainingDivergedError
from knockoffs.generators.hierarchical import fit_generator
from knockoffs.tables import Table, read_table

FITTED_SHARE = 0.7
LEAST_ROWS = 100
LEAST_FITTED = 50


def certify(
    generator: Any, X: Any, *, ready: bool, groups: Indices | None, seed: int, progress: bool
) -> Certificate | None:
    """Fit a generator that is not `ready` on a random part of X and check it on the rest.

    This twin learns from fewer rows than the generator that is used, so it is if anything the worse of the two.
    One that is ready is checked on all rows. None where rows (or groups of rows) are too few.
    """
    table = read_table(X, who="check_swap")
    rows = len(table)
    if rows < LEAST_ROWS or _independent(np.arange(rows), groups) < MIN_ROWS:
        return None
    rng = np.random.default_rng(seed)
    if ready:
        subject = f"the generator as passed, on all {rows} rows"
        return _checked(generator, table, None, groups, rng, subject=subject, progress=progress)
    fitted, seen = _split(rows, groups, rng)
    if len(fitted) < LEAST_FITTED or _independent(seen, groups) < MIN_ROWS:
        return None
    try:
        with collect_cautions():  # the generator itself has given them
            twin = fit_generator(
                generator,
                table_for(generator, table.rows(fitted)),
                None if groups is None else groups[fitted],
            )
    except (ValueError, TrainingDivergedError) as error:
        caution(f"The knockoffs could not be checked: {error}")
        return None
    subject = f"{type(twin).__name__} fitted on {len(fitted)} of the rows, checked on the other {len(seen)}"
    with collect_cautions():  # of levels in too few rows for the twin to have seen them
        return _checked(twin, table, seen, groups, rng, subject=subject, progress=progress)


def certify_pair(X: Any, X_tilde: Any, *, groups: Indices | None, seed: int, progress: bool) -> Certificate | None:
    """Check knockoffs that a function has made; None where rows are too few."""
    if len(X) < LEAST_ROWS or _independent(np.arange(len(X)), groups) < MIN_ROWS:
        return None
    rng = np.random.default_rng(seed)
    subject = f"knockoffs of a function, on {len(X)} rows; too kind if it was fitted on these"
    subject += _about_groups(groups)
    return check_swap((X, X_tilde), groups=groups, random_state=rng, progress=progress, subject=subject)


def _checked(
    generator: Any,
    table: Table,
    rows: Indices | None,
    groups: Indices | None,
    rng: np.random.Generator,
    *,
    subject: str,
    progress: bool,
) -> Certificate:
    labels = groups if groups is None or rows is None else groups[rows]
    return check_swap(
        generator,
        table if rows is None else table.rows(rows),
        groups=labels,
        random_state=rng,
        progress=progress,
        subject=subject + _about_groups(labels),
    )


def _about_groups(groups: Indices | None) -> str:
    if groups is None:
        return ""
    return f", by one row of each of {len(np.unique(groups))} groups and the groups' means"


def _independent(rows: Indices, groups: Indices | None) -> int:
    """How many of the rows are independent of each other."""
    return len(rows) if groups is None else len(np.unique(groups[rows]))


def _split(rows: int, groups: Indices | None, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Random rows to fit on, about 70 % of them, and the others; groups stay together."""
    labels = np.arange(rows) if groups is None else np.unique(groups, return_inverse=True)[1]
    order = rng.permutation(labels.max() + 1)
    before = np.cumsum(np.bincount(labels)[order]) - np.bincount(labels)[order]
    to_fit = np.isin(labels, order[before < FITTED_SHARE * rows])
    return np.flatnonzero(to_fit), np.flatnonzero(~to_fit)
