"""From figures to a verdict: the rule, sentence by sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knockoffs.diagnostics.divergence import Divergence
from knockoffs.diagnostics.dry_run import Rate
from knockoffs.diagnostics.features import PerFeature
from knockoffs.diagnostics.findings import Findings
from knockoffs.diagnostics.joint import SwapTest
from knockoffs.diagnostics.verdict import ALPHA, WORST, Judgement, judge

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
    assert "500 rows" in found.reasons[0]
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


@given(p=st.floats(2.5e-4, 1), feature_p=st.floats(5e-4, 1), told=st.floats(0.5, 1), factor=st.floats(0.01, 1))
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
    assert any("the others explain" in sentence for sentence in judge(findings(freedom=[0.1] * 3)).advice)


def rate(fdp: float, error: float, level: float = 0.1) -> Rate:
    return Rate("linear", level, fdp, error, 0.8, 0.05)


def test_false_discoveries_of_a_dry_run_warn() -> None:
    assert judge(findings(more={"dry_run": (rate(0.15, 0.03),)})).verdict == "pass"
    found = judge(findings(more={"dry_run": (rate(0.05, 0.01), rate(0.4, 0.03, 0.2))}))
    assert verdicts(found) == ("warn", "warn", "pass")
    assert "level 0.2" in found.reasons[-1]
    assert judge(findings(more={"dry_run": (rate(0.5, NAN),)})).verdict == "pass"  # one replicate tells nothing
    worse = judge(with_p(1e-4, 0.9)._replace(dry_run=(rate(0.4, 0.03),)))
    assert worse.validity == "fail"


def test_reasons_of_a_verdict_do_not_contradict_it() -> None:
    """Where a dry run warns, the first reason must not read as if all were well."""
    found = judge(findings(more={"dry_run": (rate(0.4, 0.03),)}))
    assert found.validity == "warn"
    assert len(found.reasons) == 2


def test_advice_fits_what_was_checked() -> None:
    learned, pair = judge(with_p(1e-4, 0.9)), judge(with_p(1e-4, 0.9)._replace(learned=False))
    assert "another generator" in learned.advice[0]
    assert "another generator" not in pair.advice[0]
    some = np.zeros(3)
    divergence = Divergence(0.1, 0.01, some, some, some)
    by_ddlk = judge(with_p(1e-4, 0.9)._replace(divergence=divergence))
    assert "another generator" not in " ".join(by_ddlk.advice)  # it assumes least already
    for judged in (learned, pair, by_ddlk):  # the command line has no such setting, and it would help one way only
        assert "entropy" not in " ".join(judged.advice)
    alike = judge(findings(more={"near_duplicates": ((0, 2),)}))
    assert alike.verdict == "pass"
    assert "'f0' and 'f2' are near-duplicates" in alike.advice[0]
