"""The command line as a process: `python -m knockoffs`, or the script `knockoffs`.

Only the standard library is imported before signals and streams are in order.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def run() -> None:
    """Import the command line and carry out its arguments;
    end in an orderly way when a signal comes.
    """
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        # a terminal that lacks a character shows its code instead of an error
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    from knockoffs.cli import main

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave_in_order)
    main(prog_name="knockoffs")


def open_missing_streams() -> None:
    """Open the null device in place of standard streams that the caller has closed.

    Otherwise the next file that is opened gets the number of a closed stream, and text meant for
    that stream ends up in the file. `sys.stdin` and `sys.stdout` stay None, so that commands can
    refuse what needs them.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # takes the lowest free number
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
    if sys.stderr is None:  # nobody reads the messages; the exit code remains
        # for as long as the process lives
        sys.stderr = open(2, "w", closefd=False, encoding="utf-8")  # noqa: SIM115


def _leave_in_order(number: int, _: FrameType | None) -> None:
    """Raise SystemExit, on whose way unfinished files are removed;
    a second signal ends the process at once.
    """
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    run()
