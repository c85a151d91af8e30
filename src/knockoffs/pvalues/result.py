"""The result of a randomisation test: p-values, effects,
and everything needed to find them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from knockoffs.pvalues.corrections import WHAT_IS_BOUNDED, Correction
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.typed_json import plain

if TYPE_CHECKING:
    import pandas as pd

INTERVAL = 1.96  # standard errors on either side of an effect


@dataclass(frozen=True, eq=False)
class RandomizationResult:
    """A finished randomisation test.

    Attributes
    ----------
    names : tuple of str
        The features, in the order of the table; all arrays follow it.
    pvalues : array
        Per feature the p-value of the hypothesis that y does not depend on it given all other
        features; 1 for features that are `copies`, nan for those that were conditioned on.
    adjusted : array
        p-values after the correction for many tests, to compare with `level`.
    selected : array of bool
        Which features are discoveries.
    effects, errors : arrays
        What y changes by per standard deviation of the feature while all others stay as they are,
        as `effect_meaning` says, and the standard error of this; nan where there is no direction.
    strengths : array
        Share of what the other features leave of y that the feature explains, by any curve.
    resamples : array of int
        How many redraws each p-value took.
    copies : array of bool
        Features that are constant, duplicates, or determined by others: they cannot be tested.
    conditioned : array of bool
        Features that were conditioned on: used by all models, and not tested.
    effective : array
        Mean effective number of places that the redraws of a feature come from; see
        `FeatureConditional`.
    target, target_kind : str or None, str
        The name of y, where it has one, and what it is, in words.
    effect_meaning : str
        A sentence: what effects are, and what their sign means.
    towards : tuple of str
        Per feature the level that a positive effect speaks for, where a feature has two levels in
        words.
    advice : tuple of str
        What can be done where nothing is a discovery.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import JointDensity, RandomizationTest
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> test = RandomizationTest(JointDensity(epochs=1), resamples=200, random_state=0)
    >>> test = test.fit(X, X[:, 0] > 0)
    >>> result = test.result_
    >>> result.selected.tolist(), result.rows
    ([True, False, False], 100)
    """

    names: tuple[str, ...]
    pvalues: Array
    adjusted: Array
    selected: Flags
    effects: Array
    errors: Array
    strengths: Array
    resamples: Indices
    copies: Flags
    conditioned: Flags
    effective: Array
    level: float
    correction: Correction
    variant: str
    most_resamples: int
    task: str
    rows: int
    density: str
    statistic: str
    seed: int
    explanation: str
    versions: dict[str, str]
    cautions: tuple[str, ...] = ()
    target: str | None = None
    target_kind: str = ""
    effect_meaning: str = ""
    towards: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Frozen means frozen: the arrays too.
        for array in (
            self.pvalues,
            self.adjusted,
            self.selected,
            self.effects,
            self.errors,
            self.strengths,
        ):
            array.flags.writeable = False
        for array in (self.resamples, self.copies, self.conditioned, self.effective):
            array.flags.writeable = False

    @property
    def order(self) -> Indices:
        """Numbers of the tested features: the smallest p-value first,
        of equal ones the strongest.
        """
        tested = np.flatnonzero(~self.conditioned)
        return tested[np.lexsort((-self.strengths[tested], self.pvalues[tested]))]

    @property
    def discoveries(self) -> list[str]:
        """Names of the selected features, those with the smallest p-values first."""
        return [self.names[j] for j in self.order if self.selected[j]]

    def to_frame(self) -> pd.DataFrame:
        """One row per tested feature, the smallest p-value first; settings are in `.attrs`.

        Where features have two levels in words, "effect_towards" names the one that a positive
        effect speaks for.
        """
        import pandas as pd

        order = self.order
        frame = pd.DataFrame(
            {
                "feature": pd.Series([self.names[j] for j in order], dtype=object),
                "selected": self.selected[order],
                "p": self.pvalues[order],
                "adjusted_p": self.adjusted[order],
                "effect": self.effects[order],
                "effect_low": (self.effects - INTERVAL * self.errors)[order],
                "effect_high": (self.effects + INTERVAL * self.errors)[order],
                "strength": self.strengths[order],
                "resamples": self.resamples[order],
            }
        )
        if any(self.towards):
            frame.insert(
                5, "effect_towards", pd.Series([self.towards[j] for j in order], dtype=object)
            )
        frame.attrs.update(self.settings())
        return frame

    def settings(self) -> dict[str, Any]:
        """What the test was made with, as plain values."""
        return {
            "level": self.level,
            "correction": self.correction,
            "bounded": WHAT_IS_BOUNDED[self.correction],
            "variant": self.variant,
            "resamples": self.most_resamples,
            "target": self.target,
            "target_kind": self.target_kind,
            "effect": self.effect_meaning,
            "task": self.task,
            "rows": self.rows,
            "features": int((~self.conditioned).sum()),
            "condition_on": [self.names[j] for j in np.flatnonzero(self.conditioned)],
            "copies": [self.names[j] for j in np.flatnonzero(self.copies)],
            "density": self.density,
            "statistic": self.statistic,
            "seed": self.seed,
            "versions": dict(self.versions),
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values for JSON; a number that does not exist is None."""
        return {
            "explanation": self.explanation,
            "cautions": list(self.cautions),
            "discoveries": self.discoveries,
            "advice": list(self.advice),
            "settings": self.settings(),
            "features": plain(self.to_frame().to_dict(orient="records")),
        }
