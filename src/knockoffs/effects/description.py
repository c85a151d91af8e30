"""Describe what some features do to y, after the selection and without any part in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from knockoffs.effects.bins import (
    LEVEL,
    MISSING,
    Bins,
    Estimate,
    bins_of,
    level_for_discoveries,
    shape_of,
    standard_errors,
    within_bins,
)
from knockoffs.effects.hazard import hazard_ratio, survival_curves
from knockoffs.effects.regression import Adjusted, Adjustment, Confounders
from knockoffs.effects.result import Curve, Effect, Effects
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.table.design import Design, aligned, expand, pooled_schema
from knockoffs.table.table import Table
from knockoffs.targets.base import Target
from knockoffs.targets.standard_units import standardise

MOST_ROWS = 10_000
MOST_CLASSES = 4
MOST_CURVED = 500  # columns that have their squares beside them
FIRST_ROWS = 1000  # by which columns of two values are known
FAR = 3.0  # standard deviations beyond which squares grow no more
MOST_COLUMNS = 12  # of a group of features that are looked at
LEAST_ROWS = 5  # of a bin that is described
DIGITS = 6


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
    """Describe the relation of some features to y: adjusted means in bins,
    beside those of their knockoffs.

    Parameters
    ----------
    table, knockoffs : Table
        The rows and their knockoffs. Of a group of features one column is described, the one that y
        changes most along, with all features outside of the group adjusted for.
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
    observed = _Observed(table, knockoffs, target, others, groups)
    for_discoveries = level_for_discoveries(
        sum(selected), len(selected) if tested is None else tested
    )
    each = []
    for j in features:
        level = for_discoveries if selected[j] else LEVEL
        level = 1 - (1 - level) / len(table.units.columns(j))  # one of them is chosen by y
        along = [observed.along(column, j, level) for column in observed.promising(j)]
        found = max(along, key=lambda found: max(curve.strength for curve in found["curves"]))
        each.append(
            Effect(
                feature=names[j],
                selected=bool(selected[j]),
                importance=float(draws[:, j].mean()),
                importance_error=float(draws[:, j].std(ddof=1)) if len(draws) > 1 else None,
                **found | {"column": None if names[j] == found["column"] else found["column"]},
            )
        )
    return Effects(tuple(each), by_models=others is not None)


class _Observed:
    """Rows beside their knockoffs, and what the descriptions of all their features share.

    Attributes
    ----------
    x, x_tilde : Table
        The rows and their knockoffs, with levels numbered alike; of many rows a part.
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
    others : array of shape (rows, features, outputs)
        What models predict from all features but one; without outputs where there are no models.
    times : Times or None
        The times of a survival target.
    groups : array of int or None
        Rows that belong together.
    """

    def __init__(
        self,
        table: Table,
        knockoffs: Table,
        target: Target,
        others: Array | None,
        groups: Indices | None,
    ) -> None:
        some = np.linspace(0, len(table) - 1, min(len(table), MOST_ROWS)).astype(int)
        self.x, self.x_tilde = aligned(table.rows(some), knockoffs.rows(some), who="effects")
        self.schema = pooled_schema(self.x, self.x_tilde)
        # A unit in which the largest number is about 1; in a power of two numbers keep their bits.
        y = target.columns()
        y_unit = float(np.ldexp(1.0, np.frexp(float(np.abs(y).max()))[1] - 1))
        y = y / y_unit
        self.y = y[some]
        self.explained = _explained(target, y, y_unit)
        self.others = np.empty((len(some), len(table.units), 0)) if others is None else others[some]
        self.times = None if target.times is None else target.times.rows(some)
        self.groups = None if groups is None else np.unique(groups[some], return_inverse=True)[1]
        z, self.unit = _curved(expand(self.schema, self.x.codes, units=self.x.units))
        telling = target.rows(some).telling_rows
        self.adjustment = Adjustment(z, self.y, self.groups)
        self.confounders = Confounders(z, self.y, telling)

    def promising(self, feature: int) -> list[int]:
        """The columns of a feature, those most correlated with y where there are many."""
        columns = self.x.units.columns(feature)
        if len(columns) <= MOST_COLUMNS:
            return columns.tolist()
        cells = np.nan_to_num(self.x.codes[:, columns])
        (z,), (outputs,) = standardise(cells).tables, standardise(self.y).tables
        order = np.argsort(-np.abs(z.T @ outputs).max(1), kind="stable")
        return columns[order[:MOST_COLUMNS]].tolist()

    def along(self, column: int, feature: int, level: float) -> dict[str, Any]:
        """Describe a feature along one of its columns, as fields of an `Effect` of this level."""
        codes, codes_tilde = self.x.codes[:, column], self.x_tilde.codes[:, column]
        bins = bins_of(self.schema[column], codes, codes_tilde)
        count, ordered = len(bins.labels), sum(bins.ordered) > 2
        by_others = self.others[:, feature].astype(np.float64)
        columns = [side[:, None] == np.arange(count) for side in (bins.x, bins.x_tilde)]
        if any(place is not None for place in bins.places):
            columns += [within_bins(codes, bins.x), within_bins(codes_tilde, bins.x_tilde)]
        own = np.flatnonzero(self.unit == feature)
        beside = self.confounders.beside(own)
        found = self.adjustment.coefficients(np.hstack([*columns, by_others]), own, beside)
        hazard, survival = None, ()
        if self.times is not None:
            adjusted_for = np.hstack(
                [self.adjustment.z[:, beside], standardise(by_others).tables[0]]
            )
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
        return {
            "ordered": ordered,
            "bins": bins.labels,
            "places": tuple(None if place is None else short(place) for place in bins.places),
            "rows": tuple(np.bincount(bins.x, minlength=count).tolist()),
            "curves": tuple(curve_of(found, bins, what, level) for what in self.explained),
            "hazard": hazard,
            "survival": survival,
            "column": self.schema[column].name,
            "level": short(level),
        }


