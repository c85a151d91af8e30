"""Fingerprints of rows: whether a model has seen the rows that it is checked on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array

# of the smallest fingerprints: a random part of the rows, the same in every table that holds them
KEPT = 5_000

Fingerprints = NDArray[np.uint64]


def one_pattern(values: Array) -> Array:
    """Return the same numbers with equal ones, 0 and -0 or any two nan, under the same bits."""
    return np.where(np.isnan(values), np.nan, values + 0.0)


def row_fingerprints(values: Array) -> Fingerprints:
    """Return a number for each row that depends on its values alone.

    `values` are the codes of a table. Numbers of levels must mean the same in all tables that are
    compared (`Table.with_levels`).
    """
    hashes = pd.util.hash_pandas_object(pd.DataFrame(one_pattern(values)), index=False)
    return np.asarray(hashes.to_numpy(), dtype=np.uint64)


def smallest_fingerprints(values: Array) -> Fingerprints:
    """Return what a model remembers of the rows that it was fitted on."""
    return np.unique(row_fingerprints(values))[:KEPT]


def share_of_known(fingerprints: Fingerprints, known: Fingerprints) -> float:
    """Estimate how many of the rows are among those whose smallest fingerprints are known.

    Where some were left out, a row with a fingerprint above the largest that was kept could be one
    of them, so only the other rows count. Rows that occur more than once in the table do not count
    either: where rows repeat, equal rows need not be the same.
    """
    fingerprints, counts = np.unique(fingerprints, return_counts=True)
    fingerprints = fingerprints[counts == 1]
    if len(known) == KEPT:
        fingerprints = fingerprints[fingerprints <= known[-1]]
    return float(np.isin(fingerprints, known).mean()) if len(fingerprints) else np.nan
