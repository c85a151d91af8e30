"""From figures to a verdict: the rule, sentence by sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from knockoffs.check.dry_run import HIGHEST, SELECTING, Rate
from knockoffs.check.feature_tests import PerFeature
from knockoffs.check.joint_tests import SwapTest
from knockoffs.check.verdict import (
    ALPHA,
    DISTANT,
    ERRORS,
    OFTEN,
    RULE,
    TOLD_APART,
    TOO_MANY,
    WORST,
    Findings,
    Judgement,
    judge,
)

NAN = float("nan")
FINE = {"ks": 0.02, "ks_p": 0.9, "shift": 0.5, "shift_p": 0.8, "correlation": 0.3, "freedom": 0.8}


def swap_test(
    p_value: float = 0.6, told_apart: float = 0.51, kind: str = "kernel", swap: str = "full"
) -> SwapTest:
    return SwapTest(kind, swap, told_apart, NAN, NAN, p_value)


def findings(
    *, tests: Any = None, features: int = 3, more: dict[str, Any] | None = None, **changes: Any
) -> Findings:
    """Nothing found; `changes` are of per_feature, `more` of anything."""
    per_feature = {name: np.full(features, value) for name, value in FINE.items()}
    per_feature |= {name: np.array(value, dtype=float) for name, value in changes.items()}
    found = Findings(
        names=tuple(f"f{j}" for j in range(features)),
        copied=np.zeros(features, dtype=bool),
        per_feature=PerFeature(**per_feature),
        tests=(swap_test(),) * 12 if tests is None else tuple(tests),
        covariance_error=0.01,
        cross_covariance_error=0.01,
        near_duplicates=(),
        divergence=None,
        dry_run=(),
        rows=500,
        feature_rows=500,
        swap_rows=500,
        subject="",
        learned=True,
    )
    return found._replace(**(more or {}))


def verdicts(judgement: Judgement) -> tuple[str, str, str]:
    return judgement.verdict, judgement.validity, judgement.power


def test_nothing_found_is_a_pass() -> None:
    found = judge(findings())
    assert verdicts(found) == ("pass", "pass", "pass")
    assert found.p_value == 1
    assert found.advice == ()
    assert "500 independent rows" in found.reasons[0]
    assert "gross faults" not in found.reasons[0]
    assert "gross faults" in judge(findings(more={"rows": 150, "swap_rows": 150})).reasons[0]


def with_p(p: float, told_apart: float) -> Findings:
    return findings(tests=[swap_test(p, told_apart)] + [swap_test()] * 11)


@pytest.mark.parametrize(
    ("p", "told", "validity"), [(2e-4, 0.7, "fail"), (2e-4, 0.54, "warn"), (1e-3, 0.7, "pass")]
)
def test_rows_told_apart(p: float, told: float, validity: str) -> None:
    """At 1 % over 12 tests of swaps and the tests of features: p < 0.01 / 24."""
    assert verdicts(judge(with_p(p, told))) == (validity, validity, "pass")


def test_only_tests_that_found_something_say_how_much() -> None:
    """A large share that chance explains does not turn a slight fault into a failure."""
    found = findings(tests=[swap_test(1e-4, 0.52), swap_test(0.2, 0.9), *[swap_test()] * 10])
    assert judge(found).validity == "warn"


@pytest.mark.parametrize(("name", "large", "small"), [("ks", 0.06, 0.04), ("shift", 2.0, 1.0)])
def test_a_feature_that_differs_is_named_and_fails_where_the_difference_is_large(
    name: str, large: float, small: float
) -> None:
    """Of 500 rows: 0.05 in distribution, or z of 0.08 √500."""

    def of(size: float, p: float) -> Judgement:
        settings = {name: [0.01, size, 0.01], f"{name}_p": [0.5, p, 0.3]}
        return judge(findings(**settings, more={"names": ("a", "<b>", "c")}))

    found = of(large, 0.002)
    assert found.validity == "fail"
    assert found.reasons[0].startswith("'<b>': ")
    assert "'a'" not in found.reasons[0]
    assert of(small, 0.002).validity == "warn"
    assert of(large, 0.003).validity == "pass"


@given(
    p=st.floats(2.5e-4, 1),
    feature_p=st.floats(5e-4, 1),
    told=st.floats(0.5, 1),
    factor=st.floats(0.01, 1),
)
def test_smaller_p_values_never_make_a_better_verdict(
    p: float, feature_p: float, told: float, factor: float
) -> None:
    def of(scale: float) -> Judgement:
        tests = [swap_test(p * scale, told)] * 12
        return judge(findings(tests=tests, ks_p=[feature_p * scale] * 3))

    before, after = of(1), of(factor)
    assert WORST.index(after.verdict) >= WORST.index(before.verdict)
    assert after.p_value <= before.p_value
    assert (before.p_value < ALPHA) == (before.validity != "pass")


def test_copies_cost_power_and_not_validity() -> None:
    nothing = np.full(3, NAN)
    copied = dict.fromkeys(FINE, nothing)
    found = judge(findings(tests=[], **copied, more={"copied": np.ones(3, dtype=bool)}))
    assert verdicts(found) == ("warn", "pass", "warn")
    assert found.p_value == 1
    assert "copy" in found.reasons[-1]
    one = judge(findings(**{name: [NAN, value, value] for name, value in FINE.items()}))
    assert verdicts(one) == ("pass", "pass", "pass")


def test_little_freedom_costs_power() -> None:
    assert judge(findings(freedom=[0.1, 0.2, 0.9])).power == "warn"
    stuck = judge(findings(freedom=[0.8, 0.9, 0.01]))
    assert stuck.power == "pass"
    assert "'f2'" in stuck.reasons[-1]
    assert any(
        "the others explain" in sentence for sentence in judge(findings(freedom=[0.1] * 3)).advice
    )


# false discoveries to expect


def rate(
    fdp: float,
    error: float = 0.02,
    level: float = 0.1,
    *,
    power: float = 0.8,
    selecting: float = 0.9,
) -> Rate:
    return Rate("all", level, fdp, error, power, 0.05, selecting, fdp / selecting)


def expecting(
    asked: Rate, judged: Rate | None = None, *, found: Findings | None = None, **more: Any
) -> Findings:
    found = findings() if found is None else found
    return found._replace(
        expected=asked, judged=asked if judged is None else judged, simulated=160, **more
    )


@pytest.mark.parametrize(
    ("fdp", "error", "validity"),
    [
        (0.05, 0.01, "pass"),
        (0.1, 0.01, "pass"),
        (0.139, 0.02, "pass"),  # two standard errors above the level, almost
        (0.141, 0.02, "warn"),
        (0.149, 0.01, "warn"),
        (0.151, 0.01, "fail"),  # 1.5 times the level
        (0.6, 0.02, "fail"),
        (0.6, 0.26, "pass"),  # nothing is known
        (0.16, 0.04, "pass"),
    ],
)
def test_the_expected_share_of_false_discoveries_decides(
    fdp: float, error: float, validity: str
) -> None:
    found = judge(expecting(rate(fdp, error)))
    assert verdicts(found) == (validity, validity, "pass")
    assert (
        f"At level 0.1 expect a share of {fdp:.2f} ± {error:.2f} of the discoveries to be false"
        in found.reasons[0]
    )
    assert "160 responses" in found.reasons[0]
    held = (
        "about what it allows, or less"
        if validity == "pass"
        else f"{fdp / 0.1:.1f} times what it allows"
    )
    assert held in found.reasons[0]


@given(
    level=st.floats(0.01, 0.5),
    fdp=st.floats(0, 1),
    more=st.floats(0, 1),
    error=st.floats(0.001, 0.2),
)
def test_more_false_discoveries_never_make_a_better_verdict(
    level: float, fdp: float, more: float, error: float
) -> None:
    few, many = (judge(expecting(rate(share, error, level))) for share in (fdp, fdp + more))
    assert WORST.index(few.verdict) <= WORST.index(many.verdict)
    assert (few.verdict != "pass") == (fdp - 2 * error > level)
    assert few.verdict != "fail" or fdp > 1.5 * level


@pytest.mark.parametrize("told", [0.54, 0.9])
def test_where_an_expectation_is_judged_tests_explain_and_do_not_decide(told: float) -> None:
    differing = with_p(1e-4, told)
    found = judge(expecting(rate(0.05), found=differing))
    assert found.validity == "pass"
    assert found.p_value == judge(differing).p_value < ALPHA
    assert "tells rows from rows" in found.reasons[1]
    # and what they miss, counts
    assert judge(expecting(rate(0.5), found=findings())).validity == "fail"


@pytest.mark.parametrize(("told", "validity"), [(0.54, "warn"), (0.9, "fail")])
def test_tests_decide_where_nothing_is_selected(told: float, validity: str) -> None:
    seldom = rate(0.01, selecting=0.1)
    for found in (
        with_p(1e-4, told),
        with_p(1e-4, told)._replace(expected=seldom, judged=None, simulated=160),
    ):
        assert judge(found).validity == validity
        assert "expect a share" not in " ".join(judge(found).reasons)
    assert judge(findings(more={"expected": seldom, "judged": None})).validity == "pass"


@pytest.mark.parametrize(("of_exact", "validity"), [(0.2, "fail"), (0.3, "warn"), (0.4, "pass")])
def test_a_higher_level_is_judged_by_what_exact_knockoffs_would_give_there(
    of_exact: float, validity: str
) -> None:
    asked, judged = rate(0.02, selecting=0.12), rate(0.5, level=0.3)
    found = judge(expecting(asked, judged, of_exact=of_exact))
    assert found.validity == validity
    said = (
        "2.5 times what exact knockoffs would give"
        if validity == "fail"
        else "what exact knockoffs would give"
    )
    assert said in found.reasons[0]


def test_a_higher_level_that_is_judged_is_named_and_so_is_why() -> None:
    found = judge(expecting(rate(0.02, selecting=0.12), rate(0.5, level=0.3), of_exact=0.2))
    assert found.validity == "fail"
    assert "At level 0.3 expect a share of 0.50" in found.reasons[0]
    assert "At level 0.1 only 12% of these responses led to a selection" in found.reasons[0]
    none = judge(
        expecting(
            rate(0.0, selecting=0.01)._replace(selecting=0.0), rate(0.5, level=0.3), of_exact=0.2
        )
    )
    assert "At level 0.1 none of these responses led to a selection at all." in none.reasons[0]
    assert "only" not in judge(expecting(rate(0.5))).reasons[0]


# features that win where they have no part


def with_wins(*wins: float, counted: float = 100) -> Findings:
    return findings(more={"null_wins": (np.array(wins), np.full(3, counted))})


def test_a_feature_that_beats_its_knockoff_without_cause_is_warned_of_and_named() -> None:
    assert judge(with_wins(0.5, 0.79, 0.2)).verdict == "pass"
    found = judge(with_wins(0.5, 0.8, 0.97))
    assert verdicts(found) == ("warn", "warn", "pass")
    assert found.reasons[0].startswith("'f2', 'f1': more telling than the knockoff in 80% or more")
    assert "'f0'" not in found.reasons[0]
    # too few responses to say so
    assert judge(with_wins(0.5, 0.9, 0.97, counted=39)).verdict == "pass"
    assert judge(with_wins(NAN, NAN, NAN, counted=0)).verdict == "pass"


def test_the_worse_of_wins_and_expectation_counts() -> None:
    wins = with_wins(0.5, 0.9, 0.5)
    assert judge(expecting(rate(0.05), found=wins)).validity == "warn"
    assert judge(expecting(rate(0.5), found=wins)).validity == "fail"
    assert judge(wins._replace(tests=with_p(1e-4, 0.9).tests)).validity == "fail"


def test_rows_of_the_fit_are_spoken_of() -> None:
    assert any(
        "67% of these rows" in reason
        for reason in judge(findings(more={"share_of_fit": 0.67})).reasons
    )
    for share in (0.01, NAN):
        assert not any(
            "of these rows" in r for r in judge(findings(more={"share_of_fit": share})).reasons
        )


@pytest.mark.parametrize(
    "said",
    [
        "more than 1.5 times the level",
        "two standard errors",
        "at least 80 % of the responses",
        "fewer than half of the responses",
        "no level up to 0.35",
        "at 1 % over all tests",
        "0.05 in distribution",
        "about 15 % in variance",
        "at least 60 % of the cases",
    ],
)
def test_the_rule_states_the_figures_that_the_code_uses(said: str) -> None:
    assert said in RULE
    used = (TOO_MANY, ERRORS, OFTEN, ALPHA, DISTANT, TOLD_APART, SELECTING, HIGHEST)
    assert used == (1.5, 2, 0.8, 0.01, 0.05, 0.6, 0.5, 0.35)


# the dry run, and advice


def test_a_dry_run_is_shown_and_decides_nothing() -> None:
    """A few responses with the statistic itself: the expectation rests on many more."""
    for fdp in (0.05, 0.9):
        assert judge(expecting(rate(0.05), dry_run=(rate(fdp, 0.01),))) == judge(
            expecting(rate(0.05))
        )


def test_alternatives_that_were_computed_are_the_advice() -> None:
    others = (
        ("LassoStatistic() (--statistic lasso)", rate(0.08, power=0.7)),
        ("GaussianKnockoffs() (--generator gaussian)", rate(0.12, power=0.65)),
    )
    found = judge(expecting(rate(0.3, power=0.85), alternatives=others))
    assert found.validity == "fail"
    assert found.advice[0] == (
        "With LassoStatistic() (--statistic lasso) expect a share of 0.08 to be false, and 70% of "
        "the relevant "
        "features of simulated responses to be found instead of 0.30 and 85%."
    )
    assert found.advice[1].startswith(
        "With GaussianKnockoffs() (--generator gaussian) expect a share of 0.12"
    )
    assert judge(expecting(rate(0.05), alternatives=others)).advice == ()  # nothing to cure


def test_advice_fits_what_was_checked() -> None:
    learned, pair = judge(with_p(1e-4, 0.9)), judge(with_p(1e-4, 0.9)._replace(learned=False))
    assert learned.advice[0].startswith("Fit on more rows")
    assert "a generator that is fitted to these rows" in pair.advice[0]
    alike = judge(findings(more={"near_duplicates": ((0, 2),)}))
    assert alike.verdict == "pass"
    assert "'f0' and 'f2' are near-duplicates" in alike.advice[0]


def test_the_reason_behind_the_verdict_comes_first() -> None:
    """It is the one that is said beside the verdict:
    'warn' and 'no test could tell' contradict each other.
    """
    of_wins = with_wins(0.5, 0.9, 0.5)
    for found, behind, explaining in (
        (findings(freedom=[0.1] * 3), "Half of the knockoffs vary", "No test on"),
        (
            expecting(rate(0.05), found=findings(freedom=[0.1] * 3)),
            "Half of the knockoffs vary",
            "At level",
        ),
        (expecting(rate(0.05), found=of_wins), "'f1': more telling than the knockoff", "At level"),
        (expecting(rate(0.5), found=of_wins), "At level", "'f1': more telling than the knockoff"),
    ):
        judged = judge(found)
        assert judged.verdict != "pass"
        assert judged.reasons[0].startswith(behind)
        assert any(reason.startswith(explaining) for reason in judged.reasons[1:])
