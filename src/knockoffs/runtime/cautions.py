"""Warnings about data and settings: shown to the caller, or collected by whoever makes the call."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from knockoffs.runtime.contexts import holding

PACKAGE = __name__.partition(".")[0]


class KnockoffWarning(UserWarning):
    """A warning that something in the data limits what knockoffs can do, with the remedy.

    Examples
    --------
    >>> import warnings
    >>> from knockoffs import KnockoffWarning
    >>> # `selection_.cautions` still holds the messages
    >>> warnings.simplefilter("ignore", KnockoffWarning)
    """


# `warnings.catch_warnings` acts on the whole process, so that fits in parallel threads would
# collect each other's warnings. A context variable belongs to one thread (or task) alone.
_collected: ContextVar[list[str] | None] = ContextVar("collected cautions", default=None)


def caution(message: str) -> None:
    """Warn of a limit of the data or the settings,
    at the line of the caller's code that led here.
    """
    messages = _collected.get()
    if messages is None:
        warnings.warn(message, KnockoffWarning, stacklevel=_level_of_caller())
    else:
        messages.append(message)


@contextmanager
def collect_cautions() -> Iterator[list[str]]:
    """Collect the cautions of this thread in a list instead of showing them."""
    messages: list[str] = []
    with holding(_collected, messages):
        yield messages


def _level_of_caller() -> int:
    """Return the `stacklevel` that makes a warning point at the first frame outside this
    package.
    """
    frame, level = sys._getframe(1), 1
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE
    ):
        frame, level = frame.f_back, level + 1
    return level
