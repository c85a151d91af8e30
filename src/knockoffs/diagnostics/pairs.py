r"""Rows beside their knockoffs, taken apart into what swaps change and what they leave alone.

With $m = (x + \tilde x) / 2$ and $h = (x - \tilde x) / 2$ a swap of the coordinates S turns the sign of $h_S$ and
changes nothing else. So knockoffs are exact if and only if, given m and |h|, all signs of h are independent
tosses of a fair coin. Whatever is computed from m and |h| alone may be used to look for signs that are not, and
the test stays exact.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.covariance import ledoit_wolf

from knockoffs.arrays import Array, Flags, Indices

TINY = 1e-9


class Pairs:
    """Columns that differ from their knockoffs, on a scale that any increasing map of a column leaves as it is.

    The scale are normal scores of the ranks among a column's values and knockoff values together. `feature` says
    to which feature each column belongs; a feature's columns are swapped together. By default each column is a
    feature.
    """

    def __init__(self, x: Array, x_tilde: Array, feature: Indices | None = None) -> None:
        self.raw, self.raw_tilde = x, x_tilde
        self.feature = np.arange(x.shape[1]) if feature is None else feature
        both = np.concatenate([x, x_tilde])
        scores = ndtri((rankdata(both, axis=0) - 0.5) / len(both))
        scores /= np.maximum(scores.std(0), TINY)  # ties pull the scores together
        self.x, self.x_tilde = scores[: len(x)], scores[len(x) :]

    @property
    def rows(self) -> int:
        return self.x.shape[0]

    @property
    def columns(self) -> int:
        return self.x.shape[1]

    @property
    def features(self) -> int:
        return int(self.feature.max()) + 1

    @cached_property
    def middle(self) -> Array:
        return (self.x + self.x_tilde) / 2

    @cached_property
    def half(self) -> Array:
        return (self.x - self.x_tilde) / 2

    @cached_property
    def half_variance(self) -> Array:
        """About zero, since exact knockoffs have that mean and signs must not count."""
        return np.maximum((self.half**2).mean(0), TINY)

    @cached_property
    def middle_covariance(self) -> Array:
        return ledoit_wolf(self.middle)[0] + TINY * np.eye(self.columns)

    @cached_property
    def covariance(self) -> Array:
        """Of x as far as swaps cannot change it: exact knockoffs have no covariance between parts of h."""
        return self.middle_covariance + np.diag(self.half_variance)

    @cached_property
    def own_variance(self) -> Array:
        """What of each feature's variance the other features do not explain linearly."""
        return 1 / np.diag(np.linalg.inv(self.covariance))

    @cached_property
    def main_columns(self) -> Indices:
        """The first column of each feature."""
        return np.unique(self.feature, return_index=True)[1]

    def swapped(self, columns: Flags) -> tuple[Array, Array]:
        """[x, x̃] with these columns exchanged."""
        return np.where(columns, self.x_tilde, self.x), np.where(columns, self.x, self.x_tilde)


def inverse_root(covariance: Array) -> Array:
    """The symmetric matrix W with W Σ W = I."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / np.sqrt(np.maximum(values, TINY))) @ vectors.T
