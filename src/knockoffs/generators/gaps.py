r"""S in cov(x, x̃) = Σ - S: diagonal for single columns, with a block for each group of columns.

Diagonal ones have $0 \preceq D \preceq 2\Sigma$ for correlations Σ. Columns of one group may be
made to share their entry of D; `of` has the number of each column's group.

Swaps of whole groups leave the distribution of [x, x̃] unchanged for any S that is block-diagonal
with $0 \preceq S \preceq 2\Sigma$ (Dai and Barber 2016); so columns of one group, however alike,
need not stand near their own knockoffs. Groups are seen with $\Sigma_{gg} = I$ (each group's
columns made uncorrelated), so that the result does not depend on the units of columns, nor on any
invertible linear map within a group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.blas import dger
from scipy.sparse import csr_array
from sklearn.covariance import ledoit_wolf

from knockoffs.runtime.arrays import Array, Indices

SWEEPS = 100  # over all columns or groups, or steps of Newton's method, at most
STEPS = 300  # of `widest`, at most
TOLERANCE = 1e-6  # of what is found, as a share
# the share that a step of `widest` leaves of the products that are 0 at the solution
CENTRING = 0.6
CENTRED = 1e-3  # no product may be smaller than this share of their mean


def least_variance(correlation: Array, gaps: Array) -> Array:
    """Sweeps over coordinates, each moved to where the objective's derivative in it is zero."""
    gaps = gaps.copy()
    for _ in range(SWEEPS):
        before = gaps.copy()
        # Anew each sweep, since updates lose digits.
        inverse = np.asfortranarray(np.linalg.inv(2 * correlation - np.diag(gaps)))
        for j in range(len(gaps)):
            column, pivot = inverse[:, j].copy(), inverse[j, j]
            norm = float(np.sqrt(column @ column))
            change = (1 - norm * gaps[j]) / (norm + pivot)
            gaps[j] += change
            inverse = dger(
                change / (1 - change * pivot), column, column, a=inverse, overwrite_a=True
            )
        if (np.abs(gaps - before) <= TOLERANCE * before).all():
            break
    return gaps


def most_entropy(
    correlation: Array, of: Indices, gaps: Array, tolerance: float = TOLERANCE
) -> Array:
    """Newton's method; each step goes at most as far as 2Σ - D and D stay positive definite and
    entropy grows.
    """
    root, groups = np.linalg.cholesky(2 * correlation - np.diag(gaps)), _Groups(of)
    for _ in range(SWEEPS):
        inverse = cho_solve((root, True), np.eye(len(gaps)))
        slope = 1 / gaps - np.diag(inverse)
        # In multiples of the gaps: those of columns that others all but determine are many orders
        # smaller.
        curvature = inverse**2 * np.outer(gaps, gaps) + np.eye(len(gaps))
        step = groups.solve(curvature, gaps * slope)
        if step is None:
            return gaps  # as good as rounding allows
        step = gaps * step
        falls = step < 0
        length = min(1.0, 0.9 * float((gaps[falls] / -step[falls]).min(initial=np.inf)))
        entropy = _entropy(root, gaps)
        entropy -= 1e-10 * (1 + abs(entropy))  # rounding must not stop a step
        while length > tolerance:
            moved = gaps + length * step
            found = _cholesky(2 * correlation - np.diag(moved))
            if found is not None and _entropy(found, moved) >= entropy:
                break
            length /= 2
        else:
            return gaps  # as good as rounding allows
        gaps, root = moved, found
        if length == 1 and (np.abs(step) <= tolerance * gaps).all():
            break
    return gaps


def widest(sigma: Array, of: Indices, start: float) -> tuple[Array, Array]:
    r"""Maximise $\sum_j s_j$ with $0 \le s_j \le 1$; return s,
    and the Z that proves how good it is.

    For any $Z \succeq 0$ the sum is at most $2 \operatorname{tr} \Sigma Z + \sum_g (\sum_{j \in g}
    1 - Z_{jj})_+$, over groups g of columns that share their s.

    A primal-dual interior-point method (Helmberg, Rendl, Vanderbei and Wolkowicz 1996) moves s and
    Z towards each other until they agree, up to a small share. Its Newton matrix has $(2\Sigma -
    D)^{-1} \circ Z$. That of a barrier in s alone has the square of the inverse, which is singular
    up to rounding where some $s_j$ are many orders smaller than others, as they are on sparse
    covariances.
    """
    groups = _Groups(of)
    entropy = most_entropy(sigma, of, np.full(len(of), start), tolerance=1e-2)
    here = _Place.centred(sigma, np.minimum(entropy, 0.9))
    for _ in range(STEPS):
        if groups.bound(sigma, here.z) - here.s.sum() <= TOLERANCE * here.s.sum():
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
    """s and the multipliers of its three bounds: z of 2Σ - D ⪰ 0,
    `upper` of s ≤ 1 and `lower` of s ≥ 0.
    """

    sigma: Array
    s: Array
    z: Array
    upper: Array
    lower: Array
    inverse: Array  # of 2Σ - D

    @classmethod
    def centred(cls, sigma: Array, s: Array) -> Self:
        """Where s has the most entropy, 1 / s is the diagonal of the inverse,
        so these multipliers fit.
        """
        inverse, weight = _inverse(sigma, s), float((1 - s).mean())
        return cls(sigma, s, weight * inverse, np.ones_like(s), weight / s, inverse)

    @property
    def mean_product(self) -> float:
        """The mean of each bound's distance times its multiplier,
        which are all 0 at the solution.
        """
        matrix = 2 * np.vdot(self.sigma, self.z) - self.s @ np.diag(self.z)
        return float(matrix + self.upper @ (1 - self.s) + self.lower @ self.s) / (3 * len(self.s))

    def moved(self, groups: _Groups) -> Self | None:
        """A Newton step to where all products are alike and smaller,
        as far as they stay above zero.
        """
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
            if (
                after.min() > 0
                and after.max() < 1
                and _cholesky(2 * self.sigma - np.diag(after)) is not None
            ):
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


