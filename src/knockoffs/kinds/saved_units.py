"""What a model file keeps of an encoding, and what must hold of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.kinds.encoding import TableEncoding
from knockoffs.kinds.relations import Context
from knockoffs.kinds.units import (
    Boxes,
    Classed,
    Constant,
    Exact,
    Intervals,
    Measured,
    Plain,
    Recoded,
    Spread,
    Unit,
    WithGaps,
)
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.typed_json import as_record, with_arrays


def unpack_encoding(
    description: Any, arrays: dict[str, NDArray[Any]], features: int
) -> TableEncoding:
    """Return the encoding that `packed` described; raises a ValueError for what describes none."""
    encoding = as_record(TableEncoding, with_arrays(description, arrays))
    columns, alike = np.arange(features), encoding.alike
    described = len(encoding.units) == features and alike.shape == (features,)
    described = described and bool(((alike >= 0) & (alike <= columns)).all())
    _require(described, f"the description is not one of {features} columns")
    _require(np.isin(encoding.kept, columns).all(), "columns that are kept do not exist")
    for unit in (*encoding.units, *encoding.context_units):
        _require_valid(unit, encoding.contexts)
    for context in encoding.contexts:
        known = np.isin(np.concatenate([context.features, context.members]), columns).all()
        _require(known, "a class of rows has columns that do not exist")
        width = len(context.features)
        fits = context.keys.ndim == 2 and context.keys.shape[1] == len(context.atoms) == width
        fits = fits and all(map(_increase, context.atoms))
        _require(fits, "a class of rows is not described for each of its columns")
    for joint in encoding.joints:
        width = len(np.unique(joint.columns))
        known = len(joint.columns) == width > 1 and np.isin(joint.columns, columns).all()
        _require(known, "a joint state has columns that do not exist")
        fits = joint.states.ndim == 2 and joint.states.shape[1:] == joint.columns.shape
        _require(fits, "a joint state is not described for each of its columns")
    _require_correlation(encoding)
    return encoding


def _require(fine: Any, problem: str) -> None:
    if not fine:
        raise ValueError(problem)


def _require_valid(unit: Unit, contexts: tuple[Context, ...]) -> None:
    """Raise a ValueError for a unit that describes no column."""
    match unit:
        case Classed(context, within):
            known = 0 <= context < len(contexts) and len(within) == len(contexts[context].keys)
            _require(known, "a column has classes of rows that do not exist")
            for own in within:
                _require_valid(own, contexts)
        case WithGaps(present, threshold):
            _require(np.isfinite(threshold), "a number of a column's description is not finite")
            _require_valid(present, contexts)
        case Plain(typical, intervals):
            _require(np.isfinite(typical), "a number of a column's description is not finite")
            if intervals is not None:
                _require_valid(intervals, contexts)
        case Constant(value):
            _require(not np.isinf(value), "a number of a column's description is not finite")
        case Intervals(values, upper, atom):
            up_to_1 = _increase(values, upper) and atom.shape == values.shape
            up_to_1 = up_to_1 and upper[0] > 0 and abs(upper[-1] - 1) <= 1e-9
            _require(up_to_1, "the cells of a column are not in increasing order up to 1")
        case Boxes(codes, low, high):
            fits = low.ndim == 2 and low.shape == high.shape and (len(low),) == codes.shape
            _require(
                fits and len(low) > 1 and (low < high).all(),
                "the boxes of a column's levels are empty",
            )
        case Measured(values, scores):
            increase = _increase(values, scores) and len(values) > 1
            _require(
                increase,
                "the values of a measured column and their scores are not finite and increasing",
            )
        case Recoded(given, values):
            _require_levels_of(given, missing=True)
            _require(
                values.shape == given.shape, "a function of a column has other values than this one"
            )
        case Spread(values):
            _require_levels_of(values)
        case Exact(values):
            _require_levels_of(values, missing=True)


def _increase(*columns: Array) -> bool:
    """Return whether these are finite numbers in increasing order, equally many of each."""
    rising = all(np.isfinite(own).all() and (np.diff(own) > 0).all() for own in columns)
    return rising and columns[0].ndim == 1 and len({own.shape for own in columns}) == 1


def _require_levels_of(values: Array, *, missing: bool = False) -> None:
    """Raise a ValueError for what are not the values of a discrete column,
    the last of which may be missing.
    """
    present = values[:-1] if missing and np.isnan(values[-1:]).any() else values
    increase = _increase(present) and len(values) > 1
    _require(
        increase, "the levels of a column are not two or more finite numbers in increasing order"
    )


def _require_correlation(encoding: TableEncoding) -> None:
    correlation = encoding.correlation
    if correlation is None:
        _require(not len(encoding.latent), "the correlations of latent columns are missing")
        return
    fits = correlation.shape == (encoding.width, encoding.width)
    symmetric = fits and np.allclose(correlation, correlation.T, rtol=0, atol=1e-6)
    _require(symmetric, "the correlations of latent columns are not symmetric")
    # raises an error for what is no correlation; sees one triangle alone
    np.linalg.cholesky(correlation)


def require_levels(unit: Unit, levels: int) -> None:
    """Raise a ValueError for a description of a text column that gives other numbers than those of
    levels.
    """
    codes = _codes(unit)
    _require(
        np.isin(codes[~np.isnan(codes)], np.arange(levels)).all(),
        "a column has levels that do not exist",
    )


def _codes(unit: Unit) -> Array:
    """Return the numbers that a discrete feature may take."""
    match unit:
        case Classed(_, within):
            return np.concatenate([_codes(own) for own in within])
        case WithGaps(present):
            return _codes(present)
        case Constant(value):
            return np.array([value])
        case Boxes(codes) | Spread(codes) | Exact(codes) | Recoded(_, codes):
            return codes
        case Intervals(values, _, atom) if atom.all():
            return values
    raise ValueError("a column of levels is described as a continuous one")
