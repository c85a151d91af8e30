"""Gaussian knockoffs: the gaps are optimal and allowed,
and the law of x̃ given x makes swaps invisible.
"""

from __future__ import annotations

import inspect
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import differential_evolution, minimize_scalar
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf

from knockoffs import GaussianKnockoffs, KnockoffWarning
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law

METHODS = ["mvr", "maxent"]
ALL_METHODS = [*METHODS, "sdp", "equi"]


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


def assert_no_coordinate_can_improve(
    correlation: np.ndarray, gaps: np.ndarray, method: str
) -> None:
    here = loss(correlation, gaps, method)
    assert np.isfinite(here)
    for j in range(len(gaps)):
        for factor in (0.5, 0.9, 0.98, 0.995, 1.005, 1.02, 1.1, 2.0):
            moved = gaps.copy()
            moved[j] *= factor
            assert loss(correlation, moved, method) > here - 1e-6 * abs(here), (
                f"gap {j} times {factor}"
            )


@pytest.mark.parametrize("method", METHODS)
@given(correlation=correlations())
def test_gaps_are_allowed_and_no_single_one_can_be_improved(
    method: str, correlation: np.ndarray
) -> None:
    assert_no_coordinate_can_improve(correlation, knockoff_gaps(correlation, method), method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-8])
