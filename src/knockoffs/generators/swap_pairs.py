"""Pairs [x, x̃] with their density under a generator's own model, and how far swaps change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Flags, Indices


class SwapDivergence(NamedTuple):
    """Divergence in nats between [x, x̃] and its swaps under the model's own q_joint,
    and its standard error.

    It estimates a Kullback-Leibler divergence only as far as q_joint is the truth, and may come out
    below 0.
    """

    value: float
    standard_error: float


@dataclass(frozen=True)
class EncodedPairs:
    """Rows and their knockoffs as a generator's densities see them; `generator.swap_pairs(X,
    seed)` gives them.

    Attributes
    ----------
    z, z_tilde : arrays of shape (rows, internal columns)
        Encoded rows and knockoffs. Where the encoding is random (the latent normal variable of a
        discrete column) z is drawn given the rows, and z_tilde is the knockoff of that z. Nothing
        may be rounded or decoded in between, or the densities are not those of the pair.
    unit : array of int of shape (internal columns,)
        The feature that each internal column belongs to; -1 for columns that are never swapped,
        such as those that the model conditions on.
    log_prob : callable
        From tables such as z and z̃ to log q_joint(z) + log q_knockoff(z̃ | z) of each row. What no
        swap changes, such as the slopes of scales, may be left out.
    """

    z: Array
    z_tilde: Array
    unit: Indices
    log_prob: Callable[[Array, Array], Array]

    @cached_property
    def log_density(self) -> Array:
        return self.log_prob(self.z, self.z_tilde)

    def swapped_log_density(self, columns: Flags) -> Array:
        """The log density of each row with these columns exchanged,
        in all rows or in each its own.
        """
        z, z_tilde = self.z, self.z_tilde
        return self.log_prob(np.where(columns, z_tilde, z), np.where(columns, z, z_tilde))
