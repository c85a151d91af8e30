"""Mathematics that is written once for arrays of numpy and tensors of torch.

Both libraries have most functions under the same names, in the module that `library_of` returns. Here are those
that differ. Torch is not imported: where there are tensors, it has been.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from torch import Tensor

Numbers = TypeVar("Numbers", "NDArray[Any]", "Tensor")
Either = Any  # the same inside of functions that call those of either library


def library_of(x: Either) -> Any:
    """Return numpy for its arrays, and torch for its tensors."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def sort_columns(x: Either) -> Either:
    """Return each column in increasing order."""
    return np.sort(x, 0) if isinstance(x, np.ndarray) else library_of(x).msort(x)


def columns_first(x: Either) -> Either:
    """Return the transposed table, so that each column lies in one piece of memory."""
    return np.ascontiguousarray(x.T) if isinstance(x, np.ndarray) else x.T.contiguous()


def find_interval(edges: Either, points: Either) -> Either:
    """Return, per point, its interval between edges, clipped to the inner ones; `[d, rows]`."""
    xp = library_of(points)
    if xp is np:
        above = np.empty(points.shape, dtype=np.int64)
        for found, own, at in zip(above, edges, points, strict=True):
            found[:] = np.searchsorted(own, at, "right")
    else:
        above = xp.searchsorted(edges, points, right=True)
    return xp.clip(above - 1, 0, edges.shape[1] - 2)


def pick(x: Either, index: Either) -> Either:
    """Return the entries of each row of x by their numbers there."""
    return np.take_along_axis(x, index, 1) if isinstance(x, np.ndarray) else x.gather(1, index)


def interpolate(first: Either, second: Either, share: Either) -> Either:
    """Return what lies at this share of the way from the first to the second."""
    xp = library_of(first)
    return first + share * (second - first) if xp is np else xp.lerp(first, second, share)


def softplus(x: Either) -> Either:
    """Return log(1 + eˣ)."""
    xp = library_of(x)
    return np.logaddexp(0.0, x) if xp is np else xp.nn.functional.softplus(x, threshold=30.0)


def normal_cdf(x: Either) -> Either:
    """Return the probability that a standard normal number is below x."""
    xp = library_of(x)
    return ndtr(x) if xp is np else xp.special.ndtr(x)


def normal_quantile(probability: float, like: Either) -> float:
    """Return the inverse of `normal_cdf` by the library that `like` is of."""
    xp = library_of(like)
    if xp is np:
        return float(ndtri(probability))
    return xp.special.ndtri(xp.tensor(probability, dtype=xp.float64)).item()
