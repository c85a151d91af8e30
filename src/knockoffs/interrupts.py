"""Interrupts (Control-C) while libraries are imported, which takes seconds."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # 128 + SIGINT


@contextmanager
def interrupts_end_the_process() -> Iterator[None]:
    """End the process at once where an interrupt comes.

    During imports nothing has been written, and an exception would get lost in other people's code. Outside the
    main thread, and where interrupts are ignored (as by nohup) or handled by somebody else, nothing changes.
    """
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, _leave_at_once)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave_at_once(*_: object) -> None:
    os._exit(INTERRUPTED)