def test_gaps_of_nearly_singular_correlations(method: str, distance: float) -> None:
    correlation = equicorrelated(5, 1 - distance)
    assert_no_coordinate_can_improve(correlation, knockoff_gaps(correlation, method), method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rho", [-0.1, 0.0, 0.3, 0.9])
def test_gaps_of_equicorrelated_columns_solve_the_problem_in_one_unknown(
    method: str, rho: float
) -> None:
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
    np.testing.assert_allclose(
        knockoff_gaps(covariance * np.outer(unit, unit), method), gaps * unit**2, rtol=1e-6
    )
    order = np.array([3, 0, 5, 1, 4, 2])
    np.testing.assert_allclose(
        knockoff_gaps(covariance[np.ix_(order, order)], method), gaps[order], rtol=1e-4
    )


def joint_covariance(covariance: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Covariance of [x, x̃] when x̃ = x - P(x - μ) + noise of covariance C."""
    pull, spread = knockoff_law(covariance, gaps)
    keep = np.eye(len(gaps)) - pull
    return np.block(
        [
            [covariance, covariance @ keep.T],
            [keep @ covariance, keep @ covariance @ keep.T + spread],
        ]
    )


@given(correlation=correlations(), method=st.sampled_from(METHODS), data=st.data())
def test_no_swap_changes_the_joint_covariance(
    correlation: np.ndarray, method: str, data: st.DataObject
) -> None:
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


# gaps of "sdp" and "equi"
# ---------------------------------------------------------------------------------------


@given(correlation=correlations())
def test_equal_gaps_are_as_wide_as_they_may_be(correlation: np.ndarray) -> None:
    gaps = knockoff_gaps(correlation, "equi")
    np.testing.assert_allclose(gaps, min(1, 2 * np.linalg.eigvalsh(correlation)[0]), rtol=1e-6)
    assert np.linalg.eigvalsh(2 * correlation - np.diag(gaps))[0] >= -1e-12


@pytest.mark.parametrize(
    ("rho", "expected"), [(-0.1, 1), (0.0, 1), (0.5, 1), (0.8, 0.4), (0.95, 0.1)]
)
def test_equal_gaps_of_equicorrelated_columns(rho: float, expected: float) -> None:
    """The smallest eigenvalue is 1 - rho, or 1 + 5 rho where that is below."""
    np.testing.assert_allclose(knockoff_gaps(equicorrelated(6, rho), "equi"), expected, rtol=1e-6)


@given(correlation=correlations())
def test_sdp_gaps_are_allowed_and_sum_to_at_least_those_of_other_methods(
    correlation: np.ndarray,
) -> None:
    gaps = knockoff_gaps(correlation, "sdp")
    assert (gaps >= 0).all()
    assert (gaps <= 1 + 1e-9).all()
    assert np.linalg.eigvalsh(2 * correlation - np.diag(gaps))[0] >= -1e-9
    # all of them are allowed in the problem that "sdp" solves
    for other in ("equi", "mvr", "maxent"):
        assert gaps.sum() >= (1 - 1e-3) * knockoff_gaps(correlation, other).sum(), other


# under the name that this version of scipy knows
SEED = {"rng" if "rng" in inspect.signature(differential_evolution).parameters else "seed": 0}


def largest_sum_of_gaps(correlation: np.ndarray) -> float:
    """By search over all allowed gaps, which shares of what the gaps before leave to each
    parametrise.
    """
    features = len(correlation)

    def minus_sum(shares: np.ndarray) -> float:
        inverse, total = np.linalg.inv(2 * correlation), 0.0
        for j, share in enumerate([*shares, 1.0]):
            gap = (1 - 1e-9) * share * min(1.0, 1 / inverse[j, j])
            inverse = inverse + gap / (1 - gap * inverse[j, j]) * np.outer(
                inverse[:, j], inverse[j]
            )
            total += gap
        return -total

    shares = [(0, 1)] * (features - 1)
    found = differential_evolution(minus_sum, shares, tol=1e-8, popsize=12, polish=False, **SEED)
    return -found.fun


@pytest.mark.parametrize("features", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_sdp_gaps_have_the_largest_sum_there_is(features: int, seed: int) -> None:
    root = np.random.default_rng(seed).normal(size=(features, features + 1))
    covariance = root @ root.T
    correlation = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    best = largest_sum_of_gaps(correlation)
    found = knockoff_gaps(correlation, "sdp").sum()
    assert best - 1.01e-4 * features <= found <= best + 1e-5  # within μ d, as the docstring says


@pytest.mark.parametrize("rho", [0.2, 0.6, 0.9, 0.99, 0.99999])
def test_sdp_gaps_of_two_columns(rho: float) -> None:
    """(2 - s)(2 - t) = 4 rho² bounds them, so s = t = 2 - 2 rho has the largest sum."""
    found = knockoff_gaps(equicorrelated(2, rho), "sdp").sum()
    assert found == pytest.approx(2 * min(1.0, 2 - 2 * rho), rel=1e-3)


@pytest.mark.parametrize("method", ["sdp", "equi"])
def test_sdp_and_equal_gaps_follow_units(method: str) -> None:
    covariance = AutoregressiveGaussian(6, rho=0.7).covariance
    gaps = knockoff_gaps(covariance, method)
    unit = np.array([1e-3, 1, 5, 1e4, 0.2, 1])
    np.testing.assert_allclose(
        knockoff_gaps(covariance * np.outer(unit, unit), method), gaps * unit**2, rtol=1e-5
    )
    np.testing.assert_allclose(knockoff_gaps(np.diag(unit), method), unit, rtol=1e-4)


# the generator
# --------------------------------------------------------------------------------------------------

UNIT = np.array([1.0, 20.0, 0.03, 1.0, 5.0])
MEAN = np.array([3.0, -100.0, 0.0, 1e3, 0.5])
SIGMA = AutoregressiveGaussian(5, rho=-0.7).covariance * np.outer(UNIT, UNIT)


def rows_of(covariance: Any, rows: int, mean: Any = 0.0, seed: int = 0) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    noise = np.random.default_rng(seed).normal(size=(rows, len(values)))
    return mean + noise @ (vectors * np.sqrt(np.maximum(values, 0))).T


X = rows_of(SIGMA, 400, MEAN)


def law_of(generator: GaussianKnockoffs, features: int) -> tuple[np.ndarray, np.ndarray]:
    """The matrix and the offset of E(x̃ | x), from knockoffs that share their noise:
    only x differs.
    """
    zero, steps = np.zeros((1, features)), np.eye(features)
    at_zero = generator.sample(zero, random_state=1)
    matrix = np.vstack([generator.sample(step[None], random_state=1) - at_zero for step in steps]).T
    many = generator.sample(np.zeros((100_000, features)), random_state=2)
    return matrix, many.mean(0)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_the_joint_covariance_is_that_of_knockoffs(method: str) -> None:
    """cov [x, x̃] = [[Σ, Σ - D], [Σ - D, Σ]], by algebra and in 200,000 rows."""
    generator = GaussianKnockoffs(method, covariance=SIGMA, mean=MEAN, random_state=0).fit(X)
    gaps = generator.gaps_
    np.testing.assert_allclose(gaps, knockoff_gaps(SIGMA, method))
    off = SIGMA - np.diag(gaps)
    expected = np.block([[SIGMA, off], [off, SIGMA]])
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(joint_covariance(SIGMA, gaps) / scale, expected / scale, atol=1e-9)

    x = rows_of(SIGMA, 200_000, MEAN, seed=5)
    both = np.hstack([x, generator.sample(x)])
    found = np.cov(both.T)
    error = np.sqrt((scale**2 + expected**2) / len(x))
    assert (np.abs(found - expected) < 5 * error).all()
    mean_error = np.sqrt(np.diag(expected) / len(x))
    assert (np.abs(both.mean(0) - np.tile(MEAN, 2)) < 5 * mean_error).all()


@pytest.mark.parametrize("method", ALL_METHODS)
def test_knockoffs_follow_their_rows_as_the_law_says(method: str) -> None:
    generator = GaussianKnockoffs(method, covariance=SIGMA, mean=MEAN, random_state=0).fit(X)
    pull, spread = knockoff_law(SIGMA, generator.gaps_)
    matrix, offset = law_of(generator, 5)
    np.testing.assert_allclose(
        matrix * UNIT / UNIT[:, None], (np.eye(5) - pull) * UNIT / UNIT[:, None], atol=1e-6
    )
    error = np.sqrt(np.diag(spread) / 100_000) + 1e-9 * UNIT
    assert (np.abs(offset - pull @ MEAN) < 5 * error).all()


@pytest.mark.parametrize("method", ALL_METHODS)
def test_no_swap_changes_the_joint_covariance_whatever_the_method(method: str) -> None:
    joint = joint_covariance(SIGMA, knockoff_gaps(SIGMA, method)) / np.outer(
        np.tile(UNIT, 2), np.tile(UNIT, 2)
    )
    assert np.linalg.eigvalsh(joint)[0] > -1e-9
    for j in range(5):
        order = np.arange(10)
        order[[j, j + 5]] = j + 5, j
        np.testing.assert_allclose(joint[np.ix_(order, order)], joint, atol=1e-9)


def test_a_given_covariance_and_mean_are_used_as_they_are() -> None:
    generator = GaussianKnockoffs(covariance=SIGMA, mean=MEAN, random_state=0).fit(X)
    np.testing.assert_array_equal(generator.covariance_, SIGMA)
    np.testing.assert_array_equal(generator.mean_, MEAN)
    others = rows_of(np.diag(UNIT**2), 300, seed=8)
    expected = generator.sample(X)
    for covariance, mean in (
        (SIGMA, MEAN),
        (SIGMA.tolist(), MEAN.tolist()),
        (pd.DataFrame(SIGMA), tuple(MEAN)),
    ):
        other = GaussianKnockoffs(covariance=covariance, mean=mean, random_state=0).fit(others)
        np.testing.assert_array_equal(other.sample(X), expected)


def test_estimated_moments() -> None:
    empirical = GaussianKnockoffs(covariance="empirical", random_state=0).fit(X)
    np.testing.assert_allclose(empirical.covariance_, np.cov(X.T, bias=True))
    np.testing.assert_allclose(empirical.mean_, X.mean(0))
    shrunk = GaussianKnockoffs(random_state=0).fit(X)
    np.testing.assert_allclose(np.diag(shrunk.covariance_), X.var(0))
    correlation = ledoit_wolf((X - X.mean(0)) / X.std(0))[0]
    np.testing.assert_allclose(shrunk.covariance_, correlation * np.outer(X.std(0), X.std(0)))


BAD_MOMENTS = {
    "too small": ({"covariance": SIGMA[:4, :4]}, r"covariance has shape \(4, 4\).*\(5, 5\)"),
    "not square": ({"covariance": SIGMA[:4]}, r"covariance has shape \(4, 5\)"),
    "variances": ({"covariance": np.diag(SIGMA)}, r"covariance has shape \(5,\)"),
    "missing": ({"covariance": np.where(np.eye(5), np.nan, SIGMA)}, "covariance.*finite numbers"),
    "asymmetric": ({"covariance": np.triu(SIGMA)}, "covariance.*symmetric"),
    "asymmetric, small unit": ({"covariance": 1e-12 * np.triu(SIGMA)}, "covariance.*symmetric"),
    "no variance": (
        {"covariance": SIGMA * (np.arange(5) > 0) * (np.arange(5) > 0)[:, None]},
        "variances above 0",
    ),
    "negative variance": ({"covariance": -SIGMA}, "variances above 0"),
    "indefinite": (
        {"covariance": equicorrelated(5, -0.5)},
        "eigenvalue -1, which is below 0.*positive definite",
    ),
    "short mean": ({"mean": MEAN[:4]}, r"mean has shape \(4,\).*\(5,\)"),
    "single mean": ({"mean": 0.0}, r"mean has shape \(\)"),
    "infinite mean": ({"mean": np.full(5, np.inf)}, "mean.*finite numbers"),
    "unknown estimate": (
        {"covariance": "oas"},
        "covariance='oas' is not valid.*'ledoit-wolf', 'empirical'",
    ),
    "unknown method": ({"method": "asdp"}, "method='asdp' is not valid.*'sdp', 'equi'"),
}


@pytest.mark.parametrize(("settings", "said"), BAD_MOMENTS.values(), ids=BAD_MOMENTS.keys())
def test_bad_moments(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GaussianKnockoffs(**settings).fit(X)


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("distance", [0.0, 1e-8, -1e-9])
def test_a_covariance_that_is_all_but_singular_is_raised_and_warned_of(
    method: str, distance: float
) -> None:
    covariance = equicorrelated(5, 1 - distance) * np.outer(UNIT, UNIT)
    generator = GaussianKnockoffs(method, covariance=covariance, mean=np.zeros(5), random_state=0)
    with pytest.warns(KnockoffWarning, match="all but singular.*Drop such columns") as caught:
        generator.fit(X)
    assert {warning.filename for warning in caught} == {__file__}
    np.testing.assert_allclose(generator.covariance_, covariance, rtol=1e-5)
    np.testing.assert_allclose(np.diag(generator.covariance_), UNIT**2)
    drawn = generator.sample(X)
    assert np.isfinite(drawn).all()
    assert (generator.gaps_ > 0).any()
    # Rows that obey the covariance get near-copies.
    x = rows_of(covariance, 200)
    assert (np.abs(generator.sample(x) - x).max(0) < 0.05 * UNIT).all()


@pytest.mark.parametrize("method", ALL_METHODS)
def test_fewer_rows_than_columns(method: str) -> None:
    x = AutoregressiveGaussian(80, rho=0.5).sample(60, random_state=0)
    with pytest.warns(KnockoffWarning, match="all but singular.*ledoit-wolf"):
        singular = GaussianKnockoffs(method, covariance="empirical", random_state=0).fit(x)
    for generator in (singular, GaussianKnockoffs(method, random_state=0).fit(x)):
        drawn = generator.sample(x)
        assert np.isfinite(drawn).all()
        assert np.abs(drawn).max() < 100


def test_columns_that_are_left_out_take_their_entries_of_a_given_covariance_along() -> None:
    table = np.insert(X, 2, 7.0, axis=1)  # a constant
    table = np.column_stack([table, X[:, 1]])  # a duplicate
    full = np.cov(rows_of(np.eye(7), 50).T)  # any matrix will do where columns are left out
    kept = [0, 1, 3, 4, 5]
    full[np.ix_(kept, kept)] = SIGMA
    full = np.where(np.isin(np.arange(7), kept), full, full.T)
    mean = np.insert(np.append(MEAN, 99.0), 2, 7.0)
    generator = GaussianKnockoffs(covariance=full, mean=mean, random_state=0)
    with pytest.warns(KnockoffWarning) as caught:
        generator.fit(table)
    assert len(caught) == 2
    np.testing.assert_array_equal(generator.covariance_, SIGMA)
    np.testing.assert_array_equal(generator.mean_, MEAN)
    drawn = generator.sample(table)
    assert (drawn[:, 2] == 7).all()
    np.testing.assert_array_equal(drawn[:, [1, 6]], table[:, [1, 6]])
    expected = GaussianKnockoffs(covariance=SIGMA, mean=MEAN, random_state=0).fit(X).sample(X)
    np.testing.assert_array_equal(drawn[:, [0, 3, 4, 5]], expected[:, [0, 2, 3, 4]])


@pytest.mark.parametrize(
    "kind", [np.array, np.ndarray.tolist, pd.DataFrame], ids=["array", "list", "frame"]
)
@pytest.mark.parametrize("method", ["mvr", "sdp"])
def test_a_given_covariance_survives_files_and_clone(
    kind: Any, method: str, tmp_path: Path
) -> None:
    generator = GaussianKnockoffs(method, covariance=kind(SIGMA), mean=MEAN, random_state=3).fit(X)
    expected = generator.sample(X, n_draws=2)
    generator.save(tmp_path / "first")
    loaded = GaussianKnockoffs.load(tmp_path / "first")
    loaded.save(tmp_path / "second")
    again = GaussianKnockoffs.load(tmp_path / "second")
    for model in (loaded, again, clone(generator).fit(X), clone(loaded).fit(X)):
        np.testing.assert_array_equal(np.asarray(model.covariance), SIGMA)
        np.testing.assert_array_equal(np.asarray(model.mean), MEAN)
        assert model.method == method
        np.testing.assert_array_equal(model.sample(X, n_draws=2), expected)
        np.testing.assert_array_equal(model.gaps_, generator.gaps_)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_a_hundred_columns_take_less_than_a_second(method: str) -> None:
    x = AutoregressiveGaussian(100).sample(1000, random_state=0)
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        GaussianKnockoffs(method, random_state=0).fit(x).sample(x)
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("own", [1e-4, 1e-8, 1e-11])
def test_gaps_where_others_all_but_determine_some_columns(method: str, own: float) -> None:
    """Such as totals beside rounded parts: no warning, and gaps as small as they must be,
    no smaller.
    """
    loadings = np.random.default_rng(0).normal(size=(20, 3))
    unique = np.r_[np.full(10, own), np.ones(10)]
    covariance = loadings @ loadings.T + np.diag(unique)
    gaps = knockoff_gaps(covariance, method)
    given_others = 1 / np.diag(np.linalg.inv(covariance))
    assert (gaps[:10] > 0.1 * given_others[:10]).all()
    assert (gaps <= 2 * given_others * (1 + 1e-3)).all()
