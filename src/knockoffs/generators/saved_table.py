"""What a model file keeps of the table that the model was fitted to: its columns, and which are modelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.arrays import Array, Flags
from knockoffs.generators.encoding import Encoding, ExactEncoding, SpreadEncoding
from knockoffs.generators.latent import Cells, LatentEncoding
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
    if isinstance(model.encoding_, LatentEncoding):
        arrays |= _latent_arrays(model.encoding_)
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
    model.encoding_ = _restored_encoding(model, arrays)


def _latent_arrays(encoding: LatentEncoding) -> dict[str, NDArray[Any]]:
    """Return the cells of all columns, one column after the other, and the correlations of the latents."""
    return {
        "table.cells.values": np.concatenate([cells.values for cells in encoding.cells]),
        "table.cells.upper": np.concatenate([cells.upper for cells in encoding.cells]),
        "table.cells.atom": np.concatenate([cells.atom for cells in encoding.cells]),
        "table.cells.count": np.array([len(cells.values) for cells in encoding.cells]),
        "table.latent.correlation": encoding.correlation,
    }


def _restored_encoding(model: TableModel, arrays: dict[str, NDArray[Any]]) -> Encoding:
    """Files of before there were latents spread discrete values, as models in the units of columns still do."""
    if model._handles_discrete:
        return ExactEncoding(model.levels_)
    if "table.latent.correlation" not in arrays:
        return SpreadEncoding(model.levels_)
    columns = model._modelled_count
    count = take_array(arrays, "table.cells.count", (columns,), "i")
    if count.min() < 1:
        raise ValueError("a column has no cells")
    total, ends = (int(count.sum()),), np.cumsum(count)[:-1]
    values = np.split(take_array(arrays, "table.cells.values", total).astype(np.float64), ends)
    upper = np.split(take_array(arrays, "table.cells.upper", total).astype(np.float64), ends)
    atom = np.split(take_array(arrays, "table.cells.atom", total, "b"), ends)
    cells = [_as_cells(*parts) for parts in zip(values, upper, atom, strict=True)]
    discrete = np.array([levels is not None for levels in model.levels_])
    correlation = take_array(arrays, "table.latent.correlation", (columns, columns)).astype(np.float64)
    np.linalg.cholesky(correlation)  # raises an error for what is no correlation
    return LatentEncoding(cells, discrete, correlation)


def _as_cells(values: Array, upper: Array, atom: Flags) -> Cells:
    increasing = (np.diff(values) > 0).all() and (np.diff(upper) > 0).all()
    if not increasing or upper[0] <= 0 or abs(upper[-1] - 1) > 1e-9:
        raise ValueError("the cells of a column are not in increasing order up to 1")
    return Cells(values, upper, atom)


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
