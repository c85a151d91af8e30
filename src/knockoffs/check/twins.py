"""Twins: features that hardly differ, so that neither tells much about y once the other is known."""

from __future__ import annotations

import numpy as np

from knockoffs.table.design import expand, likeness
from knockoffs.table.table import Table

ALIKE = 0.95  # correlation
MOST_PAIRS = 50
MOST_ROWS = 5_000
MOST_COLUMNS = 2_000  # all pairs of more would take too much memory


def find_twins(table: Table) -> list[tuple[str, str]]:
    """Return pairs of features that are correlated almost perfectly, the most alike first.

    Two nominal features are alike where each level of one stands for a level of the other, two groups of features
    where columns of theirs are. Nothing is returned for tables of many columns.
    """
    some = np.linspace(0, len(table) - 1, min(len(table), MOST_ROWS)).astype(int)
    design = expand(table.schema, table.codes[some])
    if design.tables[0].shape[1] > MOST_COLUMNS:
        return []
    alike = np.triu(likeness(design.tables[0], design.unit), k=1)
    names, unit = table.units.names, table.units.of
    first, second = np.nonzero((alike >= ALIKE) & (unit[:, None] != unit))
    order = np.argsort(-alike[first, second], kind="stable")
    pairs = dict.fromkeys((names[unit[first[k]]], names[unit[second[k]]]) for k in order)
    return list(pairs)[:MOST_PAIRS]
