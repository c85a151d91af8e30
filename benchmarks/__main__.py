"""`python -m benchmarks`: the experiments of the paper and their results."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from benchmarks.experiments.commands import main


def _leave_in_order(number: int, _: FrameType | None) -> None:
    """End by SystemExit, on whose way unfinished files are removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _leave_in_order)
    main(prog_name="python -m benchmarks")
