"""Gaussian mixture knockoffs: exact for the true mixture; the number of clusters;
what does not fit together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone

from knockoffs import GaussianKnockoffs, GaussianMixtureKnockoffs, KnockoffWarning
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture
from knockoffs.generators.compared.noise_networks import mean_discrepancy
from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law

D = 4
OVERLAPPING = AutoregressiveMixture(
    D, weights=(0.5, 0.2, 0.3), means=(0.0, 1.5, 4.0), rhos=(0.7, -0.5, 0.2)
)
SEPARATE = AutoregressiveMixture(
    D, weights=(0.5, 0.2, 0.3), means=(0.0, 20.0, 40.0), rhos=(0.7, -0.5, 0.2)
)
METHODS = ("mvr", "sdp")


def true_mixture(law: AutoregressiveMixture) -> dict[str, Any]:
    return {
        "weights": np.array(law.weights),
        "means": np.repeat(np.array(law.means)[:, None], law.features, axis=1),
        "covariances": np.stack([part.covariance for part in law.parts]),
    }


def exact(law: AutoregressiveMixture, method: str = "mvr") -> GaussianMixtureKnockoffs:
    generator = GaussianMixtureKnockoffs(method=method, **true_mixture(law), random_state=0)
    return generator.fit(law.sample(100, random_state=9))


def posterior(law: AutoregressiveMixture, x: np.ndarray) -> np.ndarray:
    log_terms = np.stack(
        [
            np.log(weight)
            + multivariate_normal(part.mean * np.ones(law.features), part.covariance).logpdf(x)
            for weight, part in zip(law.weights, law.parts, strict=True)
        ],
        axis=-1,
    )
    return np.exp(log_terms - logsumexp(log_terms, axis=-1, keepdims=True))


def joint_part(covariance: np.ndarray, method: str) -> np.ndarray:
    off = covariance - np.diag(knockoff_gaps(covariance, method))
    return np.block([[covariance, off], [off, covariance]])


def assert_mean_is(products: np.ndarray, expected: np.ndarray) -> None:
    """Column means are as expected, to within 5 of their own standard errors."""
    error = products.std(0) / np.sqrt(len(products)) + 1e-9
    assert (np.abs(products.mean(0) - expected) < 5 * error).all()


# exactness
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("law", [OVERLAPPING, SEPARATE], ids=["overlapping", "separate"])
def test_the_joint_moments_are_those_of_the_mixture_of_joint_gaussians(
    law: AutoregressiveMixture, method: str
) -> None:
    """[x, x̃] is the mixture of N([μ_k, μ_k], G_k):
    first and second moments across clusters follow.
    """
    x = law.sample(100_000, random_state=1)
    both = np.hstack([x, exact(law, method).sample(x)])
    mean = np.array(law.weights) @ law.means
    second = sum(
        weight * (joint_part(part.covariance, method) + part.mean**2)
        for weight, part in zip(law.weights, law.parts, strict=True)
    )
    assert_mean_is(both, np.full(2 * D, mean))
    i, j = np.triu_indices(2 * D)
    assert_mean_is(both[:, i] * both[:, j], np.asarray(second)[i, j])


@pytest.mark.parametrize("method", METHODS)
def test_within_a_cluster_the_knockoffs_are_gaussian_ones_of_that_cluster(method: str) -> None:
    x = SEPARATE.sample(60_000, random_state=2)
    both = np.hstack([x, exact(SEPARATE, method).sample(x)])
    cluster = np.rint(x.mean(1) / 20).astype(int)
    i, j = np.triu_indices(2 * D)
    for k, part in enumerate(SEPARATE.parts):
        centred = both[cluster == k] - part.mean
        assert_mean_is(centred, np.zeros(2 * D))
        assert_mean_is(centred[:, i] * centred[:, j], joint_part(part.covariance, method)[i, j])


def test_the_law_of_a_rows_knockoff_is_the_posterior_mixture() -> None:
    """Of one row between clusters, drawn many times: mean and covariance of Σ_k P(k | x) N(m_k(x),
    C_k).
    """
    generator, rows = exact(OVERLAPPING), 40_000
    for x in np.array([[0.7, 0.8, 0.6, 0.9], [2.5, 3.0, 2.2, 3.1], [1.0, -1.0, 2.0, 0.0]]):
        chance = posterior(OVERLAPPING, x)
        laws = [
            knockoff_law(part.covariance, knockoff_gaps(part.covariance))
            for part in OVERLAPPING.parts
        ]
        centres = [
            x - pull @ (x - part.mean)
            for (pull, _), part in zip(laws, OVERLAPPING.parts, strict=True)
        ]
        mean = chance @ centres
        second = sum(
            p * (spread + np.outer(centre - mean, centre - mean))
            for p, (_, spread), centre in zip(chance, laws, centres, strict=True)
        )
        drawn = generator.sample(np.repeat(x[None], rows, axis=0), random_state=4) - mean
        i, j = np.triu_indices(D)
        assert_mean_is(drawn, np.zeros(D))
        assert_mean_is(drawn[:, i] * drawn[:, j], np.asarray(second)[i, j])


def test_clusters_are_drawn_from_their_posterior() -> None:
    """By inversion of evenly spaced numbers, so that frequencies are the posterior to within
    rounding.
    """
    generator, points = exact(OVERLAPPING), 2000
    uniform = (np.arange(points) + 0.5) / points
    x = OVERLAPPING.sample(40, random_state=3)
    for row, expected in zip(x, posterior(OVERLAPPING, x), strict=True):
        drawn = generator._cluster(np.repeat(row[None], points, axis=0), uniform)
        np.testing.assert_allclose(
            np.bincount(drawn, minlength=3) / points, expected, atol=1.5 / points
        )


def test_the_exact_knockoffs_of_the_dataset_have_the_same_law() -> None:
    """The oracle of knockoffs.datasets was written apart from the generator."""
    x = OVERLAPPING.sample(60_000, random_state=5)
    drawn, oracle = exact(OVERLAPPING).sample(x), OVERLAPPING.knockoffs(x, random_state=6)
    for power in (1, 2, 3):
        assert_mean_is(drawn**power - oracle**power, np.zeros(D))
        assert_mean_is(x * drawn**power - x * oracle**power, np.zeros(D))
    for j in range(D - 1):
        assert_mean_is(
            (drawn[:, j] * drawn[:, j + 1] - oracle[:, j] * oracle[:, j + 1])[:, None], np.zeros(1)
        )


SWAPS = [[0], [2], [1, 3], [0, 1, 2, 3]]


def swapped(x: np.ndarray, x_tilde: np.ndarray, columns: list[int]) -> np.ndarray:
    u, u_tilde = x.copy(), x_tilde.copy()
    u[:, columns], u_tilde[:, columns] = x_tilde[:, columns], x[:, columns]
    return np.hstack([u, u_tilde])


@pytest.mark.parametrize("columns", SWAPS, ids=str)
def test_no_swap_changes_the_first_two_moments(columns: list[int]) -> None:
    x = OVERLAPPING.sample(60_000, random_state=7)
    x_tilde = exact(OVERLAPPING).sample(x)
    before, after = swapped(x, x_tilde, []), swapped(x, x_tilde, columns)
    assert_mean_is(before - after, np.zeros(2 * D))
    i, j = np.triu_indices(2 * D)
    assert_mean_is(before[:, i] * before[:, j] - after[:, i] * after[:, j], np.zeros(len(i)))


def how_visible(x: np.ndarray, x_tilde: np.ndarray, columns: list[int]) -> float:
    """Mean discrepancy of rows from other rows that are swapped, over blocks,
    in its standard errors.
    """
    block = 500
    first, rest = np.split(np.arange(len(x)), 2)
    before, after = swapped(x, x_tilde, [])[first], swapped(x, x_tilde, columns)[rest]
    found = np.array(
        [
            mean_discrepancy(
                torch.as_tensor(before[i : i + block]),
                torch.as_tensor(after[i : i + block]),
                widest=4.0,
            ).item()
            for i in range(0, len(first), block)
        ]
    )
    return found.mean() / (found.std() / np.sqrt(len(found)))


def test_no_swap_is_visible_to_a_kernel() -> None:
    """And the same test sees through knockoffs that match no more than two moments of the whole."""
    law = AutoregressiveMixture(
        D, weights=(0.5, 0.2, 0.3), means=(0.0, 2.5, 7.0), rhos=(0.7, -0.5, 0.2)
    )
    x = law.sample(20_000, random_state=8)
    x_tilde = exact(law).sample(x)
    for columns in SWAPS:
        assert abs(how_visible(x, x_tilde, columns)) < 4, columns
    second_order = GaussianKnockoffs(random_state=0).fit(x).sample(x)
    assert how_visible(x, second_order, [0, 1, 2, 3]) > 6


def test_one_cluster_is_gaussian_knockoffs() -> None:
    """The same gaps, the same law of x̃ given x: slopes from shared noise,
    moments from many draws of one row.
    """
    unit = np.array([1.0, 30.0, 0.01, 2.0])
    covariance = AutoregressiveGaussian(D, rho=0.7).covariance * np.outer(unit, unit)
    mean, x = 3 * unit, AutoregressiveGaussian(D, rho=0.7).sample(100, random_state=0) * unit
    one = GaussianMixtureKnockoffs(
        weights=[1.0], means=[mean], covariances=[covariance], random_state=0
    ).fit(x)
    other = GaussianKnockoffs(covariance=covariance, mean=mean, random_state=0).fit(x)
    np.testing.assert_allclose(one.gaps_[0], other.gaps_)
    slopes, moments = [], []
    for generator in (one, other):
        at_zero = generator.sample(np.zeros((1, D)), random_state=1)
        steps = [generator.sample(step[None], random_state=1) - at_zero for step in np.diag(unit)]
        slopes.append(np.vstack(steps) / unit)
        many = generator.sample(np.zeros((100_000, D)), random_state=2) / unit
        moments.append(np.vstack([many.mean(0), np.cov(many.T)]))
    np.testing.assert_allclose(*slopes, atol=1e-6)
    np.testing.assert_allclose(*moments, atol=0.02)


# the fit
# --------------------------------------------------------------------------------------------------


def test_the_number_of_clusters_is_found() -> None:
    law = AutoregressiveMixture(D, weights=(0.4, 0.2, 0.4), means=(0.0, 8.0, 16.0))
    generator = GaussianMixtureKnockoffs(random_state=0).fit(law.sample(1500, random_state=0))
    order = generator.means_.mean(1).argsort()
    assert len(order) == 3
    np.testing.assert_allclose(generator.weights_[order], law.weights, atol=0.05)
    np.testing.assert_allclose(generator.means_[order], true_mixture(law)["means"], atol=0.3)
    np.testing.assert_allclose(
        generator.covariances_[order], true_mixture(law)["covariances"], atol=0.35
    )


def test_one_gaussian_is_one_cluster() -> None:
    x = AutoregressiveGaussian(D).sample(600, random_state=0)
    generator = GaussianMixtureKnockoffs(random_state=0).fit(x)
    assert len(generator.weights_) == 1
    np.testing.assert_allclose(generator.covariances_[0], np.cov(x.T, bias=True), atol=0.01)


def test_most_clusters_bounds_the_search_and_clusters_sets_their_number() -> None:
    x = SEPARATE.sample(600, random_state=0)
    assert len(GaussianMixtureKnockoffs(most_clusters=2, random_state=0).fit(x).weights_) == 2
    for clusters in (1, 2, 4):
        assert len(GaussianMixtureKnockoffs(clusters, random_state=0).fit(x).weights_) == clusters


def test_more_clusters_than_the_rows_allow_are_not_silently_one() -> None:
    x = AutoregressiveGaussian(10).sample(60, random_state=0)
    with pytest.raises((ValueError, KnockoffWarning), match="clusters"):
        GaussianMixtureKnockoffs(8, random_state=0).fit(x)


# arguments
# --------------------------------------------------------------------------------------------------

TRUE = true_mixture(OVERLAPPING)
NEGATIVE = np.array([[1.0, -0.9, -0.9, 0], [-0.9, 1, -0.9, 0], [-0.9, -0.9, 1, 0], [0, 0, 0, 1]])
BAD_ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "weights only": (
        {"weights": TRUE["weights"]},
        "weights, means and covariances.*all three or none",
    ),
    "no weights": ({**TRUE, "weights": None}, "all three or none"),
    "no covariances": ({**TRUE, "covariances": None}, "all three or none"),
    "two means": (
        {**TRUE, "means": TRUE["means"][:2]},
        r"shapes \(3,\), \(2, 4\).*pass \(3,\), \(3, 4\)",
    ),
    "one covariance": ({**TRUE, "covariances": TRUE["covariances"][0]}, r"shapes.*\(4, 4\); pass"),
    "columns": ({**TRUE, "means": TRUE["means"][:, :3]}, r"\(3, 3\).*\(3, 4\)"),
    "weights beyond one": ({**TRUE, "weights": [0.5, 0.5, 0.5]}, "weights=.*add up to 1"),
    "no weight": ({**TRUE, "weights": [0.5, 0.5, 0.0]}, "weights=.*above 0"),
    "missing weight": ({**TRUE, "weights": [0.5, 0.5, np.nan]}, "weights="),
    "missing mean": (
        {**TRUE, "means": np.where(np.eye(3, 4), np.nan, TRUE["means"])},
        "means.*finite",
    ),
    "missing covariance": (
        {**TRUE, "covariances": np.where(np.eye(4), np.nan, TRUE["covariances"])},
        "covariance.*finite",
    ),
    "asymmetric": ({**TRUE, "covariances": np.triu(TRUE["covariances"])}, "covariance.*symmetric"),
    "no variance": ({**TRUE, "covariances": np.zeros((3, 4, 4))}, "covariance.*variance"),
    "indefinite": ({**TRUE, "covariances": np.stack([NEGATIVE] * 3)}, "covariance.*below 0"),
    "no clusters": ({"clusters": 0}, "clusters=0 is not valid"),
    "word": ({"clusters": "many"}, "clusters='many' is not valid"),
    "most clusters": ({"most_clusters": 0}, "most_clusters=0 is not valid"),
    "method": ({"method": "asdp"}, "method='asdp' is not valid"),
}


@pytest.mark.parametrize(("settings", "said"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
def test_arguments_that_do_not_fit_together(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GaussianMixtureKnockoffs(**settings, random_state=0).fit(
            OVERLAPPING.sample(100, random_state=0)
        )


def test_columns_that_are_left_out_take_their_entries_of_a_given_mixture_along() -> None:
    x = OVERLAPPING.sample(200, random_state=0)
    table = np.insert(x, 1, 7.0, axis=1)
    kept = [0, 2, 3, 4]
    means, covariances = np.full((3, 5), 7.0), np.stack([np.eye(5)] * 3)
    means[:, kept] = TRUE["means"]
    covariances[np.ix_(range(3), kept, kept)] = TRUE["covariances"]
    settings = {"weights": TRUE["weights"], "means": means, "covariances": covariances}
    with pytest.warns(KnockoffWarning, match="constant"):
        generator = GaussianMixtureKnockoffs(**settings, random_state=0).fit(table)
    drawn = generator.sample(table)
    assert (drawn[:, 1] == 7).all()
    np.testing.assert_array_equal(drawn[:, kept], exact(OVERLAPPING).sample(x))


@pytest.mark.parametrize("kind", [np.array, np.ndarray.tolist], ids=["array", "list"])
def test_a_given_mixture_survives_files_and_clone(kind: Any, tmp_path: Path) -> None:
    x = OVERLAPPING.sample(200, random_state=0)
    settings = {name: kind(value) for name, value in TRUE.items()}
    generator = GaussianMixtureKnockoffs(**settings, random_state=3).fit(x)
    expected = generator.sample(x, n_draws=2)
    generator.save(tmp_path / "first")
    loaded = GaussianMixtureKnockoffs.load(tmp_path / "first")
    loaded.save(tmp_path / "second")
    for model in (loaded, GaussianMixtureKnockoffs.load(tmp_path / "second"), clone(loaded).fit(x)):
        np.testing.assert_array_equal(np.asarray(model.covariances), TRUE["covariances"])
        np.testing.assert_array_equal(model.sample(x, n_draws=2), expected)


def test_units_differ_by_many_orders_between_columns() -> None:
    """Densities of clusters, and so the posterior, are the same in any unit,
    exactly in powers of two.
    """
    unit = 2.0 ** np.array([-300, 0, 200, 3])
    x = OVERLAPPING.sample(500, random_state=0)
    scaled = GaussianMixtureKnockoffs(
        weights=TRUE["weights"],
        means=TRUE["means"] * unit,
        covariances=TRUE["covariances"] * np.outer(unit, unit),
        random_state=0,
    ).fit(x * unit)
    np.testing.assert_allclose(
        scaled.sample(x * unit) / unit, exact(OVERLAPPING).sample(x), rtol=1e-6, atol=1e-6
    )


def test_tables_of_pandas_carry_given_mixtures() -> None:
    x = pd.DataFrame(OVERLAPPING.sample(100, random_state=0), columns=list("abcd"))
    drawn = GaussianMixtureKnockoffs(**TRUE, random_state=0).fit(x).sample(x)
    np.testing.assert_array_equal(drawn.to_numpy(), exact(OVERLAPPING).sample(x.to_numpy()))
