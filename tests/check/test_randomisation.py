"""p-values by random swaps are ranks, and exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from knockoffs.check.exact import draw_signs, p_value, quadratic


@given(rows=st.integers(1, 12), draws=st.integers(1, 30), seed=st.integers(0, 1000))
def test_quadratic_is_the_double_sum(rows: int, draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(rows, rows))
    kernel, signs = root + root.T, draw_signs(rng, draws, rows)
    brute = [
        sum(kernel[i, k] * e[i] * e[k] for i in range(rows) for k in range(rows)) for e in signs.T
    ]
    np.testing.assert_allclose(quadratic(kernel, signs), brute, rtol=1e-4, atol=1e-4)


def test_signs_are_fair_coins_after_a_first_draw_that_changes_nothing() -> None:
    signs = draw_signs(np.random.default_rng(0), 2001, 50)
    assert (signs[:, 0] == 1).all()
    assert set(np.unique(signs)) == {-1, 1}
    tosses = signs[:, 1:].astype(float)
    assert np.abs(tosses.mean(1)).max() < 4 / np.sqrt(2000)
    apart = tosses @ tosses.T / 2000 - np.eye(50)
    assert np.abs(apart).max() < 5 / np.sqrt(2000)
    np.testing.assert_array_equal(draw_signs(np.random.default_rng(0), 2001, 50), signs)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=40))
def test_the_p_value_is_the_rank_of_the_observed(values: list[int]) -> None:
    statistics = np.array(values, dtype=float)
    assert p_value(statistics) == np.mean(statistics >= statistics[0])


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_each_draw_may_be_the_observed_one(values: list[int]) -> None:
    """Under the null all orders are equally likely: the chance of p ≤ α is at most α,
    ties or not.
    """
    statistics = np.array(values, dtype=float)
    found = np.array([p_value(np.roll(statistics, -k)) for k in range(len(statistics))])
    for alpha in found:
        assert np.mean(found <= alpha) <= alpha + 1e-12


def test_rounding_does_not_tell_equal_statistics_apart() -> None:
    assert p_value(np.array([1 + 1e-9, 1, 1, 1])) == 1
    assert p_value(np.zeros(5)) == 1
    assert p_value(np.array([2.0, 1, 1, 1])) == pytest.approx(0.25)
