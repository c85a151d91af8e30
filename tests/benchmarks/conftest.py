"""Results of the small experiment `smoke`, made in one go, that other ways to make them must equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from knockoffs.benchmarks.catalogue import EXPERIMENTS
from knockoffs.benchmarks.runner import run_experiment
from knockoffs.benchmarks.store import Store

SMOKE = EXPERIMENTS["smoke"]
REPLICATES = 20


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
    return {name: content for name, content in tables(store).items() if int(Path(name).stem) < replicates}


def identity(store: Store) -> dict[str, tuple[int, int]]:
    """Which file each is and when it was written: both change where a run is made again."""
    paths = store.folder.rglob("*.parquet")
    return {
        path.relative_to(store.folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths
    }
