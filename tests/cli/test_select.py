"""`knockoffs select`: the answer of the library, in files and on the terminal;
bad input in one line.
"""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from knockoffs import DDLK, GaussianKnockoffs, KnockoffSelector, LassoStatistic
from knockoffs.cli.select import select as select_command
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.density.training import TrainingDivergedError
from knockoffs.runtime.model_files import write_model
from knockoffs.selection.result import Selection
from knockoffs.statistics.registry import STATISTICS

from .conftest import FEATURES, RELEVANT, Invoke, contents, start

FAST = ("--generator", "gaussian", "--statistic", "lasso", "--target", "y")
Refused = Callable[..., str]


def by_hand(table: pd.DataFrame, seed: int = 0, groups: Any = None, **settings: Any) -> Selection:
    """What the library itself finds."""
    X, y = table[FEATURES], table["y"]
    selector = KnockoffSelector(
        GaussianKnockoffs(), LassoStatistic(), random_state=seed, **settings
    )
    return selector.fit(X, y, groups=groups).selection_


def printed(invoke: Invoke, *arguments: object, stdin: bytes | None = None) -> dict[str, Any]:
    """The selection that `--json` prints."""
    result = invoke("select", *arguments, "--json", stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def w_of(selection: dict[str, Any]) -> list[float]:
    return [f["w"] for f in selection["features"]]


# the answer


def test_the_files_hold_what_the_library_finds(
    invoke: Invoke, file: Path, table: pd.DataFrame
) -> None:
    result = invoke("select", file, *FAST, "--out", "new/out")
    assert result.exit_code == 0
    assert result.stderr == ""
    expected = by_hand(table)
    assert set(expected.discoveries) >= set(RELEVANT)
    assert len(expected.discoveries) <= 14
    written = json.loads(Path("new/out/selection.json").read_text(encoding="utf-8"))
    assert written == expected.to_dict()
    frame = pd.read_csv("new/out/selection.csv")
    assert frame["w"].is_monotonic_decreasing
    assert frame.loc[frame["selected"], "feature"].tolist() == written["discoveries"]
    assert (frame["threshold"] == written["thresholds"][0]).all()
    as_records = {f["feature"]: f for f in written["features"]}
    for row in frame.drop(columns="threshold").to_dict("records"):
        assert row == as_records.pop(row["feature"])
    assert not as_records
    names = ["certificate.json", "selection.csv", "selection.json"]
    assert sorted(path.name for path in Path("new/out").iterdir()) == names


def test_the_table_on_the_terminal_shows_the_discoveries_and_where_the_files_are(
    invoke: Invoke, file: Path, table: pd.DataFrame
) -> None:
    said = invoke(
        "select", file, *FAST, "--out", "out", "--report", "report.html", "--save-model", "model"
    ).stdout
    shown = re.findall(r"│ (\S+) +│", said)
    assert shown == by_hand(table).discoveries
    assert f"{len(shown)} of 20 features selected at fdr=0.1." in said
    assert f"Selection: {Path('out', 'selection.csv')}, selection.json and certificate.json" in said
    assert "Report: report.html" in said
    assert "Model: model" in said


def test_json_prints_the_file_and_nothing_else(invoke: Invoke, file: Path) -> None:
    result = invoke("select", file, *FAST, "--json", "--out", "out", "--report", "report.html")
    assert result.stdout == Path("out/selection.json").read_text(encoding="utf-8") + "\n"
    assert json.loads(result.stdout)["discoveries"]


def test_json_says_in_valid_json_that_nothing_was_found(invoke: Invoke, file: Path) -> None:
    result = invoke("select", file, *FAST, "--json", "--fdr", "0.01")
    assert result.exit_code == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    said = json.loads(result.stdout, parse_constant=refuse)
    assert said["discoveries"] == []
    assert said["thresholds"] == [None]
    *warned, last = result.stderr.splitlines()
    assert warned == [f"Warning: {caution}" for caution in said["cautions"]]
    assert last.startswith("Warning: Nothing is selected at fdr=0.01: ")
    assert "needs at least 100 selections" in said["cautions"][0]


def test_quiet_prints_nothing(invoke: Invoke, file: Path) -> None:
    result = invoke("select", file, *FAST, "--quiet", "--out", "out")
    assert (result.exit_code, result.output) == (0, "")
    assert contents(Path("out"))


def test_the_same_seed_gives_the_same_bytes(invoke: Invoke, file: Path) -> None:
    for folder, seed in (("first", 3), ("second", 3), ("other", 4)):
        assert invoke("select", file, *FAST, "--seed", seed, "--out", folder).exit_code == 0
    first, second, other = (
        {p.name: p.read_bytes() for p in Path(f).iterdir()} for f in ("first", "second", "other")
    )
    assert first == second
    assert first["selection.csv"] != other["selection.csv"]


# what it reads


def test_any_kind_of_file_gives_the_same_answer(
    invoke: Invoke, file: Path, table: pd.DataFrame
) -> None:
    frame = table.drop(columns="patient")
    content = file.read_bytes()
    Path("table.csv.gz").write_bytes(gzip.compress(content))
    frame.to_parquet("table.parquet")
    frame.to_csv("table.tsv", sep="\t", index=False)
    expected = printed(invoke, file, *FAST)
    for name in ("table.csv.gz", "table.parquet", "table.tsv"):
        assert printed(invoke, name, *FAST) == expected
    assert printed(invoke, "-", *FAST, stdin=content) == expected
    assert printed(invoke, "-", *FAST, stdin=Path("table.parquet").read_bytes()) == expected


def test_row_names_are_no_feature(invoke: Invoke, file: Path, table: pd.DataFrame) -> None:
    frame = table.drop(columns="patient").set_axis([f"row {i}" for i in range(len(table))])
    frame.to_csv("named.csv")
    assert printed(invoke, "named.csv", *FAST) == printed(invoke, file, *FAST)


# options


def test_every_option_is_known_to_these_tests() -> None:
    """A new option needs a test here."""
    options = {option for parameter in select_command.params for option in parameter.opts}
    assert options == {
        *(
            "file",
            "--drop",
            "--delimiter",
            "--na-value",
            "--max-rows",
            "--target",
            "--event",
            "--fdr",
            "--generator",
            "--save-model",
            "--statistic",
        ),
        *(
            "--draws",
            "--offset",
            "--task",
            "--groups",
            "--n-jobs",
            "--out",
            "--report",
            "--json",
            "--seed",
        ),
        *("--certify", "--calibrate", "--kind", "--condition-on", "--missing", "--quiet"),
        "--feature-groups",  # test_feature_groups.py
    }


def test_the_check_can_be_left_out(invoke: Invoke, file: Path) -> None:
    said = invoke("select", file, *FAST, "--out", "out").stdout
    certificate = json.loads(Path("out/certificate.json").read_text(encoding="utf-8"))
    assert f"Check of the knockoffs: {certificate['verdict']}." in said
    assert certificate["subject"] == "GaussianKnockoffs, on the rows of the selection"
    said = invoke("select", file, *FAST, "--out", "new", "--no-certify").stdout
    assert "Check of the knockoffs" not in said
    assert not Path("new/certificate.json").exists()


def test_columns_to_condition_on_are_never_selected(
    invoke: Invoke, file: Path, refused: Refused
) -> None:
    plain = printed(invoke, file, *FAST)
    chosen = plain["discoveries"][:2]
    given = printed(invoke, file, *FAST, "--condition-on", ",".join(chosen))
    assert given["settings"]["condition_on"] == sorted(chosen, key=lambda name: int(name[1:]))
    assert not set(chosen) & set(given["discoveries"])
    assert given["settings"]["features"] == plain["settings"]["features"] - 2
    assert "'y' is the target" in refused("select", file, *FAST, "--condition-on", "y")
    assert "--condition-on" in refused("select", file, *FAST, "--condition-on", "nothing")


def test_a_statistic_can_be_chosen(invoke: Invoke, file: Path) -> None:
    chosen = [
        *FAST[: FAST.index("--statistic")],
        *FAST[FAST.index("--statistic") + 2 :],
        "--statistic",
        "auto",
    ]
    said = invoke("select", file, *chosen).stdout
    assert "was chosen by responses simulated on X" in " ".join(said.split())


def test_a_calibrated_level_is_said(invoke: Invoke, file: Path) -> None:
    said = printed(invoke, file, *FAST, "--calibrate")
    assert 0 < said["settings"]["level"] <= said["settings"]["fdr"]
    assert "calibrated for fdr=" in said["explanation"]


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_every_option_and_the_exit_codes(invoke: Invoke, flag: str) -> None:
    result = invoke("select", flag)
    assert result.exit_code == 0
    for parameter in select_command.params[1:]:
        assert parameter.opts[0] in result.stdout
        if parameter.param_type_name == "option":
            assert parameter.help.split(":")[0].split()[0] in result.stdout
    assert "Exit codes: 0 done" in result.stdout


def test_help_and_version_of_the_whole(invoke: Invoke) -> None:
    assert all(
        name in invoke("--help").stdout for name in ("select", "sample", "demo", "Exit codes")
    )
    assert re.fullmatch(r"knockoffs, version \d+\.\d+\.\d+\n", invoke("--version").stdout)


def test_drop_leaves_columns_out(invoke: Invoke, file: Path, table: pd.DataFrame) -> None:
    said = printed(invoke, file, *FAST, "--drop", "f3", "--drop", "f19")
    assert [f["feature"] for f in said["features"]] == [
        f for f in FEATURES if f not in ("f3", "f19")
    ]
    table.assign(note="text").drop(columns="patient").to_csv("noted.csv", index=False)
    assert printed(invoke, "noted.csv", *FAST, "--drop", "note") == printed(invoke, file, *FAST)


def test_delimiter(invoke: Invoke, file: Path, table: pd.DataFrame) -> None:
    table.drop(columns="patient").to_csv("odd.txt", sep="!", index=False)
    assert printed(invoke, "odd.txt", *FAST, "--delimiter", "!") == printed(invoke, file, *FAST)
    table.drop(columns="patient").to_csv("tabs.txt", index=False, sep="\t")
    assert printed(invoke, "tabs.txt", *FAST, "--delimiter", r"\t") == printed(invoke, file, *FAST)


def test_fdr_reaches_the_filter(invoke: Invoke, file: Path, table: pd.DataFrame) -> None:
    strict, lax = (printed(invoke, file, *FAST, "--fdr", fdr) for fdr in ("0.1", "0.45"))
    assert (strict["settings"]["fdr"], lax["settings"]["fdr"]) == (0.1, 0.45)
    assert lax == by_hand(table, fdr=0.45).to_dict()
    assert lax["thresholds"][0] <= strict["thresholds"][0]
    assert set(lax["discoveries"]) >= set(strict["discoveries"])
    assert printed(invoke, file, *FAST, "--fdr", "0.02")["discoveries"] == []


def test_without_the_offset_more_is_selected(invoke: Invoke, file: Path) -> None:
    """All with w at or above the threshold, which twelve features cannot reach at this level with
    the offset.
    """
    said = printed(invoke, file, *FAST, "--fdr", "0.05", "--offset", "0")
    assert said["settings"]["offset"] == 0
    (threshold,) = said["thresholds"]
    assert set(said["discoveries"]) == {
        f["feature"] for f in said["features"] if f["w"] >= threshold
    }
    assert set(said["discoveries"]) >= set(RELEVANT)


def test_several_draws(invoke: Invoke, file: Path, table: pd.DataFrame) -> None:
    result = invoke(
        "select",
        file,
        *FAST,
        "--fdr",
        "0.2",
        "--draws",
        "3",
        "--out",
        "out",
        "--report",
        "report.html",
    )
    said = json.loads(Path("out/selection.json").read_text(encoding="utf-8"))
    assert said == by_hand(table, fdr=0.2, n_draws=3).to_dict()
    assert len(said["thresholds"]) == said["settings"]["n_draws"] == 3
    assert {round(3 * f["frequency"], 9) for f in said["features"]} <= {0, 1, 2, 3}
    assert pd.read_csv("out/selection.csv")["threshold"].isna().all()  # no single one
    assert "frequency" in result.stdout
    assert "3 knockoff draws are combined" in Path("report.html").read_text(encoding="utf-8")


def test_a_saved_model_gives_the_same_knockoffs(invoke: Invoke, file: Path) -> None:
    first = printed(invoke, file, *FAST, "--save-model", "model.safetensors")
    assert (
        printed(invoke, file, *FAST, "--generator", "model.safetensors", "--save-model", "again")
        == first
    )
    assert printed(invoke, file, *FAST, "--generator", "again") == first
    other = printed(invoke, file, *FAST, "--generator", "model.safetensors", "--seed", 1)
    assert w_of(other) != w_of(first)


def test_a_saved_ddlk_gives_the_same_knockoffs(
    invoke: Invoke, file: Path, features: pd.DataFrame, fast_ddlk: Callable[..., DDLK]
) -> None:
    model = fast_ddlk().fit(features)
    model.save("ddlk.safetensors")
    said = printed(
        invoke, file, *FAST, "--generator", "ddlk.safetensors", "--report", "report.html"
    )
    table = pd.read_csv(file)
    expected = KnockoffSelector(model, LassoStatistic(), random_state=0).fit(
        table[FEATURES], table["y"]
    )
    assert w_of(said) == expected.w_.tolist()
    assert said["settings"]["generator"].startswith("DDLK(")


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_runs(invoke: Invoke, tmp_path: Path, name: str) -> None:
    x = AutoregressiveGaussian(features=4, rho=0.3).sample(80, random_state=0)
    frame = pd.DataFrame(x, columns=list("abcd")).assign(
        y=3 * x[:, 0] + np.random.default_rng(1).normal(size=80)
    )
    frame.to_csv("small.csv", index=False)
    said = printed(
        invoke,
        "small.csv",
        "--target",
        "y",
        "--generator",
        "gaussian",
        "--statistic",
        name,
        "--fdr",
        "0.5",
    )
    assert max(said["features"], key=lambda f: f["w"])["feature"] == "a"
    expected = STATISTICS[name]()
    assert said["settings"]["statistic"].startswith(type(expected).__name__)
    assert said["settings"]["exact"] == expected.exact


def test_the_default_generator_and_statistic_are_the_librarys(invoke: Invoke) -> None:
    x = AutoregressiveGaussian(features=3).sample(60, random_state=0)
    frame = pd.DataFrame(x, columns=list("abc")).assign(y=x @ [1.0, 0, -1])
    frame.to_csv("small.csv", index=False)
    said = printed(invoke, "small.csv", "--target", "y", "--fdr", "0.6", "--no-certify")
    expected = KnockoffSelector(fdr=0.6, certify=False, random_state=0).fit(
        frame[[*"abc"]], frame["y"]
    )
    assert said == expected.selection_.to_dict()


def test_task_is_found_out_or_told(invoke: Invoke, table: pd.DataFrame) -> None:
    codes = (table["y"] > 0).astype(int)
    table.drop(columns="patient").assign(y=codes).to_csv("codes.csv", index=False)
    table.drop(columns="patient").assign(y=codes.map({0: "no", 1: "yes"})).to_csv(
        "words.csv", index=False
    )
    found = printed(invoke, "codes.csv", *FAST)
    assert found["settings"]["task"] == "classification"
    assert printed(invoke, "codes.csv", *FAST, "--task", "classification") == found
    by_name = printed(invoke, "words.csv", *FAST)
    assert by_name["features"] == found["features"]
    assert "share of yes" in by_name["effects"]["each"][0]["said"]
    told = printed(invoke, "codes.csv", *FAST, "--task", "regression")
    assert told["settings"]["task"] == "regression"
    assert w_of(told) != w_of(found)


def test_groups_stay_together_and_are_no_feature(invoke: Invoke, table: pd.DataFrame) -> None:
    table.to_csv("grouped.csv", index=False)
    said = printed(invoke, "grouped.csv", *FAST, "--groups", "patient")
    assert said == by_hand(table, groups=table["patient"]).to_dict()
    assert [f["feature"] for f in said["features"]] == FEATURES
    assert w_of(said) != w_of(by_hand(table).to_dict())


def test_n_jobs_reaches_the_statistic(invoke: Invoke, file: Path) -> None:
    said = printed(invoke, file, *FAST, "--n-jobs", "1")
    assert "n_jobs=1" in said["settings"]["statistic"]
    assert w_of(said) == w_of(printed(invoke, file, *FAST))


def test_report_is_written_where_asked(invoke: Invoke, file: Path) -> None:
    assert invoke("select", file, *FAST, "--report", "report.html").exit_code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.lstrip().startswith("<!doctype html>")
    assert "of 20 features tell something about y that the others do not" in page
    assert "table.csv" in page
    assert sorted(path.name for path in Path().iterdir()) == ["report.html", "table.csv"]


def test_report_and_model_may_go_to_the_new_out_folder(invoke: Invoke, file: Path) -> None:
    result = invoke(
        "select",
        file,
        *FAST,
        "--out",
        "new",
        "--report",
        "new/report.html",
        "--save-model",
        "new/model",
    )
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in Path("new").iterdir()) == [
        "certificate.json",
        "model",
        "report.html",
        "selection.csv",
        "selection.json",
    ]


