"""The swap divergence of a generator that knows its densities: all features by coins, and each feature alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from knockoffs.generators.swap_pairs import EncodedPairs
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.schema.schema import Units

SINGLE_ROWS = 500  # for d single swaps, each as expensive as one swap of all
ALL_SWAPS = 4
LEAST_ERROR = 0.5  # nats; no larger error hides anything


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
    unit = np.where(pairs.unit >= 0, units.of[pairs.unit], -1)
    coins = (rng.random((len(pairs.z), len(units))) < 0.5 for _ in range(ALL_SWAPS))
    swapped = [pairs.swapped_log_density(heads[:, unit] & (unit >= 0)) for heads in coins]
    total = pairs.log_density - np.mean(swapped, axis=0)
    some = rng.permutation(len(total))[:SINGLE_ROWS]
    singles = _single_losses(replace(pairs, z=pairs.z[some], z_tilde=pairs.z_tilde[some]), unit, len(units))
    return Divergence(
        total=float(total.mean()),
        total_error=float(total.std() / np.sqrt(len(total))),
        single=singles.mean(0),
        single_error=singles.std(0) / np.sqrt(len(singles)),
        worst=np.full(len(units), np.nan) if swap_probability is None else units.largest(swap_probability),
    )


def _single_losses(pairs: EncodedPairs, unit: Indices, units: int) -> Array:
    found = np.zeros((len(pairs.z), units))
    differs = (pairs.z != pairs.z_tilde).any(0)
    for j in np.unique(unit[differs & (unit >= 0)]):  # a copy changes nothing
        found[:, j] = pairs.log_density - pairs.swapped_log_density(unit == j)
    return found
