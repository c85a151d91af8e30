"""Effects as results: plain numbers, a sentence for each, tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from knockoffs.effects.bins import (
    LEVEL,
    MISSING,
    NO_CLAIMS,
    NO_DIFFERENCE,
    NO_DIRECTION,
    higher_at,
    standard_errors,
)
from knockoffs.runtime.notebook import html_table
from knockoffs.runtime.typed_json import plain
from knockoffs.schema.words import listing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_AGREEMENT = "has no direction that two models agree on"


@dataclass(frozen=True, slots=True)
class Curve:
    """Adjusted means of y, or of the share of a class, in each bin of a feature.

    Attributes
    ----------
    of : str or None
        The class whose share it is; None for a quantity.
    mean, error : tuple of float or None
        How far y is above its mean in each bin, all other features being equal, with standard
        errors; None where a bin has too few rows.
    knockoff, knockoff_error : tuple of float or None
        The same along the knockoff, which is zero but for noise.
    change, change_error : float or None
        The change that the shape is about, with its standard error. Where means rise or fall: the
        last bin's mean minus the first's. Where they tend to or have no clear direction: the change
        along a straight line through the bins. Where they turn: the smaller of the two parts. Of
        levels: the highest minus the lowest mean.
    change_low, change_high : float or None
        The ends of its interval, at the level of the effect. Where bins were chosen by their means
        (levels, and turning points) it is simultaneous for all pairs of bins.
    missing, missing_error, missing_low, missing_high : float or None
        The mean of y where the feature is missing minus that of all other rows, with its standard
        error and the ends of its interval.
    strength, knockoff_strength : float
        The standard deviation of the means over the rows, in units of that of y (shares of classes
        as they are).
    shape : str
        What the means do along the bins, in words.
    """

    of: str | None
    mean: tuple[float | None, ...]
    error: tuple[float | None, ...]
    knockoff: tuple[float | None, ...]
    knockoff_error: tuple[float | None, ...]
    change: float | None
    change_error: float | None
    change_low: float | None
    change_high: float | None
    missing: float | None
    missing_error: float | None
    missing_low: float | None
    missing_high: float | None
    strength: float
    knockoff_strength: float
    shape: str


@dataclass(frozen=True, slots=True)
class HazardRatio:
    """How many times as often the event comes, all other features being equal, by Cox's model.

    Attributes
    ----------
    per : str
        What the ratio is for: a standard deviation more of the feature, or one level against
        another.
    ratio : float
        The ratio of the hazards.
    low, high : float
        The ends of its interval, at the level of the effect; of levels, simultaneous for all pairs
        of them.
    levels : tuple of str or None
        The two levels that are compared; None for a quantity.
    """

    per: str
    ratio: float
    low: float
    high: float
    levels: tuple[str, str] | None = None

    def __str__(self) -> str:
        of = f"per {self.per}" if self.per == "standard deviation" else f"for {self.per}"
        return f"hazard ratio {self.ratio:.3g} {of}, {self.low:.3g} to {self.high:.3g}"


@dataclass(frozen=True, slots=True)
class SurvivalCurves:
    """The share of some rows without the event along time (Kaplan-Meier),
    not adjusted for other features.

    Attributes
    ----------
    of : str
        Which rows these are: the low or the high half of the feature's values, or a level.
    rows : int
        Their number.
    time, share : tuple of float
        The times of events, and the share without the event from each of them on. The last time is
        the last observation. Of more than 1,000 steps some are left out, and the share between them
        is less than .001 too large.
    knockoff_time, knockoff : tuple of float
        The same for the rows whose knockoff has such values.
    """

    of: str
    rows: int
    time: tuple[float, ...]
    share: tuple[float, ...]
    knockoff_time: tuple[float, ...]
    knockoff: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one feature does.

    Attributes
    ----------
    feature : str
        Its name.
    selected : bool
        Whether it is a discovery.
    ordered : bool
        Whether its bins have an order: a quantity or grades, not levels without one.
    bins : tuple of str
        What each bin holds: a level, a range of values, or missing cells.
    places : tuple of float or None
        The mean value of the feature in each bin of a quantity.
    rows : tuple of int
        The number of rows in each bin.
    curves : tuple of Curve
        One for a quantity y and for two classes, else one for each class.
    importance : float
        The knockoff statistic w, or its mean over draws.
    importance_error : float or None
        Its standard deviation over draws; None for a single draw.
    hazard : HazardRatio or None
        The ratio of hazards, of a survival target.
    survival : tuple of SurvivalCurves
        The share without the event along time, of a survival target.
    column : str or None
        The column that is described where the feature is a group of columns: the one that y changes
        most along. Which columns of a group matter is not tested.
    level : float
        The level of all its intervals: .95, and for discoveries 1 - .05 R / m with R of m features
        selected, since looking at selected features alone picks estimates that are too large
        (Benjamini and Yekutieli's false coverage rate). Of a group of columns the .05 is divided by
        their number.
    """

    feature: str
    selected: bool
    ordered: bool
    bins: tuple[str, ...]
    places: tuple[float | None, ...]
    rows: tuple[int, ...]
    curves: tuple[Curve, ...]
    importance: float
    importance_error: float | None
    hazard: HazardRatio | None = None
    survival: tuple[SurvivalCurves, ...] = ()
    column: str | None = None
    level: float = LEVEL

    @property
    def reach(self) -> float:
        """How many standard errors the interval of a mean reaches on each side."""
        return standard_errors(self.level)

    @property
    def said(self) -> str:
        """What it does, in a sentence."""
        along = "" if self.column is None else f"along {self.column}: "
        if self.survival:
            return along + _said_of_hazard(self.curves[0], self.hazard)
        return along + "; ".join(_said(curve) for curve in self.curves)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        return {"said": self.said} | plain(asdict(self))


