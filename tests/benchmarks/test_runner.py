"""Runs are made once, in any order, by any number of workers,
and survive whatever ends the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from threadpoolctl import threadpool_limits

from benchmarks.experiments import runner
from benchmarks.experiments.catalogue import EXPERIMENTS, METHODS
from benchmarks.experiments.experiment import Experiment, Run, Study, Target, Variant
from benchmarks.experiments.runner import RunFailedError, execute, run_experiment
from benchmarks.experiments.store import Store
from knockoffs import GaussianKnockoffs, LassoStatistic
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.datasets.real import HOW_TO_GET, VARIABLE, DataNotFoundError
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.progress import heard_by
from knockoffs.statistics import models

from .conftest import REPLICATES, SMOKE, identity, some, tables

KILLS = 6
LARGE = replace(EXPERIMENTS["gaussian"], statistics=("lasso",))


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks", "run", "smoke", "--quiet"]
    command += ["--reps", str(REPLICATES), "--out", str(folder)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"} | {
        "OMP_NUM_THREADS": "1"
    }
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def require_part_of(store: Store, whole: Store) -> None:
    """Every table that is visible is whole, and the one that an uninterrupted process writes."""
    expected = tables(whole)
    for name, content in tables(store).items():
        assert content == expected[name], name


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_killed_again_and_again_and_resumed_the_results_are_the_same(
    whole: Store, tmp_path: Path
) -> None:
    """Each process is killed up to two runs after its first new table.

    One that ends before (this process had to wait for a core) is no kill: its results are compared,
    and another folder is begun.
    """
    rng = np.random.default_rng(0)
    kills, folders = 0, 0
    store = Store(tmp_path / "0")
    while kills < KILLS:
        before = identity(store)
        with start(store.folder) as process:
            try:
                while process.poll() is None and len(identity(store)) == len(before):
                    time.sleep(0.002)
                require_part_of(store, whole)
                time.sleep(rng.uniform(0, 0.12))
            finally:
                process.kill()
            said = process.communicate()[0]
        kept = identity(store)
        assert {name: kept.get(name) for name in before} == before  # what is done is not made again
        require_part_of(store, whole)
        if process.returncode == -signal.SIGKILL:
            kills += 1
            continue
        assert (process.returncode, said) == (0, b"")
        assert tables(store) == tables(whole)
        folders += 1
        store = Store(tmp_path / str(folders))
    before = identity(store)
    with start(store.folder) as process:
        said = process.communicate(timeout=120)[0]
    assert (process.returncode, said) == (0, b"")
    assert {name: identity(store)[name] for name in before} == before
    assert tables(store) == tables(whole)
    pd.testing.assert_frame_equal(store.read(SMOKE), whole.read(SMOKE), check_exact=True)
    assert (
        store.read(SMOKE)["w"].to_numpy().tobytes() == whole.read(SMOKE)["w"].to_numpy().tobytes()
    )


def test_control_c_keeps_what_is_done_and_says_so(whole: Store, tmp_path: Path) -> None:
    store = Store(tmp_path)
    with start(tmp_path) as process:
        while process.poll() is None and not tables(store):
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0].decode()
    if process.returncode != 0:  # 0: it was done before the signal came
        assert process.returncode == 130
        assert said == "Interrupted. Files that were not complete yet have not been written.\n"
    assert tables(store)
    require_part_of(store, whole)
    assert not list(tmp_path.rglob("*.part"))


def test_two_workers_give_the_same_tables(whole: Store, tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert run_experiment(SMOKE, store, replicates=2, n_jobs=2) == 4
    assert tables(store) == some(whole, replicates=2)


def test_a_run_is_the_same_alone_and_in_any_order(whole: Store) -> None:
    for run in reversed(list(SMOKE.runs(replicates=2))):
        again = execute(run).table
        pd.testing.assert_frame_equal(
            again, pd.read_parquet(whole.path(run)), check_dtype=False, check_exact=True
        )


def test_a_second_time_nothing_is_made(whole: Store) -> None:
    before = identity(whole)
    calls: list[Any] = []
    with heard_by(lambda *args: calls.append(args)):
        assert run_experiment(SMOKE, whole, replicates=REPLICATES) == 0
    assert identity(whole) == before
    assert calls == []


def test_only_what_lacks_is_made(whole: Store, tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert run_experiment(SMOKE, store, replicates=1, methods=["oracle"]) == 1
    before = identity(store)
    assert run_experiment(SMOKE, store, replicates=2) == 3
    assert {name: identity(store)[name] for name in before} == before
    assert tables(store) == some(whole, replicates=2)


def test_a_method_named_twice_runs_once(tmp_path: Path) -> None:
    assert run_experiment(SMOKE, Store(tmp_path), replicates=1, methods=["oracle", "oracle"]) == 1


def test_progress_counts_the_runs_that_are_left(tmp_path: Path) -> None:
    store, calls = Store(tmp_path), []
    run_experiment(SMOKE, store, replicates=1)
    with heard_by(lambda *args: calls.append(args)):
        run_experiment(SMOKE, store, replicates=3)
    assert calls == [("smoke", done, 4, None) for done in (0, 1, 2, 3, 4)]


def test_nothing_global_is_changed(tmp_path: Path) -> None:
    threads, torch_state, filters = (
        torch.get_num_threads(),
        torch.get_rng_state(),
        list(warnings.filters),
    )
    numpy_state = np.random.get_state()[1]  # noqa: NPY002
    run_experiment(SMOKE, Store(tmp_path), replicates=1)
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert warnings.filters == filters


def test_hazards_of_small_data_are_no_news_in_a_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    class Warns(GaussianKnockoffs):
        def fit(self, X: pd.DataFrame) -> Any:
            caution("few rows")
            return super().fit(X)

    monkeypatch.setitem(METHODS, "gaussian", lambda seed: Warns(random_state=seed))
    assert len(execute(SMOKE_RUN).table) == 30


SMOKE_RUN = Run("smoke", "small", "gaussian", 0)


def test_w_is_the_statistic_of_the_method_s_knockoffs() -> None:
    """A run by hand."""
    study = SMOKE.variants[0].make(SMOKE.data_seed(SMOKE_RUN), None)
    X_tilde = GaussianKnockoffs(random_state=SMOKE_RUN.seed).fit(study.X).sample(study.X)
    (target,) = study.responses.values()
    w = LassoStatistic(random_state=SMOKE.data_seed(SMOKE_RUN)).compute(study.X, X_tilde, target.y)
    table = execute(SMOKE_RUN).table
    np.testing.assert_array_equal(table["w"], w)
    np.testing.assert_array_equal(table["relevant"], target.relevant)
    assert table["feature"].tolist() == table["unit"].tolist() == list(study.X.columns)
    exact = execute(SMOKE_RUN._replace(method="oracle"))
    seed = SMOKE_RUN._replace(method="oracle").seed
    law = AutoregressiveGaussian(features=30)
    X_tilde = pd.DataFrame(law.knockoffs(study.X.to_numpy(), seed), columns=study.X.columns)
    by_hand = LassoStatistic(random_state=SMOKE.data_seed(SMOKE_RUN)).compute(
        study.X, X_tilde, target.y
    )
    np.testing.assert_array_equal(exact.table["w"], by_hand)


# failures


class Breaks(GaussianKnockoffs):
    """On some tables only: those of odd seeds."""

    def fit(self, X: pd.DataFrame) -> Any:
        if self.random_state % 2:
            raise ArithmeticError("the sky fell\non two lines")
        return super().fit(X)


def test_a_failing_run_leaves_the_others(
    whole: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, calls = Store(tmp_path), []
    odd = [run for run in SMOKE.runs(replicates=6) if run.method == "gaussian" and run.seed % 2]
    assert 0 < len(odd) < 6
    with monkeypatch.context() as patch:
        patch.setitem(METHODS, "gaussian", lambda seed: Breaks(random_state=seed))
        with pytest.raises(RunFailedError) as said, heard_by(lambda *args: calls.append(args)):
            run_experiment(SMOKE, store, replicates=6)
    message = str(said.value)
    assert message.startswith(
        f"{len(odd)} of 12 runs failed, the first {odd[0]}: ArithmeticError: the sky fell"
    )
    assert "Run again" in message
    assert "what is done is kept" in message
    assert len(calls) == 13  # the beginning, and the end of each
    assert {str(run) for run in SMOKE.runs(replicates=6) if not store.has(run)} == set(
        map(str, odd)
    )
    before = identity(store)
    assert run_experiment(SMOKE, store, replicates=6) == len(odd)
    assert {name: identity(store)[name] for name in before} == before
    assert tables(store) == some(whole, replicates=6)


def test_an_interrupt_in_a_run_stops_and_keeps_what_is_done(
    whole: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(GaussianKnockoffs):
        def fit(self, X: pd.DataFrame) -> Any:
            raise KeyboardInterrupt

    store, stop = Store(tmp_path), SMOKE_RUN._replace(replicate=2).seed
    kind = {True: Interrupted, False: GaussianKnockoffs}
    with monkeypatch.context() as patch:
        patch.setitem(METHODS, "gaussian", lambda seed: kind[seed == stop](random_state=seed))
        with pytest.raises(KeyboardInterrupt):
            run_experiment(SMOKE, store, replicates=4)
    assert tables(store) == some(whole, replicates=2)
    run_experiment(SMOKE, store, replicates=4)
    assert tables(store) == some(whole, replicates=4)


@pytest.mark.parametrize(
    ("name", "folder"), [("gene", "gdsc_expression"), ("clinical", "physionet2012"), ("hiv", "hiv")]
)
def test_missing_data_say_how_to_get_them(
    name: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    for data in (None, str(tmp_path)):
        with pytest.raises(DataNotFoundError) as said:  # before the first run, not by each
            run_experiment(EXPERIMENTS[name], Store(tmp_path / "out"), replicates=1, data=data)
        assert HOW_TO_GET[folder] in str(said.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_results_that_cannot_be_written_are_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run may take minutes: nobody wants to hear afterwards that the folder is a file."""
    begun = []
    monkeypatch.setattr(runner, "_attempt", lambda run, *_: (run, begun.append(run)))
    (tmp_path / "file").write_text("mine")
    with contextlib.suppress(RunFailedError), pytest.raises(OSError, match="file"):
        run_experiment(SMOKE, Store(tmp_path / "file"), replicates=1)
    assert begun == []


