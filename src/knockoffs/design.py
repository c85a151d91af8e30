"""The columns that models of y see: numbers without gaps, however a feature is coded.

A nominal feature gives an indicator for each of its levels; missing cells give an indicator beside the value, and
the value there is the mean of the others. All columns of a feature form its unit, which is swapped as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from knockoffs.arrays import Array, Indices
from knockoffs.schema import Column, Schema, describe_columns
from knockoffs.tables import Table

MOST_INDICATORS = 30  # of the most frequent levels of a nominal feature


@dataclass(frozen=True, slots=True)
class Design:
    """Several tables as columns of numbers.

    Attributes
    ----------
    tables : tuple of arrays of shape (rows, columns)
        The tables, all with the same columns.
    unit : array of shape (columns,)
        The feature that each column belongs to.
    indicator : array of shape (columns,)
        For a column of values with missing cells, the number of the column that is 1 where the cell is missing;
        -1 for all other columns.
    """

    tables: tuple[Array, ...]
    unit: Indices
    indicator: Indices

    @property
    def features(self) -> int:
        return int(self.unit.max(initial=-1)) + 1


def pooled_schema(x: Table, x_tilde: Table) -> Schema:
    """Describe the columns of a table and its knockoffs together, so that no swap changes the result."""
    return describe_columns(np.concatenate([x.codes, x_tilde.codes]), x.schema.names, x.levels, x.kinds)


def expand(schema: Schema, *tables: Array) -> Design:
    """Expand tables of codes, whose columns the schema describes together, into columns of numbers."""
    if not any(column.missing > 0 or column.kind == "nominal" for column in schema):
        plain = np.arange(len(schema))
        return Design(tables, plain, np.full(len(schema), -1))
    parts: list[list[Array]] = [[] for _ in tables]
    unit: list[int] = []
    indicator: list[int] = []
    for j, column in enumerate(schema):
        start = len(unit)
        expanded = _nominal if column.kind == "nominal" else _quantity
        columns = expanded(column, [table[:, j] for table in tables])
        for part, own in zip(parts, columns, strict=True):
            part.append(own)
        width = columns[0].shape[1]
        unit += [j] * width
        has_gaps = column.missing > 0 and column.kind != "nominal"
        indicator += [start + 1, -1] if has_gaps else [-1] * width
    return Design(tuple(np.hstack(part) for part in parts), np.array(unit), np.array(indicator))


def _quantity(column: Column, tables: list[Array]) -> list[Array]:
    if column.missing == 0:
        return [table[:, None] for table in tables]
    present = np.concatenate(tables)
    present = present[~np.isnan(present)]
    mean = present.mean() if len(present) else 0.0
    gaps = [np.isnan(table) for table in tables]
    return [
        np.column_stack([np.where(gap, mean, table), gap.astype(np.float64)])
        for table, gap in zip(tables, gaps, strict=True)
    ]


def _nominal(column: Column, tables: list[Array]) -> list[Array]:
    """Indicators of the most frequent levels, and of missing cells."""
    values = np.array(column.values)
    together = np.concatenate(tables)
    counts = np.array([np.count_nonzero(together == value) for value in values])
    frequent = np.sort(values[np.argsort(-counts, kind="stable")[:MOST_INDICATORS]])
    return [
        np.column_stack([table[:, None] == frequent, *([np.isnan(table)] if column.missing > 0 else [])]).astype(
            np.float64
        )
        for table in tables
    ]
