"""Linear-Gaussian models: a covariance and its chain of regressions are the same thing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import ledoit_wolf

from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators import linear
from knockoffs.generators.linear import LinearGaussian, Moments, fit_factor, fit_shrunk, fit_sparse

ESTIMATORS = {"sparse": fit_sparse, "shrunk": fit_shrunk, "factor": partial(fit_factor, factors=2)}


@st.composite
def covariances(draw: st.DrawFn) -> np.ndarray:
    """Positive definite, of any correlation and of scales that differ."""
    features = draw(st.integers(1, 6))
    root = draw(arrays(np.float64, (features, features + 1), elements=st.floats(-1, 1)))
    scale = 10 ** draw(arrays(np.float64, features, elements=st.floats(-3, 3)))
    return (root @ root.T + 0.02 * np.eye(features)) * np.outer(scale, scale)


@given(covariances())
def test_from_covariance_and_back(covariance: np.ndarray) -> None:
    model = LinearGaussian.from_covariance(np.zeros(len(covariance)), covariance)
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(
        model.covariance / np.outer(scale, scale), covariance / np.outer(scale, scale), atol=1e-10
    )
    assert np.array_equal(model.slope, np.tril(model.slope, -1))
    assert (model.variance > 0).all()


@given(covariances(), st.integers(0, 2**32 - 1))
def test_the_chain_of_regressions_has_the_joint_density(covariance: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = np.sqrt(np.diag(covariance))
    mean, x = (scale * rng.normal(size=len(scale)) for _ in range(2))
    model = LinearGaussian.from_covariance(mean, covariance)
    chain = norm.logpdf(x, model.intercept + model.slope @ x, np.sqrt(model.variance)).sum()
    standardised = multivariate_normal.logpdf(
        (x - mean) / scale, cov=covariance / np.outer(scale, scale)
    )
    np.testing.assert_allclose(chain, standardised - np.log(scale).sum(), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.log_prob(x[None]), [chain], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())
def test_estimators_follow_shifts(estimator: object) -> None:
    x = AutoregressiveGaussian(6).sample(300, random_state=0)
    shift = np.arange(6) * 10.0
    plain, shifted = estimator(Moments.of(x)), estimator(Moments.of(x + shift))
    np.testing.assert_allclose(plain.mean, x.mean(0))
    np.testing.assert_allclose(shifted.mean, plain.mean + shift)
    np.testing.assert_allclose(shifted.slope, plain.slope, atol=1e-9)
    np.testing.assert_allclose(shifted.variance, plain.variance, rtol=1e-9)


@pytest.mark.parametrize("name", ["sparse", "factor"])
def test_estimators_follow_units(name: str) -> None:
    """Shrinkage does not: it pulls towards a multiple of the identity."""
    x = AutoregressiveGaussian(6).sample(300, random_state=0)
    unit = np.array([0.01, 1, 7, 1e3, 1, 1e-3])
    plain, scaled = (ESTIMATORS[name](Moments.of(rows)) for rows in (x, x * unit))
    np.testing.assert_allclose(
        scaled.covariance, plain.covariance * np.outer(unit, unit), rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_sparse_finds_the_graph_of_an_autoregression(seed: int) -> None:
    law = AutoregressiveGaussian(features=15, rho=0.6)
    model = fit_sparse(Moments.of(law.sample(1500, random_state=seed)))
    neighbours = np.eye(15, k=-1, dtype=bool)
    assert (model.slope[neighbours] != 0).all()
    assert (
        np.count_nonzero(model.slope[~neighbours]) <= 2
    )  # of 91; the criterion lets one in by chance now and then
    np.testing.assert_allclose(np.diag(model.slope, -1), 0.6, atol=5 * 0.8 / np.sqrt(1500))
    np.testing.assert_allclose(model.variance[1:], 1 - 0.6**2, rtol=5 * np.sqrt(2 / 1500))


def test_sparse_slopes_are_least_squares_on_the_chosen_columns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 10)) @ rng.normal(size=(10, 10))
    model = fit_sparse(Moments.of(x))
    centred = x - x.mean(0)
    residual = centred - centred @ model.slope.T
    chosen = model.slope != 0
    assert chosen.sum() > 15
    for j in range(10):
        np.testing.assert_allclose(residual[:, j] @ centred[:, chosen[j]], 0, atol=1e-8)
        unbiased = (
            (residual[:, j] ** 2).sum() / (200 - chosen[j].sum() - 1) if j else centred[:, 0].var()
        )
        np.testing.assert_allclose(model.variance[j], unbiased, rtol=1e-8)


def test_sparse_survives_columns_that_are_sums_of_others() -> None:
    x = AutoregressiveGaussian(4).sample(200, random_state=0)
    model = fit_sparse(Moments.of(np.column_stack([x, x.sum(1), x[:, 0] - x[:, 1]])))
    assert np.isfinite(model.slope).all()
    assert (model.variance > 0).all()
    assert model.variance[4] < 0.5  # of about 8: the sum is nearly told


@pytest.mark.parametrize(("rows", "features"), [(50, 6), (20, 40), (400, 1)])
def test_shrunk_is_ledoit_and_wolf(rows: int, features: int) -> None:
    x = AutoregressiveGaussian(features).sample(rows, random_state=0)
    np.testing.assert_allclose(
        fit_shrunk(Moments.of(x)).covariance, ledoit_wolf(x)[0], rtol=1e-9, atol=1e-12
    )


def test_factor_beats_the_empirical_covariance_on_new_rows() -> None:
    rng = np.random.default_rng(0)
    loadings = rng.uniform(0.5, 1.5, size=20)
    truth = np.outer(loadings, loadings) + np.diag(rng.uniform(0.3, 1, size=20))
    x, new = (rng.multivariate_normal(np.zeros(20), truth, size=rows) for rows in (60, 2000))
    model = fit_factor(Moments.of(x), factors=1)

    def score(mean: np.ndarray, covariance: np.ndarray) -> float:
        return multivariate_normal.logpdf(new, mean, covariance).mean()

    best = score(np.zeros(20), truth)
    ours, empirical = score(model.mean, model.covariance), score(x.mean(0), np.cov(x.T))
    assert empirical < ours < best
    assert best - ours < (best - empirical) / 2


def test_factor_with_enough_rows_finds_loadings_and_noise() -> None:
    rng = np.random.default_rng(0)
    loadings = np.array([1.0, -0.8, 0.6, 1.2, 0.5, -1.0])
    noise = np.array([0.5, 0.4, 1.0, 0.3, 0.8, 0.6])
    truth = np.outer(loadings, loadings) + np.diag(noise)
    x = rng.multivariate_normal(np.zeros(6), truth, size=20000)
    np.testing.assert_allclose(fit_factor(Moments.of(x), factors=1).covariance, truth, atol=0.08)


def test_factors_by_steps_from_the_last_directions_are_those_of_all_eigenvectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 120)) + rng.normal(size=(400, 120))
    for factors in (2, 5, 10):
        quick = fit_factor(Moments.of(x), factors=factors)
        with monkeypatch.context() as patch:
            patch.setattr(linear, "ALL_DIRECTIONS", 120)
            exact = fit_factor(Moments.of(x), factors=factors)
        np.testing.assert_allclose(
            quick.covariance, exact.covariance, atol=0.01 * exact.covariance.max()
        )


def test_moments_within_groups_are_those_of_centred_rows() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(rows, 4)) @ rng.normal(size=(4, 4)) + rows for rows in (30, 70)]
    centred = Moments.of(np.concatenate([group - group.mean(0) for group in groups]))
    found = Moments.within([Moments.of(group) for group in groups])
    assert found.rows == centred.rows == 100
    for name in ("mean", "covariance", "fourth"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(centred, name), rtol=1e-9, atol=1e-12
        )


def test_factor_leaves_variances_as_they_are() -> None:
    x = AutoregressiveGaussian(6).sample(300, random_state=0)
    np.testing.assert_allclose(
        np.diag(fit_factor(Moments.of(x), factors=2).covariance), x.var(0), rtol=1e-6
    )
