"""Effects of groups on y, filtered out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

from knockoffs.statistics.group_effects import (
    subtract_group_means,
    variance_ratio,
    without_group_effects,
)

SIZES = np.array([1, 4, 2, 7])


@pytest.mark.parametrize("ratio", [0.1, 1.0, 30.0])
def test_what_is_left_of_a_random_intercept_is_white_noise(ratio: float) -> None:
    """T Σ T' = I for the covariance Σ = I + r 11' of each group, T the map without its centring."""
    groups = np.repeat(np.arange(4), SIZES)
    rows = len(groups)
    # Columns of the identity beside their negatives have mean zero, so that centring changes
    # nothing.
    table = np.hstack([np.eye(rows), -np.eye(rows)])
    doubled, twice = np.vstack([table, -table]), np.concatenate([groups, groups + 4])
    matrix = subtract_group_means(doubled, twice, ratio)[:rows, :rows]
    covariance = np.eye(rows) + ratio * block_diag(*(np.ones((n, n)) for n in SIZES))
    np.testing.assert_allclose(matrix @ covariance @ matrix.T, np.eye(rows), atol=1e-10)


def simulated(seed: int, between: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(150), rng.integers(1, 8, size=150))
    x, x_tilde = rng.normal(size=(2, len(groups), 10))
    effects = np.sqrt(between) * rng.normal(size=150)[groups]
    return x, x_tilde, x[:, :3].sum(1) + effects + rng.normal(size=len(groups)), groups


@pytest.mark.parametrize("between", [0.0, 0.5, 4.0])
def test_the_ratio_of_variances_is_found(between: float) -> None:
    found = []
    for seed in range(10):
        x, x_tilde, y, groups = simulated(seed, between)
        found.append(variance_ratio(np.hstack([x, x_tilde]), y, groups))
    assert np.mean(found) == pytest.approx(between, abs=0.05 + 0.2 * between)


def test_a_swap_of_a_feature_with_its_knockoff_swaps_what_is_left_of_them() -> None:
    x, x_tilde, y, groups = simulated(0, 2.0)
    swapped, swapped_tilde = x.copy(), x_tilde.copy()
    swapped[:, 3:6], swapped_tilde[:, 3:6] = x_tilde[:, 3:6], x[:, 3:6]
    one, other = (
        without_group_effects(x, x_tilde, y, groups),
        without_group_effects(swapped, swapped_tilde, y, groups),
    )
    np.testing.assert_allclose(one[0][:, 3:6], other[1][:, 3:6], rtol=1e-8)
    np.testing.assert_allclose(one[1][:, 3:6], other[0][:, 3:6], rtol=1e-8)
    np.testing.assert_allclose(one[2], other[2], rtol=1e-8)


def test_a_swap_changes_no_bit_of_what_is_left() -> None:
    """Trees divide values that are equal but for rounding errors,
    so these would turn their splits.
    """
    for seed in range(5):
        x, x_tilde, y, groups = simulated(seed, 2.0)
        coins = np.random.default_rng(seed).random(x.shape[1]) < 0.5
        swapped, swapped_tilde = np.where(coins, x_tilde, x), np.where(coins, x, x_tilde)
        one = without_group_effects(x, x_tilde, y, groups)
        other = without_group_effects(swapped, swapped_tilde, y, groups)
        np.testing.assert_array_equal(np.where(coins, one[1], one[0]), other[0])
        np.testing.assert_array_equal(one[2], other[2])


def test_without_any_effect_of_groups_nothing_is_changed() -> None:
    x, x_tilde, y, groups = simulated(0, 0.0)
    lonely = np.arange(len(groups))
    for left, given in zip(
        without_group_effects(x, x_tilde, y, lonely), (x, x_tilde, y), strict=True
    ):
        assert left is given