def test_old_results_are_replaced(invoke: Invoke, file: Path) -> None:
    Path("out").mkdir()
    for name in ("selection.csv", "selection.json", "report.html"):
        Path("out", name).write_text("old")
    invoke("select", file, *FAST, "--out", "out", "--report", "out/report.html")
    assert not any(content == b"old" for content in contents(Path("out")).values())


def test_names_are_shown_as_they_are(invoke: Invoke, table: pd.DataFrame) -> None:
    """Not as the terminal's markup, nor cut."""
    names = {"f0": "[bold]dose[/bold]", "f1": "été 🙂", "f2": "a very long name " * 6}
    table.drop(columns="patient").rename(columns=names).to_csv("odd.csv", index=False)
    said = invoke("select", "odd.csv", *FAST).stdout
    assert "[bold]dose[/bold]" in said
    assert "été 🙂" in said
    # the first column, over its lines
    lines = "".join(re.findall(r"^│ (.*?) +│ ", said, re.MULTILINE))
    assert "averylongname" * 6 in lines.replace(" ", "")


# warnings


def test_fewer_rows_than_columns_are_warned_of_in_one_line(
    invoke: Invoke, table: pd.DataFrame
) -> None:
    table[:15].drop(columns="patient").to_csv("few.csv", index=False)
    result = invoke("select", "few.csv", *FAST, "--json")
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert all(line.startswith("Warning: ") for line in lines)
    assert [line for line in lines if "X has 15 rows and 20 columns" in line and "Add rows" in line]
    said = json.loads(result.stdout)
    assert [f"Warning: {caution}" for caution in said["cautions"]] == lines[: len(said["cautions"])]


