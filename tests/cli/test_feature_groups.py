"""`--feature-groups`: one answer for each group of columns, from a small file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from knockoffs import KnockoffSelector
from knockoffs.cli.targets import read_groups_file

from .conftest import FEATURES, Invoke

# the last two columns are in no group
GROUPS = {f"g{k}": FEATURES[2 * k : 2 * k + 2] for k in range(9)}
SETTINGS = ("--generator", "gaussian", "--statistic", "lasso", "--fdr", "0.2")
CHECKED = ("--no-certify", *SETTINGS)


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    path = tmp_path / "groups.csv"
    lines = [f"{column},{group}" for group, columns in GROUPS.items() for column in columns]
    path.write_text("\n".join(["column,group", *lines, "f18,"]) + "\n", encoding="utf-8")
    return path


def test_the_command_line_gives_what_python_gives(
    file: Path, groups: Path, table: pd.DataFrame, invoke: Invoke
) -> None:
    done = invoke(
        "select", file, "--target", "y", "--feature-groups", groups, *CHECKED, "--json", "--quiet"
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    selector = KnockoffSelector(
        "gaussian", "lasso", fdr=0.2, certify=False, feature_groups=GROUPS, random_state=0
    ).fit(table[FEATURES], table["y"])
    assert found["features"] == json.loads(json.dumps(selector.selection_.to_dict()["features"]))
    assert [feature["feature"] for feature in found["features"]] == [*GROUPS, "f18", "f19"]
    assert found["settings"]["feature_groups"] == GROUPS


def test_the_terminal_and_the_table_list_the_columns(
    file: Path, groups: Path, tmp_path: Path, invoke: Invoke
) -> None:
    done = invoke(
        "select", file, "--target", "y", "--feature-groups", groups, *CHECKED, "--out", "results"
    )
    assert "2: f0, f1" in done.stdout
    frame = pd.read_csv(tmp_path / "results" / "selection.csv")
    assert frame.set_index("feature")["columns"].to_dict() == dict.fromkeys(GROUPS, 2) | {
        "f18": 1,
        "f19": 1,
    }


def test_json_and_other_delimiters_say_the_same(groups: Path, tmp_path: Path) -> None:
    other = tmp_path / "groups.json"
    other.write_text(json.dumps(GROUPS), encoding="utf-8")
    swapped = tmp_path / "groups.tsv"
    rows = [line.split(",") for line in groups.read_text(encoding="utf-8").splitlines()]
    swapped.write_text(
        "\n".join(f"{group}\t{column}" for column, group in rows), encoding="utf-8-sig"
    )
    assert (
        read_groups_file(str(groups))
        == read_groups_file(str(other))
        == read_groups_file(str(swapped))
        == GROUPS
    )


def test_a_model_of_groups_is_sampled_checked_and_selected_with(
    file: Path, groups: Path, invoke: Invoke, refused: Callable[..., str]
) -> None:
    options = ("--drop", "y", "--generator", "gaussian", "--feature-groups", groups)
    done = invoke(
        "sample", file, *options, "--out", "knockoffs.csv", "--save-model", "model.safetensors"
    )
    assert done.exit_code == 0, done.output
    checked = invoke(
        "check", file, "--drop", "y", "--model", "model.safetensors", *SETTINGS[2:], "--json"
    )
    names = {feature["feature"] for feature in json.loads(checked.stdout)["features"]}
    assert names == {*GROUPS, "f18", "f19"}
    pair = ("--knockoffs", "knockoffs.csv", "--feature-groups", groups)
    checked = invoke("check", file, "--drop", "y", *pair, *SETTINGS[2:], "--json")
    assert {feature["feature"] for feature in json.loads(checked.stdout)["features"]} == names
    model = ("select", file, "--target", "y", "--generator", "model.safetensors", *CHECKED[3:])
    assert "would not be swapped so" in refused(*model)
    assert invoke(*model, "--feature-groups", groups).exit_code == 0
    again = (
        "sample",
        file,
        "--drop",
        "y",
        "--generator",
        "model.safetensors",
        "--out",
        "again.csv",
    )
    assert "draws knockoffs of the groups of its fit" in refused(*again, "--feature-groups", groups)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "groups.csv",
            "feature,group\nf0,g\n",
            "has the headings 'feature', 'group'; write column,group",
        ),
        (
            "groups.csv",
            "",
            "--feature-groups 'groups.csv' names no group. Write column,group in the first line",
        ),
        ("groups.csv", "column,group\n", "names no group"),
        ("groups.csv", "\n\n", "names no group"),
        ("groups.json", "{}", "names no group"),
        ("groups.csv", "column,group\nf0\n", "line 2 does not have two cells"),
        ("groups.csv", "column,group\nf0,g\nf0,h\nage,g\ny,h\n", "'age' is no column of X"),
        (
            "groups.csv",
            "column,group\nf0,g\nf0,h\nage,g\ny,h\n",
            "'f0' is there in group 'g' as well",
        ),
        ("groups.csv", "column,group\nf0,g\nf0,h\nage,g\ny,h\n", "'y' is the target"),
        ("groups.json", '["f0"]', "write group names with lists of columns"),
        ("groups.json", '{"g": [', "is no JSON"),
        ("absent.csv", None, "cannot be read (No such file or directory)"),
    ],
)
def test_bad_files_are_refused(
    name: str,
    content: str | None,
    said: str,
    file: Path,
    tmp_path: Path,
    refused: Callable[..., str],
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert said in refused("select", file, "--target", "y", "--feature-groups", name, *CHECKED)


def test_the_file_of_groups_is_not_overwritten(
    file: Path, groups: Path, refused: Callable[..., str]
) -> None:
    said = refused(
        "select", file, "--target", "y", "--feature-groups", groups, "--report", groups, *CHECKED
    )
    assert "is the same file as --feature-groups" in said
