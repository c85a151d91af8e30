r"""Logical relations between columns: one says which values another can have.

Where a property A of feature c is a function of feature a (a category that coarsens another, a flag
that says that a number is positive, groups of ages beside the age, columns that are missing
together), exact knockoffs of both keep A: swapping c alone must not break the relation. So rows are
put into classes by such properties. The knockoff of a row stays in its class, and each feature that
takes part has a description of its own within each class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.schema import Column

States = NDArray[np.int8]  # of targets, which have few

MOST_STATES = 120  # of a feature that others determine; `States` holds two more
MOST_CLASSES = 120  # of rows
MANY_VALUES = 50  # of a quantity, beyond which a single one may say too little
LEAST_ROWS = 10  # in which a property must differ from what it mostly is
# share of the cells in a state (or not in it) in which the state of another feature may differ
NEARLY = 0.2
SAMPLED_ROWS = 5_000  # by which states are compared
LEAST_COUNT = 3  # rows of a state, so that it says anything
SOME_ROWS = 200  # that are looked at first


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
        differences = np.zeros((len(codes), len(self.keys)), dtype=np.intp)
        for j, atoms, key in zip(self.features, self.atoms, self.keys.T, strict=True):
            differences += states(codes[:, j], atoms)[:, None] != key
        return differences.argmin(1)


def states(column: Array, atoms: Array) -> Indices:
    """The number of an atom from 2 on, 1 for a missing cell, and 0 for any other value."""
    place = np.searchsorted(atoms, column).clip(max=max(len(atoms) - 1, 0))
    found = np.zeros(len(column), dtype=np.intp)
    if len(atoms):
        found = np.where(atoms[place] == column, place + 2, 0)
    return np.where(np.isnan(column), 1, found)


def find_kept_states(codes: Array, columns: Sequence[Column]) -> dict[int, Array]:
    """Find states of features that are nearly a state of another one,
    such as codes for "not asked" or gaps.

    Knockoffs may keep the state of such cells, as they may keep any property of a feature: that is
    valid, and costs little power. Drawn anew, such states would not agree as well with each other
    as those of the data do.

    Returns
    -------
    dict of int to array
        Per feature the values that are kept. The gaps of these features are kept too.
    """
    rows = codes[:: max(1, len(codes) // SAMPLED_ROWS)]
    states_of = [
        (j, value) for j, column in enumerate(columns) for value in _possible_states(column)
    ]
    events = [
        np.isnan(rows[:, j]) if np.isnan(value) else rows[:, j] == value for j, value in states_of
    ]
    counts = np.array([event.sum() for event in events], dtype=np.intp)
    fewer = np.minimum(counts, len(rows) - counts)
    enough = np.flatnonzero(fewer >= LEAST_ROWS)
    if len(enough) == 0:
        return {}
    table = np.stack([events[k] for k in enough], axis=1).astype(np.float32)
    feature = np.array([states_of[k][0] for k in enough])
    differ = counts[enough][:, None] + counts[enough] - 2 * np.rint(table.T @ table)
    differ[feature[:, None] == feature] = len(rows)
    share = differ.min(1) / fewer[enough]
    kept: dict[int, list[float]] = {}
    for k in enough[np.argsort(share, kind="stable")[: np.count_nonzero(share <= NEARLY)]]:
        j, value = states_of[k]
        own = kept.setdefault(j, [])
        # Some states must be left to be drawn anew.
        if not np.isnan(value) and (
            len(columns[j].values) - len(own) > 2 or not columns[j].discrete
        ):
            own.append(value)
    return {j: np.array(sorted(values)) for j, values in kept.items()}


def _possible_states(column: Column) -> list[float]:
    """States that may be kept while others of the same feature are drawn anew;
    nan for a missing cell.
    """
    values = list(column.values) if 2 < len(column.values) <= MANY_VALUES else []
    return [*values, *([np.nan] if column.missing > 0 else [])]


def context_of_states(feature: int, column: Array, atoms: Array) -> Context:
    """Classes of rows by the atoms of one feature, with one for all other values and one for
    missing cells.
    """
    own = np.array([feature])
    return Context(own, np.unique(states(column, atoms))[:, None], (atoms,), own)


def features_with_few_gaps(codes: Array) -> Indices:
    """Features that are missing, or are there, in very few rows."""
    count = np.isnan(codes).sum(0)
    return np.flatnonzero((count > 0) & (np.minimum(count, len(codes) - count) < LEAST_ROWS))


class _Property(NamedTuple):
    feature: int
    atoms: Array
    state: Indices


def find_contexts(codes: Array, columns: Sequence[Column]) -> list[Context]:
    """Find properties of features that other features determine,
    and join those that have features in common.
    """
    properties = [
        found for j, column in enumerate(columns) for found in _properties(j, codes[:, j], column)
    ]
    targets = [p for p in properties if len(p.atoms) <= MOST_STATES]
    if not targets:
        return []
    quantities = [j for j, column in enumerate(columns) if _is_fine(column)]
    determined = [*_determined(targets, properties), *_cut(targets, codes, quantities)]
    if not determined:
        return []
    pairs = np.array([(targets[c].feature, feature) for c, feature in determined])
    edges = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(columns), len(columns)))
    component = connected_components(edges, directed=False)[1]
    contexts = []
    for label in np.unique(component[pairs[:, 0]]):
        own = sorted({c for c, _ in determined if component[targets[c].feature] == label})
        contexts += _context([targets[c] for c in own], np.flatnonzero(component == label))
    return contexts


def _properties(j: int, column: Array, description: Column) -> Iterator[_Property]:
    """What one feature can say of another: all states of a feature,
    or whether it is missing or an atom.
    """
    choices: list[Array] = []
    values = np.array(description.values)
    if description.holds.atoms:
        choices.append(values)
        if description.discrete and len(values) > 2 and values[0] == 0:
            choices.append(values[:1])  # none, or how much
    if description.missing > 0:
        choices.append(values[:0])
    for atoms in choices:
        state = states(column, atoms)
        if len(state) - np.bincount(state).max() >= LEAST_ROWS:
            yield _Property(j, atoms, state)


def _is_fine(column: Column) -> bool:
    """Return whether a feature is a quantity with too many values for each to say something."""
    return not column.discrete or (column.holds.ordered and len(column.values) > MANY_VALUES)


def _determined(
    targets: Sequence[_Property], sources: Sequence[_Property]
) -> Iterator[tuple[int, int]]:
    """Pairs of a target's number and a feature that has a property which the target is a function
    of.
    """
    state, feature = _states_and_features(targets)
    for source in sources:
        first = np.empty(source.state.max() + 1, dtype=np.intp)  # some row of each state
        first[source.state] = np.arange(len(state))
        alike = first[source.state]
        possible = np.flatnonzero(feature != source.feature)
        for rows in (slice(SOME_ROWS), slice(None)):  # few rows rule most targets out
            same = state[rows, possible] == state[np.ix_(alike[rows], possible)]
            possible = possible[same.all(0)]
        frequent = _repeats(source.state)
        yield from (
            (int(c), source.feature) for c in possible if _says_enough(state[:, c], frequent)
        )


def _cut(
    targets: Sequence[_Property], codes: Array, quantities: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Pairs of a target's number and a quantity that is cut into intervals,
    one for each state of the target.
    """
    state, feature = _states_and_features(targets)
    most_changes = np.array([len(np.unique(p.state)) - 1 for p in targets])
    for j in quantities:
        possible = np.flatnonzero(feature != j)
        for rows in (slice(SOME_ROWS), slice(None)):  # few rows rule most targets out
            if len(possible):
                kept = _in_intervals(state[rows, possible], codes[rows, j], most_changes[possible])
                possible = possible[kept]
        counted = ~np.isnan(codes[:, j])
        # states of single rows are intervals of any quantity
        yield from (
            (int(c), j)
            for c in possible
            if _says_enough(state[:, c], counted & _repeats(state[:, c]))
        )


