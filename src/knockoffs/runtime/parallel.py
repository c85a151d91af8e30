"""Tasks that do not depend on each other: in this process, on several cores, or on a cluster, by joblib."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from importlib import import_module
from typing import Any, Generic, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from knockoffs.runtime.cautions import caution, collect_cautions
from knockoffs.runtime.checks import check_jobs
from knockoffs.runtime.threads import one_thread, thread_count

Result = TypeVar("Result")


def in_parallel(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    shared: tuple[Any, ...] = (),
    n_jobs: int | None = None,
) -> Iterator[Result]:
    """Yield `function(*shared, *task)` of each task, in their order.

    `joblib.parallel_config` says where: `backend="dask"` is a cluster. The results are the same bits everywhere,
    on one kind of machine: workers take one thread where the caller does, and their cautions are given here. Tasks
    are made one by one where this process does the work, and all beforehand where others do: joblib would make
    them in threads that lack the caller's settings.
    """
    check_jobs("n_jobs", n_jobs)
    if effective_n_jobs(n_jobs) == 1:
        for task in tasks:
            yield function(*shared, *task)
        return
    work = _Work(function, shared)
    results = Parallel(n_jobs, return_as="generator")(delayed(_carry_out)(work, *task) for task in list(tasks))
    for result, cautions in results:
        for message in cautions:
            caution(message)
        yield result


class _Work(Generic[Result]):
    """What all tasks have in common."""

    def __init__(self, function: Callable[..., Result], shared: tuple[Any, ...]) -> None:
        self._function, self._shared, self._threads = function, shared, thread_count()
        self._needs_torch = "torch" in sys.modules

    def __sizeof__(self) -> int:
        """joblib sends dask each large argument but once, and asks for the size of the object itself."""
        return 2**20

    def __call__(self, *task: Any) -> tuple[Result, list[str]]:
        if self._needs_torch:
            import_module("torch")  # whose threads are to be limited, too
        limited = one_thread() if self._threads == 1 != thread_count() else nullcontext()
        with limited, collect_cautions() as cautions, parallel_config(backend="sequential"):
            return self._function(*self._shared, *task), cautions


def _carry_out(work: _Work[Result], *task: Any) -> tuple[Result, list[str]]:
    return work(*task)
