"""Good beginnings for DDLK: clustered linear-Gaussian models, and their exact knockoffs,
as conditionals.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from knockoffs.density.starts import LinearConditionals
from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law
from knockoffs.generators.linear import Estimator, LinearGaussian, Moments
from knockoffs.runtime.arrays import Array, Indices

MIN_CLUSTER = 30  # rows
CLUSTERED_ROWS, CLUSTERED_CELLS = 2_000, 10**6  # from which clusters are learned, whichever is more


@dataclass(frozen=True, slots=True)
class ClusteredGaussian:
    """A linear-Gaussian model in each cluster of rows, one of all rows,
    and one about the cluster means.
    """

    weights: Array  # [K]
    parts: Sequence[LinearGaussian]
    within: LinearGaussian
    overall: LinearGaussian

    @classmethod
    def single(cls, model: LinearGaussian) -> ClusteredGaussian:
        """All rows in one cluster."""
        return cls(np.ones(1), [model], model, model)


def fit_clustered(
    x: Array, labels: Indices, estimator: Estimator, overall: LinearGaussian
) -> ClusteredGaussian:
    """A model of each of several clusters, by an estimator; `overall` is that of all rows."""
    groups = [Moments.of(x[labels == k]) for k in range(labels.max() + 1)]
    weights = np.array([group.rows for group in groups]) / len(x)
    return ClusteredGaussian(
        weights, [estimator(g) for g in groups], estimator(Moments.within(groups)), overall
    )


def cluster_rows(x: Array, clusters: int, seed: int) -> Indices | None:
    """Cluster labels, or None where some cluster is too small to be fitted alone."""
    if len(x) < 2 * MIN_CLUSTER * clusters:
        return None
    model = GaussianMixture(clusters, covariance_type="diag", reg_covar=1e-4, random_state=seed)
    with warnings.catch_warnings():
        # a start only: held-out rows judge what comes of it
        warnings.simplefilter("ignore", ConvergenceWarning)
        most = max(CLUSTERED_ROWS, CLUSTERED_CELLS // x.shape[1])
        some = np.random.default_rng(seed).permutation(len(x))[:most]
        labels = model.fit(x[some]).predict(x) if len(x) > most else model.fit_predict(x)
    smallest = np.bincount(labels, minlength=clusters).min()
    return labels if smallest >= max(MIN_CLUSTER, len(x) // 50) else None


def joint_conditionals(model: ClusteredGaussian) -> LinearConditionals:
    """The model as conditionals of x_j given x_<j."""
    slopes = np.stack([part.slope for part in model.parts])
    intercepts = np.stack([part.intercept for part in model.parts])
    scales = np.sqrt(np.stack([part.variance for part in model.parts]))
    within = model.within.slope
    centres = np.stack([part.mean - within @ part.mean for part in model.parts])
    prior = np.log(model.weights)[:, None]
    logit_slope, logit_intercept = _discriminant(within, centres, model.within.variance)
    overall = model.overall
    return _conditionals(
        slopes,
        intercepts,
        scales,
        logit_slope,
        logit_intercept + prior,
        [
            (overall.slope, overall.intercept),
            _constant(np.log(overall.variance) / 2, overall.slope),
        ],
    )


def knockoff_conditionals(
    model: ClusteredGaussian, blocks: Indices | None = None
) -> LinearConditionals:
    """Exact knockoffs of the model (of its clusters, given the cluster)
    as conditionals of x̃_j given x, x̃_<j.

    With `blocks`, the number of each column's group, they are exact for swaps of whole groups.
    """
    chains = [_KnockoffChain.of(part, blocks) for part in model.parts]
    within = chains[0] if len(chains) == 1 else _KnockoffChain.of(model.within, blocks)
    overall = chains[0] if len(chains) == 1 else _KnockoffChain.of(model.overall, blocks)
    centres = np.stack([within.intercept_at(part.mean) for part in model.parts])
    logit_slope, logit_intercept = _discriminant(within.slope, centres, within.variance)
    given_x_slope, given_x_intercept = _membership(model)
    features = len(model.within.mean)
    logit_slope[:, :, :features] += given_x_slope[:, None, :]
    logit_intercept += given_x_intercept[:, None]
    regression = regression_on_all_others(model.overall)
    return _conditionals(
        np.stack([chain.slope for chain in chains]),
        np.stack(
            [chain.intercept_at(part.mean) for chain, part in zip(chains, model.parts, strict=True)]
        ),
        np.sqrt(np.stack([chain.variance for chain in chains])),
        logit_slope,
        logit_intercept,
        [
            (overall.slope, overall.intercept_at(model.overall.mean)),
            (np.hstack([regression[0], np.zeros((features, features))]), regression[1]),
            _constant(np.log(overall.variance) / 2, overall.slope),
        ],
    )


@dataclass(frozen=True, slots=True)
class _KnockoffChain:
    r"""$\tilde x_j \mid x, \tilde x_{<j}$ of Gaussian knockoffs; slopes are on [x, x̃]."""

    slope: Array  # [d, 2d]
    pulled: Array  # [d, d]: intercept = pulled @ mean
    variance: Array  # [d]

    @classmethod
    def of(cls, model: LinearGaussian, blocks: Indices | None) -> _KnockoffChain:
        covariance = model.covariance
        # Of all exact Gaussian knockoffs, those that DDLK's objective, with its entropy term, asks
        # for.
        pull, spread = knockoff_law(covariance, knockoff_gaps(covariance, "maxent", blocks=blocks))
        root = np.linalg.cholesky(spread)
        scale = np.diag(root)
        # unit lower triangular: makes the residuals independent
        whiten = scale[:, None] * np.linalg.inv(root)
        identity = np.eye(len(scale))
        on_x, on_knockoffs = whiten @ (identity - pull), np.tril(identity - whiten, -1)
        return cls(np.hstack([on_x, on_knockoffs]), whiten @ pull, scale**2)

    def intercept_at(self, mean: Array) -> Array:
        return self.pulled @ mean


def _discriminant(slope: Array, centres: Array, variance: Array) -> tuple[Array, Array]:
    """Linear logits `[K, d, inputs]`, `[K, d]` of the clusters,
    given the columns before each column.

    In cluster k column i has residual y_i - slope_i · inputs about centre_ki with a variance that
    all clusters share, so the quadratic terms cancel and evidence adds up linearly from column to
    column.
    """
    features, inputs = slope.shape
    residual = np.hstack([np.zeros((features, inputs - features)), np.eye(features)]) - slope
    weight = (centres / variance)[:, :, None] * residual
    return _sum_before(weight), _sum_before(-0.5 * centres**2 / variance)


def _sum_before(evidence: Array) -> Array:
    """Per column, the second axis, the sum over the columns before it."""
    found = np.zeros_like(evidence)
    np.cumsum(evidence[:, :-1], axis=1, out=found[:, 1:])
    return found


def _membership(model: ClusteredGaussian) -> tuple[Array, Array]:
    """Linear logits `[K, d]`, `[K]` of the clusters given all of x."""
    precision = np.linalg.inv(model.within.covariance)
    means = np.stack([part.mean for part in model.parts])
    slope = means @ precision
    return slope, np.log(model.weights) - 0.5 * (slope * means).sum(1)


def regression_on_all_others(model: LinearGaussian) -> tuple[Array, Array]:
    """Slopes `[d, d]`, 0 on the diagonal, and intercepts of each column's regression on all
    others.
    """
    precision = np.linalg.inv(model.covariance)
    slope = np.eye(len(precision)) - precision / np.diag(precision)[:, None]
    return slope, model.mean - slope @ model.mean


def _constant(value: Array, like: Array) -> tuple[Array, Array]:
    return np.zeros_like(like), value


def _conditionals(
    slope: Array,
    intercept: Array,
    scale: Array,
    logit_slope: Array,
    logit_intercept: Array,
    seen: Sequence[tuple[Array, Array]],
) -> LinearConditionals:
    # Only differences of logits matter; centred ones stay small enough for single precision.
    parts = (
        slope,
        intercept,
        scale,
        logit_slope - logit_slope.mean(0),
        logit_intercept - logit_intercept.mean(0),
        np.stack([s for s, _ in seen]),
        np.stack([i for _, i in seen]),
    )
    return LinearConditionals(
        *(torch.as_tensor(part, dtype=torch.get_default_dtype()) for part in parts)
    )
