"""From p-values to discoveries: corrections for many tests."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.stats import false_discovery_control

from knockoffs.runtime.arrays import Array

Correction = Literal["bh", "by", "holm", "none"]
NAMES: dict[Correction, str] = {
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
    "holm": "Holm",
    "none": "no correction",
}
WHAT_IS_BOUNDED: dict[Correction, str] = {
    "bh": "the expected share of false discoveries, if p-values depend on each other positively "
    "or not at all "
    "(Benjamini-Hochberg)",
    "by": "the expected share of false discoveries, however the tests depend on each other "
    "(Benjamini-Yekutieli)",
    "holm": "the probability of any false discovery (Holm)",
    "none": "the probability of a false discovery for each feature on its own",
}


def level_alone(level: float, correction: Correction, tests: int) -> float:
    """Return the p-value that makes a feature the only discovery among so many tests.

    >>> level_alone(0.1, "bh", 10)
    0.01
    """
    if correction == "none":
        return level
    every = float(np.sum(1 / np.arange(1, tests + 1))) if correction == "by" else 1.0
    return level / tests / every


def adjust_pvalues(pvalues: Array, correction: Correction) -> Array:
    """Return adjusted p-values: a feature is a discovery at a level where its own is at most that
    level.

    >>> adjust_pvalues(np.array([0.01, 0.02, 0.5]), "bh").tolist()
    [0.03, 0.03, 0.5]
    >>> adjust_pvalues(np.array([0.01, 0.02, 0.5]), "holm").tolist()
    [0.03, 0.04, 0.5]
    """
    if correction == "none" or len(pvalues) == 0:
        return pvalues.copy()
    if correction == "holm":
        order = np.argsort(pvalues, kind="stable")
        left = len(pvalues) - np.arange(len(pvalues))
        adjusted = np.empty_like(pvalues)
        adjusted[order] = np.minimum(np.maximum.accumulate(left * pvalues[order]), 1.0)
        return adjusted
    return false_discovery_control(pvalues, method=correction)
