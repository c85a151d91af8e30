"""Where things go in the pictures: inside the frame, in proportion, and one mark for each thing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from knockoffs import KnockoffSelector
from knockoffs.density.training import History
from knockoffs.report.axes import Axis, Chart, nice_numbers
from knockoffs.report.charts import (
    MOST_FREQUENCIES,
    draw,
    fdp_chart,
    frequency_charts,
    marginal_chart,
    pair_chart,
    statistics_chart,
    training_chart,
)
from knockoffs.report.summary import summarise

from .conftest import finished, standing_out

PIXEL = 0.05  # positions have one decimal
NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-9)
WS = st.lists(NUMBERS, min_size=1, max_size=40)


def places(chart: Chart) -> Iterator[tuple[float, float]]:
    """Every place that a mark takes; lines across the frame are there by their middle."""
    middle_x, middle_y = (chart.left + chart.right) / 2, (chart.top + chart.bottom) / 2
    for mark in chart.marks:
        match mark["kind"]:
            case "level":
                yield middle_x, mark["y"]
            case "rule":
                yield mark["x"], middle_y
            case "line" | "cloud" | "band":
                yield from mark["points"]
            case "dots":
                yield from ((p["x"], p["y"]) for p in mark["points"])
            case "bars" | "histogram" | "levels":
                for bar in mark["bars"]:
                    assert bar["width"] >= 0
                    assert bar["height"] >= 0
                    yield bar["x"], bar["y"]
                    yield bar["x"] + bar["width"], bar["y"] + bar["height"]
            case "whiskers":
                for x1, y1, x2, y2 in mark["lines"]:
                    yield x1, y1
                    yield x2, y2
            case kind:
                raise AssertionError(f"unknown mark {kind}")


def all_charts(summary: dict[str, Any]) -> list[Chart]:
    drawn = draw(summary)
    effects = [chart for charts in drawn.pop("effects") for chart in charts]
    return effects + [chart for charts in drawn.values() for chart in charts]


def require_inside(chart: Chart) -> None:
    """Between the axes; a picture without a vertical axis may use all its width."""
    left, right = (chart.left, chart.right) if chart.y_ticks else (0, chart.width)
    for x, y in places(chart):
        assert left - PIXEL <= x <= right + PIXEL, (chart.title, x)
        assert chart.top - PIXEL <= y <= chart.bottom + PIXEL, (chart.title, y)
    for x, _ in chart.x_ticks:
        assert left - PIXEL <= x <= right + PIXEL
    for y, _ in chart.y_ticks:
        assert chart.top - PIXEL <= y <= chart.bottom + PIXEL


def dots(chart: Chart) -> list[dict[str, Any]]:
    (mark,) = (mark for mark in chart.marks if mark["kind"] == "dots")
    return mark["points"]


def level(chart: Chart, style: str) -> dict[str, Any]:
    (mark,) = (mark for mark in chart.marks if mark["kind"] == "level" and mark["style"] == style)
    return mark


# axes


@given(low=NUMBERS, width=st.floats(1e-6, 1e9), start=st.integers(0, 900), end=st.integers(0, 900))
def test_an_axis_maps_ends_to_ends_and_keeps_order(
    low: float, width: float, start: int, end: int
) -> None:
    high = low + width
    assume(high > low)
    axis = Axis(low, high, start, end)
    assert (axis(low), axis(high)) == (start, end)
    assert axis((low + high) / 2) == pytest.approx((start + end) / 2, abs=0.1)
    along = [axis(low + share * width) for share in np.linspace(0, 1, 11)]
    assert along == sorted(along, reverse=end < start)


def test_an_axis_without_a_range_stays_at_its_start() -> None:
    assert Axis(3, 3, 52, 868)(3) == 52
    assert Axis(3, 3, 52, 868).ticks() == [(52, "3")]


@given(low=NUMBERS, width=st.floats(1e-6, 1e9), count=st.integers(3, 6))
def test_ticks_are_a_few_round_numbers_in_the_range(low: float, width: float, count: int) -> None:
    high = low + width
    assume(width > 1e-6 * abs(low))
    values = nice_numbers(low, high, count)
    assert count / 2 <= len(values) <= 2 * count
    assert all(low - 1e-6 * width <= value <= high + 1e-6 * width for value in values)
    steps = np.diff(values)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-3)
    assert f"{steps[0]:.0e}"[0] in "125"


@given(low=NUMBERS, width=st.floats(1e-6, 1e9))
def test_ticks_stay_between_the_ends(low: float, width: float) -> None:
    high = low + width
    assume(width > 1e-6 * abs(low))
    for place, _ in Axis(low, high, 284, 22).ticks():
        assert 22 <= place <= 284


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (-0.003, 0.0171), (0, 5001), (1990, 2020), (101_250, 101_400), (2e5, 1.1e6)],
)
def test_tick_labels_are_where_their_number_is(low: float, high: float) -> None:
    axis = Axis(low, high, 0, 800)
    assert len(axis.ticks()) > 2
    for place, label in axis.ticks():
        assert axis(float(label)) == pytest.approx(place, abs=1)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1_013_150, 1_013_350), (1.7e9, 1.7e9 + 7200)])
def test_tick_labels_tell_ticks_apart(low: float, high: float) -> None:
    """Also of times in seconds, which vary little against their size."""
    labels = [label for _, label in Axis(low, high, 0, 800).ticks()]
    assert len(set(labels)) == len(labels) > 2


# all pictures


def test_every_mark_and_tick_is_inside_the_frame(selector: KnockoffSelector) -> None:
    for chart in all_charts(summarise(selector)):
        require_inside(chart)


@given(w=WS, fdr=st.sampled_from([0.1, 0.34, 0.6]))
def test_whatever_w_is_marks_are_inside_the_frame(w: list[float], fdr: float) -> None:
    for chart in all_charts(summarise(finished(w, fdr=fdr))):
        require_inside(chart)


def test_a_title_or_two_labels_name_every_picture(selector: KnockoffSelector) -> None:
    for chart in all_charts(summarise(selector)):
        assert chart.title or (chart.x_label and chart.y_label)


# w


@given(w=WS, fdr=st.sampled_from([0.1, 0.34, 0.6]))
def test_every_feature_has_one_dot_in_the_order_of_w(w: list[float], fdr: float) -> None:
    summary = summarise(finished(w, fdr=fdr))
    chart = statistics_chart(summary)
    points = dots(chart)
    assert len(points) == len(w)
    assert [p["x"] for p in points] == sorted(p["x"] for p in points)
    assert [p["y"] for p in points] == sorted(p["y"] for p in points)  # downwards
    named = {f["feature"]: f for f in summary["features"]}
    for point in points:
        name, value = point["label"].split(": w = ")
        assert point["selected"] == named[name]["selected"]
        assert float(value) == pytest.approx(named[name]["w"], rel=1e-3)


@given(w=WS, fdr=st.sampled_from([0.1, 0.34, 0.6]))
def test_selected_dots_lie_at_or_above_the_threshold_and_no_others(
    w: list[float], fdr: float
) -> None:
    summary = summarise(finished(w, fdr=fdr))
    chart = statistics_chart(summary)
    if summary["thresholds"] == [None]:
        assert not any(p["selected"] for p in dots(chart))
        assert [m["style"] for m in chart.marks if m["kind"] == "level"] == ["zero"]
        return
    line = level(chart, "threshold")["y"]
    for point in dots(chart):
        assert point["y"] <= line + PIXEL if point["selected"] else point["y"] >= line - PIXEL
    zero = level(chart, "zero")["y"]
    assert level(chart, "mirror")["y"] - zero == pytest.approx(zero - line, abs=0.21)


def test_several_draws_have_no_single_threshold() -> None:
    chart = statistics_chart(summarise(finished(standing_out(30, 12, draws=3))))
    assert [m["style"] for m in chart.marks if m["kind"] == "level"] == ["zero"]


# the estimate along the number selected


def test_the_curve_is_drawn_to_scale(fitted: KnockoffSelector) -> None:
    summary = summarise(fitted)
    chart, (curve,) = fdp_chart(summary), summary["curves"]
    (line,) = (mark for mark in chart.marks if mark["kind"] == "line")
    assert len(line["points"]) == len(curve["selected"])
    longest = max(curve["selected"])
    for (x, y), k, estimate in zip(
        line["points"], curve["selected"], curve["estimate"], strict=True
    ):
        assert x == pytest.approx(chart.left + k / longest * (chart.right - chart.left), abs=0.1)
        assert y == pytest.approx(chart.bottom - estimate * (chart.bottom - chart.top), abs=0.1)
    expected = chart.bottom - 0.2 * (chart.bottom - chart.top)
    assert level(chart, "threshold")["y"] == pytest.approx(expected, abs=0.1)
    assert level(chart, "threshold")["label"] == "level 0.2"


def test_each_draw_has_a_curve() -> None:
    chart = fdp_chart(summarise(finished(standing_out(30, 12, draws=3))))
    assert sum(mark["kind"] == "line" for mark in chart.marks) == 3


@pytest.mark.parametrize("w", [[-1.0, -2.0], [0.0, 0.0], [1.0, -3.0], [1.0, 2.0, 3.0]])
def test_numbers_of_features_are_whole(w: list[float]) -> None:
    """There is no 0.2-th of a feature, however few there are."""
    summary = summarise(finished(w))
    for chart in (fdp_chart(summary), statistics_chart(summary)):
        assert all(float(label).is_integer() for _, label in chart.x_ticks), chart.x_ticks


# shares of draws


def test_one_draw_has_no_shares(fitted: KnockoffSelector) -> None:
    assert frequency_charts(summarise(fitted)) == []


def test_no_draw_that_selects_has_no_shares() -> None:
    assert frequency_charts(summarise(finished(-standing_out(30, 12, draws=2)))) == []


def test_shares_are_drawn_to_scale_and_in_order() -> None:
    ws = standing_out(30, 12, draws=4)
    ws[0, :8] = -1  # one draw that selects other features
    summary = summarise(finished(ws, fdr=0.3))
    (chart,) = frequency_charts(summary)
    ((mark),) = chart.marks
    frequency = {f["feature"]: f["frequency"] for f in summary["features"]}
    assert [b["label"] for b in mark["bars"]] == sorted(
        (name for name in frequency if frequency[name] > 0),
        key=lambda name: (
            -frequency[name],
            -next(f["w"] for f in summary["features"] if f["feature"] == name),
        ),
    )
    widths = [b["width"] for b in mark["bars"]]
    shares = [frequency[b["label"]] for b in mark["bars"]]
    np.testing.assert_allclose(widths, np.array(shares) * widths[0] / shares[0], atol=0.2)
    assert [b["value"] for b in mark["bars"]] == [f"{share:.0%}" for share in shares]
    bottoms = [b["y"] + b["height"] for b in mark["bars"]]
    assert all(
        below["y"] > bottom for bottom, below in zip(bottoms, mark["bars"][1:], strict=False)
    )


def test_of_many_shares_the_largest_are_shown() -> None:
    (chart,) = frequency_charts(summarise(finished(standing_out(200, 90, draws=2))))
    assert len(chart.marks[0]["bars"]) == MOST_FREQUENCIES


# data and knockoffs


def test_histograms_are_drawn_to_scale(fitted: KnockoffSelector) -> None:
    for marginal in summarise(fitted)["marginals"]:
        chart = marginal_chart(marginal)
        bars, outline = chart.marks
        most = max(*marginal["data"], *marginal["knockoffs"])
        heights = [b["height"] for b in bars["bars"]]
        np.testing.assert_allclose(
            heights, np.array(marginal["data"]) / most * (chart.bottom - chart.top), atol=0.1
        )
        tops = [y for _, y in outline["points"][1:-1]][::2]
        np.testing.assert_allclose(
            [chart.bottom - y for y in tops],
            np.array(marginal["knockoffs"]) / most * (chart.bottom - chart.top),
            atol=0.1,
        )
        ends = [b["x"] + b["width"] for b in bars["bars"]]
        # no gaps
        np.testing.assert_allclose(ends[:-1], [b["x"] for b in bars["bars"][1:]], atol=0.15)
        assert chart.title == marginal["feature"]


def test_pairs_show_every_point_of_both(fitted: KnockoffSelector) -> None:
    for pair in summarise(fitted)["pairs"]:
        chart = pair_chart(pair)
        assert [len(mark["points"]) for mark in chart.marks] == [
            len(pair["data"][0]),
            len(pair["knockoffs"][0]),
        ]
        xs = [x for mark in chart.marks for x, _ in mark["points"]]
        assert (min(xs), max(xs)) == (chart.left, chart.right)
        assert (chart.x_label, chart.y_label) == (pair["first"], pair["second"])


def test_a_constant_pair_is_in_the_middle() -> None:
    chart = pair_chart(
        {
            "first": "a",
            "second": "b",
            "log": [False, False],
            "data": [[7, 7], [1, 2]],
            "knockoffs": [[7, 7], [2, 1]],
        }
    )
    assert {x for mark in chart.marks for x, _ in mark["points"]} == {
        (chart.left + chart.right) / 2
    }


# training


def test_every_stage_with_more_than_its_start_has_a_picture(fitted_deep: KnockoffSelector) -> None:
    summary = summarise(fitted_deep)
    charts = draw(summary)["training"]
    told = [phase for phase in summary["training"] if len(phase["held_out"]) > 1]
    assert [chart.title for chart in charts] == [phase["stage"] for phase in told]
    assert len(charts) > 1
    for chart, phase in zip(charts, told, strict=True):
        rule, train, held_out = chart.marks
        assert len(held_out["points"]) == len(phase["held_out"])
        assert len(train["points"]) == sum(loss is not None for loss in phase["train"])
        assert rule["x"] == held_out["points"][phase["best"]][0]
        # lowest loss, lowest place
        assert max(held_out["points"], key=lambda point: point[1])[0] == rule["x"]


def test_losses_that_are_no_numbers_leave_gaps_and_nothing_else() -> None:
    history = [History("odd", [math.nan, 1.0, math.inf, 0.5], [2.0, math.nan, 1.0, 0.75], 3)]
    (phase,) = summarise(finished([1.0, 2.0], history=history))["training"]
    chart = training_chart(phase)
    require_inside(chart)
    assert [len(mark["points"]) for mark in chart.marks[1:]] == [2, 3]


def test_no_finite_loss_still_gives_a_picture() -> None:
    chart = training_chart(
        {"stage": "odd", "train": [None, None], "held_out": [None, None], "best": 0}
    )
    require_inside(chart)


@pytest.mark.parametrize(
    ("low", "high"), [(1e9, 1e9 + 1), (1.7e9, 1.7e9 + 0.02), (1e15, 1e15 + 1), (1e9, 1e9 + 1e-6)]
)
def test_ticks_far_from_0_differ(low: float, high: float) -> None:
    for axis in (Axis(low, high, 66, 274), Axis(low, high, 274, 66)):
        ticks = axis.ticks()
        assert ticks
        assert len({label for _, label in ticks}) == len(ticks)
        assert all(low <= float(label) <= high for _, label in ticks)
