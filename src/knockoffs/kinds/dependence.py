"""Columns that follow from others: joint states, other codes, totals, gaps that are filled in.

Discrete columns of a group of features may determine each other, such as indicators of one
category. Modelled one by one, their draws would break the relation: a row with no category, or with
two. As they are only ever swapped together, they may be one column to the model, whose values are
the joint states that occur.

A feature may be another one in other units or codes: a logarithm, a square, a number beside each
name. Where each value of one stands for a value of the other, a swap of one alone would break the
relation, so exact knockoffs of both are copies, however many values there are. To the model one of
them says it all.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knockoffs.kinds.blocks import Joint
from knockoffs.kinds.relations import LEAST_ROWS, SOME_ROWS
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.fingerprints import one_pattern
from knockoffs.schema.schema import Schema
from knockoffs.schema.words import listing

MOST_STATES = 120
ROWS_PER_STATE = 5  # at least on average, so that columns do not determine each other by chance
# share of rows with a value of their own, which say nothing of a relation without an order
MOST_SINGLE = 0.05
NOTHING = 1e-10  # variance of a combination of standardised columns that is rounding
TAKES_PART = 1e-6  # square of a column's weight in such a combination, of length one
RIDGE = 1e-9
LEAST_SHARED = 0.5  # share of the cells of one column beside which the other is not missing either


def find_joints(core: Array, schema: Schema, alike: Indices) -> tuple[Joint, ...]:
    """Find the groups of features with discrete columns, no duplicates,
    of which the others determine some.
    """
    units, joints = schema.units, []
    for unit, name in enumerate(units.names):
        own = [
            int(j) for j in units.columns(unit) if schema[int(j)].discrete and schema[int(j)].varies
        ]
        columns = np.array([j for j in own if alike[j] == j], dtype=np.intp)
        if len(columns) < 2:
            continue
        states = _states(core[:, columns])
        if len(core) < ROWS_PER_STATE * len(states) or not _determined(states):
            continue
        if len(states) > MOST_STATES:
            names = listing([repr(schema[int(j)].name) for j in columns])
            caution(
                f"group {name!r}: {names} determine each other, with {len(states)} joint states, "
                f"too many to be "
                "modelled together, so that knockoffs do not keep to these. Pass categories as "
                "one column each."
            )
            continue
        joints.append(Joint(columns, states))
    return tuple(joints)


def _states(cells: Array) -> Array:
    """The rows that differ from each other; a missing cell equals another one."""
    codes = np.column_stack(
        [np.unique(column, return_inverse=True)[1] for column in one_pattern(cells).T]
    )
    return cells[np.unique(codes, axis=0, return_index=True)[1]]


def _determined(states: Array) -> bool:
    """Return whether some column is a function of the others."""
    return any(
        len(_states(np.delete(states, k, axis=1))) == len(states) for k in range(states.shape[1])
    )


def first_recoded(core: Array, category: Flags) -> Indices:
    """Return, per column, the number of the first column that is a one-to-one function of it,
    mostly itself.

    Relations in which values keep their order, or turn it round, are no coincidence. One without an
    order, as between names and codes, says something where one of the two is a `category` and
    hardly any row has a value of its own: quantities that are the same in all rows of a patient are
    different for each patient anyway.
    """
    seen: dict[bytes, int] = {}
    same_rows: dict[bytes, list[int]] = {}
    first = np.arange(core.shape[1])
    for j, column in enumerate(one_pattern(core).T):
        order, rows = _in_common(column)
        first[j] = min(
            first[seen.setdefault(key, j)] for key in (_digest(column), order) if key is not None
        )
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
    """What columns in a one-to-one relation have in common: ranks up to their direction,
    and equal rows.

    None where that says nothing.
    """
    _, row, rank, counts = np.unique(
        column, return_index=True, return_inverse=True, return_counts=True
    )
    # rows with equal cells, numbered by the first of them
    group = np.argsort(np.argsort(row))[rank]
    size = counts[rank]
    others = group != group[size.argmax()]
    if np.count_nonzero(others) < LEAST_ROWS:
        return None, None
    # the logarithm of nothing is missing: the commonest cells have no rank
    ordered = others & ~np.isnan(column)
    place = np.unique(rank[ordered], return_inverse=True)[1]
    from_middle = 2 * place - place.max(initial=0)
    if (from_middle[from_middle != 0][:1] > 0).any():
        place = place.max() - place
    order = _digest(np.where(ordered, -1, group), place)
    return order, _digest(group) if np.mean(size == 1) <= MOST_SINGLE else None


class Dependence(NamedTuple):
    """How far columns follow from those of other units."""

    own: Array  # share of a column's variance that the others do not explain
    exact: Flags  # none at all


def linear_dependence(columns: Array, unit: Indices) -> Dependence:
    """Find out how far each column is a linear combination of those of other units.

    Parameters
    ----------
    columns : array of shape (rows, columns)
        Numbers; no column is constant.
    unit : array of int of shape (columns,)
        Columns with the same number are swapped together: none of them says anything about another.
    """
    correlation = np.corrcoef(columns.T)
    precision = np.linalg.inv(correlation + RIDGE * np.eye(len(unit)))
    own, exact = 1 / np.diag(precision), _in_exact_relations(correlation)
    for group in np.flatnonzero(np.bincount(unit) > 1):
        block = unit == group
        own[block] = np.diag(np.linalg.inv(precision[np.ix_(block, block)]))
        for j in np.flatnonzero(block & exact):
            others = np.append(j, np.flatnonzero(~block))
            exact[j] = _in_exact_relations(correlation[np.ix_(others, others)])[0]
    return Dependence(own, exact)


def _in_exact_relations(correlation: Array) -> Flags:
    values, vectors = np.linalg.eigh(correlation)
    return np.square(vectors[:, values < NOTHING]).sum(1) > TAKES_PART


def equal_where_present(core: Array, numbers: Flags) -> list[tuple[int, int]]:
    """Return pairs of columns that have equal cells wherever neither is missing.

    One of them is mostly the other one with some gaps filled in.

    Parameters
    ----------
    core : array of shape (rows, columns)
        Cells; nan where one is missing.
    numbers : array of bool of shape (columns,)
        Columns to look at.
    """
    gaps = np.flatnonzero(numbers & np.isnan(core).any(0))
    pairs = []
    for j in gaps:
        others = np.flatnonzero(
            numbers & ((np.arange(core.shape[1]) > j) | ~np.isin(np.arange(core.shape[1]), gaps))
        )
        present = np.flatnonzero(~np.isnan(core[:, j]))
        for rows in (present[:SOME_ROWS], present):  # few rows rule most columns out
            differ = core[np.ix_(rows, others)] != core[rows, j][:, None]
            others = others[~(differ & ~np.isnan(core[np.ix_(rows, others)])).any(0)]
        pairs += [
            (int(j), int(other)) for other in others if _share_enough(core[:, j], core[:, other])
        ]
    return pairs


def _share_enough(first: Array, second: Array) -> bool:
    """Return whether two columns have so many cells side by side that being equal there is no
    coincidence.
    """
    shared = ~np.isnan(first) & ~np.isnan(second)
    least = LEAST_SHARED * min(
        np.count_nonzero(~np.isnan(first)), np.count_nonzero(~np.isnan(second))
    )
    counts = np.unique(first[shared], return_counts=True)[1]
    return shared.sum() >= least and shared.sum() - counts.max(initial=0) >= LEAST_ROWS
