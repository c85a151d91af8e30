"""Columns that stand for a quantity in tests, also where its tails are heavy."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from knockoffs.runtime.arrays import Array
from knockoffs.targets.standard_units import standardise

HEAVY = 20.0  # fourth moment in standard units, which is 3 for a normal distribution


def in_normal_scores(y: Array) -> bool:
    """Return whether normal scores stand for a quantity, whose tails are heavy."""
    (standard,), _, _ = standardise(y[:, None])
    return bool(np.mean(standard**4) > HEAVY)


def standard_residuals(y: Array) -> Array:
    """Return a quantity in standard units, or its normal scores for heavy tails, `[rows, 1]`."""
    (standard,), _, _ = standardise(y[:, None])
    if in_normal_scores(y):
        standard = ndtri((rankdata(y) - 0.5) / len(y))[:, None]
    return standard - standard.mean(0)
