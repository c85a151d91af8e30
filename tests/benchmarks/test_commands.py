"""`python -m benchmarks`: experiments by name, run, resumed and shown."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from benchmarks.experiments.catalogue import EXPERIMENTS, METHODS
from benchmarks.experiments.commands import main
from benchmarks.experiments.experiment import Run
from benchmarks.experiments.runner import draw_knockoffs, execute, first_study, run_experiment
from benchmarks.experiments.store import Result, Store
from benchmarks.experiments.summary import means
from knockoffs import GaussianKnockoffs, LassoStatistic
from knockoffs.datasets.real import HOW_TO_GET, VARIABLE
from knockoffs.runtime import progress
from tests.cli.conftest import Invoke, contents
from tests.cli.test_help import SLOW

Refused = Callable[..., str]
SMOKE = EXPERIMENTS["smoke"]
LEVELS = SMOKE.levels


@pytest.fixture(scope="module")
def made() -> dict[Run, Result]:
    return {run: execute(run) for run in SMOKE.runs(replicates=3)}


@pytest.fixture
def results(tmp_path: Path, made: dict[Run, Result]) -> Store:
    """Three replicates, in the folder that is looked into by default."""
    store = Store(tmp_path / "results")
    for run, result in made.items():
        store.write(run, result)
    return store


def words(text: str) -> str:
    """Without the lines of tables, and lines as they were before they were broken."""
    return " ".join(re.sub(r"[│┃━┏┓┗┛┡┩╇╞]", " ", text).split())


def write(
    experiment: str, variant: str, method: str, table: pd.DataFrame, replicates: int = 2
) -> None:
    for replicate in range(replicates):
        Store("results").write(
            Run(experiment, variant, method, replicate), Result(table, {"knockoffs": 1.0})
        )


def table(response: str, relevant: Any, names: list[str], w: list[float]) -> pd.DataFrame:
    named = {"response": response, "statistic": "lasso", "feature": names, "unit": names, "w": w}
    return pd.DataFrame(named | {"relevant": pd.array(relevant, dtype="boolean")})


# list


def test_every_experiment_is_listed_with_its_runs(invoke: Invoke) -> None:
    result = invoke("list")
    assert (result.exit_code, result.stderr) == (0, "")
    said = words(result.stdout)
    for name, experiment in EXPERIMENTS.items():
        assert name in said
        assert str(len(list(experiment.runs()))) in said
    for name in ("gaussian", "mixture", "lambda", "gene", "clinical", "hiv", "copula"):
        assert name in EXPERIMENTS


def test_other_replicates_have_other_data(invoke: Invoke) -> None:
    for first in ("0", "7"):
        assert invoke("run", "smoke", "--reps", "1", "--first-rep", first, "--quiet").exit_code == 0
    tables = [next(Path("results/smoke").rglob(f"{number}.parquet")) for number in ("000", "007")]
    first, other = map(pd.read_parquet, tables)
    assert (first["w"] != other["w"]).any()
    assert len(list(Path("results/smoke").rglob("*.parquet"))) == 2 * len(
        EXPERIMENTS["smoke"].methods
    )


def test_every_option_is_known_to_these_tests() -> None:
    options = {
        name: {o for p in command.params for o in p.opts} for name, command in main.commands.items()
    }
    assert options == {
        "list": set(),
        "keep": {"--out"},
        "page": set(),
        "draw": {"name", "figure", "--column", "--methods", "--variant", "--data"},
        "run": {
            "name",
            "--methods",
            "--reps",
            "--first-rep",
            "--n-jobs",
            "--scheduler",
            "--device",
            "--out",
            "--data",
            "--quiet",
        },
        "results": {"name", "--out", "--table", "--figure", "--variant", "--response"},
    }


# draw


@pytest.mark.parametrize("columns", [(), ("--column", "x3"), ("--column", "x3", "--column", "x0")])
def test_knockoffs_are_drawn_beside_the_data(invoke: Invoke, columns: tuple[str, ...]) -> None:
    result = invoke("draw", "smoke", "f.png", *columns)
    assert (result.exit_code, result.output) == (0, "")
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_drawn_are_the_knockoffs_of_the_first_run(made: dict[Run, Result]) -> None:
    study = first_study(SMOKE, "small", None)
    drawn = draw_knockoffs(SMOKE, "small", study, ["gaussian"])["gaussian"]
    w = LassoStatistic(random_state=SMOKE.data_seed(Run("smoke", "small", "gaussian", 0))).compute(
        study.X, drawn, study.responses["100/√N"].y
    )
    np.testing.assert_array_equal(w, made[Run("smoke", "small", "gaussian", 0)].table["w"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--column", "x99"], "'x99'"),
        (["--column", "x0", "--column", "x1", "--column", "x2"], "3 times"),
        (["--variant", "large"], "'large'"),
        (["--methods", "magic"], "'magic'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(refused: Refused, options: list[str], said: str) -> None:
    assert said in refused("draw", "smoke", "f.png", *options)
    assert not Path("f.png").exists()


def test_data_of_another_hash_are_told(invoke: Invoke, tmp_path: Path) -> None:
    """A set that only looks like the published one: results will differ, and a warning says so."""
    folder = tmp_path / "data" / "gdsc_expression"
    folder.mkdir(parents=True)
    values = np.random.default_rng(0).integers(-999, 999, size=(60, 120)).astype(np.int16)
    names = np.array([f"g{j}" for j in range(120)])
    np.savez(folder / "expression.npz", x_int16=values, cell_line=names[:60], gene=names)
    result = invoke("draw", "gene", "f.png", "--methods", "gaussian", "--data", tmp_path / "data")
    assert result.exit_code == 0, result.output
    assert "SHA-256" in result.stderr
    assert "Results will differ" in result.stderr


# run


def test_run_makes_what_lacks_and_shows_all(invoke: Invoke, made: dict[Run, Result]) -> None:
    result = invoke("run", "smoke", "--reps", 2, "--methods", "gaussian")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2 runs made" in result.stdout
    assert str(Path("results", "smoke")) in result.stdout
    result = invoke("run", "smoke", "--reps", 2, "--methods", " oracle , gaussian")
    assert "2 runs made" in result.stdout
    assert SMOKE.title in words(result.stdout)
    for run in SMOKE.runs(replicates=2):
        pd.testing.assert_series_equal(
            pd.read_parquet(Store("results").path(run))["w"], made[run].table["w"]
        )
    assert "0 runs made" in invoke("run", "smoke", "--reps", 2).stdout


def test_quiet_says_nothing(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("run", "smoke", "--reps", 1, "--out", "a/b", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert len(list((tmp_path / "a" / "b").rglob("*.parquet"))) == 2


def test_methods_that_the_experiment_does_not_list_are_shown(invoke: Invoke) -> None:
    result = invoke("run", "smoke", "--reps", 1, "--methods", "gaussian-mixture")
    assert result.exit_code == 0, result.output
    assert "gaussian-mixture" in words(result.stdout)


def test_a_failing_run_is_named_and_the_others_are_kept(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(GaussianKnockoffs):
        def fit(self, X: pd.DataFrame) -> Any:
            raise RuntimeError("the sky\nfell")

    with monkeypatch.context() as patch:
        patch.setitem(METHODS, "gaussian", lambda seed: Broken(random_state=seed))
        result = invoke("run", "smoke", "--reps", 2)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(
        "Error: 2 of 4 runs failed, the first smoke/small/gaussian/000: RuntimeError: the sky fell"
    )
    assert "Run again" in line
    kept = contents(tmp_path)
    assert len([path for path in kept if path.suffix == ".parquet"]) == 2
    result = invoke("run", "smoke", "--reps", 2)
    assert result.exit_code == 0
    assert "2 runs made" in result.stdout
    assert {path: contents(tmp_path)[path] for path in kept} == kept


def test_an_interrupt_exits_with_130(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(GaussianKnockoffs, "fit", interrupt)
    result = invoke("run", "smoke", "--methods", "oracle,gaussian", "--reps", 1)
    assert result.exit_code == 130
    assert result.stdout == ""
    assert Store("results").read(SMOKE)["method"].unique().tolist() == ["oracle"]


@pytest.mark.parametrize(
    ("name", "folder"), [("gene", "gdsc_expression"), ("clinical", "physionet2012"), ("hiv", "hiv")]
)
def test_missing_data_say_how_to_get_them(
    refused: Refused, name: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    line = refused("run", name, "--reps", 1)
    assert HOW_TO_GET[folder] in line
    assert VARIABLE in line
    assert "--data" in line  # as it is called here
    monkeypatch.setenv(VARIABLE, "elsewhere")
    assert "elsewhere" in refused("run", name, "--reps", 1)
    assert "another" in refused("run", name, "--reps", 1, "--data", "another")


def test_the_time_left_is_known_for_long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes pass between two reports of a benchmark, and the first comes after the first run."""
    now, shown = 0.0, []

    class Shown(progress.Progress):
        def __init__(self, *columns: Any, **settings: Any) -> None:
            super().__init__(*columns, **settings)
            shown.append(self)

    terminal = {"file": io.StringIO(), "force_terminal": True, "get_time": lambda: now}
    monkeypatch.setattr(progress, "Console", lambda **_: Console(**terminal))
    monkeypatch.setattr(progress, "Progress", Shown)
    with progress.progress_bars(True):
        for done in range(1, 5):
            now += 120.0
            progress.report_stage("gene", done, 10)
        (task,) = shown[0].tasks
        assert task.time_remaining == pytest.approx(6 * 120, rel=0.1)


