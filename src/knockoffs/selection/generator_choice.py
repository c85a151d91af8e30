"""Which generator a selector uses for the rows at hand, and what that means for its claims."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from knockoffs.generators.any_generator import (
    declared_by,
    draw_knockoffs,
    fit_generator,
    is_generator,
    is_ready,
    name_of,
    table_for,
    with_defaults,
)
from knockoffs.generators.hierarchical import HierarchicalKnockoffs
from knockoffs.runtime.arrays import Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.schema.schema import Units
from knockoffs.schema.words import column_name, listing
from knockoffs.selection.result import UNBOUNDED, RowHandling
from knockoffs.table.design import aligned, copied_features
from knockoffs.table.row_structure import RowStructure, require_same_order
from knockoffs.table.table import Table, keep_conditioned, read_table


def generator_for(generator: Any, rows: RowStructure, *, given_groups: bool) -> Any:
    """Return the generator to use: one for groups of rows where there are any and it is not fitted
    yet.

    Parameters
    ----------
    generator : KnockoffGenerator, object with `sample` or callable
        What the user passed.
    rows : RowStructure
        How the rows depend on each other.
    given_groups : bool
        Whether the user passed groups, which may all have a single row.
    """
    knows_groups = declared_by(generator).knows_groups
    if knows_groups and given_groups and rows.groups is None:
        return _for_single_rows(generator)
    if rows.groups is None or is_ready(generator) or knows_groups:
        return generator
    return HierarchicalKnockoffs(generator)


def _for_single_rows(generator: Any) -> Any:
    """Return the generator of rows inside of one for groups, since every group has a single row."""
    if is_ready(generator):
        raise ValueError(
            "the generator is a HierarchicalKnockoffs that is fitted already, but every group has "
            "a single "
            "distinct row. Pass an unfitted generator of rows, such as DDLK()."
        )
    return declared_by(generator).of_rows()


def row_handling(generator: Any, rows: RowStructure) -> RowHandling:
    """Return how dependence between rows is dealt with; refuse a generator that is known not to."""
    if rows.groups is None:
        return "independent"
    if declared_by(generator).knows_groups:
        return "groups modelled"
    if is_generator(generator):
        raise ValueError(
            f"groups were passed, but the generator {name_of(generator)} is "
            f"fitted already and "
            "draws knockoffs row by row, which are less alike within a group than the data: most "
            "statistics then "
            "select many false features (up to 0.6 of all, measured). Pass the generator "
            "unfitted, or a fitted "
            "HierarchicalKnockoffs."
        )
    caution(
        "groups were passed, but the knockoffs come from a function, row by row as far as can be "
        "known. Knockoffs "
        "of one group are then less alike than its rows, and the share of false discoveries is "
        "not bounded. Pass "
        "a generator."
    )
    return UNBOUNDED


def require_swaps_of(generator: Any, units: Units) -> None:
    """Refuse a generator that was fitted with groups of features which are not swapped as a whole
    here.
    """
    declared = declared_by(generator)
    if declared.__sklearn_is_fitted__():
        declared.require_swaps_of(units)


def drawn_knockoffs(
    generator: Any,
    X: Any,
    table: Table,
    *,
    groups: Indices | None,
    conditioned: Flags,
    n_draws: int,
    was_fitted: bool,
    seed: int,
) -> list[Table]:
    """Draw knockoffs of the rows of X, which `table` holds too; a function is given X itself.

    A generator that `was_fitted` before has warned of what it copies then, so a caution does it
    again.
    """
    if is_generator(generator):
        own = declared_by(generator).random_state
        drawn = draw_knockoffs(
            generator,
            table_for(generator, table),
            groups=groups,
            n_draws=n_draws,
            random_state=seed if own is None else None,
        )
    else:
        drawn = [generator(X) for _ in range(n_draws)]
    remedy = _remedy_of_gaps(generator)
    knockoffs = [checked_knockoffs(X, table, own, remedy) for own in drawn]
    if was_fitted and is_generator(generator):
        _warn_of_copies(table, knockoffs[0], conditioned)
    return [keep_conditioned(table, own, conditioned) for own in knockoffs]


def _warn_of_copies(table: Table, knockoffs: Table, conditioned: Flags) -> None:
    copies = np.flatnonzero(copied_features(table, knockoffs) & ~table.units.all_of(conditioned))
    if len(copies):
        caution(
            f"{listing([repr(table.units.names[k]) for k in copies])}: the knockoff is a copy, so "
            f"such a feature "
            "cannot be selected. Copies are the only valid knockoffs of constants, duplicates and "
            "columns that "
            "others determine: drop these, or what determines them."
        )


def _remedy_of_gaps(generator: Any) -> str:
    """Return what to do about knockoffs with missing cells where X has none."""
    if not declared_by(generator).reads_tables:
        return "Return a value for each cell."
    return (
        "The generator was fitted on a table with missing cells there: fit a new one (at the "
        "command line, name "
        'it instead of a file), or leave missing="complete" (--missing complete) out.'
    )


def checked_knockoffs(X: Any, table: Table, drawn: Any, remedy_of_gaps: str) -> Table:
    """Read the knockoffs of X, whose cells `table` holds;
    refuse what can be no knockoffs of these.
    """
    who = "the generator's knockoffs"
    if np.shape(drawn) != table.shape:
        raise ValueError(
            f"generator returned a table of shape {np.shape(drawn)} for X of shape {table.shape}: "
            f"return one "
            "knockoff for each cell."
        )
    require_same_order(X, X_tilde=drawn, who=who)
    knockoffs = read_table(drawn, who=who, categories=table.categories)
    aligned(table, knockoffs, who=who)
    gaps = np.isnan(knockoffs.codes).any(0) & ~np.isnan(table.codes).any(0)
    if gaps.any():
        which = listing([column_name(table.names, j) for j in np.flatnonzero(gaps)])
        raise ValueError(f"{who} have missing cells in {which}, where X has none. {remedy_of_gaps}")
    return knockoffs


def fitted_generator(
    generator: Any, table: Table, groups: Indices | None, *, seed: int, progress: bool
) -> Any:
    """Return the generator fitted to the rows; one that is ready is used as it is."""
    if is_ready(generator):
        return generator
    prepared = with_defaults(clone(generator), random_state=seed, progress=progress)
    return fit_generator(prepared, table_for(generator, table), groups)
