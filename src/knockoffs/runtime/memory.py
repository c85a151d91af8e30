"""How much memory there is, and the refusal of work that needs more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

FLOAT64, FLOAT32 = 8, 4  # bytes
_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def memory_limit() -> int | None:
    """Return the bytes of memory that this process may use, or None where the system does not say.

    This is the machine's physical memory, or the limit of the container (the control group) where
    that is lower. It does not depend on what other programs use at the moment.
    """
    limits = [
        limit
        for limit in (_physical_memory(), *map(_cgroup_limit, _CGROUP_LIMITS))
        if limit is not None
    ]
    return min(limits, default=None)


class NotEnoughMemoryError(MemoryError, ValueError):
    """The work needs more memory than the machine has; the message says how much,
    and the remedy.
    """


def require_memory(
    who: str, rows: int, columns: int, bytes_of: Callable[[int, int], float]
) -> None:
    """Raise a NotEnoughMemoryError before a fit that cannot succeed.

    `bytes_of` estimates how many bytes the fit needs for a number of rows and a number of columns.
    """
    limit, needed = memory_limit(), bytes_of(rows, columns)
    if limit is None or needed <= limit:
        return
    most = _most_columns(limit, columns, lambda fewer: bytes_of(rows, fewer))
    raise NotEnoughMemoryError(
        f"{who}: a fit to {columns:,} columns needs about {_readable(needed)} of memory, and this "
        f"machine (or its "
        f"container) has {_readable(limit)}. Select fewer columns before the fit (about {most:,} "
        f"would fit), or "
        "use a machine with more memory."
    )


def _most_columns(limit: int, columns: int, bytes_of: Callable[[int], float]) -> int:
    """Return the largest number of columns that fits, rounded down to two digits, by bisection."""
    fits, too_many = 1, columns
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if bytes_of(middle) <= limit else (fits, middle)
    unit = 10 ** max(len(str(fits)) - 2, 0)
    return fits // unit * unit


def _physical_memory() -> int | None:
    if not {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= getattr(os, "sysconf_names", {}).keys():
        return None  # Windows
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_limit(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or the word "max"
        return None


def _readable(count: float) -> str:
    for unit, size in (("TiB", 2**40), ("GiB", 2**30)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count / 2**20:,.0f} MiB"
