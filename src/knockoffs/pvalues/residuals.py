r"""What y says beyond all features but one, for each feature.

The residual of y for feature j is a function of y and of the other features alone, exactly: this is
what makes a distilled test exact. Two models are added. A ridge regression on curves of all
features has a closed form without any one of them: with $P = (B^\top B + \lambda I)^{-1}$,
coefficients $\beta = P B^\top y$ and $W = B P$, the fit without the columns j is $B\beta - W_j
P_{jj}^{-1} \beta_j$. Trees learn, for blocks of features, what ridge regression without that block
leaves, on other rows than those they predict; a feature's ridge regression then explains y without
its block's trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.model_selection import KFold

from knockoffs.pvalues.copies import Columns, in_standard_units, standard_units
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.parallel import in_parallel
from knockoffs.targets.standard_units import standardise

PENALTIES = (0.3, 3.0, 30.0, 300.0, 3000.0)
MOST_BLOCKS = 8
FOLDS = 3
FARTHEST = 8.0  # standard deviations
LEAST_USE = 0.1  # share of the trees' predictions below which these are left out
FEW_VALUES = 3

MakeModel = Callable[[int], Any]


class Curves(NamedTuple):
    """Curves of all features, `[rows, curves]`, in standard units: values,
    and polynomials of normal scores.
    """

    basis: Array
    unit: Indices  # the feature of each curve
    degree: Indices

    @classmethod
    def of(cls, columns: Columns) -> Curves:
        """The second and third Hermite polynomial beside each quantity."""
        found, unit, degree = [], [], []
        for column, feature in zip(columns.x.T, columns.unit, strict=True):
            gaps = np.isnan(column)
            own = [np.where(gaps, np.mean(column[~gaps]) if not gaps.all() else 0.0, column)]
            if len(np.unique(column[~gaps])) > FEW_VALUES:
                score = np.zeros(len(column))
                score[~gaps] = ndtri((rankdata(column[~gaps]) - 0.5) / np.count_nonzero(~gaps))
                own += [np.where(gaps, 0.0, score**2 - 1), score**3 - 3 * score]
            found += own
            unit += [feature] * len(own)
            degree += range(1, len(own) + 1)
        (basis,), _, _ = standardise(np.stack(found, axis=1))
        return cls(np.clip(basis, -FARTHEST, FARTHEST), np.array(unit), np.array(degree))

    def modifiers(self, feature: int) -> Array:
        """Lines and parabolas of all other features, by which the effect of this one may change."""
        return self.basis[:, (self.unit != feature) & (self.degree < 3)]


class Ridge(NamedTuple):
    """Ridge regressions of y, one column per output, for several penalties."""

    curves: Curves
    penalties: list[tuple[Any, Any, Any]]  # P, W = B P, and the leverage of each row

    @classmethod
    def of(cls, curves: Curves) -> Ridge:
        """Prepare for any y."""
        basis = curves.basis
        gram = basis.T @ basis
        parts = []
        for penalty in PENALTIES:
            inverse = np.linalg.inv(gram + penalty * np.eye(len(gram)))
            images = basis @ inverse
            parts.append((inverse, images, np.einsum("ij,ij->i", images, basis)))
        return cls(curves, parts)

    def residuals(self, y: Array, without: Indices) -> Array:
        """Residuals of y that every row has under the fit to all other rows, without some features.

        The penalty is the one for which these are smallest, per output.
        """
        basis = self.curves.basis
        left_out = np.flatnonzero(np.isin(self.curves.unit, without))
        found, errors = [], []
        for inverse, images, full in self.penalties:
            beta = inverse @ (basis.T @ y)
            fit = basis @ beta
            leverage = full + 1 / len(y)  # of the mean
            if len(left_out):
                own = np.linalg.inv(inverse[np.ix_(left_out, left_out)])
                fit = fit - images[:, left_out] @ (own @ beta[left_out])
                leverage = leverage - np.einsum(
                    "ij,jk,ik->i", images[:, left_out], own, images[:, left_out], optimize=True
                )
            residual = (y - fit) / (1 - np.clip(leverage, 0, 0.99))[:, None]
            found.append(residual)
            errors.append((residual**2).mean(0))
        best = np.argmin(errors, axis=0)
        return np.stack(found)[best, :, np.arange(y.shape[1])].T


class Residuals:
    """Residuals of y for each feature; `y` has a column per output, each with mean 0."""

    def __init__(
        self,
        columns: Columns,
        curves: Curves,
        y: Array,
        tested: Indices,
        make_model: MakeModel | None,
        rng: np.random.Generator,
    ) -> None:
        self._ridge, self._y = Ridge.of(curves), y
        self._block = np.full(columns.features, -1)
        self._predicted: Sequence[Array] = ()
        if make_model is None:
            return
        blocks = np.array_split(rng.permutation(tested), min(MOST_BLOCKS, len(tested)))
        for k, block in enumerate(blocks):
            self._block[block] = k
        tasks = (
            (block, self._ridge.residuals(y, block), own)
            for block, own in zip(blocks, rng.spawn(len(blocks)), strict=True)
        )
        self._predicted = list(in_parallel(_trees, tasks, shared=(columns, make_model)))

    def of(self, feature: int) -> Array:
        """Residuals `[rows, outputs]` that are a function of y and of all other features."""
        block = self._block[feature]
        y = self._y if block < 0 else self._y - self._predicted[block]
        return self._ridge.residuals(y, np.array([feature]))


def _trees(
    columns: Columns, make_model: MakeModel, block: Indices, left: Array, rng: np.random.Generator
) -> Array:
    """Predictions of what is left without a block, by models of other rows,
    shrunk to the share that is of use.

    An output of which the first fold's model predicts nothing of use gets no models of the other
    folds.
    """
    others = columns.without(block)
    x = in_standard_units(others, *standard_units(others))
    predicted = np.zeros_like(left)
    if x.shape[1] == 0:
        return predicted
    for k in range(left.shape[1]):
        folds = KFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31))).split(x)
        for fold, (train, test) in enumerate(folds):
            model = make_model(int(rng.integers(2**31))).fit(x[train], left[train, k])
            predicted[test, k] = model.predict(x[test])
            if fold == 0 and _share_of_use(predicted[test, k], left[test, k]) < LEAST_USE:
                predicted[:, k] = 0.0
                break
        use = _share_of_use(predicted[:, k], left[:, k])
        predicted[:, k] *= min(use, 1.0) if use >= LEAST_USE else 0.0
    return predicted


def _share_of_use(predicted: Array, true: Array) -> float:
    """The factor by which predictions are best multiplied; 0 for predictions that are all 0."""
    return float(predicted @ true / max(predicted @ predicted, 1e-300))
