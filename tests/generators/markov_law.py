"""The distribution that knockoffs of a Markov chain are drawn from,
to compare with what it must be.
"""

from __future__ import annotations

import numpy as np

from knockoffs.generators.markov import steps
from knockoffs.runtime.arrays import Array, Indices


def markov_knockoff_log_prob(
    initial: Array, transitions: Array, z: Indices, z_tilde: Indices
) -> Array:
    """log P(z̃ | z) of each row."""
    rows = np.arange(len(z))
    total = np.zeros(len(z))
    with np.errstate(divide="ignore"):
        for j, chance in steps(initial, transitions, z, z_tilde):
            total += np.log(chance[rows, z_tilde[:, j]])
    return total
