r"""Latent normal variables of which only an interval is seen.

A latent z is drawn inside its interval given all other columns, under a Gaussian whose correlations
are learned (stochastic EM with Gibbs draws). If z is random given x alone and determines x, then a
knockoff of z gives a knockoff of x. So any such z is valid; this one has a distribution that is
easy to learn.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from knockoffs.runtime.arrays import Array, Indices

FIT_ROWS = 5_000  # rows from which correlations are learned
# sweeps; those before learning; the last ones, which count
FIT_SWEEPS, BURN_IN, KEPT_SWEEPS = 40, 5, 20
DRAW_SWEEPS = 12  # sweeps for the latents of new rows
MARGIN = 1e-9  # share of an interval that a draw keeps from its bounds


def fit_correlation(low: Array, high: Array, latent: Indices, rng: np.random.Generator) -> Array:
    """Learn the correlations of columns of which the `latent` ones are only known to lie between
    bounds.
    """
    if len(low) > FIT_ROWS:
        some = rng.permutation(len(low))[:FIT_ROWS]
        low, high = low[some], high[some]
    z = start_latents(low, high, latent, rng.random((len(low), len(latent))))
    correlation = first_correlation(low, high)
    mean = np.zeros_like(correlation)
    for sweep in range(FIT_SWEEPS):
        sampler = GibbsSampler(_shrunk(correlation, len(low)), latent)
        sampler.sweep(z, low, high, rng.random((len(low), len(latent))))
        if sweep >= BURN_IN:  # by then the latents have forgotten how they began
            correlation = _correlation(z)
        if sweep >= FIT_SWEEPS - KEPT_SWEEPS:
            mean += _correlation(z) / KEPT_SWEEPS
    return _shrunk(mean, len(low))


def draw_latents(
    correlation: Array, low: Array, high: Array, latent: Indices, noise: Array
) -> Array:
    """Draw the latents between their bounds; `noise` is uniform, `[rows, DRAW_SWEEPS + 1,
    latents]`.

    A row's latents depend on that row and its noise alone.
    """
    z = start_latents(low, high, latent, noise[:, 0])
    sampler = GibbsSampler(correlation, latent)
    for sweep in range(DRAW_SWEEPS):
        sampler.sweep(z, low, high, noise[:, sweep + 1])
    return z


def start_latents(low: Array, high: Array, latent: Indices, noise: Array) -> Array:
    """Latents drawn between their bounds whatever the other columns; other columns as they are."""
    z = low.copy()
    low, high = low[:, latent], high[:, latent]
    z[:, latent] = _inside(truncated_normal(low, high, noise), low, high)
    return z


def first_correlation(low: Array, high: Array) -> Array:
    r"""Estimate the correlations of latents from the means m of their intervals.

    For variables of variance one and to first order in the correlation $r_{ij}$,
    $\operatorname{cov}(m_i, m_j) = r_{ij} \operatorname{var} m_i \operatorname{var} m_j$. The
    result is moved to a matrix without small eigenvalues.
    """
    mass = ndtr(high) - ndtr(low)
    density = np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)
    inside = density / (np.sqrt(2 * np.pi) * np.where(mass > 0, mass, 1.0))
    means = np.where(mass > 1e-12, inside, low)
    means = means - means.mean(0)
    variance = np.maximum((means**2).mean(0), 1e-6)
    correlation = np.clip(means.T @ means / len(means) / np.outer(variance, variance), -0.95, 0.95)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    correlation = (vectors * np.maximum(values, 0.02)) @ vectors.T
    deviation = np.sqrt(np.diag(correlation))
    return correlation / np.outer(deviation, deviation)


class GibbsSampler:
    """Draws latents between their bounds, one column after the other given all others."""

    def __init__(self, correlation: Array, columns: Indices) -> None:
        precision = np.linalg.inv(correlation)
        self._columns = columns
        self._slopes = precision[:, columns] / np.diag(precision)[columns]
        self._deviation = 1 / np.sqrt(np.diag(precision)[columns])

    def sweep(self, z: Array, low: Array, high: Array, noise: Array) -> None:
        """Draw all latents once, in place; `noise` is uniform,
        one number per row and latent column.
        """
        for k, j in enumerate(self._columns):
            mean = z[:, j] - z @ self._slopes[:, k]
            bounds = (
                (low[:, j] - mean) / self._deviation[k],
                (high[:, j] - mean) / self._deviation[k],
            )
            drawn = mean + self._deviation[k] * truncated_normal(*bounds, noise[:, k])
            z[:, j] = _inside(drawn, low[:, j], high[:, j])


def _inside(z: Array, low: Array, high: Array) -> Array:
    """Move draws that rounding has put on a bound, where the next interval begins, or beyond it."""
    margin = MARGIN * (high - low)
    return np.clip(z, low + margin, high - margin)


def truncated_normal(low: Array, high: Array, uniform: Array) -> Array:
    """Standard normal numbers between bounds, from uniform ones;
    in the upper tail by its mirror image.
    """
    mirrored = low > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    below, above = ndtr(low), ndtr(high)
    drawn = ndtri(np.clip(below + (above - below) * uniform, 1e-300, 1 - 1e-16))
    return np.where(mirrored, -drawn, drawn)


def _correlation(z: Array) -> Array:
    return np.atleast_2d(np.corrcoef(z.T))  # which gives a number for one column


def _shrunk(correlation: Array, rows: int) -> Array:
    """Shrink towards the identity, little: in each round of the EM algorithm it adds up to many
    times as much.
    """
    share = min(0.5, 0.001 + 0.05 * len(correlation) / rows)
    return (1 - share) * correlation + share * np.eye(len(correlation))
