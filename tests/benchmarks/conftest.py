"""Results of the small experiment `smoke`, made in one go, that other ways to make them must equal.

The commands of the experiments are run as those of `knockoffs` are in `tests/cli`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks.experiments.catalogue import EXPERIMENTS
from benchmarks.experiments.commands import main
from benchmarks.experiments.runner import run_experiment
from benchmarks.experiments.store import Store
from knockoffs.runtime import progress
from tests.cli.conftest import Invoke, exact_numbers, file, refused, table

__all__ = ["exact_numbers", "file", "refused", "table"]  # fixtures

SMOKE = EXPERIMENTS["smoke"]
REPLICATES = 20


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs `python -m benchmarks …` in this process;
    an error that is not put in plain words fails the test.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "FIRST_LINE", float("inf"))  # however slow the machine is

    def run(*arguments: object, stdin: bytes | None = None) -> Result:
        words = [str(argument) for argument in arguments]
        result = CliRunner().invoke(main, words, input=stdin, prog_name="python -m benchmarks")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Forty runs, one after the other in this process; not to be written to."""
    store = Store(tmp_path_factory.mktemp("whole"))
    assert run_experiment(SMOKE, store, replicates=REPLICATES) == 2 * REPLICATES
    return store


def tables(store: Store) -> dict[str, bytes]:
    """What the store's Parquet files hold, by their place in it."""
    paths = store.folder.rglob("*.parquet")
    return {path.relative_to(store.folder).as_posix(): path.read_bytes() for path in paths}


def some(store: Store, *, replicates: int) -> dict[str, bytes]:
    """Those of the first replicates."""
    return {
        name: content
        for name, content in tables(store).items()
        if int(Path(name).stem) < replicates
    }


def identity(store: Store) -> dict[str, tuple[int, int]]:
    """Which file each is and when it was written: both change where a run is made again."""
    paths = store.folder.rglob("*.parquet")
    return {
        path.relative_to(store.folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in paths
    }
