"""Values of JSON: results as plain ones, and values that are read, checked against their declared types."""

from __future__ import annotations

import math
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

Record = TypeVar("Record")


def plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers of Python, None for those that are not finite, lists for tuples."""
    if isinstance(value, dict):
        return {str(name): plain(own) for name, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(own) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_record(kind: type[Record], value: Any) -> Record:
    """Make a dataclass from a JSON object whose entries have the types of the dataclass's fields.

    Fields without an entry keep their default. Raises a ValueError that names the field otherwise.
    """
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]  # pyrefly: ignore[bad-argument-type]
    if not isinstance(value, dict) or not value.keys() <= set(names):
        raise ValueError(f"{_short(value)} is not an object with the entries {', '.join(names)}")
    try:
        return kind(**{name: as_type(hints[name], entry, name) for name, entry in value.items()})
    except TypeError as error:  # an entry without a default is missing
        raise ValueError(str(error)) from error


def as_type(kind: Any, value: Any, name: str) -> Any:
    """Return the value if it is of this type: bool, int, float, str, None, list[...], a union of them, or Any.

    Whole numbers are accepted as floats; true and false are not accepted as numbers.
    """
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _as_any_of(get_args(kind), value, name)
    if origin is list and isinstance(value, list):
        (entry,) = get_args(kind)
        return [as_type(entry, item, name) for item in value]
    if kind in (NoneType, bool, str) and isinstance(value, kind):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"{name} is {_short(value)}, which is not of type {kind}")


def _as_any_of(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    for kind in kinds:
        try:
            return as_type(kind, value, name)
        except ValueError:
            continue
    raise ValueError(f"{name} is {_short(value)}, which is none of {', '.join(map(str, kinds))}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
