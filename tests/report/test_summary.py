"""The numbers of a report: plain, complete, and those of the filter."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from knockoffs import KnockoffSelector, knockoff_select
from knockoffs.density.training import History
from knockoffs.report.summary import MARGINALS, PAIRS, POINTS, summarise

from .conftest import finished

WS = st.lists(
    st.integers(-9, 12) | st.floats(-3, 9, allow_subnormal=False), min_size=1, max_size=25
)


def test_a_summary_survives_json_unchanged(selector: KnockoffSelector) -> None:
    summary = summarise(selector)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_a_summary_begins_with_the_selection(selector: KnockoffSelector) -> None:
    summary = summarise(selector)
    added = {"enters", "remark"}
    summary["features"] = [
        {k: v for k, v in own.items() if k not in added} for own in summary["features"]
    ]
    found = selector.selection_.to_dict()
    found["features"] = [
        own | {"w": own.pop(selector.selection_.ranked_by)} for own in found["features"]
    ]
    for name, value in found.items():
        assert summary[name] == value
    assert len(summary["curves"]) == selector.selection_.n_draws


def test_summarising_changes_nothing_and_is_repeatable(fitted: KnockoffSelector) -> None:
    before = json.dumps(fitted.selection_.to_dict())
    assert summarise(fitted) == summarise(fitted)
    assert json.dumps(fitted.selection_.to_dict()) == before


def curve_by_brute_force(w: list[float], offset: int) -> dict[int, float]:
    """For each k that some threshold selects, the least estimate by equation (3)
    of those that select k.
    """
    estimates: dict[int, float] = {}
    for t in {abs(value) for value in w if value != 0}:
        k = sum(value >= t for value in w)
        if k:
            estimate = (offset + sum(value <= -t for value in w)) / k
            estimates[k] = min(estimates.get(k, math.inf), estimate)
    return estimates


@given(w=WS, offset=st.sampled_from([0, 1]))
def test_the_fdp_curve_is_equation_3_for_each_number_selected(w: list[float], offset: int) -> None:
    (curve,) = summarise(finished(w, offset=offset))["curves"]
    expected = curve_by_brute_force(w, offset)
    assert curve["selected"] == sorted(expected)
    np.testing.assert_allclose(
        curve["estimate"], [min(expected[k], 1.0) for k in sorted(expected)], rtol=1e-5, atol=1e-12
    )


@given(w=WS, fdr=st.sampled_from([0.1, 0.2, 0.34, 0.5, 0.8]))
def test_where_the_curve_is_last_within_the_level_lies_the_selection(
    w: list[float], fdr: float
) -> None:
    """What the picture shows is what the filter does."""
    (curve,) = summarise(finished(w, fdr=fdr))["curves"]
    within = [k for k, e in zip(curve["selected"], curve["estimate"], strict=True) if e <= fdr]
    assert max(within, default=0) == np.count_nonzero(knockoff_select(w, fdr))


def test_the_curve_of_an_example() -> None:
    """Three features above the largest loser: (1 + 0) / 3 of them are expected to be false,
    not (1 + 1) / 3.
    """
    (curve,) = summarise(finished([10, 9, 8, -7, 6], fdr=0.34))["curves"]
    assert dict(zip(curve["selected"], curve["estimate"], strict=True)) == {
        1: 1.0,
        2: 0.5,
        3: pytest.approx(1 / 3, rel=1e-5),
        4: 0.5,
    }


def test_histograms_count_every_row_once(selector: KnockoffSelector) -> None:
    rows = len(selector.pictured_.x)
    marginals = summarise(selector)["marginals"]
    assert len(marginals) == min(MARGINALS, selector.n_features_in_)
    for marginal in marginals:
        assert sum(marginal["data"]) == sum(marginal["knockoffs"]) == rows
        if "levels" in marginal:
            assert len(marginal["levels"]) == len(marginal["data"])
        else:
            assert len(marginal["edges"]) == len(marginal["data"]) + 1
            assert marginal["edges"] == sorted(marginal["edges"])


def test_the_largest_w_is_pictured_first(fitted: KnockoffSelector) -> None:
    summary = summarise(fitted)
    by_w = [f["feature"] for f in sorted(summary["features"], key=lambda f: -f["w"])]
    assert [m["feature"] for m in summary["marginals"]] == by_w[:MARGINALS]
    assert [(p["first"], p["second"]) for p in summary["pairs"]] == [
        (by_w[2 * k], by_w[2 * k + 1]) for k in range(PAIRS)
    ]
    for pair in summary["pairs"]:
        assert {len(values) for side in ("data", "knockoffs") for values in pair[side]} == {POINTS}


def test_the_pictured_numbers_are_those_of_the_data(fitted: KnockoffSelector) -> None:
    summary, pictured = summarise(fitted), fitted.pictured_
    np.testing.assert_allclose(summary["pairs"][0]["data"][1], pictured.x[:POINTS, 1], rtol=1e-5)
    np.testing.assert_allclose(
        summary["pairs"][0]["knockoffs"][0], pictured.x_tilde[:POINTS, 0], rtol=1e-5
    )
    expected = np.corrcoef(pictured.x[:, 0], pictured.x_tilde[:, 0])[0, 1]
    assert summary["marginals"][0]["correlation"] == pytest.approx(expected, abs=1e-3)


def test_a_constant_column_has_no_correlation(fitted_deep: KnockoffSelector) -> None:
    correlations = {m["feature"]: m["correlation"] for m in summarise(fitted_deep)["marginals"]}
    assert [name for name, value in correlations.items() if value is None] == ["constant"]


@pytest.mark.parametrize(
    ("offset", "scale"),
    [(0.0, 1e-12), (0.0, 1e12), (2000.0, 5.0), (1013250.0, 50.0), (1.7e9, 3600.0)],
    ids=["small", "large", "years", "pressures", "seconds since 1970"],
)
def test_columns_far_from_zero_keep_their_shape(offset: float, scale: float) -> None:
    """Times and codes vary little against their size; their bars must not fall together."""
    x = offset + scale * np.random.default_rng(0).normal(size=(60, 3))
    summary = summarise(finished([1, 2, 3], x=x))
    for marginal in summary["marginals"]:
        assert (np.diff(marginal["edges"]) > 0).all()
    drawn = np.array(summary["pairs"][0]["data"][0])
    assert np.corrcoef(drawn, x[:, summary_column(summary)])[0, 1] > 0.999


def summary_column(summary: dict) -> int:
    return int(summary["pairs"][0]["first"].removeprefix("f"))


def test_a_huge_constant_has_a_histogram() -> None:
    """Around 1e18 (a code, say) floats are further apart than the usual half below and above."""
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[:, 1] = 1e18
    summary = summarise(finished([1, 2, 3], x=x))
    assert all(sum(m["data"]) == 60 for m in summary["marginals"])


def test_training_is_told_stage_by_stage(fitted_deep: KnockoffSelector) -> None:
    history = fitted_deep.generator_.history_
    assert len(history) > 1
    told = summarise(fitted_deep)["training"]
    assert [phase["stage"] for phase in told] == [phase.stage for phase in history]
    for phase, record in zip(told, history, strict=True):
        assert phase["train"][0] is None  # before the first epoch there is none
        np.testing.assert_allclose(phase["held_out"], record.held_out, rtol=1e-5)
        assert phase["held_out"][phase["best"]] == min(phase["held_out"])


def test_losses_that_are_no_numbers_are_none() -> None:
    history = [
        History(
            "odd", train=[math.nan, 1.0, math.inf], held_out=[2.0, -math.inf, 1.0], best_epoch=2
        )
    ]
    (phase,) = summarise(finished([1.0, 2.0], history=history))["training"]
    assert phase == {
        "stage": "odd",
        "train": [None, 1.0, None],
        "held_out": [2.0, None, 1.0],
        "best": 2,
    }


def test_a_generator_without_a_history_has_no_training(fitted: KnockoffSelector) -> None:
    assert not hasattr(fitted.generator_, "history_")
    assert summarise(fitted)["training"] == []


def test_a_summary_needs_no_more_than_what_the_fit_left(fitted: KnockoffSelector) -> None:
    names = ("selection_", "pictured_", "schema_", "generator_", "certificate_")
    parts = SimpleNamespace(**{name: getattr(fitted, name) for name in names})
    assert summarise(parts) == summarise(fitted)
