"""Features that are another one in other units or codes: a logarithm, a square, a number beside each name.

Where each value of one stands for a value of the other, a swap of one alone would break the relation, so exact
knockoffs of both are copies, however many values there are. To the model one of them says it all.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.kinds.encoding import TableEncoding
from knockoffs.kinds.relations import LEAST_ROWS
from knockoffs.kinds.units import GRID, Recoded
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.fingerprints import one_pattern

MOST_SINGLE = 0.05  # share of rows with a value of their own, which say nothing of a relation without an order


def first_recoded(core: Array, category: Flags) -> Indices:
    """Return, per column, the number of the first column that is a one-to-one function of it, mostly itself.

    Relations in which values keep their order, or turn it round, are no coincidence. One without an order, as
    between names and codes, says something where one of the two is a `category` and hardly any row has a value of
    its own: quantities that are the same in all rows of a patient are different for each patient anyway.
    """
    seen: dict[bytes, int] = {}
    same_rows: dict[bytes, list[int]] = {}
    first = np.arange(core.shape[1])
    for j, column in enumerate(one_pattern(core).T):
        order, rows = _in_common(column)
        first[j] = min(first[seen.setdefault(key, j)] for key in (_digest(column), order) if key is not None)
        if rows is not None:
            same_rows.setdefault(rows, []).append(j)
    for columns in same_rows.values():
        if category[columns].any():
            first[np.isin(first, first[columns])] = first[columns].min()
    return first


def _digest(*arrays: NDArray[Any]) -> bytes:
    """Return a few bytes that no other arrays of these lengths have, as far as anybody knows."""
    return sha256(b"".join(array.tobytes() for array in arrays)).digest()


def _in_common(column: Array) -> tuple[bytes | None, bytes | None]:
    """What columns in a one-to-one relation have in common: ranks up to their direction, and equal rows.

    None where that says nothing.
    """
    _, row, rank, counts = np.unique(column, return_index=True, return_inverse=True, return_counts=True)
    group = np.argsort(np.argsort(row))[rank]  # rows with equal cells, numbered by the first of them
    size = counts[rank]
    others = group != group[size.argmax()]
    if np.count_nonzero(others) < LEAST_ROWS:
        return None, None
    ordered = others & ~np.isnan(column)  # the logarithm of nothing is missing: the commonest cells have no rank
    place = np.unique(rank[ordered], return_inverse=True)[1]
    from_middle = 2 * place - place.max(initial=0)
    if (from_middle[from_middle != 0][:1] > 0).any():
        place = place.max() - place
    order = _digest(np.where(ordered, -1, group), place)
    return order, _digest(group) if np.mean(size == 1) <= MOST_SINGLE else None


def with_recoded(encoding: TableEncoding, core: Array) -> TableEncoding:
    """The same encoding, with features that are functions of earlier ones in terms of these."""
    units = list(encoding.units)
    for j in np.flatnonzero(encoding.alike != np.arange(len(units))):
        other = core[:, encoding.alike[j]]
        if not np.array_equal(other, core[:, j], equal_nan=True):
            units[j] = _recoded(other, core[:, j])
    return replace(encoding, units=tuple(units))


def _recoded(other: Array, column: Array) -> Recoded:
    given, rows, counts = np.unique(other, return_index=True, return_counts=True)
    kept = counts > 1
    kept[np.linspace(0, len(given) - 1, GRID).astype(np.intp)] = True  # enough to draw lines between
    return Recoded(given[kept], column[rows[kept]])
