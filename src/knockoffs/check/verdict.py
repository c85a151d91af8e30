"""The figures of a check, and what follows from them: a verdict, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from knockoffs.check.dry_run import Rate
from knockoffs.check.feature_tests import PerFeature
from knockoffs.check.joint_tests import Divergence, SwapTest
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.schema.words import listing


class Findings(NamedTuple):
    """What was found about knockoffs of some rows.

    Attributes
    ----------
    names : tuple of str
        The features of the table.
    copied : array of bool of shape (features,)
        Which knockoffs are copies of their features: these are valid, but cannot be selected.
    per_feature : PerFeature
        How each feature differs from its knockoff.
    rows, feature_rows, swap_rows : int
        How many rows were passed, and how many of them (a random part) the tests of each feature
        and the tests of swaps used.
    subject : str
        What was checked, and on which rows.
    learned : bool
        Whether the knockoffs came from a generator, which could be another or be fitted again.
    share_of_fit : float
        The share of the rows that the generator was fitted on, as far as is known; nan where it is
        not.
    tests : tuple of SwapTest
        Rows against swapped rows.
    covariance_error, cross_covariance_error : float
        Root mean squares of the errors of cov(x̃) and of cov(x, x̃) between features, of normal
        scores; they hold what chance gives, about 1 / √rows.
    near_duplicates : tuple of pairs of int
        Features that hardly differ from each other.
    divergence : Divergence or None
        The swap divergence by the generator's own densities, where it has any.
    dry_run : tuple of Rate
        False discoveries and power on simulated responses with the statistic itself, where asked
        for.
    several_columns : tuple of int
        The features that are compared by several columns: indicators of levels, or values and an
        indicator of missing cells.
    expected : Rate or None
        False discoveries and power to expect at the level asked for, by quick statistics of
        `simulated` responses.
    judged : Rate or None
        The same at the level that is judged, which is higher where that one seldom selects
        anything; None where there is no such level.
    of_exact : float
        The false discovery proportion that exact knockoffs would give at the level that is judged.
    simulated : int
        The number of simulated responses.
    null_wins : pair of arrays or None
        Per feature, how often it beats its knockoff in responses that do not depend on it, and the
        number of these.
    alternatives : tuple of pairs of str and Rate
        What else could be done: how to ask for it, and the rate to expect.
    """

    names: tuple[str, ...]
    copied: Flags
    per_feature: PerFeature
    rows: int
    feature_rows: int
    swap_rows: int
    subject: str
    learned: bool
    share_of_fit: float = math.nan
    tests: tuple[SwapTest, ...] = ()
    covariance_error: float = 0.0
    cross_covariance_error: float = 0.0
    near_duplicates: tuple[tuple[int, int], ...] = ()
    divergence: Divergence | None = None
    dry_run: tuple[Rate, ...] = ()
    several_columns: tuple[int, ...] = ()
    expected: Rate | None = None
    judged: Rate | None = None
    of_exact: float = math.nan
    simulated: int = 0
    null_wins: tuple[Array, Array] | None = None
    alternatives: tuple[tuple[str, Rate], ...] = ()


Verdict = Literal["pass", "warn", "fail"]
RULE = (
    "The verdict is about consequences: the share of false discoveries to expect at your level, "
    "by responses that "
    "are simulated on these rows. Fail: more than 1.5 times the level. Warn: more than the level "
    "(by two standard "
    "errors); or a feature beats its knockoff in at least 80 % of the responses that it has "
    "nothing to do with; "
    "or knockoffs are so like their features that they cost power. Pass: none of these. Where "
    "fewer than half of "
    "the responses lead to a selection at your level, a higher level is judged, by 1.25 times "
    "what exact "
    "knockoffs would give there instead of the level. Where no level up to 0.35 leads to "
    "selections, exact tests "
    "decide instead: fail where one finds (at 1 % over all tests together) that a feature differs "
    "from its "
    "knockoff by 0.05 in distribution or about 15 % in variance, or that rows are told from their "
    "swapped selves "
    "in at least 60 % of the cases; warn where the fault found is slighter."
)
TOO_MANY = 1.5  # times the level: from here on it is a failure
OVER_EXACT = 1.25  # times what exact knockoffs would give: what a higher level allows
ERRORS = 2  # standard errors by which a level must be exceeded
# wins of a feature over its knockoff where it is irrelevant, and responses it takes
OFTEN, COUNTED = 0.8, 40
ALPHA = 0.01  # probability that the tests of validity reject exact knockoffs
TOLD_APART = 0.6  # rows told from swapped rows: from here on it matters
# Kolmogorov-Smirnov distance of one feature and its knockoff: from here on it matters
DISTANT = 0.05
SHIFTED = 0.08  # z over √rows: of spread about 15 % of variance
LITTLE_FREEDOM, NO_FREEDOM = 0.25, 0.05
FEW_ROWS = 200
SEEN_ROWS = 0.05  # share of rows that the generator was fitted on: from here on it is said
WORST = ("pass", "warn", "fail")
MEANING = {
    "covariance": "Covariances tell rows from rows with {swap} swapped in {told:.0%} of the cases",
    "kernel": "A kernel tells rows from rows with {swap} swapped in {told:.0%} of the cases",
    "classifier": "Trees tell rows from rows with {swap} swapped: AUC {told:.2f} ({low:.2f} to "
    "{high:.2f})",
}


@dataclass(frozen=True)
class Judgement:
    """What follows from the figures: verdicts, the p-value of all tests, and sentences."""

    verdict: Verdict
    validity: Verdict
    power: Verdict
    p_value: float
    reasons: tuple[str, ...]
    advice: tuple[str, ...]


class _Opinion(NamedTuple):
    """A part of the judgement, and the sentences behind it."""

    verdict: Verdict
    reasons: list[str]


def judge(found: Findings) -> Judgement:
    """The rule of the certificate (`RULE`); the reasons behind the verdict come before those that
    only explain.
    """
    expected, tests, power = _by_expectation(found), _by_tests(found), _power(found)
    if expected is not None:  # tests decide nothing then
        tests = tests._replace(verdict="pass")
    valid = [*([] if expected is None else [expected]), _by_null_wins(found), tests]
    validity = _worst(*(opinion.verdict for opinion in valid))
    opinions = sorted(
        [*valid, _seen(found), power], key=lambda opinion: -WORST.index(opinion.verdict)
    )
    return Judgement(
        _worst(validity, power.verdict),
        validity,
        power.verdict,
        min(1.0, 2 * min(_feature_p(found.per_feature), _swap_p(found.tests))),
        tuple(reason for opinion in opinions for reason in opinion.reasons),
        tuple(_advice(found, validity, power.verdict)),
    )


def _seen(found: Findings) -> _Opinion:
    """Say how many of the rows the generator was fitted on."""
    sentence = (
        f"{found.share_of_fit:.0%} of these rows were used to fit the generator, and on such rows "
        f"knockoffs "
        "look better than they are. Check it on other rows."
    )
    return _Opinion("pass", [sentence] if found.share_of_fit > SEEN_ROWS else [])


def _by_expectation(found: Findings) -> _Opinion | None:
    """What false discoveries to expect; None where simulated responses hardly ever lead to a
    selection.
    """
    rate, asked = found.judged, found.expected
    if rate is None or asked is None:
        return None
    higher = rate.level > asked.level
    allowed = OVER_EXACT * found.of_exact if higher else rate.level
    above = rate.fdp - ERRORS * rate.fdp_error > allowed
    exceeded: Verdict = "fail" if rate.fdp > TOO_MANY * allowed else "warn"
    norm = "what exact knockoffs would give" if higher else "what it allows"
    times = rate.fdp / max(found.of_exact if higher else rate.level, 1e-3)
    held = f"{times:.1f} times {norm}" if above else f"about {norm}, or less"
    sentence = (
        f"At level {rate.level:.2g} expect a share of {rate.fdp:.2f} ± {rate.fdp_error:.2f} of "
        f"the discoveries to "
        f"be false, {held} (by {found.simulated} responses that were simulated on these rows)."
    )
    if higher:
        few = f"only {asked.selecting:.0%}" if asked.selecting else "none"
        sentence += (
            f" At level {asked.level:.2g} {few} of these responses led to a selection at all."
        )
    return _Opinion(exceeded if above else "pass", [sentence])


def _by_null_wins(found: Findings) -> _Opinion:
    """Features that beat their knockoffs although they have nothing to do with the response."""
    if found.null_wins is None:
        return _Opinion("pass", [])
    wins, counts = found.null_wins
    winners = [j for j in _largest_first(wins) if counts[j] >= COUNTED and wins[j] >= OFTEN]
    if not winners:
        return _Opinion("pass", [])
    which = listing([repr(found.names[j]) for j in winners])
    return _Opinion(
        "warn",
        [
            f"{which}: more telling than the knockoff in {wins[winners[-1]]:.0%} or more of the "
            f"simulated "
            "responses that have nothing to do with the feature, where exact knockoffs give one "
            "half. Do not "
            "trust its selection."
        ],
    )


def _by_tests(found: Findings) -> _Opinion:
    """Where knockoffs differ from exact ones, and whether by much."""
    by_feature, by_swap = _feature_p(found.per_feature), _swap_p(found.tests)
    verdict: Verdict = "pass"
    reasons = []
    if 2 * by_feature < ALPHA:
        p = np.fmin(found.per_feature.ks_p, found.per_feature.shift_p)
        at_fault = [j for j in _largest_first(found.per_feature.shift) if 4 * p[j] < ALPHA]
        verdict = "fail" if any(_matters(found, j) for j in at_fault) else "warn"
        reasons.append(_about_features(found, at_fault))
    if 2 * by_swap < ALPHA:
        told = [t for t in found.tests if 2 * len(found.tests) * t.p_value < ALPHA]
        verdict = _worst(
            verdict, "fail" if max(t.told_apart for t in told) >= TOLD_APART else "warn"
        )
        reasons.append(_told_apart(max(told, key=lambda t: t.told_apart)))
    if verdict == "pass":
        reasons.append(_nothing_found(found, min(1.0, 2 * min(by_feature, by_swap))))
    return _Opinion(verdict, reasons)


def _feature_p(per_feature: PerFeature) -> float:
    p = np.concatenate([per_feature.ks_p, per_feature.shift_p])
    return float(min([1.0, *(2 * p[np.isfinite(p)])]))


def _swap_p(tests: Sequence[SwapTest]) -> float:
    return min([1.0, *(len(tests) * test.p_value for test in tests)])


def _worst(*verdicts: Verdict) -> Verdict:
    return max(verdicts, key=WORST.index)


def _largest_first(values: Array) -> list[int]:
    return np.argsort(-np.nan_to_num(values), kind="stable").tolist()


def _matters(found: Findings, j: int) -> bool:
    moved = found.per_feature.shift[j] / np.sqrt(found.feature_rows)
    return found.per_feature.ks[j] >= DISTANT or moved >= SHIFTED


def _about_features(found: Findings, at_fault: list[int]) -> str:
    first = at_fault[0]
    z, distance = found.per_feature.shift[first], found.per_feature.ks[first]
    figures = f"Kolmogorov-Smirnov distance {distance:.3f}"
    if first in found.several_columns:
        figures = f"the largest difference between shares of rows is {distance:.3f}"
    differs = "distribution, or how it depends on other features, differs from the feature's"
    which = listing([repr(found.names[j]) for j in at_fault])
    return f"{which}: the knockoff's {differs} (of {found.names[first]!r} z = {z:.1f}, {figures})."


def _told_apart(test: SwapTest) -> str:
    swap = "all columns" if test.swap == "full" else "half of the columns"
    sentence = MEANING[test.test].format(
        swap=swap, told=test.told_apart, low=test.low, high=test.high
    )
    return f"{sentence}, p = {test.p_value:.2g}; exact knockoffs would give one half."


def _nothing_found(found: Findings, p_value: float) -> str:
    if not found.tests:
        return "Every knockoff is a copy of its feature, which is valid."
    few = " With so few only gross faults can be seen." if found.swap_rows < FEW_ROWS else ""
    return (
        f"No test on {found.swap_rows} independent rows could tell the knockoffs from exact ones "
        f"(p = "
        f"{p_value:.2g} over all tests).{few}"
    )


def _power(found: Findings) -> _Opinion:
    freedom = found.per_feature.freedom
    known = np.isfinite(freedom)
    if not known.any():
        return _Opinion(
            "warn", ["Every knockoff is a copy of its feature, so nothing can be selected."]
        )
    middle = float(np.median(freedom[known]))
    if middle < LITTLE_FREEDOM:
        return _Opinion(
            "warn",
            [
                f"Half of the knockoffs vary around their features by at most {middle:.0%} of "
                f"what they could: "
                "valid perhaps, but hardly different, so that few features can be selected."
            ],
        )
    stuck = np.flatnonzero(known & (np.nan_to_num(freedom, nan=1.0) < NO_FREEDOM))
    if len(stuck):
        which = listing([repr(found.names[j]) for j in stuck])
        return _Opinion(
            "pass", [f"{which}: the knockoff is all but a copy, so it will hardly be selected."]
        )
    return _Opinion("pass", [])


def _advice(found: Findings, validity: Verdict, power: Verdict) -> list[str]:
    advice = []
    if validity != "pass":
        advice += [_about_alternative(found, other) for other in found.alternatives]
        if not found.learned:
            advice.append(
                "Make the knockoffs with a generator that is fitted to these rows, such as DDLK."
            )
        elif not found.alternatives:
            advice.append(
                "Fit on more rows: nothing else that was tried is expected to have fewer false "
                "ones."
            )
    if power != "pass":
        advice.append(
            "Leave out features that the others explain almost completely, or put their mean for "
            "them."
        )
    for j, k in list(found.near_duplicates)[:3]:
        advice.append(
            f"{found.names[j]!r} and {found.names[k]!r} are near-duplicates: keep one, put their "
            f"mean for both, "
            "or give both one answer (feature_groups, --feature-groups)."
        )
    return advice


def _about_alternative(found: Findings, other: tuple[str, Rate]) -> str:
    name, rate = other
    now = found.judged or found.expected
    instead = "" if now is None else f" instead of {now.fdp:.2f} and {now.power:.0%}"
    at = (
        ""
        if found.expected is None or now is None or now.level == found.expected.level
        else f" at {now.level:.2g}"
    )
    return (
        f"With {name} expect a share of {rate.fdp:.2f} to be false{at}, and {rate.power:.0%} of "
        f"the relevant "
        f"features of simulated responses to be found{instead}."
    )
