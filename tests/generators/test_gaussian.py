"""Gaussian knockoffs: the gaps are optimal and allowed, and the law of x̃ given x makes swaps invisible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law

METHODS = ["mvr", "maxent"]


def loss(correlation: np.ndarray, gaps: np.ndarray, method: str) -> float:
    """What the gaps minimise, infinite where they are not allowed."""
    values = np.linalg.eigvalsh(2 * correlation - np.diag(gaps))
    if values[0] <= 0 or gaps.min() <= 0:
        return np.inf
    if method == "mvr":
        return (1 / values).sum() + (1 / gaps).sum()
    return -np.log(values).sum() - np.log(gaps).sum()


def equicorrelated(features: int, rho: float) -> np.ndarray:
    return (1 - rho) * np.eye(features) + rho


@st.composite
def correlations(draw: st.DrawFn) -> np.ndarray:
    features = draw(st.integers(1, 6))
    root = draw(arrays(np.float64, (features, features + 1), elements=st.floats(-1, 1)))
    covariance = root @ root.T + 0.05 * np.eye(features)
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)


def assert_no_coordinate_can_improve(correlation: np.ndarray, gaps: np.ndarray, method: str) -> None:
    here = loss(correlation, gaps, method)
    assert np.isfinite(here)
    for j in range(len(gaps)):
        for factor in (0.5, 0.9, 0.98, 0.995, 1.005, 1.02, 1.1, 2.0):
            moved = gaps.copy()
            moved[j] *= factor
            assert loss(correlation, moved, method) > here - 1e-6 * abs(here), f"gap {j} times {factor}"


@pytest.mark.parametrize("method", METHODS)
@given(correlation=correlations())
def test_gaps_are_allowed_and_no_single_one_can_be_improved(method: str, correlation: np.ndarray) -> None:
    assert_no_coordinate_can_improve(correlation, knockoff_gaps(correlation, method), method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-8])
def test_gaps_of_nearly_singular_correlations(method: str, distance: float) -> None:
    correlation = equicorrelated(5, 1 - distance)
    assert_no_coordinate_can_improve(correlation, knockoff_gaps(correlation, method), method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rho", [-0.1, 0.0, 0.3, 0.9])
def test_gaps_of_equicorrelated_columns_solve_the_problem_in_one_unknown(method: str, rho: float) -> None:
    features = 6
    correlation = equicorrelated(features, rho)
    most = 2 * np.linalg.eigvalsh(correlation)[0]
    best = minimize_scalar(
        lambda s: loss(correlation, np.full(features, s), method),
        bounds=(1e-6 * most, (1 - 1e-6) * most),
        method="bounded",
        options={"xatol": 1e-10},
    )
    np.testing.assert_allclose(knockoff_gaps(correlation, method), best.x, rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_gaps_of_independent_columns_are_their_variances(method: str) -> None:
    variance = np.array([1e-4, 1.0, 300.0])
    np.testing.assert_allclose(knockoff_gaps(np.diag(variance), method), variance, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_gaps_follow_units_and_the_order_of_columns(method: str) -> None:
    covariance = AutoregressiveGaussian(6, rho=0.7).covariance
    gaps = knockoff_gaps(covariance, method)
    unit = np.array([1e-3, 1, 5, 1e4, 0.2, 1])
    np.testing.assert_allclose(knockoff_gaps(covariance * np.outer(unit, unit), method), gaps * unit**2, rtol=1e-6)
    order = np.array([3, 0, 5, 1, 4, 2])
    np.testing.assert_allclose(knockoff_gaps(covariance[np.ix_(order, order)], method), gaps[order], rtol=1e-4)


def joint_covariance(covariance: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Covariance of [x, x̃] when x̃ = x - P(x - μ) + noise of covariance C."""
    pull, spread = knockoff_law(covariance, gaps)
    keep = np.eye(len(gaps)) - pull
    return np.block([[covariance, covariance @ keep.T], [keep @ covariance, keep @ covariance @ keep.T + spread]])


@given(correlation=correlations(), method=st.sampled_from(METHODS), data=st.data())
def test_no_swap_changes_the_joint_covariance(correlation: np.ndarray, method: str, data: st.DataObject) -> None:
    features = len(correlation)
    gaps = knockoff_gaps(correlation, method)
    joint = joint_covariance(correlation, gaps)
    off = correlation - np.diag(gaps)
    np.testing.assert_allclose(joint, np.block([[correlation, off], [off, correlation]]), atol=1e-9)
    assert np.linalg.eigvalsh(joint)[0] > -1e-10
    swapped = np.array(data.draw(st.lists(st.booleans(), min_size=features, max_size=features)))
    order = np.arange(2 * features)
    order[:features][swapped] += features
    order[features:][swapped] -= features
    np.testing.assert_allclose(joint[np.ix_(order, order)], joint, atol=1e-9)


@pytest.mark.parametrize("distance", [1e-4, 1e-8])
def test_the_law_of_nearly_singular_columns_can_be_drawn_from(distance: float) -> None:
    covariance = equicorrelated(4, 1 - distance)
    _, spread = knockoff_law(covariance, knockoff_gaps(covariance))
    assert np.array_equal(spread, spread.T)
    root = np.linalg.cholesky(spread)  # raises where C is not positive definite
    np.testing.assert_allclose(root @ root.T, spread, rtol=1e-6, atol=1e-6 * distance)


@pytest.mark.parametrize("method", ["SDP", "MVR"])
def test_an_unknown_method_is_refused_by_name(method: str) -> None:
    with pytest.raises(ValueError, match=r"method=.*mvr.*maxent"):
        knockoff_gaps(np.eye(3), method)
