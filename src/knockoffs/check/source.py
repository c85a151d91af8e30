"""Rows to check and where their knockoffs come from: a generator, a function,
or a table beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from knockoffs.check.joint_tests import Divergence, swap_divergence
from knockoffs.generators.any_generator import (
    GeneratorOfOthers,
    declared_by,
    draw_knockoffs,
    is_generator,
    name_of,
    table_for,
)
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.runtime.arrays import Flags, Indices
from knockoffs.runtime.parallel import threads_beside, worker_count
from knockoffs.schema.schema import FeatureGroups
from knockoffs.schema.words import listing
from knockoffs.table.row_structure import require_same_order
from knockoffs.table.table import Table, group_labels, keep_conditioned, read_table


class Source(NamedTuple):
    """Rows and where their knockoffs come from.

    Attributes
    ----------
    table : Table
        The rows.
    draw : callable
        Returns knockoffs of all rows by a seed.
    divergence : callable or None
        Returns the swap divergence by the generator's densities, of knockoffs by a seed and of
        swaps by a random generator; None without densities.
    learned : bool
        Whether knockoffs come from a generator or a function.
    subject : str
        What it is, in words.
    groups : array of int of shape (rows,) or None
        The group of each row, from 0 on.
    share_of_fit : float
        The share of the rows that the generator was fitted on; nan where it is not known.
    truth : Table or None
        What simulated responses depend on, where that is not `table`: rows before cells were lost
        and filled in.
    """

    table: Table
    draw: Callable[[int], Table]
    divergence: Callable[[int, np.random.Generator], Divergence] | None
    learned: bool
    subject: str
    groups: Indices | None
    share_of_fit: float = math.nan
    truth: Table | None = None

    def given(self, conditioned: Flags) -> Source:
        """The same with columns to condition on, which are their own knockoffs."""
        if not conditioned.any():
            return self
        # Densities know of no columns that are not swapped.
        return self._replace(
            draw=lambda seed: keep_conditioned(self.table, self.draw(seed), conditioned),
            divergence=None,
        )


def find_source(
    generator: Any, X: Any, groups: Any, feature_groups: FeatureGroups = None
) -> Source:
    """Read what was passed to `check_swap`."""
    if isinstance(generator, (tuple, list)):
        if len(generator) != 2 or X is not None:
            raise ValueError(
                "check_swap: pass a generator and X, or one pair (X, X_tilde), and nothing else."
            )
        return _pair(generator[0], generator[1], groups, feature_groups)
    if X is None:
        raise ValueError(
            "check_swap: X is missing. Pass rows that the generator was not fitted on."
        )
    makes_knockoffs = is_generator(generator) or callable(generator)
    # Where there is a shape, two tables were to be a pair.
    if isinstance(generator, type) or hasattr(generator, "shape") or not makes_knockoffs:
        raise ValueError(
            f"check_swap: generator of type {type(generator).__name__} is not valid: pass a "
            f"fitted generator, a "
            "function f(X), or one pair (X, X_tilde)."
        )
    return _generated(generator, X, groups, feature_groups)


def safe_threads(generator: Any) -> AbstractContextManager[None]:
    """Let knockoffs be drawn in a thread of its own only where that is safe.

    Generators and functions of others may have a state, and processes are not started from several
    threads.
    """
    return (
        nullcontext()
        if declared_by(generator).reads_tables and worker_count() == 1
        else threads_beside(1)
    )


def like(table: Table, drawn: Any) -> Table:
    """Knockoffs as a table of the same kind, whatever kind they were drawn as."""
    knockoffs = read_table(drawn, who="dry run: the knockoffs", categories=table.categories)
    knockoffs = knockoffs.with_levels(table.levels)
    return table.with_codes(knockoffs.codes) if knockoffs.levels == table.levels else knockoffs


def _pair(X: Any, X_tilde: Any, groups: Any, feature_groups: FeatureGroups) -> Source:
    table = read_table(X, who="check_swap").grouped(feature_groups, who="check_swap")
    knockoffs = read_table(X_tilde, who="check_swap: the knockoffs")
    _require_alike(table, knockoffs, given=X, drawn=X_tilde)
    if table.names is not None and knockoffs.names is not None and table.names != knockoffs.names:
        raise ValueError(
            f"check_swap: X has the columns {listing(table.names)}, its knockoffs "
            f"{listing(knockoffs.names)}. Put "
            "them in one order."
        )
    labels = _labels(X, groups, len(table))
    return Source(table, lambda seed: knockoffs, None, False, "a pair of tables", labels)


def _generated(generator: Any, X: Any, groups: Any, feature_groups: FeatureGroups) -> Source:
    declared = declared_by(generator)
    table = _as_in_the_fit(declared, X, feature_groups)
    # What was passed is what a function sees, with all that a table may carry beside its cells.
    given = table_for(generator, table) if declared.reads_tables or isinstance(X, Table) else X

    def draw(seed: int) -> Table:
        drawn = draw_knockoffs(generator, given, groups=groups, random_state=seed)
        knockoffs = read_table(drawn, who="check_swap: the knockoffs", categories=table.categories)
        _require_alike(table, knockoffs, given=given, drawn=drawn)
        return knockoffs

    def divergence(seed: int, rng: np.random.Generator) -> Divergence:
        return swap_divergence(
            generator.swap_pairs(given, seed),
            table.units,
            rng,
            swap_probability=declared.swap_probability_,
        )

    return Source(
        table=table,
        draw=draw,
        divergence=divergence if declared.has_densities else None,
        learned=True,
        subject=name_of(generator),
        groups=_labels(X, groups, len(table)),
        share_of_fit=declared.share_of_fit(table),
    )


def _as_in_the_fit(
    generator: KnockoffGenerator | GeneratorOfOthers, X: Any, feature_groups: FeatureGroups
) -> Table:
    """Read rows to check; the generator's fit tells which columns are categories,
    and the groups of features.
    """
    schema = generator.fitted_schema
    if schema is None:
        return read_table(X, who="check_swap").grouped(feature_groups, who="check_swap")
    columns = list(enumerate(schema))
    table = read_table(
        X, who="check_swap", categories=[j for j, column in columns if column.levels is not None]
    )
    known = {j: c.kind for j, c in columns if not c.holds.inferred and j < table.shape[1]}
    table = replace(table, kinds={**table.kinds, **known}).grouped(feature_groups, who="check_swap")
    if not table.feature_groups and feature_groups is None:
        groups = {
            j: column.unit
            for j, column in columns
            if column.unit != column.name and j < table.shape[1]
        }
        table = replace(table, feature_groups=groups)
    generator.require_swaps_of(table.units)
    return table


def _labels(X: Any, groups: Any, rows: int) -> Indices | None:
    if groups is None:
        return None
    require_same_order(X, groups=groups, who="check_swap")
    return group_labels(groups, rows=rows, who="check_swap")


def _require_alike(table: Table, knockoffs: Table, *, given: Any, drawn: Any) -> None:
    """Refuse knockoffs whose rows and columns cannot be paired with those of the table."""
    if knockoffs.shape != table.shape:
        raise ValueError(
            f"check_swap: X has shape {table.shape}, its knockoffs {knockoffs.shape}: one for "
            f"each cell is needed."
        )
    require_same_order(given, X_tilde=drawn, who="check_swap")
