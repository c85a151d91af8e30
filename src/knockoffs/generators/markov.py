"""Knockoffs of a Markov chain on few states (Sesia, Sabatti and Candès 2017), all rows at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from knockoffs.runtime.arrays import Array, Indices


def markov_knockoffs(initial: Array, transitions: Array, z: Indices, uniform: Array) -> Indices:
    """Knockoffs of the chains in the rows of z; `uniform` holds one random number for each cell."""
    z_tilde = np.empty_like(z)
    for j, chance in steps(initial, transitions, z, z_tilde):
        z_tilde[:, j] = draw_states(chance, uniform[:, j])
    return z_tilde


def steps(
    initial: Array, transitions: Array, z: Indices, z_tilde: Indices
) -> Iterator[tuple[int, Array]]:
    r"""Yield, place by place, the distribution of z̃_j given z and the z̃ before it,
    which must be filled in first.

    $P(\tilde z_j = k) \propto
    q_j(k \mid z_{j-1}) q_j(k \mid \tilde z_{j-1}) q_{j+1}(z_{j+1} \mid k) / N_{j-1}(k)$,
    where $N_j(l)$ is the sum over k of the same with l for $z_{j+1}$, and $N_0 = 1$.
    """
    places = z.shape[1]
    normaliser = np.ones((len(z), len(initial)))
    for j in range(places):
        if j == 0:
            weight = np.broadcast_to(initial, normaliser.shape)
        else:
            before = transitions[j - 1]
            weight = (
                before[z[:, j - 1]] * before[z_tilde[:, j - 1]] / np.maximum(normaliser, 1e-300)
            )
        if j + 1 < places:
            after = transitions[j]
            normaliser = weight @ after
            scale = np.maximum(normaliser.max(1, keepdims=True), 1e-300)  # only ratios matter
            normaliser = normaliser / scale
            weight = weight * after[:, z[:, j + 1]].T
        # 0 for all after what cannot be
        yield j, weight / np.maximum(weight.sum(1, keepdims=True), 1e-300)


def draw_states(chance: Array, uniform: Array) -> Indices:
    """A state for each row by inversion."""
    return (chance.cumsum(1)[:, :-1] <= uniform[:, None]).sum(1)
