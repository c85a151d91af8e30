r"""Logical relations between columns: one says which values another can have.

Where a property A of feature c is a function of feature a (a category that coarsens another, a flag that says that
a number is positive, columns that are missing together), exact knockoffs of both keep A: swapping c alone must not
break the relation. So rows are put into classes by such properties. The knockoff of a row stays in its class, and
each feature that takes part has a description of its own within each class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from knockoffs.arrays import Array, Indices
from knockoffs.schema import Column

MOST_STATES = 50  # of a feature that takes part
MOST_CLASSES = 50  # of rows
LEAST_ROWS = 10  # in which a property must differ from what it mostly is
LEAST_COUNT = 3  # rows of a state, so that it says anything


@dataclass(frozen=True, slots=True)
class Context:
    """Classes of rows, by properties of some features that others determine.

    Attributes
    ----------
    features : array of int
        The features that the class is a function of.
    keys : array of shape (classes, features)
        A class for each combination of their states; see `states`.
    atoms : tuple of arrays
        Per feature the values that are states of their own.
    members : array of int
        All features that have a description of their own within each class.
    """

    features: Indices
    keys: Indices
    atoms: tuple[Array, ...]
    members: Indices

    def classes(self, codes: Array) -> Indices:
        """The class of each row; the most alike one for a combination that the fit has not seen."""
        found = np.column_stack(
            [states(codes[:, j], own) for j, own in zip(self.features, self.atoms, strict=True)]
        )
        differences = (found[:, None, :] != self.keys[None, :, :]).sum(2)
        return differences.argmin(1)


def states(column: Array, atoms: Array) -> Indices:
    """The number of an atom from 2 on, 1 for a missing cell, and 0 for any other value."""
    place = np.searchsorted(atoms, column).clip(max=max(len(atoms) - 1, 0))
    found = np.zeros(len(column), dtype=np.intp)
    if len(atoms):
        found = np.where(atoms[place] == column, place + 2, 0)
    return np.where(np.isnan(column), 1, found)


class _Property(NamedTuple):
    feature: int
    atoms: Array
    state: Indices


def find_contexts(codes: Array, columns: Sequence[Column]) -> list[Context]:
    """Find properties of features that other features determine, and join those that have features in common."""
    properties = [found for j, column in enumerate(columns) for found in _properties(j, codes[:, j], column)]
    determined = list(_determined(properties))
    if not determined:
        return []
    pairs = np.array([(properties[c].feature, properties[a].feature) for c, a in determined])
    edges = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(columns), len(columns)))
    component = connected_components(edges, directed=False)[1]
    contexts = []
    for label in np.unique(component[pairs[:, 0]]):
        own = sorted({c for c, _ in determined if component[properties[c].feature] == label})
        contexts += _context([properties[c] for c in own], np.flatnonzero(component == label))
    return contexts


def _properties(j: int, column: Array, description: Column) -> Iterator[_Property]:
    """What can be determined by another feature: all states of a feature, or whether it is missing or an atom."""
    choices: list[Array] = []
    values = np.array(description.values)
    if description.kind != "continuous" and len(values) <= MOST_STATES:
        choices.append(values)
        if description.kind != "semicontinuous" and len(values) > 2:
            choices += [values[:1]] if values[0] == 0 else []  # none, or how much
    if description.missing > 0:
        choices.append(values[:0])
    for atoms in choices:
        state = states(column, atoms)
        if len(state) - np.bincount(state).max() >= LEAST_ROWS:
            yield _Property(j, atoms, state)


def _determined(properties: Sequence[_Property]) -> Iterator[tuple[int, int]]:
    """Pairs (c, a) where property c is a function of property a of another feature."""
    if not properties:
        return
    sizes = np.array([p.state.max() + 1 for p in properties])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = len(properties[0].state)
    table = np.zeros((rows, starts[-1]), dtype=np.float32)
    for start, p in zip(starts, properties, strict=False):
        table[np.arange(rows), start + p.state] = 1
    together = table.T @ table  # how often each pair of states occurs
    counts = np.diag(together)
    occurs = together > 0
    for c, target in enumerate(properties):
        own = slice(starts[c], starts[c + 1])
        several = occurs[:, own].sum(1) > 1  # states with which more than one state of c occurs
        rare = counts < LEAST_COUNT
        mostly = starts[c] + counts[own].argmax()
        # Rows in which c is not what it mostly is, among the states that are frequent enough to tell.
        told = np.where(rare, 0.0, counts - together[:, mostly])
        for a, source in enumerate(properties):
            if source.feature == target.feature:
                continue
            block = slice(starts[a], starts[a + 1])
            if not several[block].any() and told[block].sum() >= LEAST_ROWS:
                yield c, a


def _context(found: list[_Property], members: Indices) -> list[Context]:
    state = np.column_stack([p.state for p in found])
    keys = np.unique(state, axis=0)
    if not 1 < len(keys) <= MOST_CLASSES:
        return []
    features = np.array([p.feature for p in found])
    return [Context(features, keys, tuple(p.atoms for p in found), members)]
