"""Which values are better shown on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SKEWED = 8.0  # times the median


def suits_log(values: Sequence[float]) -> bool:
    """Return whether values above zero reach so far beyond their median that a straight axis would hide most.

    >>> suits_log([1, 2, 3, 200]), suits_log([1, 2, 3, 4]), suits_log([0, 1, 200])
    (True, False, False)
    """
    found = np.asarray(values, dtype=float)
    return len(found) > 1 and bool(found.min() > 0) and bool(found.max() > SKEWED * np.median(found))
