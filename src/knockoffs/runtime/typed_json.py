"""Values of JSON: results as plain ones, and values that are read,
checked against their declared types.

Records are dataclasses, and may hold others. Their arrays are not written as text: the JSON has
names for them.
"""

from __future__ import annotations

import math
from abc import ABCMeta
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array, Flags, Indices

Record = TypeVar("Record")
_HELD_AS = {Array: np.float64, Indices: np.intp, Flags: np.bool_}
_types_of = cache(get_type_hints)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers of Python, None for those that are not finite,
    lists for tuples.
    """
    if isinstance(value, dict):
        return {str(name): plain(own) for name, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(own) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def packed(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a record as JSON has it, by its fields; its arrays are added to `arrays`,
    and their names stay.
    """
    if isinstance(value, np.ndarray):
        name = f"record.{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple):
        return [packed(own, arrays) for own in value]
    if not is_dataclass(value):
        return value
    entries = {field.name: packed(getattr(value, field.name), arrays) for field in fields(value)}
    return {"is": type(value).__name__} | entries


def with_arrays(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return what `packed` wrote with the arrays, which are removed from `arrays`,
    in place of their names.
    """
    if isinstance(value, list):
        return [with_arrays(own, arrays) for own in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array"}:
        return arrays.pop(value["array"])
    return {name: with_arrays(own, arrays) for name, own in value.items()}


def as_record(kind: type[Record], value: Any) -> Record:
    """Make a dataclass from a JSON object whose entries have the types of the dataclass's fields.

    Fields without an entry keep their default. Raises a ValueError that names the field otherwise.
    """
    hints = _types_of(kind)
    names = [field.name for field in fields(kind)]  # pyrefly: ignore[bad-argument-type]
    own = isinstance(value, dict) and value.get("is", kind.__name__) == kind.__name__
    if not own or not value.keys() <= {"is", *names}:
        raise ValueError(f"{_short(value)} is not an object with the entries {', '.join(names)}")
    entries = {name: as_type(hints[name], value[name], name) for name in names if name in value}
    try:
        return kind(**entries)
    except TypeError as error:  # an entry without a default is missing
        raise ValueError(str(error)) from error


def as_type(kind: Any, value: Any, name: str) -> Any:
    """Return the value if it is of this type.

    Types are bool, int, float, str, None, list[...], tuple[..., ...], dataclasses, arrays,
    literals, a union of them, or Any. Whole numbers are accepted as floats; true and false are not
    accepted as numbers.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _as_any_of(parts, value, name)
    if origin in (list, tuple) and isinstance(value, list):
        return origin(as_type(parts[0], item, name) for item in value)
    if kind in _HELD_AS and isinstance(value, np.ndarray):
        return _as_array(kind, value, name)
    if is_dataclass(kind):
        return as_record(kind, value)  # pyrefly: ignore[bad-argument-type]
    if _is_open(kind):
        return _as_any_of(tuple(_records_of(kind).values()), value, name)
    if kind is Any or (origin is Literal and value in parts):
        return value
    if kind in (NoneType, bool, str) and isinstance(value, kind):
        return value
    if kind in (int, float) and isinstance(value, (int, kind)) and not isinstance(value, bool):
        return kind(value)
    raise ValueError(f"{name} is {_short(value)}, which is not of type {kind}")


def _is_open(kind: Any) -> bool:
    """Return whether a type is a base class, which stands for all records that derive from it."""
    return isinstance(kind, ABCMeta)


def _records_of(base: type) -> dict[str, type]:
    """Return the records that derive from a class, by name.

    A later one replaces an earlier one of the same name: a dataclass with slots is made twice.
    """
    found: dict[str, type] = {}
    for kind in base.__subclasses__():
        found |= ({kind.__name__: kind} if is_dataclass(kind) else {}) | _records_of(kind)
    return found


def _as_array(kind: Any, value: NDArray[Any], name: str) -> NDArray[Any]:
    if value.dtype != _HELD_AS[kind] or np.isinf(value).any():
        raise ValueError(f"{name} is an array of {value.dtype}, or has numbers that are not finite")
    return value


def _as_any_of(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    """Return the value by the first type that it is of; a record says which one it is."""
    if isinstance(value, dict):
        kinds = tuple(
            kind for kind in kinds if is_dataclass(kind) and kind.__name__ == value.get("is")
        )
    for kind in kinds:
        try:
            return as_type(kind, value, name)
        except ValueError:
            continue
    raise ValueError(f"{name} is {_short(value)}, which is none of {', '.join(map(str, kinds))}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
