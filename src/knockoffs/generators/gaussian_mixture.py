"""Knockoffs of a mixture of Gaussians: the cluster first, then Gaussian knockoffs within it."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.covariance import ledoit_wolf
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from knockoffs.generators.base import RowwiseGenerator
from knockoffs.generators.gaps import shrunk_between_groups
from knockoffs.generators.gaussian import (
    METHODS,
    KnockoffLaw,
    Method,
    gaussian_memory,
    invertible,
    knockoff_gaps,
    require_covariance,
    take_gaps,
)
from knockoffs.generators.markov import draw_states
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.checks import check_choice, check_count
from knockoffs.runtime.memory import FLOAT64
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.randomness import RandomState

REGULARISATION = 1e-3  # of a column's variance


class GaussianMixtureKnockoffs(RowwiseGenerator):
    """Knockoffs of a mixture of Gaussians (Gimenez, Ghorbani and Zou 2019).

    A row's cluster is drawn from its posterior, then a Gaussian knockoff within that cluster. Exact
    where the rows follow the given mixture.

    Parameters
    ----------
    clusters : int or "auto", default="auto"
        Number of clusters; "auto" takes the best of 1 to `most_clusters` by the Bayesian
        information criterion.
    method : {"mvr", "maxent", "sdp", "equi"}, default="mvr"
        How far knockoffs stand from their features, as for `GaussianKnockoffs`.
    most_clusters : int, default=5
        The most clusters that "auto" tries.
    weights : array of shape (n_clusters,), default=None
        Weights of the mixture where it is known; together with `means` and `covariances`, or none
        of the three.
    means : array of shape (n_clusters, n_features), default=None
        Means of the clusters.
    covariances : array of shape (n_clusters, n_features, n_features), default=None
        Covariances of the clusters.
    random_state : int, numpy Generator or None, default=None
        Seed; the same seed gives the same knockoffs on the same machine.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import GaussianMixtureKnockoffs
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = GaussianMixtureKnockoffs(clusters=2, random_state=0).fit(X)
    >>> model.sample(X).shape
    (200, 3)
    """

    name = "gaussian-mixture"

    def __init__(
        self,
        clusters: int | Literal["auto"] = "auto",
        method: Method = "mvr",
        *,
        most_clusters: int = 5,
        weights: ArrayLike | None = None,
        means: ArrayLike | None = None,
        covariances: ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.clusters = clusters
        self.method = method
        self.most_clusters = most_clusters
        self.weights = weights
        self.means = means
        self.covariances = covariances
        self.random_state = random_state

    def has_given_model(self) -> bool:
        return self.means is not None

    def _check_settings(self) -> None:
        check_choice("method", self.method, METHODS)
        check_count("most_clusters", self.most_clusters)
        if self.clusters != "auto":
            check_count("clusters", self.clusters)
        given = [self.weights is not None, self.means is not None, self.covariances is not None]
        if any(given) and not all(given):
            raise ValueError(
                "weights, means and covariances describe one mixture: pass all three or none."
            )

    def _fit(self, core: Array, rng: np.random.Generator) -> None:
        if self.weights is not None:
            self._take_given()
        else:
            self._estimate(core, int(rng.integers(2**31)))
        self.covariances_ = np.stack(
            [invertible(c, self.encoding_.blocks) for c in self.covariances_]
        )
        self.gaps_ = np.stack(
            [knockoff_gaps(c, self.method, blocks=self.encoding_.blocks) for c in self.covariances_]
        )
        self._find_laws()

    def _fit_memory(self, rows: int, columns: int) -> float:
        most = self.most_clusters if self.clusters == "auto" else int(self.clusters)
        clusters = max(1, min(most, (rows - 1) // columns))  # more are not tried
        # scikit-learn's mixture keeps covariances and the roots of their inverses, and those of its
        # best start.
        return gaussian_memory(rows, columns) + FLOAT64 * 8 * clusters * columns**2

    def _take_given(self) -> None:
        kept = self.modelled_
        weights, means, covariances = (
            np.asarray(value, dtype=np.float64)
            for value in (self.weights, self.means, self.covariances)
        )
        count, features = len(weights), self.n_features_in_
        if means.shape != (count, features) or covariances.shape != (count, features, features):
            raise ValueError(
                f"weights, means and covariances have shapes {weights.shape}, {means.shape}, "
                f"{covariances.shape}; "
                f"pass ({count},), ({count}, {features}) and ({count}, {features}, {features})."
            )
        if not np.isfinite(means).all():
            raise ValueError("means must be finite numbers.")
        _require_mixture(weights, covariances)
        self.weights_, self.means_ = weights, means[:, kept]
        self.covariances_ = covariances[:, kept][:, :, kept]

    def _estimate(self, core: Array, seed: int) -> None:
        if (
            self.clusters != "auto"
            and self.clusters > 1
            and self.clusters * core.shape[1] >= len(core)
        ):
            raise ValueError(
                f"clusters={self.clusters} of {core.shape[1]} columns need more than "
                f"{self.clusters * core.shape[1]} rows; there are {len(core)}. Pass fewer clusters."
            )
        deviation = core.std(0)
        z = core / deviation
        counts = (
            range(1, self.most_clusters + 1) if self.clusters == "auto" else [int(self.clusters)]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixtures = [
                GaussianMixture(k, reg_covar=REGULARISATION, n_init=2, random_state=seed).fit(z)
                for k in counts
                if k * core.shape[1] < len(core)
            ] or [GaussianMixture(1, reg_covar=REGULARISATION, random_state=seed).fit(z)]
        best = min(mixtures, key=lambda mixture: mixture.bic(z))
        labels = best.predict(z)
        clusters = [
            z[labels == k] for k in range(best.n_components) if np.count_nonzero(labels == k) > 1
        ]
        # Shrunk within each cluster: EM's own covariances of a few hundred rows are too rough to
        # invert.
        self.weights_ = np.array([len(rows) for rows in clusters]) / sum(map(len, clusters))
        self.means_ = np.stack([rows.mean(0) for rows in clusters]) * deviation
        blocks = self.encoding_.blocks
        shrunk = [
            ledoit_wolf(r)[0] if blocks is None else shrunk_between_groups(r, blocks)
            for r in clusters
        ]
        self.covariances_ = np.stack(shrunk) * np.outer(deviation, deviation)

    def _find_laws(self) -> None:
        mixture = zip(self.means_, self.covariances_, self.gaps_, strict=True)
        self._laws = [KnockoffLaw(mean, covariance, gaps) for mean, covariance, gaps in mixture]
        self._unit = np.sqrt(
            self.covariances_.diagonal(axis1=1, axis2=2).mean(0)
        )  # so that no column's unit matters
        self._precision_roots = [
            np.linalg.cholesky(np.linalg.inv(c / np.outer(self._unit, self._unit)))
            for c in self.covariances_
        ]

    def _cluster(self, core: Array, uniform: Array) -> Indices:
        """A cluster for each row, drawn from its posterior."""
        log_joint = np.stack(
            [
                np.log(weight)
                + np.log(np.diag(root)).sum()
                - 0.5 * (((core - mean) / self._unit @ root) ** 2).sum(1)
                for weight, mean, root in zip(
                    self.weights_, self.means_, self._precision_roots, strict=True
                )
            ],
            axis=1,
        )
        chance = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
        return draw_states(chance, uniform)

    def _sample(self, core: Array, rng: np.random.Generator) -> Array:
        for_cluster, for_noise = rng.spawn(2)
        cluster = self._cluster(core, for_cluster.random(len(core)))
        noise = for_noise.standard_normal(core.shape)
        drawn = np.empty_like(core)
        for k, law in enumerate(self._laws):
            rows = cluster == k
            drawn[rows] = law.draw(core[rows], noise[rows])
        return drawn

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {
            "weights": self.weights_,
            "means": self.means_,
            "covariances": self.covariances_,
            "gaps": self.gaps_,
        }

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        columns = self._modelled_count
        self.weights_ = take_array(arrays, "weights", (None,))
        clusters = len(self.weights_)
        self.means_ = take_array(arrays, "means", (clusters, columns))
        self.covariances_ = take_array(arrays, "covariances", (clusters, columns, columns))
        self.gaps_ = take_gaps(arrays, (clusters, columns), self.encoding_.blocks)
        _require_mixture(self.weights_, self.covariances_)
        self._find_laws()


def _require_mixture(weights: Array, covariances: Array) -> None:
    for covariance in covariances:
        require_covariance("covariances", covariance)
    if weights.min() <= 0 or not np.isclose(weights.sum(), 1):
        raise ValueError(f"weights={weights.tolist()} must be above 0 and add up to 1.")