def test_an_identifier_is_warned_of(invoke: Invoke, table: pd.DataFrame) -> None:
    order = np.random.default_rng(0).permutation(len(table)) + 1000
    table.drop(columns="patient").assign(subject=order).to_csv("numbered.csv", index=False)
    result = invoke("select", "numbered.csv", *FAST, "--quiet")
    assert result.exit_code == 0
    assert result.stderr.count("\n") == 1
    said = (
        r"Warning: Some columns may.*column 'subject': a different whole number in every "
        r"row.*Drop it.*--drop"
    )
    assert re.match(said, result.stderr)


def test_rows_without_a_target_are_left_out(invoke: Invoke, table: pd.DataFrame) -> None:
    gaps = np.arange(len(table)) % 10 == 3
    table.assign(y=table["y"].mask(gaps)).drop(columns="patient").to_csv("gaps.csv", index=False)
    result = invoke("select", "gaps.csv", *FAST, "--json")
    assert result.exit_code == 0
    said = "the target 'y' is missing in 30 of 300 rows, which are left out"
    assert result.stderr.count(said) == 1
    # files and pages have it from there
    assert json.loads(result.stdout)["cautions"][0].startswith(said)
    assert w_of(json.loads(result.stdout)) == by_hand(table[~gaps]).w.tolist()


