"""What a test that finds nothing advises, and under which condition its level bounds what it
says.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone

from knockoffs import JointDensity, RandomizationTest, write_test_report
from knockoffs.pvalues.advice import advice_after_tests
from knockoffs.pvalues.corrections import adjust_pvalues

pytestmark = pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(200, 4)), columns=["a", "b <i>", "c", "d"])
WEAK = 0.15 * X["b <i>"] + RNG.normal(size=200)
TEST = RandomizationTest(JointDensity(epochs=1), statistic="linear", resamples=2000, random_state=0)


@pytest.fixture(scope="module")
def empty() -> RandomizationTest:
    return clone(TEST).set_params(level=0.01).fit(X, WEAK)


def test_the_level_that_is_named_finds_what_is_named(empty: RandomizationTest) -> None:
    result = empty.result_
    assert not result.selected.any()
    level, _ = result.advice
    assert "Chosen after looking it bounds nothing" in level
    named = float(level.split("level=")[1].split()[0])
    found = clone(TEST).set_params(level=named).fit(X, WEAK).result_
    assert f"with a discovery, {', '.join(found.discoveries)}. Chosen" in level
    assert found.discoveries
    assert found.advice == ()
    assert not clone(TEST).set_params(level=named - 0.001).fit(X, WEAK).result_.discoveries


def advised(
    pvalues: list[float], rows: int = 100, level: float = 0.1, correction: str = "bh"
) -> tuple[str, ...]:
    p = np.array(pvalues)
    adjusted = adjust_pvalues(p, correction)
    return advice_after_tests(
        adjusted <= level, p, adjusted, list("abcdef")[: len(p)], rows, level, correction
    )


NEEDED = [("bh", 0.05), ("by", 0.05 / 1.5), ("holm", 0.05), ("none", 0.1)]


@pytest.mark.parametrize(("correction", "needed"), NEEDED)
def test_as_many_rows_as_advised_would_make_the_strongest_a_discovery(
    correction: str, needed: float
) -> None:
    """A standard score grows with the root of the number of rows."""
    step = advised([0.6, 0.14], correction=correction)[-1]
    assert (
        f"b has p = 0.14 with these 100, and would be a discovery by itself with p = {needed:.2g}"
        in step
    )
    more = int(step.split("some ")[1].split()[0])
    later = 2 * norm.sf(norm.isf(0.14 / 2) * (more / 100) ** 0.5)
    fewer = 2 * norm.sf(norm.isf(0.14 / 2) * (0.9 * more / 100) ** 0.5)
    assert later <= needed < fewer


def test_advice_is_left_out_where_it_would_be_empty() -> None:
    assert advised([1.0, 1.0]) == ()
    assert advised([0.001, 0.5]) == ()  # a discovery
    assert [step.split(":")[0] for step in advised([0.4, 0.9])] == ["A higher level"]
    assert [step.split(":")[0] for step in advised([0.2] + [1.0] * 5)] == ["More rows"]
    assert [step.split(":")[0] for step in advised([0.2] + [1.0] * 5, level=1e-9)] == []


def test_page_and_files_give_the_advice(empty: RandomizationTest, tmp_path: Path) -> None:
    write_test_report(empty, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('<li class="advice">') == len(empty.result_.advice) == 2
    assert "b &lt;i&gt; has p =" in page
    assert empty.result_.to_dict()["advice"] == list(empty.result_.advice)


def test_the_condition_of_benjamini_and_hochberg_is_said(empty: RandomizationTest) -> None:
    assert (
        "depend on each other positively or not at all (Benj" in empty.result_.settings()["bounded"]
    )
