"""Gaussian knockoffs: exact for Gaussian rows with a known covariance,
second-order ones otherwise.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.covariance import empirical_covariance, ledoit_wolf

from knockoffs.generators.base import RowwiseGenerator
from knockoffs.generators.gaps import (
    block_gaps,
    least_variance,
    most_entropy,
    shrunk_between_groups,
    widest,
)
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.checks import check_choice
from knockoffs.runtime.memory import FLOAT64
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.randomness import RandomState

Method = Literal["mvr", "maxent", "sdp", "equi"]
ESTIMATES = ("ledoit-wolf", "empirical")
METHODS = get_args(Method)
SINGULAR = 1e-6  # smallest eigenvalue of a correlation matrix that is inverted as it is


class GaussianKnockoffs(RowwiseGenerator):
    """Draw second-order Gaussian knockoffs (Candès et al. 2018).

    Exact where the rows are Gaussian and `covariance` and `mean` are the true ones. Otherwise they
    match the first two moments as estimated, and nothing beyond. With groups of features D has a
    block for each group.

    Parameters
    ----------
    method : {"mvr", "maxent", "sdp", "equi"}, default="mvr"
        How far each knockoff stands from its feature: minimum variance-based reconstructability
        (the best power as a rule), maximum entropy, least mean correlation with the feature, or the
        same distance for all.
    covariance : {"ledoit-wolf", "empirical"} or array of shape (n_features, n_features),
    default="ledoit-wolf"
        How the covariance is estimated (shrunk, or as it is in the rows), or the covariance matrix
        itself.
    mean : array of shape (n_features,), default=None
        The mean of each column; by default that of the data.
    random_state : int, numpy Generator or None, default=None
        Seed; the same seed gives the same knockoffs on the same machine.

    Attributes
    ----------
    mean_, covariance_ : array
        Mean and covariance of the modelled columns.
    gaps_ : array of float
        The diagonal s of D in cov(x, x̃) = Σ - D; with groups of features D itself, which has a
        block per group.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import GaussianKnockoffs
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = GaussianKnockoffs(random_state=0).fit(X)
    >>> model.sample(X).shape
    (200, 5)
    """

    name = "gaussian"
    exchangeable = False
    cost = 0.5
    stages = 1

    def __init__(
        self,
        method: Method = "mvr",
        covariance: str | ArrayLike = "ledoit-wolf",
        mean: ArrayLike | None = None,
        *,
        random_state: RandomState = None,
    ) -> None:
        self.method = method
        self.covariance = covariance
        self.mean = mean
        self.random_state = random_state

    def has_given_model(self) -> bool:
        return self.mean is not None or not isinstance(self.covariance, str)

    def _check_settings(self) -> None:
        check_choice("method", self.method, METHODS)
        if isinstance(self.covariance, str):
            check_choice("covariance", self.covariance, ESTIMATES)

    def _fit(self, core: Array, rng: np.random.Generator) -> None:
        self.mean_ = core.mean(0) if self.mean is None else self._given("mean", self.mean, 1)
        self.covariance_ = invertible(self._covariance(core), self.encoding_.blocks)
        self.gaps_ = knockoff_gaps(self.covariance_, self.method, blocks=self.encoding_.blocks)
        self._law = KnockoffLaw(self.mean_, self.covariance_, self.gaps_)

    def _fit_memory(self, rows: int, columns: int) -> float:
        return gaussian_memory(rows, columns)

    def _covariance(self, core: Array) -> Array:
        if isinstance(self.covariance, str):
            if self.covariance == "empirical":
                return empirical_covariance(core)
            if self.encoding_.blocks is not None:
                return shrunk_between_groups(core, self.encoding_.blocks)
            # shrink correlations, not covariances of columns in different units
            deviation = core.std(0)
            return ledoit_wolf(core / deviation)[0] * np.outer(deviation, deviation)
        given = self._given("covariance", self.covariance, 2)
        require_covariance("covariance", given)
        return (given + given.T) / 2

    def _given(self, name: str, value: Any, dimensions: int) -> Array:
        """The entries of an argument that belong to modelled columns."""
        array = np.asarray(value, dtype=np.float64)
        if array.shape != (self.n_features_in_,) * dimensions or not np.isfinite(array).all():
            raise ValueError(
                f"{name} has shape {array.shape}; pass finite numbers of shape "
                f"{(self.n_features_in_,) * dimensions}, one for each column of X (or pair of "
                f"columns)."
            )
        return array[np.ix_(*[self.modelled_] * dimensions)]

    def _sample(self, core: Array, rng: np.random.Generator) -> Array:
        return self._law.draw(core, rng.standard_normal(core.shape))

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {"mean": self.mean_, "covariance": self.covariance_, "gaps": self.gaps_}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        columns = self._modelled_count
        self.mean_ = take_array(arrays, "mean", (columns,))
        self.covariance_ = take_array(arrays, "covariance", (columns, columns))
        self.gaps_ = take_gaps(arrays, (columns,), self.encoding_.blocks)
        require_covariance("covariance", self.covariance_)
        self._law = KnockoffLaw(self.mean_, self.covariance_, self.gaps_)


def gaussian_memory(rows: int, columns: int) -> float:
    """Estimate the bytes that a fit of Gaussian knockoffs takes at its peak.

    About ten matrices of columns by columns (covariances, correlations, their inverses and the
    copies that LAPACK works on), and the table with a standardised copy and the noise.
    """
    return FLOAT64 * (10 * columns**2 + 3 * rows * columns)


class KnockoffLaw:
    """The distribution of x̃ given x for Gaussian rows, ready to draw from, in standard units."""

    def __init__(self, mean: Array, covariance: Array, gaps: Array) -> None:
        correlation, deviation = correlations(covariance)
        self._mean, self._deviation = mean, deviation
        scale = deviation**2 if gaps.ndim == 1 else np.outer(deviation, deviation)
        self._pull, spread = knockoff_law(correlation, gaps / scale)
        values, vectors = np.linalg.eigh(spread)
        self._root = vectors * np.sqrt(np.maximum(values, 0))

    def draw(self, x: Array, noise: Array) -> Array:
        step = noise @ self._root.T - (x - self._mean) / self._deviation @ self._pull.T
        return x + step * self._deviation


def correlations(covariance: Array) -> tuple[Array, Array]:
    """Return the correlations and the standard deviations of a covariance."""
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation), deviation


def knockoff_gaps(
    covariance: Array, method: Method = "mvr", *, blocks: Indices | None = None
) -> Array:
    r"""The diagonal s of D in cov(x, x̃) = Σ - D, for columns of variance one and then scaled back.

    `"mvr"` minimises $\operatorname{tr} (2\Sigma - D)^{-1} + \sum_j 1 / s_j$ (minimum
    variance-based reconstructability), `"maxent"` maximises $\log\det(2\Sigma - D) + \sum_j \log
    s_j$ (entropy of x̃ given x), `"sdp"` maximises $\sum_j s_j$ with $s_j \le 1$, `"equi"` the same
    with all s_j equal. The first by coordinate descent with rank-one updates, which keeps 2Σ - D
    and D positive definite by itself.

    With `blocks`, the number of each column's group, D itself is returned, which has a block per
    group.
    """
    check_choice("method", method, METHODS)
    correlation, deviation = correlations(covariance)
    if blocks is not None:
        gaps = block_gaps(correlation, blocks, method)
        return gaps * np.outer(deviation, deviation)
    equal = min(1.0, 2 * float(np.linalg.eigvalsh(correlation)[0]))
    alone, start = np.arange(len(correlation)), np.full(len(correlation), 0.9 * equal)
    if method == "equi":
        gaps = np.full(len(correlation), (1 - 1e-9) * equal)
    elif method == "sdp":
        gaps, _ = widest(correlation, alone, 0.9 * equal)
    elif method == "maxent":
        gaps = most_entropy(correlation, alone, start)
    else:
        gaps = least_variance(correlation, start)
    return gaps * deviation**2


def knockoff_law(covariance: Array, gaps: Array) -> tuple[Array, Array]:
    r"""P and C such that $\tilde x \mid x \sim \mathcal N(x - P (x - \mu), C)$: P = D Σ⁻¹,
    C = 2D - D Σ⁻¹ D.

    `gaps` is D, or its diagonal.
    """
    if gaps.ndim == 2:
        pull = np.linalg.solve(covariance, gaps).T
        spread = 2 * gaps - pull @ gaps
    else:
        pull = np.linalg.solve(covariance, np.diag(gaps)).T
        spread = np.diag(2 * gaps) - pull * gaps
    return pull, (spread + spread.T) / 2


def take_gaps(
    arrays: dict[str, NDArray[Any]], shape: tuple[int, ...], blocks: Indices | None
) -> Array:
    """Take the gaps out of the arrays of a model file: matrices where columns are in groups."""
    if blocks is None:
        return take_array(arrays, "gaps", shape)
    gaps = take_array(arrays, "gaps", (*shape, shape[-1]))
    if gaps[..., blocks[:, None] != blocks].any():
        raise ValueError("the gaps of columns in different groups are not 0")
    return gaps


def require_covariance(name: str, matrix: Array) -> None:
    """Refuse a matrix that is no covariance."""
    symmetric = np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-6, atol=0)
    if not symmetric or np.diag(matrix).min() <= 0:
        raise ValueError(
            f"{name}: not a covariance matrix: it must be finite and symmetric, with variances "
            f"above 0."
        )


def invertible(covariance: Array, blocks: Indices | None = None) -> Array:
    """The covariance, with the smallest eigenvalue of its correlations raised where it is next to
    nothing.

    Columns that others of their own group add up to do no harm, so nothing is said where there are
    `blocks`.
    """
    correlation, deviation = correlations(covariance)
    smallest = np.linalg.eigvalsh(correlation)[0]
    if smallest < -SINGULAR:
        raise ValueError(
            f"covariance is not a covariance matrix: its correlations have the eigenvalue "
            f"{smallest:.3g}, "
            "which is below 0. Pass a positive definite matrix."
        )
    if smallest >= SINGULAR:
        return covariance
    if blocks is None:
        caution(
            f"the covariance is all but singular (smallest eigenvalue of the correlations "
            f"{smallest:.1e}); it is "
            f"raised to {SINGULAR:g}, and columns that others add up to get near-copies, hardly "
            f"to be selected. "
            'Drop such columns, collect more rows, or use covariance="ledoit-wolf".'
        )
    share = (SINGULAR - smallest) / (1 - smallest)
    correlation = (1 - share) * correlation + share * np.eye(len(correlation))
    return correlation * np.outer(deviation, deviation)
