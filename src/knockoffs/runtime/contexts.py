"""Context variables: what work is told by those around it, and not by its arguments.

They belong to a thread. New threads start without them, as other processes do, unless
`copy_context` is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Value = TypeVar("Value")


@contextmanager
def holding(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Let a context variable hold a value within, and what it held before afterwards."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
