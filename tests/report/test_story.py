"""The report in the order of a reader's questions, and each thing that readers stumbled over."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from knockoffs import (
    GaussianKnockoffs,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    write_report,
)
from knockoffs.check.joint_tests import Divergence
from knockoffs.report.axes import Axis
from knockoffs.report.charts import effect_charts
from knockoffs.report.page import render
from knockoffs.report.summary import answer, marginals, nearly_selected, pairs, remark, summarise

from .conftest import finished, standing_out
from .test_charts import require_inside
from .test_page import MADE, Shown, browser, require_readable, show  # noqa: F401 (fixtures)
from .test_pictured import pictured

QUESTIONS = [
    "What was asked",
    "What was found",
    "What each discovery does",
    "Why not the others?",
    "How far to trust it",
    "How it was made",
]


@pytest.fixture(scope="module")
def clinic() -> KnockoffSelector:
    """Patients with gaps, levels, a skewed cost and a twin of a column; three classes."""
    rng = np.random.default_rng(0)
    rows = 400
    table = pd.DataFrame(rng.normal(size=(rows, 14)), columns=[f"marker {j}" for j in range(14)])
    score = table.iloc[:, :8].sum(axis=1) + rng.logistic(size=rows)
    table["cost"] = np.exp(3 + 1.5 * table.pop("marker 0"))
    table["ward"] = np.where(table.pop("marker 1") > 0, "<b>surgery</b>", "medicine")
    table["visits"] = np.rint(2 * table.pop("marker 2") + 5).clip(0)
    table["marker 3"] = table["marker 3"].mask(rng.random(rows) < 0.2)
    table["marker 4 again"] = table["marker 4"] + 0.01 * rng.normal(size=rows)
    y = pd.Series(
        np.array(["mild", "moderate", "severe"])[np.digitize(score, [-2, 2])], name="grade"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        return KnockoffSelector(GaussianKnockoffs(), LassoStatistic(), fdr=0.3, random_state=0).fit(
            table, y
        )


def with_certificate(fitted: KnockoffSelector, **changes: Any) -> dict[str, Any]:
    """The summary with another certificate."""
    summary = summarise(fitted)
    certificate = summary["certificate"] | changes
    return summary | {"certificate": certificate, "answer": answer(summary, certificate)}


# the story


def test_sections_follow_the_questions(clinic: KnockoffSelector) -> None:
    assert re.findall("<h2>(.*?)</h2>", render(summarise(clinic), made=MADE)) == QUESTIONS


def test_what_was_asked_names_target_file_rows_and_columns(
    clinic: KnockoffSelector, tmp_path: Any
) -> None:
    path = tmp_path / "report.html"
    write_report(clinic, path, source_name="clinic.csv")
    asked = path.read_text(encoding="utf-8").split("<h2>What was asked</h2>")[1].split("<h2>")[0]
    assert "grade, 3 classes: mild (" in asked
    assert "clinic.csv" in asked
    assert "<dt>rows</dt><dd>400</dd>" in asked
    assert "13 continuous, " in asked
    assert "of the cells are missing, in 1 of the columns" in asked


@pytest.mark.parametrize(
    ("verdict", "said"),
    [("pass", "passed"), ("warn", "warns: a reason"), ("fail", "failed, so do not rely")],
)
def test_the_verdict_is_in_the_sentence_of_the_answer(
    fitted: KnockoffSelector, verdict: str, said: str
) -> None:
    summary = with_certificate(fitted, verdict=verdict, reasons=["a reason"])
    page = render(summary, made=MADE)
    (sentence,) = re.findall(r'<div class="answer[^>]*>\s*<p><strong>(.*?)</strong>', page)
    found = len(fitted.selection_.discoveries)
    assert sentence.startswith(
        f"{found} of 20 features tell something about the target that the others do not"
    )
    assert "of these to be false (you accepted " in sentence
    assert f"The check of the knockoffs {said}" in sentence


@pytest.mark.parametrize("validity", ["warn", "fail"])
def test_sentences_are_apart(fitted: KnockoffSelector, validity: str) -> None:
    """A line that begins with a condition joins the line before:
    'nor about cause.The check ...'.
    """
    page = render(with_certificate(fitted, verdict=validity, validity=validity), made=MADE)
    text = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    assert re.findall(r"[a-z]{2}\.(?:<strong>)?[A-Z][a-z]+ [a-z]+", text) == []


def test_more_false_ones_than_accepted_are_explained_as_in_the_selection(
    fitted: KnockoffSelector,
) -> None:
    """2.5 to expect, 1.5 accepted and a check that passed: a contradiction,
    but for answers that are empty.
    """
    summary = with_certificate(fitted)
    settings, certificate = summary["settings"], summary["certificate"]
    fdr, found = settings["fdr"], len(summary["discoveries"])
    summary["expected_false"] = 2 * fdr * found
    expected = certificate["expected"] | {"fdp": fdr, "selecting": 0.25}
    explained = "on average over all answers, of which 75% are empty for simulated responses)"
    assert explained in answer(summary, certificate | {"expected": expected})
    over = expected | {"fdp": 2 * fdr}  # the level does not hold
    assert "on average)" in answer(summary, certificate | {"expected": over})
    assert "on average)" in answer(summary, None)
    # of which the certificate says nothing
    calibrated = summary | {"settings": settings | {"level": fdr / 2}}
    assert "on average)" in answer(calibrated, certificate | {"expected": expected})


def test_another_target_name_reaches_every_sentence(
    fitted: KnockoffSelector, tmp_path: Any
) -> None:
    write_report(fitted, tmp_path / "report.html", target_name="survival & cure")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "features tell something about survival &amp; cure that the others do not" in page
    assert "the target that the others" not in page


# what discoveries do


def test_every_discovery_has_its_pictures_and_a_sentence(
    show: Callable[..., Shown],  # noqa: F811
    clinic: KnockoffSelector,
) -> None:
    shown = show(clinic)
    discoveries = clinic.selection_.discoveries
    figures = shown.page.locator("#effects figure")
    assert figures.count() == len(discoveries)
    assert figures.locator("figcaption strong").all_text_contents() == discoveries
    assert figures.first.locator("svg").count() == 3  # one for each class
    assert "share of mild" in figures.first.text_content()
    assert shown.page.locator("#effects svg polyline.knockoffs").count() > 0
    require_readable(shown)


def test_w_of_a_lasso_is_not_said_to_be_a_gain_in_prediction(clinic: KnockoffSelector) -> None:
    """A difference of coefficients compares no predictions:
    what is said of w must hold for every statistic.
    """
    page = " ".join(render(summarise(clinic), made=MADE).split())
    assert (
        "w is how much more the model gives to the feature than to its knockoff; its unit depends"
        in page
    )
    assert "predicts with the feature" not in page


@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_cut_on_a_phone(
    show: Callable[..., Shown],  # noqa: F811
    clinic: KnockoffSelector,
    width: int,
) -> None:
    shown = show(clinic, viewport={"width": width, "height": 800})
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    ends = shown.page.eval_on_selector_all(
        "svg", "all => all.map(svg => svg.getBoundingClientRect().right)"
    )
    assert max(ends) <= width
    hidden = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.className)"
    assert shown.page.eval_on_selector_all("div, section, figure, table", hidden) == []


def test_pictures_of_effects_are_to_scale(clinic: KnockoffSelector) -> None:
    effects = {effect["feature"]: effect for effect in summarise(clinic)["effects"]["each"]}
    for effect in effects.values():
        for chart, curve in zip(effect_charts(effect, "grade"), effect["curves"], strict=True):
            require_inside(chart)
            assert chart.title == f"share of {curve['of']}"
    chart, *_ = effect_charts(effects["ward"], "grade")
    (levels,) = (mark for mark in chart.marks if mark["kind"] == "levels")
    # escaped by the template
    assert [row["label"] for row in levels["rows"]] == ["<b>surgery</b>", "medicine"]
    gaps = effect_charts(effects["marker 3"], "grade")[0]
    assert gaps.x_ticks[-1][1] == "missing"


# why not the others


def test_others_are_told_with_their_level_and_reason() -> None:
    features = [
        {"feature": "in", "selected": True, "w": 3.0, "smallest_level": 0.1},
        {"feature": "near", "selected": False, "w": 1.0, "smallest_level": 0.15},
        {"feature": "far", "selected": False, "w": 0.5, "smallest_level": 0.5},
        {"feature": "twin", "selected": False, "w": 0.0, "smallest_level": 1.0},
        {"feature": "below", "selected": False, "w": -1.0, "smallest_level": 1.0},
        {"feature": "age", "selected": False, "w": 0.0, "smallest_level": 1.0},
        {"feature": "idle", "selected": False, "w": 0.0, "smallest_level": 1.0},
    ]
    settings = {"fdr": 0.1, "condition_on": ["age"]}
    found: dict[str, Any] = {"settings": settings, "features": features, "twins": [["in", "twin"]]}
    found["kept_without_guarantee"] = []
    assert nearly_selected(found) == [{"feature": "near", "level": 0.15}]
    assert [remark(feature, found) for feature in features] == [
        "",
        "",
        "",
        "hardly differs from in",
        "its knockoff tells more",
        "conditioned on, not tested",
        "no different from its knockoff",
    ]


def test_twins_and_nearly_selected_features_are_named(clinic: KnockoffSelector) -> None:
    assert ("marker 4", "marker 4 again") in clinic.selection_.twins
    page = render(summarise(clinic), made=MADE)
    assert "marker 4 and marker 4 again" in page
    summary = summarise(finished(standing_out(30, 8), fdr=0.12))
    assert summary["discoveries"] == []
    names = [f["feature"] for f in summary["nearly"]]
    assert set(names) >= {f"f{j}" for j in range(8)}
    assert f"{names[0]} (" in render(summary, made=MADE).split("Nearly selected")[1]


def test_an_empty_selection_convinces_and_goes_on(show: Callable[..., Shown]) -> None:  # noqa: F811
    """Eleven of seventeen above zero do not suffice where six are below."""
    w = np.concatenate([np.linspace(1, 0.1, 11), -np.linspace(0.75, 0.05, 6)])
    shown = show(finished(w, fdr=0.1))
    said = shown.page.locator(".answer").text_content()
    assert "11 of 17 have w > 0. 6 have w < 0" in said
    assert "about 6 of the 11 may be there by chance" in said
    standing = int((w > 0.75).sum())
    assert f"{standing} of them stand out, further above zero than any feature is below" in said
    steps = shown.page.locator(".answer .next li").all_text_contents()
    assert steps[0].startswith("A higher level: fdr=")
    assert steps[1].startswith("p-values (`knockoffs test`, or RandomizationTest in Python)")


# pictures suit the data


def test_skewed_columns_get_a_logarithmic_axis_and_few_values_are_moved_apart() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "cost": np.exp(rng.normal(5, 2, size=200)),
            "visits": rng.poisson(30, size=200),
            "height": rng.normal(170, 10, size=200),
            "grade": rng.integers(1, 5, size=200),
        }
    )
    found = {
        marginal["feature"]: marginal
        for marginal in marginals(pictured(table), list(table.columns))
    }
    assert found["cost"]["log"]
    assert not found["height"]["log"]
    months = pd.DataFrame({"stay": np.rint(np.exp(rng.normal(3, 1.5, size=200))) + 1})
    (stay,) = marginals(pictured(months), ["stay"])
    assert stay["log"]
    assert sum(stay["data"]) == 200
    assert found["grade"]["levels"] == ["1", "2", "3", "4"]
    edges = found["visits"]["edges"]
    assert np.ptp(np.diff(edges)) == 0  # each bin has as many whole numbers
    assert np.all(np.mod(edges, 1) == 0.5)
    (first, second) = pairs(pictured(table), list(table.columns))
    assert first["log"] == [True, False]
    moved = np.array(second["data"][1])
    np.testing.assert_array_equal(np.rint(moved), table["grade"])
    assert len(np.unique(moved)) == 200


def test_what_is_folded_is_printed(show: Callable[..., Shown], fitted: KnockoffSelector) -> None:  # noqa: F811
    shown = show(fitted)
    assert not shown.page.locator("#made dl").is_visible()
    shown.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert shown.page.locator("#made dl").is_visible()


def test_a_logarithmic_axis_keeps_ratios() -> None:
    axis = Axis(1, 1000, 0, 300, log=True)
    assert [axis(value) for value in (1, 10, 100, 1000)] == [0, 100, 200, 300]
    assert axis.ticks() == [(0, "1"), (100, "10"), (200, "100"), (300, "1000")]


@pytest.mark.parametrize(
    ("total", "error", "telling"),
    [
        (0.02, 0.01, True),
        (0.3, 0.2, True),
        (9.0, 1.0, True),
        (-680, 688, False),
        (2000, 900, False),
        (-5, 0.4, False),
    ],
)
def test_a_divergence_that_says_nothing_is_not_shown(
    fitted: KnockoffSelector, total: float, error: float, telling: bool
) -> None:
    nothing = np.zeros(20)
    assert Divergence(total, error, nothing, nothing, nothing).telling is telling
    values = {"total": total, "standard_error": error, "telling": telling, "worst_swap": []}
    assert (
        "Swap divergence" in render(with_certificate(fitted, divergence=values), made=MADE)
    ) is telling


def test_a_page_says_that_a_level_chosen_from_it_bounds_nothing() -> None:
    """Also where none is nearly selected: every row of the table has the level at which it
    enters.
    """
    found = finished([3.0, 2.5, 2.0, 1.5, -1.0, 0.0, -3.0])
    assert not summarise(found)["nearly"]
    said = " ".join(render(summarise(found)).split())
    assert "A level that is chosen after looking at these bounds nothing." in said


def test_a_page_says_what_acts_like_another_seed() -> None:
    said = " ".join(render(summarise(finished([3.0, 2.0, -1.0]))).split())
    assert (
        "Another order of the columns or of levels, or another sign of a column, acts like another"
        in said
    )
