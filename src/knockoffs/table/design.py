"""The columns that models of y see: numbers without gaps, however a feature is coded.

A nominal feature gives an indicator for each of its levels; missing cells give an indicator beside
the value, and the value there is the mean of the others. All columns of a feature form its unit,
which is swapped as a whole; so do those of a group of features, which is one feature to all that
works on a design.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from knockoffs.runtime.arrays import TINY, Array, Flags, Indices
from knockoffs.schema.kinds import KINDS, Kind
from knockoffs.schema.schema import Column, Schema, Units, describe_columns
from knockoffs.schema.words import column_name, listing
from knockoffs.table.read_cells import Levels, of_one_type
from knockoffs.table.table import Table

MOST_INDICATORS = 30  # of the most frequent levels of a nominal feature


@dataclass(frozen=True, slots=True)
class Design:
    """Several tables as columns of numbers.

    Attributes
    ----------
    tables : tuple of arrays of shape (rows, columns)
        The tables, all with the same columns.
    unit : array of shape (columns,)
        The feature that each column belongs to, in increasing order.
    indicator : array of shape (columns,)
        For a column of values with missing cells, the number of the column that is 1 where the cell
        is missing; -1 for all other columns.
    indicators : array of bool of shape (columns,)
        Which columns say whether a cell has a level, or is missing; all but these hold values.
    """

    tables: tuple[Array, ...]
    unit: Indices
    indicator: Indices
    indicators: Flags

    @property
    def features(self) -> int:
        return int(self.unit.max(initial=-1)) + 1

    @property
    def plain(self) -> bool:
        """Return whether every feature has one column."""
        return len(self.unit) == self.features

    def missing(self) -> tuple[Flags, ...]:
        """Per table, which of its values are only filled in; none of an indicator ever is."""
        has_gaps = self.indicator >= 0
        return tuple(has_gaps & (table[:, self.indicator] == 1) for table in self.tables)


def paired_design(x: Table, x_tilde: Table) -> Design:
    """Expand a table and its knockoffs, `aligned`; a swap of features swaps their columns and
    nothing else.
    """
    numbers = all(levels is None for levels in x.levels) and all(
        KINDS[kind].as_they_are for kind in x.kinds.values()
    )
    # the schema takes longer
    if numbers and not any(np.isnan(table.codes).any() for table in (x, x_tilde)):
        return _in_units(_as_they_are(x.codes, x_tilde.codes), x.units)
    return expand(pooled_schema(x, x_tilde), x.codes, x_tilde.codes, units=x.units)


def copied_features(x: Table, x_tilde: Table) -> Flags:
    """Return which units equal their knockoffs in all cells,
    a missing cell being equal to another one.
    """
    same = (x.codes == x_tilde.codes) | (np.isnan(x.codes) & np.isnan(x_tilde.codes))
    return x.units.all_of(same.all(axis=0))


def aligned(x: Table, x_tilde: Table, *, who: str) -> tuple[Table, Table]:
    """Both tables with one numbering of levels, which does not depend on the table that a level
    came from.
    """
    kinds = {**x_tilde.kinds, **x.kinds}
    merged: list[Levels | None] = []
    unlike: dict[str, list[str]] = {}
    for j, (own, other) in enumerate(zip(x.levels, x_tilde.levels, strict=True)):
        if own is None or other is None:
            if not of_one_type(own, x.codes[:, j], other, x_tilde.codes[:, j]):
                unlike.setdefault("text in one of X and X_tilde, numbers in the other", []).append(
                    column_name(x.names, j)
                )
            merged.append(own or other)
            continue
        # such as text, which has no order
        if _level_kind(x, j).own_order and _level_kind(x_tilde, j).of_levels:
            merged.append(tuple(dict.fromkeys((*own, *other))))
            continue
        levels = _merged(own, other, ordered=_level_kind(x, j).own_order)
        if levels is None:
            unlike.setdefault("ordered categories in different orders", []).append(
                column_name(x.names, j)
            )
        merged.append(levels)
    if unlike:
        said = [f"{listing(columns)}: {problem}." for problem, columns in unlike.items()]
        raise ValueError(
            f"{who}: X and X_tilde differ. {' '.join(said)} Give both tables the same column types."
        )
    groups = x.feature_groups
    x, x_tilde = (
        replace(table.with_levels(merged), levels=tuple(merged), kinds=kinds, feature_groups=groups)
        for table in (x, x_tilde)
    )
    return x, x_tilde


def _level_kind(table: Table, j: int) -> Kind:
    """Return the kind of a column of levels."""
    return KINDS[table.kinds[j]]


def _merged(own: Levels, other: Levels, *, ordered: bool) -> Levels | None:
    """The levels of two columns in one order; None where these have orders that contradict each
    other.
    """
    longer, shorter = (own, other) if len(own) >= len(other) else (other, own)
    if tuple(level for level in longer if level in set(shorter)) == shorter:
        return longer
    by_name = partial(sorted, key=lambda level: (type(level).__name__, level))
    if ordered and not (list(own) == by_name(own) and list(other) == by_name(other)):
        return None
    return tuple(by_name({*own, *other}))


def pooled_schema(x: Table, x_tilde: Table) -> Schema:
    """Describe the columns of a table and its knockoffs together,
    so that no swap changes the result.
    """
    codes = np.concatenate([x.codes, x_tilde.codes])
    return describe_columns(codes, x.schema.names, x.levels, x.kinds, x.feature_groups)


def expand(schema: Schema, *tables: Array, units: Units | None = None) -> Design:
    """Expand tables of codes, whose columns the schema describes together, into columns of numbers.

    By default each column is a feature; `units` make one feature of several, whose columns then
    stand together.
    """
    if all(column.missing == 0 and column.holds.as_they_are for column in schema):
        return _in_units(_as_they_are(*tables), units)
    parts = [
        _expanded(column, [table[:, j] for table in tables]) for j, column in enumerate(schema)
    ]
    widths = np.array([own[0].shape[1] for own in parts])
    has_gaps = [column.missing > 0 and not column.holds.of_levels for column in schema]
    # columns of values stand before the indicator of their missing cells
    last = np.cumsum(widths) - 1
    indicators = np.repeat([column.holds.of_levels for column in schema], widths)
    indicators[last[has_gaps]] = True
    unit = np.repeat(np.arange(len(widths)), widths)
    indicator = np.where(np.repeat(has_gaps, widths) & ~indicators, last[unit], -1)
    found = tuple(np.hstack(own) for own in zip(*parts, strict=True))
    return _in_units(Design(found, unit, indicator, indicators), units)


def _as_they_are(*tables: Array) -> Design:
    columns = np.arange(tables[0].shape[1])
    return Design(tables, columns, np.full(len(columns), -1), np.zeros(len(columns), dtype=bool))


def _in_units(design: Design, units: Units | None) -> Design:
    """The same columns in the order of their units, which are the features now."""
    if units is None or units.single:
        return design
    unit = units.of[design.unit]
    order = np.argsort(unit, kind="stable")
    place = np.argsort(order)  # where each column went
    indicator = design.indicator[order]
    return Design(
        tuple(table[:, order] for table in design.tables),
        unit[order],
        np.where(indicator >= 0, place[indicator], -1),
        design.indicators[order],
    )


def _expanded(column: Column, tables: list[Array]) -> list[Array]:
    """Values, with the mean of all where one is missing, and an indicator of missing cells;
    or those of levels.
    """
    if column.holds.of_levels:
        return _indicators_of_levels(column, tables)
    numbers = [column.holds.numbers(table) for table in tables]
    if column.missing == 0:
        return numbers
    gaps = [np.isnan(table) for table in tables]
    columns = zip(*(own.T for own in numbers), strict=True)
    filled = zip(*(_filled(list(own), gaps) for own in columns), strict=True)
    return [
        np.column_stack([*own, gap.astype(np.float64)])
        for own, gap in zip(filled, gaps, strict=True)
    ]


def _filled(columns: list[Array], gaps: list[Flags]) -> list[Array]:
    """One column of numbers per table, with the mean of all tables where a cell is missing."""
    present = [own[~gap] for own, gap in zip(columns, gaps, strict=True)]
    # the sum of two sums does not depend on their order, so that a swap changes no bit
    count = max(sum(map(len, present)), 1)
    mean = sum((values / count).sum() for values in present)
    return [np.where(gap, mean, own) for own, gap in zip(columns, gaps, strict=True)]


def _indicators_of_levels(column: Column, tables: list[Array]) -> list[Array]:
    """Indicators of the most frequent levels, and of missing cells.

    The most frequent come first, so that names and order of levels do not matter.
    """
    values = np.array(column.values)
    together = np.concatenate(tables)
    counts = np.array([np.count_nonzero(together == value) for value in values])
    frequent = values[np.argsort(-counts, kind="stable")[:MOST_INDICATORS]]
    return [
        np.column_stack(
            [table[:, None] == frequent, *([np.isnan(table)] if column.missing > 0 else [])]
        ).astype(np.float64)
        for table in tables
    ]


def _unit_length(x: Array) -> Array:
    """Centred columns of length 1, or 0 if constant; large units do not overflow."""
    largest = np.abs(x).max(0)
    x = x / np.where(largest > 0, largest, 1.0)
    centred = x - x.mean(0)
    length = np.sqrt((centred**2).sum(0))
    return centred / np.where(length > TINY, length, np.inf)


def likeness(x: Array, feature: Indices) -> Array:
    """|correlation| of each two features: the mean over one's columns of the largest with a column
    of the other.

    So two nominal features are alike if each level of one stands for a level of the other, and two
    quantities are not alike for being missing together.
    """
    z = _unit_length(x)
    correlation = np.abs(z.T @ z)
    starts = np.unique(feature, return_index=True)[1]
    if len(starts) == len(feature):
        return correlation
    largest = np.maximum.reduceat(correlation, starts, axis=1)
    one_way = np.add.reduceat(largest, starts, axis=0) / np.bincount(feature)[:, None]
    return np.minimum(one_way, one_way.T)
