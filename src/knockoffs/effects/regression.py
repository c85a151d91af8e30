r"""Means of y along a feature and along its knockoff, adjusted for all other features.

The columns C of a feature's bins, of its knockoff's bins and of what models say of the other features are taken as
they are, and so are, up to a penalty worth one row, the columns S that tell of y or of the feature. All other
columns Z of the table, and their squares, act by straight lines with a ridge penalty:

$$\min_{\beta, a, b} \|y - C \beta - S a - Z b\|^2 + \|a\|^2 + n \lambda \|b\|^2 .$$

Given x, y does not depend on x̃. So the knockoff's part is zero but for noise, and shows how large noise is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Indices

PENALTIES = np.logspace(-4, 4, 17)  # per row, of columns in standard units
LIGHT = 1.0  # penalty of columns that must not be shrunk: between a feature and a copy of it, it decides
MOST_FREEDOM = 0.5  # degrees of freedom per row: with more, what is left of y says nothing of the noise


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
        allowed = [p * rows for p in PENALTIES.tolist() if self._kept(p * rows).sum() <= MOST_FREEDOM * rows]
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

        The columns `beside` are all but free of a penalty. Standard errors allow for errors of any variance, which
        may depend on each other within a group, and for what the light penalty decides alone: how a feature and a
        copy of it share what they do.
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
    """Singular values and right singular vectors (as rows), by the smaller of the two Gram matrices."""
    wide = z.shape[1] > z.shape[0]
    values, vectors = np.linalg.eigh(z @ z.T if wide else z.T @ z)
    some = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
    sizes = np.sqrt(values[some])
    return sizes, (vectors[:, some].T @ z / sizes[:, None] if wide else vectors[:, some].T)


def _cross_validation(y: Array, along: Array, kept: Array) -> float:
    """The generalised cross-validation of a ridge regression that keeps these shares of y."""
    left = (y**2).sum() - ((2 * kept - kept**2)[:, None] * along**2).sum()
    return float(left / (1 - kept.sum() / len(y)) ** 2)
