"""The numbers of a report, as plain values that JSON can hold."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from knockoffs.arrays import Array
from knockoffs.diagnostics import Certificate
from knockoffs.filtering import estimated_fdp
from knockoffs.selection import Selection
from knockoffs.selector import KnockoffSelector, Pictured

BINS = 24
CHECKED = 20
MARGINALS = 8
PAIRS = 4
POINTS = 300
DIGITS = 6


def summarise(selector: KnockoffSelector) -> dict[str, Any]:
    """Everything that the report shows."""
    selection = selector.selection_
    pictured = selector.pictured_
    return selection.to_dict() | {
        "cautions": list(selection.cautions),
        "curves": [_fdp_curve(w, selection) for w in selection.draws],
        "marginals": _marginals(pictured, selection),
        "pairs": _pairs(pictured, selection),
        "certificate": _certificate(selector.certificate_),
        "entropy": _entropy(selector.generator_),
        "training": _training(getattr(selector.generator_, "history_", [])),
    }


def _certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return the certificate as plain values, with only the features that differ most from their knockoffs."""
    if certificate is None:
        return None
    found = certificate.to_dict()
    return found | {"features": found["features"][:CHECKED]}


def _entropy(generator: Any) -> dict[str, Any] | None:
    """How the weight of the entropy was chosen, where it was."""
    path = getattr(generator, "entropy_path_", None)
    if not path:
        return None
    return {"reason": generator.entropy_reason_, "path": [asdict(step) for step in path]}


def _fdp_curve(w: Array, selection: Selection) -> dict[str, list[float]]:
    """Estimated share of false ones among the k features with the largest w, for all k that thresholds give."""
    thresholds, estimates = estimated_fdp(w, offset=selection.offset)
    chosen = np.array([np.count_nonzero(w >= t) for t in thresholds])
    some = chosen > 0
    chosen, estimates = chosen[some][::-1], np.minimum(estimates[some], 1.0)[::-1]  # the largest threshold first
    selected, first = np.unique(chosen, return_index=True)
    return {"selected": selected.tolist(), "estimate": _rounded(estimates[first])}


def _marginals(pictured: Pictured, selection: Selection) -> list[dict[str, Any]]:
    found = []
    for k, column in enumerate(pictured.columns[:MARGINALS]):
        x, x_tilde = pictured.x[:, k], pictured.x_tilde[:, k]
        edges = _edges(np.concatenate([x, x_tilde]))
        found.append(
            {
                "feature": selection.names[column],
                "edges": _rounded(edges),
                "data": np.histogram(x, edges)[0].tolist(),
                "knockoffs": np.histogram(x_tilde, edges)[0].tolist(),
                "correlation": _correlation(x, x_tilde),
            }
        )
    return found


def _edges(values: Array) -> Array:
    """Bins over the range of the values, which for a constant is made up."""
    low, high = values.min(), values.max()
    if not high - low > 1e-12 * abs(high):
        slack = max(0.5, 1e-6 * abs(high))
        low, high = low - slack, high + slack
    return np.linspace(low, high, BINS + 1)


def _pairs(pictured: Pictured, selection: Selection) -> list[dict[str, Any]]:
    rows = slice(0, POINTS)
    return [
        {
            "first": selection.names[pictured.columns[k]],
            "second": selection.names[pictured.columns[k + 1]],
            "data": [_rounded(pictured.x[rows, k]), _rounded(pictured.x[rows, k + 1])],
            "knockoffs": [_rounded(pictured.x_tilde[rows, k]), _rounded(pictured.x_tilde[rows, k + 1])],
        }
        for k in range(0, min(2 * PAIRS, len(pictured.columns) - 1), 2)
    ]


def _training(history: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "stage": phase.stage,
            "train": _finite(phase.train),
            "held_out": _finite(phase.held_out),
            "best": int(phase.best_epoch),
        }
        for phase in history
    ]


def _correlation(x: Array, x_tilde: Array) -> float | None:
    if x.std() == 0 or x_tilde.std() == 0:
        return None
    return round(float(np.corrcoef(x, x_tilde)[0, 1]), 3)


def _rounded(values: Array) -> list[float]:
    """To six digits of their range, which keeps values apart that lie far from zero."""
    span, most = (float(np.ptp(values)), float(np.abs(values).max())) if len(values) else (0.0, 0.0)
    beyond = max(0, math.ceil(math.log10(most / span))) if span > 0 and most > 0 else 0
    return [float(f"{value:.{min(DIGITS + beyond, 17)}g}") for value in values.tolist()]


def _finite(values: list[float]) -> list[float | None]:
    return [float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None for v in values]
