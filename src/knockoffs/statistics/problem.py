"""What statistics work on: columns of numbers, and which of them belong to one feature."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.statistics.group_effects import without_group_effects
from knockoffs.table.design import Design
from knockoffs.targets.base import Target
from knockoffs.targets.standard_units import standardise


class Problem(NamedTuple):
    """Rows of x, of their knockoffs and of y, and which rows must stay together.

    `unit` is the feature of each column, in increasing order, and `indicators` flags the columns of
    levels and of missing cells; None where every column is a feature of its own. `missing` flags
    the values of x and of x̃ that are only filled in; None where there are none.
    """

    x: Array
    x_tilde: Array
    target: Target
    groups: Indices | None = None
    unit: Indices | None = None
    indicators: Flags | None = None
    missing: tuple[Flags, Flags] | None = None

    @classmethod
    def of(cls, design: Design, target: Target, groups: Indices | None) -> Problem:
        """The problem of a table and its knockoffs."""
        x, x_tilde = design.tables
        if design.plain:
            return cls(x, x_tilde, target, groups)
        missing = None
        if (design.indicator >= 0).any():
            flags, flags_tilde = design.missing()
            missing = flags, flags_tilde
        return cls(
            x,
            x_tilde,
            target,
            groups,
            unit=design.unit,
            indicators=design.indicators,
            missing=missing,
        )

    @property
    def y(self) -> Array:
        """What models without a likelihood of y see."""
        return self.target.values

    @property
    def features(self) -> int:
        return self.x.shape[1] if self.unit is None else int(self.unit[-1]) + 1

    @property
    def units(self) -> Indices:
        """The feature of each column."""
        return np.arange(self.features) if self.unit is None else self.unit

    def columns_of(self, features: Indices) -> Indices:
        """The columns of some features, in the order of these."""
        if self.unit is None:
            return features
        first, end = (np.searchsorted(self.unit, features, side) for side in ("left", "right"))
        return np.concatenate([np.arange(*ends) for ends in zip(first, end, strict=True)])

    def per_column(
        self, values: Array | Flags, columns: Indices | slice = slice(None)
    ) -> Array | Flags:
        """Values of features, along the last axis, as values of their columns."""
        return values[..., columns] if self.unit is None else values[..., self.unit[columns]]

    def per_feature(self, values: Array) -> Array:
        """The sum over the columns of each feature."""
        return (
            values
            if self.unit is None
            else np.bincount(self.unit, values, self.features).astype(np.float64)
        )

    def rows(self, index: Indices) -> Problem:
        """Some rows, without their groups."""
        missing = None if self.missing is None else (self.missing[0][index], self.missing[1][index])
        return self._replace(
            x=self.x[index],
            x_tilde=self.x_tilde[index],
            target=self.target.rows(index),
            groups=None,
            missing=missing,
        )

    def in_standard_units(self) -> Problem:
        """Each column, together with its knockoff, with mean 0 and standard deviation 1;
        y too if a quantity.

        An indicator comes in units of 1/2, the standard deviation of one that is true as often as
        not. In units of its own a rare level would be the largest number of its row, and what
        models learn of it by chance would hide what they learn of the feature.
        """
        (x, x_tilde), _, deviation = standardise(self.x, self.x_tilde)
        if self.indicators is not None:
            unit = np.where(self.indicators, deviation / 0.5, 1.0)
            x, x_tilde = x * unit, x_tilde * unit
        return self._replace(x=x, x_tilde=x_tilde, target=self.target.in_standard_units())

    def without_group_effects(self) -> Problem:
        """A quantity y, and x and x̃ with it, freed of what the rows of a group have in common."""
        if self.groups is None or not self.target.quadratic:
            return self
        x, x_tilde, y = without_group_effects(self.x, self.x_tilde, self.y, self.groups)
        if y is self.y:
            return self
        return self._replace(
            x=x, x_tilde=x_tilde, target=replace(self.target, values=y, given=None)
        )

    def with_gaps(self) -> Problem:
        """The same with nan for values that are only filled in,
        for models that know what to do with these.
        """
        if self.missing is None:
            return self
        x, x_tilde = (
            np.where(gaps, np.nan, table)
            for gaps, table in zip(self.missing, (self.x, self.x_tilde), strict=True)
        )
        return self._replace(x=x, x_tilde=x_tilde)


def in_random_pair_order(problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
    """[x, x̃] with the places of each pair exchanged by the toss of a coin, and the coins (±1),
    one per feature.

    A model that prefers earlier columns, or draws columns at random, then favours neither side.
    """
    x, x_tilde = problem.x, problem.x_tilde
    flipped = rng.random(problem.features) < 0.5
    columns = problem.per_column(flipped)
    table = np.hstack([np.where(columns, x_tilde, x), np.where(columns, x, x_tilde)])
    return table, np.where(flipped, -1.0, 1.0)