# bad input: one line, no file


def edited(table: pd.DataFrame, **columns: Any) -> bytes:
    return table.drop(columns="patient").assign(**columns).to_csv(index=False).encode()


def with_cell(column: str, row: int, value: Any) -> Callable[[pd.DataFrame], bytes]:
    def edit(table: pd.DataFrame) -> bytes:
        cells = table[column].astype(object)
        cells.iloc[row] = value
        return edited(table, **{column: cells})

    return edit


def lines_of(table: pd.DataFrame) -> list[str]:
    return edited(table).decode().splitlines(keepends=True)


BAD_TABLES: dict[str, tuple[Callable[[pd.DataFrame], bytes], str]] = {
    "one class": (
        lambda t: edited(t, y="yes"),
        r"target 'y'.*one class only \('yes'\).*at least two classes",
    ),
    "one number": (
        lambda t: edited(t, y=1),
        r"target 'y'.*one class only \(1\).*at least two classes",
    ),
    "constant target": (lambda t: edited(t, y=0.5), r"target 'y'.*constant \(0\.5\)"),
    "no target values": (
        lambda t: edited(t, y=np.nan),
        r"the target 'y' has no values at all\. Pass another",
    ),
    "an infinite target": (
        with_cell("y", 7, np.inf),
        r"target 'y'.*infinite values\. Drop those rows",
    ),
    "a target of numbers and text": (with_cell("y", 7, "n/k"), r"'y'.*'n/k'.*row 8.*--na-value"),
    "mixed cells": (
        with_cell("f5", 7, "n/k"),
        r"column 'f5': numbers, but for 'n/k' \(row 8\)\. Replace",
    ),
    "free text": (
        lambda t: edited(t, f5=[f"note {i}" for i in t.index]),
        r"column 'f5': 300 different texts",
    ),
    "dates": (
        lambda t: edited(t, f5=pd.date_range("2020", periods=300)),
        r"column 'f5': dates as text\. Encode them as numbers .*\(--kind at the command line\)",
    ),
    "an infinite cell": (
        with_cell("f5", 7, np.inf),
        r"column 'f5' \(1\): infinite values\. Replace",
    ),
    "several problems": (
        lambda t: edited(
            t, f5=[f"note {i}" for i in t.index], f6=np.where(t["f6"] > 2, np.inf, t["f6"])
        ),
        r"column 'f5': 300 different texts.*column 'f6' \(\d+\): infinite values",
    ),
    "a copy of the target": (
        lambda t: edited(t, again=t["y"]),
        r"hold a copy of the target 'y': 'again'\. Leave it out with --drop",
    ),
    "the target in other units": (
        lambda t: edited(t, again=-1000 * t["y"] + 7),
        r"copy of the target 'y': 'again'\. Leave it out with --drop",
    ),
    "names twice": (
        lambda t: "".join(
            ["f0", edited(t).decode().removeprefix("f0").replace("f1,", "f0,", 1)]
        ).encode(),
        r"several columns named 'f0'\. Give each its own name",
    ),
    "empty": (lambda t: b"", r"is empty\. Pass a table"),
    "names alone": (
        lambda t: lines_of(t)[0].encode(),
        r"0 rows and 21 columns\. Pass a table with data",
    ),
    "wrong delimiter": (
        lambda t: edited(t).replace(b",", b"!"),
        r"single column.*when split at ','\. Pass the right delimiter",
    ),
    "not UTF-8": (lambda t: b"\xe9" + edited(t), r"not text in UTF-8 \(byte 0xe9 at position 0\)"),
    "a truncated gzip": (
        lambda t: gzip.compress(edited(t))[:-50],
        r"damaged or truncated.*Copy it again",
    ),
    "a truncated Parquet": (
        lambda t: b"PAR1\x15\x04",
        r"not a complete Parquet file.*copy it again",
    ),
    "row numbers without a name": (
        lambda t: "".join(
            line if k == 0 else f"{k},{line}" for k, line in enumerate(lines_of(t))
        ).encode(),
        r"more cells than its first line has names",
    ),
    "the target alone": (
        lambda t: t[["y", "patient"]].to_csv(index=False).encode(),
        r"feature|column 'patient'",
    ),
    "few rows": (
        lambda t: edited(t[:5]),
        r"5 rows \(n_samples=5\); at least 10 are needed.*Collect more rows",
    ),
}


