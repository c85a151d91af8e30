"""How good knockoffs are on data whose law is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from knockoffs import DDLK
from knockoffs.runtime.arrays import Array, Flags


class Law(Protocol):
    """A law with its true density and exact knockoffs."""

    def sample(self, rows: int, random_state: int) -> Array: ...
    def log_prob(self, x: Array) -> Array: ...
    def knockoffs(self, x: Array, random_state: int) -> Array: ...


@dataclass(frozen=True)
class Quality:
    """The figures of `make quality` for one fit."""

    nll_excess: float  # of q_joint above the truth, nats
    true_divergence: float  # of half swaps, the true density in place of q_joint, nats
    own_divergence: float  # the same by its own q_joint
    auc: float  # of a classifier that tells [x, x̃] from half swaps
    auc_exact: float  # the same for exact knockoffs
    covariance_error: float  # of cov(x, x̃), minus that of exact knockoffs
    correlation: float  # mean |corr(x_j, x̃_j)|


def measure(model: DDLK, law: Law, x: Array, seed: int) -> Quality:
    """On held-out rows x."""
    rng = np.random.default_rng(seed)
    x_tilde, exact = model.sample(x, random_state=seed), law.knockoffs(x, seed)
    return Quality(
        nll_excess=float((law.log_prob(x) - model.joint_log_prob(x)).mean()),
        true_divergence=true_divergence(model, law, x, x_tilde, rng),
        own_divergence=model.swap_divergence(x, random_state=seed).value,
        auc=swap_auc(x, x_tilde, rng),
        auc_exact=swap_auc(x, exact, rng),
        covariance_error=covariance_error(x, x_tilde) - covariance_error(x, exact),
        correlation=float(np.mean(np.abs(_correlations(x, x_tilde)))),
    )


def true_divergence(
    model: DDLK, law: Law, x: Array, x_tilde: Array, rng: np.random.Generator, swaps: int = 4
) -> float:
    """Mean over random swaps of half the columns, drawn anew for every row."""
    total = np.zeros(len(x))
    for _ in range(swaps):
        half = np.argsort(rng.random(x.shape), axis=1) < x.shape[1] // 2
        u, u_tilde = _swap(x, x_tilde, half)
        kept = law.log_prob(x) + model.log_prob(x, x_tilde)
        total += kept - law.log_prob(u) - model.log_prob(u, u_tilde)
    return float(total.mean() / swaps)


def swap_auc(x: Array, x_tilde: Array, rng: np.random.Generator, swaps: int = 3) -> float:
    """Boosted trees on [x, x̃]: can they tell, on rows they have not seen,
    which had half the columns swapped?
    """
    scores = []
    for _ in range(swaps):
        columns = rng.permutation(x.shape[1]) < x.shape[1] // 2
        swapped = rng.permutation(len(x)) < len(x) // 2
        table = np.hstack(_swap(x, x_tilde, columns & swapped[:, None]))
        folds = StratifiedKFold(3, shuffle=True, random_state=int(rng.integers(2**31)))
        classifier = HistGradientBoostingClassifier(max_iter=100, random_state=0)
        chance = cross_val_predict(classifier, table, swapped, cv=folds, method="predict_proba")[
            :, 1
        ]
        scores.append(roc_auc_score(swapped, chance))
    return float(np.mean(scores))


def covariance_error(x: Array, x_tilde: Array) -> float:
    """Root mean square of the off-diagonal entries of cov(x, x̃) - cov(x),
    in units of x's standard deviations.
    """
    mean, deviation = x.mean(0), x.std(0)
    z, z_tilde = (x - mean) / deviation, (x_tilde - mean) / deviation
    difference = (z.T @ z_tilde - z.T @ z) / len(z)
    return float(np.sqrt(np.mean(difference[~np.eye(len(difference), dtype=bool)] ** 2)))


def _swap(x: Array, x_tilde: Array, mask: Flags) -> tuple[Array, Array]:
    return np.where(mask, x_tilde, x), np.where(mask, x, x_tilde)


def _correlations(x: Array, x_tilde: Array) -> Array:
    z, z_tilde = ((t - t.mean(0)) / t.std(0) for t in (x, x_tilde))
    return (z * z_tilde).mean(0)
