"""What a model file keeps of an encoding, and what must hold of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.kinds.encoder import Encoder, require
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.runtime.typed_json import as_record, with_arrays


def unpack_encoding(
    description: Any, arrays: dict[str, NDArray[Any]], features: int
) -> TableEncoding:
    """Return the encoding that `packed` described; raises a ValueError for what describes none."""
    encoding = as_record(TableEncoding, with_arrays(description, arrays))
    columns, alike = np.arange(features), encoding.alike
    described = len(encoding.units) == features and alike.shape == (features,)
    described = described and bool(((alike >= 0) & (alike <= columns)).all())
    require(described, f"the description is not one of {features} columns")
    require(np.isin(encoding.kept, columns).all(), "columns that are kept do not exist")
    classes = [context.count for context in encoding.contexts]
    for unit in encoding.units:
        unit.require_valid(classes)
    for context in encoding.contexts:
        context.require_valid(features)
    for block in encoding.together:
        block.require_valid(features)
    _require_correlation(encoding)
    return encoding


def _require_correlation(encoding: TableEncoding) -> None:
    correlation = encoding.correlation
    if correlation is None:
        require(not len(encoding.latent), "the correlations of latent columns are missing")
        return
    fits = correlation.shape == (encoding.width, encoding.width)
    symmetric = fits and np.allclose(correlation, correlation.T, rtol=0, atol=1e-6)
    require(symmetric, "the correlations of latent columns are not symmetric")
    # raises an error for what is no correlation; sees one triangle alone
    np.linalg.cholesky(correlation)


def require_levels(encoder: Encoder, levels: int) -> None:
    """Raise a ValueError for a description of a text column that gives other numbers than those of
    levels.
    """
    codes = encoder.levels()
    require(
        np.isin(codes[~np.isnan(codes)], np.arange(levels)).all(),
        "a column has levels that do not exist",
    )
