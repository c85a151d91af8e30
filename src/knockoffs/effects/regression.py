r"""Means of y along a feature and its knockoff, adjusted for other features.

The columns C of a feature's bins, of its knockoff's bins and of what models say of the other
features are taken as they are, and so are, up to a penalty worth one row, the columns S that tell
of y or of the feature. All other columns Z of the table, and their squares, act by straight lines
with a ridge penalty:

$$\min_{\beta, a, b} \|y - C \beta - S a - Z b\|^2 + \|a\|^2 + n \lambda \|b\|^2 .$$

Given x, y does not depend on x̃. So the knockoff's part is zero but for noise, and shows how large
noise is.

A ridge penalty shrinks what a column does, and a correlated feature then takes the credit. With
every column unpenalised there may be more of them than events. Double selection keeps the columns
that either lasso chooses, that of y or that of the feature itself: a column that is missed by both
can hardly move the feature's coefficient (Belloni, Chernozhukov and Hansen, *Inference on treatment
effects after selection among high-dimensional controls*, 2014). The lassos' penalty is
$c\,\hat\sigma\,\Phi^{-1}(1 - \gamma/p) / \sqrt n$.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

from knockoffs.runtime.arrays import Array, Indices

PENALTIES = np.logspace(-4, 4, 17)  # per row, of columns in standard units
# penalty of columns that must not be shrunk: between a feature and a copy of it, it decides
LIGHT = 1.0
# degrees of freedom per row: with more, what is left of y says nothing of the noise
MOST_FREEDOM = 0.5


class Adjusted(NamedTuple):
    """Coefficients `[columns, outputs]`, and their covariances `[outputs, columns, columns]`."""

    coefficients: Array
    covariances: Array


class Adjustment:
    """A ridge regression on all columns of a table, of which those of one feature can be left out.

    Parameters
    ----------
    z : array of shape (rows, columns)
        The columns, in standard units.
    y : array of shape (rows, outputs)
        What is to be explained; generalised cross-validation of it chooses the penalty.
    groups : array of int, default=None
        Rows that belong together; standard errors are by groups then.
    """

    def __init__(self, z: Array, y: Array, groups: Indices | None = None) -> None:
        self.z, self.y = z - z.mean(0), y - y.mean(0)
        rows = len(self.z)
        self.groups = np.arange(rows) if groups is None else groups
        self._sizes, self._right = _right_singular(self.z)
        along = self._right @ (self.z.T @ self.y) / np.maximum(self._sizes, 1e-300)[:, None]
        allowed = [
            p * rows
            for p in PENALTIES.tolist()
            if self._kept(p * rows).sum() <= MOST_FREEDOM * rows
        ]
        scores = [_cross_validation(self.y, along, self._kept(penalty)) for penalty in allowed]
        self.penalty = allowed[int(np.argmin(scores))]
        self.freedom = float(self._kept(self.penalty).sum())

    def _kept(self, penalty: float) -> Array:
        """The share of y along each singular vector that the regression explains."""
        return self._sizes**2 / (self._sizes**2 + penalty)

    def _solve(self, u: Array) -> Array:
        """(Z'Z + penalty)⁻¹ u, for u of shape (columns, any)."""
        along = self._right @ u
        inside = self._right.T @ (along / (self._sizes**2 + self.penalty)[:, None])
        return inside + (u - self._right.T @ along) / self.penalty

    def leave(self, v: Array, own: Indices) -> Array:
        """Return what the regression without the columns `own` leaves of v."""
        b = self._solve(self.z.T @ v)
        unit = np.zeros((self.z.shape[1], len(own)))
        unit[own, np.arange(len(own))] = 1.0
        towards = self._solve(unit)
        b = b - towards @ np.linalg.solve(towards[own], b[own])
        return v - self.z @ b

    def coefficients(self, c: Array, own: Indices, beside: Indices) -> Adjusted:
        """Return the coefficients of the columns c beside all columns of the table but `own`.

        The columns `beside` are all but free of a penalty. Standard errors allow for errors of any
        variance, which may depend on each other within a group, and for what the light penalty
        decides alone: how a feature and a copy of it share what they do.
        """
        light = np.repeat([0.0, LIGHT], [c.shape[1], len(beside)])
        c = np.hstack([c - c.mean(0), self.z[:, beside]])
        out = np.concatenate([own, beside])
        left_c, left_y = np.split(self.leave(np.hstack([c, self.y]), out), [c.shape[1]], axis=1)
        inverse = np.linalg.pinv(c.T @ left_c + np.diag(light), rcond=1e-8, hermitian=True)
        found = inverse @ (c.T @ left_y)
        errors = left_y - left_c @ found
        used = self.freedom + np.count_nonzero(c.std(0))
        errors = errors / np.sqrt(max(1 - used / len(c), 1 / len(c)))
        influence = left_c @ inverse
        covariances, by_penalty = [], (inverse * light) @ inverse
        for error in errors.T:
            scores = np.zeros((self.groups.max() + 1, c.shape[1]))
            np.add.at(scores, self.groups, influence * error[:, None])
            covariances.append(scores.T @ scores + np.mean(error**2) * by_penalty)
        return Adjusted(found, np.stack(covariances))


def _right_singular(z: Array) -> tuple[Array, Array]:
    """Singular values and right singular vectors (as rows),
    by the smaller of the two Gram matrices.
    """
    wide = z.shape[1] > z.shape[0]
    values, vectors = np.linalg.eigh(z @ z.T if wide else z.T @ z)
    some = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
    sizes = np.sqrt(values[some])
    return sizes, (vectors[:, some].T @ z / sizes[:, None] if wide else vectors[:, some].T)


def _cross_validation(y: Array, along: Array, kept: Array) -> float:
    """The generalised cross-validation of a ridge regression that keeps these shares of y."""
    left = (y**2).sum() - ((2 * kept - kept**2)[:, None] * along**2).sum()
    return float(left / (1 - kept.sum() / len(y)) ** 2)


ROWS_PER_COLUMN = 8  # that is adjusted for; of survival times the events count
CANDIDATES = 200  # columns that a lasso chooses among, the most correlated ones
MOST_PRODUCTS = 1000  # columns of which all pairs are multiplied once
STRICTNESS, GAMMA = 0.6, 0.05  # c, γ
ROUNDS = 2  # for the standard deviation of the noise
LEAST_NOISE = 0.05  # in standard deviations: an exact copy leaves none
MOST_STEPS, TOLERANCE = 2000, 1e-3


class Confounders:
    """The columns of a table as candidates to adjust for.

    Parameters
    ----------
    z : array of shape (rows, columns)
        The columns, in standard units.
    y : array of shape (rows, outputs)
        What is explained.
    rows : int
        How many rows, or events, say something of y.
    """

    def __init__(self, z: Array, y: Array, rows: int) -> None:
        self._z, self._most = z, rows // ROWS_PER_COLUMN
        self._products = z.T @ z if z.shape[1] <= MOST_PRODUCTS else None
        self._for_y = self._sizes(y, np.empty(0, dtype=np.intp))

    def beside(self, own: Indices) -> Indices:
        """Return the columns to adjust for beside the columns `own`;
        of too many the most important ones.
        """
        sizes = np.maximum(self._for_y, self._sizes(self._z[:, own], own))
        sizes[own] = 0.0
        order = np.argsort(-sizes, kind="stable")[: self._most]
        return np.sort(order[sizes[order] > 0])

    def _sizes(self, targets: Array, own: Indices) -> Array:
        """The largest coefficient of each column but `own` over the lassos of some targets."""
        sizes = np.zeros(self._z.shape[1])
        for target in targets.T:
            deviation = target.std()
            if deviation > 0 and len(sizes) > len(own):
                sizes = np.maximum(
                    sizes, np.abs(self._lasso((target - target.mean()) / deviation, own))
                )
        return sizes

    def _lasso(self, target: Array, own: Indices) -> Array:
        rows, columns = self._z.shape
        along = target @ self._z
        sizes = np.abs(along)
        sizes[own] = -1.0
        candidates = np.argsort(-sizes, kind="stable")[: min(CANDIDATES, columns - len(own))]
        some, along = np.asfortranarray(self._z[:, candidates]), along[candidates]
        products = (
            some.T @ some
            if self._products is None
            else self._products[np.ix_(candidates, candidates)]
        )
        penalty = STRICTNESS * float(norm.isf(GAMMA / max(columns - len(own), 2))) / np.sqrt(rows)
        noise, found = 1.0, np.zeros(len(candidates))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # among near-copies any will do
            for _ in range(ROUNDS):
                _, path, _ = lasso_path(
                    some,
                    target,
                    alphas=[penalty * noise],
                    precompute=products,
                    Xy=along,
                    coef_init=found,
                    check_input=False,
                    max_iter=MOST_STEPS,
                    tol=TOLERANCE,
                    random_state=0,  # else a seed is drawn from numpy's global state
                )
                found = path[:, 0]
                left = 1 + (found @ products @ found - 2 * found @ along) / rows
                noise = max(LEAST_NOISE, float(np.sqrt(max(left, 0.0))))
        coefficients = np.zeros(columns)
        coefficients[candidates] = found
        return coefficients
