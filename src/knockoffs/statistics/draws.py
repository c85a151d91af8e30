"""The statistic of several knockoff draws, by an object or a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from knockoffs.arrays import Array, Indices
from knockoffs.engine.training import Report
from knockoffs.progress import report_of_draw
from knockoffs.statistics.crossfit import CrossFitted
from knockoffs.tables import Table

MOST_PREDICTIONS = 50_000_000  # numbers that are kept to describe effects


class Draws(NamedTuple):
    """The statistic of each draw, and what its models say of the first.

    Attributes
    ----------
    ws : array of shape (draws, features)
        The statistic w; a group of features has one.
    others : array of shape (rows, features, outputs) or None
        What the models of the first draw predict from all features but one; None where there are no such models.
    """

    ws: Array
    others: Array | None


def compute_draws(
    statistic: Any,
    X: Any,
    table: Table,
    knockoffs: Sequence[Table],
    y: Any,
    *,
    groups: Indices | None,
    report: Report | None,
) -> Draws:
    """Compute w of each draw; a function is given X itself, whose cells `table` holds."""
    rows, features = len(table), len(table.units)
    ws, others = [], None
    for k, own in enumerate(knockoffs):
        told = report and report_of_draw(report, k, len(knockoffs))
        if not hasattr(statistic, "compute"):
            w = np.asarray(statistic(X, own.to_native(), y), dtype=np.float64)
        elif k == 0 and isinstance(statistic, CrossFitted) and rows * features <= MOST_PREDICTIONS:
            w, others = statistic.compute_with_predictions(table, own, y, groups=groups, report=told)
        else:
            w = statistic.compute(table, own, y, groups=groups, report=told)
        if w.shape != (features,) or not np.isfinite(w).all():
            raise ValueError(
                f"statistic returned w of shape {w.shape}: return one finite number for each of the {features} "
                "features (a group of features is one)."
            )
        ws.append(w)
    return Draws(np.stack(ws), others)
