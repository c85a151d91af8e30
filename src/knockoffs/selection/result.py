"""The result of a knockoff selection: what was found, and everything needed to find it again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from knockoffs.effects.result import Effects
from knockoffs.filtering.filter import draw_level, smallest_evalue_levels, smallest_levels
from knockoffs.filtering.guarantees import bound_of_set, false_in_sets, pfer_over_draws
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.notebook import html_table
from knockoffs.schema.words import listing, rounded_up

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


RowHandling = Literal["independent", "groups modelled", "groups ignored by the generator"]
MissingHandling = Literal["value", "complete"]
# discoveries, and features that come next, whose effects are described
MOST_DESCRIBED, NEXT_DESCRIBED = 40, 5
UNBOUNDED: RowHandling = "groups ignored by the generator"  # false discoveries are then not bounded


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """A finished selection: what was found, and everything needed to find it again.

    Attributes
    ----------
    names : tuple of str
        The features, in the order of the table; all arrays follow it. A group of features stands
        where its first column does.
    selected : array of bool
        Which of them are discoveries.
    evalues : array of float
        Mean over draws of the e-values (`knockoff_evalues`). They are compound: their sum over
        irrelevant features is bounded, and the e-value of one feature tests nothing.
    frequency : array of float
        Share of draws in which w is at or above the draw's threshold.
    draws : array of shape (n_draws, features)
        The knockoff statistic w of each draw.
    thresholds : array of float
        The threshold of each draw: that of the filter for one draw, that of the e-values at half
        the level for several; `inf` where nothing qualifies.
    fdr, level : float
        The level that was asked for, and that of the filter: `fdr`, or less where `calibrate=True`
        lowered it.
    offset : int
        The offset of the filter.
    task : str
        "regression" or "classification".
    rows : int
        Number of rows.
    groups : int or None
        Number of groups of rows that belong together; None where rows are independent of each
        other.
    row_handling : str
        How dependence between rows was dealt with; nothing is bounded where the generator ignored
        it.
    generator, statistic : str
        How the parts were made.
    exact : bool or None
        Whether the statistic has the flip-sign property exactly; None where nothing is known of it.
    seed : int
        The seed of everything random.
    explanation : str
        How many were found and how many of these are expected to be false, or why none.
    versions : dict of str
        Versions of Python and of the packages that were used.
    cautions : tuple of str
        What was warned of on the way.
    expected_false : float or None
        How many of the selected features are expected to be false, by the selections of responses
        that are simulated on the rows; None where nothing is known of it.
    conditioned : tuple of str
        Columns that were conditioned on; they are never selected.
    target : str or None
        The name of y, where it has one.
    target_kind : str
        What y is, in words: its range, or its classes.
    kept : tuple of str
        Names of features with the largest w that `keep_at_least` keeps although they are not
        selected; nothing bounds the share of false ones among them.
    advice : tuple of str
        What can be done where nothing is selected.
    twins : tuple of pairs of str
        Pairs of features that hardly differ, so that neither tells much once the other is known.
    effects : Effects
        What the features with the largest w do to y. They describe, and have no part in the
        selection.
    feature_groups : dict of str to tuple of str
        The columns of each group of features, which is one feature in `names`; empty without
        groups.
    missing : {"value", "complete"}
        Whether a missing cell is a value of its own, or was filled in first.
    kinds : dict of str to str
        Kinds of columns that were given, not inferred.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import KnockoffSelector
    >>> X = np.random.default_rng(0).normal(size=(400, 12))
    >>> y = X[:, :6].sum(axis=1)
    >>> selector = KnockoffSelector("gaussian", "lasso", fdr=0.2, certify=False, random_state=0)
    >>> selection = selector.fit(X, y).selection_
    >>> len(selection.discoveries) >= 5
    True
    >>> selection.to_frame().columns[:3].tolist()
    ['feature', 'selected', 'w']
    """

    names: tuple[str, ...]
    selected: Flags
    evalues: Array
    frequency: Array
    draws: Array
    thresholds: Array
    fdr: float
    level: float
    offset: int
    task: str
    rows: int
    groups: int | None
    row_handling: RowHandling
    generator: str
    statistic: str
    exact: bool | None
    seed: int
    explanation: str
    versions: dict[str, str]
    cautions: tuple[str, ...] = ()
    expected_false: float | None = None
    conditioned: tuple[str, ...] = ()
    target: str | None = None
    target_kind: str = ""
    kept: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    twins: tuple[tuple[str, str], ...] = ()
    effects: Effects = field(default_factory=Effects)
    feature_groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    missing: MissingHandling = "value"
    kinds: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Frozen means frozen: the arrays too.
        for array in (self.selected, self.evalues, self.frequency, self.draws, self.thresholds):
            array.flags.writeable = False

    def __repr__(self) -> str:
        false = (
            ""
            if self.expected_false is None
            else f", about {self.expected_false:.2g} of them false"
        )
        found = listing(self.discoveries) if self.selected.any() else "none"
        kept = f"; kept without guarantee: {listing(list(self.kept))}" if self.kept else ""
        tested = len(self.names) - len(self.conditioned)
        count = f"{self.selected.sum()} of {tested} features at fdr={self.fdr:g}"
        return f"Selection({found}: {count}{false}{kept})"

    def _repr_html_(self) -> str:
        of = "" if self.target is None else f" of {self.target}"
        said = {effect.feature: effect.said for effect in self.effects}
        found = self.to_frame().query("selected")
        levels = found["smallest_level"].tolist()
        rows = [
            (name, f"{w:.4g}", f"{rounded_up(level):g}", said.get(name, ""))
            for name, w, level in zip(
                found["feature"], found[self.ranked_by].tolist(), levels, strict=True
            )
        ]
        lines = [self.explanation, *(f"→ {step}" for step in self.advice), *self.cautions]
        if self.kept:
            lines.append(f"Kept without any guarantee: {listing(list(self.kept))}.")
        return html_table(
            f"Features that tell{of}",
            lines,
            ("feature", self.ranked_by, "selected from level", "effect"),
            rows,
        )

    @property
    def n_draws(self) -> int:
        return len(self.draws)

    @property
    def w(self) -> Array:
        """The knockoff statistic: one number per feature or, for several draws,
        one row per draw (`draws`).
        """
        return self.draws[0] if self.n_draws == 1 else self.draws

    @property
    def mean_w(self) -> Array:
        """The mean of w over draws, an order to show features in;
        no filter or bound holds for it.
        """
        return self.draws.mean(0)

    @property
    def ranked_by(self) -> str:
        """What the numbers that features are ordered by are called: "w",
        or "mean_w" for several draws.
        """
        return "w" if self.n_draws == 1 else "mean_w"

    @property
    def threshold(self) -> float:
        """The threshold on w of a single draw; `nan` for several draws,
        which are combined by e-values.
        """
        return float(self.thresholds[0]) if self.n_draws == 1 else math.nan

    @property
    def _tested(self) -> Flags:
        return ~np.isin(self.names, self.conditioned)

    @property
    def smallest_levels(self) -> Array:
        """Per feature the smallest level of the filter that selects it;
        1.0 where no level below 1 does.

        A level that is chosen after looking at these bounds nothing; `fdp_bounds` allows that.

        For several draws the smallest level at which e-BH selects it with `evalues` as they are.
        Columns that were conditioned on are not among the features that the filter is given.
        """
        tested = self._tested
        levels = np.ones(len(tested))
        if self.n_draws == 1:
            levels[tested] = smallest_levels(self.draws[0][tested], offset=self.offset)
        else:
            levels[tested] = smallest_evalue_levels(self.evalues[tested])
        return levels

    def fdp_bounds(self, alpha: float = 0.05) -> Array:
        """Bound the false discovery proportion of the k features with the largest (mean) w,
        for all k at once.

        As the function `fdp_bounds`, also for several draws: with probability at least 1 - alpha
        the bounds of all sets of features hold, so that k may be chosen after looking. Columns to
        condition on are left out.
        """
        tested = np.flatnonzero(self._tested)
        order = np.argsort(-self.mean_w[tested], kind="stable")
        return false_in_sets(self.draws[:, tested], order, alpha) / np.arange(1, len(tested) + 1)

    def fdp_bound(self, chosen: ArrayLike, alpha: float = 0.05) -> float:
        """Bound the false discovery proportion of a set, true/false for each of `names`,
        chosen by any means.

        As the function `fdp_bound`, also for several draws: the bounds of all sets hold together
        with probability at least 1 - alpha.
        """
        return bound_of_set(self.draws, chosen, alpha)

    def pfer_select(self, expected_false: int) -> Flags:
        """Select features so that at most so many false ones are expected,
        true/false for each of `names`.

        As the function `pfer_select`, also for several draws; half of them or more then have to
        select a feature (Ren, Wei and Candès 2021).
        """
        return pfer_over_draws(self.draws, expected_false) & self._tested

    @property
    def discoveries(self) -> list[str]:
        """Names of the selected features, those with the largest (mean) w first."""
        return [self.names[j] for j in np.argsort(-self.mean_w, kind="stable") if self.selected[j]]

    def columns_of(self, feature: str) -> tuple[str, ...]:
        """Return the columns of a feature: those of a group, else the feature itself."""
        return self.feature_groups.get(feature, (feature,))

    def worth_describing(self) -> list[int]:
        """Numbers of the features whose effects are described: selected and kept ones,
        and the next few.

        Those with the largest (mean) w come first.
        """
        w = self.mean_w
        order = np.argsort(-w, kind="stable").tolist()
        taken = [j for j in order if self.selected[j] or self.names[j] in self.kept][
            :MOST_DESCRIBED
        ]
        rest = [
            j
            for j in order
            if w[j] > 0 and j not in taken and self.names[j] not in self.conditioned
        ]
        return taken + [j for j in rest if not self.selected[j]][:NEXT_DESCRIBED]

    def to_frame(self) -> pd.DataFrame:
        """One row per tested feature, the largest w first; levels,
        seed and versions are in `.attrs`.

        With several draws the column "w" is "mean_w". With groups of features "columns" says how
        many each has.
        """
        import pandas as pd

        frame = pd.DataFrame(
            {
                "feature": pd.Series(self.names, dtype=object),
                "selected": self.selected,
                self.ranked_by: self.mean_w,
                "threshold": self.threshold,
                "evalue": self.evalues,
                "frequency": self.frequency,
                "smallest_level": self.smallest_levels,
            }
        )
        if self.feature_groups:
            frame.insert(1, "columns", [len(self.columns_of(name)) for name in self.names])
        frame = frame[self._tested]
        frame = frame.sort_values(self.ranked_by, ascending=False, kind="stable", ignore_index=True)
        frame.attrs.update(self.settings())
        return frame

    def plot(self, *, most: int = 30) -> Figure:
        """Draw the largest (mean) w by name, with the threshold; selected features are green,
        kept ones hatched.

        Parameters
        ----------
        most : int, default=30
            Number of features to draw.

        Returns
        -------
        matplotlib Figure
        """
        from knockoffs.runtime.figures import statistics_figure

        check_count("most", most)
        tested = self._tested
        names = [name for name, own in zip(self.names, tested, strict=True) if own]
        return statistics_figure(
            names,
            self.mean_w[tested],
            self.selected[tested],
            self.threshold,
            kept=self.kept,
            most=most,
            label=self.ranked_by,
        )

    def settings(self) -> dict[str, Any]:
        """What the selection was made with, as plain values."""
        return {
            "fdr": self.fdr,
            "offset": self.offset,
            "n_draws": self.n_draws,
            "level": self.level,
            "draw_level": draw_level(self.level, self.n_draws),
            "task": self.task,
            "rows": self.rows,
            "groups": self.groups,
            "row_handling": self.row_handling,
            "target": self.target,
            "target_kind": self.target_kind,
            "features": len(self.names) - len(self.conditioned),
            "feature_groups": {
                name: list(columns) for name, columns in self.feature_groups.items()
            },
            "condition_on": list(self.conditioned),
            "missing": self.missing,
            "kinds": dict(self.kinds),
            "generator": self.generator,
            "statistic": self.statistic,
            "exact": self.exact,
            "seed": self.seed,
            "versions": dict(self.versions),
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values for JSON; a threshold that is not a finite number is None."""
        return {
            "explanation": self.explanation,
            "cautions": list(self.cautions),
            "discoveries": self.discoveries,
            "kept_without_guarantee": list(self.kept),
            "advice": list(self.advice),
            "expected_false": self.expected_false,
            "settings": self.settings(),
            "twins": [list(pair) for pair in self.twins],
            "effects": self.effects.to_dict(),
            "thresholds": [float(t) if math.isfinite(t) else None for t in self.thresholds],
            "features": [
                {
                    "feature": name,
                    **({"columns": list(self.columns_of(name))} if self.feature_groups else {}),
                    "selected": bool(s),
                    self.ranked_by: float(w),
                    "evalue": float(e),
                    "frequency": float(f),
                    "smallest_level": float(level),
                }
                for name, tested, s, w, e, f, level in zip(
                    self.names,
                    self._tested,
                    self.selected,
                    self.mean_w,
                    self.evalues,
                    self.frequency,
                    self.smallest_levels,
                    strict=True,
                )
                if tested
            ],
        }
