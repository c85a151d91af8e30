"""A kind of target that the package does not know works everywhere, once it is registered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from knockoffs import (
    GaussianKnockoffs,
    HoldoutStatistic,
    JointDensity,
    KnockoffSelector,
    LassoStatistic,
    RandomizationTest,
    check_swap,
    write_report,
)
from knockoffs.cli import main
from knockoffs.targets.registry import TARGETS
from tests.targets.ordered import Ordered

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(300, 6)), columns=list("abcdef"))
X_TILDE = pd.DataFrame(RNG.normal(size=(300, 6)), columns=list("abcdef"))  # independent: exact
LATENT = X[["a", "b", "c"]].sum(axis=1) + RNG.logistic(size=300) / 2
PAIN = pd.Series(np.digitize(LATENT, [-2, 0, 1]), name="pain")


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS.data, "ordered", Ordered)


@pytest.mark.parametrize("statistic", [LassoStatistic(), HoldoutStatistic(folds=2, n_jobs=1)])
def test_statistics_find_what_it_depends_on(statistic: LassoStatistic) -> None:
    w = statistic.set_params(task="ordered", random_state=0).compute(X, X_TILDE, PAIN)
    assert w[:3].min() > 3 * np.abs(w[3:]).max()


def test_the_selector_the_check_and_the_report_take_it(tmp_path: Path) -> None:
    generator = GaussianKnockoffs(random_state=0).fit(X)
    selector = KnockoffSelector(
        generator, "lasso", task="ordered", fdr=0.35, random_state=0, n_jobs=1
    ).fit(X, PAIN)
    assert selector.selection_.selected[:3].all()
    assert selector.selection_.task == "ordered"
    assert selector.selection_.target_kind == "4 ordered classes"
    assert selector.expectation_ is not None
    assert selector.expectation_.rate(0.35).power > 0.2
    assert selector.selection_.effects["a"].curves[0].change > 0
    write_report(selector, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "4 ordered classes" in page
    assert "in steps of the scale" in page
    assert check_swap((X, X_TILDE), task="ordered", random_state=0, n_jobs=1).verdict != "fail"


def test_the_test_takes_it() -> None:
    density = JointDensity(hidden=(4,), epochs=1, random_state=0).fit(X)
    test = RandomizationTest(density, "linear", resamples=300, task="ordered", random_state=0)
    result = test.fit(X, PAIN).result_
    assert result.selected[:3].all()
    assert (result.effects[:3] > 0.1).all()
    assert result.task == "ordered"


def test_the_command_line_takes_it(tmp_path: Path) -> None:
    X.assign(pain=PAIN).to_csv(tmp_path / "table.csv", index=False)
    names = [str(tmp_path / "table.csv"), "--target", "pain", "--task"]
    options = ["--generator", "gaussian", "--statistic", "lasso", "--fdr", "0.35", "--no-certify"]
    found = CliRunner().invoke(main, ["select", *names, "ordered", *options, "--n-jobs", "1"])
    assert found.exit_code == 0, found.output
    assert "a" in found.output
    refused = CliRunner().invoke(main, ["select", *names, "sorted", *options])
    assert refused.exit_code == 2
    assert "'ordered'" in refused.output
    assert "ordered" in CliRunner().invoke(main, ["select", "--help"]).output
