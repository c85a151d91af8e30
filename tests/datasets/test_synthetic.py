"""Synthetic laws: densities integrate to one, samples follow them, exact knockoffs are exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.stats import expon, kendalltau, kstest, multivariate_normal

from knockoffs.datasets import (
    AutoregressiveGaussian,
    AutoregressiveMixture,
    ClaytonCopula,
    JoeCopula,
)
from knockoffs.generators.gaussian import knockoff_gaps

GAUSSIAN = AutoregressiveGaussian(features=2, rho=0.7, mean=3.0)
MIXTURE = AutoregressiveMixture(
    features=2, weights=(0.3, 0.5, 0.2), means=(0.0, 2.0, 6.0), rhos=(0.6, 0.4, -0.2)
)
CLAYTON = ClaytonCopula(features=2, theta=2.0)
LAWS = {"gaussian": GAUSSIAN, "mixture": MIXTURE, "clayton": CLAYTON}


def on_grid(law: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A grid t, and density and log-density (both with respect to dt) of two columns there.

    Positive columns are laid out as x = exp(t), so that the peak at zero gets its share of points.
    """
    positive = isinstance(law, ClaytonCopula)
    t = np.linspace(-25, 4, 1201) if positive else np.linspace(-8, 16, 801)
    points = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    log_prob = law.log_prob(np.exp(points) if positive else points)
    log_density = log_prob + points.sum(1) if positive else log_prob
    return t, np.exp(log_density).reshape(len(t), len(t)), log_prob.reshape(len(t), len(t))


def integral(t: np.ndarray, values: np.ndarray) -> float:
    return simpson(simpson(values, x=t), x=t)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_densities_integrate_to_one(law: object) -> None:
    t, density, _ = on_grid(law)
    assert integral(t, density) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_samples_have_the_entropy_of_the_density(law: object) -> None:
    """The mean log-density of a sample from p is -entropy;
    of any other law it is almost surely not.
    """
    t, density, log_prob = on_grid(law)
    scores = law.log_prob(law.sample(20000, random_state=0))
    error = scores.std() / np.sqrt(len(scores))
    assert scores.mean() == pytest.approx(integral(t, density * log_prob), abs=4 * error)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_samples_have_the_density_s_means_and_covariance(law: object) -> None:
    t, density, _ = on_grid(law)
    x = np.exp(t) if isinstance(law, ClaytonCopula) else t
    sample = law.sample(40000, random_state=1)

    def expected(values: np.ndarray) -> float:
        return integral(t, density * values)

    for power_first, power_second in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2)):
        drawn = sample[:, 0] ** power_first * sample[:, 1] ** power_second
        exact = expected(np.multiply.outer(x**power_first, x**power_second))
        assert drawn.mean() == pytest.approx(exact, abs=4.5 * drawn.std() / np.sqrt(len(drawn)))


