"""The statistic of several knockoff draws, by an object or a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from knockoffs.arrays import Array, Indices
from knockoffs.engine.training import Report
from knockoffs.progress import report_of_draw
from knockoffs.tables import Table


def compute_draws(
    statistic: Any,
    X: Any,
    table: Table,
    knockoffs: Sequence[Table],
    y: Any,
    *,
    groups: Indices | None,
    report: Report | None,
) -> Array:
    """Return w of each draw, `[draws, features]`; a function is given X itself, whose cells `table` holds."""
    if hasattr(statistic, "compute"):
        ws = [
            statistic.compute(
                table, own, y, groups=groups, report=report and report_of_draw(report, k, len(knockoffs))
            )
            for k, own in enumerate(knockoffs)
        ]
    else:
        ws = [np.asarray(statistic(X, own.to_native(), y), dtype=np.float64) for own in knockoffs]
    features = table.shape[1]
    for w in ws:
        if w.shape != (features,) or not np.isfinite(w).all():
            raise ValueError(
                f"statistic returned w of shape {w.shape}: return one finite number for each of the {features} "
                "features."
            )
    return np.stack(ws)
