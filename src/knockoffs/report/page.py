"""The report of a selection as one HTML file."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from knockoffs.report.charts import draw
from knockoffs.report.summary import summarise, summarise_selection
from knockoffs.report.template import filled_in
from knockoffs.runtime.outputs import write_atomically
from knockoffs.selection.result import Selection
from knockoffs.selection.selector import KnockoffSelector


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
        A fitted selector, a fitted pipeline with one among its steps, or a selection alone, which knows nothing of
        the check of the knockoffs nor of what they look like.
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
    >>> selector = KnockoffSelector("gaussian", "lasso", fdr=0.3, certify=False, random_state=0).fit(X, y)
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
    """Return the selector, also where it is a step of a pipeline; refuse what has not been fitted."""
    steps = [step for _, step in result.steps] if isinstance(result, Pipeline) else [result]
    selectors = [step for step in steps if isinstance(step, KnockoffSelector)]
    if not selectors and type(steps[-1]).__name__ == "RandomizationTest":  # by its name: the class brings torch
        raise ValueError(
            "write_report: this is a RandomizationTest, whose page has another function. Pass it to "
            "knockoffs.write_test_report."
        )
    if not selectors:
        raise ValueError(
            f"write_report: {type(result).__name__} is not valid: pass a fitted KnockoffSelector, a pipeline with "
            "one, or a Selection."
        )
    check_is_fitted(selectors[-1], "selection_")
    return selectors[-1]


def render(summary: dict[str, Any], *, made: datetime | None = None) -> str:
    """Return the page of a summary."""
    content = {"summary": summary, "charts": draw(summary), "title": summary.get("title")}
    return filled_in("report.html.j2", made=made, **content)
