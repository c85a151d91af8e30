"""Work that goes on in a thread of its own while the caller does something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Event
from typing import TypeVar

from knockoffs.runtime.cautions import caution, collect_cautions
from knockoffs.runtime.reports import Report
from knockoffs.runtime.threads import one_thread

T = TypeVar("T")


class _GivenUpError(Exception):
    """Nobody waits for the result any more."""


@contextmanager
def background(
    work: Callable[[Report], T], *, threads: int, report: Report | None = None
) -> Iterator[Callable[[], T]]:
    """Begin work in a thread of its own where there are several, and yield what waits for its result.

    With one thread the work is done when its result is asked for: the same bits, later. Cautions of the work are
    the caller's once it has the result. Work whose caller leaves the block early ends at its next report.

    Parameters
    ----------
    work : callable
        What is to be done. It is given a report, which it calls now and then.
    threads : int
        How many threads may run side by side.
    report : callable, default=None
        Is told how far the work is, from that thread.
    """
    left = Event()

    def told(stage: str, done: int, total: int, loss: float | None) -> None:
        if left.is_set():
            raise _GivenUpError
        if report is not None:
            report(stage, done, total, loss)

    if threads < 2:
        yield cache(lambda: work(told))
        return

    def carried_out() -> tuple[T, list[str]]:
        with one_thread(), collect_cautions() as cautions:
            return work(told), cautions

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
