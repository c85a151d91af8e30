r"""Gaussian knockoffs of groups of columns: S in cov(x, x̃) = Σ - S has a block for each group.

Swaps of whole groups leave the distribution of [x, x̃] unchanged for any S that is block-diagonal with
$0 \preceq S \preceq 2\Sigma$ (Dai and Barber 2016); so columns of one group, however alike, need not stand near
their own knockoffs. Groups are seen with $\Sigma_{gg} = I$ (each group's columns made uncorrelated), so that the
result does not depend on the units of columns, nor on any invertible linear map within a group.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.covariance import ledoit_wolf

from knockoffs.generators.gaps import widest
from knockoffs.runtime.arrays import Array, Indices

ROWS_PER_COLUMN = 10  # of a group, from which on its covariance is taken as it is in the rows
LEAST_VARIANCE = 1e-9  # of a direction within a group, in units of its columns

Change = Callable[[Array, Array, Array], Array]


def shrunk_between_groups(x: Array, blocks: Indices) -> Array:
    """Estimate a covariance that is shrunk towards what the rows have within groups, and nothing between groups.

    Ledoit and Wolf's estimate where each group's columns are uncorrelated. If the covariances within groups were
    shrunk, columns of a group that hardly differ, or add up to each other, would have knockoffs that do not.
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


def block_gaps(correlation: Array, blocks: Indices, method: str, *, sweeps: int, tol: float) -> Array:
    r"""Return S for a correlation matrix; `blocks` has the number of each column's group.

    `"equi"` is $S_g = \gamma \Sigma_{gg}$ with the largest γ up to 1, `"sdp"` $S_g = \gamma_g \Sigma_{gg}$ with
    the largest trace. `"maxent"` maximises $\log\det(2\Sigma - S) + \log\det S$, and `"mvr"` minimises
    $\operatorname{tr} (2\Sigma - S)^{-1} + \operatorname{tr} S^{-1}$, over all blocks, one after the other: the
    best one given the others is known in closed form (`_maxent_block`, `_mvr_block`).
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
        s = _descend(sigma, columns, 0.9 * equal * np.eye(len(sigma)), best, sweeps=sweeps, tol=tol)
    s = root @ s @ root.T
    return np.where(of[:, None] == of, (s + s.T) / 2, 0.0)


def _descend(sigma: Array, columns: list[Indices], s: Array, best: Change, *, sweeps: int, tol: float) -> Array:
    """Sweeps over the groups, each block moved to the best one given all others."""
    for _ in range(sweeps):
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
            inverse += beside @ np.linalg.solve(np.eye(len(own)) - change @ pivot, change @ beside.T)
            moved = max(moved, float(np.abs(change).max() / np.diag(new).max()))
        if moved <= tol:
            break
    return s


def _maxent_block(block: Array, pivot: Array, squares: Array) -> Array:
    r"""$S_g = C / 2$ maximises $\log\det(C - S_g) + \log\det S_g$.

    P is the group's block of $(2\Sigma - S)^{-1}$, and $C = S_g + P^{-1}$ does not depend on $S_g$: it is the
    Schur complement of the other groups in 2Σ - S with the block left out.
    """
    return (block + np.linalg.inv(pivot)) / 2


def _mvr_block(block: Array, pivot: Array, squares: Array) -> Array:
    r"""$S_g^{-1} = C^{-1} + (C^{-1} R C^{-1})^{1/2}$ minimises tr R (C - S_g)⁻¹ + tr S_g⁻¹.

    This is what the block changes in the objective, with C as above and $R = P^{-1} Q P^{-1}$, where Q is the
    group's block of $(2\Sigma - S)^{-2}$. The derivative is 0 where $(S_g^{-1} - C^{-1})^2 = C^{-1} R C^{-1}$.
    """
    own = np.linalg.inv(pivot)
    inner = np.linalg.inv(block + own)
    values, vectors = np.linalg.eigh(inner @ own @ squares @ own @ inner)
    return np.linalg.inv(inner + (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
