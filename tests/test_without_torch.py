"""Gaussian knockoffs, the lasso, the filter and the check do without torch,
which takes seconds to import.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKED = """
import sys
from importlib.abc import MetaPathFinder


class NoTorch(MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] == "torch":
            raise ImportError("torch is not to be imported here")


sys.meta_path.insert(0, NoTorch())
"""
TABLES = """
import numpy as np
import pandas as pd
import warnings

from knockoffs import (
    GaussianKnockoffs, GaussianMixtureKnockoffs, HierarchicalKnockoffs, HoldoutStatistic,
    ImportanceStatistic, KnockoffSelector, KnockoffWarning, LassoStatistic, check_swap,
    knockoff_select, load_generator, write_report,
)

warnings.simplefilter("ignore", KnockoffWarning)
rng = np.random.default_rng(0)
patient = np.repeat(np.arange(60), 4)
X = pd.DataFrame(rng.standard_normal((240, 8)), columns=list("abcdefgh"))
X["c"] = np.exp(X["c"])
y = 3 * X["a"] + 3 * X["b"] + 2 * X["d"] + 2 * X["e"] + rng.standard_normal(240)
mixed = X.assign(
    ward=np.where(X["a"] > 0, "north", "south"),
    visits=rng.poisson(2, 240),
    f=X["f"].where(rng.random(240) > 0.1),
)
"""
WORK = {
    "a generator from a file": """
from pathlib import Path
GaussianKnockoffs(random_state=0).fit(mixed).save("gaussian.model")
again = load_generator("gaussian.model").sample(mixed)
assert again.equals(GaussianKnockoffs(random_state=0).fit(mixed).sample(mixed))
""",
    "mixtures": "GaussianMixtureKnockoffs(random_state=0).fit(X).sample(X)",
    "rows in groups": """
model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0)
model.fit(X, groups=patient).save("groups.model")
assert np.isfinite(load_generator("groups.model").sample(X, groups=patient).to_numpy()).all()
""",
    "statistics": """
X_tilde = GaussianKnockoffs(random_state=0).fit(X).sample(X)
boosting = HoldoutStatistic("boosting", blocks=2, folds=2)
for statistic in (LassoStatistic(), ImportanceStatistic(), boosting):
    knockoff_select(statistic.set_params(random_state=0).compute(X, X_tilde, y), fdr=0.5)
""",
    "a selection": """
selector = KnockoffSelector("gaussian", "lasso", fdr=0.5, certify=False, random_state=0).fit(X, y)
assert selector.get_support()[:2].all()
""",
    "a selection from a mixed table in groups": """
selector = KnockoffSelector(
    "gaussian", "lasso", fdr=0.5, condition_on=["visits"], feature_groups={"gh": ["g", "h"]},
    random_state=0
)
selector.fit(mixed, y, groups=patient)
assert selector.certificate_ is not None
""",
    "a calibrated selection from several draws": """
selector = KnockoffSelector("gaussian", "lasso", fdr=0.5, n_draws=2, calibrate=True)
selector.set_params(missing="complete", random_state=0, n_jobs=1).fit(mixed, y > 0)
write_report(selector, "report.html")
""",
    "a check that advises": """
Z = rng.standard_normal((300, 30)) + 2 * rng.standard_normal((300, 1))
assert check_swap((Z, rng.permutation(Z)), random_state=0).verdict == "fail"
""",
}
COMMANDS = """
from click.testing import CliRunner
from knockoffs.cli import main

X.assign(y=y).to_csv("rows.csv", index=False)
for line in (
    "select rows.csv --target y --generator gaussian --statistic lasso --fdr 0.5 "
    "--save-model model --out out --report page.html --quiet",
    "describe rows.csv",
    "check rows.csv --drop y --model model --statistic lasso --quiet",
    "sample rows.csv --drop y --generator model --out drawn.csv --quiet",
):
    done = CliRunner().invoke(main, line.split(), catch_exceptions=False)
    assert done.exit_code == 0, done.output
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("work", WORK)
def test_it_works_where_there_is_no_torch(work: str, tmp_path: Path) -> None:
    done = run(BLOCKED + TABLES + WORK[work], tmp_path)
    assert done.returncode == 0, done.stderr


def test_so_do_commands(tmp_path: Path) -> None:
    done = run(BLOCKED + TABLES + COMMANDS, tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_learns_by_networks_does_not_work_without_torch(tmp_path: Path) -> None:
    """So torch is not there in the tests above."""
    done = run(BLOCKED + "from knockoffs import DDLK", tmp_path)
    assert "torch is not to be imported here" in done.stderr