@pytest.mark.parametrize("theta", [0.5, 2.0, 8.0])
def test_clayton_has_its_kendall_tau_and_exponential_margins(theta: float) -> None:
    x = ClaytonCopula(features=3, theta=theta).sample(4000, random_state=0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert kendalltau(x[:, i], x[:, j]).statistic == pytest.approx(
            theta / (theta + 2), abs=0.04
        )
    for column in x.T:
        assert kstest(column, expon.cdf).pvalue > 1e-3


def test_clayton_equals_the_textbook_formula() -> None:
    x = CLAYTON.sample(100, random_state=0)
    u, theta = 1 - np.exp(-x), CLAYTON.theta
    textbook = (
        (1 + theta) * u.prod(1) ** (-1 - theta) * ((u**-theta).sum(1) - 1) ** (-2 - 1 / theta)
    )
    np.testing.assert_allclose(CLAYTON.log_prob(x), np.log(textbook) - x.sum(1), rtol=1e-8)


def test_clayton_stays_finite_in_its_corners() -> None:
    corner = np.array([1e-9, 1e-3, 1.0, 40.0])
    points = np.stack(np.meshgrid(corner, corner, corner), axis=-1).reshape(-1, 3)
    assert np.isfinite(ClaytonCopula(features=3, theta=8.0).log_prob(points)).all()
    assert np.isfinite(ClaytonCopula(features=3).log_prob(np.array([[-1.0, 0.0, 1.0]]))).all()


@pytest.mark.parametrize("theta", [1.5, 2.0, 5.0])
def test_joe_has_its_kendall_tau_and_exponential_margins(theta: float) -> None:
    k = np.arange(1, 100_000)
    tau = 1 - 4 * np.sum(1 / (k * (theta * k + 2) * (theta * (k - 1) + 2)))
    assert theta != 2 or tau == pytest.approx(0.355, abs=1e-3)
    x = JoeCopula(features=3, theta=theta).sample(4000, random_state=0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert kendalltau(x[:, i], x[:, j]).statistic == pytest.approx(tau, abs=0.04)
    for column in x.T:
        assert kstest(column, expon.cdf).pvalue > 1e-3


def test_joe_depends_in_the_upper_tail() -> None:
    """P(second above its q-quantile | first is) tends to 2 - 2^(1/θ) at the top,
    to 0 at the bottom.
    """
    x = JoeCopula(features=2, theta=2.0).sample(40000, random_state=0)
    high, low = -np.log(0.01), -np.log(0.99)
    above, below = (x > high), (x < low)
    upper, lower = above.all(1).sum() / above[:, 0].sum(), below.all(1).sum() / below[:, 0].sum()
    assert upper == pytest.approx(2 - np.sqrt(2), abs=4 * np.sqrt(0.25 / above[:, 0].sum()))
    assert lower < 0.1
    clayton = CLAYTON.sample(40000, random_state=0)  # the other way round
    assert (clayton < low).all(1).sum() > 3 * (clayton > high).all(1).sum()


def test_joe_equals_the_textbook_formula() -> None:
    """C(u, v) = 1 - (a + b - ab)^(1/θ) with a = (1 - u)^θ, b = (1 - v)^θ, at nine points."""
    theta, rows = 3.0, 40000
    u = -np.expm1(-JoeCopula(features=2, theta=theta).sample(rows, random_state=1))
    for first, second in np.ndindex(3, 3):
        p, q = (0.25 + 0.25 * first, 0.25 + 0.25 * second)
        a, b = (1 - p) ** theta, (1 - q) ** theta
        exact = 1 - (a + b - a * b) ** (1 / theta)
        share = np.mean((u[:, 0] <= p) & (u[:, 1] <= q))
        assert share == pytest.approx(exact, abs=4.5 * np.sqrt(exact * (1 - exact) / rows))


def test_joe_of_theta_one_is_independent() -> None:
    """The smallest θ that the family has, as θ → 0 is of Clayton's."""
    x = JoeCopula(features=2, theta=1.0).sample(4000, random_state=0)
    assert abs(kendalltau(x[:, 0], x[:, 1]).statistic) < 0.05
    assert kstest(x[:, 0], expon.cdf).pvalue > 1e-3


def test_joe_has_exponential_margins_where_dependence_is_strong() -> None:
    x = JoeCopula(features=2, theta=20.0).sample(4000, random_state=0)
    assert np.isfinite(x).all()
    assert kstest(x[:, 0], expon.cdf).pvalue > 1e-3


def test_joe_s_seed_gives_the_same_rows() -> None:
    law = JoeCopula(features=4)
    np.testing.assert_array_equal(law.sample(10, random_state=3), law.sample(10, random_state=3))
    assert not np.array_equal(law.sample(10, random_state=3), law.sample(10, random_state=4))


def test_gaussian_log_prob_is_that_of_its_covariance() -> None:
    law = AutoregressiveGaussian(features=5, rho=-0.4, mean=2.0)
    x = law.sample(20, random_state=0)
    np.testing.assert_allclose(
        law.log_prob(x), multivariate_normal.logpdf(x, np.full(5, 2.0), law.covariance)
    )


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_the_same_seed_gives_the_same_rows(law: object) -> None:
    np.testing.assert_array_equal(law.sample(10, random_state=3), law.sample(10, random_state=3))
    assert not np.array_equal(law.sample(10, random_state=3), law.sample(10, random_state=4))


@pytest.mark.parametrize("seeds", [(0, 1), (5, 5)], ids=["two seeds", "one seed for both"])
def test_exact_gaussian_knockoffs_have_the_joint_covariance(seeds: tuple[int, int]) -> None:
    law = AutoregressiveGaussian(features=5, rho=0.6, mean=-1.0)
    rows = 40000
    x = law.sample(rows, random_state=seeds[0])
    joint = np.cov(np.hstack([x, law.knockoffs(x, random_state=seeds[1])]).T)
    off = law.covariance - np.diag(knockoff_gaps(law.covariance))
    exact = np.block([[law.covariance, off], [off, law.covariance]])
    np.testing.assert_allclose(joint, exact, atol=4.5 * np.sqrt(2 / rows))


@pytest.mark.parametrize("seeds", [(0, 1), (5, 5)], ids=["two seeds", "one seed for both"])
def test_exact_mixture_knockoffs_have_moments_that_no_swap_changes(seeds: tuple[int, int]) -> None:
    law = AutoregressiveMixture(features=3, weights=(0.3, 0.7), means=(0.0, 2.0), rhos=(0.7, 0.2))
    rows = 40000
    x = law.sample(rows, random_state=seeds[0])
    x_tilde = law.knockoffs(x, random_state=seeds[1])
    for mask in np.ndindex(2, 2, 2):
        u, u_tilde = np.where(mask, x_tilde, x), np.where(mask, x, x_tilde)
        before, after = np.hstack([x, x_tilde]), np.hstack([u, u_tilde])
        for power in (1, 2):
            difference = np.einsum("ni,nj->nij", before**power, before) - np.einsum(
                "ni,nj->nij", after**power, after
            )
            error = difference.std(0) / np.sqrt(rows)
            assert (np.abs(difference.mean(0)) <= 4.5 * error + 1e-12).all()


def test_mixture_knockoffs_stay_with_their_cluster_where_clusters_are_apart() -> None:
    law = AutoregressiveMixture(features=10)
    x = law.sample(500, random_state=0)
    x_tilde = law.knockoffs(x, random_state=1)
    np.testing.assert_array_equal(np.rint(x.mean(1) / 20), np.rint(x_tilde.mean(1) / 20))
    assert np.abs(x - x_tilde).max() > 1
