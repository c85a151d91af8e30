"""The gaps of "sdp" on covariances that are sparse or all but singular: allowed,
and proven to be the largest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from knockoffs import GaussianKnockoffs
from knockoffs.generators.gaps import widest
from knockoffs.generators.gaussian import correlations, knockoff_gaps, knockoff_law

Make = Callable[[int, np.random.Generator], np.ndarray]


def sparse_symmetric(features: int, rng: np.random.Generator) -> np.ndarray:
    """Three entries per row on average."""
    upper = np.triu(rng.random((features, features)) < 3 / features, 1) * rng.uniform(
        -1, 1, (features, features)
    )
    return upper + upper.T


def shifted(matrix: np.ndarray, smallest: float) -> np.ndarray:
    return matrix + (smallest - np.linalg.eigvalsh(matrix)[0]) * np.eye(len(matrix))


def sparse_covariance(features: int, rng: np.random.Generator) -> np.ndarray:
    return shifted(sparse_symmetric(features, rng), 0.05)


def all_but_singular(features: int, rng: np.random.Generator) -> np.ndarray:
    return shifted(sparse_symmetric(features, rng), 1e-5)


def sparse_precision(features: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.inv(shifted(sparse_symmetric(features, rng), 0.1))


def sparse_root(features: int, rng: np.random.Generator) -> np.ndarray:
    root = np.tril(rng.random((features, features)) < 3 / features, -1) * rng.normal(
        size=(features, features)
    )
    root += np.eye(features)
    return root @ root.T


def banded(features: int, rng: np.random.Generator) -> np.ndarray:
    root = np.eye(features) + sum(np.diag(rng.normal(size=features - k), -k) for k in (1, 2))
    return root @ root.T + 1e-5 * np.eye(features)


def blocks_of_columns(features: int, rng: np.random.Generator) -> np.ndarray:
    roots = rng.normal(size=(features // 5, 5, 6))
    covariance = np.zeros((features, features))
    for k, root in enumerate(roots):
        covariance[5 * k : 5 * k + 5, 5 * k : 5 * k + 5] = root @ root.T
    return covariance


MAKES = [
    sparse_covariance,
    all_but_singular,
    sparse_precision,
    sparse_root,
    banded,
    blocks_of_columns,
]


def assert_allowed(correlation: np.ndarray, s: np.ndarray) -> None:
    assert s.min() > 0
    assert s.max() <= 1
    assert np.linalg.eigvalsh(2 * correlation - np.diag(s))[0] > -1e-10


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("features", [20, 100])
@pytest.mark.parametrize("seed", range(3))
def test_the_gaps_are_allowed_and_a_dual_point_proves_them_the_largest(
    make: Make, features: int, seed: int
) -> None:
    """tr Z (2Σ - D) ≥ 0 and s ≤ 1 bound the sum of any allowed s, whatever found them."""
    correlation, _ = correlations(make(features, np.random.default_rng(seed)))
    s = knockoff_gaps(correlation, "sdp")
    assert_allowed(correlation, s)
    start = 0.9 * min(1.0, 2 * np.linalg.eigvalsh(correlation)[0])
    _, z = widest(correlation, np.arange(features), start)
    assert np.linalg.eigvalsh(z)[0] >= 0
    bound = 2 * np.vdot(correlation, z) + np.maximum(1 - np.diag(z), 0).sum()
    assert bound * (1 - 2e-6) <= s.sum() <= bound


@pytest.mark.parametrize("make", MAKES)
def test_gaps_of_groups_that_share_theirs(make: Make) -> None:
    correlation, _ = correlations(make(60, np.random.default_rng(0)))
    of = np.arange(60) // 3
    s, z = widest(correlation, of, 0.9 * min(1.0, 2 * np.linalg.eigvalsh(correlation)[0]))
    assert_allowed(correlation, s)
    np.testing.assert_array_equal(s, s[3 * of])
    assert np.linalg.eigvalsh(z)[0] >= 0
    bound = 2 * np.vdot(correlation, z) + np.maximum(np.bincount(of, 1 - np.diag(z)), 0).sum()
    assert bound * (1 - 2e-6) <= s.sum() <= bound


@pytest.mark.parametrize("given", [True, False], ids=["given", "empirical"])
def test_knockoffs_of_a_sparse_covariance_have_its_moments(given: bool) -> None:
    covariance = sparse_covariance(100, np.random.default_rng(4))
    x = np.random.default_rng(5).multivariate_normal(np.zeros(100), covariance, size=20_000)
    model = GaussianKnockoffs(
        "sdp", covariance=covariance if given else "empirical", random_state=0
    ).fit(x)
    pull, spread = knockoff_law(model.covariance_, model.gaps_)
    keep = np.eye(100) - pull
    np.testing.assert_allclose(
        keep @ model.covariance_ @ keep.T + spread, model.covariance_, atol=1e-9
    )
    between = x.T @ model.sample(x) / len(x) - (covariance - np.diag(model.gaps_))
    deviation = np.sqrt(np.diag(covariance))
    assert np.abs(between / np.outer(deviation, deviation)).max() < 6 / 20_000**0.5