# results


def test_what_is_shown_are_the_means(invoke: Invoke, results: Store) -> None:
    result = invoke("results", "smoke")
    assert (result.exit_code, result.stderr) == (0, "")
    said = words(result.stdout)
    assert SMOKE.title in said
    assert "small, 100/√N" in said
    frame = means(results.read(SMOKE), LEVELS)
    for row in frame.to_dict(orient="records"):
        for value in (row["fdp"], row["power"]):
            assert f"{value:.3f}" in said
    assert len(re.findall(r"(?<= )3(?= )", said)) == 2  # replicates of each method


@pytest.mark.parametrize("name", ["means.csv", "means.parquet", "means.tsv.gz"])
def test_the_table_is_written(invoke: Invoke, results: Store, name: str) -> None:
    assert invoke("results", "smoke", "--table", name).exit_code == 0
    read = (
        pd.read_parquet(name)
        if name.endswith("parquet")
        else pd.read_csv(name, sep="\t" if ".tsv" in name else ",")
    )
    expected = means(results.read(SMOKE), LEVELS)
    pd.testing.assert_frame_equal(read, expected, check_dtype=False)
    assert len(read) == 2 * len(LEVELS)


def test_the_figure_is_drawn(invoke: Invoke, results: Store) -> None:
    result = invoke(
        "results", "smoke", "--figure", "f.png", "--variant", "small", "--response", "100/√N"
    )
    assert result.exit_code == 0, result.output
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")
    assert invoke("results", "smoke", "--figure", "f.svg").exit_code == 0
    assert "<svg" in Path("f.svg").read_text(encoding="utf-8")


