"""Standard units, in which statistics see y and the columns of X whatever units and origins these
came with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Flags

# differences below this share of the largest absolute value are taken for rounding errors
ROUNDING = 1e-12


class Standardised(NamedTuple):
    """Tables in standard units, and per column the centre and the standard deviation that lead
    back.
    """

    tables: tuple[Array, ...]
    centre: Array
    deviation: Array


def standardise(*tables: Array) -> Standardised:
    """Subtract from every column its mean and divide by its standard deviation,
    both over all tables together.

    A feature and its knockoff, passed as two tables, thus keep a common unit and origin; exchanging
    them changes no bit of the result, since a sum of two numbers does not depend on their order.
    Columns that are constant, even if only up to rounding, become 0. Columns are first brought to
    [-1, 1] by their smallest and largest value, so that no sum overflows, no square underflows, and
    a distant origin costs no digits.
    """
    tables = tuple(map(np.ascontiguousarray, tables))  # sums depend on the order in memory
    low = np.min([table.min(0) for table in tables], axis=0)
    high = np.max([table.max(0) for table in tables], axis=0)
    middle, reach = low / 2 + high / 2, high / 2 - low / 2
    divisor = np.where(varies(low, high), reach, np.inf)
    # changed in place from here on: tables may be large
    found = tuple(table - middle for table in tables)
    for table in found:
        np.divide(table, divisor, out=table)
    mean = sum(table.mean(0) for table in found) / len(found)
    for table in found:
        np.subtract(table, mean, out=table)
    spread = np.sqrt(sum(np.square(table).mean(0) for table in found) / len(found))
    unit = np.where(spread > 0, spread, 1.0)
    for table in found:
        np.divide(table, unit, out=table)
    return Standardised(found, middle + mean * reach, spread * reach)


def varies(low: Any, high: Any) -> Flags:
    """Return whether numbers between `low` and `high` differ by more than rounding errors."""
    return high / 2 - low / 2 > ROUNDING * np.maximum(np.abs(low), np.abs(high))
