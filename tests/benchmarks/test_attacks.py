"""Hostile command lines: each ends in one line or in a result, and no result of a run is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.experiments.experiment import Run
from benchmarks.experiments.store import Result, Store
from tests.cli.conftest import Invoke
from tests.cli.test_attacks import Attack, attack, model_content

__all__ = ["attack", "model_content"]  # fixtures


def result_table(**columns: Any) -> pd.DataFrame:
    names = [f"x{j}" for j in range(10)]
    table = {
        "response": "r",
        "statistic": "lasso",
        "feature": names,
        "unit": names,
        "w": np.arange(10.0),
    }
    return pd.DataFrame(table | {"relevant": pd.array([True] * 10, dtype="boolean")} | columns)


@pytest.fixture(autouse=True)
def results(invoke: Invoke) -> None:
    """Two runs in the folder that is looked into by default."""
    for replicate in range(2):
        run = Run("smoke", "small", "gaussian", replicate)
        Store("results").write(run, Result(result_table(), {"knockoffs": 1.0}))


def test_two_results_never_share_a_file(attack: Attack) -> None:
    said = attack("results", "smoke", "--table", "f.csv", "--figure", "f.csv")
    assert re.search(
        r"--\S+ '.*' and (--\S+) '.*' are the same file.*Pass another path to \1\.", said
    ), said


def test_results_of_runs_are_not_overwritten(attack: Attack) -> None:
    path = Store("results").path(Run("smoke", "small", "gaussian", 0))
    for option in ("--table", "--figure"):
        assert "is among the results of smoke" in attack("results", "smoke", option, path)


@pytest.mark.parametrize(
    "name", ["\udcff", "a\x00b", "a" * 100_000, "'", '"', "\\", "[/red]", "{0}", "%s", "$(id)"]
)
def test_odd_names_in_options(attack: Attack, name: str) -> None:
    attack("results", name)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--reps", r"--reps=10{22} is not valid.* from 1 to 100000"),
        ("--n-jobs", r"--n-jobs=10{22} is not valid"),
    ],
)
def test_settings_out_of_range(attack: Attack, option: str, said: str) -> None:
    assert re.search(said, attack("run", "smoke", option, 10**22))


def test_a_stray_number_does_not_make_the_runs_count_up_to_it(attack: Attack) -> None:
    folder = Store("results").path(Run("smoke", "small", "gaussian", 0)).parent
    for name in ("²³.parquet", "1.parquet", "-1.parquet"):  # not as runs are named
        (folder / name).write_bytes(b"mine")
    assert "gaussian" in attack("results", "smoke", fails=0)
    (folder / "99999999.parquet").write_bytes(b"mine")
    assert "99999999" in attack("results", "smoke")
    assert "99999999" in attack("run", "smoke", "--reps", 2)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a torn table": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "a table of something else": lambda path: pd.DataFrame({"a": [1]}).to_parquet(path),
    "a torn file beside": lambda path: path.with_suffix(".json").write_text('{"made": '),
    "a list beside": lambda path: path.with_suffix(".json").write_text("[]"),
    "numbers beside": lambda path: path.with_suffix(".json").write_text(
        '{"made": 1, "seconds": 2}'
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_results_are_named(attack: Attack, damage: Callable[[Path], object]) -> None:
    path = Store("results").path(Run("smoke", "small", "gaussian", 0))
    damage(path)
    assert re.search(r"000\.(json|parquet)' is damaged", attack("results", "smoke"))


def test_results_of_different_versions_are_not_averaged(attack: Attack) -> None:
    beside = Store("results").path(Run("smoke", "small", "gaussian", 0)).with_suffix(".json")
    about = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps(about | {"made": about["made"] | {"revision": 1}}))
    said = attack("results", "smoke", "--table", "o.csv")
    assert "'results' holds runs of different versions" in said
    assert re.search(r"1 with .*revision 1.*; 1 with .*revision \d", said)
    assert "another folder" in said


def test_results_of_different_devices_are_told(attack: Attack) -> None:
    beside = Store("results").path(Run("smoke", "small", "gaussian", 0)).with_suffix(".json")
    about = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps(about | {"device": "cuda"}))
    assert "Networks were trained on cuda (1 runs) and cpu (1 runs)." in attack(
        "results", "smoke", fails=0
    )