def test_lambda_is_drawn_as_a_heat_map(invoke: Invoke) -> None:
    names = [f"x{j}" for j in range(10)]
    for method in EXPERIMENTS["lambda"].methods[:2]:
        write(
            "lambda",
            "rho-0.2",
            method,
            table("r", [True] * 3 + [False] * 7, names, [3, 3, 3, 2, *[-1] * 6]),
        )
    result = invoke("results", "lambda", "--figure", "heat.png")
    assert result.exit_code == 0, result.output
    assert Path("heat.png").read_bytes().startswith(b"\x89PNG")


def test_the_heat_map_shows_all_variants(invoke: Invoke) -> None:
    write(
        "lambda",
        "rho-0.2",
        "ddlk-0",
        table("r", [True] * 10, [f"x{j}" for j in range(10)], [1.0] * 10),
    )
    result = invoke("results", "lambda", "--figure", "heat.png", "--variant", "rho-0.2")
    assert result.exit_code == 1
    assert "--variant" in result.stderr
    assert not Path("heat.png").exists()


def test_without_a_truth_there_is_no_figure(invoke: Invoke) -> None:
    write(
        "clinical",
        "stays",
        "gaussian",
        table("death", [None] * 10, [f"x{j}" for j in range(10)], [1.0] * 10),
    )
    result = invoke("results", "clinical", "--figure", "f.png")
    assert result.exit_code == 1
    assert "there are no curves" in result.stderr
    assert not Path("f.png").exists()


