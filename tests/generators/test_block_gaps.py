"""Gaussian knockoffs of groups: what the algebra promises of S with a block per group."""

from __future__ import annotations

import numpy as np
import pytest

from knockoffs import GaussianKnockoffs
from knockoffs.generators.gaussian import METHODS, Method, knockoff_gaps, knockoff_law
from knockoffs.runtime.arrays import Array, Flags

BLOCKS = np.array([0, 1, 0, 2, 1, 3, 0, 2, 4, 4, 5, 5])  # groups need not stand together


def random_covariance(seed: int, columns: int = len(BLOCKS)) -> Array:
    """Strongly dependent columns in different units."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(columns, columns)) + 1.5 * rng.normal(size=(columns, 1))
    scale = np.exp(rng.normal(size=columns))
    return (root @ root.T / columns + 0.05 * np.eye(columns)) * np.outer(scale, scale)


def pair_covariance(sigma: Array, s: Array) -> Array:
    """The covariance of [x, x̃] that is drawn: x̃ = x - P x + noise of covariance C."""
    pull, spread = knockoff_law(sigma, s)
    towards = np.eye(len(sigma)) - pull
    return np.block(
        [[sigma, sigma @ towards.T], [towards @ sigma, towards @ sigma @ towards.T + spread]]
    )


def swapped(covariance: Array, columns: Flags) -> Array:
    d = len(columns)
    order = np.arange(2 * d)
    order[:d] += d * columns
    order[d:] -= d * columns
    return covariance[np.ix_(order, order)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_swaps_of_whole_groups_leave_the_joint_covariance_unchanged(
    method: Method, seed: int
) -> None:
    sigma = random_covariance(seed)
    joint = pair_covariance(sigma, knockoff_gaps(sigma, method, blocks=BLOCKS))
    size = np.sqrt(np.outer(np.diag(joint), np.diag(joint)))
    for group in range(BLOCKS.max() + 1):
        np.testing.assert_allclose(swapped(joint, group == BLOCKS) / size, joint / size, atol=1e-9)
    some = np.isin(BLOCKS, [0, 4, 5])
    np.testing.assert_allclose(swapped(joint, some) / size, joint / size, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_s_is_block_diagonal_and_between_zero_and_twice_the_covariance(
    method: Method, seed: int
) -> None:
    sigma = random_covariance(seed)
    s = knockoff_gaps(sigma, method, blocks=BLOCKS)
    assert not s[BLOCKS[:, None] != BLOCKS].any()
    np.testing.assert_array_equal(s, s.T)
    scale = np.sqrt(np.outer(np.diag(sigma), np.diag(sigma)))
    assert np.linalg.eigvalsh(s / scale)[0] > 0
    assert np.linalg.eigvalsh((2 * sigma - s) / scale)[0] > -1e-9


@pytest.mark.parametrize("method", METHODS)
def test_groups_of_one_column_give_the_gaps_of_columns(method: Method) -> None:
    sigma = random_covariance(0)
    s = knockoff_gaps(sigma, method, blocks=np.arange(len(sigma)))
    np.testing.assert_allclose(np.diag(s), knockoff_gaps(sigma, method), rtol=1e-6)


def test_one_group_of_all_columns_has_independent_knockoffs() -> None:
    """Nothing is promised of swaps within it, so that S = Σ, and x̃ need not depend on x."""
    sigma = random_covariance(1)
    for method in METHODS:
        s = knockoff_gaps(sigma, method, blocks=np.zeros(len(sigma), dtype=int))
        scale = np.sqrt(np.outer(np.diag(sigma), np.diag(sigma)))
        np.testing.assert_allclose(s / scale, sigma / scale, atol=1e-4)


def entropy(sigma: Array, s: Array) -> float:
    return float(np.linalg.slogdet(2 * sigma - s)[1] + np.linalg.slogdet(s)[1])


def reconstructability(sigma: Array, s: Array, root: Array) -> float:
    """The objective of "mvr" where each group's columns are uncorrelated."""
    inner = root.T @ np.linalg.inv(2 * sigma - s) @ root
    return float(np.trace(inner) + np.trace(root.T @ np.linalg.inv(s) @ root))