@dataclass(frozen=True, slots=True, repr=False)
class Effects:
    """What features do to y, those with the largest w first.

    They describe; no part of the selection depends on them. All other features are adjusted for by
    lines and squares. Those that tell of y or of the feature are not shrunk; the rest have a ridge
    penalty. Where the statistic has networks, what these predict from the other features, for rows
    that they were not fitted on, is adjusted for too (`by_models`). The level of an interval makes
    up for the selection (`Effect.level`), but not by a theorem, which asks for independent
    estimates and a simpler rule.
    """

    each: tuple[Effect, ...] = ()
    by_models: bool = False

    def __len__(self) -> int:
        return len(self.each)

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.each)

    def __getitem__(self, feature: str) -> Effect:
        """Return the effect of a feature, by its name."""
        for effect in self.each:
            if effect.feature == feature:
                return effect
        known = listing([repr(effect.feature) for effect in self.each]) or "none"
        raise KeyError(f"no effect of {feature!r} was described. Described are: {known}.")

    @property
    def about_intervals(self) -> str:
        """The level of the intervals, in a sentence."""
        levels = [effect.level for effect in self.each if effect.selected]
        if not levels or max(levels) == LEVEL:
            return "Intervals have level 95 %."
        least = "" if min(levels) == max(levels) else "at least "
        percent = f"{least}{100 * min(levels):.4g} %"
        return (
            f"Intervals of discoveries have level {percent}, to make up for the selection; "
            f"others have 95 %."
        )

    def __repr__(self) -> str:
        said = [f"{effect.feature}: {effect.said}" for effect in self.each[:5]]
        more = f"; and {len(self) - 5} more" if len(self) > 5 else ""
        return f"Effects({'; '.join(said)}{more})" if said else "Effects(none)"

    def _repr_html_(self) -> str:
        rows = [(effect.feature, effect.said) for effect in self.each]
        lines = [self.about_intervals] if rows else []
        return html_table(
            "What each feature does, all others being equal", lines, ("feature", "effect"), rows
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per feature, bin and class: the adjusted mean of y, its standard error,
        and the knockoff's.
        """
        rows = [
            {
                "feature": effect.feature,
                "selected": effect.selected,
                "class": curve.of,
                "bin": effect.bins[k],
                "place": effect.places[k],
                "rows": effect.rows[k],
                "mean": curve.mean[k],
                "error": curve.error[k],
                "knockoff": curve.knockoff[k],
                "knockoff_error": curve.knockoff_error[k],
            }
            for effect in self.each
            for curve in effect.curves
            for k in range(len(effect.bins))
        ]
        names = ("mean", "error", "knockoff", "knockoff_error")
        return pd.DataFrame(
            rows, columns=["feature", "selected", "class", "bin", "place", "rows", *names]
        )

    def plot(self, *features: str, target: str = "y") -> Figure:
        """Draw the effects of some features, by default of all: adjusted means,
        and those of the knockoff in red.

        Parameters
        ----------
        *features : str
            Names of features.
        target : str, default="y"
            What y is called, for the titles.

        Returns
        -------
        matplotlib Figure
        """
        from knockoffs.runtime.figures import effects_figure

        return effects_figure([self[feature] for feature in features] or self.each, target)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        return {
            "by_models": self.by_models,
            "about_intervals": self.about_intervals,
            "each": [effect.to_dict() for effect in self.each],
        }


def _said(curve: Curve) -> str:
    """A curve in words: what it does, and by how much."""
    said = curve.shape if curve.of is None else f"share of {curve.of} {curve.shape}"
    ends = curve.change, curve.change_low, curve.change_high
    return (
        said
        + _interval(curve, ends, signed=curve.shape in NO_CLAIMS)
        + _said_of_missing(curve, sized=True)
    )


def _said_of_hazard(curve: Curve, hazard: HazardRatio | None) -> str:
    """The curve of events beyond expectation in words,
    and the ratio of hazards where one number can say it.
    """
    turns = ", then " in curve.shape
    said = curve.shape if hazard is None or turns else f"{_agreed(curve, hazard)} ({hazard})"
    return f"hazard {said}" + _said_of_missing(curve, sized=False)


def _agreed(curve: Curve, hazard: HazardRatio) -> str:
    """Say the direction of the hazard that the means claim,
    and that the interval beside it supports.
    """
    claims, above = curve.shape not in NO_CLAIMS, hazard.ratio > 1
    if claims and hazard.levels is not None and curve.shape != higher_at(*hazard.levels):
        return curve.shape  # of other levels than the ratio
    if claims and curve.change is not None and (hazard.ratio - 1) * curve.change < 0:
        return NO_AGREEMENT
    if hazard.low <= 1 <= hazard.high:
        return NO_DIRECTION if hazard.levels is None else NO_DIFFERENCE
    if claims:
        return curve.shape
    if hazard.levels is None:
        return "rises" if above else "falls"
    return higher_at(*(hazard.levels if above else hazard.levels[::-1]))


def _said_of_missing(curve: Curve, *, sized: bool) -> str:
    """Say where y is for rows in which the feature is missing;
    nothing where that is unclear or said already.
    """
    missing, low, high = curve.missing, curve.missing_low, curve.missing_high
    if (
        missing is None
        or low is None
        or high is None
        or low <= 0 <= high
        or repr(MISSING) in curve.shape
    ):
        return ""
    size = _interval(curve, (missing, low, high)) if sized else ""
    return f", {'higher' if missing > 0 else 'lower'} where it is missing{size}"


def _interval(curve: Curve, ends: tuple[float | None, ...], *, signed: bool = False) -> str:
    """A change and its interval in brackets, without signs where words give the direction."""
    known = [end for end in ends if end is not None]
    if not known:
        return ""
    if known[0] < 0 and not signed:
        known = [-known[0], -known[2], -known[1]]
    if curve.of is None:
        size, low, high = (f"{end:.3g}" for end in known)
        return f" ({size}, {low} to {high})"
    size, low, high = (f"{100 * end:.0f}" for end in known)
    return f" ({size}, {low} to {high} points)"
