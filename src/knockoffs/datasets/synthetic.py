"""Synthetic distributions of the benchmarks, with their densities and, where known,
exact knockoffs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.checks import check_number
from knockoffs.runtime.randomness import RandomState, random_generator


@dataclass(frozen=True)
class AutoregressiveGaussian:
    r"""The paper's `gaussian`: $x \sim \mathcal N(\mu, \Sigma)$ with $\Sigma_{ij} = \rho^{|i-j|}$.

    Parameters
    ----------
    features : int, default=100
        Number of columns.
    rho : float, default=0.6
        Correlation of neighbouring columns.
    mean : float, default=0.0
        Mean of all columns.

    Examples
    --------
    >>> law = AutoregressiveGaussian(features=4)
    >>> law.sample(3, random_state=0).shape
    (3, 4)
    """

    features: int = 100
    rho: float = 0.6
    mean: float = 0.0

    @property
    def covariance(self) -> Array:
        position = np.arange(self.features)
        return self.rho ** np.abs(np.subtract.outer(position, position))

    def sample(self, rows: int, random_state: RandomState = None) -> Array:
        x = random_generator(random_state).standard_normal((rows, self.features))
        for j in range(1, self.features):
            x[:, j] = self.rho * x[:, j - 1] + np.sqrt(1 - self.rho**2) * x[:, j]
        return self.mean + x

    def log_prob(self, x: Array) -> Array:
        centred = x - self.mean
        residual = centred[:, 1:] - self.rho * centred[:, :-1]
        return norm.logpdf(centred[:, 0]) + norm.logpdf(
            residual, scale=np.sqrt(1 - self.rho**2)
        ).sum(1)

    def knockoffs(self, x: Array, random_state: RandomState = None) -> Array:
        """Exact knockoffs (MVR)."""
        pull, spread = knockoff_law(self.covariance, knockoff_gaps(self.covariance))
        noise = random_generator(random_state, stream=1).standard_normal(x.shape)
        return x - (x - self.mean) @ pull.T + noise @ np.linalg.cholesky(spread).T

    def redraw(self, x: Array, feature: int, n_draws: int, rng: np.random.Generator) -> Array:
        """Draws `[n_draws, rows]` of a column given all the others."""
        mean, deviation = self.conditional(x, feature)
        return mean + deviation * rng.standard_normal((n_draws, len(x)))

    def conditional(self, x: Array, feature: int) -> tuple[Array, float]:
        """Mean and standard deviation of a column given all the others, by its neighbours."""
        beside = [k for k in (feature - 1, feature + 1) if 0 <= k < self.features]
        slope = self.rho / (1 + self.rho**2) if len(beside) == 2 else self.rho
        variance = (
            (1 - self.rho**2) / (1 + self.rho**2)
            if len(beside) == 2
            else 1 - self.rho ** (2 * len(beside))
        )
        return self.mean + slope * (x[:, beside] - self.mean).sum(1), float(np.sqrt(variance))


@dataclass(frozen=True)
class AutoregressiveMixture:
    r"""The paper's `mixture`: $x \sim \sum_k \pi_k \mathcal N(\mu_k, \Sigma_k)$.

    Each part is as in `gaussian`.

    Parameters
    ----------
    features : int, default=100
        Number of columns.
    weights : tuple of float, default=(0.4, 0.2, 0.4)
        Weights of the clusters.
    means : tuple of float, default=(0.0, 20.0, 40.0)
        Mean of all columns in each cluster.
    rhos : tuple of float, default=(0.6, 0.4, 0.2)
        Correlation of neighbouring columns in each cluster.

    Examples
    --------
    >>> law = AutoregressiveMixture(features=4)
    >>> law.sample(3, random_state=0).shape
    (3, 4)
    """

    features: int = 100
    weights: tuple[float, ...] = (0.4, 0.2, 0.4)
    means: tuple[float, ...] = (0.0, 20.0, 40.0)
    rhos: tuple[float, ...] = (0.6, 0.4, 0.2)

    @property
    def parts(self) -> list[AutoregressiveGaussian]:
        return [
            AutoregressiveGaussian(self.features, rho, mean)
            for rho, mean in zip(self.rhos, self.means, strict=True)
        ]

    def sample(self, rows: int, random_state: RandomState = None) -> Array:
        rng = random_generator(random_state)
        cluster = rng.choice(len(self.weights), size=rows, p=self.weights)
        return _by_cluster(cluster, [part.sample(rows, rng) for part in self.parts])

    def log_prob(self, x: Array) -> Array:
        return logsumexp(self._log_terms(x), axis=0)

    def knockoffs(self, x: Array, random_state: RandomState = None) -> Array:
        """Exact knockoffs: the cluster from its posterior, Gaussian knockoffs within."""
        rng = random_generator(random_state, stream=1)
        log_terms = self._log_terms(x)
        cluster = _drawn_cluster(log_terms, rng.random(len(x)))
        return _by_cluster(cluster, [part.knockoffs(x, rng) for part in self.parts])

    def redraw(self, x: Array, feature: int, n_draws: int, rng: np.random.Generator) -> Array:
        """Draws `[n_draws, rows]` of a column given all the others: the cluster given these,
        then the column.
        """
        given = [part.conditional(x, feature) for part in self.parts]
        own = np.stack([norm.logpdf(x[:, feature], mean, deviation) for mean, deviation in given])
        log_terms = self._log_terms(x) - own  # of the other columns
        cluster = _drawn_cluster(log_terms, rng.random((n_draws, 1, len(x))))
        means, deviations = (
            np.stack([mean for mean, _ in given]),
            np.array([deviation for _, deviation in given]),
        )
        noise = rng.standard_normal(cluster.shape)
        return means[cluster, np.arange(len(x))] + deviations[cluster] * noise

    def _log_terms(self, x: Array) -> Array:
        return np.stack(
            [
                np.log(weight) + part.log_prob(x)
                for weight, part in zip(self.weights, self.parts, strict=True)
            ]
        )


@dataclass(frozen=True)
class ClaytonCopula:
    """Clayton copula with exponential margins: dependence is strong where columns are small.

    Parameters
    ----------
    features : int, default=100
        Number of columns.
    theta : float, default=2.0
        Strength of the dependence.

    Examples
    --------
    >>> law = ClaytonCopula(features=4)
    >>> law.sample(3, random_state=0).shape
    (3, 4)
    """

    features: int = 100
    theta: float = 2.0

    def sample(self, rows: int, random_state: RandomState = None) -> Array:
        rng = random_generator(random_state)
        return self._given(rng.gamma(1 / self.theta, size=(rows, 1)), rng, (rows, self.features))

    def knockoffs(self, x: Array, random_state: RandomState = None) -> Array:
        """Exact knockoffs: given a frailty that they share the columns are independent, so draw it,
        then them.
        """
        rng = random_generator(random_state, stream=1)
        evidence = (-np.expm1(-x)) ** -self.theta - 1
        frailty = rng.gamma(1 / self.theta + self.features, size=len(x)) / (1 + evidence.sum(1))
        return self._given(frailty[:, None], rng, x.shape)

    def redraw(self, x: Array, feature: int, n_draws: int, rng: np.random.Generator) -> Array:
        """Draws `[n_draws, rows]` of a column given all the others: the frailty given these,
        then the column.
        """
        evidence = (-np.expm1(-np.delete(x, feature, axis=1))) ** -self.theta - 1
        shape = (n_draws, len(x))
        frailty = rng.gamma(1 / self.theta + self.features - 1, size=shape) / (1 + evidence.sum(1))
        return self._given(frailty, rng, shape)

    def _given(self, frailty: Array, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        u = (1 + rng.exponential(size=shape) / frailty) ** (-1 / self.theta)
        return -np.log1p(-u)

    def log_prob(self, x: Array) -> Array:
        """Values outside the support count as on its boundary: a hair above zero."""
        x = np.maximum(x, 1e-12)
        log_u = np.log(-np.expm1(-x))
        order = np.arange(self.features)
        # log(Σ u^-θ - d + 1) without overflow for tiny u
        log_sum = logsumexp(-self.theta * log_u, axis=1)
        log_sum += np.log1p(-(self.features - 1) * np.exp(-log_sum))
        log_copula = (
            np.log1p(self.theta * order).sum()
            - (1 + self.theta) * log_u.sum(1)
            - (self.features + 1 / self.theta) * log_sum
        )
        return log_copula - x.sum(1)


@dataclass(frozen=True)
class JoeCopula:
    """Joe copula with exponential margins: dependence is strong where columns are large.

    Parameters
    ----------
    features : int, default=100
        Number of columns.
    theta : float, default=2.0
        Strength of the dependence.

    Examples
    --------
    >>> law = JoeCopula(features=4)
    >>> law.sample(3, random_state=0).shape
    (3, 4)
    """

    features: int = 100
    theta: float = 2.0

    def __post_init__(self) -> None:
        check_number("theta", self.theta, least=1)

    def sample(self, rows: int, random_state: RandomState = None) -> Array:
        r"""Given a frailty V of Sibuya's law, $u = \psi(e / V)$ with $\psi(t)
        = 1 - (1 - e^{-t})^{1/\theta}$.
        """
        rng = random_generator(random_state)
        # Sibuya's law is that of the first success where the chance of success is itself drawn from
        # a beta law.
        chance = np.maximum(
            rng.beta(1 / self.theta, max(1 - 1 / self.theta, 1e-12), size=(rows, 1)), 1e-300
        )
        with np.errstate(divide="ignore"):  # a chance of 1 succeeds at once
            frailty = np.maximum(np.ceil(np.log(rng.random((rows, 1))) / np.log1p(-chance)), 1.0)
        return (
            -np.log(-np.expm1(-rng.exponential(size=(rows, self.features)) / frailty)) / self.theta
        )


def _drawn_cluster(log_terms: Array, uniform: Array) -> Indices:
    """Draw clusters by their posterior probabilities, from uniform numbers `[..., rows]`."""
    cumulative = np.exp(log_terms - logsumexp(log_terms, axis=0)).cumsum(0)
    return (uniform > cumulative[:-1]).sum(-2)


def _by_cluster(cluster: Indices, tables: list[Array]) -> Array:
    """Row i of the table that `cluster[i]` names."""
    return np.stack(tables)[cluster, np.arange(len(cluster))]
