"""The numbers of a report as plain values, and the sentences that depend on what was found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from knockoffs.check.dry_run import Rate
from knockoffs.filtering.filter import estimated_fdp
from knockoffs.generators.any_generator import declared_by
from knockoffs.runtime.arrays import Array
from knockoffs.schema.schema import Column, Schema
from knockoffs.schema.words import amount, rounded_up
from knockoffs.selection.conclusion import accepted_on_average
from knockoffs.selection.kept_rows import Pictured
from knockoffs.selection.result import Selection
from knockoffs.selection.selector import KnockoffSelector

CHECKED = 20  # features that differ most from their knockoffs


def summarise(selector: KnockoffSelector, selection: Selection | None = None) -> dict[str, Any]:
    """Everything that the report shows; `selection` is that of the selector,
    perhaps with another target name.
    """
    pictured, selection = selector.pictured_, selection or selector.selection_
    names = list(pictured.schema.names)
    certificate = None if selector.certificate_ is None else selector.certificate_.to_dict()
    return summarise_selection(selection, certificate) | {
        "columns_read": columns_read(selector.schema_),
        "marginals": marginals(pictured, names),
        "pairs": pairs(pictured, names),
        "certificate": certificate
        and certificate | {"features": certificate["features"][:CHECKED]},
        "training": [
            {
                "stage": phase.stage,
                "train": _finite(phase.train),
                "held_out": _finite(phase.held_out),
                "best": int(phase.best_epoch),
            }
            for phase in declared_by(selector.generator_).phases_of_fit
        ],
    }


def summarise_selection(
    selection: Selection, certificate: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What the report shows of a selection alone."""
    found = selection.to_dict()
    found["features"] = [
        {"w": feature.pop(selection.ranked_by), **feature} for feature in found["features"]
    ]
    return found | {
        "answer": answer(found, certificate),
        "features": [
            feature
            | {"enters": rounded_up(feature["smallest_level"]), "remark": remark(feature, found)}
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


def _fdp_curve(w: Array, selection: Selection) -> dict[str, list[float]]:
    """Estimated share of false ones among the k features with the largest w,
    for all k that thresholds give.
    """
    thresholds, estimates = estimated_fdp(w, offset=selection.offset)
    chosen = np.array([np.count_nonzero(w >= t) for t in thresholds])
    some = chosen > 0
    # the largest threshold first
    chosen, estimates = chosen[some][::-1], np.minimum(estimates[some], 1.0)[::-1]
    selected, first = np.unique(chosen, return_index=True)
    return {"selected": selected.tolist(), "estimate": rounded(estimates[first])}


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
        return (
            f"No feature can be said to tell something about {about} at level {settings['fdr']:g}."
        )
    what = "feature tells" if count == 1 else "features tell"
    said = (
        f"{count} of {settings['features']} {what} something about {about} that the others do not"
    )
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
    """Return how many false ones were accepted; the certificate is about the level that was asked
    for.
    """
    settings, rate = found["settings"], None
    if (
        certificate is not None
        and settings["level"] == settings["fdr"]
        and certificate["expected"] is not None
    ):
        rate = Rate(**certificate["expected"])
    return accepted_on_average(
        found["expected_false"], len(found["discoveries"]), settings["fdr"], rate
    )


def nearly_selected(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the features that a level of at most twice the one asked for would select,
    with that level.
    """
    limit = min(NEAR * found["settings"]["fdr"], 0.999)
    near = [f for f in found["features"] if not f["selected"] and f["smallest_level"] <= limit]
    first = sorted(near, key=lambda f: (f["smallest_level"], -f["w"]))[:MOST_NEAR]
    return [{"feature": f["feature"], "level": rounded_up(f["smallest_level"])} for f in first]


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
    columns = zip(names, pictured.schema, pictured.x.T, pictured.x_tilde.T, strict=True)
    return [
        {
            "feature": name,
            **(_levels if _has_levels(column) else _histogram)(column, x, x_tilde),
            "missing": {"data": _share_missing(x), "knockoffs": _share_missing(x_tilde)},
            "correlation": _correlation(x, x_tilde) if column.holds.ordered else None,
        }
        for name, column, x, x_tilde in islice(columns, MARGINALS)
    ]


def pairs(pictured: Pictured, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return some features against each other, and their knockoffs: quantities,
    in rows where both are there.
    """
    has_places = [
        column.levels is None and not column.holds.of_levels for column in pictured.schema
    ]
    quantities = np.flatnonzero(has_places)  # places on a line say something of their values
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
    counts = Counter(column.kind for column in schema)
    missing = [column.missing for column in schema]
    return {
        "kinds": dict(sorted(counts.items(), key=lambda kind: (-kind[1], kind[0]))),
        "missing": round(float(np.mean(missing)), DIGITS) if missing else 0.0,
        "with_missing": sum(share > 0 for share in missing),
    }


def _has_levels(column: Column) -> bool:
    few = column.discrete and len(column.values) <= LEVELS
    return column.levels is not None or few or column.holds.of_levels


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
    order = np.argsort(-counts, kind="stable")
    kept, others = values[np.sort(order[:LEVELS])], values[order[LEVELS:]]
    groups = [*kept[:, None], *([others] if len(others) else [])]
    labels = [
        f"{v:.{DIGITS}g}" if column.levels is None else str(column.levels[int(v)]) for v in kept
    ]
    return {
        "levels": [*labels, *([f"{len(others)} others"] if len(others) else [])],
        "data": [int(np.isin(x, group).sum()) for group in groups],
        "knockoffs": [int(np.isin(x_tilde, group).sum()) for group in groups],
    }


def _share_missing(cells: Array) -> float:
    return round(float(np.isnan(cells).mean()), DIGITS)


def _edges(values: Array) -> Array:
    """Bins over the range of the values, which for a constant, and where there are none,
    is made up.
    """
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    if not high - low > 1e-12 * abs(high):
        slack = max(0.5, 1e-6 * abs(high))
        low, high = low - slack, high + slack
    return np.linspace(low, high, BINS + 1)


def _whole_edges(values: Array, log: bool) -> Array:
    """Bins of whole numbers, as many in each: else some bins would hold one more than their
    neighbours.

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
    return (
        float(np.diff(column.values).min(initial=np.inf)) if few and len(column.values) > 1 else 0.0
    )


def _points(pair: Array, steps: Sequence[float]) -> list[list[float]]:
    """Rows where both cells are there; points of few values are moved a little,
    so that they can be counted.
    """
    there = pair[~np.isnan(pair).any(axis=1)][:POINTS]
    there = there + JITTER * np.array(steps) * np.random.default_rng(0).uniform(
        -1, 1, size=there.shape
    )
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
    """Return whether values above zero reach so far beyond their median that a straight axis would
    hide most.

    >>> suits_log([1, 2, 3, 200]), suits_log([1, 2, 3, 4]), suits_log([0, 1, 200])
    (True, False, False)
    """
    found = np.asarray(values, dtype=float)
    return (
        len(found) > 1 and bool(found.min() > 0) and bool(found.max() > SKEWED * np.median(found))
    )