def _curved(design: Design) -> tuple[Array, Indices]:
    """Columns beside their squares, for all that have more than two values,
    and the feature of each.
    """
    (z,) = standardise(*design.tables).tables
    if z.shape[1] > MOST_CURVED:
        return z, design.unit
    several = np.array([len(np.unique(column[:FIRST_ROWS])) > 2 for column in z.T], dtype=bool)
    (squares,) = standardise(np.clip(z[:, several], -FAR, FAR) ** 2).tables
    return np.hstack([z, squares]), np.concatenate([design.unit, design.unit[several]])


class Explained(NamedTuple):
    """A column of y that is described.

    Attributes
    ----------
    output : int
        Its number.
    of : str or None
        The class that it stands for.
    scale : float
        How far y varies.
    unit : float
        What y was divided by, so that squares of very large or small numbers are numbers, too.
    lowest, highest : float
        How far y may be below and above its mean: a share is within 0 and 1.
    """

    output: int
    of: str | None
    scale: float
    unit: float
    lowest: float
    highest: float


def _explained(target: Target, y: Array, y_unit: float) -> tuple[Explained, ...]:
    """The columns of y that are described: of two classes the second, of many the most frequent."""
    shares = y.mean(0).tolist()
    return tuple(
        Explained(k, None, scale=float(y[:, k].std()), unit=y_unit, lowest=-np.inf, highest=np.inf)
        if label is None
        else Explained(k, label, scale=1.0, unit=1.0, lowest=-shares[k], highest=1 - shares[k])
        for k, label in target.shown(MOST_CLASSES).items()
    )


def curve_of(found: Adjusted, bins: Bins, what: Explained, level: float) -> Curve:
    """Return the curve of one column of y along a feature, with intervals of this level."""
    count = len(bins.labels)
    sides = []
    for start, which in ((0, bins.x), (count, bins.x_tilde)):
        own = slice(start, start + count)
        rows = np.bincount(which, minlength=count)
        shares = rows / rows.sum()
        centred = np.eye(count) - shares  # the mean over rows is 0
        mean = centred @ found.coefficients[own, what.output]
        covariance = centred @ found.covariances[what.output, own, own] @ centred.T
        known = rows >= LEAST_ROWS
        sides.append((mean, covariance, shares, known))
    mean, covariance, shares, known = sides[0]
    limit = what.highest - what.lowest  # of differences
    shape = shape_of(
        mean,
        covariance,
        shares,
        bins.labels,
        np.array(bins.ordered),
        known,
        level=level,
        limit=limit,
    )
    missing = _where_missing(mean, covariance, shares, bins, known, level, limit)
    (plain, errors), (plain_tilde, errors_tilde) = (
        (
            _known(np.clip(m, what.lowest, what.highest) * what.unit, k),
            _known(np.sqrt(np.maximum(np.diag(v), 0.0)) * what.unit, k),
        )
        for m, v, _, k in sides
    )
    strengths = [short(float(np.sqrt((s * m**2 * k).sum())) / what.scale) for m, _, s, k in sides]
    return Curve(
        of=what.of,
        mean=plain,
        error=errors,
        knockoff=plain_tilde,
        knockoff_error=errors_tilde,
        **_named("change", shape.change, what.unit),
        **_named("missing", missing, what.unit),
        strength=strengths[0],
        knockoff_strength=strengths[1],
        shape=shape.words,
    )


def _named(name: str, found: Estimate | None, unit: float) -> dict[str, float | None]:
    """An estimate as fields of a curve."""
    if found is None:
        return dict.fromkeys((name, f"{name}_error", f"{name}_low", f"{name}_high"))
    size, error, low, high = (
        short(v * unit) for v in (found.size, found.error, found.low, found.high)
    )
    return {name: size, f"{name}_error": error, f"{name}_low": low, f"{name}_high": high}


def _where_missing(
    mean: Array,
    covariance: Array,
    shares: Array,
    bins: Bins,
    known: Flags,
    level: float,
    limit: float,
) -> Estimate | None:
    """The mean where the feature is missing minus that of all other rows."""
    if bins.labels[-1] != MISSING or not known[-1] or shares[-1] == 1:
        return None
    others = 1 / (1 - shares[-1])  # the mean over all rows is 0
    error = float(np.sqrt(max(covariance[-1, -1], 0.0))) * others
    return Estimate.of(float(mean[-1]) * others, error, standard_errors(level), limit)


def _known(values: Array, known: Flags) -> tuple[float | None, ...]:
    return tuple(short(v) if k else None for v, k in zip(values.tolist(), known, strict=True))


def short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
