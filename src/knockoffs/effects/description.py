"""Describe what some features do to y, after the selection and without any part in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from knockoffs.effects.bins import Bins, bins_of, within_bins
from knockoffs.effects.curves import Explained, curve_of, short
from knockoffs.effects.hazard import hazard_ratio, survival_curves
from knockoffs.effects.intervals import LEVEL, level_for_discoveries
from knockoffs.effects.regression import Adjustment, Confounders
from knockoffs.effects.result import Curve, Effect, Effects, HazardRatio, SurvivalCurves
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.schema.schema import Schema
from knockoffs.table.design import Design, aligned, expand, pooled_schema
from knockoffs.table.table import Table
from knockoffs.targets.standard_units import standardise
from knockoffs.targets.survival import Times
from knockoffs.targets.target import Target

MOST_ROWS = 10_000
MOST_CLASSES = 4
MOST_CURVED = 500  # columns that have their squares beside them
FIRST_ROWS = 1000  # by which columns of two values are known
FAR = 3.0  # standard deviations beyond which squares grow no more
MOST_COLUMNS = 12  # of a group of features that are looked at


def describe_effects(
    table: Table,
    knockoffs: Table,
    target: Target,
    features: Sequence[int],
    *,
    names: Sequence[str],
    selected: Sequence[bool],
    draws: Array,
    tested: int | None = None,
    others: Array | None = None,
    groups: Indices | None = None,
) -> Effects:
    """Describe the relation of some features to y: adjusted means in bins, beside those of their knockoffs.

    Parameters
    ----------
    table, knockoffs : Table
        The rows and their knockoffs. Of a group of features one column is described, the one that y changes most
        along, with all features outside of the group adjusted for.
    target : Target
        The response y of the rows.
    features : sequence of int
        The features to describe.
    names, selected : sequences with one entry per feature (or group of features) of the table
        Names, and which features are discoveries.
    draws : array of shape (draws, features)
        The knockoff statistic w.
    tested : int, default=None
        How many features could be selected; by default all of them.
    others : array of shape (rows, features, outputs), default=None
        What models predict from all features but one, for rows that they were not fitted on.
    groups : array of int, default=None
        Rows that belong together.
    """
    observed = _Observed.of(table, knockoffs, target, others, groups)
    for_discoveries = level_for_discoveries(sum(selected), len(selected) if tested is None else tested)
    each = []
    for j in features:
        level = for_discoveries if selected[j] else LEVEL
        level = 1 - (1 - level) / len(table.units.columns(j))  # one of them is chosen by y
        found = max((observed.along(column, j, level) for column in observed.promising(j)), key=_strength)
        each.append(
            Effect(
                feature=names[j],
                selected=bool(selected[j]),
                ordered=found.ordered,
                bins=found.bins.labels,
                places=tuple(None if p is None else short(p) for p in found.bins.places),
                rows=tuple(np.bincount(found.bins.x, minlength=len(found.bins.labels)).tolist()),
                curves=found.curves,
                importance=float(draws[:, j].mean()),
                importance_error=float(draws[:, j].std(ddof=1)) if len(draws) > 1 else None,
                hazard=found.hazard,
                survival=found.survival,
                column=None if names[j] == found.column else found.column,
                level=short(level),
            )
        )
    return Effects(tuple(each), by_models=others is not None)


class _Along(NamedTuple):
    """The relation of y to one column of a feature."""

    column: str
    bins: Bins
    ordered: bool
    curves: tuple[Curve, ...]
    hazard: HazardRatio | None
    survival: tuple[SurvivalCurves, ...]


class _Observed(NamedTuple):
    """Rows beside their knockoffs, and what the descriptions of all their features share.

    Attributes
    ----------
    x, x_tilde : Table
        The rows and their knockoffs, with levels numbered alike.
    schema : Schema
        What the columns of both hold.
    y : array of shape (rows, outputs)
        What is explained: a quantity, or a column of 0 and 1 per class.
    adjustment : Adjustment
        The regression of y on all columns.
    confounders : Confounders
        Which of the columns are adjusted for without shrinking them.
    unit : array of int
        The feature of each column of the regression.
    explained : tuple of Explained
        The columns of y that are described.
    others : array of shape (rows, features, outputs) or None
        What models predict from all features but one.
    times : Times or None
        The times of a survival target.
    groups : array of int or None
        Rows that belong together.
    """

    x: Table
    x_tilde: Table
    schema: Schema
    y: Array
    adjustment: Adjustment
    confounders: Confounders
    unit: Indices
    explained: tuple[Explained, ...]
    others: Array | None
    times: Times | None
    groups: Indices | None

    @classmethod
    def of(
        cls, table: Table, knockoffs: Table, target: Target, others: Array | None, groups: Indices | None
    ) -> _Observed:
        """Take some of the rows where there are many."""
        some = np.linspace(0, len(table) - 1, min(len(table), MOST_ROWS)).astype(int)
        x, x_tilde = aligned(table.rows(some), knockoffs.rows(some), who="effects")
        schema = pooled_schema(x, x_tilde)
        design = expand(schema, x.codes, units=x.units)
        y_unit = 1.0 if target.task != "regression" else _power_of_two(float(np.abs(target.values).max()))
        y = target.columns() / y_unit
        groups = None if groups is None else np.unique(groups[some], return_inverse=True)[1]
        z, unit = _curved(standardise(design.tables[0]).tables[0], design)
        times = None if target.times is None else target.times.rows(some)
        return cls(
            x,
            x_tilde,
            schema,
            y[some],
            Adjustment(z, y[some], groups),
            Confounders(z, y[some], len(some) if times is None else int(times.event.sum())),
            unit,
            _explained(target, y, y_unit),
            others=None if others is None else others[some],
            times=times,
            groups=groups,
        )

    def promising(self, feature: int) -> list[int]:
        """The columns of a feature, those most correlated with y where there are many."""
        columns = self.x.units.columns(feature)
        if len(columns) <= MOST_COLUMNS:
            return columns.tolist()
        cells = np.nan_to_num(self.x.codes[:, columns])
        (z,), (outputs,) = standardise(cells).tables, standardise(self.y).tables
        order = np.argsort(-np.abs(z.T @ outputs).max(1), kind="stable")
        return columns[order[:MOST_COLUMNS]].tolist()

    def along(self, column: int, feature: int, level: float) -> _Along:
        """Describe a feature along one of its columns, with intervals of this level."""
        codes, codes_tilde = self.x.codes[:, column], self.x_tilde.codes[:, column]
        bins = bins_of(self.schema[column], codes, codes_tilde)
        by_others = np.empty((len(codes), 0))
        if self.others is not None:
            by_others = self.others[:, feature].astype(np.float64)
        sides = [_indicators(side, len(bins.labels)) for side in (bins.x, bins.x_tilde)]
        own = np.flatnonzero(self.unit == feature)
        within = [
            within_bins(cells, side)
            for cells, side in ((codes, bins.x), (codes_tilde, bins.x_tilde))
            if any(place is not None for place in bins.places)
        ]
        beside = self.confounders.beside(own)
        found = self.adjustment.coefficients(np.hstack([*sides, *within, by_others]), own, beside)
        ordered = sum(bins.ordered) > 2
        hazard, survival = None, ()
        if self.times is not None:
            adjusted_for = np.hstack([self.adjustment.z[:, beside], standardise(by_others).tables[0]])
            hazard = hazard_ratio(
                codes,
                bins,
                found.coefficients[:, 0],
                adjusted_for,
                self.times,
                ordered=ordered,
                level=level,
                groups=self.groups,
            )
            survival = survival_curves(codes, codes_tilde, bins, self.times, ordered=ordered)
        curves = tuple(curve_of(found, bins, what, level) for what in self.explained)
        return _Along(self.schema[column].name, bins, ordered, curves, hazard, survival)


def _strength(found: _Along) -> float:
    return max(curve.strength for curve in found.curves)


def _curved(z: Array, design: Design) -> tuple[Array, Indices]:
    """Columns beside their squares, for all that have more than two values, and the feature of each."""
    if z.shape[1] > MOST_CURVED:
        return z, design.unit
    several = np.array([len(np.unique(column[:FIRST_ROWS])) > 2 for column in z.T], dtype=bool)
    (squares,) = standardise(np.clip(z[:, several], -FAR, FAR) ** 2).tables
    return np.hstack([z, squares]), np.concatenate([design.unit, design.unit[several]])


def _explained(target: Target, y: Array, y_unit: float) -> tuple[Explained, ...]:
    """The columns of y that are described: of two classes the second, of many the most frequent."""
    if not target.classes:
        return (Explained(0, None, scale=float(y.std()), unit=y_unit, lowest=-np.inf, highest=np.inf),)
    frequent = np.argsort(-y.mean(0), kind="stable")[:MOST_CLASSES]
    shown = [1] if len(target.classes) == 2 else sorted(frequent.tolist())
    shares = y.mean(0).tolist()
    return tuple(
        Explained(k, target.classes[k], scale=1.0, unit=1.0, lowest=-shares[k], highest=1 - shares[k])
        for k in shown
    )


def _power_of_two(size: float) -> float:
    """A unit in which a number of this size is about 1; numbers in such a unit have the bits that they had."""
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1))


def _indicators(which: Indices, bins: int) -> Array:
    return (which[:, None] == np.arange(bins)).astype(np.float64)
