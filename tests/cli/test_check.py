"""`knockoffs check`: a verdict on the command line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs import GaussianKnockoffs, KnockoffSelector, check_swap
from knockoffs.check.dry_run import KINDS
from knockoffs.cli import COMMANDS
from knockoffs.cli.check import check as check_command

from .conftest import FEATURES, Invoke, contents

Refused = Callable[..., str]
MODEL = ("--drop", "y", "--model", "model")
PAIR = ("--drop", "y", "--knockoffs", "k.csv")


@pytest.fixture
def model(tmp_path: Path, features: pd.DataFrame) -> GaussianKnockoffs:
    """Fitted to other rows of the same law, in the file `model`."""
    other = pd.DataFrame(np.random.default_rng(9).normal(size=(1000, 20)), columns=FEATURES)
    fitted = GaussianKnockoffs(random_state=0).fit(other)
    fitted.save(tmp_path / "model")
    return fitted


@pytest.fixture
def knockoffs(tmp_path: Path, features: pd.DataFrame) -> pd.DataFrame:
    """Features are independent, so other draws are exact: in `k.csv`;
    and in `wide.csv` ones that are too wide.
    """
    drawn = pd.DataFrame(np.random.default_rng(7).normal(size=features.shape), columns=FEATURES)
    drawn.to_csv(tmp_path / "k.csv", index=False)
    (3 * drawn).to_csv(tmp_path / "wide.csv", index=False)
    return drawn


def test_the_json_is_the_librarys_certificate(
    invoke: Invoke, file: Path, features: pd.DataFrame, model: GaussianKnockoffs
) -> None:
    result = invoke("check", file, *MODEL, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == check_swap(model, features, random_state=0).to_dict()


def test_a_warning_that_draws_repeat_is_shown_once(
    invoke: Invoke, file: Path, table: pd.DataFrame
) -> None:
    GaussianKnockoffs(random_state=0).fit(table.drop(columns="y")).save("model")
    first = table[FEATURES[0]]
    # the model has seen no gaps
    table.assign(**{FEATURES[0]: first.mask(first > 1)}).to_csv(file, index=False)
    said = invoke("check", file, *MODEL, "--quiet").stderr
    assert said.count("cells with a value that the fit has not seen") == 1


def test_knockoffs_of_a_file_are_a_pair(
    invoke: Invoke, file: Path, features: pd.DataFrame, knockoffs: pd.DataFrame
) -> None:
    expected = check_swap((features, pd.read_csv("k.csv")), random_state=3).to_dict()
    knockoffs[FEATURES[::-1]].assign(y=1, more="text").to_csv("k.csv", index=False)
    assert json.loads(invoke("check", file, *PAIR, "--json", "--seed", 3).stdout) == expected


def test_what_is_printed(invoke: Invoke, file: Path, model: GaussianKnockoffs) -> None:
    result = invoke("check", file, *MODEL)
    assert result.exit_code == 0
    assert result.stdout.startswith("PASS  (GaussianKnockoffs, 300 rows)")
    for said in ("covariance", "kernel", "classifier", "half 3", "freedom"):
        assert said in result.stdout
    assert invoke("check", file, *MODEL, "--quiet").output == ""


def test_reasons_and_advice_are_printed(
    invoke: Invoke, file: Path, knockoffs: pd.DataFrame
) -> None:
    result = invoke("check", file, "--drop", "y", "--knockoffs", "wide.csv")
    assert result.exit_code == 0  # without --strict
    assert result.stdout.startswith("FAIL")
    assert "the knockoff's distribution, or how it depends on other features, differs" in " ".join(
        result.stdout.split()
    )
    assert "→" in result.stdout


def test_of_many_rows_those_of_both_tables_are_drawn(
    invoke: Invoke, file: Path, knockoffs: pd.DataFrame
) -> None:
    result = invoke("check", file, *PAIR, "--max-rows", 200)
    assert result.exit_code == 0
    assert result.stdout.startswith("PASS  (a pair of tables, 200 rows)")


def test_strict_exits_with_3_unless_the_verdict_is_pass(
    invoke: Invoke, file: Path, features: pd.DataFrame, knockoffs: pd.DataFrame
) -> None:
    assert invoke("check", file, *PAIR, "--strict", "--quiet").exit_code == 0
    result = invoke(
        "check",
        file,
        "--drop",
        "y",
        "--knockoffs",
        "wide.csv",
        "--strict",
        "--json",
        "--out",
        "c.json",
    )
    assert result.exit_code == 3
    assert json.loads(result.stdout)["verdict"] == "fail"  # after all is said and written
    assert json.loads(Path("c.json").read_text(encoding="utf-8"))["verdict"] == "fail"
    features.to_csv("k.csv", index=False)  # copies: a warning is not a pass
    assert invoke("check", file, *PAIR, "--strict", "--quiet").exit_code == 3


def test_the_exit_codes_are_documented(invoke: Invoke) -> None:
    assert re.search(r"Exit codes:.*\b3\b", " ".join(invoke("--help").output.split()))
    assert "check" in COMMANDS


def test_the_file_is_written_whole_or_not_at_all(
    invoke: Invoke,
    file: Path,
    knockoffs: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert invoke("check", file, *PAIR, "--out", "c.json", "--quiet").exit_code == 0
    whole = Path("c.json").read_bytes()
    assert json.loads(whole) == json.loads(invoke("check", file, *PAIR, "--json").stdout)
    before = contents(tmp_path)

    def no_space(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    result = invoke("check", file, *PAIR, "--out", "c.json", "--seed", 5)
    assert result.exit_code == 1
    assert "no space left" in result.stderr
    assert contents(tmp_path) == before


def test_names_are_text_and_not_markup(invoke: Invoke, tmp_path: Path) -> None:
    names = ["[red]a[/red]", "[/]", "[bold", "<b>"]
    x = np.random.default_rng(0).normal(size=(60, 4))
    pd.DataFrame(x, columns=names).to_csv("x.csv", index=False)
    pd.DataFrame(5 + x[::-1], columns=names).to_csv("k.csv", index=False)
    result = invoke("check", "x.csv", "--knockoffs", "k.csv")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in names)


def test_a_dry_run_shows_its_rates(invoke: Invoke, file: Path, model: GaussianKnockoffs) -> None:
    arguments = ("check", file, *MODEL, "--dry-run", "--statistic", "lasso", "--n-jobs", 1)
    found = json.loads(invoke(*arguments, "--json").stdout)
    assert {rate["response"] for rate in found["dry_run"]} == set(KINDS)
    assert "false discoveries" in invoke(*arguments).stdout


def test_every_option_is_known_to_these_tests() -> None:
    options = {option for parameter in check_command.params for option in parameter.opts}
    assert options == {
        *(
            "file",
            "--drop",
            "--delimiter",
            "--na-value",
            "--max-rows",
            "--model",
            "--knockoffs",
            "--fdr",
            "--dry-run",
            "--statistic",
            "--n-jobs",
        ),
        *("--n-jobs", "--groups", "--kind", "--out", "--json", "--strict", "--seed", "--quiet"),
        "--feature-groups",  # test_feature_groups.py
    }


def test_rows_of_one_group_are_checked_together(
    invoke: Invoke, table: pd.DataFrame, features: pd.DataFrame, knockoffs: pd.DataFrame
) -> None:
    table.to_csv("grouped.csv", index=False)
    result = invoke("check", "grouped.csv", *PAIR, "--groups", "patient", "--json")
    expected = check_swap((features, pd.read_csv("k.csv")), groups=table["patient"], random_state=0)
    assert json.loads(result.stdout) == expected.to_dict()


def test_rows_of_the_fit_are_recognised(invoke: Invoke, file: Path, features: pd.DataFrame) -> None:
    GaussianKnockoffs(random_state=0).fit(features[:150]).save("model")
    result = invoke("check", file, *MODEL, "--json")
    assert "50% of these rows were used to fit the generator" in " ".join(
        json.loads(result.stdout)["reasons"]
    )


def test_standard_input_and_a_delimiter(
    invoke: Invoke, features: pd.DataFrame, model: GaussianKnockoffs
) -> None:
    content = features.to_csv(index=False, sep="!").encode()
    result = invoke("check", "-", "--delimiter", "!", "--model", "model", "--json", stdin=content)
    assert json.loads(result.stdout) == check_swap(model, features, random_state=0).to_dict()


# bad input


def test_one_of_model_and_knockoffs(
    refused: Refused, file: Path, model: GaussianKnockoffs, knockoffs: pd.DataFrame
) -> None:
    for arguments in ((), ("--model", "model", "--knockoffs", "k.csv")):
        line = refused("check", file, "--drop", "y", *arguments)
        assert "pass either --model FILE" in line
        assert "or --knockoffs FILE" in line


def test_bad_models_are_refused(
    refused: Refused, file: Path, tmp_path: Path, model: GaussianKnockoffs
) -> None:
    whole = (tmp_path / "model").read_bytes()
    (tmp_path / "half").write_bytes(whole[:-100])
    assert "'half' is not a complete knockoffs model file" in refused(
        "check", file, "--model", "half"
    )
    assert "no.model" in refused("check", file, "--model", "no.model")
    assert "table.csv" in refused("check", file, "--model", "table.csv")


def test_other_columns_are_refused(
    refused: Refused, file: Path, tmp_path: Path, features: pd.DataFrame, knockoffs: pd.DataFrame
) -> None:
    GaussianKnockoffs().fit(features.iloc[:, ::-1]).save(tmp_path / "model")
    assert "--model 'model': the columns are in another order" in refused("check", file, *MODEL)
    knockoffs.drop(columns="f3").to_csv(tmp_path / "k.csv", index=False)
    line = refused("check", file, *PAIR)
    assert "'k.csv' lacks the column 'f3'" in line
    assert "--drop" in line
    line = refused("check", file, "--knockoffs", "k.csv")
    assert "lacks the column" in line


def test_bad_tables_are_refused(
    refused: Refused, file: Path, tmp_path: Path, knockoffs: pd.DataFrame, model: GaussianKnockoffs
) -> None:
    for content, said in (
        (knockoffs[:-1], r"shape \(300, 20\), its knockoffs \(299, 20\)"),
        (
            knockoffs.assign(f2=np.inf),
            r"--knockoffs 'bad.csv': .*column 'f2' \(300\): infinite values",
        ),
        (
            knockoffs.assign(f2="text"),
            r"column 'f2' holds numbers, its knockoffs text\. Correct one of them",
        ),
    ):
        content.to_csv(tmp_path / "bad.csv", index=False)
        line = refused("check", file, "--drop", "y", "--knockoffs", "bad.csv", "--out", "c.json")
        assert re.search(said, line), line
    knockoffs[:10].to_csv(tmp_path / "few.csv", index=False)
    assert "10 rows; at least 20" in refused("check", "few.csv", "--model", "model")
    assert "none.csv does not exist" in refused(
        "check", file, "--drop", "y", "--knockoffs", "none.csv"
    )
    assert "--drop 'z'" in refused("check", file, "--drop", "z", "--model", "model")


def test_an_output_that_cannot_be_is_refused_before_the_work(
    refused: Refused, file: Path, model: GaussianKnockoffs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worked(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(GaussianKnockoffs, "sample", worked)
    assert "Make it first" in refused("check", file, *MODEL, "--out", "missing/c.json")


def test_wrong_usage_exits_with_2(refused: Refused, file: Path) -> None:
    assert "Missing argument 'FILE'" in refused("check", code=2)
    refused("check", file, "--statistic", "none", code=2)


def test_select_says_what_the_check_found(invoke: Invoke, file: Path) -> None:
    """The selector's certificate reaches the command line, too."""
    assert KnockoffSelector().certify is True
    result = invoke(
        "select", file, "--target", "y", "--generator", "gaussian", "--statistic", "lasso"
    )
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
