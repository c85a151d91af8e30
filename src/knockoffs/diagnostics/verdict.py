"""From figures to a verdict, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from knockoffs.diagnostics.dry_run import Rate
from knockoffs.diagnostics.features import PerFeature
from knockoffs.diagnostics.findings import Findings
from knockoffs.diagnostics.joint import SwapTest
from knockoffs.words import listing

Verdict = Literal["pass", "warn", "fail"]
RULE = (
    "Fail: an exact test finds a fault (at 1 % over all tests together) that is large enough to matter: one "
    "feature differs from its knockoff (by 0.05 in distribution, or about 15 % in variance), or rows are told "
    "from their swapped selves in at least 60 % of the cases. Warn: the fault found is slighter; or knockoffs are "
    "so like their features that they cost power; or simulated responses have more false discoveries than their "
    "level allows (by 3 standard errors). Pass: none of these. A pass says that nothing was found on these rows, "
    "not that the knockoffs are exact."
)
ALPHA = 0.01  # chance that the tests of validity reject exact knockoffs
TOLD_APART = 0.6  # rows told from swapped rows: from here on it matters
FAR = 0.05  # Kolmogorov-Smirnov distance of one feature and its knockoff: from here on it matters
OFF = 0.08  # z over √rows for location or spread: about 15 % of variance
LITTLE_FREEDOM, NO_FREEDOM = 0.25, 0.05
FEW_ROWS = 200
SEEN = 0.05  # share of rows that the generator was fitted on: from here on it is said
WORST = ("pass", "warn", "fail")
MEANING = {
    "covariance": "Covariances tell rows from rows with {swap} swapped in {told:.0%} of the cases",
    "kernel": "A kernel tells rows from rows with {swap} swapped in {told:.0%} of the cases",
    "classifier": "Trees tell rows from rows with {swap} swapped: AUC {told:.2f} ({low:.2f} to {high:.2f})",
}


class Judgement(NamedTuple):
    verdict: Verdict
    validity: Verdict
    power: Verdict
    p_value: float
    reasons: tuple[str, ...]
    advice: tuple[str, ...]


def judge(found: Findings) -> Judgement:
    """The rule of the certificate (`RULE`)."""
    by_feature, by_swap = _feature_p(found.per_feature), _swap_p(found.tests)
    p_value = min(1.0, 2 * min(by_feature, by_swap))
    reasons: list[str] = []
    validity: Verdict = "pass"
    if 2 * by_feature < ALPHA:
        at_fault = _features_at_fault(found)
        validity = "fail" if any(_matters(found, j) for j in at_fault) else "warn"
        reasons.append(_about_features(found, at_fault))
    if 2 * by_swap < ALPHA:
        told = [t for t in found.tests if 2 * len(found.tests) * t.p_value < ALPHA]
        validity = _worse(validity, "fail" if max(t.told_apart for t in told) >= TOLD_APART else "warn")
        reasons.append(_told_apart(max(told, key=lambda t: t.told_apart)))
    if validity == "pass":
        reasons.append(_nothing_found(found, p_value))
    if found.share_of_fit > SEEN:
        reasons.append(
            f"{found.share_of_fit:.0%} of these rows were used to fit the generator, and on such rows knockoffs "
            "look better than they are. Check it on other rows."
        )
    exceeded = [r for r in found.dry_run if r.fdp - 3 * r.fdp_error > r.level]
    if exceeded:
        validity = _worse(validity, "warn")
        reasons.append(_exceeded(exceeded))
    power, about_power = _power(found)
    verdict = _worse(validity, power)
    advice = _advice(found, validity, power)
    return Judgement(verdict, validity, power, p_value, (*reasons, *about_power), tuple(advice))


def _feature_p(per_feature: PerFeature) -> float:
    p = np.concatenate([per_feature.ks_p, per_feature.shift_p])
    return float(min([1.0, *(2 * p[np.isfinite(p)])]))


def _swap_p(tests: Sequence[SwapTest]) -> float:
    return min([1.0, *(len(tests) * test.p_value for test in tests)])


def _worse(one: Verdict, other: Verdict) -> Verdict:
    return max(one, other, key=WORST.index)


def _features_at_fault(found: Findings) -> list[int]:
    """Those that a test tells from their knockoffs, the largest differences first."""
    p = np.fmin(found.per_feature.ks_p, found.per_feature.shift_p)
    order = np.argsort(-np.nan_to_num(found.per_feature.shift), kind="stable")
    return [int(j) for j in order if 4 * p[j] < ALPHA]


def _matters(found: Findings, j: int) -> bool:
    rows = found.feature_rows
    return found.per_feature.ks[j] >= FAR or found.per_feature.shift[j] / np.sqrt(rows) >= OFF


def _about_features(found: Findings, at_fault: list[int]) -> str:
    first = at_fault[0]
    z, distance = found.per_feature.shift[first], found.per_feature.ks[first]
    if first in found.several_columns:
        differs = "distribution, or how it depends on other features, differs from the feature's"
        figures = f"z = {z:.1f}, the largest difference between shares of rows is {distance:.3f}"
    else:
        differs = "own distribution differs from the feature's"
        figures = f"z = {z:.1f} for location or spread, Kolmogorov-Smirnov distance {distance:.3f}"
    which = listing([repr(found.names[j]) for j in at_fault])
    return f"{which}: the knockoff's {differs} (of {found.names[first]!r} {figures})."


def _told_apart(test: SwapTest) -> str:
    swap = "all columns" if test.swap == "full" else "half of the columns"
    sentence = MEANING[test.test].format(swap=swap, told=test.told_apart, low=test.low, high=test.high)
    return f"{sentence}, p = {test.p_value:.2g}; exact knockoffs would give one half."


def _nothing_found(found: Findings, p_value: float) -> str:
    if not found.tests:
        return "Every knockoff is a copy of its feature, which is valid."
    few = f" With {found.swap_rows} rows only gross faults can be seen." if found.swap_rows < FEW_ROWS else ""
    return (
        f"No test on {found.swap_rows} rows could tell the knockoffs from exact ones (p = {p_value:.2g} over all "
        f"tests).{few}"
    )


def _exceeded(rates: Sequence[Rate]) -> str:
    worst = max(rates, key=lambda r: (r.fdp - r.level) / r.fdp_error if r.fdp_error > 0 else r.fdp)
    return (
        f"With simulated {worst.response} responses of these rows, {worst.fdp:.2f} ± {worst.fdp_error:.2f} of the "
        f"discoveries at level {worst.level:g} were false."
    )


def _power(found: Findings) -> tuple[Verdict, list[str]]:
    freedom = found.per_feature.freedom
    known = np.isfinite(freedom)
    if not known.any():
        return "warn", ["Every knockoff is a copy of its feature, so nothing can be selected."]
    middle = float(np.median(freedom[known]))
    if middle < LITTLE_FREEDOM:
        return "warn", [
            f"Half of the knockoffs vary around their features by at most {middle:.0%} of what they could: valid "
            "perhaps, but hardly different, so that few features can be selected."
        ]
    stuck = np.flatnonzero(known & (np.nan_to_num(freedom, nan=1.0) < NO_FREEDOM))
    if len(stuck):
        which = listing([repr(found.names[j]) for j in stuck])
        return "pass", [f"{which}: the knockoff is all but a copy, so it will hardly be selected."]
    return "pass", []


def _advice(found: Findings, validity: Verdict, power: Verdict) -> list[str]:
    advice = []
    if validity != "pass":
        if found.divergence is not None:  # DDLK, which assumes least already
            advice.append("Fit on more rows if there are any.")
        elif found.learned:
            advice.append("Fit on more rows, or try another generator (DDLK assumes least).")
        else:
            advice.append("Make the knockoffs with a generator that is fitted to these rows, such as DDLK.")
    if power != "pass":
        advice.append("Leave out features that the others explain almost completely, or put their mean for them.")
    for j, k in list(found.near_duplicates)[:3]:
        advice.append(
            f"{found.names[j]!r} and {found.names[k]!r} are near-duplicates: keep one, or put their mean for both."
        )
    return advice
