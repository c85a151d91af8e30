"""Effects as results: plain numbers, a sentence for each, tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from knockoffs.effects.bins import MISSING
from knockoffs.effects.shape import NO_CLAIMS, higher_at
from knockoffs.notebook import html_table
from knockoffs.typed_json import plain
from knockoffs.words import listing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CLEAR = 2.0  # standard errors


@dataclass(frozen=True, slots=True)
class Curve:
    """Adjusted means of y, or of the share of a class, in each bin of a feature.

    Attributes
    ----------
    of : str or None
        The class whose share it is; None for a quantity.
    mean, error : tuple of float or None
        How far y is above its mean in each bin, all other features being equal, with standard errors; None where
        a bin has too few rows.
    knockoff, knockoff_error : tuple of float or None
        The same along the knockoff, which is zero but for noise.
    change, change_error : float or None
        The last bin's mean minus the first's where bins have an order, else the highest minus the lowest mean; of
        a curve that turns, the smaller of its two parts.
    missing, missing_error : float or None
        The mean of y where the feature is missing minus that of all other rows, with its standard error.
    strength, knockoff_strength : float
        The standard deviation of the means over the rows, in units of that of y (shares of classes as they are).
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
    missing: float | None
    missing_error: float | None
    strength: float
    knockoff_strength: float
    shape: str


@dataclass(frozen=True, slots=True)
class HazardRatio:
    """How many times as often the event comes, all other features being equal, by Cox's model.

    Attributes
    ----------
    per : str
        What the ratio is for: a standard deviation more of the feature, or one level against another.
    ratio : float
        The ratio of the hazards.
    low, high : float
        The ends of its 95 % interval.
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
    """The share of some rows without the event along time (Kaplan-Meier), not adjusted for other features.

    Attributes
    ----------
    of : str
        Which rows these are: the low or the high half of the feature's values, or a level.
    rows : int
        Their number.
    time : tuple of float
        Times.
    share, knockoff : tuple of float
        The share without the event at these times, and that of the rows whose knockoff has such values.
    """

    of: str
    rows: int
    time: tuple[float, ...]
    share: tuple[float, ...]
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
        The column that is described where the feature is a group of columns: the one that y changes most along.
        Which columns of a group matter is not tested.
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

    They describe; no part of the selection depends on them. All other features are adjusted for: by lines and
    squares with a ridge penalty and, where the statistic has networks, by what these predict from the other
    features for rows that they were not fitted on (`by_models`).
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

    def __repr__(self) -> str:
        said = [f"{effect.feature}: {effect.said}" for effect in self.each[:5]]
        more = f"; and {len(self) - 5} more" if len(self) > 5 else ""
        return f"Effects({'; '.join(said)}{more})" if said else "Effects(none)"

    def _repr_html_(self) -> str:
        rows = [(effect.feature, effect.said) for effect in self.each]
        return html_table("What each feature does, all others being equal", [], ("feature", "effect"), rows)

    def to_frame(self) -> pd.DataFrame:
        """One row per feature, bin and class: the adjusted mean of y, its standard error, and the knockoff's."""
        import pandas as pd

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
        columns = ["feature", "selected", "class", "bin", "place", "rows"]
        return pd.DataFrame(rows, columns=[*columns, "mean", "error", "knockoff", "knockoff_error"])

    def plot(self, *features: str, target: str = "y") -> Figure:
        """Draw the effects of some features, by default of all: adjusted means, and those of the knockoff in red.

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
        from knockoffs.figures import effects_figure

        return effects_figure([self[feature] for feature in features] or self.each, target)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        return {"by_models": self.by_models, "each": [effect.to_dict() for effect in self.each]}


def _said(curve: Curve) -> str:
    """A curve in words: what it does, and by how much."""
    said = curve.shape if curve.of is None else f"share of {curve.of} {curve.shape}"
    if curve.change is not None and curve.change_error is not None:
        said += f" ({_size(curve, curve.change, curve.change_error)})"
    return said + _said_of_missing(curve, sized=True)


def _said_of_hazard(curve: Curve, hazard: HazardRatio | None) -> str:
    """The curve of events beyond expectation in words, and the ratio of hazards where one number can say it."""
    said = f"hazard {curve.shape}"
    if hazard is not None and ", then " not in curve.shape:
        agreed = not _contradicts(hazard, curve)
        said = f"{said if agreed else 'hazard has no direction that two models agree on'} ({hazard})"
    return said + _said_of_missing(curve, sized=False)


def _contradicts(hazard: HazardRatio, curve: Curve) -> bool:
    """Whether Cox's model says the opposite of the means of events beyond expectation."""
    if curve.change is None or (hazard.ratio - 1) * curve.change >= 0 or curve.shape in NO_CLAIMS:
        return False
    return hazard.levels is None or curve.shape == higher_at(*hazard.levels)


def _said_of_missing(curve: Curve, *, sized: bool) -> str:
    """Say where y is for rows in which the feature is missing; nothing where that is unclear or said already."""
    missing, error = curve.missing, curve.missing_error
    if missing is None or error is None or abs(missing) < CLEAR * error or repr(MISSING) in curve.shape:
        return ""
    size = f" ({_size(curve, missing, error)})" if sized else ""
    return f", {'higher' if missing > 0 else 'lower'} where it is missing{size}"


def _size(curve: Curve, change: float, error: float) -> str:
    if curve.of is None:
        return f"{abs(change):.3g} ± {error:.2g}"
    return f"{100 * abs(change):.0f} ± {100 * error:.0f} points"
