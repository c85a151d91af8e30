"""Simulated responses: y given x with a known set of relevant features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.randomness import RandomState, random_generator


class Response(NamedTuple):
    """A simulated response and its truth.

    Attributes
    ----------
    y : array of float
        The response.
    relevant : array of bool
        Which columns of x it depends on.
    """

    y: Array
    relevant: Flags


def linear_response(
    x: Array, *, relevant: int = 20, amplitude: float = 100.0, random_state: RandomState = None
) -> Response:
    r"""Simulate the paper's $y \mid x \sim \mathcal N(\langle x, \alpha\rangle, 1)$.

    Parameters
    ----------
    x : array of shape (n_rows, n_features)
        The features.
    relevant : int, default=20
        Number of columns, chosen at random, with $\alpha_j = \pm \text{amplitude} / \sqrt N$; the others have
        0.
    amplitude : float, default=100.0
        Size of the coefficients.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    Response
        `y` and `relevant`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 30))
    >>> linear_response(x, relevant=5, random_state=0).relevant.sum()
    np.int64(5)
    """
    check_count("relevant", relevant)
    rng = random_generator(random_state, stream=3)
    rows, features = x.shape
    chosen = rng.permutation(features) < relevant
    alpha = np.where(chosen, rng.choice([-1.0, 1.0], size=features), 0.0) * amplitude / np.sqrt(rows)
    return Response(x @ alpha + rng.standard_normal(rows), chosen)


def liang_response(x: Array, *, relevant: int = 20, random_state: RandomState = None) -> Response:
    """Simulate the paper's non-linear response (Liang et al. 2018): lines, products and hyperbolic tangents.

    Parameters
    ----------
    x : array of shape (n_rows, n_features)
        The features.
    relevant : int, default=20
        Number of relevant columns, the first ones; a multiple of 4.
    random_state : int, numpy Generator or None, default=None
        Seed.

    Returns
    -------
    Response
        `y` and `relevant`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 30))
    >>> liang_response(x, relevant=8, random_state=0).relevant.sum()
    np.int64(8)
    """
    if relevant % 4 or not 0 < relevant <= x.shape[1]:
        raise ValueError(f"relevant={relevant} is not valid: pass a multiple of 4 of at most {x.shape[1]}.")
    rng = random_generator(random_state, stream=3)
    groups = relevant // 4
    one, two = rng.normal(1, 1, size=(2, groups))
    three, four, five, six = rng.normal(2, 1, size=(4, groups))
    a, b, c, d = (x[:, k:relevant:4] for k in range(4))
    signal = one * a + three * b + four * a * b + five * np.tanh(two * c + six * d)
    return Response(signal.sum(1) + rng.standard_normal(len(x)), np.arange(x.shape[1]) < relevant)
