"""Each feature beside its knockoff: laws of the comparison, and what the figures mean."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import ks_2samp

from knockoffs.check.exact import Signs, draw_signs
from knockoffs.check.feature_tests import PerFeature, _familywise, compare_features, near_duplicates
from knockoffs.check.pairs import Pairs
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array

from .conftest import PAIRS, exact_pair, swap_cells

TESTS = ("ks", "ks_p", "shift", "shift_p")


def compared(x: Array, x_tilde: Array, signs: Signs | None = None) -> PerFeature:
    signs = draw_signs(np.random.default_rng(0), 200, len(x)) if signs is None else signs
    return compare_features(Pairs(x, x_tilde), signs)


def every_sign(rows: int) -> Signs:
    """All swaps of rows, none first."""
    return np.array(np.meshgrid(*[[1, -1]] * rows)).reshape(rows, -1).astype(np.float32)


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS.keys())
def test_swapping_rows_is_the_same_as_turning_their_signs(
    make: Callable[..., tuple[Array, Array]],
) -> None:
    x, x_tilde = make(30, 3)
    signs = draw_signs(np.random.default_rng(1), 100, 30)
    for k in range(1, 6):
        by_data = compared(*swap_cells(x, x_tilde, signs[:, [k]] < 0), signs)
        by_signs = compared(x, x_tilde, signs * signs[:, [k]])
        for name in TESTS:
            np.testing.assert_allclose(
                getattr(by_data, name), getattr(by_signs, name), atol=1e-5, err_msg=name
            )


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS.keys())
def test_p_values_are_exact_over_all_swaps_of_rows(
    make: Callable[..., tuple[Array, Array]],
) -> None:
    """No chance left: of all 2⁷ tables that swaps give,
    at most a share α has a smallest p of at most α.
    """
    x, x_tilde = make(7, 5)
    every = every_sign(7)
    found = [compared(*swap_cells(x, x_tilde, e[:, None] < 0), every) for e in every.T]
    for name in ("ks_p", "shift_p"):
        smallest = np.array([getattr(one, name).min() for one in found])
        for alpha in np.unique(smallest):
            assert np.mean(smallest <= alpha) <= alpha + 1e-9, name


def test_the_order_of_columns_only_orders_the_results() -> None:
    x, x_tilde = exact_pair(60, 1)
    order = np.array([3, 0, 5, 1, 4, 2])
    one, other = compared(x, x_tilde), compared(x[:, order], x_tilde[:, order])
    for name in PerFeature._fields:
        np.testing.assert_allclose(
            getattr(other, name), getattr(one, name)[order], rtol=1e-4, atol=1e-6
        )


def test_rows_and_knockoffs_may_change_places() -> None:
    x, x_tilde = exact_pair(60, 1)
    one, other = compared(x, x_tilde), compared(x_tilde, x)
    for name in PerFeature._fields:
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-4, atol=1e-6)


def test_p_values_hold_for_all_features_together() -> None:
    statistics = np.random.default_rng(0).exponential(size=(5, 99))
    found = _familywise(statistics)
    brute = [np.mean(statistics.max(0) >= one) for one in statistics[:, 0]]
    np.testing.assert_allclose(found, brute)
    assert found.min() == np.mean(statistics.max(0) >= statistics[:, 0].max())
    np.testing.assert_array_equal(_familywise(np.zeros((3, 9))), np.ones(3))


def test_ks_is_the_distance_of_the_distributions() -> None:
    rng = np.random.default_rng(2)
    x = np.column_stack(
        [rng.integers(0, 6, 300), rng.binomial(1, 0.3, 300), rng.normal(size=300)]
    ).astype(float)
    x_tilde = np.column_stack(
        [rng.integers(1, 7, 300), rng.binomial(1, 0.5, 300), rng.normal(0.3, 2, size=300)]
    )
    x_tilde = x_tilde.astype(float)
    exact = np.array([ks_2samp(a, b).statistic for a, b in zip(x.T, x_tilde.T, strict=True)])
    found = compared(x, x_tilde).ks
    # few values: all of them are on the grid
    np.testing.assert_allclose(found[:2], exact[:2], atol=1e-6)
    assert exact[2] - 2 / 64 < found[2] <= exact[2] + 1e-6


def test_a_shift_and_a_spread_are_found_where_they_are() -> None:
    x, x_tilde = exact_pair(300, 3)
    x_tilde[:, 1] += 0.7
    x_tilde[:, 4] = 1 + 1.8 * (x_tilde[:, 4] - 1)
    found = compared(x, x_tilde)
    assert set(np.flatnonzero(found.shift_p < 0.01)) == {1, 4}
    assert found.shift[[1, 4]].min() > 5 > 4 > found.shift[[0, 2, 3, 5]].max()


@pytest.mark.parametrize("likeness", [0.0, 0.5, 0.9])
def test_freedom_of_independent_columns_is_what_the_knockoff_does_not_share(
    likeness: float,
) -> None:
    rng = np.random.default_rng(4)
    x, noise = rng.normal(size=(2, 8000, 3))
    found = compared(
        x, likeness * x + np.sqrt(1 - likeness**2) * noise, np.ones((8000, 1), dtype=np.float32)
    )
    np.testing.assert_allclose(found.freedom, 1 - likeness, atol=0.05)
    np.testing.assert_allclose(found.correlation, likeness, atol=0.05)


def test_freedom_is_a_share_of_what_other_features_do_not_explain() -> None:
    """x2 is x1 and a little more; exact knockoffs of the two cannot be further away than that
    little.
    """
    law = AutoregressiveGaussian(features=2, rho=0.95)
    x = law.sample(5000, random_state=0)
    found = compared(x, law.knockoffs(x, random_state=1), np.ones((5000, 1), dtype=np.float32))
    assert 0.2 < found.freedom.min() <= found.freedom.max() < 1.1
    apart = compared(x, law.sample(5000, random_state=2), np.ones((5000, 1), dtype=np.float32))
    assert apart.freedom.min() > 1.2  # more than exact knockoffs could have


def test_near_duplicates_are_named() -> None:
    rng = np.random.default_rng(5)
    x, noise = rng.normal(size=(2, 500, 5))
    x[:, 3] = x[:, 1] + 0.05 * noise[:, 3]
    x_tilde = x + 0.02 * noise
    assert near_duplicates(Pairs(x, x_tilde)) == [(1, 3)]
    assert near_duplicates(Pairs(*exact_pair(500, 6))) == []
    assert near_duplicates(Pairs(x[:, :1], x_tilde[:, :1])) == []