def test_a_missing_package_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its statistic comes last in a run, after an hour of fitting."""
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"knockoffs\[lightgbm\]"):
        run_experiment(
            replace(SMOKE, statistics=("lasso", "lightgbm")), Store(tmp_path), replicates=1
        )
    assert list(tmp_path.iterdir()) == []


def test_the_number_of_threads_leaves_the_bits_alone() -> None:
    """Sums over 2,000 rows are split among threads; 200 would be too few for that."""
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(execute(Run("gaussian", "rho-0.6", "oracle", 0), None, LARGE).table)
    pd.testing.assert_frame_equal(*found, check_exact=True)


def test_the_device_is_handed_on_and_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Device(GaussianKnockoffs):
        def __init__(self, *, device: str = "auto", random_state: Any = None) -> None:
            super().__init__(random_state=random_state)
            self.device = device

        def fit(self, X: Any, y: Any = None) -> Any:
            asked.append(self.device)
            return super().fit(X, y)

    monkeypatch.setitem(METHODS, "gaussian", lambda seed: Device(random_state=seed))
    for device in ("cpu", "cuda:7"):
        store = Store(tmp_path / device.replace(":", "-"))
        run_experiment(SMOKE, store, replicates=1, methods=["gaussian"], device=device)
        (beside,) = store.folder.rglob("*.json")
        assert json.loads(beside.read_text())["device"] == asked[-1] == device


@pytest.mark.parametrize("name", ["000.parquet", "000.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"PAR1"])
def test_a_damaged_result_is_named_with_its_remedy(
    whole: Store, tmp_path: Path, name: str, content: bytes
) -> None:
    store = Store(tmp_path)
    run_experiment(SMOKE, store, replicates=1, methods=["oracle"])
    (damaged,) = tmp_path.rglob(name)
    damaged.write_bytes(content)
    with pytest.raises(
        ValueError, match=rf"{name}' is damaged .* Remove 000.json and 000.parquet there"
    ):
        store.seconds(SMOKE) if name.endswith("json") else store.read(SMOKE)
    for path in list(tmp_path.rglob("000.*")):
        path.unlink()
    assert run_experiment(SMOKE, store, replicates=1, methods=["oracle"]) == 1
    assert tables(store) == {k: v for k, v in some(whole, replicates=1).items() if "oracle" in k}


@pytest.mark.parametrize("kept", [0, 4, 0.5, -1])
def test_a_table_that_was_cut_off_is_made_again(whole: Store, tmp_path: Path, kept: float) -> None:
    """As a copy from another disk may be."""
    store = Store(tmp_path)
    run_experiment(SMOKE, store, replicates=2, methods=["oracle"])
    path = store.path(SMOKE_RUN._replace(method="oracle", replicate=1))
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if kept == 0.5 else int(kept)])
    assert run_experiment(SMOKE, store, replicates=2, methods=["oracle"]) == 1
    assert tables(store) == {k: v for k, v in some(whole, replicates=2).items() if "oracle" in k}


# experiments of one's own


def tiny(seed: int, data: str | None) -> Study:
    law = AutoregressiveGaussian(features=6)
    x = law.sample(60, seed)
    X = pd.DataFrame(x, columns=[f"g{j}" for j in range(6)])
    return Study(X, {"first": Target(x[:, 0], np.arange(6) == 0)}, unit=list("aabbcc"))


def test_an_experiment_that_is_not_in_the_catalogue_runs(tmp_path: Path) -> None:
    """It is an argument, so it is what runs."""
    own = Experiment("own", "", (Variant("tiny", tiny),), ("gaussian",), ("lasso",), replicates=1)
    store = Store(tmp_path)
    assert run_experiment(own, store) == 1
    assert store.read(own)["unit"].tolist() == list("aabbcc")


def test_a_changed_experiment_runs_as_it_was_changed(tmp_path: Path) -> None:
    """And not as the catalogue has it under the same name."""
    changed = replace(SMOKE, statistics=("importance",))
    run_experiment(changed, Store(tmp_path), methods=["oracle"], replicates=1)
    assert set(Store(tmp_path).read(changed)["statistic"]) == {"importance"}
