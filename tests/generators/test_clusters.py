"""Starts: conditionals that multiply to exactly the densities they stand for."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.density.starts import LinearConditionals
from knockoffs.generators import clusters as starts
from knockoffs.generators.clusters import (
    ClusteredGaussian,
    cluster_rows,
    fit_clustered,
    joint_conditionals,
    knockoff_conditionals,
)
from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law
from knockoffs.generators.linear import LinearGaussian, Moments, fit_shrunk, fit_sparse

pytestmark = pytest.mark.usefixtures("double_precision")

FEATURES = 4
COVARIANCE = np.array(
    [[2.0, 0.6, 0.3, -0.2], [0.6, 1.0, 0.4, 0.1], [0.3, 0.4, 1.5, 0.7], [-0.2, 0.1, 0.7, 1.2]]
)
MEANS = np.array([[0.0, 1.0, -1.0, 0.5], [3.0, -2.0, 4.0, 1.5], [1.0, 0.0, 0.0, -3.0]])


def one_cluster() -> ClusteredGaussian:
    part = LinearGaussian.from_covariance(MEANS[0], COVARIANCE)
    return ClusteredGaussian.single(part)


def clusters_of_equal_covariance(weights: list[float]) -> ClusteredGaussian:
    parts = [LinearGaussian.from_covariance(mean, COVARIANCE) for mean in MEANS[: len(weights)]]
    within = LinearGaussian.from_covariance(np.zeros(FEATURES), COVARIANCE)
    spread = np.cov(MEANS[: len(weights)].T) + COVARIANCE
    overall = LinearGaussian.from_covariance(MEANS[: len(weights)].mean(0), spread)
    return ClusteredGaussian(np.array(weights), parts, within, overall)


def rows(seed: int) -> np.ndarray:
    """Rows all over the place, not only where the models put them."""
    return np.random.default_rng(seed).normal(scale=3, size=(50, FEATURES))


def log_prob(
    conditionals: LinearConditionals, y: np.ndarray, context: np.ndarray | None = None
) -> np.ndarray:
    given = None if context is None else torch.as_tensor(context)
    return conditionals.log_prob(torch.as_tensor(y), given).numpy()


def mixture_log_prob(weights: list[float], x: np.ndarray) -> np.ndarray:
    terms = [
        np.log(weight) + multivariate_normal.logpdf(x, mean, COVARIANCE)
        for weight, mean in zip(weights, MEANS, strict=False)
    ]
    return logsumexp(terms, axis=0)


def test_one_cluster_is_the_gaussian() -> None:
    x = rows(0)
    exact = multivariate_normal.logpdf(x, MEANS[0], COVARIANCE)
    np.testing.assert_allclose(log_prob(joint_conditionals(one_cluster()), x), exact, rtol=1e-9)


@pytest.mark.parametrize("weights", [[0.3, 0.7], [0.5, 0.2, 0.3]], ids=["two", "three"])
def test_clusters_of_equal_covariance_are_the_mixture(weights: list[float]) -> None:
    x = rows(1)
    model = clusters_of_equal_covariance(weights)
    np.testing.assert_allclose(
        log_prob(joint_conditionals(model), x), mixture_log_prob(weights, x), rtol=1e-9
    )


def knockoff_log_prob(mean: np.ndarray, x_tilde: np.ndarray, x: np.ndarray) -> np.ndarray:
    pull, spread = knockoff_law(COVARIANCE, knockoff_gaps(COVARIANCE, "maxent"))
    expected = x - (x - mean) @ pull.T
    return multivariate_normal.logpdf(x_tilde - expected, np.zeros(FEATURES), spread)


def test_knockoffs_of_one_cluster_follow_the_law_of_gaussian_knockoffs() -> None:
    x, x_tilde = rows(2), rows(3)
    exact = knockoff_log_prob(MEANS[0], x_tilde, x)
    np.testing.assert_allclose(
        log_prob(knockoff_conditionals(one_cluster()), x_tilde, x), exact, rtol=1e-9
    )


@pytest.mark.parametrize("weights", [[0.3, 0.7], [0.5, 0.2, 0.3]], ids=["two", "three"])
def test_knockoffs_of_clusters_draw_the_cluster_given_x(weights: list[float]) -> None:
    x, x_tilde = rows(4), rows(5)
    terms = [
        np.log(weight)
        + multivariate_normal.logpdf(x, mean, COVARIANCE)
        + knockoff_log_prob(mean, x_tilde, x)
        for weight, mean in zip(weights, MEANS, strict=False)
    ]
    exact = logsumexp(terms, axis=0) - mixture_log_prob(weights, x)
    model = clusters_of_equal_covariance(weights)
    np.testing.assert_allclose(log_prob(knockoff_conditionals(model), x_tilde, x), exact, rtol=1e-9)


@pytest.mark.parametrize("weights", [[1.0], [0.3, 0.7]], ids=["one", "two"])
def test_exact_starts_have_no_swap_divergence(weights: list[float]) -> None:
    """q_joint(x) q_knockoff(x̃ | x) is the same before and after any swap,
    at every pair of rows.
    """
    model = one_cluster() if len(weights) == 1 else clusters_of_equal_covariance(weights)
    joint, knockoff = joint_conditionals(model), knockoff_conditionals(model)
    x, x_tilde = rows(6), rows(7)
    mask = np.random.default_rng(8).random(x.shape) < 0.5
    u, u_tilde = np.where(mask, x_tilde, x), np.where(mask, x, x_tilde)
    before = log_prob(joint, x) + log_prob(knockoff, x_tilde, x)
    np.testing.assert_allclose(
        log_prob(joint, u) + log_prob(knockoff, u_tilde, u), before, rtol=1e-6
    )


@pytest.mark.parametrize("weights", [[1.0], [0.3, 0.7]], ids=["one", "two"])
def test_no_column_sees_itself_or_a_later_one(weights: list[float]) -> None:
    model = one_cluster() if len(weights) == 1 else clusters_of_equal_covariance(weights)
    forbidden = torch.ones(FEATURES, FEATURES).triu().bool()
    for conditionals in (joint_conditionals(model), knockoff_conditionals(model)):
        for slope in (conditionals.slope, conditionals.logit_slope, conditionals.seen_slope):
            assert (slope[..., -FEATURES:][:, forbidden] == 0).all()


def two_groups() -> tuple[np.ndarray, np.ndarray]:
    """300 rows about -5 and 100 about +5, in random order, and which is which."""
    law = AutoregressiveGaussian(FEATURES, rho=0.5)
    group = np.random.default_rng(0).permutation(np.repeat([0, 1], [300, 100]))
    return law.sample(400, random_state=1) - 5 + 10 * group[:, None], group


def test_rows_are_clustered_by_where_they_lie() -> None:
    x, group = two_groups()
    labels = cluster_rows(x, 2, seed=0)
    assert labels is not None
    assert np.array_equal(labels == labels[0], group == group[0])


def test_clusters_that_do_not_settle_are_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are a start, and held-out rows judge what comes of it."""
    x = np.random.default_rng(0).normal(size=(400, 3))
    hasty = partial(GaussianMixture, max_iter=2, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        hasty(3, covariance_type="diag", random_state=0).fit(x)
    monkeypatch.setattr(starts, "GaussianMixture", hasty)
    cluster_rows(x, 3, seed=0)  # warnings are errors here


def test_a_cluster_too_small_to_fit_is_no_cluster() -> None:
    x, group = two_groups()
    few = np.concatenate([x[group == 0], x[group == 1][:10]])
    assert cluster_rows(few, 2, seed=0) is None


def test_each_cluster_gets_its_own_model_and_all_rows_one() -> None:
    x, group = two_groups()
    overall = fit_shrunk(Moments.of(x))
    model = fit_clustered(x, group, fit_shrunk, overall)
    np.testing.assert_allclose(model.weights, [0.75, 0.25])
    for k, part in enumerate(model.parts):
        np.testing.assert_allclose(
            part.covariance, fit_shrunk(Moments.of(x[group == k])).covariance
        )
        np.testing.assert_allclose(part.mean, x[group == k].mean(0))
    assert model.overall is overall
    np.testing.assert_allclose(model.within.mean, 0, atol=1e-12)
    assert model.within.covariance[0, 0] < 2 < 15 < model.overall.covariance[0, 0]


def test_clusters_of_many_rows_are_learned_from_some_and_hold_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, group = two_groups()
    monkeypatch.setattr(starts, "CLUSTERED_ROWS", 150)
    monkeypatch.setattr(starts, "CLUSTERED_CELLS", 0)
    labels = cluster_rows(x, 2, seed=0)
    assert labels is not None
    assert np.array_equal(labels == labels[0], group == group[0])


def test_with_one_cluster_all_three_models_are_one() -> None:
    x, _ = two_groups()
    model = ClusteredGaussian.single(fit_sparse(Moments.of(x)))
    assert model.parts[0] is model.within is model.overall
    assert model.weights.tolist() == [1.0]
