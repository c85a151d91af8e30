"""How many threads the work on a table takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from threadpoolctl import threadpool_limits

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
    threads = 1 if torch.cuda.is_available() else torch.get_num_threads()
    with one_thread():
        yield threads


@contextmanager
def one_thread() -> Iterator[None]:
    """Work with one thread, on which the last bits depend."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)
