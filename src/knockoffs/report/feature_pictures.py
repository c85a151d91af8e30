"""Features beside their knockoffs, as numbers to draw: histograms, shares of levels, pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from knockoffs.runtime.arrays import Array
from knockoffs.schema.schema import Column, Schema
from knockoffs.selection.kept_rows import Pictured

BINS = 24
LEVELS = 12
MARGINALS = 8
PAIRS = 4
POINTS = 300
MANY = 50  # values from which on points hardly fall onto each other
JITTER = 0.3  # of the distance between two values, to either side
DIGITS = 6


def marginals(pictured: Pictured, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the distribution of each pictured feature, under these names, and of its knockoff."""
    found = []
    for name, column, x, x_tilde in zip(names, pictured.schema, pictured.x.T, pictured.x_tilde.T, strict=True):
        described = _levels if _has_levels(column) else _histogram
        found.append(
            {
                "feature": name,
                **described(column, x, x_tilde),
                "missing": {"data": _share_missing(x), "knockoffs": _share_missing(x_tilde)},
                "correlation": None if column.kind == "nominal" else _correlation(x, x_tilde),
            }
        )
    return found[:MARGINALS]


def pairs(pictured: Pictured, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return some features against each other, and their knockoffs: quantities, in rows where both are there."""
    quantities = [k for k, column in enumerate(pictured.schema) if _is_quantity(column)]
    found = []
    for first, second in zip(quantities[0::2], quantities[1::2], strict=False):
        sides = {"data": pictured.x, "knockoffs": pictured.x_tilde}
        steps = [_step(pictured.schema[k]) for k in (first, second)]
        points = {name: _points(table[:, [first, second]], steps) for name, table in sides.items()}
        if all(len(there[0]) for there in points.values()):
            log = [suits_log(points["data"][k] + points["knockoffs"][k]) for k in (0, 1)]
            found.append({"first": names[first], "second": names[second], "log": log, **points})
    return found[:PAIRS]


def columns_read(schema: Schema) -> dict[str, Any]:
    """Return what was read: columns by kind, and how many cells are missing."""
    counts: dict[str, int] = {}
    for column in schema:
        counts[column.kind] = counts.get(column.kind, 0) + 1
    missing = [column.missing for column in schema]
    return {
        "kinds": dict(sorted(counts.items(), key=lambda kind: (-kind[1], kind[0]))),
        "missing": round(float(np.mean(missing)), DIGITS) if missing else 0.0,
        "with_missing": sum(share > 0 for share in missing),
    }


def _has_levels(column: Column) -> bool:
    few = column.discrete and len(column.values) <= LEVELS
    return column.levels is not None or few or column.kind == "nominal"


def _is_quantity(column: Column) -> bool:
    """Return whether places on a line say something of the column's values."""
    return column.levels is None and column.kind != "nominal"


def _histogram(column: Column, x: Array, x_tilde: Array) -> dict[str, Any]:
    x, x_tilde = (cells[~np.isnan(cells)] for cells in (x, x_tilde))
    both = np.concatenate([x, x_tilde])
    whole = column.discrete and all(value == round(value) for value in column.values)
    log = suits_log(both.tolist())
    if whole and len(both):
        edges = _whole_edges(both, log)
    else:
        edges = np.exp(_edges(np.log(both))) if log else _edges(both)
    if log and not whole:  # rounding must not lose the ends
        edges[0], edges[-1] = both.min(), both.max()
    return {
        "edges": rounded(edges),
        "log": log,
        "data": np.histogram(x, edges)[0].tolist(),
        "knockoffs": np.histogram(x_tilde, edges)[0].tolist(),
    }


def _levels(column: Column, x: Array, x_tilde: Array) -> dict[str, Any]:
    """Count rows by level; the rarest levels are counted together."""
    both = np.concatenate([x, x_tilde])
    values, counts = np.unique(both[~np.isnan(both)], return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:LEVELS])
    labels = [_label(column, value) for value in values[kept]]
    sides = {
        name: [int(np.count_nonzero(cells == value)) for value in values[kept]]
        for name, cells in (("data", x), ("knockoffs", x_tilde))
    }
    others = len(values) - len(kept)
    if others:
        labels.append(f"{others} others")
        for name, cells in (("data", x), ("knockoffs", x_tilde)):
            sides[name].append(int(np.count_nonzero(~np.isnan(cells))) - sum(sides[name]))
    return {"levels": labels, **sides}


def _label(column: Column, value: float) -> str:
    return f"{value:.{DIGITS}g}" if column.levels is None else str(column.levels[int(value)])


def _share_missing(cells: Array) -> float:
    return round(float(np.isnan(cells).mean()), DIGITS)


def _edges(values: Array) -> Array:
    """Bins over the range of the values, which for a constant, and where there are none, is made up."""
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    if not high - low > 1e-12 * abs(high):
        slack = max(0.5, 1e-6 * abs(high))
        low, high = low - slack, high + slack
    return np.linspace(low, high, BINS + 1)


def _whole_edges(values: Array, log: bool) -> Array:
    """Bins of whole numbers, as many in each: else some bins would hold one more than their neighbours.

    On a logarithmic axis they hold more and more numbers.
    """
    low, high = values.min(), values.max()
    if log:
        return np.unique(np.rint(np.geomspace(low, high + 1, BINS + 1))) - 0.5
    width = max(1, math.ceil((high - low + 1) / BINS))
    return np.arange(low - 0.5, high + width, width)


def _step(column: Column) -> float:
    """Return by how much values of a column differ at least where they are few, else 0."""
    few = column.discrete and len(column.values) <= MANY
    return float(np.diff(column.values).min(initial=np.inf)) if few and len(column.values) > 1 else 0.0


def _points(pair: Array, steps: Sequence[float]) -> list[list[float]]:
    """Rows where both cells are there; points of few values are moved a little, so that they can be counted."""
    there = pair[~np.isnan(pair).any(axis=1)][:POINTS]
    there = there + JITTER * np.array(steps) * np.random.default_rng(0).uniform(-1, 1, size=there.shape)
    return [rounded(there[:, 0]), rounded(there[:, 1])]


def _correlation(x: Array, x_tilde: Array) -> float | None:
    there = ~np.isnan(x) & ~np.isnan(x_tilde)
    x, x_tilde = x[there], x_tilde[there]
    if len(x) < 2 or x.std() == 0 or x_tilde.std() == 0:
        return None
    return round(float(np.corrcoef(x, x_tilde)[0, 1]), 3)


def rounded(values: Array) -> list[float]:
    """Round to six digits of their range, which keeps values apart that lie far from zero."""
    span, most = (float(np.ptp(values)), float(np.abs(values).max())) if len(values) else (0.0, 0.0)
    beyond = max(0, math.ceil(math.log10(most / span))) if span > 0 and most > 0 else 0
    return [float(f"{value:.{min(DIGITS + beyond, 17)}g}") for value in values.tolist()]


SKEWED = 8.0  # times the median


def suits_log(values: Sequence[float]) -> bool:
    """Return whether values above zero reach so far beyond their median that a straight axis would hide most.

    >>> suits_log([1, 2, 3, 200]), suits_log([1, 2, 3, 4]), suits_log([0, 1, 200])
    (True, False, False)
    """
    found = np.asarray(values, dtype=float)
    return len(found) > 1 and bool(found.min() > 0) and bool(found.max() > SKEWED * np.median(found))
