"""What DDLK says of its own pairs [x, x̃]: their density, and how far swaps change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from knockoffs.arrays import Array, Indices


class SwapDivergence(NamedTuple):
    """Divergence in nats between [x, x̃] and its swaps under the model's own q_joint, and its standard error.

    It estimates a Kullback-Leibler divergence only as far as q_joint is the truth, and may come out below 0.
    """

    value: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class EncodedPairs:
    """Internal columns of rows and of their knockoffs, and their density under the model.

    Attributes
    ----------
    z, z_tilde : arrays of shape (rows, internal columns)
        Internal columns of the rows and of their knockoffs, on the scale of the networks.
    unit : array of shape (internal columns,)
        The feature that each internal column belongs to; -1 for classes of rows, which are never swapped.
    log_prob : callable
        From tables such as z and z̃ to log q_joint(z) + log q_knockoff(z̃ | z) of each row, on that scale: its
        slopes, of which a swap only changes the order, are left out.
    """

    z: Array
    z_tilde: Array
    unit: Indices
    log_prob: Callable[[Array, Array], Array]
