"""The report of a randomisation test: p-values and a forest plot of effects as one HTML file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sklearn.utils.validation import check_is_fitted

from knockoffs.pvalues import RandomizationTest
from knockoffs.report.axes import Axis
from knockoffs.report.feature_pictures import columns_read
from knockoffs.report.page import filled_in
from knockoffs.runtime.outputs import write_atomically

MOST_EFFECTS = 40
ROW = 24  # pixels of one feature
LEFT, RIGHT, TOP, BOTTOM = 250, 150, 18, 44
WIDTH = 880


@dataclass(frozen=True, slots=True)
class Interval:
    """One line of a forest plot, in pixels; `low`, `middle` and `high` are None without a direction."""

    label: str
    note: str
    y: float
    low: float | None
    middle: float | None
    high: float | None
    selected: bool


@dataclass(frozen=True, slots=True)
class Forest:
    """A forest plot: effects with their intervals, the smallest p-value first."""

    width: int
    height: int
    zero: float
    ticks: list[tuple[float, str]]
    lines: list[Interval]
    left_out: int

    @property
    def bottom(self) -> int:
        return self.height - BOTTOM


def write_test_report(
    test: RandomizationTest, path: str | os.PathLike[str], *, source_name: str | None = None
) -> None:
    """Write what a fitted randomisation test found as one HTML page.

    Parameters
    ----------
    test : RandomizationTest
        The fitted test.
    path : str or path
        Where to write the page.
    source_name : str, default=None
        Where the table came from, such as the name of its file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from knockoffs import JointDensity, RandomizationTest
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> test = RandomizationTest(JointDensity(epochs=1), resamples=200, random_state=0).fit(X, X[:, 0] > 0)
    >>> path = Path(tempfile.mkdtemp()) / "tests.html"
    >>> write_test_report(test, path)
    >>> path.exists()
    True
    """
    check_is_fitted(test, "result_")
    summary = test.result_.to_dict() | {"columns_read": columns_read(test.schema_), "source": source_name}
    write_atomically(path, render_tests(summary).encode())


def forest(summary: dict[str, Any]) -> Forest:
    """Place the effects of the features with the smallest p-values."""
    features = summary["features"][:MOST_EFFECTS]
    ends = [f[end] for f in features for end in ("effect_low", "effect_high") if f[end] is not None]
    x = Axis(min(0.0, *ends), max(0.0, *ends), LEFT, WIDTH - RIGHT) if ends else Axis(-1, 1, LEFT, WIDTH - RIGHT)
    lines = [
        Interval(
            label=f["feature"] + (f" ({f['effect_towards']})" if f.get("effect_towards") else ""),
            note=f"p = {f['p']:.2g}",
            y=TOP + (k + 0.5) * ROW,
            **{
                name: None if f[key] is None else x(f[key])
                for name, key in (("low", "effect_low"), ("middle", "effect"), ("high", "effect_high"))
            },
            selected=f["selected"],
        )
        for k, f in enumerate(features)
    ]
    height = TOP + ROW * len(lines) + BOTTOM
    return Forest(WIDTH, height, x(0.0), x.ticks(), lines, len(summary["features"]) - len(features))


def render_tests(summary: dict[str, Any], *, made: datetime | None = None) -> str:
    """Return the page of a summary."""
    return filled_in("tests.html.j2", made=made, summary=summary, forest=forest(summary))
