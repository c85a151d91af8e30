r"""Diagonal D with $0 \preceq D \preceq 2\Sigma$ that is best in some sense, for correlations Σ.

Columns of one group may be made to share their entry of D; `of` has the number of each column's group.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.blas import dger
from scipy.sparse import csr_array

from knockoffs.runtime.arrays import Array, Indices

CENTRING = 0.6  # the share that a step of `widest` leaves of the products that are 0 at the solution
CENTRED = 1e-3  # no product may be smaller than this share of their mean


def least_variance(correlation: Array, gaps: Array, *, sweeps: int, tol: float) -> Array:
    """Sweeps over coordinates, each moved to where the objective's derivative in it is zero."""
    gaps = gaps.copy()
    for _ in range(sweeps):
        before = gaps.copy()
        # Anew each sweep, since updates lose digits.
        inverse = np.asfortranarray(np.linalg.inv(2 * correlation - np.diag(gaps)))
        for j in range(len(gaps)):
            column, pivot = inverse[:, j].copy(), inverse[j, j]
            norm = float(np.sqrt(column @ column))
            change = (1 - norm * gaps[j]) / (norm + pivot)
            gaps[j] += change
            inverse = dger(change / (1 - change * pivot), column, column, a=inverse, overwrite_a=True)
        if (np.abs(gaps - before) <= tol * before).all():
            break
    return gaps


def most_entropy(correlation: Array, of: Indices, gaps: Array, *, steps: int, tol: float) -> Array:
    """Newton's method; each step goes at most as far as 2Σ - D and D stay positive definite and entropy grows."""
    root, groups = np.linalg.cholesky(2 * correlation - np.diag(gaps)), _Groups(of)
    for _ in range(steps):
        inverse = cho_solve((root, True), np.eye(len(gaps)))
        slope = 1 / gaps - np.diag(inverse)
        # In multiples of the gaps: those of columns that others all but determine are many orders smaller.
        curvature = inverse**2 * np.outer(gaps, gaps) + np.eye(len(gaps))
        step = groups.solve(curvature, gaps * slope)
        if step is None:
            return gaps  # as good as rounding allows
        step = gaps * step
        falls = step < 0
        length = min(1.0, 0.9 * float((gaps[falls] / -step[falls]).min(initial=np.inf)))
        entropy = _entropy(root, gaps)
        entropy -= 1e-10 * (1 + abs(entropy))  # rounding must not stop a step
        while length > tol:
            moved = gaps + length * step
            found = _cholesky(2 * correlation - np.diag(moved))
            if found is not None and _entropy(found, moved) >= entropy:
                break
            length /= 2
        else:
            return gaps  # as good as rounding allows
        gaps, root = moved, found
        if length == 1 and (np.abs(step) <= tol * gaps).all():
            break
    return gaps


def widest(sigma: Array, of: Indices, start: float, *, steps: int = 300, tol: float = 1e-6) -> tuple[Array, Array]:
    r"""Maximise $\sum_j s_j$ with $0 \le s_j \le 1$; return s, and the Z that proves how good it is.

    For any $Z \succeq 0$ the sum is at most
    $2 \operatorname{tr} \Sigma Z + \sum_g (\sum_{j \in g} 1 - Z_{jj})_+$, over groups g of columns that
    share their s.

    A primal-dual interior-point method (Helmberg, Rendl, Vanderbei and Wolkowicz 1996) moves s and Z towards each
    other until they agree up to the share `tol`. Its Newton matrix has $(2\Sigma - D)^{-1} \circ Z$. That of a
    barrier in s alone has the square of the inverse, which is singular up to rounding where some $s_j$ are many
    orders smaller than others, as they are on sparse covariances.
    """
    groups = _Groups(of)
    entropy = most_entropy(sigma, of, np.full(len(of), start), steps=100, tol=1e-2)
    here = _Place.centred(sigma, np.minimum(entropy, 0.9))
    for _ in range(steps):
        if groups.bound(sigma, here.z) - here.s.sum() <= tol * here.s.sum():
            break
        moved = here.moved(groups)
        if moved is None:
            break  # as good as rounding allows
        here = moved
    return here.s, here.z


