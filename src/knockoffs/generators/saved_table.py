"""What a model file keeps of the table that the model was fitted to: its columns, and which are modelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.arrays import Array
from knockoffs.generators.table_model import TableModel
from knockoffs.persistence import take_array
from knockoffs.typed_json import as_record

# Names of the arrays, which are attributes of the model with an underscore behind, and kinds of their types.
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


def table_state(model: TableModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays that describe the table of a fitted model."""
    feature_names = getattr(model, "feature_names_in_", None)
    header = {
        "feature_names": None if feature_names is None else list(feature_names),
        "names": model._names,
        "n_features": model.n_features_in_,
        "levels": [None if levels is None else levels.tolist() for levels in model.levels_],
    }
    arrays = {f"table.{name}": getattr(model, f"{name}_") for name in ARRAYS}
    if model.fingerprints_ is not None:
        arrays["table.fingerprints"] = model.fingerprints_
    return header, arrays


def restore_table(model: TableModel, header: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Give a model the table that `table_state` described; raises a ValueError for what describes no table."""
    table = as_record(TableHeader, header)
    for name, kind in ARRAYS.items():
        setattr(model, f"{name}_", take_array(arrays, f"table.{name}", (table.n_features,), kind))
    model.fingerprints_ = None  # files of version 1 have none
    if "table.fingerprints" in arrays:
        model.fingerprints_ = take_array(arrays, "table.fingerprints", (None,), "u")
    _require_consistent(model, table)
    model.n_features_in_ = table.n_features
    if table.feature_names is not None:
        model.feature_names_in_ = np.array(table.feature_names, dtype=object)
    model._names = None if table.names is None else [_as_name(name) for name in table.names]
    model.levels_ = [None if levels is None else _as_levels(levels) for levels in table.levels]


def _require_consistent(model: TableModel, table: TableHeader) -> None:
    for names in (table.feature_names, table.names):
        if names is not None and len(names) != table.n_features:
            raise ValueError(f"there are {len(names)} names for {table.n_features} columns")
    first = model.first_alike_
    if first.min() < 0 or first.max() >= table.n_features:
        raise ValueError("the array 'table.first_alike' has numbers of columns that do not exist")
    if (model.modelled_ != ~(model.constant_ | model.duplicate_)).any():
        raise ValueError("the array 'table.modelled' disagrees with the constant and duplicated columns")
    if len(table.levels) != model._modelled_count:
        raise ValueError(f"there are levels of {len(table.levels)} columns, not of all modelled columns")


def _as_name(name: Any) -> Any:
    """Return a column's name as pandas has it: JSON makes lists of the tuples of a MultiIndex."""
    return tuple(map(_as_name, name)) if isinstance(name, list) else name


def _as_levels(levels: list[float]) -> Array:
    values = np.array(levels, dtype=np.float64)
    if len(values) < 2 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ValueError("the levels of a column are not two or more finite numbers in increasing order")
    return values
