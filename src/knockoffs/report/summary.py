"""The numbers of a report, as plain values that JSON can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from knockoffs.check import Certificate
from knockoffs.filtering.filter import estimated_fdp
from knockoffs.report.feature_pictures import DIGITS, columns_read, marginals, pairs, rounded
from knockoffs.report.story import answer, nearly_selected, remark
from knockoffs.runtime.arrays import Array
from knockoffs.schema.words import rounded_up
from knockoffs.selection.result import Selection
from knockoffs.selection.selector import KnockoffSelector

CHECKED = 20


def summarise(selector: KnockoffSelector, selection: Selection | None = None) -> dict[str, Any]:
    """Everything that the report shows; `selection` is that of the selector, perhaps with another target name."""
    pictured, selection = selector.pictured_, selection or selector.selection_
    names = list(pictured.schema.names)
    certificate = _certificate(selector.certificate_)
    return summarise_selection(selection, certificate) | {
        "columns_read": columns_read(selector.schema_),
        "marginals": marginals(pictured, names),
        "pairs": pairs(pictured, names),
        "certificate": certificate,
        "training": _training(getattr(selector.generator_, "history_", [])),
    }


def summarise_selection(selection: Selection, certificate: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the report shows of a selection alone."""
    found = selection.to_dict()
    found["features"] = [{"w": feature.pop(selection.ranked_by), **feature} for feature in found["features"]]
    return found | {
        "answer": answer(found, certificate),
        "features": [
            feature | {"enters": rounded_up(feature["smallest_level"]), "remark": remark(feature, found)}
            for feature in found["features"]
        ],
        "nearly": nearly_selected(found),
        "source": None,
        "cautions": list(selection.cautions),
        "curves": [_fdp_curve(w, selection) for w in selection.draws],
        "columns_read": None,
        "marginals": [],
        "pairs": [],
        "certificate": None,
        "training": [],
    }


def _certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return the certificate as plain values, with only the features that differ most from their knockoffs."""
    if certificate is None:
        return None
    found = certificate.to_dict()
    return found | {"features": found["features"][:CHECKED]}


def _fdp_curve(w: Array, selection: Selection) -> dict[str, list[float]]:
    """Estimated share of false ones among the k features with the largest w, for all k that thresholds give."""
    thresholds, estimates = estimated_fdp(w, offset=selection.offset)
    chosen = np.array([np.count_nonzero(w >= t) for t in thresholds])
    some = chosen > 0
    chosen, estimates = chosen[some][::-1], np.minimum(estimates[some], 1.0)[::-1]  # the largest threshold first
    selected, first = np.unique(chosen, return_index=True)
    return {"selected": selected.tolist(), "estimate": rounded(estimates[first])}


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


def _finite(values: list[float]) -> list[float | None]:
    return [float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None for v in values]
