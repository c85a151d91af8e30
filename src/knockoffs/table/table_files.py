"""What a file must be to hold a table that can be read, and the error where it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from knockoffs.runtime.memory import FLOAT64, memory_limit
from knockoffs.schema.words import listing


class TableFileError(ValueError):
    """A file that holds no usable table; the message says why and what to do."""


def require_memory_for(rows: int, columns: int, name: str) -> None:
    """Refuse a table that this machine cannot hold: a few bytes of Parquet stand for any number of equal cells."""
    limit, needed = memory_limit(), FLOAT64 * rows * columns
    if limit is not None and needed > limit:
        raise TableFileError(
            f"{name} has {rows:,} rows and {columns:,} columns, which need {megabytes(needed)} as numbers; this "
            f"machine has {megabytes(limit)} of memory. Pass fewer rows or columns, or use a larger machine."
        )


def require_different(names: Sequence[str], name: str) -> None:
    """Refuse columns that have the same name."""
    twice = sorted(repr(cell) for cell, count in Counter(names).items() if count > 1)
    if twice:
        raise TableFileError(
            f"{name} has several columns named {listing(twice)}. Give each its own name, in the first line."
        )


def megabytes(size: int) -> str:
    """Return a number of bytes as text, in megabytes."""
    return f"{size / 1e6:,.1f} MB"


def reason(error: BaseException) -> str:
    """Return the first line of what an error of another library says."""
    return (str(error).splitlines() or [""])[0] or type(error).__name__
