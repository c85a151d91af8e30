"""Results on disk: a table is whole or absent, whatever happens while it is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.experiments.experiment import Experiment, Run, Variant
from benchmarks.experiments.store import Result, Store

from .conftest import REPLICATES, SMOKE, tables

RUN = Run("smoke", "small", "gaussian", 0)


def result(seed: int = 0, *, response: str = "100/√N", features: int = 4) -> Result:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "response": response,
            "statistic": "lasso",
            "feature": [f"été {j}" for j in range(features)],
            "unit": [f"été {j}" for j in range(features)],
            "w": rng.normal(size=features),
            "relevant": pd.array([True, False, None, True][:features], dtype="boolean"),
        }
    )
    return Result(table, {"knockoffs": 0.5, f"lasso of {response}": 1.25})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "folder")
    assert not store.has(RUN)
    written = {
        RUN._replace(replicate=r, method=m): result(r)
        for r in (2, 0)
        for m in ("oracle", "gaussian")
    }
    for run, one in written.items():
        store.write(run, one)
    assert all(map(store.has, written))
    read = store.read(SMOKE)
    in_order = [run for run in SMOKE.runs(replicates=3) if run in written]
    parts = [part for _, part in read.groupby(["replicate", "method"], sort=False)]
    for run, part in zip(in_order, parts, strict=True):
        named = part.drop(columns=["variant", "method", "replicate"]).reset_index(drop=True)
        pd.testing.assert_frame_equal(named, written[run].table, check_dtype=False)
        assert set(part["variant"]) == {run.variant}
        assert named["relevant"].isna().tolist() == [False, False, True, False]
        assert named["relevant"].dtype == "boolean"
    spent = store.seconds(SMOKE)
    assert len(spent) == 8
    assert spent.groupby("part")["seconds"].sum().to_dict() == {
        "knockoffs": 2.0,
        "lasso of 100/√N": 5.0,
    }


def test_an_empty_or_missing_folder_has_no_results(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        assert Store(folder).read(SMOKE).empty
        assert Store(folder).seconds(SMOKE).empty
    assert list(tmp_path.iterdir()) == []  # reading makes no folder


def test_the_order_of_writing_does_not_matter(whole: Store, tmp_path: Path) -> None:
    store = Store(tmp_path)
    runs = list(SMOKE.runs(replicates=REPLICATES))
    for k in np.random.default_rng(0).permutation(len(runs)):
        path = store.path(runs[k])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(whole.path(runs[k]).read_bytes())
    pd.testing.assert_frame_equal(store.read(SMOKE), whole.read(SMOKE), check_exact=True)


def test_names_of_any_alphabet(tmp_path: Path) -> None:
    variant = Variant("ρ=0.6 / été", lambda *_: None)
    experiment = Experiment("übung №1", "", (variant,), ("gaussian",), ("lasso",))
    store = Store(tmp_path / "résultats")
    (run,) = experiment.runs(replicates=1)
    store.write(run, result(response="α/√N"))
    assert store.read(experiment)["variant"].tolist() == [variant.name] * 4
    assert store.read(experiment)["response"].tolist() == ["α/√N"] * 4
    assert set(store.seconds(experiment)["part"]) == {"knockoffs", "lasso of α/√N"}


def test_times_are_beside_the_table_and_not_in_it(whole: Store) -> None:
    for run in SMOKE.runs(replicates=2):
        spent = json.loads(whole.path(run).with_suffix(".json").read_text(encoding="utf-8"))[
            "seconds"
        ]
        assert set(spent) == {"knockoffs", "lasso of 100/√N"}
        assert all(seconds > 0 for seconds in spent.values())
    assert not {"seconds", "time"} & set(whole.read(SMOKE).columns)


def test_times_alone_are_no_result(tmp_path: Path) -> None:
    """What a run that was killed between its two files leaves; even where they are torn."""
    store = Store(tmp_path)
    store.write(RUN, result())
    other = RUN._replace(replicate=1)
    store.path(other).with_suffix(".json").write_text('{"knockoffs": 0.', encoding="utf-8")
    assert not store.has(other)
    assert set(store.read(SMOKE)["replicate"]) == {0}
    assert set(store.seconds(SMOKE)["replicate"]) == {0}
    store.write(other, result(1))
    assert set(store.seconds(SMOKE)["replicate"]) == {0, 1}


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    """Someone keeps notes beside the results, and killed runs leave unfinished files."""
    store = Store(tmp_path)
    store.write(RUN, result())
    folder = store.path(RUN).parent
    for name in ("README.md", "notes.parquet", ".001.parquet.x1y2.part"):
        (folder / name).write_bytes(b"mine")
    assert len(store.read(SMOKE)) == 4
    assert len(store.seconds(SMOKE)) == 2
    assert (folder / "notes.parquet").read_bytes() == b"mine"


def test_a_large_number_is_one_run_and_not_all_below_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    written = [
        RUN._replace(replicate=r, method=m)
        for r in (0, 7, 10**12)
        for m in ("oracle", "gaussian", "hmm")
    ]
    for run in written:
        store.write(run, result())
    in_order = [*SMOKE.methods, "hmm"]
    assert store.done(SMOKE) == sorted(
        written, key=lambda run: (run.replicate, in_order.index(run.method))
    )
    for name in ("0007.parquet", "٣٤٥.parquet", "²²².parquet"):  # no names of runs
        (store.path(RUN).parent / name).touch()
    assert len(store.done(SMOKE)) == len(written)


def test_runs_of_different_versions_are_refused_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = Store(tmp_path), RUN._replace(replicate=1)
    store.write(RUN, result())
    with monkeypatch.context() as patch:
        patch.setattr("benchmarks.experiments.store.REVISION", 1)
        store.write(other, result())
    with pytest.raises(
        ValueError, match=r"different versions.*revision \d.*small/gaussian/000.*revision 1.*/001"
    ):
        store.read(SMOKE)
    store.write(other, result())
    assert len(store.read(SMOKE)) == 8


def test_results_of_a_method_that_the_experiment_does_not_list_are_read(tmp_path: Path) -> None:
    """`run smoke --methods hmm` is allowed, so what it makes is shown."""
    store = Store(tmp_path)
    store.write(RUN._replace(method="hmm"), result())
    assert set(store.read(SMOKE).get("method", [])) == {"hmm"}


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
import pandas as pd
from benchmarks.experiments.experiment import Run
from benchmarks.experiments.store import Result, Store

def killed_at(step, call):
    # the process dies as it begins the call-th call of os.<step>
    real, count = getattr(os, step), 0
    def die(*arguments, **keywords):
        nonlocal count
        count += 1
        if count == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **keywords)
    setattr(os, step, die)

for step in ("open", "fdopen", "fsync", "replace"):
    for call in (1, 2):  # of the times, of the table
        child = os.fork()
        if child == 0:
            killed_at(step, call)
            store = Store(Path(sys.argv[1], f"{step}-{call}"))
            table = pd.DataFrame({"statistic": ["lasso"], "w": [1.0]})
            store.write(Run("smoke", "small", "gaussian", 0), Result(table, {"a": 1.0}))
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, step
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_killed_at_any_step_of_writing_there_is_no_table(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    folders = sorted(path.name for path in tmp_path.iterdir())
    assert folders == sorted(
        f"{s}-{k}" for s in ("open", "fdopen", "fsync", "replace") for k in (1, 2)
    )
    for folder in folders:
        store = Store(tmp_path / folder)
        assert not store.has(RUN)
        assert tables(store) == {}
        for path in store.folder.rglob("*.json"):
            json.loads(path.read_text(encoding="utf-8"))  # whole, where it is there
        store.write(RUN, result())
        assert len(store.read(SMOKE)) == 4


def test_an_error_while_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="no space left"):
            store.write(RUN, result())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_several_writers_of_one_run_leave_one_whole_table(tmp_path: Path) -> None:
    """Two commands on one folder make the same run twice; a reader sees one of them, whole."""
    store, errors = Store(tmp_path), []
    several = [result(seed, features=3) for seed in range(4)]

    def write(one: Result) -> None:
        try:
            for _ in range(10):
                store.write(RUN, one)
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(one,)) for one in several]
    for writer in writers:
        writer.start()
    allowed = {tuple(one.table["w"]) for one in several}
    while any(writer.is_alive() for writer in writers):
        if store.has(RUN):
            assert tuple(store.read(SMOKE)["w"]) in allowed
            assert len(store.seconds(SMOKE)) == 2
    for writer in writers:
        writer.join()
    assert errors == []
    assert sorted(path.name for path in store.path(RUN).parent.iterdir()) == [
        "000.json",
        "000.parquet",
    ]
