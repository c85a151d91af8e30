"""Other guarantees from the same statistics w: few false selections in number,
and bounds for any chosen set.

All rest on what the knockoff filter rests on: for exact knockoffs and a statistic with the
flip-sign property, the signs of the w of irrelevant features are independent fair coins, given the
sizes |w|. With several knockoff draws that is true of the w of each draw and not of their mean, so
draws are combined by their guarantees (methods of `Selection`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import nbdtrc

from knockoffs.filtering.filter import counts_beyond, read_flags, read_statistics
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.checks import check_count, check_fraction


def pfer_select(w: ArrayLike, expected_false: int) -> Flags:
    """Select so that the expected number of false features (per-family error rate) is bounded.

    The v-knockoffs of Janson and Su (2016): from the largest |w| downwards, select all features
    with w > 0 that come before the v-th feature with w < 0. A feature as large as that one is not
    selected.

    Parameters
    ----------
    w : array-like of float
        One statistic per feature, of one knockoff draw.
    expected_false : int
        The bound v, at least 1: at most v false selections are expected, whatever the number of
        features.

    Returns
    -------
    array of bool
        True for the selected features.

    Examples
    --------
    >>> pfer_select([9, 8, -7, 6, -5, 4], expected_false=1).tolist()
    [True, True, False, False, False, False]
    >>> pfer_select([9, 8, -7, 6, -5, 4], expected_false=2).tolist()
    [True, True, False, True, False, False]
    """
    check_count("expected_false", expected_false)
    w = read_statistics(w)
    negative_sizes = np.sort(-w[w < 0])[::-1]
    limit = negative_sizes[expected_false - 1] if len(negative_sizes) >= expected_false else 0.0
    return w > limit


def kfwer_select(w: ArrayLike, k: int, alpha: float = 0.05) -> Flags:
    """Select so that k or more features are false with probability at most `alpha` (k-FWER).

    Janson and Su (2016): the number of false selections of `pfer_select` at v is at most negative
    binomial (the heads before the v-th tail of a fair coin), so the largest v is used for which
    that is k or more with probability at most `alpha`.

    Parameters
    ----------
    w : array-like of float
        One statistic per feature, of one knockoff draw.
    k : int
        The number of false selections to exclude. At `alpha=0.05` at least 5: a run of four heads
        is too likely.
    alpha : float, default=0.05
        The probability with which k or more false selections are accepted.

    Returns
    -------
    array of bool
        True for the selected features.

    Examples
    --------
    >>> kfwer_select([9, 8, -7, 6, -5, 4], k=5).tolist()
    [True, True, False, False, False, False]
    >>> kfwer_select([9, 8, -7, 6, -5, 4], k=8).tolist()
    [True, True, False, True, False, False]
    """
    check_count("k", k)
    check_fraction("alpha", alpha)
    return pfer_select(w, _largest_v(k, alpha, np.size(w) + 1))


def _largest_v(k: int, alpha: float, most: int) -> int:
    # the probability grows with v; more than all features changes nothing
    candidates = np.arange(1, most + 1)
    v = int(np.count_nonzero(nbdtrc(k - 1, candidates, 0.5) <= alpha))
    if v == 0:
        raise ValueError(
            f"k={k} with alpha={alpha:g} can select nothing: {k} false selections in a row have "
            f"probability "
            f"{0.5**k:.3g}. Pass k={math.ceil(-math.log2(alpha))} or more, or alpha={0.5**k:.3g} "
            f"or more."
        )
    return v


def fdp_bounds(w: ArrayLike, alpha: float = 0.05) -> Array:
    r"""Bound the false discovery proportion of the k features of largest w, for all k at once.

    With probability at least 1 - alpha all bounds hold together, so k may be chosen after looking
    at them. Katsevich and Ramdas (2020): the number of false ones among the features with w at or
    above t is at most $\lfloor c\,(1 + |\{j : w_j \le -t\}|) \rfloor$ with $c = \log(1/\alpha) /
    \log(2 - \alpha)$, for all t.

    Parameters
    ----------
    w : array-like of float
        One statistic per feature, of one knockoff draw.
    alpha : float, default=0.05
        The probability with which some bound may fail.

    Returns
    -------
    array of float
        Entry k - 1 bounds the proportion among the k features with the largest w. Features with w
        at or below 0 are counted as false.

    Examples
    --------
    >>> w = [12, 11, 10, 9, 8, 7, 6, 5, -4, 3]
    >>> fdp_bounds(w, alpha=0.2)[:8].tolist()  # two of the eight largest may be false
    [1.0, 1.0, 0.6666666666666666, 0.5, 0.4, 0.3333333333333333, 0.2857142857142857, 0.25]
    """
    w = read_statistics(w)
    return false_in_sets(w[None], np.argsort(-w, kind="stable"), alpha) / np.arange(1, len(w) + 1)


def fdp_bound(w: ArrayLike, chosen: ArrayLike, alpha: float = 0.05) -> float:
    """Bound the false discovery proportion of a set that may be chosen after looking at w.

    The bounds of `fdp_bounds` hold for all thresholds together; a set inherits from each threshold
    its bound plus the members below the threshold, and the best of these holds for all sets
    together, with probability at least 1 - alpha.

    Parameters
    ----------
    w : array-like of float
        One statistic per feature, of one knockoff draw.
    chosen : array-like of bool
        True for the features of the set, chosen by any means.
    alpha : float, default=0.05
        The probability with which the bound of some set may fail.

    Returns
    -------
    float
        The bound; 0 for the empty set.

    Examples
    --------
    >>> w = [12, 11, 10, 9, 8, 7, 6, 5, -4, 3]
    >>> fdp_bound(w, [False, True, True, True, True, True, True, True, True, False], alpha=0.2)
    0.375
    """
    return bound_of_set(read_statistics(w)[None], chosen, alpha)


def bound_of_set(ws: Array, chosen: ArrayLike, alpha: float) -> float:
    """Bound the false discovery proportion of a chosen set from w of each draw, `[draws,
    features]`.
    """
    flags = read_flags("chosen", chosen)
    if flags.shape != ws.shape[1:]:
        raise ValueError(
            f"chosen has shape {flags.shape}: pass one true/false for each of the {ws.shape[1]} "
            f"features."
        )
    members = np.flatnonzero(flags)
    false = false_in_sets(ws, members, alpha)
    return float(false[-1] / len(members)) if len(members) else 0.0


def false_in_sets(ws: Array, members: Indices, alpha: float) -> Array:
    r"""Bound the number of false ones among the first k of `members`, for all k,
    from w of each draw.

    The bounds of one draw hold for all sets together with probability 1 - alpha. Those of M draws
    are taken at alpha / 2 each, and by Markov's inequality half of the draws or more fail with
    probability at most alpha. Otherwise, for every set, one of its $\lceil M / 2 \rceil$ smallest
    bounds holds, and so does the largest of these.
    """
    check_fraction("alpha", alpha)
    each = [_false_in_sets(w, members, alpha if len(ws) == 1 else alpha / 2) for w in ws]
    return np.sort(each, axis=0)[(len(ws) - 1) // 2]


def _false_in_sets(w: Array, members: Indices, alpha: float) -> Array:
    """A set inherits from each threshold the bound on the false ones beyond it,
    plus the members below it.
    """
    thresholds, _, below = counts_beyond(w)
    # exp(a heads - b tails) is a martingale of coin flips where exp(a) + exp(-b) = 2; b = log(1 /
    # alpha) gives c.
    factor = math.log(1 / alpha) / math.log(2 - alpha)
    false_beyond, lowest = np.unique(np.floor(factor * (1 + below) + 1e-9), return_index=True)
    bounds = np.arange(1.0, len(members) + 1)
    for threshold, false in zip(thresholds[lowest], false_beyond, strict=True):
        bounds = np.minimum(bounds, np.cumsum(w[members] < threshold) + false)
    return bounds


def pfer_over_draws(ws: Array, expected_false: int) -> Flags:
    r"""Select features so that the expected number of false ones is bounded, from w of each draw.

    Derandomised knockoffs (Ren, Wei and Candès 2021): v-knockoffs of each draw select at most v
    false features on average, so at most v / η false ones are expected among those that a share η
    of the draws selects. Here v is half of `expected_false`, rounded up, and η is v /
    `expected_false`: one false selection asks for features that all draws select, two for half of
    the draws. With a single draw v is all of `expected_false`.
    """
    check_count("expected_false", expected_false)
    v = expected_false if len(ws) == 1 else -(-expected_false // 2)
    selecting = np.sum([pfer_select(w, v) for w in ws], axis=0)
    return selecting * expected_false >= v * len(ws)
