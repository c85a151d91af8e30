"""Tasks on several cores: how many is said by those around the work, when it is handed out."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from joblib import parallel_config

from knockoffs.runtime.parallel import in_parallel, worker_count, workers


@pytest.fixture(autouse=True)
def _in_threads() -> Iterator[None]:
    with parallel_config(backend="threading"):
        yield


def here(task: int) -> tuple[int, bool, int]:
    """Return the task, whether this is the caller's thread,
    and how many cores its own tasks would share.
    """
    return task, threading.current_thread() is threading.main_thread(), worker_count()


def tasks() -> Iterator[tuple[int]]:
    return ((k,) for k in range(6))


def test_workers_share_tasks_and_start_none_of_their_own() -> None:
    with workers(2):
        assert worker_count() == 2
        found = list(in_parallel(here, tasks()))
    assert found == [(k, False, 1) for k in range(6)]
    assert worker_count() == 1


def test_the_number_is_that_of_the_call_and_not_of_the_first_result() -> None:
    with workers(2):
        others = in_parallel(here, tasks())
        with workers(1):
            own = in_parallel(here, tasks())
    assert not any(mine for _, mine, _ in others)
    with workers(2):
        assert all(mine for _, mine, _ in own)


def test_no_number_is_what_joblib_is_set_up_for() -> None:
    with workers(2), workers(None):
        assert worker_count() == 1
        with parallel_config(backend="threading", n_jobs=3):
            assert worker_count() == 3


def test_no_cores_are_refused() -> None:
    with pytest.raises(ValueError, match="n_jobs=0 is not valid"):
        workers(0)