@pytest.mark.parametrize(("make", "said"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_a_bad_table_is_refused_in_one_line(
    refused: Refused,
    tmp_path: Path,
    table: pd.DataFrame,
    make: Callable[[pd.DataFrame], bytes],
    said: str,
) -> None:
    (tmp_path / "bad.csv").write_bytes(make(table))
    line = refused(
        "select", "bad.csv", *FAST, "--out", "out", "--report", "r.html", "--save-model", "model"
    )
    assert re.search(said, line), line
    assert "np." not in line  # a value as the user wrote it


def test_a_parquet_column_of_dates_is_refused(
    refused: Refused, tmp_path: Path, table: pd.DataFrame
) -> None:
    days = [None, *(day.date() for day in pd.date_range("2020", periods=299))]
    table.assign(f5=days).drop(columns="patient").to_parquet(tmp_path / "bad.parquet")
    assert "column 'f5': has type date; only numbers" in refused("select", "bad.parquet", *FAST)


@pytest.fixture
def mixed(tmp_path: Path, table: pd.DataFrame) -> Path:
    """The table with a column of categories that are coded by numbers, one of text with gaps,
    and yes or no.
    """
    rng = np.random.default_rng(1)
    frame = table.drop(columns="patient").assign(
        ward=rng.integers(1, 5, size=300),
        town=rng.choice(["Aa", "Bb", "Cc", None], size=300),
        **{"smoker=yes": rng.random(300) > 0.5},
    )
    path = tmp_path / "mixed.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_table_of_mixed_types_gives_what_the_library_finds(invoke: Invoke, mixed: Path) -> None:
    said = printed(invoke, mixed, *FAST, "--kind", "ward=nominal", "--report", "report.html")
    frame = pd.read_csv(mixed)
    selector = KnockoffSelector(
        GaussianKnockoffs(), LassoStatistic(), kinds={"ward": "nominal"}, random_state=0
    )
    expected = selector.fit(frame.drop(columns="y"), frame["y"]).selection_
    assert said["discoveries"] == expected.discoveries
    assert w_of(said) == w_of(expected.to_dict())
    assert [f["feature"] for f in said["features"]][-3:] == ["ward", "town", "smoker=yes"]
    assert "2 nominal" in Path("report.html").read_text(encoding="utf-8")


def test_missing_cells_can_be_filled_in_first(invoke: Invoke, mixed: Path) -> None:
    said = printed(invoke, mixed, *FAST, "--missing", "complete")
    frame = pd.read_csv(mixed)
    selector = KnockoffSelector(
        GaussianKnockoffs(), LassoStatistic(), missing="complete", random_state=0
    )
    assert w_of(said) == w_of(
        selector.fit(frame.drop(columns="y"), frame["y"]).selection_.to_dict()
    )
    assert w_of(said) != w_of(printed(invoke, mixed, *FAST))


def test_a_model_of_a_table_with_gaps_cannot_be_used_without_them(
    refused: Refused, mixed: Path, tmp_path: Path
) -> None:
    GaussianKnockoffs().fit(pd.read_csv(mixed).drop(columns="y")).save(tmp_path / "gaps")
    line = refused("select", mixed, "--target", "y", "--generator", "gaps", "--missing", "complete")
    assert "The generator was fitted on a table with missing cells there: fit a new one" in line
    assert "(--missing complete) out" in line


def test_a_target_with_leading_zeros_is_a_quantity_also_beside_marks_of_missing_cells(
    invoke: Invoke, table: pd.DataFrame
) -> None:
    count = (table["y"].rank() / 10).round().astype(int) + 40
    table.assign(y=count.map("{:03}".format).mask(table.index < 5, "?")).to_csv(
        "table.csv", index=False
    )
    said = printed(invoke, "table.csv", *FAST, "--drop", "patient", "--na-value", "?")
    assert said["settings"]["task"] == "regression"
    assert w_of(said) == w_of(by_hand(table.assign(y=count)[5:]).to_dict())


def test_kinds_reach_the_selector(
    invoke: Invoke, mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def stopped(self: KnockoffSelector, X: pd.DataFrame, y: object, **_: object) -> None:
        seen.append((self.kinds, [*X.columns[-3:]]))
        raise ValueError("stopped")

    monkeypatch.setattr(KnockoffSelector, "fit", stopped)
    asked = ("--kind", "ward=nominal", "--kind", "smoker=yes=binary", "--kind", "ward=nominal")
    assert "stopped" in invoke("select", mixed, *FAST, *asked).stderr
    assert "stopped" in invoke("select", mixed, *FAST).stderr
    names = ["ward", "town", "smoker=yes"]
    assert seen == [({"ward": "nominal", "smoker=yes": "binary"}, names), (None, names)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["wards=nominal"], r"--kind 'wards' is not a column of the table\. Did you mean 'ward'"),
        (["y=nominal"], r"--kind 'y' is not a column of the table"),
        (["ward"], r"--kind 'ward' is not valid: pass COL=KIND, such as --kind ward=nominal"),
        (["ward=text"], r"--kind ward='text' is not valid: pass one of 'continuous', .*'nominal'"),
        (
            ["ward=nominal", "ward=ordinal"],
            r"--kind 'ward' is given as 'nominal' and as 'ordinal'\. Pass one",
        ),
        (["ward=binary"], r"column 'ward': kinds asks for \"binary\", but there are 4 values"),
        (
            ["town=continuous"],
            r"column 'town': kinds asks for \"continuous\", but the column holds text",
        ),
    ],
    ids=str,
)
def test_kinds_that_cannot_be_are_refused(
    refused: Refused, mixed: Path, asked: list[str], said: str
) -> None:
    line = refused(
        "select",
        mixed,
        *FAST,
        *(part for pair in asked for part in ("--kind", pair)),
        "--out",
        "out",
    )
    assert re.search(said, line), line


def test_kinds_beside_a_model_file_are_refused(
    refused: Refused, mixed: Path, tmp_path: Path
) -> None:
    (tmp_path / "model").touch()
    line = refused("select", mixed, *FAST, "--generator", "model", "--kind", "ward=nominal")
    assert (
        "--kind 'ward=nominal': the model 'model' has learned what its columns hold. Leave --kind "
        "out" in line
    )


def test_a_copy_of_the_target_under_other_names_is_refused(
    refused: Refused, tmp_path: Path, table: pd.DataFrame
) -> None:
    y = np.where(table["y"] > 0, "ill", "well")
    table[FEATURES].assign(y=y, again=np.where(y == "ill", "B", "A")).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert "copy of the target 'y': 'again'" in refused("select", "t.csv", *FAST)


def test_no_features_left_is_refused(refused: Refused, tmp_path: Path, table: pd.DataFrame) -> None:
    table[["y", "f0"]].to_csv(tmp_path / "one.csv", index=False)
    assert "0 feature(s)" in refused("select", "one.csv", *FAST, "--drop", "f0")
    assert "at least 2 are needed" in refused("select", "one.csv", *FAST)


def test_missing_files_and_folders_are_refused(refused: Refused, tmp_path: Path) -> None:
    assert "no.csv does not exist. Check the path." in refused("select", "no.csv", *FAST)
    assert "is a folder without files that end in .parquet. Pass one file" in refused(
        "select", str(tmp_path), *FAST
    )
    assert "standard input is empty" in refused("select", "-", *FAST, stdin=b"")


@pytest.mark.parametrize("option", ["--target", "--groups", "--drop"])
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("blood_presure", r"Did you mean 'blood_pressure'\?"),
        ("Blood_Pressure", r"Did you mean 'blood_pressure'\?"),
        ("BLOOD_PRESSURE", r"Did you mean 'blood_pressure'\?"),
        ("weight", r"There are f0, f1, f2, f3, f4 and 17 more\."),
    ],
    ids=["typing error", "capitals", "all capitals", "nothing near"],
)
def test_a_column_that_is_not_there_is_refused_with_those_that_are_near(
    refused: Refused, tmp_path: Path, table: pd.DataFrame, option: str, asked: str, said: str
) -> None:
    table.drop(columns="patient").assign(blood_pressure=table["f0"] ** 2).to_csv(
        tmp_path / "t.csv", index=False
    )
    line = refused("select", "t.csv", *FAST, option, asked, "--out", "out")
    assert line.startswith(f"Error: {option} {asked!r} is not a column of the table. ")
    assert re.search(said, line), line


