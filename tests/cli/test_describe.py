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
    assert options == {"file", "--drop", "--delimiter", "--kind", "--json"}


def test_every_column_is_shown_as_it_is_read(invoke: Invoke, described: Path) -> None:
    result = invoke("describe", described)
    assert result.exit_code == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    assert "2,000 rows, 5 columns" in result.stdout
    assert [row[:4] for row in rows if row[0]] == [
        ["age", "continuous", "", ""],
        ["ward", "ordinal", "4", ""],
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


def test_all_that_is_wrong_is_said_at_once(refused: Callable[..., str], tmp_path: Path) -> None:
    frame = FRAME.assign(note=[f"n{i}" for i in range(2000)], seen="2020-01-01")
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = refused("describe", "t.csv")
    assert "column 'note': 2000 different texts" in said
    assert "column 'seen': dates as text" in said
    assert "--drop 'nothing' is not a column" in refused("describe", "t.csv", "--drop", "nothing")
