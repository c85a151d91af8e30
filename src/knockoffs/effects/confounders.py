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
from sklearn.linear_model import lasso_path

from knockoffs.runtime.arrays import Array, Indices

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
        """Return the columns to adjust for beside the columns `own`; of too many the most important ones."""
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
                sizes = np.maximum(sizes, np.abs(self._lasso((target - target.mean()) / deviation, own)))
        return sizes

    def _lasso(self, target: Array, own: Indices) -> Array:
        rows, columns = self._z.shape
        along = target @ self._z
        sizes = np.abs(along)
        sizes[own] = -1.0
        candidates = np.argsort(-sizes, kind="stable")[: min(CANDIDATES, columns - len(own))]
        some, along = np.asfortranarray(self._z[:, candidates]), along[candidates]
        products = some.T @ some if self._products is None else self._products[np.ix_(candidates, candidates)]
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
