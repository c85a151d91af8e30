"""The certificate on the report's page."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import pytest

from knockoffs import GaussianKnockoffs, KnockoffSelector, LassoStatistic
from knockoffs.check.dry_run import Rate
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.report.charts import dry_run_charts
from knockoffs.report.page import render
from knockoffs.report.summary import CHECKED, summarise

from .conftest import finished, standing_out
from .test_page import MADE, NASTY, Tags

RATES = [
    Rate(response, level, fdp, 0.02, power, 0.03, 1.0, fdp)
    for response, fdp, power in (("linear", 0.04, 0.9), ("non-linear", 0.12, 0.5))
    for level in (0.05, 0.1, 0.2)
]


def page_of(selector: KnockoffSelector) -> str:
    return render(summarise(selector), made=MADE)


@pytest.fixture(scope="module")
def broken() -> KnockoffSelector:
    """Shuffled rows as knockoffs of correlated columns, with names that are no HTML."""
    x = AutoregressiveGaussian(features=len(NASTY), rho=0.8).sample(160, random_state=0)
    # never reached: the tests decide
    return finished(standing_out(len(NASTY), 6), x=x, names=NASTY, fdr=0.01)


@pytest.fixture(scope="module")
def calibrated() -> KnockoffSelector:
    x = AutoregressiveGaussian(features=10, rho=0.3).sample(160, random_state=0)
    y = x[:, :5].sum(axis=1) + np.random.default_rng(1).normal(size=160)
    statistic = LassoStatistic(cv=2)
    settings = {"fdr": 0.4, "calibrate": True, "random_state": 0}
    return KnockoffSelector(GaussianKnockoffs(), statistic, **settings).fit(
        pd.DataFrame(x).add_prefix("f"), y
    )


def test_no_certificate_is_said(fitted: KnockoffSelector) -> None:
    few = finished(standing_out(12, 6), rows=99)
    assert summarise(few)["certificate"] is None
    assert (
        "Not checked: the check was switched off, or there are too few rows (100 are needed)"
        in page_of(few)
    )
    assert dry_run_charts(summarise(few)) == []
    assert "Not checked" not in page_of(fitted)


def test_the_verdict_its_reasons_and_advice_are_shown(
    broken: KnockoffSelector, fitted: KnockoffSelector
) -> None:
    for selector, word in ((broken, "Fail"), (fitted, "Pass")):
        page = page_of(selector)
        assert f"<strong>{word}</strong>" in page
        certificate = selector.certificate_
        for sentence in (
            *certificate.reasons,
            *certificate.advice,
            certificate.rule,
            certificate.found.subject,
        ):
            assert (
                str(escape(sentence)).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page
            )


def test_the_summary_holds_the_features_that_differ_most(broken: KnockoffSelector) -> None:
    summary = summarise(broken)
    assert summary["certificate"]["features"] == broken.certificate_.to_dict()["features"][:CHECKED]
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_hostile_names_stay_text(broken: KnockoffSelector) -> None:
    tags = Tags()
    page = page_of(broken)
    tags.feed(page)
    assert tags.open == []
    assert [tag for tag, _ in tags.seen].count("script") == 1
    assert not {"img", "b"} & {tag for tag, _ in tags.seen}
    assert not [name for _, attributes in tags.seen for name in attributes if name.startswith("on")]
    section = page.split("How many discoveries may be false?")[1].split("</section>")[0]
    assert "&lt;script&gt;alert(1)" in section


def test_the_dry_run_is_pictured(calibrated: KnockoffSelector) -> None:
    summary = summarise(calibrated)
    summary["certificate"] = calibrated.certificate_.with_dry_run(RATES).to_dict()
    page = render(summary, made=MADE)
    assert "Dry run: simulated responses of these rows" in page
    charts = dry_run_charts(summary)
    assert [chart.y_label for chart in charts] == ["false discoveries", "power"]
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert f"{calibrated.selection_.level:.3g}" in page
    settings = page.split("<h2>How it was made</h2>")[1]
    assert f"<dt>level</dt><dd>{calibrated.selection_.level}</dd>" in settings


def lines(chart: Any, style: str) -> list[list[tuple[float, float]]]:
    return [
        mark["points"] for mark in chart.marks if mark["kind"] == "line" and mark["style"] == style
    ]


def test_lines_of_the_dry_run_are_where_the_rates_are(fitted: KnockoffSelector) -> None:
    certificate = fitted.certificate_.with_dry_run(RATES).to_dict()
    false, power = dry_run_charts({"certificate": certificate})
    for chart, style, first in (
        (false, "data", 0.04),
        (false, "knockoffs", 0.12),
        (power, "data", 0.9),
    ):
        (points,) = lines(chart, style)
        assert len(points) == 3
        assert [x for x, _ in points] == sorted(x for x, _ in points)
        assert len({round(y, 6) for _, y in points}) == 1, first
    ((_, bottom), (_, top)) = lines(false, "threshold")[0]
    at = {style: lines(false, style)[0][0][1] for style in ("data", "knockoffs")}
    assert (bottom - at["data"]) / (bottom - top) == pytest.approx(0.04 / 0.2)
    assert (bottom - at["knockoffs"]) / (bottom - top) == pytest.approx(0.12 / 0.2)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_extreme_rates_stay_in_the_picture(fitted: KnockoffSelector, rate: float) -> None:
    rates = [Rate("linear", level, rate, 0.0, rate, 0.0, 1.0, rate) for level in (0.1, 0.9)]
    for chart in dry_run_charts({"certificate": fitted.certificate_.with_dry_run(rates).to_dict()}):
        for mark in chart.marks:
            for x, y in mark.get("points", []):
                assert chart.left - 1 <= x <= chart.right + 1
                assert chart.top - 1 <= y <= chart.bottom + 1


def test_one_kind_of_response_draws_one_line(fitted: KnockoffSelector) -> None:
    """Fewer than eight columns have no non-linear response, and the page must not speak of one."""
    summary = summarise(fitted)
    summary["certificate"] = fitted.certificate_.with_dry_run(RATES[:3]).to_dict()
    for chart in dry_run_charts(summary):
        assert all(points for style in ("data", "knockoffs") for points in lines(chart, style))
    assert "non-linear response" not in render(summary, made=MADE)


def test_copied_features_are_called_copies(fitted: KnockoffSelector) -> None:
    x = np.random.default_rng(0).normal(size=(120, 4))
    selector = finished(standing_out(4, 2), x=np.column_stack([x[:, :3], np.ones(120)]))
    (copied,) = [row for row in summarise(selector)["certificate"]["features"] if row["copied"]]
    assert copied["feature"] == "f3"
    assert "<td>f3</td><td>copy</td>" in page_of(selector)
