"""Tasks on several cores, on a cluster or in a thread beside, and how many threads each takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from importlib import import_module
from threading import Event
from typing import Any, Generic, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from knockoffs.runtime.cautions import caution, collect_cautions
from knockoffs.runtime.checks import check_jobs
from knockoffs.runtime.contexts import holding
from knockoffs.runtime.progress import current_listener, heard_by

Result = TypeVar("Result")
_jobs: ContextVar[int | None] = ContextVar("jobs", default=None)
_beside: ContextVar[int] = ContextVar("beside", default=1)


def workers(n_jobs: int | None) -> AbstractContextManager[None]:
    """Let `in_parallel` share tasks between so many cores within;
    None for what joblib is set up for.
    """
    check_jobs("n_jobs", n_jobs)
    return holding(_jobs, n_jobs)


def jobs() -> int | None:
    """Return what the surrounding `workers` were given,
    which models of scikit-learn take as their `n_jobs`.
    """
    return _jobs.get()


def worker_count() -> int:
    """Return how many cores share tasks here."""
    return effective_n_jobs(jobs())


def in_parallel(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    shared: tuple[Any, ...] = (),
) -> Iterator[Result]:
    """Yield `function(*shared, *task)` of each task, in their order.

    `workers` says on how many cores, `joblib.parallel_config` where: `backend="dask"` is a cluster.
    The results are the same bits everywhere, on one kind of machine: workers take one thread where
    the caller does, and their cautions are given here. Tasks are made one by one where this process
    does the work, and all beforehand where others do: joblib would make them in threads that lack
    the caller's settings.
    """
    if worker_count() == 1:
        return _by_this_process(function, shared, tasks)
    return _by_workers(_Work(function, shared), list(tasks), jobs())


def _by_this_process(
    function: Callable[..., Result], shared: tuple[Any, ...], tasks: Iterable[tuple[Any, ...]]
) -> Iterator[Result]:
    for task in tasks:
        with heard_by(None):  # as in other processes
            result = function(*shared, *task)
        yield result


def _by_workers(
    work: _Work[Result], tasks: list[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    results = Parallel(n_jobs, return_as="generator")(
        delayed(_carry_out)(work, *task) for task in tasks
    )
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
        """joblib sends dask each large argument but once,
        and asks for the size of the object itself.
        """
        return 2**20

    def __call__(self, *task: Any) -> tuple[Result, list[str]]:
        if self._needs_torch:
            import_module("torch")  # whose threads are to be limited, too
        limited = one_thread() if self._threads == 1 != thread_count() else nullcontext()
        with limited, collect_cautions() as cautions, parallel_config(backend="sequential"):
            return self._function(*self._shared, *task), cautions


def _carry_out(work: _Work[Result], *task: Any) -> tuple[Result, list[str]]:
    return work(*task)


T = TypeVar("T")


class _GivenUpError(Exception):
    """Nobody waits for the result any more."""


@contextmanager
def background(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Begin work in a thread of its own where several may run side by side,
    and yield what waits for its result.

    `suited_threads` and `threads_beside` say how many may. With one thread the work is done when
    its result is asked for: the same bits, later. Cautions of the work are the caller's once it has
    the result, and whoever hears of the caller's stages hears of those of the work. Work whose
    caller leaves the block early ends where it next reports a stage.
    """
    if _beside.get() < 2:
        yield cache(work)
        return
    left, listener = Event(), current_listener()

    def heard(stage: str, done: int, total: int, loss: float | None) -> None:
        if left.is_set():
            raise _GivenUpError
        if listener is not None:
            listener(stage, done, total, loss)

    def carried_out() -> tuple[T, list[str]]:
        with one_thread(), collect_cautions() as cautions, heard_by(heard):
            return work(), cautions

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(copy_context().run, carried_out)

        @cache
        def result() -> T:
            found, cautions = future.result()
            for message in cautions:
                caution(message)
            return found

        try:
            yield result
        finally:
            left.set()


FEW_COLUMNS = 300


@contextmanager
def suited_threads(X: Any) -> Iterator[None]:
    """Let each step of the work take one thread where a table has few columns,
    whatever the number of cores.

    Steps are then so small that more threads gain nothing, and on a machine that is also used by
    others they wait for each other: a selection from 100 columns took 29 s with one thread and with
    two, but 50 s and more with two while another program kept a core busy. Whole parts of the work
    can be done side by side instead, in the `background`, but not where the steps take all threads,
    and not where a GPU does the work.
    """
    shape = getattr(X, "shape", ())
    if len(shape) == 2 and shape[1] > FEW_COLUMNS:
        with threads_beside(1):
            yield
        return
    with threads_beside(1 if _has_gpu() else thread_count()), one_thread():
        yield


def threads_beside(count: int) -> AbstractContextManager[None]:
    """Let so many threads run side by side within, where there is work for the `background`."""
    return holding(_beside, count)


@contextmanager
def one_thread() -> Iterator[None]:
    """Work with one thread, on which the last bits depend.

    That goes for torch where it is loaded already: load what needs it before.
    """
    torch, threads = sys.modules.get("torch"), thread_count()
    if torch is not None:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(threads)


def thread_count() -> int:
    """Return how many threads a step of the work takes: by torch or, as long as nobody needs it,
    by numpy.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.get_num_threads()
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def _has_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available()
