"""A table whose truth is known, and ways to run the command line on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from knockoffs.cli import main
from knockoffs.runtime import progress

RELEVANT = [f"f{j}" for j in range(12)]
FEATURES = [f"f{j}" for j in range(20)]

ROUNDS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)  # pandas, unless it is told not to
Invoke = Callable[..., Result]
Process = subprocess.Popen[bytes]


@pytest.fixture(autouse=True)
def exact_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests read from text files with old versions of pandas is what was written,
    to the last bit.
    """
    if ROUNDS:
        monkeypatch.setattr(pd, "read_csv", partial(pd.read_csv, float_precision="round_trip"))


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """Twenty independent features, a target `y` that is the sum of the first twelve and noise,
    and patients.
    """
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, len(FEATURES))), columns=FEATURES)
    y = X[RELEVANT].sum(axis=1) + rng.normal(size=300)
    return X.assign(patient=np.repeat([f"p{k}" for k in range(60)], 5), y=y)


@pytest.fixture
def features(table: pd.DataFrame) -> pd.DataFrame:
    return table[FEATURES]


@pytest.fixture
def file(tmp_path: Path, table: pd.DataFrame) -> Path:
    """The table without the patients, as CSV in the folder that is the current one."""
    path = tmp_path / "table.csv"
    table.drop(columns="patient").to_csv(path, index=False)
    return path


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs `knockoffs …` in this process; an error that is not put in plain words fails the
    test.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "FIRST_LINE", float("inf"))  # however slow the machine is

    def run(*arguments: object, stdin: bytes | None = None) -> Result:
        result = CliRunner().invoke(
            main, [str(a) for a in arguments], input=stdin, prog_name="knockoffs"
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def refused(invoke: Invoke, tmp_path: Path) -> Callable[..., str]:
    """Runs a command that must fail: one line that says why, and no file is written.
    Returns that line.
    """

    def run(*arguments: object, code: int = 1, stdin: bytes | None = None) -> str:
        before = contents(tmp_path)
        result = invoke(*arguments, stdin=stdin)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        lines = result.stderr.splitlines()
        assert [line.startswith("Error: ") for line in lines].count(True) == 1, result.stderr
        if code == 1:
            assert all(line.startswith(("Error: ", "Warning: ")) for line in lines), result.stderr
        assert "Traceback" not in result.stderr
        assert contents(tmp_path) == before
        (said,) = [line for line in lines if line.startswith("Error: ")]
        return said

    return run


def contents(folder: Path) -> dict[Path, bytes]:
    """All files below a folder, and what is in them."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def start(
    *arguments: object,
    cwd: Path,
    stdin: int | None = None,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> Process:
    """`python -m knockoffs …` as a process of its own, with warnings as a user has them."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"} | {
        "OMP_NUM_THREADS": "1"
    }
    command = [sys.executable, "-m", "knockoffs", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=stdin, stdout=stdout, stderr=stderr
    )
