"""The result of a knockoff selection: what was found, and everything needed to find it again."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from knockoffs.arrays import Array, Flags
from knockoffs.filtering import draw_level

if TYPE_CHECKING:
    import pandas as pd


RowHandling = Literal["independent", "groups modelled", "groups ignored by the generator"]
UNBOUNDED: RowHandling = "groups ignored by the generator"  # false discoveries are then not bounded


@dataclass(frozen=True, eq=False)
class Selection:
    """A finished selection.

    names : the features, in the order of the table; all arrays follow it.
    selected : which of them are discoveries.
    w : the knockoff statistic (the mean over draws where there are several).
    evalues, frequency : mean e-value; share of draws in which the filter alone selects the feature.
    draws : w of each knockoff draw, `[n_draws, features]`.
    thresholds : the threshold of each draw at `draw_level` (half of `fdr` with several draws); `inf` where nothing
        qualifies.
    explanation : one sentence: how many were found, or why none.
    level : the level of the filter: `fdr`, or less where `calibrate=True` lowered it.
    groups : number of groups of rows that belong together; None where rows are independent of each other.
    row_handling : how dependence between rows was dealt with; nothing is bounded where the generator ignored it.
    cautions : what was warned of on the way.
    """

    names: tuple[str, ...]
    selected: Flags
    w: Array
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

    def __post_init__(self) -> None:
        # Frozen means frozen: the arrays too.
        for array in (self.selected, self.w, self.evalues, self.frequency, self.draws, self.thresholds):
            array.flags.writeable = False

    @property
    def n_draws(self) -> int:
        return len(self.draws)

    @property
    def threshold(self) -> float:
        """The threshold on w of a single draw; `nan` for several draws, which are combined by e-values."""
        return float(self.thresholds[0]) if self.n_draws == 1 else math.nan

    @property
    def discoveries(self) -> list[str]:
        """Names of the selected features, those with the largest w first."""
        return [self.names[j] for j in np.argsort(-self.w, kind="stable") if self.selected[j]]

    def to_frame(self) -> pd.DataFrame:
        """One row a feature, the largest w first; levels, seed and versions are in `.attrs`."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "feature": pd.Series(self.names, dtype=object),
                "selected": self.selected,
                "w": self.w,
                "threshold": self.threshold,
                "evalue": self.evalues,
                "frequency": self.frequency,
            }
        )
        frame = frame.sort_values("w", ascending=False, kind="stable", ignore_index=True)
        frame.attrs.update(self.settings())
        return frame

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
            "features": len(self.names),
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
            "settings": self.settings(),
            "thresholds": [float(t) if math.isfinite(t) else None for t in self.thresholds],
            "features": [
                {"feature": name, "selected": bool(s), "w": float(w), "evalue": float(e), "frequency": float(f)}
                for name, s, w, e, f in zip(
                    self.names, self.selected, self.w, self.evalues, self.frequency, strict=True
                )
            ],
        }


def versions_in_use() -> dict[str, str]:
    packages = ("knockoffs", "numpy", "scikit-learn", "torch")
    return {"python": platform.python_version()} | {package: version(package) for package in packages}
