"""Scales in model files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knockoffs.kinds.scales import BASES, Scale
from knockoffs.runtime.model_files import take_array

Arrays = dict[str, NDArray[Any]]


def scale_arrays(scale: Scale[Any]) -> Arrays:
    """Return the arrays of a scale under the names of a model file."""
    return {f"scale.{name}": np.asarray(part) for name, part in scale.tensors().items()}


def restore_scale(arrays: Arrays, columns: int) -> Scale[NDArray[Any]]:
    """Make the scale that `scale_arrays` wrote; raises a ValueError for maps that do not increase."""
    base = take_array(arrays, "scale.base", (columns,), "i")
    lowest = take_array(arrays, "scale.lowest", (columns,), finite=False)  # -inf where there is no bound
    vectors = {name: take_array(arrays, f"scale.{name}", (columns,)) for name in _VECTORS}
    knots = take_array(arrays, "scale.knots", (columns, None))
    curves = {name: take_array(arrays, f"scale.{name}", knots.shape) for name in ("values", "slopes")}
    increasing = (np.diff(knots) > 0).all() and (np.diff(curves["values"]) > 0).all()
    positive = all((values > 0).all() for values in (vectors["unit"], vectors["spread"], curves["slopes"]))
    known = np.isin(base, range(len(BASES))).all() and not (np.isnan(lowest) | (lowest == np.inf)).any()
    if not (increasing and positive and known and knots.shape[1] > 1):
        raise ValueError("the arrays of the scale do not describe increasing maps")
    return Scale(base=base, lowest=lowest, knots=knots, **vectors, **curves)


_VECTORS = ("unit", "floor", "centre", "spread")