class _Groups:
    """Sums over the columns of each group."""

    def __init__(self, of: Indices) -> None:
        self._of = of
        self._member = csr_array((np.ones(len(of)), (np.arange(len(of)), of)))

    def solve(self, matrix: Array, right: Array) -> Array | None:
        """Solve a positive definite system for entries that the columns of a group share."""
        own = self._member.T @ (matrix @ self._member)
        scale = 1 / np.sqrt(np.diag(own))
        root = _cholesky(own * np.outer(scale, scale))
        if root is None:
            return None
        return (scale * cho_solve((root, True), scale * (self._member.T @ right)))[self._of]

    def bound(self, sigma: Array, z: Array) -> float:
        return float(2 * np.vdot(sigma, z) + np.maximum(self._member.T @ (1 - np.diag(z)), 0).sum())


class _Place(NamedTuple):
    """s and the multipliers of its three bounds: z of 2Σ - D ⪰ 0, `upper` of s ≤ 1 and `lower` of s ≥ 0."""

    sigma: Array
    s: Array
    z: Array
    upper: Array
    lower: Array
    inverse: Array  # of 2Σ - D

    @classmethod
    def centred(cls, sigma: Array, s: Array) -> Self:
        """Where s has the most entropy, 1 / s is the diagonal of the inverse, so these multipliers fit."""
        inverse, weight = _inverse(sigma, s), float((1 - s).mean())
        return cls(sigma, s, weight * inverse, np.ones_like(s), weight / s, inverse)

    @property
    def mean_product(self) -> float:
        """The mean of each bound's distance times its multiplier, which are all 0 at the solution."""
        matrix = 2 * np.vdot(self.sigma, self.z) - self.s @ np.diag(self.z)
        return float(matrix + self.upper @ (1 - self.s) + self.lower @ self.s) / (3 * len(self.s))

    def moved(self, groups: _Groups) -> Self | None:
        """A Newton step to where all products are alike and smaller, as far as they stay above zero."""
        s, z, inverse, product = self.s, self.z, self.inverse, CENTRING * self.mean_product
        slope = 1 + product * (1 / s - 1 / (1 - s) - np.diag(inverse))
        curvature = inverse * z + np.diag(self.upper / (1 - s) + self.lower / s)
        step = groups.solve(curvature, slope)
        if step is None:
            return None
        change = inverse @ (step[:, None] * z)
        z_step = product * inverse - z + (change + change.T) / 2
        upper_step = (product + self.upper * step) / (1 - s) - self.upper
        lower_step = (product - self.lower * step) / s - self.lower
        for length in 0.8 ** np.arange(60):
            after = s + length * step
            if after.min() > 0 and after.max() < 1 and _cholesky(2 * self.sigma - np.diag(after)) is not None:
                found = self._replace(
                    s=after,
                    z=z + length * z_step,
                    upper=self.upper + length * upper_step,
                    lower=self.lower + length * lower_step,
                    inverse=_inverse(self.sigma, after),
                )
                if found.is_central():
                    return found
        return None

    def is_central(self) -> bool:
        """Whether no product is far below their mean: from there on, steps would be short."""
        least = CENTRED * self.mean_product
        smallest = min((self.upper * (1 - self.s)).min(), (self.lower * self.s).min())
        return smallest >= least and _cholesky(self.z - least * self.inverse) is not None


def _inverse(sigma: Array, s: Array) -> Array:
    found = np.linalg.inv(2 * sigma - np.diag(s))
    return (found + found.T) / 2


def _entropy(root: Array, gaps: Array) -> float:
    return float(2 * np.log(np.diag(root)).sum() + np.log(gaps).sum())


def _cholesky(matrix: Array) -> Array | None:
    """Return the lower root, or None where the matrix is not positive definite."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
