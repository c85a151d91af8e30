"""Discrete columns of a group of features that determine each other, such as indicators of one category.

Modelled one by one, their draws would break the relation: a row with no category, or with two. As they are only
ever swapped together, they may be one column to the model, whose values are the joint states that occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.fingerprints import one_pattern
from knockoffs.schema.schema import Schema
from knockoffs.schema.words import listing

MOST_STATES = 120
ROWS_PER_STATE = 5  # at least on average, so that columns do not determine each other by chance


@dataclass(frozen=True, eq=False)
class Joint:
    """Columns that are one to the model.

    Attributes
    ----------
    columns : array of int
        The columns; the first one stands for all.
    states : array of shape (states, columns)
        The combinations of cells that occur, nan for missing cells.
    """

    columns: Indices
    states: Array

    def numbers(self, core: Array) -> Array:
        """The number of each row's state; one past the last for a state that the fit has not seen."""
        found = np.full(len(core), float(len(self.states)))
        cells = core[:, self.columns]
        for number, state in enumerate(self.states):
            found[((cells == state) | (np.isnan(cells) & np.isnan(state))).all(1)] = number
        return found

    def cells(self, numbers: Array) -> Array:
        """The cells of states by their numbers."""
        return self.states[numbers.astype(np.intp)]


def find_joints(core: Array, schema: Schema, alike: Indices) -> tuple[Joint, ...]:
    """Find the groups of features with discrete columns, no duplicates, of which the others determine some."""
    units, joints = schema.units, []
    for unit, name in enumerate(units.names):
        own = [int(j) for j in units.columns(unit) if schema[int(j)].discrete and schema[int(j)].varies]
        columns = np.array([j for j in own if alike[j] == j], dtype=np.intp)
        if len(columns) < 2:
            continue
        states = _states(core[:, columns])
        if len(core) < ROWS_PER_STATE * len(states) or not _determined(states):
            continue
        if len(states) > MOST_STATES:
            names = listing([repr(schema[int(j)].name) for j in columns])
            caution(
                f"group {name!r}: {names} determine each other, with {len(states)} joint states, too many to be "
                "modelled together, so that knockoffs do not keep to these. Pass categories as one column each."
            )
            continue
        joints.append(Joint(columns, states))
    return tuple(joints)


def _states(cells: Array) -> Array:
    """The rows that differ from each other; a missing cell equals another one."""
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in one_pattern(cells).T])
    return cells[np.unique(codes, axis=0, return_index=True)[1]]


def _determined(states: Array) -> bool:
    """Return whether some column is a function of the others."""
    return any(len(_states(np.delete(states, k, axis=1))) == len(states) for k in range(states.shape[1]))


def joined(core: Array, joints: Sequence[Joint]) -> Array:
    """Cells with the number of the joint state in the first column of each joint, and 0 in its others."""
    if not joints:
        return core
    core, given = core.copy(), core
    for joint in joints:
        core[:, joint.columns] = 0.0
        core[:, joint.columns[0]] = joint.numbers(given)
    return core


def joined_schema(schema: Schema, joints: Sequence[Joint]) -> Schema:
    """What the columns of `joined` cells hold."""
    columns = list(schema.columns)
    for joint in joints:
        count = len(joint.states)
        for j in joint.columns:
            columns[j] = replace(columns[j], kind="constant", values=(0.0,), levels=None, missing=0.0)
        first = int(joint.columns[0])
        values = tuple(map(float, range(count)))
        columns[first] = replace(columns[first], kind="nominal" if count > 2 else "binary", values=values)
    return Schema(tuple(columns))
