"""Simulated responses with a known set of relevant features, and columns that are known to tell nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.randomness import RandomState, random_generator

NULL = "null "


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


def add_null_columns(X: pd.DataFrame, random_state: RandomState = None) -> pd.DataFrame:
    """Return X, and beside it a copy of X whose rows are shuffled as wholes.

    The copies (named "null …") depend on each other as the features do, and on nothing else: selecting one is
    certainly a false discovery.

    Parameters
    ----------
    X : DataFrame
        The features.
    random_state : int, numpy Generator or None, default=None
        Seed of the shuffle.

    Returns
    -------
    DataFrame
        Twice as many columns.

    Examples
    --------
    >>> add_null_columns(pd.DataFrame({"age": [30, 40], "dose": [1, 2]}), random_state=0).columns.tolist()
    ['age', 'dose', 'null age', 'null dose']
    """
    order = random_generator(random_state, stream=5).permutation(len(X))
    copies = X.iloc[order].set_axis([f"{NULL}{name}" for name in X.columns], axis=1).set_axis(X.index)
    return pd.concat([X, copies], axis=1)


def is_null(name: Any) -> bool:
    """Return whether a column is one that `add_null_columns` added, by its name."""
    return str(name).startswith(NULL)
