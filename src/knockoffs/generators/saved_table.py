"""What a model file keeps of the table that the model was fitted to: its columns,
and how the model sees them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.generators.table_model import TableModel
from knockoffs.kinds.fit_encoding import with_units
from knockoffs.kinds.saved_units import require_levels, unpack_encoding
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.typed_json import as_record, packed
from knockoffs.schema.schema import Column, Schema


@dataclass(frozen=True, slots=True)
class TableHeader:
    """The entries of the JSON header."""

    feature_names: list[str] | None
    names: list[Any] | None
    n_features: int
    schema: tuple[Column, ...]
    encoding: Any


def table_state(model: TableModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays that describe the table of a fitted model."""
    feature_names = model.names_of_fit
    arrays: dict[str, NDArray[Any]] = {}
    header = {
        "feature_names": None if feature_names is None else list(feature_names),
        "names": model._names,
        "n_features": model.n_features_in_,
        "schema": [asdict(column) for column in model.schema_],
        "encoding": packed(model.encoding_, arrays),
    }
    return header, arrays | {"table.fingerprints": model.fingerprints_}


def restore_table(model: TableModel, header: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Give a model the table that `table_state` described;
    raises a ValueError for what describes no table.
    """
    table = as_record(TableHeader, header)
    model.fingerprints_ = take_array(arrays, "table.fingerprints", (None,), "u")
    _give_names(model, table)
    encoding = unpack_encoding(table.encoding, arrays, table.n_features)
    for block in encoding.together:
        for j, levels in zip(block.gives, block.levels, strict=True):
            require_levels(encoding.units[j], levels)
    in_blocks = {int(j) for block in encoding.together for j in block.takes}
    for j, (column, unit) in enumerate(zip(model.schema_, encoding.units, strict=True)):
        if column.levels is not None and j not in in_blocks:
            require_levels(unit, len(column.levels))
    model.encoding_ = with_units(encoding, model.schema_)


def _give_names(model: TableModel, table: TableHeader) -> None:
    for given in (table.feature_names, table.names):
        if given is not None and len(given) != table.n_features:
            raise ValueError(f"there are {len(given)} names for {table.n_features} columns")
    model.schema_ = Schema(table.schema)
    if len(model.schema_) != table.n_features:
        raise ValueError(
            f"the schema describes {len(model.schema_)} columns, not {table.n_features}"
        )
    for levels in (column.levels for column in table.schema if column.levels is not None):
        if len({_as_level(level) for level in levels}) != len(levels):
            raise ValueError("a column has a level twice")
    model.n_features_in_ = table.n_features
    if table.feature_names is not None:
        model.feature_names_in_ = np.array(table.feature_names, dtype=object)
    model._names = None if table.names is None else [_as_name(name) for name in table.names]


def _as_level(level: Any) -> Any:
    if not isinstance(level, (str, int, float)) or level in (np.inf, -np.inf) or level != level:
        raise ValueError(f"{level!r} is no level of a column")
    if isinstance(level, str):
        level.encode()  # raises an error for what is no text
    return level


def _as_name(name: Any) -> Any:
    """Return a column's name as pandas has it: JSON makes lists of the tuples of a MultiIndex."""
    return tuple(map(_as_name, name)) if isinstance(name, list) else name
