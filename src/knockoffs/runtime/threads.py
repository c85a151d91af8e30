"""How many threads the work on a table takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

FEW_COLUMNS = 300


@contextmanager
def suited_threads(X: Any) -> Iterator[int]:
    """Let each step of the work take one thread where a table has few columns, whatever the number of cores.

    Steps are then so small that more threads gain nothing, and on a machine that is also used by others they wait
    for each other: a selection from 100 columns took 29 s with one thread and with two, but 50 s and more with two
    while another program kept a core busy. Whole parts of the work can be done side by side instead: yields the
    number of threads for these, 1 where the steps take all threads, and where a GPU does the work.
    """
    shape = getattr(X, "shape", ())
    if len(shape) == 2 and shape[1] > FEW_COLUMNS:
        yield 1
        return
    threads = 1 if _has_gpu() else thread_count()
    with one_thread():
        yield threads


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
    """Return how many threads a step of the work takes: by torch or, as long as nobody needs it, by numpy."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.get_num_threads()
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def _has_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available()