def test_groups_with_gaps_are_refused(
    refused: Refused, tmp_path: Path, table: pd.DataFrame
) -> None:
    table.assign(patient=table["patient"].where(table.index > 3)).to_csv(
        tmp_path / "t.csv", index=False
    )
    line = refused("select", "t.csv", *FAST, "--groups", "patient")
    assert "--groups 'patient' lacks 4 values. Fill them in or drop the rows." in line


def test_too_few_groups_are_refused(refused: Refused, tmp_path: Path, table: pd.DataFrame) -> None:
    table.assign(patient=table.index % 2).to_csv(tmp_path / "t.csv", index=False)
    assert re.search(r"groups.* 2\b", refused("select", "t.csv", *FAST, "--groups", "patient"))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--fdr", "0", r"fdr=0\.0 is not valid: pass a number above 0 and below 1"),
        ("--fdr", "1", r"fdr=1\.0 is not valid"),
        ("--fdr", "-0.1", r"fdr=-0\.1 is not valid"),
        ("--fdr", "nan", r"fdr=nan is not valid"),
        ("--draws", "0", r"--draws=0 is not valid: pass a whole number from 1 to 10000"),
        (
            "--n-jobs",
            "0",
            r"--n-jobs=0 is not valid: pass a whole number from 1 to 1024, or -1 for all cores\.",
        ),
        (
            "--delimiter",
            "ab",
            r"--delimiter 'ab' is not valid: pass one character, such as ; or \\t \(a tab\)",
        ),
        ("--delimiter", "", r"--delimiter '' is not valid"),
        (
            "--generator",
            "gausian",
            r"--generator 'gausian' is not valid: pass .*gaussian.*, or the path of a model",
        ),
        ("--generator", ".", r"'\.' is not a file"),
    ],
)
def test_a_setting_out_of_range_is_refused(
    refused: Refused, file: Path, option: str, value: str, said: str
) -> None:
    line = refused("select", file, *FAST, option, value, "--out", "out", "--report", "report.html")
    assert re.search(said, line), line


