"""What the README shows runs as shown."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from sklearn.datasets import load_diabetes

from knockoffs import KnockoffWarning
from knockoffs.cli import main
from knockoffs.plots import compare_knockoffs

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")

# sex is a column with two values, and the README says what follows from that
pytestmark = pytest.mark.filterwarnings("ignore:.*distinct values:knockoffs.KnockoffWarning")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_example(folder: Path) -> None:
    example, types, groups, confounders, check = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    exec(types, names)
    assert [column.kind for column in names["schema"]] == ["nominal", "binary", "binary"]
    with warnings.catch_warnings():  # these patients are made up, so the selection may well be empty
        warnings.simplefilter("ignore", KnockoffWarning)
        exec(groups, names)
        exec(confounders, names)
    assert set(names["given_age"].selection_.conditioned) == {"age", "sex"}
    assert names["by_patient"].selection_.groups == 221
    exec(check, names)
    assert names["certificate"].verdict in ("pass", "warn", "fail")
    said = re.search(r"get_feature_names_out\(\)  # (.*)", example)
    assert said
    assert sorted(names["selector"].get_feature_names_out()) == sorted(said[1].split(", "))
    assert list(names["X_tilde"].columns) == list(names["X"].columns)
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")
    assert (folder / "ddlk.safetensors").is_file()


def test_the_command_line_examples(folder: Path) -> None:
    patients = load_diabetes(as_frame=True, scaled=False).frame
    patients.to_csv("diabetes.csv", index=False)
    patients[300:].to_csv("fresh.csv", index=False)
    code = [line for block in README.split("```")[1::2] for line in block.splitlines()]
    lines = [line.removeprefix("knockoffs ") for line in code if line.startswith("knockoffs ")]
    assert len(lines) >= 3
    printed = {}
    for line in lines:
        result = CliRunner().invoke(main, shlex.split(line))
        assert result.exit_code == 0, f"{line}: {result.output}"
        printed[line] = result.stdout
    found = json.loads((folder / "results" / "selection.json").read_text(encoding="utf-8"))
    largest = sorted(found["features"], key=lambda f: -f["w"])[:4]  # ten features give few discoveries, or none
    assert {"bmi", "s5"} <= {f["feature"] for f in largest}
    assert (folder / "report.html").is_file()
    assert (folder / "knockoffs.parquet").is_file()
    (as_json,) = [text for line, text in printed.items() if line.endswith("--json")]
    assert json.loads(as_json)["settings"]["generator"].startswith("DDLK")
    (described,) = [text for line, text in printed.items() if line.startswith("describe")]
    assert "continuous" in described
    (check,) = [text for line, text in printed.items() if line.startswith("check")]
    assert check.startswith(("PASS", "WARN", "FAIL"))
    (tested,) = [text for line, text in printed.items() if line.startswith("test")]
    assert "bmi" in tested
    assert (folder / "results" / "tests.json").is_file()


def test_the_picture_of_data_and_knockoffs(folder: Path) -> None:
    X = load_diabetes().data
    figure = compare_knockoffs(X, X[::-1], [f"$\\frac{k}$ <b>" for k in range(10)], columns=3)
    assert len(figure.axes) == 6
    figure.savefig(folder / "picture.png")  # raises where a name is read as a formula
