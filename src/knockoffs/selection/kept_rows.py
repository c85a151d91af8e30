"""Rows of some features beside their knockoffs, kept for pictures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.schema.schema import Schema
from knockoffs.table.table import Table

PICTURED = 12  # features whose data and knockoffs are kept for the report
PICTURED_ROWS = 1000


class Pictured(NamedTuple):
    """Some rows of the columns of the features with the largest w and of their knockoffs.

    `x` and `x_tilde` are codes of the cells, as `schema` describes them; nan is a missing cell.
    """

    columns: Indices
    x: Array
    x_tilde: Array
    schema: Schema


def pictured(x: Table, x_tilde: Table, w: Array) -> Pictured:
    """Choose features and rows; a group of features has several columns."""
    first = np.argsort(-w, kind="stable")[:PICTURED]
    columns = np.concatenate([x.units.columns(unit) for unit in first])[:PICTURED]
    rows = np.linspace(0, len(x) - 1, min(len(x), PICTURED_ROWS)).astype(int)
    some = np.ix_(rows, columns)
    schema = Schema(tuple(x.schema[int(j)] for j in columns))
    return Pictured(columns, x.codes[some], x_tilde.with_levels(x.levels).codes[some], schema)
