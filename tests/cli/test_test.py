"""`knockoffs test`: p-values from a file, with tables, JSON and a report."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs import GaussianKnockoffs, JointDensity, RandomizationTest

from .conftest import Invoke

pytestmark = pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A clinical table with few columns: knockoffs could not report two discoveries at 0.1."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(60, 10, 250), "sex": rng.choice(["f", "m"], 250)})
    table["marker"] = table["age"] / 10 + rng.normal(size=250)
    table["dose <i>"] = rng.normal(size=250)
    table["=cmd"] = rng.normal(size=250)
    table["outcome"] = table["age"] / 10 + table["dose <i>"] + rng.normal(size=250)
    table.to_csv(tmp_path / "few.csv", index=False)
    return tmp_path / "few.csv"


def test_files_hold_what_python_finds(invoke: Invoke, few: Path, tmp_path: Path) -> None:
    arguments = (
        "test",
        few,
        "--target",
        "outcome",
        "--condition-on",
        "age, sex",
        "--resamples",
        300,
        "--seed",
        3,
    )
    done = invoke(*arguments, "--out", "found", "--report", "page.html", "--save-model", "model")
    assert done.exit_code == 0, done.output
    assert "Discoveries" in done.stdout
    frame = pd.read_csv(few)
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    expected = RandomizationTest(
        JointDensity(), condition_on=["age", "sex"], resamples=300, random_state=3
    ).fit(X, y)
    found = json.loads((tmp_path / "found" / "tests.json").read_text())
    assert found == expected.result_.to_dict()
    assert found["discoveries"] == ["dose <i>"]
    assert found["settings"]["condition_on"] == ["age", "sex"]
    written = pd.read_csv(tmp_path / "found" / "tests.csv")
    np.testing.assert_allclose(written["p"], expected.result_.to_frame()["p"])
    assert "=cmd" not in set(written["feature"])  # a spreadsheet would run it
    page = (tmp_path / "page.html").read_text()
    assert "<i>" not in page.split("<svg")[1].split("</svg>")[0]
    assert "dose &lt;i&gt;" in page
    assert page.count('class="interval"') == 3
    again = invoke(*arguments, "--density", "model", "--json")
    assert json.loads(again.stdout)["features"] == found["features"]


def test_rows_that_are_left_out_are_said_in_the_result(
    invoke: Invoke, few: Path, tmp_path: Path
) -> None:
    table = pd.read_csv(few)
    table["outcome"] = table["outcome"].mask(table.index % 10 == 3)
    table.to_csv("gaps.csv", index=False)
    page = tmp_path / "page.html"
    result = invoke(
        "test", "gaps.csv", "--target", "outcome", "--resamples", 200, "--json", "--report", page
    )
    said = "the target 'outcome' is missing in 25 of 250 rows, which are left out"
    assert json.loads(result.stdout)["cautions"][0].startswith(said)
    assert said in html.unescape(page.read_text(encoding="utf-8"))


def test_an_empty_test_says_what_to_do_next(invoke: Invoke, few: Path) -> None:
    done = invoke(
        "test", few, "--target", "=cmd", "--resamples", 300, "--level", 0.001, "--seed", 3
    )
    said = " ".join(done.stdout.split())
    assert "None of 5 tested features is a discovery" in said
    assert "→ A higher level: level=" in said


def test_help_says_what_bh_takes_for_granted(invoke: Invoke) -> None:
    said = " ".join(invoke("test", "--help").stdout.split())
    assert (
        "bh: share of false discoveries, if p-values depend on each other positively or not at all"
        in said
    )


def test_mistakes_are_explained(refused: Callable[..., str], few: Path) -> None:
    said = refused("test", few, "--target", "outcome", "--condition-on", "aeg")
    assert "--condition-on 'aeg' is not a column of the table. Did you mean 'age'?" in said
    assert "is the target" in refused(
        "test", few, "--target", "outcome", "--condition-on", "outcome"
    )
    assert "level=2.0 is not valid" in refused("test", few, "--target", "outcome", "--level", 2)
    assert "is not a file" in refused("test", few, "--target", "outcome", "--density", "nothing")
    GaussianKnockoffs().fit(pd.read_csv(few)).save(few.parent / "gaussian")
    said = refused("test", few, "--target", "outcome", "--density", "gaussian")
    assert (
        "--density 'gaussian' holds a GaussianKnockoffs model. Pass a model file of a "
        "JointDensity or a" in said
    )
    JointDensity(epochs=1).fit(pd.read_csv(few).select_dtypes("number")).save(
        few.parent / "density"
    )
    said = refused("test", few, "--target", "outcome", "--density", "density")
    assert (
        "--density 'density': the model was fitted on other columns. It has not seen 'sex'" in said
    )
    assert "lacks" not in refused("test", few, "--target", "outcom")
