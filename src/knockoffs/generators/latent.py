r"""Discrete columns as normal variables of which only the cell is seen.

Each value that repeats owns a cell of its column's normal scale, as large as its share of the rows. A latent z is
drawn inside the cell given all other columns, under a Gaussian whose correlations are learned (stochastic EM with
Gibbs draws), and a drawn z̃ is read as the value whose cell it falls into. If z is random given x alone and
determines x, then a knockoff of z gives a knockoff of x. So any such z is valid; this one has a distribution that
is easy to learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from knockoffs.arrays import Array, Flags, Indices

FIT_ROWS = 5_000  # rows from which correlations are learned
FIT_SWEEPS, BURN_IN, KEPT_SWEEPS = 40, 5, 20  # sweeps; those before learning; the last ones, which count
DRAW_SWEEPS = 12  # sweeps for the latents of new rows
CHUNK = 4_096  # rows whose random numbers are held at once
GRID = 513  # quantiles that describe a continuous column
RARE = 0.01  # share of the rows from which on a value among continuous ones owns a cell
REPEATED = 1.1  # rows per value from which on a column lies on a grid and has no continuous part
FEW = 20  # a column with at most so many values has no continuous part
FARTHEST = 8.0  # standard deviations


@dataclass(frozen=True, slots=True)
class Cells:
    """The values of a column and their places on the scale of probabilities.

    A value that is an atom owns the cell between the value below it and itself; the others are points of a
    continuous part, with straight lines between them.
    """

    values: Array  # increasing
    upper: Array  # share of the rows with at most this value
    atom: Flags

    @property
    def lower(self) -> Array:
        return np.concatenate([[0.0], self.upper[:-1]])

    @property
    def middle(self) -> Array:
        return (self.lower + self.upper) / 2

    def bounds(self, column: Array) -> tuple[Array, Array]:
        """Between which normal scores the latents of these values lie; the same twice for a continuous value."""
        nearest = np.searchsorted((self.values[1:] + self.values[:-1]) / 2, column)
        within = self.atom[nearest] & (self.atom.all() | (self.values[nearest] == column))
        place = np.interp(column, self.values, self.middle)
        low, high = (np.where(within, ends[nearest], place) for ends in (self.lower, self.upper))
        return _scores(low), _scores(high)

    def middle_scores(self, column: Array) -> Array:
        return ndtri(np.interp(column, self.values, self.middle).clip(1e-9, 1 - 1e-9))

    def decode(self, z: Array) -> Array:
        place = ndtr(z)
        cell = np.searchsorted(self.upper, place).clip(max=len(self.values) - 1)
        if self.atom.all():
            return self.values[cell]
        free = ~self.atom
        between = np.interp(place, self.middle[free], self.values[free])
        return np.where(self.atom[cell], self.values[cell], between)


def _scores(probability: Array) -> Array:
    return np.clip(ndtri(probability), -FARTHEST, FARTHEST)


def discrete_cells(column: Array) -> Cells:
    """The cells of a discrete column: of all its values if whole or few, else of those that repeat."""
    values, counts = np.unique(column, return_counts=True)
    atom = counts >= max(3, RARE * len(column))
    # Values of a continuous part hardly ever repeat; draws of a column on a grid, such as one decimal, stay on it.
    rest = counts[~atom]
    discrete = len(values) <= FEW or bool(np.all(values == np.rint(values))) or rest.sum() > REPEATED * len(rest)
    return Cells(values, np.cumsum(counts) / len(column), atom | discrete)


def continuous_cells(column: Array) -> Cells:
    """A continuous column by its quantiles."""
    places = np.linspace(0, 1, min(GRID, len(column)))
    values = np.unique(np.quantile(column, places, method="inverted_cdf"))  # of values that occur
    share = np.searchsorted(np.sort(column), values, side="right") / len(column)
    return Cells(values, share, np.zeros(len(values), dtype=bool))


@dataclass(frozen=True, slots=True)
class LatentEncoding:
    """Tables whose discrete columns are replaced by latents; the others stay as they are."""

    cells: Sequence[Cells]
    discrete: Flags
    correlation: Array

    def encode(self, core: Array, rng: np.random.Generator) -> Array:
        """Draw the latents of discrete columns given all other columns. A row's latents depend on it alone."""
        encoded = core.copy()
        columns = np.flatnonzero(self.discrete)
        for start in range(0, len(core), CHUNK):
            rows = slice(start, start + CHUNK)
            part = core[rows]
            noise = rng.random((len(part), DRAW_SWEEPS + 1, len(columns)))
            encoded[rows, columns] = self._draw(part, noise)[:, columns]
        return encoded

    def _draw(self, core: Array, noise: Array) -> Array:
        low, high = _bounds(self.cells, core)
        z = _start(low, high, self.discrete, noise[:, 0])
        sampler = GibbsSampler(self.correlation, np.flatnonzero(self.discrete))
        for sweep in range(DRAW_SWEEPS):
            sampler.sweep(z, low, high, noise[:, sweep + 1])
        return z

    def middles(self, core: Array) -> Array:
        """The latents in the middle of their cells, for densities at given values."""
        encoded = core.copy()
        for j, cells in self._discrete_cells():
            encoded[:, j] = cells.middle_scores(core[:, j])
        return encoded

    def decode(self, encoded: Array) -> Array:
        """Back to the values whose cells the latents fall into."""
        core = encoded.copy()
        for j, cells in self._discrete_cells():
            core[:, j] = cells.decode(encoded[:, j])
        return core

    def _discrete_cells(self) -> Iterator[tuple[int, Cells]]:
        return ((j, cells) for j, cells in enumerate(self.cells) if self.discrete[j])


