"""`knockoffs describe`: how a table is read, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs import infer_schema
from knockoffs.cli.describe import describe as describe_command

from .conftest import Invoke

FRAME = pd.DataFrame(
    {
        "age": np.random.default_rng(0).normal(50, 10, size=2000),
        "ward": [3, 1, 2, 4] * 500,
        "[bold]town[/bold]": (["Aa", "Bb\x1b[2J", None, "Cc", "Dd", "Ee", "Ff", "Aa"] * 250),
        "smoker": [True, False] * 1000,
        "height": [1.7, *[np.nan] * 1999],
    }
)


@pytest.fixture
def described(tmp_path: Path) -> Path:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_every_option_is_known_to_these_tests() -> None:
    options = {option for parameter in describe_command.params for option in parameter.opts}
    assert options == {
        "file",
        "--drop",
        "--delimiter",
        "--na-value",
        "--max-rows",
        "--kind",
        "--json",
    }


def test_every_column_is_shown_as_it_is_read(invoke: Invoke, described: Path) -> None:
    result = invoke("describe", described)
    assert result.exit_code == 0
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in result.stdout.splitlines()
        if "│" in line
    ]
    assert "2,000 rows, 5 columns" in result.stdout
    assert [row[:4] for row in rows if row[0]] == [
        ["age", "continuous", "", ""],
        ["ward", "ordinal (whole)", "4", ""],
        ["[bold]town[/bold]", "nominal", "6", "12.5 %"],
        ["smoker", "binary", "2", ""],
        ["height", "constant", "1", "99.9 %"],
    ]
    assert "\x1b" not in result.stdout
    assert "and 2 more" in " ".join(row[4] for row in rows)


def test_json_is_the_schema(invoke: Invoke, described: Path) -> None:
    said = json.loads(invoke("describe", described, "--json", "--drop", "age").stdout)
    assert said["rows"] == 2000
    schema = infer_schema(FRAME.drop(columns="age"))
    assert [(c["feature"], c["kind"], c["values"]) for c in said["columns"]] == [
        (column.name, column.kind, len(column.values)) for column in schema
    ]
    assert said["columns"][1]["levels"] == ["Aa", "Bb\x1b[2J", "Cc", "Dd", "Ee", "Ff"]
    assert said["columns"][1]["missing"] == 0.125


def test_kinds_that_are_given(invoke: Invoke, described: Path) -> None:
    said = json.loads(invoke("describe", described, "--json", "--kind", "ward=nominal").stdout)
    assert said["columns"][1]["kind"] == "nominal"


def test_few_missing_cells_are_not_none(invoke: Invoke, tmp_path: Path) -> None:
    pd.DataFrame({"a": [np.nan, *range(1999)], "b": 1}).to_csv(tmp_path / "t.csv", index=False)
    assert "0.1 %" in invoke("describe", "t.csv").stdout


def test_columns_that_cannot_be_used_are_shown_and_explained_at_once(
    invoke: Invoke, refused: Callable[..., str], tmp_path: Path
) -> None:
    frame = FRAME.assign(note=[f"n{i}" for i in range(2000)], seen="2020-01-01")
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = invoke("describe", "t.csv", "--kind", "ward=nominal", "--kind", "note=binary")
    assert result.exit_code == 1
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in result.stdout.splitlines()
        if "│" in line
    ]
    kinds = {row[0]: row[1] for row in rows if row[0]}
    assert (kinds["age"], kinds["ward"]) == ("continuous", "nominal")  # the others are described
    assert kinds["note"] == kinds["seen"] == "cannot be used"
    assert "2,000 rows, 7 columns" in result.stdout
    for said in (result.stderr, refused("describe", "t.csv", "--json", "--kind", "note=binary")):
        assert "column 'note': kinds asks for \"binary\", but there are 2000 values" in said
        assert "column 'seen': dates as text" in said
    frame[["note", "seen"]].to_csv(tmp_path / "bad.csv", index=False)
    assert "column 'note': 2000 different texts" in refused("describe", "bad.csv")
    assert "--drop 'nothing' is not a column" in refused("describe", "t.csv", "--drop", "nothing")


def test_doubtful_columns_are_warned_of(invoke: Invoke, tmp_path: Path) -> None:
    frame = FRAME.assign(
        patient_id=np.arange(2000), sex=["Male", "male ", "Female", "Female"] * 500
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    for options in ((), ("--json",)):
        result = invoke("describe", "t.csv", *options)
        assert result.exit_code == 0
        assert "column 'sex': 'Male', 'male ': spellings of one level" in result.stderr
        assert "column 'patient_id': a different whole number in every row" in result.stderr
        assert result.stderr.count("\n") == 1  # one message
    assert invoke("describe", "t.csv", "--drop", "patient_id", "--drop", "sex").stderr == ""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_marks_of_missing_cells_can_be_named(invoke: Invoke, tmp_path: Path, suffix: str) -> None:
    """The advice can be followed where it is read, whatever the format."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 200), "weight": rng.normal(70, 9, 200)})
    frame["dose"] = [*map(str, rng.poisson(50, 190)), *["?"] * 10]
    frame["smoker"] = ["yes", "no", "unknown", "no"] * 50
    frame.loc[:9, "age"] = -999
    if suffix == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
    else:
        frame.to_parquet(tmp_path / "t.parquet")
    refusal = invoke("describe", f"t.{suffix}")
    assert "'dose': numbers, but for '?' (10 cells, first in row 191)" in refusal.stderr
    assert (
        "column 'age': -999 (10 cells); column 'smoker': 'unknown' (50 cells): read as they"
        in refusal.stderr
    )
    marks = ("--na-value", "?", "--na-value", "age=-999.0", "--na-value", "smoker=unknown")
    result = invoke("describe", f"t.{suffix}", *marks, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    columns = {column["feature"]: column for column in json.loads(result.stdout)["columns"]}
    assert {name: column["missing"] for name, column in columns.items()} == {
        "age": 0.05,
        "weight": 0,
        "dose": 0.05,
        "smoker": 0.25,
    }
    assert columns["dose"]["levels"] is None  # numbers again
    assert columns["smoker"]["kind"] == "binary"
    said = invoke("describe", f"t.{suffix}", *marks, "--na-value", "wieght=-1").stderr
    assert "--na-value 'wieght=-1': no cell holds it" in said
