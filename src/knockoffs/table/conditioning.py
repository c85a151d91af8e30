"""Columns to condition on: confounders that are never tested, and that all else always takes into account."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from knockoffs.runtime.arrays import Flags
from knockoffs.schema.words import column_number, listing
from knockoffs.table.table import Table


def conditioned_columns(condition_on: Sequence[Any] | None, table: Table) -> Flags:
    """Return which columns are conditioned on."""
    features, names = table.shape[1], table.names
    conditioned = np.zeros(features, dtype=bool)
    columns = () if condition_on is None else condition_on
    if isinstance(columns, str) or not isinstance(columns, Collection):
        raise ValueError(f"condition_on={condition_on!r} is not valid: pass a list of columns.")
    for column in columns:
        j = column_number(column, table.names, features)
        if j is None:
            known = listing([repr(name) for name in names]) if names else f"numbers from 0 to {features - 1}"
            raise ValueError(f"condition_on names {column!r}, which is no column of X: there are {known}.")
        conditioned[j] = True
    if features and conditioned.all():
        raise ValueError("condition_on names all columns of X, so that none is left to test. Name fewer.")
    return conditioned


def keep_conditioned(table: Table, knockoffs: Table, conditioned: Flags) -> Table:
    """Return knockoffs with the columns to condition on as they are in the table.

    Knockoffs of all columns keep their distribution when any features are swapped, also once those of some columns
    are forgotten. So the others are knockoffs given these columns. A column that is its own knockoff has w = 0.
    """
    if not conditioned.any():
        return knockoffs
    knockoffs = knockoffs.with_levels(table.levels)
    return table.with_codes(np.where(conditioned, table.codes, knockoffs.codes))
