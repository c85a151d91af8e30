"""Functions of numpy's arrays and of torch's tensors alike, of which likelihoods are made.

Here η is `[..., outputs, rows]`, so that one number per row goes with each output, of however many
models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from knockoffs.kinds.scales import library_of

Either = Any  # an array or a tensor
FARTHEST = 50.0  # of an exponent


def exp(x: Either) -> Either:
    """Return the exponential; beyond a limit it stays finite, so that too long a step of a fit
    can be undone.
    """
    xp = library_of(x)
    return xp.exp(xp.clip(x, None, FARTHEST))


def log_sigmoid(x: Either) -> Either:
    """Return the logarithm of the logistic function."""
    xp = library_of(x)
    return special.log_expit(x) if xp is np else xp.nn.functional.logsigmoid(x)


def softmax(eta: Either) -> Either:
    """Return the probabilities whose logits are η."""
    return special.softmax(eta, axis=-2) if library_of(eta) is np else eta.softmax(-2)


def log_probability(eta: Either, number: Either) -> Either:
    """Return the logarithm of the probability of each row's class, whose logits are η."""
    xp = library_of(eta)
    if xp is np:
        own = number.astype(np.intp).reshape((1,) * (eta.ndim - 1) + (-1,))
        return np.take_along_axis(special.log_softmax(eta, axis=-2), own, axis=-2)[..., 0, :]
    by_row = eta.transpose(0, -1)  # [rows, outputs, ...], as torch takes it
    own = number.long().reshape(-1, *[1] * (eta.ndim - 2)).expand(-1, *by_row.shape[2:])
    return -xp.nn.functional.cross_entropy(by_row, own, reduction="none").transpose(0, -1)
