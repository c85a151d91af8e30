"""The swap divergence of a generator that knows its densities: all columns by coins, and each column alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from knockoffs.arrays import Array, Flags

SINGLE_ROWS = 500  # for d single swaps, each as dear as one swap of all
ALL_SWAPS = 4


class Divergence(NamedTuple):
    """In nats a row, by the generator's own densities: it cannot see where these are wrong.

    total : mean over random swaps of all columns by coins, with its standard error.
    single : mean for the swap of each column alone, with standard errors.
    worst : chance that the worst-case swap learned in the fit takes each column; nan where none was learned.
    """

    total: float
    total_error: float
    single: Array
    single_error: Array
    worst: Array


def has_densities(generator: Any) -> bool:
    return hasattr(generator, "log_prob") and hasattr(generator, "joint_log_prob")


def swap_divergence(generator: Any, x: Array, x_tilde: Array, rng: np.random.Generator) -> Divergence:
    """Return the swap divergence of the rows x and their knockoffs."""
    kept = _log_prob(generator, x, x_tilde)
    swapped = [_swapped_log_prob(generator, x, x_tilde, rng.random(x.shape) < 0.5) for _ in range(ALL_SWAPS)]
    total = kept - np.mean(swapped, axis=0)
    some = rng.permutation(len(x))[:SINGLE_ROWS]
    singles = _single_losses(generator, x[some], x_tilde[some])
    return Divergence(
        total=float(total.mean()),
        total_error=float(total.std() / np.sqrt(len(total))),
        single=singles.mean(0),
        single_error=singles.std(0) / np.sqrt(len(singles)),
        worst=_worst_swap(generator, x.shape[1]),
    )


def _swapped_log_prob(generator: Any, x: Array, x_tilde: Array, mask: Flags) -> Array:
    return _log_prob(generator, np.where(mask, x_tilde, x), np.where(mask, x, x_tilde))


def _single_losses(generator: Any, x: Array, x_tilde: Array) -> Array:
    kept = _log_prob(generator, x, x_tilde)
    found = np.zeros(x.shape)
    for j in np.flatnonzero((x != x_tilde).any(0)):  # a copy changes nothing
        u, u_tilde = x.copy(), x_tilde.copy()
        u[:, j], u_tilde[:, j] = x_tilde[:, j], x[:, j]
        found[:, j] = kept - _log_prob(generator, u, u_tilde)
    return found


def _log_prob(generator: Any, x: Array, x_tilde: Array) -> Array:
    return generator.joint_log_prob(x) + generator.log_prob(x, x_tilde)


def _worst_swap(generator: Any, features: int) -> Array:
    worst = np.full(features, np.nan)
    learned = getattr(generator, "swap_probability_", None)
    if learned is not None:
        worst[generator.modelled_] = learned
    return worst
