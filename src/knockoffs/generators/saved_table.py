"""What a model file keeps of the table that the model was fitted to: its columns, and how the model sees them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.generators.table_model import TableModel
from knockoffs.kinds.fit_encoding import with_units
from knockoffs.kinds.saved_units import pack_encoding, require_levels, unpack_encoding
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.typed_json import as_record, as_type
from knockoffs.schema.schema import KINDS, Column, Schema


@dataclass(frozen=True, slots=True)
class TableHeader:
    """The entries of the JSON header."""

    feature_names: list[str] | None
    names: list[Any] | None
    n_features: int
    schema: list[Any]
    encoding: Any


def table_state(model: TableModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays that describe the table of a fitted model."""
    feature_names = getattr(model, "feature_names_in_", None)
    description, numbers = pack_encoding(model.encoding_)
    header = {
        "feature_names": None if feature_names is None else list(feature_names),
        "names": model._names,
        "n_features": model.n_features_in_,
        "schema": [asdict(column) for column in model.schema_],
        "encoding": description,
    }
    arrays: dict[str, NDArray[Any]] = {"table.numbers": numbers, "table.fingerprints": model.fingerprints_}
    if model.encoding_.correlation is not None:
        arrays["table.correlation"] = model.encoding_.correlation
    return header, arrays


def restore_table(model: TableModel, header: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Give a model the table that `table_state` described; raises a ValueError for what describes no table."""
    table = as_record(TableHeader, header)
    model.fingerprints_ = take_array(arrays, "table.fingerprints", (None,), "u")
    model.schema_ = _as_schema(table)
    _give_names(model, table)
    numbers = take_array(arrays, "table.numbers", (None,), finite=False).astype(np.float64)
    encoding = unpack_encoding(table.encoding, numbers, table.n_features)
    if "table.correlation" in arrays:
        width = encoding.width
        correlation = take_array(arrays, "table.correlation", (width, width)).astype(np.float64)
        if not np.allclose(correlation, correlation.T, rtol=0, atol=1e-6):
            raise ValueError("the correlations of latent columns are not symmetric")
        np.linalg.cholesky(correlation)  # raises an error for what is no correlation; sees one triangle alone
        encoding = replace(encoding, correlation=correlation)
    elif len(encoding.latent):
        raise ValueError("the correlations of latent columns are missing")
    for joint in encoding.joints:
        require_levels(encoding.units[joint.columns[0]], len(joint.states))
    in_joints = {int(j) for joint in encoding.joints for j in joint.columns}
    for j, (column, unit) in enumerate(zip(model.schema_, encoding.units, strict=True)):
        if column.levels is not None and j not in in_joints:
            require_levels(unit, len(column.levels))
    model.encoding_ = with_units(encoding, model.schema_)


def _give_names(model: TableModel, table: TableHeader) -> None:
    for given in (table.feature_names, table.names):
        if given is not None and len(given) != table.n_features:
            raise ValueError(f"there are {len(given)} names for {table.n_features} columns")
    model.n_features_in_ = table.n_features
    if table.feature_names is not None:
        model.feature_names_in_ = np.array(table.feature_names, dtype=object)
    model._names = None if table.names is None else [_as_name(name) for name in table.names]


def _as_schema(table: TableHeader) -> Schema:
    if len(table.schema) != table.n_features:
        raise ValueError(f"the schema describes {len(table.schema)} columns, not {table.n_features}")
    return Schema(tuple(_as_column(entry) for entry in table.schema))


def _as_column(entry: Any) -> Column:
    kind = entry["kind"]
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of column")
    levels = entry["levels"]
    if levels is not None and len({_as_level(level) for level in levels}) != len(levels):
        raise ValueError("a column has a level twice")
    return Column(
        name=as_type(str, entry["name"], "name"),
        kind=kind,
        values=tuple(as_type(list[float], entry["values"], "values")),
        levels=None if levels is None else tuple(as_type(list[Any], levels, "levels")),
        missing=as_type(float, entry["missing"], "missing"),
        unit=as_type(str, entry["unit"], "unit"),
    )


def _as_level(level: Any) -> Any:
    if not isinstance(level, (str, int, float)) or level in (np.inf, -np.inf) or level != level:
        raise ValueError(f"{level!r} is no level of a column")
    if isinstance(level, str):
        level.encode()  # raises an error for what is no text
    return level


def _as_name(name: Any) -> Any:
    """Return a column's name as pandas has it: JSON makes lists of the tuples of a MultiIndex."""
    return tuple(map(_as_name, name)) if isinstance(name, list) else name