@pytest.mark.parametrize("seed", range(3))
def test_no_block_near_the_optimum_is_better(seed: int) -> None:
    sigma = random_covariance(seed)
    root = np.zeros_like(sigma)
    for group in range(BLOCKS.max() + 1):
        own = np.ix_(group == BLOCKS, group == BLOCKS)
        root[own] = np.linalg.cholesky(sigma[own])
    rng = np.random.default_rng(seed)
    best = {method: knockoff_gaps(sigma, method, blocks=BLOCKS) for method in ("maxent", "mvr")}
    for _ in range(50):
        change = rng.normal(size=sigma.shape)
        step = np.where(BLOCKS[:, None] == BLOCKS, root @ (change + change.T) @ root.T, 0.0)
        for size in (1e-2, 1e-3, -1e-3):
            moved = best["maxent"] + size * step * np.linalg.eigvalsh(best["maxent"])[0]
            assert entropy(sigma, moved) <= entropy(sigma, best["maxent"]) + 1e-9
            moved = best["mvr"] + size * step * np.linalg.eigvalsh(best["mvr"])[0]
            now = reconstructability(sigma, best["mvr"], root)
            assert reconstructability(sigma, moved, root) >= now * (1 - 1e-9)


def test_the_equicorrelated_construction_is_that_of_dai_and_barber() -> None:
    sigma = random_covariance(2)
    within = np.where(BLOCKS[:, None] == BLOCKS, sigma, 0.0)
    values, vectors = np.linalg.eigh(within)
    half = (vectors / np.sqrt(values)) @ vectors.T
    gamma = min(1.0, 2 * np.linalg.eigvalsh(half @ sigma @ half)[0])
    np.testing.assert_allclose(
        knockoff_gaps(sigma, "equi", blocks=BLOCKS), gamma * within, rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("method", ["equi", "sdp", "mvr", "maxent"])
def test_a_linear_map_within_groups_maps_s(method: Method) -> None:
    """So neither units nor the choice of columns that span a group matter."""
    sigma, rng = random_covariance(3), np.random.default_rng(3)
    change = np.where(BLOCKS[:, None] == BLOCKS, rng.normal(size=sigma.shape), 0.0)
    s = knockoff_gaps(sigma, method, blocks=BLOCKS)
    mapped = knockoff_gaps(change @ sigma @ change.T, method, blocks=BLOCKS)
    expected = change @ s @ change.T
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(mapped / scale, expected / scale, atol=1e-4)


def test_columns_of_a_group_stand_further_from_their_knockoffs_than_columns_alone() -> None:
    """Near-copies must stay near their knockoffs where each is swapped alone,
    and need not where they are not.
    """
    sigma = np.kron(np.eye(4), np.full((3, 3), 0.98)) + 0.02 * np.eye(12)
    blocks = np.arange(12) // 3
    for method in METHODS:
        alone = knockoff_gaps(sigma, method)
        together = np.diag(knockoff_gaps(sigma, method, blocks=blocks))
        assert (alone < 0.1).all()
        assert (together > 0.9).all()


def test_drawn_knockoffs_have_that_covariance() -> None:
    sigma = random_covariance(4)
    rng = np.random.default_rng(4)
    x = rng.multivariate_normal(np.zeros(len(sigma)), sigma, size=20_000)
    groups = {f"g{k}": np.flatnonzero(k == BLOCKS).tolist() for k in range(BLOCKS.max() + 1)}
    model = GaussianKnockoffs(covariance=sigma, mean=np.zeros(len(sigma)), random_state=0)
    drawn = model.fit(x, feature_groups=groups).sample(x)
    joint = pair_covariance(sigma, knockoff_gaps(sigma, "mvr", blocks=BLOCKS))
    scale = np.sqrt(np.outer(np.diag(joint), np.diag(joint)))
    np.testing.assert_allclose(np.cov(np.hstack([x, drawn]).T) / scale, joint / scale, atol=0.05)
