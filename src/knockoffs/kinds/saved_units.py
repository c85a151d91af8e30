"""What a model file keeps of an encoding: a JSON description of each unit, and all numbers in one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from knockoffs.kinds.encoding import Classed, TableEncoding
from knockoffs.kinds.feature_units import Boxes, Constant, FeatureUnit, Intervals, WithGaps
from knockoffs.kinds.joined import Joint
from knockoffs.kinds.relations import Context
from knockoffs.kinds.value_units import Exact, Measured, Plain, Recoded, Spread
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.typed_json import as_type


class _Writer:
    """Gathers arrays of numbers into one."""

    def __init__(self) -> None:
        self.parts: list[Array] = []

    def add(self, values: Any) -> int:
        """Add an array, and return how many numbers it has."""
        values = np.asarray(values, dtype=np.float64).ravel()
        self.parts.append(values)
        return len(values)


class _Reader:
    """Hands the numbers out again, in their order."""

    def __init__(self, numbers: Array) -> None:
        self._numbers, self._at = numbers, 0

    def take(self, count: Any) -> Array:
        count = as_type(int, count, "count of numbers")
        if count < 0 or self._at + count > len(self._numbers):
            raise ValueError("a description of columns has more numbers than there are")
        self._at += count
        return self._numbers[self._at - count : self._at].copy()

    def require_end(self) -> None:
        if self._at != len(self._numbers):
            raise ValueError("there are numbers that belong to no column")


def pack_encoding(encoding: TableEncoding) -> tuple[dict[str, Any], Array]:
    """Return the description and the numbers of an encoding, without its correlations."""
    writer = _Writer()
    description = {
        "units": [_pack(unit, writer) for unit in encoding.units],
        "alike": encoding.alike.tolist(),
        "contexts": [
            {
                "features": context.features.tolist(),
                "keys": context.keys.tolist(),
                "atoms": [writer.add(atoms) for atoms in context.atoms],
                "members": context.members.tolist(),
                "unit": _pack(unit, writer),
            }
            for context, unit in zip(encoding.contexts, encoding.context_units, strict=True)
        ],
        "kept": list(encoding.kept),
        "joints": [
            {"columns": joint.columns.tolist(), "numbers": writer.add(joint.states)} for joint in encoding.joints
        ],
    }
    return description, np.concatenate([np.empty(0), *writer.parts])


def unpack_encoding(description: Any, numbers: Array, features: int) -> TableEncoding:
    """Return the encoding that `pack_encoding` described; raises a ValueError for what describes none."""
    reader = _Reader(numbers)
    units = tuple(_unpack(spec, reader) for spec in as_type(list[Any], description["units"], "units"))
    alike = np.array(as_type(list[int], description["alike"], "alike"), dtype=np.intp)
    if (
        len(units) != features
        or alike.shape != (features,)
        or alike.min() < 0
        or (alike > np.arange(features)).any()
    ):
        raise ValueError(f"the description is not one of {features} columns")
    contexts, context_units = [], []
    for spec in as_type(list[Any], description["contexts"], "contexts"):
        found = np.array(as_type(list[int], spec["features"], "features"), dtype=np.intp)
        keys = np.array(spec["keys"], dtype=np.intp)
        atoms = tuple(reader.take(count) for count in spec["atoms"])
        members = np.array(as_type(list[int], spec["members"], "members"), dtype=np.intp)
        if keys.ndim != 2 or keys.shape[1] != len(found) or len(atoms) != len(found):
            raise ValueError("a class of rows is not described for each of its columns")
        if not np.isin(np.concatenate([found, members]), np.arange(features)).all():
            raise ValueError("a class of rows has columns that do not exist")
        contexts.append(Context(found, keys, atoms, members))
        context_units.append(_feature_unit(_unpack(spec["unit"], reader)))
    joints = tuple(_unpack_joint(spec, reader, features) for spec in description["joints"])
    reader.require_end()
    _require_classes(units, contexts)
    kept = tuple(as_type(list[int], description["kept"], "kept"))
    if not np.isin(kept, np.arange(features)).all():
        raise ValueError("columns that are kept do not exist")
    return TableEncoding(units, alike, tuple(contexts), tuple(context_units), joints=joints, kept=kept)


def _unpack_joint(spec: Any, reader: _Reader, features: int) -> Joint:
    columns = np.array(as_type(list[int], spec["columns"], "columns"), dtype=np.intp)
    numbers = reader.take(spec["numbers"])
    if len(np.unique(columns)) < 2 or not np.isin(columns, np.arange(features)).all():
        raise ValueError("a joint state has columns that do not exist")
    if len(np.unique(columns)) < len(columns) or len(numbers) == 0 or len(numbers) % len(columns):
        raise ValueError("a joint state is not described for each of its columns")
    return Joint(columns, numbers.reshape(-1, len(columns)))


def _pack(unit: FeatureUnit | Classed, writer: _Writer) -> dict[str, Any]:
    match unit:
        case Constant():
            return {"is": "constant", "value": writer.add(unit.value)}
        case Intervals():
            return {"is": "intervals", "values": writer.add([unit.values, unit.upper, unit.atom])}
        case WithGaps():
            return {"is": "gaps", "threshold": writer.add(unit.threshold), "present": _pack(unit.present, writer)}
        case Boxes():
            return {
                "is": "boxes",
                "codes": writer.add(unit.codes),
                "corners": writer.add([unit.low, unit.high]),
            }
        case Measured():
            return {"is": "measured", "values": writer.add([unit.values, unit.scores])}
        case Recoded():
            return {"is": "recoded", "values": writer.add([unit.given, unit.values])}
        case Plain():
            intervals = None if unit.intervals is None else _pack(unit.intervals, writer)
            return {"is": "plain", "intervals": intervals, "typical": writer.add(unit.typical)}
        case Spread() | Exact():
            return {"is": type(unit).__name__.lower(), "values": writer.add(unit.values)}
        case Classed():
            return {
                "is": "classed",
                "context": unit.context,
                "within": [_pack(within, writer) for within in unit.within],
            }
    raise TypeError(f"{type(unit).__name__} is no unit")


def _unpack(spec: Any, reader: _Reader) -> FeatureUnit | Classed:
    kind = as_type(str, spec["is"], "is")
    if kind not in _UNPACK:
        raise ValueError(f"{kind!r} is no description of a column")
    return _UNPACK[kind](spec, reader)


def _constant(spec: Any, reader: _Reader) -> Constant:
    (value,) = reader.take(spec["value"])
    return Constant(np.nan if np.isnan(value) else _finite(float(value)))


def _intervals(spec: Any, reader: _Reader) -> Intervals:
    values, upper, atom = reader.take(spec["values"]).reshape(3, -1)
    increasing = (np.diff(values) > 0).all() and (np.diff(upper) > 0).all() and len(values) > 0
    if not increasing or not upper[0] > 0 or not abs(upper[-1] - 1) <= 1e-9 or not np.isfinite(values).all():
        raise ValueError("the cells of a column are not in increasing order up to 1")
    return Intervals(values, upper, atom != 0)


def _gaps(spec: Any, reader: _Reader) -> WithGaps:
    (threshold,) = reader.take(spec["threshold"])
    return WithGaps(_feature_unit(_unpack(spec["present"], reader)), _finite(float(threshold)))


def _boxes(spec: Any, reader: _Reader) -> Boxes:
    codes = reader.take(spec["codes"])
    low, high = reader.take(spec["corners"]).reshape(2, len(codes), -1)
    if len(codes) < 2 or low.shape[1] < 1 or not (low < high).all():
        raise ValueError("the boxes of a column's levels are empty")
    if np.isinf(codes).any() or np.isinf(low).any() or np.isinf(high).any():
        raise ValueError("the boxes of a column's levels are not finite")
    return Boxes(codes, low, high)


def _measured(spec: Any, reader: _Reader) -> Measured:
    values, scores = reader.take(spec["values"]).reshape(2, -1)
    increasing = len(values) > 1 and (np.diff(values) > 0).all() and (np.diff(scores) > 0).all()
    if not increasing or not np.isfinite(values).all() or not np.isfinite(scores).all():
        raise ValueError("the values of a measured column and their scores are not finite and increasing")
    return Measured(values, scores)


def _recoded(spec: Any, reader: _Reader) -> Recoded:
    given, values = reader.take(spec["values"]).reshape(2, -1)
    _checked_levels(given, missing=True)
    if np.isinf(values).any():
        raise ValueError("a column that is a function of another one has values that are not finite")
    return Recoded(given, values)


def _plain(spec: Any, reader: _Reader) -> Plain:
    intervals = None if spec["intervals"] is None else _intervals(spec["intervals"], reader)
    (typical,) = reader.take(spec["typical"])
    return Plain(_finite(float(typical)), intervals)


def _values(kind: type[Spread] | type[Exact]) -> Callable[[Any, _Reader], Spread | Exact]:
    def unpack(spec: Any, reader: _Reader) -> Spread | Exact:
        return kind(_checked_levels(reader.take(spec["values"]), missing=kind is Exact))

    return unpack


def _checked_levels(values: Array, *, missing: bool) -> Array:
    """Return the values of a discrete column; raises a ValueError if they are no levels."""
    present = values[:-1] if missing and np.isnan(values[-1:]).any() else values
    if len(values) < 2 or not np.isfinite(present).all() or (np.diff(present) <= 0).any():
        raise ValueError("the levels of a column are not two or more finite numbers in increasing order")
    return values


def _classed(spec: Any, reader: _Reader) -> Classed:
    within = tuple(_feature_unit(_unpack(own, reader)) for own in spec["within"])
    return Classed(as_type(int, spec["context"], "context"), within)


def _feature_unit(unit: FeatureUnit | Classed) -> FeatureUnit:
    if isinstance(unit, Classed):
        raise ValueError("a class of rows has classes of its own")
    return unit


def _finite(value: float) -> float:
    if not np.isfinite(value):
        raise ValueError("a number of a column's description is not finite")
    return value


def _require_classes(units: tuple[FeatureUnit | Classed, ...], contexts: list[Context]) -> None:
    for unit in units:
        if isinstance(unit, Classed) and not (
            0 <= unit.context < len(contexts) and len(unit.within) == len(contexts[unit.context].keys)
        ):
            raise ValueError("a column has classes of rows that do not exist")


def require_levels(unit: FeatureUnit | Classed, levels: int) -> None:
    """Raise a ValueError for a description of a text column that gives other numbers than those of levels."""
    match unit:
        case Classed():
            for within in unit.within:
                require_levels(within, levels)
            return
        case WithGaps():
            require_levels(unit.present, levels)
            return
        case Boxes():
            codes = unit.codes
        case Constant():
            codes = np.array([unit.value])
        case Spread() | Exact() | Recoded():
            codes = unit.values
        case Intervals() if unit.atom.all():
            codes = unit.values
        case _:
            raise ValueError("a column of levels is described as a continuous one")
    if not np.isin(codes[~np.isnan(codes)], np.arange(levels)).all():
        raise ValueError("a column has levels that do not exist")


_UNPACK: dict[str, Callable[[Any, _Reader], FeatureUnit | Classed]] = {
    "constant": _constant,
    "intervals": _intervals,
    "gaps": _gaps,
    "boxes": _boxes,
    "measured": _measured,
    "plain": _plain,
    "recoded": _recoded,
    "spread": _values(Spread),
    "exact": _values(Exact),
    "classed": _classed,
}
