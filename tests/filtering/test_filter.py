"""Laws of the knockoff filter."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from knockoffs.filtering.filter import (
    combine_draws,
    evalue_threshold,
    fdp,
    knockoff_evalues,
    knockoff_select,
    knockoff_threshold,
    power,
    select_by_evalues,
    smallest_evalue_levels,
    smallest_levels,
)
from knockoffs.selection.explanation import explain_empty_selection

LEVELS = (0.05, 0.1, 0.2, 0.3, 0.5)
law = settings(max_examples=200, deadline=None, derandomize=True, database=None)
statistics = st.lists(st.integers(-6, 6), min_size=1, max_size=30).map(
    lambda w: np.array(w, dtype=float)
)
levels = st.sampled_from(LEVELS)


def brute_force(w: np.ndarray, fdr: float, offset: int) -> float:
    """Equation (3) word for word, t over every |w|."""
    for t in sorted({abs(v) for v in w if v != 0}):
        below, above = sum(v <= -t for v in w), sum(v >= t for v in w)
        if above > 0 and (offset + below) / above <= fdr:
            return t
    return math.inf


def test_the_threshold_is_equation_three_by_brute_force() -> None:
    """On 12,000 random w, half of them with many ties and zeros."""
    rng = np.random.default_rng(0)
    finite = 0
    for trial in range(12_000):
        size = int(rng.integers(1, 40))
        w = rng.normal(rng.choice([0, 1]), 1, size)
        w = np.round(2 * w) if trial % 2 else w
        fdr, offset = float(rng.choice(LEVELS)), int(rng.integers(2))
        threshold = knockoff_threshold(w, fdr, offset=offset)
        assert threshold == brute_force(w, fdr, offset)
        finite += threshold < math.inf
    assert finite > 2000


def test_three_features_cannot_hold_a_tenth() -> None:
    assert knockoff_threshold([5, 4, 3], 0.1) == math.inf
    assert not knockoff_select([5, 4, 3], 0.1).any()
    assert knockoff_threshold([5, 4, 3], 0.34) == 3


@law
@given(statistics, levels, levels)
def test_more_tolerance_never_selects_less(w, one, other):
    low, high = sorted((one, other))
    assert (knockoff_select(w, low) <= knockoff_select(w, high)).all()
    assert (knockoff_select(w, low) <= knockoff_select(w, low, offset=0)).all()


@law
@given(statistics, levels, st.integers(-10, 10), st.randoms(use_true_random=False))
def test_scale_does_not_matter_and_order_comes_along(w, fdr, exponent, random):
    selected = knockoff_select(w, fdr)
    assert np.array_equal(knockoff_select(2.0**exponent * w, fdr), selected)
    order = list(range(len(w)))
    random.shuffle(order)
    assert np.array_equal(knockoff_select(w[order], fdr), selected[order])


@law
@given(statistics, levels)
def test_evalues_of_one_draw_give_the_filters_selection(w, fdr):
    selected = knockoff_select(w, fdr)
    assert np.array_equal(select_by_evalues(knockoff_evalues(w, fdr), fdr), selected)
    assert np.array_equal(combine_draws([w], fdr)[0], selected)


def test_evalues_by_hand() -> None:
    w = [5.0, 4.0, 3.0, 2.0, 1.0, -1.0]
    assert knockoff_threshold(w, 0.25) == 2
    assert knockoff_evalues(w, 0.25).tolist() == [6, 6, 6, 6, 0, 0]
    assert select_by_evalues([6, 6, 0, 0, 0, 0], 0.5).tolist() == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert not select_by_evalues([6, 6, 0, 0, 0, 0], 0.4).any()


@law
@given(statistics, st.sampled_from((0, 1)))
def test_the_smallest_level_is_where_selection_begins(w, offset):
    """At every level, among them all at which a selection can change."""
    smallest = smallest_levels(w, offset=offset)
    changes = {
        (offset + below) / above for below in range(len(w)) for above in range(1, len(w) + 1)
    }
    for level in changes | {1e-9, 0.5, 0.999999}:
        if 0 < level < 1:
            np.testing.assert_array_equal(
                smallest <= level, knockoff_select(w, level, offset=offset)
            )


@law
@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.5, 6.0, 12.0]), min_size=1, max_size=12).map(
        np.array
    ),
    levels,
)
def test_the_smallest_level_of_evalues_is_where_e_bh_begins(evalues, fdr):
    smallest = smallest_evalue_levels(evalues)
    d = len(evalues)
    for level in {
        fdr,
        *(smallest[smallest < 1] * (1 - 1e-6)),
        *(smallest[smallest < 1] * (1 + 1e-6)),
    }:
        enough = [
            k for k in range(1, d + 1) if np.sort(evalues)[-k] >= d / (k * level) * (1 - 1e-9)
        ]
        expected = evalues >= np.sort(evalues)[-max(enough)] if enough else np.zeros(d, dtype=bool)
        if 0 < level < 1:
            np.testing.assert_array_equal(smallest <= level, expected)
            np.testing.assert_array_equal(select_by_evalues(evalues, level), expected)


@law
@given(statistics, levels)
def test_evalues_stop_at_the_filter_or_where_no_negative_one_is_left_by_brute_force(w, fdr):
    expected = math.inf
    for t in sorted({abs(v) for v in w if v != 0}):
        below, above = sum(v <= -t for v in w), sum(v >= t for v in w)
        if above > 0 and (below == 0 or (1 + below) / above <= fdr):
            expected = t
            break
    assert evalue_threshold(w, fdr) == expected
    below = sum(v <= -expected for v in w)
    np.testing.assert_allclose(
        knockoff_evalues(w, fdr), [len(w) * (v >= expected) / (1 + below) for v in w]
    )


@pytest.mark.parametrize("relevant", [0, 8], ids=["global null", "some"])
@pytest.mark.parametrize("fdr", [0.02, 0.1, 0.3, 0.9])
def test_evalues_of_coin_flips_sum_to_at_most_their_number(fdr, relevant):
    """Compound e-values: the sum over irrelevant features, at every level."""
    rng = np.random.default_rng(5)
    null = np.arange(20) >= relevant
    total = []
    for _ in range(1500):
        size = rng.gamma(1, size=20)
        w = np.where(null, size * rng.choice([-1, 1], size=20), size + 0.5)
        total.append(knockoff_evalues(w, fdr)[null].sum())
    assert np.mean(total) <= 20 + 3 * np.std(total) / len(total) ** 0.5
    assert np.mean(total) > 0.3 * 20


def test_null_evalues_have_mean_at_most_one() -> None:
    """The property that makes them e-values: for coin-flip signs their sum is at most d on
    average.
    """
    rng = np.random.default_rng(1)
    size = 20
    total = [knockoff_evalues(rng.normal(size=size), 0.3).sum() for _ in range(20_000)]
    assert np.mean(total) <= size + 3 * np.std(total) / len(total) ** 0.5
    assert np.mean(total) > 0.2 * size


def test_several_draws_hold_the_global_null_and_find_what_is_there() -> None:
    rng = np.random.default_rng(2)
    null = [combine_draws(rng.normal(size=(5, 60)), 0.2)[0].any() for _ in range(2000)]
    assert np.mean(null) <= 0.2 + 3 * (0.2 * 0.8 / 2000) ** 0.5
    shift = np.repeat([4.0, 0.0], [20, 40])
    found = [combine_draws(shift + rng.normal(size=(5, 60)), 0.2)[0] for _ in range(200)]
    assert np.mean([power(f, shift > 0) for f in found]) > 0.9
    assert np.mean([fdp(f, shift > 0) for f in found]) < 0.2


def test_false_discovery_rate_with_coin_flip_nulls() -> None:
    """The theorem behind the filter: null signs are fair coins whatever the sizes."""
    rng = np.random.default_rng(3)
    relevant = np.arange(60) < 20
    shares = []
    for _ in range(3000):
        size = rng.gamma(1, size=60)
        w = np.where(relevant, size + 1, size * rng.choice([-1, 1], size=60))
        shares.append(fdp(knockoff_select(w, 0.2), relevant))
    assert np.mean(shares) <= 0.2 + 3 * np.std(shares) / 3000**0.5
    assert np.mean(shares) > 0.1  # and not by selecting nothing


def test_an_empty_selection_explains_itself() -> None:
    said = explain_empty_selection([3, 2, 1, -0.5], 0.1)
    assert "at least 10 features" in said
    assert "3 of 4 have w > 0" in said
    assert "fdr=0.334" in said
    assert knockoff_select([3, 2, 1, -0.5], 0.334).sum() == 3
    assert "No feature of 2 has w > 0" in explain_empty_selection([0, -1], 0.1)
    assert "no level below 1" in explain_empty_selection([1, -2], 0.1)
    assert "1 of 2 has w > 0" in explain_empty_selection([1, -2], 0.1)


@law
@given(statistics, levels, st.sampled_from((0, 1)))
def test_an_explanation_names_the_best_threshold_and_what_it_selects(w, fdr, offset):
    if knockoff_select(w, fdr, offset=offset).any() or not (w > 0).any():
        return
    said = explain_empty_selection(w, fdr, offset=offset)
    found = re.search(
        r"has (\d+) at or above it and (\d+) at or below (\S+): .* = (\S+), and", said
    )
    assert found
    above, below, mirror, share = int(found[1]), int(found[2]), float(found[3]), float(found[4])
    assert (above, below) == (np.count_nonzero(w >= -mirror), np.count_nonzero(w <= mirror))
    smallest = min(
        (offset + sum(w <= -t)) / sum(w >= t) for t in abs(w) if t > 0 and (w >= t).any()
    )
    assert share == pytest.approx(smallest, rel=0.05)
    named = re.search(r"these (\d+) would be selected at fdr=([\d.]+\d)", said)
    assert (named is None) == (smallest >= 1)
    if named:
        assert knockoff_select(w, float(named[2]), offset=offset).sum() == int(named[1]) == above


def test_shares() -> None:
    selected, relevant = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert fdp(selected, relevant) == 0.5
    assert power(selected, relevant) == 0.5
    assert fdp(np.zeros(4, bool), relevant) == 0
    with pytest.raises(ValueError, match="no true entry"):
        power(selected, np.zeros(4, bool))
    with pytest.raises(ValueError, match="selected must be true/false"):
        fdp([0, 1], [True, False])


@pytest.mark.parametrize("share", [fdp, power])
def test_a_share_takes_one_flag_per_feature_on_both_sides(share) -> None:
    """numpy would repeat a single flag: the share of false ones would be 2 here."""
    with pytest.raises(ValueError, match=r"selected has shape \(1,\), relevant \(3,\)"):
        share([True], [True, False, False])


@pytest.mark.parametrize("evalues", [[1.0, -1.0], [6.0, np.nan, 0.0], [[1.0]]])
def test_bad_evalues(evalues) -> None:
    """A negative one would select everything, and nan nothing."""
    with pytest.raises(ValueError, match="evalues must be a list of numbers of at least 0"):
        select_by_evalues(evalues, 0.5)


@pytest.mark.parametrize("ws", [[], [[1.0, 2.0], [1.0, 2.0, 3.0]]])
def test_draws_must_agree_in_their_features(ws) -> None:
    with pytest.raises(ValueError, match=r"ws has draws of .* statistics: pass at least one draw"):
        combine_draws(ws, 0.5)


@pytest.mark.parametrize("fdr", [0, 1, -0.1, "a", True])
def test_bad_levels(fdr):
    with pytest.raises(ValueError, match=r"fdr=.* is not valid: pass a number above 0 and below 1"):
        knockoff_threshold([1.0], fdr)


@pytest.mark.parametrize("w", [[], [[]], 1.0, [np.nan], [np.inf]])
def test_bad_statistics(w):
    with pytest.raises(ValueError, match="w must be a non-empty list of finite numbers"):
        knockoff_threshold(w, 0.1)


def test_bad_offset():
    with pytest.raises(ValueError, match="offset=2 is not valid: pass one of 0, 1"):
        knockoff_threshold([1.0], 0.1, offset=2)