ROWS_PER_COLUMN = 10  # of a group, from which on its covariance is taken as it is in the rows
LEAST_VARIANCE = 1e-9  # of a direction within a group, in units of its columns

Change = Callable[[Array, Array, Array], Array]


def shrunk_between_groups(x: Array, blocks: Indices) -> Array:
    """Estimate a covariance that is shrunk towards what the rows have within groups,
    and nothing between groups.

    Ledoit and Wolf's estimate where each group's columns are uncorrelated. If the covariances
    within groups were shrunk, columns of a group that hardly differ, or add up to each other, would
    have knockoffs that do not.
    """
    _, of = np.unique(blocks, return_inverse=True)
    x = x - x.mean(0)
    z, back = np.empty_like(x), np.zeros((x.shape[1],) * 2)
    for group in range(of.max() + 1):
        own = np.flatnonzero(of == group)
        deviation = x[:, own].std(0)
        correlation = (x[:, own] / deviation).T @ (x[:, own] / deviation) / len(x)
        if len(x) < ROWS_PER_COLUMN * len(own):
            correlation = ledoit_wolf(x[:, own] / deviation, assume_centered=True)[0]
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, LEAST_VARIANCE))
        z[:, own] = x[:, own] / deviation @ np.linalg.inv(root).T
        back[np.ix_(own, own)] = deviation[:, None] * root
    found = back @ ledoit_wolf(z, assume_centered=True)[0] @ back.T
    return (found + found.T) / 2


def block_gaps(correlation: Array, blocks: Indices, method: str) -> Array:
    r"""Return S for a correlation matrix; `blocks` has the number of each column's group.

    `"equi"` is $S_g = \gamma \Sigma_{gg}$ with the largest γ up to 1, `"sdp"` $S_g = \gamma_g
    \Sigma_{gg}$ with the largest trace. `"maxent"` maximises $\log\det(2\Sigma - S) + \log\det S$,
    and `"mvr"` minimises $\operatorname{tr} (2\Sigma - S)^{-1} + \operatorname{tr} S^{-1}$, over
    all blocks, one after the other: the best one given the others is known in closed form
    (`_maxent_block`, `_mvr_block`).
    """
    _, of = np.unique(blocks, return_inverse=True)
    columns: list[Indices] = [np.flatnonzero(of == g) for g in range(of.max() + 1)]
    root = np.zeros_like(correlation)
    for own in columns:
        root[np.ix_(own, own)] = np.linalg.cholesky(correlation[np.ix_(own, own)])
    half = np.linalg.solve(root, correlation)
    sigma = np.linalg.solve(root, half.T)
    sigma = (sigma + sigma.T) / 2
    equal = min(1.0, 2 * float(np.linalg.eigvalsh(sigma)[0]))
    if method == "equi":
        s = (1 - 1e-9) * equal * np.eye(len(sigma))
    elif method == "sdp":
        s = np.diag(widest(sigma, of, 0.9 * equal)[0])
    else:
        best = {"mvr": _mvr_block, "maxent": _maxent_block}[method]
        s = _descend(sigma, columns, 0.9 * equal * np.eye(len(sigma)), best)
    s = root @ s @ root.T
    return np.where(of[:, None] == of, (s + s.T) / 2, 0.0)


def _descend(sigma: Array, columns: list[Indices], s: Array, best: Change) -> Array:
    """Sweeps over the groups, each block moved to the best one given all others."""
    for _ in range(SWEEPS):
        moved = 0.0
        inverse = np.linalg.inv(2 * sigma - s)  # anew each sweep, since updates lose digits
        for own in columns:
            block = s[np.ix_(own, own)]
            beside = inverse[:, own]
            pivot = beside[own]
            new = best(block, pivot, beside.T @ beside)
            new = (new + new.T) / 2
            change = new - block
            s[np.ix_(own, own)] = new
            inverse += beside @ np.linalg.solve(
                np.eye(len(own)) - change @ pivot, change @ beside.T
            )
            moved = max(moved, float(np.abs(change).max() / np.diag(new).max()))
        if moved <= TOLERANCE:
            break
    return s


def _maxent_block(block: Array, pivot: Array, squares: Array) -> Array:
    r"""$S_g = C / 2$ maximises $\log\det(C - S_g) + \log\det S_g$.

    P is the group's block of $(2\Sigma - S)^{-1}$, and $C = S_g + P^{-1}$ does not depend on $S_g$:
    it is the Schur complement of the other groups in 2Σ - S with the block left out.
    """
    return (block + np.linalg.inv(pivot)) / 2


def _mvr_block(block: Array, pivot: Array, squares: Array) -> Array:
    r"""$S_g^{-1} = C^{-1} + (C^{-1} R C^{-1})^{1/2}$ minimises tr R (C - S_g)⁻¹ + tr S_g⁻¹.

    This is what the block changes in the objective, with C as above and $R = P^{-1} Q P^{-1}$,
    where Q is the group's block of $(2\Sigma - S)^{-2}$. The derivative is 0 where $(S_g^{-1} -
    C^{-1})^2 = C^{-1} R C^{-1}$.
    """
    own = np.linalg.inv(pivot)
    inner = np.linalg.inv(block + own)
    values, vectors = np.linalg.eigh(inner @ own @ squares @ own @ inner)
    return np.linalg.inv(inner + (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
