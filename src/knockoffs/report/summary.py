"""The numbers of a report as plain values, and the sentences that depend on what was found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from knockoffs.check import Certificate
from knockoffs.check.dry_run import Rate
from knockoffs.filtering.filter import estimated_fdp
from knockoffs.report.feature_pictures import DIGITS, columns_read, marginals, pairs, rounded
from knockoffs.runtime.arrays import Array
from knockoffs.schema.words import amount, rounded_up
from knockoffs.selection.conclusion import accepted_on_average
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


NEAR = 2.0  # times the level asked for: features that enter below it are nearly selected
MOST_NEAR = 10
VERDICTS = {
    "pass": "The check of the knockoffs passed.",
    "warn": "The check of the knockoffs warns:",
    "fail": "The check of the knockoffs failed, so do not rely on the level:",
}


def answer(found: dict[str, Any], certificate: dict[str, Any] | None) -> str:
    """Return what was found in one breath with how far to trust it."""
    settings, count = found["settings"], len(found["discoveries"])
    about = "the target" if settings["target"] is None else settings["target"]
    if not count:
        return f"No feature can be said to tell something about {about} at level {settings['fdr']:g}."
    what = "feature tells" if count == 1 else "features tell"
    said = f"{count} of {settings['features']} {what} something about {about} that the others do not"
    if found["expected_false"] is not None:
        expected = amount(found["expected_false"])
        said += f"; expect about {expected} of these to be false ({_accepted(found, certificate)})"
    else:
        said += f", at level {settings['fdr']:g}"
    if certificate is None:
        return f"{said}. The knockoffs were not checked."
    verdict = VERDICTS[certificate["verdict"]]
    reason = "" if certificate["verdict"] == "pass" else f" {certificate['reasons'][0]}"
    return f"{said}. {verdict}{reason}"


def _accepted(found: dict[str, Any], certificate: dict[str, Any] | None) -> str:
    """Return how many false ones were accepted; the certificate is about the level that was asked for."""
    settings, rate = found["settings"], None
    if certificate is not None and settings["level"] == settings["fdr"] and certificate["expected"] is not None:
        rate = Rate(**certificate["expected"])
    return accepted_on_average(found["expected_false"], len(found["discoveries"]), settings["fdr"], rate)


def nearly_selected(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the features that a level of at most twice the one asked for would select, with that level."""
    limit = min(NEAR * found["settings"]["fdr"], 0.999)
    near = [f for f in found["features"] if not f["selected"] and f["smallest_level"] <= limit]
    near.sort(key=lambda f: (f["smallest_level"], -f["w"]))
    return [{"feature": f["feature"], "level": rounded_up(f["smallest_level"])} for f in near[:MOST_NEAR]]


def remark(feature: dict[str, Any], found: dict[str, Any]) -> str:
    """Return why a feature is not selected, where more can be said than its level; else nothing."""
    name = feature["feature"]
    if feature["selected"]:
        return ""
    if name in found["settings"]["condition_on"]:
        return "conditioned on, not tested"
    if name in found["kept_without_guarantee"]:
        return "kept without guarantee"
    twins = [other for pair in found["twins"] if name in pair for other in pair if other != name]
    if twins:
        return f"hardly differs from {twins[0]}"
    if feature["w"] == 0:
        return "no different from its knockoff"
    return "its knockoff tells more" if feature["w"] < 0 else ""