def test_a_variant_without_a_figure_is_refused(invoke: Invoke, results: Store) -> None:
    for option in ("--variant", "--response"):
        result = invoke("results", "smoke", option, "small")
        assert result.exit_code == 1
        assert "pass --figure FILE too" in result.stderr


def test_all_numbers_fit_into_eighty_columns(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names, w = [f"x{j}" for j in range(40)], [1.0 + j for j in range(40)]
    for method in EXPERIMENTS["gaussian"].methods:
        write("gaussian", "rho-0.6", method, table("100/√N", [True] * 30 + [False] * 10, names, w))
    result = invoke("results", "gaussian")
    assert max(map(len, result.stdout.splitlines())) <= 80
    # false discoveries at four levels by six methods
    assert result.stdout.count("0.250±0.000") == 4 * 6
    assert result.stdout.count("1.000±0.000") == 4 * 6  # power
    assert "…" not in result.stdout


def test_the_figure_of_another_variant_has_its_own_response(invoke: Invoke) -> None:
    """Each variant of `hiv` is a drug of its own: the first response of all is not one of the
    chosen variant.
    """
    names = [f"P{j}.A" for j in range(10)]
    for variant in ("PI-APV", "NRTI-3TC"):
        drug = variant.split("-")[1]
        write(
            "hiv",
            variant,
            "gaussian",
            table(drug, [True] * 3 + [False] * 7, names, [3, 3, 3, 2, *[-1] * 6]),
        )
    result = invoke("results", "hiv", "--figure", "f.png", "--variant", "NRTI-3TC")
    assert result.exit_code == 0, result.output
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")


def test_a_response_of_another_variant_is_refused(invoke: Invoke) -> None:
    names = [f"P{j}.A" for j in range(10)]
    for variant in ("PI-APV", "NRTI-3TC"):
        write(
            "hiv", variant, "gaussian", table(variant.split("-")[1], [True] * 10, names, [3.0] * 10)
        )
    result = invoke(
        "results", "hiv", "--figure", "f.png", "--variant", "NRTI-3TC", "--response", "APV"
    )
    assert result.exit_code == 1
    assert "'3TC'" in result.stderr


def test_without_a_truth_the_features_are_shown(invoke: Invoke) -> None:
    names = ["GCS", "[red]BUN[/red]", "Age", *(f"x{j}" for j in range(7))]
    w = [9, 8, 7, 6, 5, -1, *[-2] * 4]
    write("clinical", "stays", "gaussian", table("death", [None] * 10, names, w))
    result = invoke("results", "clinical", "--table", "features.csv")
    assert result.exit_code == 0, result.output
    said = words(result.stdout)
    assert "lasso: share of replicates" in said
    assert "gaussian" in said
    assert "[red]BUN[/red] 100%" in said
    assert "x6" not in said  # never selected
    written = Path("features.csv").read_text(encoding="utf-8")
    assert "GCS" in written  # the table of features, since there are no rates


def test_notes_go_with_the_numbers(invoke: Invoke) -> None:
    write("clinical", "stays", "gaussian", table("death", [None] * 3, ["a", "b", "c"], [3, 2, 1]))
    assert "Missing cells stay missing" in words(invoke("results", "clinical").stdout)


# bad input


def test_an_unknown_experiment_is_refused(refused: Refused) -> None:
    for command in ("run", "results"):
        line = refused(command, "smok")
        assert "'smok' is not valid" in line
        assert all(repr(name) in line for name in EXPERIMENTS)


def test_an_unknown_method_is_refused(refused: Refused) -> None:
    line = refused("run", "smoke", "--methods", "gaussian,magic")
    assert "--methods='magic' is not valid" in line
    assert all(repr(name) in line for name in (*METHODS, "oracle"))
    refused("run", "smoke", "--methods", "")


def test_an_oracle_that_does_not_exist_is_refused(refused: Refused) -> None:
    assert "oracle" in refused("run", "gene", "--methods", "oracle")


@pytest.mark.parametrize("count", [0, -1])
def test_bad_counts_are_refused(refused: Refused, count: int) -> None:
    assert f"--reps={count} is not valid" in refused("run", "smoke", "--reps", count)
    assert "Invalid value for '--reps'" in refused("run", "smoke", "--reps", "many", code=2)


def test_no_cores_are_refused(refused: Refused) -> None:
    assert "--n-jobs=0 is not valid: pass" in refused("run", "smoke", "--n-jobs", 0)


def test_cores_here_and_a_cluster_exclude_each_other(refused: Refused) -> None:
    line = refused("run", "smoke", "--n-jobs", 2, "--scheduler", "tcp://127.0.0.1:1")
    assert "--n-jobs" in line
    assert "--scheduler" in line


def test_an_unknown_device_is_refused(refused: Refused) -> None:
    assert "device='tpu' is not valid" in refused("run", "smoke", "--device", "tpu")


def test_showing_without_results_says_how_to_make_some(refused: Refused) -> None:
    line = refused("results", "smoke", "--out", "nowhere", "--table", "t.csv", "--figure", "f.png")
    assert "'nowhere' has no results of smoke" in line
    assert "python -m benchmarks run smoke" in line
    assert "--out nowhere" in line  # so that the next call finds them


def test_a_folder_that_is_a_file_is_refused(refused: Refused, file: Path) -> None:
    for command in ("run", "results"):
        assert "table.csv" in refused(command, "smoke", "--out", file, code=2)


IMPORTED = """
import sys
from benchmarks.experiments.commands import main
try:
    main(prog_name="python -m benchmarks")
finally:
    print("imported:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, "Name every experiment"),
        (["run", "--help"], 0, "--scheduler"),
        (["results", "--help"], 0, "--figure"),
        (["show"], 2, "No such command 'show'"),
    ],
)
def test_nothing_slow_is_imported_for_help(arguments: list[str], code: int, said: str) -> None:
    command = [sys.executable, "-c", IMPORTED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
    imported = set(done.stdout.rpartition("imported: ")[2].split())
    assert {"click", "benchmarks"} <= imported
    assert not imported & SLOW


REFUSED_BEFORE = """
import sys
from benchmarks.experiments.commands import main
try:
    main(["run", "smoke", "--out", sys.argv[1]], prog_name="python -m benchmarks")
except SystemExit as end:
    sys.exit(end.code + 10 * ("torch" in sys.modules or "pandas" in sys.modules))
"""


def test_a_folder_that_cannot_be_made_is_refused_before_the_imports(
    tmp_path: Path, file: Path
) -> None:
    """They take seconds; so do data that are made before the first run."""
    for out in (file / "results", file / "far" / "below"):
        done = subprocess.run(
            [sys.executable, "-c", REFUSED_BEFORE, out], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done.stderr
        assert re.search(rf"{out}' cannot be written: .*table\.csv' is not a folder", done.stderr)


def test_an_unknown_variant_or_response_is_refused(invoke: Invoke, results: Store) -> None:
    for option, known in (("--variant", "'small'"), ("--response", "'100/√N'")):
        result = invoke("results", "smoke", "--figure", "f.png", option, "none")
        assert result.exit_code == 1
        assert f"{option}='none' is not valid: pass one of {known}" in result.stderr
        assert not Path("f.png").exists()


def test_files_that_cannot_be_written_are_refused(refused: Refused, results: Store) -> None:
    for option in ("--table", "--figure"):
        assert "Make it first" in refused("results", "smoke", option, "missing/f.csv")
        assert "results" in refused("results", "smoke", option, "results", code=2)


def test_kinds_of_files_that_are_not_known_are_refused(invoke: Invoke, results: Store) -> None:
    for option, name in (("--table", "means.txt"), ("--figure", "f.nothing")):
        result = invoke("results", "smoke", option, name)
        assert result.exit_code == 1
        assert name.split(".")[1] in result.stderr
        assert not Path(name).exists()


def test_a_library_call_gives_the_same_files(invoke: Invoke, tmp_path: Path) -> None:
    invoke("run", "smoke", "--reps", 1, "--quiet")
    run_experiment(SMOKE, Store(tmp_path / "library"), replicates=1)
    for run in SMOKE.runs(replicates=1):
        assert (
            Store("results").path(run).read_bytes()
            == Store(tmp_path / "library").path(run).read_bytes()
        )
    assert np.isfinite(Store("results").read(SMOKE)["w"]).all()
