"""`knockoffs sample`: a knockoff table of the kind that was read."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs import DDLK, GaussianKnockoffs, HierarchicalKnockoffs, load_generator
from knockoffs.cli.sample import sample as sample_command
from knockoffs.table.files import read_frame, write_frame

from .conftest import FEATURES, Invoke, contents, start

FAST = ("--generator", "gaussian", "--drop", "y")
Refused = Callable[..., str]


def by_hand(features: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    return GaussianKnockoffs(random_state=seed).fit(features).sample(features, random_state=seed)


@pytest.mark.parametrize("out", ["k.csv", "k.tsv", "k.parquet", "k.csv.gz", "k.parquet.gz", "k"])
def test_the_file_holds_the_librarys_knockoffs(
    invoke: Invoke, file: Path, features: pd.DataFrame, out: str
) -> None:
    result = invoke("sample", file, *FAST, "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"Knockoffs: {out}\n"
    pd.testing.assert_frame_equal(read_frame(out), by_hand(features), check_exact=True)


def test_a_dash_is_standard_output_and_carries_csv_alone(
    invoke: Invoke, file: Path, features: pd.DataFrame
) -> None:
    result = invoke("sample", file, *FAST, "--out", "-")
    assert (result.exit_code, result.stderr) == (0, "")
    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(result.stdout)), by_hand(features), check_exact=True
    )
    assert sorted(path.name for path in Path().iterdir()) == ["table.csv"]


def test_columns_types_and_row_names_are_those_of_the_table(
    invoke: Invoke, mixed_frame: pd.DataFrame
) -> None:
    mixed_frame.to_parquet("mixed.parquet")
    result = invoke(
        "sample", "mixed.parquet", "--generator", "gaussian", "--out", "k.parquet", "--quiet"
    )
    assert result.exit_code == 0, result.output
    knockoffs = pd.read_parquet("k.parquet")
    pd.testing.assert_series_equal(knockoffs.dtypes, mixed_frame.dtypes)
    assert knockoffs.index.tolist() == mixed_frame.index.tolist()
    assert (knockoffs.to_numpy() != mixed_frame.to_numpy()).any(axis=0).all()
    assert (
        invoke("sample", "mixed.parquet", "--generator", "gaussian", "--out", "k.csv").exit_code
        == 0
    )
    assert read_frame("k.csv").index.tolist() == mixed_frame.index.tolist()


def test_row_names_are_on_standard_output_as_in_a_file(
    invoke: Invoke, mixed_frame: pd.DataFrame
) -> None:
    mixed_frame.to_csv("mixed.csv")
    invoke("sample", "mixed.csv", "--generator", "gaussian", "--out", "k.csv")
    result = invoke("sample", "mixed.csv", "--generator", "gaussian", "--out", "-")
    assert result.stdout == Path("k.csv").read_text(encoding="utf-8")


def test_knockoffs_are_neither_the_data_nor_far_from_it(
    invoke: Invoke, file: Path, features: pd.DataFrame
) -> None:
    invoke("sample", file, *FAST, "--out", "k.csv")
    knockoffs = read_frame("k.csv")
    np.testing.assert_allclose(knockoffs.mean(), features.mean(), atol=0.25)
    np.testing.assert_allclose(knockoffs.std(), features.std(), rtol=0.25)
    assert np.abs(np.diag(np.corrcoef(features.T, knockoffs.T)[20:, :20])).max() < 0.5


def test_the_same_seed_gives_the_same_bytes(invoke: Invoke, file: Path) -> None:
    for name, seed in (("first.csv.gz", 5), ("second.csv.gz", 5), ("other.csv.gz", 6)):
        invoke("sample", file, *FAST, "--seed", seed, "--out", name)
    first, second, other = (
        Path(f"{name}.csv.gz").read_bytes() for name in ("first", "second", "other")
    )
    assert first == second
    assert first != other


def test_a_saved_model_gives_the_same_knockoffs(invoke: Invoke, file: Path) -> None:
    assert (
        invoke("sample", file, *FAST, "--out", "first.csv", "--save-model", "model").exit_code == 0
    )
    result = invoke("sample", file, *FAST, "--generator", "model", "--out", "second.csv")
    assert result.exit_code == 0
    assert Path("first.csv").read_bytes() == Path("second.csv").read_bytes()
    assert isinstance(load_generator("model"), GaussianKnockoffs)


def test_a_model_draws_for_rows_it_has_not_seen(
    invoke: Invoke, file: Path, features: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke("sample", file, *FAST, "--out", "first.csv", "--save-model", "model")
    features[:7].to_csv("few.csv", index=False)  # too few for a fit

    def fitted_again(*_: object) -> None:
        raise AssertionError("fitted again")

    monkeypatch.setattr(GaussianKnockoffs, "fit", fitted_again)
    assert (
        invoke("sample", "few.csv", "--generator", "model", "--out", "few knockoffs.csv").exit_code
        == 0
    )
    expected = read_frame("first.csv")[:7]
    # a row's depends on the row alone
    pd.testing.assert_frame_equal(read_frame("few knockoffs.csv"), expected)


def test_ddlk_is_the_default(invoke: Invoke, features: pd.DataFrame) -> None:
    features.iloc[:80, :3].to_csv("small.csv", index=False)
    assert invoke("sample", "small.csv", "--out", "k.csv", "--save-model", "model").exit_code == 0
    assert isinstance(load_generator("model"), DDLK)
    small = read_frame("small.csv")
    expected = DDLK(random_state=0).fit(small).sample(small, random_state=0)
    pd.testing.assert_frame_equal(read_frame("k.csv"), expected, check_exact=True)


def test_every_option_is_known_to_these_tests() -> None:
    """A new option needs a test here."""
    options = {option for parameter in sample_command.params for option in parameter.opts}
    assert options == {
        *(
            "file",
            "--drop",
            "--delimiter",
            "--na-value",
            "--max-rows",
            "--out",
            "--generator",
            "--save-model",
            "--groups",
        ),
        *("--groups", "--kind", "--seed", "--quiet"),
        "--feature-groups",  # test_feature_groups.py
    }


def test_knockoffs_of_groups_are_the_librarys_also_from_a_model_file(
    invoke: Invoke, table: pd.DataFrame, features: pd.DataFrame
) -> None:
    table.to_csv("grouped.csv", index=False)
    grouped = ("sample", "grouped.csv", "--drop", "y", "--groups", "patient", "--quiet")
    result = invoke(*grouped, "--generator", "gaussian", "--out", "k.csv", "--save-model", "model")
    assert result.exit_code == 0, result.output
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(
        features, groups=table["patient"]
    )
    expected = model.sample(features, groups=table["patient"], random_state=0)
    pd.testing.assert_frame_equal(read_frame("k.csv"), expected, check_exact=True)
    assert invoke(*grouped, "--generator", "model", "--out", "again.csv").exit_code == 0
    pd.testing.assert_frame_equal(read_frame("again.csv"), expected, check_exact=True)


def test_a_model_of_rows_refuses_groups(
    refused: Refused, table: pd.DataFrame, features: pd.DataFrame
) -> None:
    table.to_csv("grouped.csv", index=False)
    GaussianKnockoffs(random_state=0).fit(features).save("rows")
    line = refused(
        *(
            "sample",
            "grouped.csv",
            "--drop",
            "y",
            "--groups",
            "patient",
            "--generator",
            "rows",
            "--out",
            "k.csv",
        )
    )
    assert "--groups 'patient': the model 'rows' was fitted without groups. Fit a new one." in line


def test_drop_delimiter_quiet_and_standard_input(invoke: Invoke, table: pd.DataFrame) -> None:
    content = gzip.compress(table.to_csv(index=False, sep="!").encode())
    result = invoke(
        *(
            "sample",
            "-",
            *FAST,
            "--drop",
            "patient",
            "--delimiter",
            "!",
            "--quiet",
            "--out",
            "k.csv",
        ),
        stdin=content,
    )
    assert (result.exit_code, result.output) == (0, "")
    assert read_frame("k.csv").columns.tolist() == FEATURES


# bad input


def test_bad_tables_are_refused_in_one_line(
    refused: Refused, tmp_path: Path, table: pd.DataFrame
) -> None:
    features = table[FEATURES]
    for content, said in (
        (b"", r"is empty"),
        (b"a b\n1 2\n", r"single column"),
        (
            features.assign(f3=np.inf).to_csv(index=False).encode(),
            r"column 'f3' \(300\): infinite values",
        ),
        (
            features.assign(f3=[*"ab"] * 150, f4=table.index)
            .replace({"f4": {7: "?"}})
            .to_csv()
            .encode(),
            r"'\?'",
        ),
        (
            features[:4].to_csv(index=False).encode(),
            r"4 rows \(n_samples=4\); at least 10 are needed",
        ),
        (features[["f0"]].assign(f1=1).to_csv(index=False).encode(), r"at least 2 are needed"),
    ):
        (tmp_path / "bad.csv").write_bytes(content)
        line = refused(
            "sample",
            "bad.csv",
            "--generator",
            "gaussian",
            "--out",
            "k.csv",
            "--save-model",
            "model",
        )
        assert re.search(said, line), line


@pytest.mark.parametrize("name", ["k.parquet", "k.csv"])
def test_knockoffs_of_mixed_types_are_a_table_like_the_file(
    invoke: Invoke, tmp_path: Path, table: pd.DataFrame, name: str
) -> None:
    rng = np.random.default_rng(0)
    mixed = table[FEATURES[:5]].assign(
        town=rng.choice(["Aa", "Bb", "Cc", None], size=300),
        smoker=rng.random(300) > 0.5,
        visits=rng.poisson(3, 300),
    )
    mixed["size"] = pd.Categorical(
        rng.choice([*"sml"], size=300), categories=[*"sml"], ordered=True
    )
    mixed["f0"] = mixed["f0"].mask(rng.random(300) < 0.2)
    source = tmp_path / f"mixed{Path(name).suffix}"
    write_frame(mixed, source)
    assert (
        invoke("sample", source, "--generator", "gaussian", "--out", name, "--quiet").exit_code == 0
    )
    before, after = read_frame(str(source)), read_frame(name)
    assert (before.dtypes == after.dtypes).all()
    for column in ("town", "smoker", "visits", "size"):
        assert set(after[column].dropna()) <= set(before[column].dropna())
    expected, found = before.isna().mean(), after.isna().mean()
    assert (expected > 0).sum() == 2
    assert ((found - expected).abs() <= 4 * np.sqrt(expected * (1 - expected) / len(mixed))).all()


def test_kinds_reach_the_generator(
    refused: Refused, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(
        self: GaussianKnockoffs, X: object, *, kinds: object = None, feature_groups: object = None
    ) -> None:
        raise ValueError(f"stopped with {kinds}")

    monkeypatch.setattr(GaussianKnockoffs, "fit", stopped)
    asked = ("--out", "k.csv", "--kind", "f3=continuous")
    assert "stopped with {'f3': 'continuous'}" in refused("sample", file, *FAST, *asked)
    assert "stopped with None" in refused("sample", file, *FAST, *asked[:2])
    (tmp_path / "model").touch()
    assert "--kind 'f3=continuous': the model" in refused(
        "sample", file, *FAST, *asked, "--generator", "model"
    )


def test_columns_that_are_not_there_are_refused(refused: Refused, file: Path) -> None:
    line = refused("sample", file, *FAST, "--drop", "f21", "--out", "k.csv")
    assert re.search(r"--drop 'f21' is not a column of the table\. Did you mean 'f2'", line)


def test_a_model_of_other_columns_is_refused(
    refused: Refused, file: Path, features: pd.DataFrame, tmp_path: Path
) -> None:
    asked = ("sample", file, "--generator", "model", "--out", "k.csv")
    GaussianKnockoffs().fit(features.iloc[:, ::-1]).save(tmp_path / "model")
    line = refused(*asked, "--drop", "y")
    assert (
        "--generator 'model': the columns are in another order than those that the model was "
        "fitted on" in line
    )
    GaussianKnockoffs().fit(
        features.iloc[:, :12].rename(columns={"f10": "age", "f11": "sex"})
    ).save(tmp_path / "model")
    assert (
        "--generator 'model': the model was fitted on other columns. It has not seen 'f10', "
        "'f11', 'f12', 'f13', "
        "'f14' and 6 more: leave out with --drop what is no feature. The features lack 'age', "
        "'sex': pass a table "
        "that has them. Or fit a new model."
    ) in refused(*asked)


def test_a_bad_model_is_refused(
    refused: Refused, file: Path, features: pd.DataFrame, tmp_path: Path
) -> None:
    GaussianKnockoffs().fit(features).save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(whole[:-100])
    line = refused("sample", file, *FAST, "--generator", "model", "--out", "k.csv")
    assert "'model' is not a complete knockoffs model file" in line
    line = refused("sample", file, *FAST, "--generator", "no.safetensors", "--out", "k.csv")
    assert "--generator 'no.safetensors' is not valid: pass" in line
    assert "or the path of a model file that --save-model wrote." in line


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (
            "missing/k.csv",
            r"'missing/k\.csv' cannot be written: '.*missing' is not a folder\. Make it first",
        ),
        (
            "table.csv/k.csv",
            r"'table\.csv/k\.csv' cannot be written: '.*table\.csv' is not a folder",
        ),
        ("k.xlsx", r"'k\.xlsx': pass a name that ends in \.csv, \.tsv or \.parquet"),
        ("folder", r"'folder'.*folder"),
    ],
    ids=["no folder", "a file as folder", "unknown suffix", "a folder"],
)
def test_an_output_that_cannot_be_is_refused_before_the_work(
    refused: Refused,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    out: str,
    said: str,
) -> None:
    """Also before the model is saved."""
    (tmp_path / "folder").mkdir()

    def worked(*_: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(GaussianKnockoffs, "fit", worked)
    line = refused("sample", file, *FAST, "--out", out, "--save-model", "model")
    assert re.search(said, line), line


def test_wrong_usage_exits_with_2(refused: Refused, file: Path) -> None:
    assert "Missing option '--out'" in refused("sample", file, code=2)
    assert "Missing argument 'FILE'" in refused("sample", "--out", "k.csv", code=2)
    refused("sample", file, "--out", "k.csv", "--target", "y", code=2)


def test_an_interrupt_exits_with_130_and_writes_nothing(
    invoke: Invoke, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(GaussianKnockoffs, "sample", interrupt)
    before = contents(tmp_path)
    result = invoke("sample", file, *FAST, "--out", "k.csv", "--save-model", "model")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted. Files that were not complete yet have not been written.\n"
    assert contents(tmp_path) == before


def test_in_a_pipe(tmp_path: Path, file: Path, features: pd.DataFrame) -> None:
    with start("sample", "-", *FAST, "--out", "-", cwd=tmp_path, stdin=subprocess.PIPE) as process:
        stdout, stderr = process.communicate(file.read_bytes(), timeout=60)
    assert (process.returncode, stderr) == (0, b"")
    pd.testing.assert_frame_equal(
        pd.read_csv(io.BytesIO(stdout)), by_hand(features), check_exact=True
    )


def test_codes_with_leading_zeros_come_back_as_they_are(
    invoke: Invoke, features: pd.DataFrame
) -> None:
    """A model and a check know them also in rows of which none begins with a zero."""
    ward = np.where(np.arange(300) % 3 == 0, "035", np.where(np.arange(300) % 2, "401", "120"))
    table = features.iloc[:, :3].assign(ward=ward)
    table.to_csv("codes.csv", index=False)
    table[ward != "035"].to_csv("others.csv", index=False)
    arguments = ("--generator", "gaussian", "--out", "k.csv", "--save-model", "model")
    assert invoke("sample", "codes.csv", *arguments).exit_code == 0
    assert set(read_frame("k.csv")["ward"]) == {"035", "120", "401"}
    assert invoke("sample", "others.csv", "--generator", "model", "--out", "k.csv").exit_code == 0
    assert set(read_frame("k.csv")["ward"]) == {"035", "120", "401"}
    assert invoke("check", "others.csv", "--knockoffs", "k.csv", "--quiet").exit_code == 0


def test_booleans_with_gaps_and_without_are_of_one_type(
    invoke: Invoke, features: pd.DataFrame
) -> None:
    with_gaps = features.assign(smoker=(features.iloc[:, 0] > 0).astype(object))
    with_gaps.loc[::9, "smoker"] = None
    with_gaps.to_csv("gaps.csv", index=False)
    without = with_gaps.dropna()
    without.to_csv("none.csv", index=False)
    fit = ("--generator", "gaussian", "--save-model", "m.knockoffs", "--out", "k.csv")
    assert invoke("sample", "gaps.csv", *fit).exit_code == 0
    drawn = invoke("sample", "none.csv", "--generator", "m.knockoffs", "--out", "k.csv")
    assert drawn.exit_code == 0, drawn.output
    assert set(read_frame("k.csv")["smoker"].dropna()) == {True, False}
    checked = invoke("check", "none.csv", "--knockoffs", "k.csv", "--quiet")
    assert checked.exit_code == 0, checked.output


def test_padded_quantities_are_numbers_where_the_user_says_so(
    invoke: Invoke, features: pd.DataFrame
) -> None:
    days = np.arange(300) * 7 % 60 + 60
    table = features.iloc[:, :3].assign(days=days)
    table.assign(days=[f"{number:03}" for number in days]).to_csv("padded.csv", index=False)
    asked = ("--kind", "days=continuous", "--quiet")
    fit = ("--generator", "gaussian", *asked, "--save-model", "model")
    result = invoke("sample", "padded.csv", *fit, "--out", "k.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    expected = GaussianKnockoffs(random_state=0).fit(table, kinds={"days": "continuous"})
    pd.testing.assert_frame_equal(
        read_frame("k.csv"), expected.sample(table, random_state=0), check_exact=True
    )
    assert invoke("check", "padded.csv", "--knockoffs", "k.csv", *asked).exit_code == 0
    assert invoke("describe", "padded.csv", *asked[:2]).exit_code == 0
    # numbers in its fit
    result = invoke("sample", "padded.csv", "--generator", "model", "--out", "again.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert Path("again.csv").read_bytes() == Path("k.csv").read_bytes()
