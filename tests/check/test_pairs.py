"""A swap turns signs of h and nothing else; increasing maps turn nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from knockoffs.check.pairs import Pairs, inverse_root
from knockoffs.datasets import AutoregressiveGaussian

from .conftest import LAW, PAIRS, exact_pair, swap_cells


@given(kind=st.sampled_from([*PAIRS]), rows=st.integers(3, 40), seed=st.integers(0, 1000))
def test_a_swap_turns_signs_of_h_and_changes_nothing_else(kind: str, rows: int, seed: int) -> None:
    x, x_tilde = PAIRS[kind](rows, seed)
    cells = np.random.default_rng(seed).random(x.shape) < 0.5
    pairs, other = Pairs(x, x_tilde), Pairs(*swap_cells(x, x_tilde, cells))
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(other.half, np.where(cells, -1, 1) * pairs.half, **close)
    for name in ("middle", "half_variance", "middle_covariance", "covariance", "own_variance"):
        np.testing.assert_allclose(
            getattr(other, name), getattr(pairs, name), rtol=1e-6, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize(
    "increase", [np.exp, lambda t: t**3, lambda t: 1e6 + 3 * t, lambda t: np.rint(100 * t)]
)
def test_increasing_maps_of_columns_change_nothing(increase: object) -> None:
    x, x_tilde = (np.rint(100 * t) / 100 for t in exact_pair(50, 0))
    pairs, other = Pairs(x, x_tilde), Pairs(increase(x), increase(x_tilde))
    np.testing.assert_array_equal(other.x, pairs.x)
    np.testing.assert_array_equal(other.x_tilde, pairs.x_tilde)


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS.keys())
def test_the_scale_is_standard_and_keeps_the_order(make: object) -> None:
    x, x_tilde = make(80, 1)
    pairs = Pairs(x, x_tilde)
    scores, raw = np.concatenate([pairs.x, pairs.x_tilde]), np.concatenate([x, x_tilde])
    np.testing.assert_allclose(scores.std(0), 1)
    for score, column in zip(scores.T, raw.T, strict=True):
        order = np.argsort(column, kind="stable")
        np.testing.assert_array_equal(np.diff(score[order]) > 0, np.diff(column[order]) > 0)


def test_swapped_columns_swap_back() -> None:
    pairs = Pairs(*exact_pair(20, 2))
    columns = np.arange(6) % 2 == 0
    u, u_tilde = pairs.swapped(columns)
    np.testing.assert_array_equal(np.where(columns, u_tilde, u), pairs.x)
    np.testing.assert_array_equal(np.where(columns, u, u_tilde), pairs.x_tilde)
    none, everything = pairs.swapped(np.zeros(6, bool)), pairs.swapped(np.ones(6, bool))
    np.testing.assert_array_equal(none, [pairs.x, pairs.x_tilde])
    np.testing.assert_array_equal(everything, [pairs.x_tilde, pairs.x])


def test_the_covariance_is_that_of_the_rows_where_knockoffs_are_exact() -> None:
    pairs = Pairs(*exact_pair(20_000, 3))
    np.testing.assert_allclose(pairs.covariance, LAW.covariance, atol=0.03)
    np.testing.assert_allclose(
        pairs.own_variance, 1 / np.diag(np.linalg.inv(LAW.covariance)), atol=0.03
    )


def test_the_inverse_root_whitens() -> None:
    covariance = AutoregressiveGaussian(features=5, rho=0.9).covariance
    root = inverse_root(covariance)
    np.testing.assert_allclose(root, root.T)
    np.testing.assert_allclose(root @ covariance @ root, np.eye(5), atol=1e-10)


def test_constants_and_copies_have_finite_parts() -> None:
    x, x_tilde = exact_pair(30, 4)
    x[:, 0] = x_tilde[:, 0] = 7.0
    x_tilde[:, 1] = x[:, 1]
    pairs = Pairs(x, x_tilde)
    assert (pairs.half[:, :2] == 0).all()
    for name in ("middle", "covariance", "own_variance"):
        assert np.isfinite(getattr(pairs, name)).all(), name
