"""The sentences of a report that depend on what was found: the answer, and why the others are not part of it."""

from __future__ import annotations

from typing import Any

from knockoffs.check.dry_run import Rate
from knockoffs.schema.words import amount, rounded_up
from knockoffs.selection.conclusion import accepted_on_average

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
