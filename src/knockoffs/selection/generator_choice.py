"""Which generator a selector uses for the rows at hand, and what that means for its claims."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from knockoffs.check.source import table_for
from knockoffs.generators.base import (
    KnockoffGenerator,
    is_generator,
    is_ready,
    unfrozen,
    with_defaults,
)
from knockoffs.generators.hierarchical import (
    HierarchicalKnockoffs,
    draw_knockoffs,
    fit_generator,
    knows_groups,
)
from knockoffs.generators.registry import DEFAULT, GENERATORS
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
    generator : KnockoffGenerator, callable or None
        What the user passed; `DDLK()` for None.
    rows : RowStructure
        How the rows depend on each other.
    given_groups : bool
        Whether the user passed groups, which may all have a single row.
    """
    generator = GENERATORS[DEFAULT]() if generator is None else generator
    if isinstance(generator, HierarchicalKnockoffs) and given_groups and rows.groups is None:
        generator = _for_single_rows(generator)
    if rows.groups is None or is_ready(generator) or knows_groups(generator):
        return generator
    return HierarchicalKnockoffs(generator)


def _for_single_rows(generator: HierarchicalKnockoffs) -> Any:
    """Return the generator of rows inside of one for groups, since every group has a single row."""
    if is_ready(generator):
        raise ValueError(
            "the generator is a HierarchicalKnockoffs that is fitted already, but every group has "
            "a single "
            "distinct row. Pass an unfitted generator of rows, such as DDLK()."
        )
    return GENERATORS[DEFAULT]() if generator.generator is None else generator.generator


def row_handling(generator: Any, rows: RowStructure) -> RowHandling:
    """Return how dependence between rows is dealt with; refuse a generator that is known not to."""
    if rows.groups is None:
        return "independent"
    if knows_groups(generator):
        return "groups modelled"
    if is_generator(generator):
        raise ValueError(
            f"groups were passed, but the generator {type(unfrozen(generator)).__name__} is "
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
    inner = unfrozen(generator)
    if isinstance(inner, KnockoffGenerator) and inner.__sklearn_is_fitted__():
        inner.require_swaps_of(units)


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
        own = getattr(generator, "random_state", None)
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
    if not isinstance(generator, (KnockoffGenerator, FrozenEstimator)):
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