def _in_intervals(state: States, x: Array, most_changes: Indices) -> Flags:
    """Return whether properties change so few times along x, never among equal x,
    and not where x is missing.
    """
    present = ~np.isnan(x)
    order = np.argsort(x[present])
    changes = np.diff(state[present][order], axis=0) != 0
    tied = np.diff(x[present][order]) == 0
    alike = (state[~present] == state[~present][:1]).all(0)
    return alike & (changes.sum(0) <= most_changes) & ~changes[tied].any(0)


def _states_and_features(targets: Sequence[_Property]) -> tuple[States, Indices]:
    state = np.column_stack([p.state for p in targets]).astype(np.int8)
    return state, np.array([p.feature for p in targets])


def _says_enough(state: States, counted: Flags) -> bool:
    """Return whether a property differs from what it mostly is in enough of the rows that count."""
    mostly = np.bincount(state).argmax()
    return bool(np.count_nonzero((state != mostly) & counted) >= LEAST_ROWS)


def _repeats(state: States | Indices) -> Flags:
    """Which rows have a state that enough rows have for it to say anything."""
    return np.bincount(state)[state] >= LEAST_COUNT


def _context(found: list[_Property], members: Indices) -> list[Context]:
    found = found if len(_keys(found)) <= MOST_CLASSES else _some_of(found)
    if not found:
        return []
    keys = _keys(found)
    features = np.array([p.feature for p in found])
    return [Context(features, keys, tuple(p.atoms for p in found), members)]


def _keys(found: Sequence[_Property]) -> Indices:
    """The combinations of states that occur."""
    return np.unique(np.column_stack([p.state for p in found]), axis=0)


def _some_of(found: list[_Property]) -> list[_Property]:
    """Choose as many properties as a moderate number of classes can keep,
    those with few states first.
    """
    kept: list[int] = []
    for k in sorted(range(len(found)), key=lambda k: len(np.unique(found[k].state))):
        if len(_keys([found[i] for i in [*kept, k]])) <= MOST_CLASSES:
            kept.append(k)
    return [found[k] for k in sorted(kept)]
