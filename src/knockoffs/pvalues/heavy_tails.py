"""Heavy tails of correlated columns, which a density does not learn from few rows:
p-values are then too small.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.stats import kurtosis

from knockoffs.kinds.scales import normal_scale
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.schema.words import column_name, listing
from knockoffs.table.table import Table

HEAVY = 2.0  # kurtosis beyond that of normal numbers
ERRORS = 5  # and so many standard errors of it
CORRELATED = 0.3  # rank correlation
LEAST_CELLS = 20
LEAST_COLUMNS, LEAST_SHARE = 2, 1 / 8  # fewer such columns hardly change the p-values


def warn_of_heavy_tails(table: Table) -> None:
    """Warn of heavy-tailed columns that are correlated with others,
    where they are not just a few.
    """
    columns = heavy_tailed(table)
    if len(columns) >= max(LEAST_COLUMNS, LEAST_SHARE * table.shape[1]):
        caution(
            f"{listing([column_name(table.names, j) for j in columns])}: heavy tails, and "
            f"correlated with other "
            f"columns. {len(table)} rows do not show how such columns depend on each other, so "
            f"p-values may be "
            "too small: in simulations with 150 rows, one in ten or more was below 0.05 where "
            "there was nothing "
            "to find. Replace these columns by their ranks (X[COL].rank(pct=True) in pandas), "
            "which "
            "asks the same question."
        )


def heavy_tailed(table: Table) -> Indices:
    """Return the continuous columns with heavy tails that are correlated with others."""
    kinds = [column.holds for column in table.schema]
    quantities = np.array([kind.ordered and not kind.atoms for kind in kinds], dtype=bool)
    candidates = np.flatnonzero(
        quantities & (np.sum(~np.isnan(table.codes), axis=0) >= LEAST_CELLS)
    )
    columns = candidates[_are_heavy(table.codes[:, candidates])]
    return columns[_strongest_correlations(table.codes, columns) > CORRELATED]


def _are_heavy(codes: Array) -> Flags:
    """Which columns have heavy tails, also in the normal scores on which a density sees them.

    These scores are a logarithm or a spline of a few knots, which leave the most of heavy tails on
    both sides.
    """
    x = codes.copy()
    for column in x.T:
        # others in place of missing cells
        column[:] = np.resize(column[~np.isnan(column)], len(column))
    heavy = _more_than_normal(x)
    if heavy.any():
        some = x[:, heavy]
        heavy[heavy] = _more_than_normal(normal_scale(some).forward(some)[0])
    return heavy


def _more_than_normal(x: Array) -> Flags:
    return np.asarray(kurtosis(x) > max(HEAVY, ERRORS * math.sqrt(24 / len(x))))


def _strongest_correlations(codes: Array, columns: Indices) -> Array:
    """The largest rank correlation of each of these columns with another one;
    missing cells rank in the middle.
    """
    ranks = pd.DataFrame(codes).rank()
    centred = (ranks - ranks.mean()).fillna(0.0).to_numpy()
    units = centred / np.maximum(np.linalg.norm(centred, axis=0), 1e-300)
    found = np.abs(units[:, columns].T @ units)
    found[np.arange(len(columns)), columns] = 0.0
    return found.max(1, initial=0.0)
