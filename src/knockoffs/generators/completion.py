"""Missing cells filled in by draws from their distribution given the cells that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from knockoffs.generators.group_columns import constant_within
from knockoffs.kinds.fit_encoding import fit_complete_encoding
from knockoffs.runtime.arrays import Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.schema.words import column_name, listing
from knockoffs.table.design import expand, likeness
from knockoffs.table.problems import require_squares
from knockoffs.table.row_structure import RowStructure
from knockoffs.table.table import Table, read_table

# the cells that are there need not be distributed as all are, so the scale is learned again and
# again
ROUNDS = 5
MANY_GAPS, STRONG = (
    0.05,
    0.5,
)  # share of the cells, and correlation, from which on a feature may stand in for another
# share of a column from which on its draws depend on the model more than on the data
MOST_MISSING = 0.5


def complete_table(
    X: Any, *, kinds: Mapping[Any, str] | None = None, random_state: RandomState = None
) -> Any:
    """Fill in missing cells by random draws given all other cells of their row.

    The draws come from a latent Gaussian: every column, discrete or continuous, is seen on a normal
    scale, and the correlations are learned from rows with and without missing cells. Where cells
    are missing at random (whether a cell is missing depends on the observed cells of its row alone)
    and the model is right, the completed rows have the distribution of complete rows. Unlike a
    mean, a draw does not make a column look less variable or more dependent than it is.

    A selection on completed rows asks what a column tells of y beyond the other columns *as
    completed*. y depends on the true cells, and a cell that was filled in tells less than these. So
    a column that is correlated with a relevant one with many gaps tells something more, and may
    well be a discovery.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        Numbers, booleans, text and categories with missing cells.
    kinds : dict of column names (or numbers) to kinds, default=None
        Kinds of columns that are known better than `infer_schema` finds out.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    table
        A table like X without missing cells; cells that were there are unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import complete_table
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[::4, 1] = np.nan
    >>> completed = complete_table(X, random_state=0)
    >>> bool(np.isfinite(completed).all()), bool((completed[1::4] == X[1::4]).all())
    (True, True)
    """
    table = read_table(X, who="complete_table", kinds=kinds)
    completed = completed_codes(table, random_generator(random_state, stream=10))
    return completed if isinstance(X, Table) else completed.to_native()


def completed_codes(table: Table, rng: np.random.Generator) -> Table:
    """Complete a table that has been read, and say which columns are hardly known."""
    if not np.isnan(table.codes).any():  # also where there are no rows
        return table
    shares = np.isnan(table.codes).mean(0)
    empty = shares == 1
    if empty.any():
        which = listing([column_name(table.names, j) for j in np.flatnonzero(empty)])
        raise ValueError(f"{which}: entirely missing, so there is nothing to learn from. Drop it.")
    require_squares(table.codes, table.names, who="complete_table")
    rare = shares > MOST_MISSING
    if rare.any():
        which = listing(
            [f"{column_name(table.names, j)} ({shares[j]:.0%})" for j in np.flatnonzero(rare)]
        )
        caution(
            f"{which}: mostly missing. What is filled in depends on the model more than on the "
            f"data."
        )
    return _filled_in(table, rng)


def _filled_in(table: Table, rng: np.random.Generator) -> Table:
    """Fill in missing cells: the storey below, which refuses nothing and says nothing."""
    missing = np.isnan(table.codes)
    if not missing.any():
        return table
    completed = table.codes
    for _ in range(ROUNDS):
        encoding = fit_complete_encoding(table.codes, completed, table.schema, rng)
        completed = np.where(
            missing, encoding.decode(encoding.encode(table.codes, rng)), table.codes
        )
    return table.with_codes(completed)


def complete_again(table: Table, gaps: Flags, groups: Indices | None, seed: int) -> Table:
    """Rows whose cells are known, with the same gaps put back and filled in anew."""
    with_gaps = table.with_codes(np.where(gaps, np.nan, table.codes))
    return _complete(with_gaps, RowStructure(None, None, groups), seed, _filled_in)


def stand_ins(table: Table, gaps: Flags, selected: Flags) -> Iterator[tuple[str, str, float]]:
    """Yield selected features beside correlated ones that have many gaps, with the correlation."""
    often = table.units.largest(gaps.mean(0)) >= MANY_GAPS
    if not (often.any() and selected.any()):
        return
    involved = (often | selected)[table.units.of]
    design = expand(table.schema, table.codes, units=table.units)
    columns = involved[np.unique(table.units.of, return_index=True)[1]][design.unit]
    features, unit = np.unique(design.unit[columns], return_inverse=True)
    alike = likeness(design.tables[0][:, columns], unit)
    for j, k in np.argwhere(alike >= STRONG):
        if j != k and selected[features[j]] and often[features[k]]:
            yield table.units.names[features[j]], table.units.names[features[k]], float(alike[j, k])


def warn_of_stand_ins(table: Table, gaps: Flags | None, selected: Flags) -> None:
    """Warn of discoveries that may be selected for what filled-in cells of another feature would
    have told.
    """
    if gaps is None:
        return
    pairs = [
        f"{one!r} for {other!r} (correlation {r:.2f})"
        for one, other, r in stand_ins(table, gaps, selected)
    ]
    if pairs:
        caution(
            f"Discoveries may stand in for cells that were filled in: {listing(pairs)}. What a "
            f"missing cell would "
            "have told of y, a correlated feature still tells. Read each as one of the two."
        )


def complete_rows(table: Table, rows: RowStructure, seed: int) -> Table:
    """Fill in missing cells; equal rows stay equal, and what a group shares stays shared."""
    return _complete(table, rows, seed, completed_codes)


def _complete(
    table: Table,
    rows: RowStructure,
    seed: int,
    fill_in: Callable[[Table, np.random.Generator], Table],
) -> Table:
    distinct = rows.distinct_rows(table)
    codes = fill_in(distinct, random_generator(seed, stream=10)).codes
    if rows.groups is not None:  # one draw per group for what is missing in all of its rows
        common = constant_within(np.nan_to_num(distinct.codes, nan=np.inf), rows.groups)
        first = np.unique(rows.groups, return_index=True)[1]
        codes = np.where(common, codes[first][rows.groups], codes)
    return table.with_codes(rows.all_rows(codes))
