"""Counts: what is read, what models make of them, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.linear_model import PoissonRegressor

from knockoffs import HoldoutStatistic, LassoStatistic
from knockoffs.cli import main
from knockoffs.statistics.group_lasso import Groups, _path
from knockoffs.targets.counts import Counts
from knockoffs.targets.inputs import read_target

RNG = np.random.default_rng(0)
X, X_TILDE = RNG.normal(size=(2, 400, 6))  # independent: exact
VISITS = RNG.poisson(np.exp(0.3 + X[:, :3] @ [0.5, 0.4, -0.4]))


def test_a_small_penalty_gives_the_regression_of_others() -> None:
    z, groups = np.column_stack([X, np.ones(400)]), Groups(np.arange(7), np.r_[np.ones(6), 0.0])
    *_, b = _path(z, Counts.of(VISITS.astype(float)), groups, np.array([1e-2, 1e-4, 1e-7]))
    model = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=1000).fit(X, VISITS)
    np.testing.assert_allclose(b[:, 0], [*model.coef_, model.intercept_], atol=1e-3)


@pytest.mark.parametrize(
    "statistic",
    [LassoStatistic(), HoldoutStatistic(folds=2, n_jobs=1), HoldoutStatistic("boosting", folds=2)],
    ids=["lasso", "networks", "trees"],
)
def test_statistics_find_what_they_depend_on(statistic: Any) -> None:
    w = statistic.set_params(task="count", random_state=0).compute(X, X_TILDE, VISITS)
    assert w[:3].min() > 1.5 * np.abs(w[3:]).max()


def test_large_counts_are_no_error() -> None:
    y = 1000 * VISITS
    w = LassoStatistic(task="count", random_state=0).compute(X, X_TILDE, y)
    assert w[:3].min() > np.abs(w[3:]).max()


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (VISITS - 1, "-1, which is no count.*whole numbers from 0 on"),
        (VISITS + 0.5, "which is no count.*--task regression"),
        (np.full(400, 3), "constant"),
        (VISITS.astype(str), "does not hold numbers.*--task classification"),
    ],
    ids=["negative", "fractions", "constant", "text"],
)
def test_what_is_no_count_is_refused(y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^T: y .*{said}"):
        read_target(y, "count", rows=400, who="T")


def test_too_few_rows_with_any_are_named() -> None:
    y = np.zeros(400)
    y[:3] = 5
    with pytest.raises(ValueError, match="as many rows with a count above 0; there are 3"):
        LassoStatistic(task="count", random_state=0).compute(X, X_TILDE, y)


def test_they_are_never_inferred() -> None:
    assert read_target(VISITS, "auto", rows=400, who="T").task == "regression"


def test_the_command_line_takes_them(tmp_path: Path) -> None:
    table = pd.DataFrame(X, columns=list("abcdef")).assign(visits=VISITS)
    table.to_csv(tmp_path / "table.csv", index=False)
    options = ["--generator", "gaussian", "--statistic", "lasso", "--fdr", "0.35", "--no-certify"]
    names = [str(tmp_path / "table.csv"), "--target", "visits", "--task", "count"]
    page = tmp_path / "page.html"
    found = CliRunner().invoke(
        main, ["select", *names, *options, "--n-jobs", "1", "--report", str(page)]
    )
    assert found.exit_code == 0, found.output
    assert "counts: 0 to" in page.read_text()
