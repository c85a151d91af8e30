"""Reading a y of one value per row, whatever it comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from knockoffs.schema.words import counted
from knockoffs.table.table import as_numpy


def name_of(y: Any) -> str | None:
    """Return the name of a pandas or polars series."""
    name = getattr(y, "name", None)
    return None if name is None or callable(name) else str(name)


def read_vector(y: Any, rows: int, who: str) -> NDArray[Any]:
    """Return one finite value per row, under the simplest type that holds them all."""
    try:
        vector = np.asarray(as_numpy(y))
    except ValueError as error:
        raise ValueError(
            f"{who}: y is no array ({error}). Pass one value for each of the {rows} rows."
        ) from None
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.shape != (rows,):
        raise ValueError(
            f"{who}: y has shape {vector.shape}; pass one value for each of the {rows} rows."
        )
    missing = np.asarray(pd.isna(vector))
    if missing.any():
        raise ValueError(
            f"{who}: y has {counted(missing.sum(), 'missing value')}. Drop those rows from X and y."
        )
    if vector.dtype.kind == "O":
        vector = pd.Series(vector.tolist()).infer_objects().to_numpy()
        # exact numbers that numpy has no type for
        if pd.api.types.infer_dtype(vector) in ("decimal", "integer"):
            vector = vector.astype(np.float64)
    if vector.dtype.kind == "f" and not np.isfinite(vector).all():
        raise ValueError(f"{who}: y has infinite values. Drop those rows from X and y.")
    return vector


def refuse_other_numbers(vector: NDArray[Any], who: str) -> None:
    """Refuse dates, durations and complex numbers."""
    if vector.dtype.kind in "cmMV":
        raise ValueError(
            f"{who}: y of type {vector.dtype} does not hold real numbers. Pass numbers (such "
            "as days since a date), or task='classification'."
        )
