"""Simulated responses: y given x with a known set of relevant features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.arrays import Array, Flags
from knockoffs.checks import check_count
from knockoffs.randomness import RandomState, random_generator


class Response(NamedTuple):
    """y, and which columns of x it depends on."""

    y: Array
    relevant: Flags


def linear_response(
    x: Array, *, relevant: int = 20, amplitude: float = 100.0, random_state: RandomState = None
) -> Response:
    r"""The paper's $y \mid x \sim \mathcal N(\langle x, \alpha\rangle, 1)$.

    `relevant` columns, chosen at random, have $\alpha_j = \pm \text{amplitude} / \sqrt N$, the others 0.
    """
    check_count("relevant", relevant)
    rng = random_generator(random_state, stream=3)
    rows, features = x.shape
    chosen = rng.permutation(features) < relevant
    alpha = np.where(chosen, rng.choice([-1.0, 1.0], size=features), 0.0) * amplitude / np.sqrt(rows)
    return Response(x @ alpha + rng.standard_normal(rows), chosen)


def liang_response(x: Array, *, relevant: int = 20, random_state: RandomState = None) -> Response:
    """The paper's non-linear response (Liang et al. 2018) of the first `relevant` columns, a multiple of 4."""
    if relevant % 4 or not 0 < relevant <= x.shape[1]:
        raise ValueError(f"relevant={relevant} is not valid: pass a multiple of 4 of at most {x.shape[1]}.")
    rng = random_generator(random_state, stream=3)
    groups = relevant // 4
    one, two = rng.normal(1, 1, size=(2, groups))
    three, four, five, six = rng.normal(2, 1, size=(4, groups))
    a, b, c, d = (x[:, k:relevant:4] for k in range(4))
    signal = one * a + three * b + four * a * b + five * np.tanh(two * c + six * d)
    return Response(signal.sum(1) + rng.standard_normal(len(x)), np.arange(x.shape[1]) < relevant)