@pytest.mark.parametrize(
    "arguments",
    [
        ("--fdr", "much"),
        ("--offset", "2"),
        ("--statistic", "guess"),
        ("--task", "guess"),
        ("--seed", "-1"),
        ("--seed", "0.5"),
        ("--draws", "many"),
        ("--nonsense",),
        ("another.csv",),
        ("--out", "table.csv"),  # a file
        ("--report", "."),  # a folder
        ("--save-model", "."),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(refused: Refused, file: Path, arguments: tuple[str, ...]) -> None:
    refused("select", file, *FAST, *arguments, code=2)


def test_file_and_target_are_required(refused: Refused, file: Path) -> None:
    assert "Missing argument 'FILE'" in refused("select", *FAST, code=2)
    assert "Missing option '--target'" in refused("select", file, code=2)
    assert "No such command" in refused("selekt", code=2)


def test_results_that_cannot_be_written_are_refused_before_the_work(
    refused: Refused, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worked(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(KnockoffSelector, "fit", worked)
    for option in ("--report", "--save-model"):
        line = refused("select", file, *FAST, option, "missing/file")
        assert re.search(
            r"'missing/file' cannot be written: '.*missing' is not a folder\. Make it first", line
        )
        line = refused("select", file, *FAST, option, "table.csv/file")
        assert re.search(
            r"'table\.csv/file' cannot be written: '.*table\.csv' is not a folder", line
        )
    assert "table.csv/out" in refused("select", file, *FAST, "--out", "table.csv/out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("option", ["--out", "--report", "--save-model"])
def test_a_locked_folder_is_refused_before_the_work(
    refused: Refused, file: Path, tmp_path: Path, option: str
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    path = locked if option == "--out" else locked / "file"
    assert re.search(
        r"cannot be written \(Permission denied\)", refused("select", file, *FAST, option, path)
    )


BAD_MODELS: dict[str, tuple[Callable[[Path, bytes], object], str]] = {
    "truncated": (
        lambda p, c: p.write_bytes(c[: len(c) // 2]),
        r"not a complete knockoffs model file",
    ),
    "cut at its end": (lambda p, c: p.write_bytes(c[:-1]), r"not a complete knockoffs model file"),
    "empty": (lambda p, c: p.write_bytes(b""), r"not a complete knockoffs model file"),
    "text": (lambda p, c: p.write_text("a,b\n1,2\n" * 9), r"not a complete knockoffs model file"),
    "of another program": (
        lambda p, c: save_file({"w": np.ones(3)}, p),
        r"of another program, not of knockoffs",
    ),
}


@pytest.mark.parametrize(("make", "said"), BAD_MODELS.values(), ids=BAD_MODELS.keys())
def test_a_bad_model_file_is_refused(
    refused: Refused,
    file: Path,
    features: pd.DataFrame,
    tmp_path: Path,
    make: Callable[[Path, bytes], object],
    said: str,
) -> None:
    GaussianKnockoffs().fit(features).save(tmp_path / "good")
    make(tmp_path / "model", (tmp_path / "good").read_bytes())
    line = refused("select", file, *FAST, "--generator", "model", "--out", "out")
    assert re.search(rf"'model' .*{said}", line), line


def test_a_model_of_something_else_is_refused(
    refused: Refused, file: Path, features: pd.DataFrame, tmp_path: Path
) -> None:
    GaussianKnockoffs().fit(features.iloc[:, :5]).save(tmp_path / "narrow")
    line = refused("select", file, *FAST, "--generator", "narrow")
    assert (
        "--generator 'narrow': the model was fitted on other columns. It has not seen 'f5'" in line
    )
    write_model(tmp_path / "density", "JointDensity", {}, {})
    line = refused("select", file, *FAST, "--generator", "density")
    assert "holds a JointDensity model, which is not a generator of knockoffs" in line


def test_training_that_diverges_is_put_in_plain_words(
    refused: Refused, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverge(*_: object, **__: object) -> None:
        raise TrainingDivergedError(
            "stage 'joint': the loss became nan in epoch 3. Lower its learning rate."
        )

    monkeypatch.setattr(KnockoffSelector, "fit", diverge)
    assert "the loss became nan in epoch 3" in refused("select", file, *FAST, "--out", "out")


def test_a_failing_write_leaves_the_old_results(
    refused: Refused, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "selection.csv").write_text("old")

    def no_space(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    assert "no space left on device" in refused(
        "select", file, *FAST, "--out", "out", "--report", "r.html"
    )


# interruption


def test_an_interrupt_exits_with_130_and_writes_nothing(
    invoke: Invoke, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KnockoffSelector, "fit", interrupt)
    before = contents(tmp_path)
    result = invoke(
        "select", file, *FAST, "--out", "out", "--report", "report.html", "--save-model", "model"
    )
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr == "Interrupted. Files that were not complete yet have not been written.\n"
    assert contents(tmp_path) == before


def test_control_c_in_the_middle_of_a_fit(tmp_path: Path) -> None:
    """A real process on a terminal: its progress bar tells when the fit is under way."""
    x = AutoregressiveGaussian(features=40).sample(2000, random_state=0)
    pd.DataFrame(x).add_prefix("f").assign(y=x[:, 0] + x[:, 1]).to_parquet(
        tmp_path / "table.parquet"
    )
    out = tmp_path / "out"
    out.mkdir()
    (out / "selection.csv").write_text("old")
    before = contents(tmp_path)
    ours, theirs = pty.openpty()
    arguments = (
        "--target",
        "y",
        "--out",
        "out",
        "--report",
        "out/report.html",
        "--save-model",
        "out/model",
    )
    try:
        with start("select", "table.parquet", *arguments, cwd=tmp_path, stderr=theirs) as process:
            os.close(theirs)
            try:
                read_until(ours, b"loss ", seconds=60)  # an epoch is over
                process.send_signal(signal.SIGINT)
                said = read_until(ours, None, seconds=30).decode()
                assert process.wait(timeout=30) == 130
                assert process.stdout.read() == b""
            finally:
                process.kill()
    finally:
        os.close(ours)
    assert "Interrupted. Files that were not complete yet have not been written." in said
    assert "Traceback" not in said
    assert contents(tmp_path) == before


def read_until(terminal: int, mark: bytes | None, *, seconds: float) -> bytes:
    """What a terminal shows until the mark comes, or (without a mark) until it is closed."""
    said, end = b"", time.monotonic() + seconds
    while mark is None or mark not in said:
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{mark!r} did not come within {seconds} s: {said[-2000:]!r}"
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux: the other end was closed
            part = b""
        if not part:
            assert mark is None, said[-2000:]
            return said
        said += part
    return said


# as a process of its own


def test_in_a_pipe_stdout_is_json_alone(tmp_path: Path, file: Path, table: pd.DataFrame) -> None:
    with start(
        "select", "-", *FAST, "--json", "--out", "out", cwd=tmp_path, stdin=subprocess.PIPE
    ) as process:
        stdout, stderr = process.communicate(gzip.compress(file.read_bytes()), timeout=60)
    assert (process.returncode, stderr) == (0, b"")
    assert json.loads(stdout)["discoveries"] == by_hand(table).discoveries
    assert stdout == (tmp_path / "out" / "selection.json").read_bytes() + b"\n"


def test_a_process_refuses_bad_input_in_one_line(tmp_path: Path, table: pd.DataFrame) -> None:
    """With an infinite cell: no library's own warning comes between."""
    (tmp_path / "bad.csv").write_bytes(with_cell("f5", 7, np.inf)(table))
    with start("select", "bad.csv", *FAST, "--out", "out", cwd=tmp_path) as process:
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stdout == b""
    assert re.fullmatch(r"Error: .*column 'f5' \(1\): infinite values.*\n", stderr.decode()), (
        stderr.decode()
    )
    assert not contents(tmp_path / "out")
