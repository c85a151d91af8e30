"""The knockoff filter: from statistics w to a selection with a bounded share of false discoveries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from knockoffs.arrays import Array, Flags
from knockoffs.checks import check_choice, check_number


def knockoff_threshold(w: ArrayLike, fdr: float, *, offset: int = 1) -> float:
    r"""The paper's equation (3):
    $\tau = \min \{t > 0 : \frac{1 + |\{j : w_j \le -t\}|}{|\{j : w_j \ge t\}|} \le q\}$.

    `inf` where no t qualifies. `offset=1` bounds the false discovery rate; `offset=0`, which leaves the 1 out,
    bounds a slightly weaker rate and selects more.

    >>> knockoff_threshold([5, 4, 3, -1], fdr=0.34)
    3.0
    >>> knockoff_threshold([5, 4, 3], fdr=0.1)
    inf
    """
    check_number("fdr", fdr, least=0, below=1, least_allowed=False)
    candidates, estimates = estimated_fdp(w, offset=offset)
    allowed = candidates[estimates <= fdr]
    return float(allowed.min()) if len(allowed) else math.inf


def estimated_fdp(w: ArrayLike, *, offset: int = 1) -> tuple[Array, Array]:
    """The thresholds t that matter (the different |w| above zero, ascending), and equation (3)'s left side."""
    check_choice("offset", offset, (0, 1))
    w = _statistics(w)
    candidates = np.unique(np.abs(w[w != 0]))
    in_order = np.sort(w)
    below = np.searchsorted(in_order, -candidates, side="right")
    above = len(w) - np.searchsorted(in_order, candidates, side="left")
    return candidates, (offset + below) / np.maximum(above, 1)


def knockoff_select(w: ArrayLike, fdr: float, *, offset: int = 1) -> Flags:
    """Which features are selected: those with w at or above the threshold."""
    return _statistics(w) >= knockoff_threshold(w, fdr, offset=offset)


def knockoff_evalues(w: ArrayLike, fdr: float, *, offset: int = 1) -> Array:
    r"""Knockoff e-values (Ren and Barber 2024): $e_j = d \cdot 1\{w_j \ge \tau\} / (1 + |\{j : w_j \le -\tau\}|)$.

    With `offset=1`, `select_by_evalues` of one draw at the same level gives the knockoff filter's selection;
    e-values of several draws may be averaged, which a selection may not.
    """
    w = _statistics(w)
    threshold = knockoff_threshold(w, fdr, offset=offset)
    return len(w) * (w >= threshold) / (1.0 + np.count_nonzero(w <= -threshold))


def select_by_evalues(evalues: ArrayLike, fdr: float) -> Flags:
    """e-BH (Wang and Ramdas 2022): the k largest e-values for the largest k with the k-th at least d / (k q)."""
    check_number("fdr", fdr, least=0, below=1, least_allowed=False)
    e = np.asarray(evalues, dtype=np.float64)
    in_order = np.sort(e)[::-1]
    enough = in_order * np.arange(1, len(e) + 1) * fdr >= len(e) * (1 - 1e-12)
    return e >= in_order[np.flatnonzero(enough)[-1]] if enough.any() else np.zeros(len(e), dtype=bool)


def draw_level(fdr: float, n_draws: int) -> float:
    """The level at which each of several draws is filtered."""
    return fdr if n_draws == 1 else fdr / 2


def combine_draws(ws: Sequence[ArrayLike], fdr: float, *, offset: int = 1) -> tuple[Flags, Array]:
    """One selection from the statistics of several knockoff draws, and its e-values (their means over draws).

    With more than one draw each is filtered at half the level, as Ren and Barber advise, so that features selected
    in most draws pass.
    """
    level = draw_level(fdr, len(ws))
    evalues = np.mean([knockoff_evalues(w, level, offset=offset) for w in ws], axis=0)
    selected = knockoff_select(ws[0], fdr, offset=offset) if len(ws) == 1 else select_by_evalues(evalues, fdr)
    return selected, evalues


def explain_empty_selection(w: ArrayLike, fdr: float, *, offset: int = 1) -> str:
    """Why nothing was selected, with numbers."""
    w = _statistics(w)
    needed = math.ceil(offset / fdr - 1e-9)
    positive = int(np.count_nonzero(w > 0))
    _, estimates = estimated_fdp(w, offset=offset)
    if positive == 0:
        return f"No feature of {len(w)} has w > 0: none looks more useful than its knockoff."
    first = estimates.min()
    rounded_up = math.ceil(1000 * first - 1e-9) / 1000
    within_reach = (
        f"the first would be selected at fdr={rounded_up:g}" if first < 1 else "no level below 1 selects any"
    )
    return (
        f"fdr={fdr:g} with offset={offset} needs at least {max(needed, 1)} features that stand out; "
        f"{positive} of {len(w)} have w > 0, and {within_reach}."
    )


def fdp(selected: ArrayLike, relevant: ArrayLike) -> float:
    """The share of the selected features that are not relevant; 0 where none is selected. Both as flags."""
    chosen, true = _flags("selected", selected), _flags("relevant", relevant)
    return float(np.count_nonzero(chosen & ~true) / max(np.count_nonzero(chosen), 1))


def power(selected: ArrayLike, relevant: ArrayLike) -> float:
    """The share of the relevant features that are selected. Both as flags."""
    chosen, true = _flags("selected", selected), _flags("relevant", relevant)
    if not true.any():
        raise ValueError(
            "relevant has no true entry: power is the share of relevant features found, so name some."
        )
    return float(np.count_nonzero(chosen & true) / np.count_nonzero(true))


def _statistics(w: Any) -> Array:
    array = np.asarray(w, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0 or not np.isfinite(array).all():
        raise ValueError(
            f"w must be a non-empty list of finite numbers, one for each feature; got shape {array.shape}."
        )
    return array


def _flags(name: str, value: Any) -> Flags:
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise ValueError(f"{name} must be true/false for each feature, not {array.dtype}: pass a boolean array.")
    return array
