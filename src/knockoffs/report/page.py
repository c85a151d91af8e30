"""The report of a selection as one HTML file: no network,
nothing that a column's name could run.
"""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from knockoffs.report.axes import Axis
from knockoffs.report.charts import draw
from knockoffs.report.summary import columns_read, summarise, summarise_selection
from knockoffs.runtime.outputs import write_atomically
from knockoffs.selection.result import Selection
from knockoffs.selection.selector import KnockoffSelector
from knockoffs.targets.base import Target
from knockoffs.targets.registry import TARGETS

if TYPE_CHECKING:  # it brings torch
    from knockoffs.pvalues import RandomizationTest


def write_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    target_name: str | None = None,
    source_name: str | None = None,
) -> None:
    """Write what was found, and why, as one HTML page.

    Parameters
    ----------
    result : KnockoffSelector, Pipeline or Selection
        A fitted selector, a fitted pipeline with one among its steps, or a selection alone, which
        knows nothing of the check of the knockoffs nor of what they look like.
    path : str or path
        Where to write the page.
    title : str, default=None
        The headline of the page.
    target_name : str, default=None
        What y is called; by default the name of the series that was passed as y.
    source_name : str, default=None
        Where the table came from, such as the name of its file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from knockoffs import KnockoffSelector
    >>> from knockoffs.datasets import make_patients
    >>> X, y, _ = make_patients(rows=150, random_state=0)
    >>> selector = KnockoffSelector("gaussian", "lasso", fdr=0.3, certify=False, random_state=0)
    >>> selector = selector.fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(selector, path, title="Days in hospital")
    >>> "Days in hospital" in path.read_text(encoding="utf-8")
    True
    """
    selector = None if isinstance(result, Selection) else _fitted_selector(result)
    selection = result if selector is None else selector.selection_
    if target_name is not None:
        selection = replace(selection, target=target_name)
    summary = summarise_selection(selection) if selector is None else summarise(selector, selection)
    write_atomically(path, render(summary | {"source": source_name, "title": title}).encode())


def _fitted_selector(result: Any) -> KnockoffSelector:
    """Return the selector, also where it is a step of a pipeline;
    refuse what has not been fitted.
    """
    steps = [step for _, step in result.steps] if isinstance(result, Pipeline) else [result]
    selectors = [step for step in steps if isinstance(step, KnockoffSelector)]
    # by its name: the class brings torch
    if not selectors and type(steps[-1]).__name__ == "RandomizationTest":
        raise ValueError(
            "write_report: this is a RandomizationTest, whose page has another function. Pass it "
            "to "
            "knockoffs.write_test_report."
        )
    if not selectors:
        raise ValueError(
            f"write_report: {type(result).__name__} is not valid: pass a fitted KnockoffSelector, "
            f"a pipeline with "
            "one, or a Selection."
        )
    check_is_fitted(selectors[-1], "selection_")
    return selectors[-1]


def render(summary: dict[str, Any], *, made: datetime | None = None) -> str:
    """Return the page of a summary."""
    task = summary["settings"]["task"]  # that of a statistic by others may be none of ours
    return filled_in(
        "report.html.j2",
        made=made,
        summary=summary,
        charts=draw(summary),
        kind_of_target=TARGETS.get(task, Target),
        title=summary.get("title"),
    )


LOADER = PackageLoader("knockoffs.report")


def filled_in(template: str, *, made: datetime | None = None, **content: Any) -> str:
    """Fill in a template. All texts of the data are escaped; the one script is pinned by its hash.

    Parameters
    ----------
    template : str
        The name of the template.
    made : datetime, default=None
        When the page was made; now by default.
    **content : object
        What the template shows, by the names that it has there.
    """
    environment = Environment(
        loader=LOADER,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script, style = (
        LOADER.get_source(environment, name)[0] for name in ("report.js", "report.css")
    )
    return environment.get_template(template).render(
        content,
        script=Markup(script),
        style=Markup(style),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        made=(made or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC"),
    )


MOST_EFFECTS = 40
ENDS = ("effect_low", "effect", "effect_high")  # of an interval, and what is between them
ROW = 24  # pixels of one feature
LEFT, RIGHT, TOP, BOTTOM = 250, 150, 18, 44
WIDTH = 880


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
    >>> test = RandomizationTest(JointDensity(epochs=1), resamples=200, random_state=0)
    >>> test = test.fit(X, X[:, 0] > 0)
    >>> path = Path(tempfile.mkdtemp()) / "tests.html"
    >>> write_test_report(test, path)
    >>> path.exists()
    True
    """
    check_is_fitted(test, "result_")
    summary = test.result_.to_dict() | {
        "columns_read": columns_read(test.schema_),
        "source": source_name,
    }
    write_atomically(
        path, filled_in("tests.html.j2", summary=summary, forest=forest(summary)).encode()
    )


def forest(summary: dict[str, Any]) -> dict[str, Any]:
    """Place a forest plot: effects with their intervals, those with the smallest p-values first."""
    features = summary["features"][:MOST_EFFECTS]
    reached = [f[end] for f in features for end in (ENDS[0], ENDS[-1]) if f[end] is not None]
    low, high = (min(0.0, *reached), max(0.0, *reached)) if reached else (-1, 1)
    x = Axis(low, high, LEFT, WIDTH - RIGHT)
    lines = [
        {
            "label": f["feature"]
            + (f" ({f['effect_towards']})" if f.get("effect_towards") else ""),
            "note": f"p = {f['p']:.2g}",
            "y": TOP + (k + 0.5) * ROW,
            "ends": [None if f[end] is None else x(f[end]) for end in ENDS],
            "selected": f["selected"],
        }
        for k, f in enumerate(features)
    ]
    return {
        "width": WIDTH,
        "bottom": TOP + ROW * len(lines),
        "height": TOP + ROW * len(lines) + BOTTOM,
        "zero": x(0.0),
        "ticks": x.ticks(),
        "lines": lines,
        "left_out": len(summary["features"]) - len(features),
    }
