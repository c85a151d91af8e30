"""Tables in model files of before there were schemas: only numbers, with flags of special columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.arrays import Array
from knockoffs.generators.encoding import TableEncoding, Unit
from knockoffs.generators.feature_units import Constant, Intervals
from knockoffs.generators.saved_units import checked_intervals, checked_levels
from knockoffs.generators.table_model import TableModel
from knockoffs.generators.value_units import Exact, Plain, Spread
from knockoffs.persistence import take_array
from knockoffs.schema import Column, Kind, Schema
from knockoffs.typed_json import as_record
from knockoffs.words import called

# Names of the arrays and kinds of their types.
ARRAYS = {
    "constant": "b",
    "constant_value": "f",
    "first_alike": "i",
    "duplicate": "b",
    "duplicated": "b",
    "modelled": "b",
}


@dataclass(frozen=True, slots=True)
class TableHeader:
    """The entries of the JSON header."""

    feature_names: list[str] | None
    names: list[Any] | None
    n_features: int
    levels: list[list[float] | None]


def restore_table_before(model: TableModel, header: Any, arrays: dict[str, NDArray[Any]]) -> TableHeader:
    """Give a model the columns of its table, and return the header; raises a ValueError for what is no table."""
    table = as_record(TableHeader, header)
    flags = {k: take_array(arrays, f"table.{k}", (table.n_features,), kind) for k, kind in ARRAYS.items()}
    _require_consistent(flags, table)
    modelled = np.flatnonzero(flags["modelled"])
    found = zip(modelled, table.levels, strict=True)
    levels = {int(j): None if own is None else checked_levels(np.array(own), missing=False) for j, own in found}
    model.schema_ = _schema(table, flags, levels)
    intervals = _restored_intervals(arrays, len(modelled))
    units: list[Unit] = [Constant(float(value)) for value in flags["constant_value"]]
    for place, (j, own) in enumerate(levels.items()):
        units[j] = _unit(model, own, None if intervals is None else intervals[place])
    # Constants are no duplicates of each other.
    alike = np.where(flags["constant"], np.arange(table.n_features), flags["first_alike"]).astype(np.intp)
    encoding = TableEncoding(tuple(units), alike)
    if intervals is not None:
        correlation = take_array(arrays, "table.latent.correlation", (len(modelled),) * 2).astype(np.float64)
        np.linalg.cholesky(correlation)  # raises an error for what is no correlation
        encoding = replace(encoding, correlation=correlation)
    model.encoding_ = encoding
    return table


def _unit(model: TableModel, levels: Array | None, intervals: Intervals | None) -> Unit:
    """Files of before there were latents spread discrete values."""
    if levels is None:
        return Plain(intervals=intervals)
    if model._handles_discrete:
        return Exact(levels)
    return Spread(levels) if intervals is None else intervals


def _schema(table: TableHeader, flags: dict[str, NDArray[Any]], levels: dict[int, Array | None]) -> Schema:
    columns = []
    for j, name in enumerate(called(table.names, table.n_features)):
        first = int(flags["first_alike"][j])
        own = levels.get(first)
        kind: Kind = "constant" if flags["constant"][j] else ("continuous" if own is None else "ordinal")
        columns.append(Column(name, kind, () if own is None else tuple(own.tolist()), unit=name))
    return Schema(tuple(columns))


def _restored_intervals(arrays: dict[str, NDArray[Any]], columns: int) -> list[Intervals] | None:
    if "table.latent.correlation" not in arrays:
        return None
    count = take_array(arrays, "table.cells.count", (columns,), "i")
    if count.min() < 1:
        raise ValueError("a column has no cells")
    total, ends = (int(count.sum()),), np.cumsum(count)[:-1]
    values = np.split(take_array(arrays, "table.cells.values", total).astype(np.float64), ends)
    upper = np.split(take_array(arrays, "table.cells.upper", total).astype(np.float64), ends)
    atom = np.split(take_array(arrays, "table.cells.atom", total, "b"), ends)
    return [checked_intervals(*parts) for parts in zip(values, upper, atom, strict=True)]


def _require_consistent(flags: dict[str, NDArray[Any]], table: TableHeader) -> None:
    first = flags["first_alike"]
    if first.min() < 0 or (first > np.arange(len(first))).any():
        raise ValueError("the array 'table.first_alike' has numbers of columns that do not exist")
    if (flags["modelled"] != ~(flags["constant"] | flags["duplicate"])).any():
        raise ValueError("the array 'table.modelled' disagrees with the constant and duplicated columns")
    if len(table.levels) != np.count_nonzero(flags["modelled"]):
        raise ValueError(f"there are levels of {len(table.levels)} columns, not of all modelled columns")
