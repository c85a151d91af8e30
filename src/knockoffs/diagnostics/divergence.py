"""The swap divergence of a generator that knows its densities: all features by coins, and each feature alone."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from knockoffs.arrays import Array, Flags, Indices

SINGLE_ROWS = 500  # for d single swaps, each as expensive as one swap of all
ALL_SWAPS = 4
LEAST_ERROR = 0.5  # nats; no larger error hides anything


class EncodedPairs(Protocol):
    """Rows and their knockoffs as a generator's densities see them; `generator.swap_pairs(X, seed)` gives them.

    Attributes
    ----------
    z, z_tilde : arrays of shape (rows, internal columns)
        Encoded rows and knockoffs. Where the encoding is random (the latent normal variable of a discrete column)
        z is drawn given the rows, and z_tilde is the knockoff of that z. Nothing may be rounded or decoded in
        between, or the densities are not those of the pair.
    unit : array of int of shape (internal columns,)
        The feature that each internal column belongs to; -1 for columns that are never swapped, such as those
        that the model conditions on.
    """

    z: Array
    z_tilde: Array
    unit: Indices

    def log_prob(self, z: Array, z_tilde: Array) -> Array:
        """Return log q_joint(z) + log q_knockoff(z_tilde | z) for each row of any two tables like these."""
        ...


class Divergence(NamedTuple):
    """In nats per row, by the generator's own densities: it cannot see where these are wrong.

    total : mean over random swaps of all features by coins, with its standard error.
    single : mean for the swap of each feature alone, with standard errors.
    worst : probability that the worst-case swap learned in the fit takes each feature; nan where none was learned.
    """

    total: float
    total_error: float
    single: Array
    single_error: Array
    worst: Array

    @property
    def telling(self) -> bool:
        """Return whether the total says something: not where its error is large, or where it is far below zero.

        A few rows to which the model gives hardly any density decide on it then.
        """
        return self.total_error <= max(LEAST_ERROR, abs(self.total) / 3) and self.total > -3 * self.total_error


def has_densities(generator: Any) -> bool:
    return hasattr(generator, "swap_pairs")


def swap_divergence(
    pairs: EncodedPairs, features: int, rng: np.random.Generator, *, swap_probability: Array | None = None
) -> Divergence:
    """Compute the swap divergence of encoded rows and their knockoffs.

    Parameters
    ----------
    pairs : EncodedPairs
        Rows, knockoffs and densities. All columns of a unit are swapped together, in each row by a coin of its
        own.
    features : int
        Number of features of the table; one without internal columns (a constant) has divergence 0.
    rng : Generator
        Throws the coins and chooses the rows for single swaps.
    swap_probability : array of shape (features,), default=None
        Probability with which the worst-case swap of the fit takes each feature, nan for features that are
        copied: the generator's `swap_probability_`.

    Returns
    -------
    Divergence
    """
    kept = pairs.log_prob(pairs.z, pairs.z_tilde)
    swapped = [_swapped_log_prob(pairs, rng.random((len(kept), features)) < 0.5) for _ in range(ALL_SWAPS)]
    total = kept - np.mean(swapped, axis=0)
    some = rng.permutation(len(kept))[:SINGLE_ROWS]
    singles = _single_losses(pairs, features, some)
    return Divergence(
        total=float(total.mean()),
        total_error=float(total.std() / np.sqrt(len(total))),
        single=singles.mean(0),
        single_error=singles.std(0) / np.sqrt(len(singles)),
        worst=np.full(features, np.nan) if swap_probability is None else np.asarray(swap_probability),
    )


def _swapped_log_prob(pairs: EncodedPairs, coins: Flags) -> Array:
    """Return the log density of rows with the features swapped that the coins say, `[rows, features]`."""
    mask = coins[:, pairs.unit] & (pairs.unit >= 0)
    z, z_tilde = pairs.z, pairs.z_tilde
    return pairs.log_prob(np.where(mask, z_tilde, z), np.where(mask, z, z_tilde))


def _single_losses(pairs: EncodedPairs, features: int, rows: Indices) -> Array:
    z, z_tilde = pairs.z[rows], pairs.z_tilde[rows]
    kept = pairs.log_prob(z, z_tilde)
    found = np.zeros((len(rows), features))
    differs = (z != z_tilde).any(0)
    for j in np.unique(pairs.unit[differs & (pairs.unit >= 0)]):  # a copy changes nothing
        own = pairs.unit == j
        found[:, j] = kept - pairs.log_prob(np.where(own, z_tilde, z), np.where(own, z, z_tilde))
    return found
