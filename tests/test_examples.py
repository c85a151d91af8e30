"""What README and demo show runs as shown."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_readmes_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    assert list(names["X_tilde"].columns) == list(names["held_out"].columns)
    assert names["X_tilde"].index.equals(names["held_out"].index)
    assert names["model"].swap_divergence(names["held_out"]).value < 3
    assert (tmp_path / "ddlk.safetensors").is_file()


def test_the_demo_runs_and_says_where_the_picture_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo.py", "--out", str(tmp_path / "out")])
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "knockoffs.png" in said
    assert "Swap divergence" in said
    assert (tmp_path / "out" / "knockoffs.png").read_bytes().startswith(b"\x89PNG")
