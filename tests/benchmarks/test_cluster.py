"""The same runs on a real dask cluster: a scheduler and two worker processes on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import joblib
import pytest
from click.testing import CliRunner

from benchmarks.experiments import runner
from benchmarks.experiments.commands import main
from benchmarks.experiments.experiment import Variant
from benchmarks.experiments.runner import RunFailedError, run_experiment
from benchmarks.experiments.store import Store
from knockoffs.runtime.progress import heard_by

from .conftest import SMOKE, some, tables

distributed = pytest.importorskip("dask.distributed", reason="a scheduler needs knockoffs[cluster]")


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    """Its web page gets any free port: dask warns, which is an error here,
    where another has the usual one.
    """
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        cluster.wait_for_workers(2)
        yield cluster


@pytest.fixture
def scheduler(cluster: distributed.LocalCluster) -> str:
    return cluster.scheduler_address


@pytest.fixture
def not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that are made in this process, and not by the workers, fail."""

    def execute(*_: object) -> None:
        raise AssertionError("made in this process")

    monkeypatch.setattr(runner, "execute", execute)


@pytest.mark.usefixtures("not_here")
def test_a_cluster_gives_the_same_tables(scheduler: str, whole: Store, tmp_path: Path) -> None:
    store, calls = Store(tmp_path), []
    with heard_by(lambda *args: calls.append(args[1:3])):
        made = run_experiment(SMOKE, store, replicates=3, scheduler=scheduler)
    assert made == 6
    assert calls == [(done, 6) for done in range(7)]
    assert tables(store) == some(whole, replicates=3)
    assert run_experiment(SMOKE, store, replicates=3, scheduler=scheduler) == 0


@pytest.mark.usefixtures("not_here")
def test_the_command_line_finds_the_cluster(scheduler: str, whole: Store, tmp_path: Path) -> None:
    arguments = ["run", "smoke", "--reps", "2", "--out", str(tmp_path), "--scheduler", scheduler]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "4 runs made" in result.stdout
    assert result.stderr == ""
    assert tables(Store(tmp_path)) == some(whole, replicates=2)


@pytest.mark.usefixtures("not_here")
def test_the_surrounding_configuration_of_joblib_counts(
    scheduler: str, whole: Store, tmp_path: Path
) -> None:
    with (
        distributed.Client(scheduler, set_as_default=False) as client,
        joblib.parallel_config("dask", client=client),
    ):
        assert run_experiment(SMOKE, Store(tmp_path), replicates=1) == 2
    assert tables(Store(tmp_path)) == some(whole, replicates=1)


def test_errors_on_workers_come_back(scheduler: str, tmp_path: Path) -> None:
    """Workers have their own catalogue, where the method is not known."""
    with pytest.raises(
        RunFailedError,
        match=r"1 of 2 runs failed, the first smoke/small/none/000: KeyError: 'none'",
    ):
        run_experiment(
            SMOKE, Store(tmp_path), replicates=1, methods=["none", "oracle"], scheduler=scheduler
        )
    assert list(tables(Store(tmp_path))) == ["smoke/small/oracle/000.parquet"]


def test_a_worker_that_dies_takes_no_other_run_with_it(
    cluster: distributed.LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    deadly = Variant("deadly", lambda seed, data: os._exit(1))
    experiment = replace(SMOKE, variants=(deadly, *SMOKE.variants))
    with pytest.raises(
        RunFailedError, match=r"1 of 2 runs failed, the first smoke/deadly/gaussian/000: KilledWork"
    ):
        run_experiment(
            experiment,
            Store(tmp_path),
            replicates=1,
            methods=["gaussian"],
            scheduler=cluster.scheduler_address,
        )
    assert list(tables(Store(tmp_path))) == ["smoke/small/gaussian/000.parquet"]
    cluster.wait_for_workers(2)


@pytest.mark.usefixtures("not_here")
def test_one_worker_is_a_cluster_too(
    cluster: distributed.LocalCluster, whole: Store, tmp_path: Path
) -> None:
    """joblib works in this process where a cluster has one thread only;
    the user asked for the cluster.
    """
    cluster.scale(1)
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        while len(client.ncores()) != 1:
            time.sleep(0.05)
    try:
        run_experiment(SMOKE, Store(tmp_path), replicates=1, scheduler=cluster.scheduler_address)
    finally:
        cluster.scale(2)
        cluster.wait_for_workers(2)
    assert tables(Store(tmp_path)) == some(whole, replicates=1)