def fit_latent(core: Array, discrete: Flags, rng: np.random.Generator) -> LatentEncoding:
    """Learn cells, and the correlations of the latents by stochastic EM."""
    kinds = (discrete_cells if is_discrete else continuous_cells for is_discrete in discrete)
    cells = [describe(column) for describe, column in zip(kinds, core.T, strict=True)]
    some = core if len(core) <= FIT_ROWS else core[rng.permutation(len(core))[:FIT_ROWS]]
    columns = np.flatnonzero(discrete)
    low, high = _bounds(cells, some)
    z = _start(low, high, discrete, rng.random((len(some), len(columns))))
    correlation = first_correlation(low, high)
    mean = np.zeros_like(correlation)
    for sweep in range(FIT_SWEEPS):
        sampler = GibbsSampler(_shrunk(correlation, len(some)), columns)
        sampler.sweep(z, low, high, rng.random((len(some), len(columns))))
        if sweep >= BURN_IN:  # by then the latents have forgotten how they began
            correlation = np.corrcoef(z.T)
        if sweep >= FIT_SWEEPS - KEPT_SWEEPS:
            mean += np.corrcoef(z.T) / KEPT_SWEEPS
    return LatentEncoding(cells, discrete, _shrunk(mean, len(some)))


def first_correlation(low: Array, high: Array) -> Array:
    r"""Estimate the correlations of latents from the means m of their cells.

    For variables of variance one and to first order in the correlation $r_{ij}$,
    $\operatorname{cov}(m_i, m_j) = r_{ij} \operatorname{var} m_i \operatorname{var} m_j$. The result is moved to a
    matrix without small eigenvalues.
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
    """Draws latents inside their cells, one column after the other given all others."""

    def __init__(self, correlation: Array, columns: Indices) -> None:
        precision = np.linalg.inv(correlation)
        self._columns = columns
        self._slopes = precision[:, columns] / np.diag(precision)[columns]
        self._deviation = 1 / np.sqrt(np.diag(precision)[columns])

    def sweep(self, z: Array, low: Array, high: Array, noise: Array) -> None:
        """Draw all latents once, in place; `noise` is uniform, one number per row and discrete column."""
        for k, j in enumerate(self._columns):
            mean = z[:, j] - z @ self._slopes[:, k]
            bounds = (low[:, j] - mean) / self._deviation[k], (high[:, j] - mean) / self._deviation[k]
            drawn = mean + self._deviation[k] * truncated_normal(*bounds, noise[:, k])
            z[:, j] = np.clip(drawn, low[:, j], high[:, j])


def truncated_normal(low: Array, high: Array, uniform: Array) -> Array:
    """Standard normal numbers between bounds, from uniform ones; in the upper tail by its mirror image."""
    mirrored = low > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    below, above = ndtr(low), ndtr(high)
    drawn = ndtri(np.clip(below + (above - below) * uniform, 1e-300, 1 - 1e-16))
    return np.where(mirrored, -drawn, drawn)


def _start(low: Array, high: Array, discrete: Flags, noise: Array) -> Array:
    """Latents drawn in their cells whatever the other columns; the normal scores of continuous columns."""
    z = low.copy()
    z[:, discrete] = np.clip(
        truncated_normal(low[:, discrete], high[:, discrete], noise), low[:, discrete], high[:, discrete]
    )
    return z


def _bounds(cells: Sequence[Cells], core: Array) -> tuple[Array, Array]:
    pairs = [cell.bounds(column) for cell, column in zip(cells, core.T, strict=True)]
    return np.stack([low for low, _ in pairs], axis=1), np.stack([high for _, high in pairs], axis=1)


def _shrunk(correlation: Array, rows: int) -> Array:
    """Shrink towards the identity, little: in each round of the EM algorithm it adds up to many times as much."""
    share = min(0.5, 0.001 + 0.05 * len(correlation) / rows)
    return (1 - share) * correlation + share * np.eye(len(correlation))
