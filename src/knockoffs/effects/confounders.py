r"""Which other columns a description adjusts for without shrinking them: those that tell of y or of the feature.

A ridge penalty shrinks what a column does, and a correlated feature then takes the credit. With every column
unpenalised there may be more of them than events. Double selection keeps the columns that either lasso chooses,
that of y or that of the feature itself: a column that is missed by both can hardly move the feature's coefficient
(Belloni, Chernozhukov and Hansen, *Inference on treatment effects after selection among high-dimensional
controls*, 2014). The lassos' penalty is $c\,\hat\sigma\,\Phi^{-1}(1 - \gamma/p) / \sqrt n$.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from knockoffs.arrays import Array, Indices

ROWS_PER_COLUMN = 8  # that is adjusted for; of survival times the events count
CANDIDATES = 200  # columns that a lasso chooses among, the most correlated ones
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
        self._for_y = _sizes(z, y)

    def beside(self, own: Indices) -> Indices:
        """Return the columns to adjust for beside the columns `own`; of too many the most important ones."""
        others = np.setdiff1d(np.arange(self._z.shape[1]), own)
        sizes = np.maximum(self._for_y[others], _sizes(self._z[:, others], self._z[:, own]))
        order = np.argsort(-sizes, kind="stable")[: self._most]
        return np.sort(others[order[sizes[order] > 0]])


def _sizes(z: Array, targets: Array) -> Array:
    """The largest coefficient of each column over the lassos of some targets."""
    sizes = np.zeros(z.shape[1])
    for target in targets.T:
        deviation = target.std()
        if deviation > 0 and z.shape[1]:
            sizes = np.maximum(sizes, np.abs(_lasso(z, (target - target.mean()) / deviation)))
    return sizes


def _lasso(z: Array, target: Array) -> Array:
    rows, columns = z.shape
    candidates = np.argsort(-np.abs(target @ z), kind="stable")[:CANDIDATES]
    some = z[:, candidates]
    penalty = STRICTNESS * float(norm.isf(GAMMA / max(columns, 2))) / np.sqrt(rows)
    noise, found = 1.0, np.zeros(len(candidates))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # among near-copies any will do
        for _ in range(ROUNDS):
            model = Lasso(penalty * noise, precompute=True, max_iter=MOST_STEPS, tol=TOLERANCE, random_state=0)
            found = model.fit(some, target).coef_
            noise = max(LEAST_NOISE, float((target - some @ found).std()))
    sizes = np.zeros(columns)
    sizes[candidates] = found
    return sizes
