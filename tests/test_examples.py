"""What the README and the guides show runs as shown."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner

import knockoffs
from knockoffs import KnockoffSelector
from knockoffs.cli import main
from knockoffs.datasets import make_patients

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
GUIDES = [
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
    ROOT / "docs" / "start" / "first-discovery.md",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 800


def test_the_python_example(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(README)
    exec(example, {})
    said = [line.partition("  # ")[2] for line in example.splitlines() if line.startswith("print(")]
    assert capsys.readouterr().out.splitlines() == said
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")


def command_lines(text: str) -> list[str]:
    code = [line for block in text.split("```")[1::2] for line in block.splitlines()]
    return [line.removeprefix("knockoffs ") for line in code if line.startswith("knockoffs ")]


@pytest.mark.parametrize("text", [README, COMMANDS], ids=["readme", "guide"])
def test_the_command_line_examples(folder: Path, text: str) -> None:
    X, y, _ = make_patients(rows=200, random_state=0)
    few = [*X.columns[:10], "albumin", "crp"]  # few columns, so that the test is quick
    X[few].assign(days=y).to_csv("patients.csv", index=False)
    printed = {}
    for line in command_lines(text):
        result = CliRunner().invoke(main, shlex.split(line))
        assert result.exit_code == 0, f"{line}: {result.output}"
        printed[line] = result.stdout
    found = json.loads((folder / "results" / "selection.json").read_text(encoding="utf-8"))
    assert {"age", "ward"} & {
        f["feature"] for f in sorted(found["features"], key=lambda f: -f["w"])[:3]
    }
    assert (folder / "report.html").is_file()
    (described,) = [text for line, text in printed.items() if line.startswith("describe")]
    assert "nominal" in described
    if text is COMMANDS:
        assert {line.split()[0] for line in printed} == {
            "describe",
            "select",
            "test",
            "sample",
            "check",
        }
        assert (folder / "knockoffs.parquet").is_file()
        assert (folder / "tests" / "tests.json").is_file()
        (as_json,) = [text for line, text in printed.items() if line.endswith("--json")]
        assert json.loads(as_json)["settings"]["generator"].startswith("DDLK")
        (check,) = [text for line, text in printed.items() if line.startswith("check")]
        assert check.startswith(("PASS", "WARN", "FAIL"))


@pytest.mark.skipif(
    not os.environ.get("KNOCKOFFS_NEEDS_SITE"), reason="`make docs` runs the code of the guides"
)
@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_code_of_the_guides(guide: Path, folder: Path) -> None:
    """Runs as shown, on few patients; what an earlier block of the page or the first page made is
    there.
    """
    X, y, relevant = make_patients(rows=160, random_state=0)
    X = X[[*X.columns[:8], "albumin", "crp"]]
    selector = KnockoffSelector("gaussian", "lasso", fdr=0.3, random_state=0).fit(X, y)
    names = {name: getattr(knockoffs, name) for name in knockoffs.__all__}
    names |= {
        "X": X,
        "y": y,
        "relevant": relevant,
        "patient": np.arange(160) // 2,
        "selector": selector,
    }
    for block in blocks(guide.read_text(encoding="utf-8")):
        # fewer rows than on the page
        exec(block.replace("10_000", "150").replace("rows=800", "rows=160"), names)


EXAMPLES = ROOT / "docs" / "examples"
VERDICTS = {
    "1_start/plot_1_first_selection.py": lambda names: (
        [names["selector"].certificate_.verdict] == ["pass"]
    ),
    "2_deeper/plot_3_certificate.py": lambda names: (
        [own.verdict for own in names["certificates"].values()] == ["pass", "fail"]
    ),
}


@pytest.mark.parametrize("example", VERDICTS)
def test_verdicts_of_the_gallery_are_those_that_its_sentences_are_about(example: str) -> None:
    matplotlib.use("agg")
    names: dict[str, Any] = {}
    exec((EXAMPLES / example).read_text(encoding="utf-8"), names)
    plt.close("all")
    assert VERDICTS[example](names)
