"""The swap divergence of a generator that knows its densities: all features by coins, and each feature alone."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from knockoffs.arrays import Array, Flags, Indices
from knockoffs.swap_units import Units

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
        """Return log q_joint(z) + log q_knockoff(z_tilde | z) for each row of any two tables like these.

        What no swap changes may be left out.
        """
        ...


class Divergence(NamedTuple):
    """In nats per row, by the generator's own densities: it cannot see where these are wrong.

    Attributes
    ----------
    total, total_error : float
        The mean over random swaps of all features by coins, with its standard error.
    single, single_error : array of shape (features,)
        The mean for the swap of each feature alone, with its standard error.
    worst : array of shape (features,)
        The probability that the worst-case swap learned in the fit takes each feature; nan where none was learned.
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
    """Return whether a generator says how probable its pairs [x, x̃] are."""
    return hasattr(generator, "swap_pairs")


def swap_divergence(
    pairs: EncodedPairs, units: Units, rng: np.random.Generator, *, swap_probability: Array | None = None
) -> Divergence:
    """Compute the swap divergence of encoded rows and their knockoffs.

    Parameters
    ----------
    pairs : EncodedPairs
        Rows, knockoffs and densities.
    units : Units
        What is swapped as a whole, in each row by a coin of its own: features, or groups of these. One without
        internal columns (a constant) has divergence 0.
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
    unit = np.where(pairs.unit >= 0, units.of[pairs.unit], -1)
    swapped = [_swapped_log_prob(pairs, unit, rng.random((len(kept), len(units))) < 0.5) for _ in range(ALL_SWAPS)]
    total = kept - np.mean(swapped, axis=0)
    some = rng.permutation(len(kept))[:SINGLE_ROWS]
    singles = _single_losses(pairs, unit, len(units), some)
    return Divergence(
        total=float(total.mean()),
        total_error=float(total.std() / np.sqrt(len(total))),
        single=singles.mean(0),
        single_error=singles.std(0) / np.sqrt(len(singles)),
        worst=np.full(len(units), np.nan) if swap_probability is None else units.largest(swap_probability),
    )


def _swapped_log_prob(pairs: EncodedPairs, unit: Indices, coins: Flags) -> Array:
    """Return the log density of rows with the units swapped that the coins say, `[rows, units]`."""
    mask = coins[:, unit] & (unit >= 0)
    z, z_tilde = pairs.z, pairs.z_tilde
    return pairs.log_prob(np.where(mask, z_tilde, z), np.where(mask, z, z_tilde))


def _single_losses(pairs: EncodedPairs, unit: Indices, units: int, rows: Indices) -> Array:
    z, z_tilde = pairs.z[rows], pairs.z_tilde[rows]
    kept = pairs.log_prob(z, z_tilde)
    found = np.zeros((len(rows), units))
    differs = (z != z_tilde).any(0)
    for j in np.unique(unit[differs & (unit >= 0)]):  # a copy changes nothing
        own = unit == j
        found[:, j] = kept - pairs.log_prob(np.where(own, z_tilde, z), np.where(own, z, z_tilde))
    return found
