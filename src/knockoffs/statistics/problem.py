"""What statistics work on: columns of numbers, and which of them belong to one feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.statistics.group_effects import without_group_effects
from knockoffs.table.design import Design
from knockoffs.targets.standard_units import standardise
from knockoffs.targets.survival import Times
from knockoffs.targets.target import ModelTask


class GivenTarget(NamedTuple):
    """A quantity y in the units that it was given in,
    and what leads from standard units back to these.
    """

    y: Array
    centre: float
    deviation: float


class Problem(NamedTuple):
    """Rows of x, of their knockoffs and of y, and which rows must stay together.

    `given` is y in its own units, where `y` is in standard units. `unit` is the feature of each
    column, in increasing order, and `indicators` flags the columns of levels and of missing cells;
    None where every column is a feature of its own. `missing` flags the values of x and of x̃ that
    are only filled in; None where there are none. `times` are those of a survival target, whose y
    is a quantity: martingale residuals. `classes` and `name` are what the classes of y and y itself
    are called.
    """

    x: Array
    x_tilde: Array
    y: Array
    task: ModelTask
    groups: Indices | None = None
    given: GivenTarget | None = None
    unit: Indices | None = None
    indicators: Flags | None = None
    missing: tuple[Flags, Flags] | None = None
    times: Times | None = None
    classes: tuple[str, ...] = ()
    name: str | None = None

    @classmethod
    def of(cls, design: Design, y: Array, task: ModelTask, groups: Indices | None) -> Problem:
        """The problem of a table and its knockoffs."""
        x, x_tilde = design.tables
        if design.plain:
            return cls(x, x_tilde, y, task, groups)
        missing = None
        if (design.indicator >= 0).any():
            flags, flags_tilde = design.missing()
            missing = flags, flags_tilde
        return cls(
            x,
            x_tilde,
            y,
            task,
            groups,
            unit=design.unit,
            indicators=design.indicators,
            missing=missing,
        )

    @property
    def features(self) -> int:
        return self.x.shape[1] if self.unit is None else int(self.unit[-1]) + 1

    @property
    def units(self) -> Indices:
        """The feature of each column."""
        return np.arange(self.features) if self.unit is None else self.unit

    def strata(self, folds: int) -> Array | None:
        """What each fold should have its share of: the classes, or events where there are enough;
        None without.
        """
        if self.task == "classification":
            return self.y
        if self.times is None or min(np.bincount(self.times.event, minlength=2)) < folds:
            return None
        return self.times.event.astype(np.float64)

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
        given = None if self.given is None else self.given._replace(y=self.given.y[index])
        missing = None if self.missing is None else (self.missing[0][index], self.missing[1][index])
        return self._replace(
            x=self.x[index],
            x_tilde=self.x_tilde[index],
            y=self.y[index],
            groups=None,
            given=given,
            missing=missing,
            times=None if self.times is None else self.times.rows(index),
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
        if self.task == "classification":
            return self._replace(x=x, x_tilde=x_tilde)
        (y,), centre, deviation = standardise(self.y)
        return self._replace(
            x=x, x_tilde=x_tilde, y=y, given=GivenTarget(self.y, float(centre), float(deviation))
        )

    def without_group_effects(self) -> Problem:
        """A quantity y, and x and x̃ with it, freed of what the rows of a group have in common."""
        if self.groups is None or self.task == "classification" or self.times is not None:
            return self
        x, x_tilde, y = without_group_effects(self.x, self.x_tilde, self.y, self.groups)
        return self._replace(
            x=x, x_tilde=x_tilde, y=y, given=None if y is not self.y else self.given
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
