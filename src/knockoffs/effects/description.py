"""Describe what some features do to y, after the selection and without any part in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from knockoffs.arrays import Array, Flags, Indices
from knockoffs.design import Design, aligned, expand, pooled_schema
from knockoffs.effects.bins import MISSING, Bins, bins_of, within_bins
from knockoffs.effects.hazard import hazard_ratio, survival_curves
from knockoffs.effects.regression import Adjusted, Adjustment
from knockoffs.effects.result import Curve, Effect, Effects, HazardRatio, SurvivalCurves
from knockoffs.effects.shape import shape_of
from knockoffs.schema import Schema
from knockoffs.statistics.survival import Times
from knockoffs.statistics.targets import Target
from knockoffs.statistics.units import standardise
from knockoffs.tables import Table

MOST_ROWS = 10_000
LEAST_ROWS = 5  # of a bin that is described
MOST_CLASSES = 4
MOST_CURVED = 500  # columns that have their squares beside them
FIRST_ROWS = 1000  # by which columns of two values are known
FAR = 3.0  # standard deviations beyond which squares grow no more
DIGITS = 6
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
    others : array of shape (rows, features, outputs), default=None
        What models predict from all features but one, for rows that they were not fitted on.
    groups : array of int, default=None
        Rows that belong together.
    """
    observed = _Observed.of(table, knockoffs, target, others, groups)
    each = []
    for j in features:
        found = max((observed.along(column, j) for column in observed.promising(j)), key=_strength)
        each.append(
            Effect(
                feature=names[j],
                selected=bool(selected[j]),
                ordered=found.ordered,
                bins=found.bins.labels,
                places=tuple(None if p is None else _short(p) for p in found.bins.places),
                rows=tuple(np.bincount(found.bins.x, minlength=len(found.bins.labels)).tolist()),
                curves=found.curves,
                importance=float(draws[:, j].mean()),
                importance_error=float(draws[:, j].std(ddof=1)) if len(draws) > 1 else None,
                hazard=found.hazard,
                survival=found.survival,
                column=None if names[j] == found.column else found.column,
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
    unit : array of int
        The feature of each column of the regression.
    explained : tuple of pairs of int and str or None
        The columns of y that are described, each with the class that it stands for.
    scale : float
        How far y varies.
    y_unit : float
        What y was divided by, so that squares of very large or small numbers are numbers, too.
    others : array of shape (rows, features, outputs) or None
        What models predict from all features but one.
    times : Times or None
        The times of a survival target.
    """

    x: Table
    x_tilde: Table
    schema: Schema
    y: Array
    adjustment: Adjustment
    unit: Indices
    explained: tuple[tuple[int, str | None], ...]
    scale: float
    y_unit: float
    others: Array | None
    times: Times | None

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
        return cls(
            x,
            x_tilde,
            schema,
            y[some],
            Adjustment(z, y[some], groups),
            unit,
            _explained(target, y),
            scale=1.0 if target.classes else float(y.std()),
            y_unit=y_unit,
            others=None if others is None else others[some],
            times=None if target.times is None else target.times.rows(some),
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

    def along(self, column: int, feature: int) -> _Along:
        """Describe a feature along one of its columns."""
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
        found = self.adjustment.coefficients(np.hstack([*sides, *within, by_others]), own)
        ordered = sum(bins.ordered) > 2
        hazard, survival = None, ()
        if self.times is not None:
            y = self.adjustment.y
            said = by_others if by_others.size else y - self.adjustment.leave(y, own)
            hazard = hazard_ratio(codes, bins, found.coefficients[:, 0], said, self.times, ordered=ordered)
            survival = survival_curves(codes, codes_tilde, bins, self.times, ordered=ordered)
        curves = tuple(_curve(found, k, bins, of, self.scale, self.y_unit) for k, of in self.explained)
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


def _explained(target: Target, y: Array) -> tuple[tuple[int, str | None], ...]:
    """The columns of y that are described: of two classes the second, of many the most frequent."""
    if not target.classes:
        return ((0, None),)
    frequent = np.argsort(-y.mean(0), kind="stable")[:MOST_CLASSES]
    shown = [1] if len(target.classes) == 2 else sorted(frequent.tolist())
    return tuple((k, target.classes[k]) for k in shown)


def _power_of_two(size: float) -> float:
    """A unit in which a number of this size is about 1; numbers in such a unit have the bits that they had."""
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1))


def _indicators(which: Indices, bins: int) -> Array:
    return (which[:, None] == np.arange(bins)).astype(np.float64)


def _curve(found: Adjusted, output: int, bins: Bins, of: str | None, scale: float, y_unit: float) -> Curve:
    count = len(bins.labels)
    sides = []
    for start, which in ((0, bins.x), (count, bins.x_tilde)):
        own = slice(start, start + count)
        rows = np.bincount(which, minlength=count)
        shares = rows / rows.sum()
        centred = np.eye(count) - shares  # the mean over rows is 0
        mean = centred @ found.coefficients[own, output]
        covariance = centred @ found.covariances[output, own, own] @ centred.T
        known = rows >= LEAST_ROWS
        sides.append((mean, covariance, shares, known))
    mean, covariance, shares, known = sides[0]
    shape = shape_of(mean, covariance, shares, bins.labels, np.array(bins.ordered), known)
    missing = _where_missing(mean, covariance, shares, bins, known)
    (plain, errors), (plain_tilde, errors_tilde) = (
        (_known(m * y_unit, k), _known(np.sqrt(np.maximum(np.diag(v), 0.0)) * y_unit, k)) for m, v, _, k in sides
    )
    strengths = [_short(float(np.sqrt((s * m**2 * k).sum())) / scale) for m, _, s, k in sides]
    return Curve(
        of=of,
        mean=plain,
        error=errors,
        knockoff=plain_tilde,
        knockoff_error=errors_tilde,
        change=None if shape.change is None else _short(shape.change * y_unit),
        change_error=None if shape.error is None else _short(shape.error * y_unit),
        missing=None if missing is None else _short(missing[0] * y_unit),
        missing_error=None if missing is None else _short(missing[1] * y_unit),
        strength=strengths[0],
        knockoff_strength=strengths[1],
        shape=shape.words,
    )


def _where_missing(
    mean: Array, covariance: Array, shares: Array, bins: Bins, known: Flags
) -> tuple[float, float] | None:
    """The mean where the feature is missing minus that of all other rows, and its error."""
    if bins.labels[-1] != MISSING or not known[-1] or shares[-1] == 1:
        return None
    others = 1 / (1 - shares[-1])  # the mean over all rows is 0
    return mean[-1] * others, float(np.sqrt(max(covariance[-1, -1], 0.0))) * others


def _known(values: Array, known: Flags) -> tuple[float | None, ...]:
    return tuple(_short(v) if k else None for v, k in zip(values.tolist(), known, strict=True))


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
