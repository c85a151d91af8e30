"""Where redraws of a feature come from: a density of the rows,
or a function that knows the conditionals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.base import clone

from knockoffs.generators.any_generator import is_ready, unfrozen, with_defaults
from knockoffs.generators.conditionals import TableConditionals
from knockoffs.generators.joint import JointDensity
from knockoffs.generators.joint_model import NetworkModel
from knockoffs.runtime.arrays import Array
from knockoffs.table.table import Table

Conditional = Callable[[Array, int, int, np.random.Generator], Array]


class DensityRedraws:
    """Redraws of each feature given all the others by a fitted density.

    `free` flags the features that can be redrawn, and `device` is where statistics of redraws are
    computed.
    """

    def __init__(self, conditionals: TableConditionals) -> None:
        self._conditionals = conditionals
        self.free, self.device = conditionals.free, conditionals.device

    def draw(self, feature: int, count: int, rng: np.random.Generator) -> tuple[Array, float]:
        """Return new cells, `[count, rows]`, and the mean effective number of places that they come
        from.
        """
        conditional = self._conditionals.of(feature)
        cells = conditional.sample(count, random_state=rng)
        return cells, float(conditional.effective_sample_size.mean())


class FunctionRedraws:
    """Redraws by a function of the cells, the feature's number, how many draws,
    and a random generator.
    """

    device = torch.device("cpu")

    def __init__(self, function: Conditional, codes: Array) -> None:
        self._function, self._codes = function, codes
        self.free = np.array([len(np.unique(column)) > 1 for column in codes.T])

    def draw(self, feature: int, count: int, rng: np.random.Generator) -> tuple[Array, float]:
        cells = np.asarray(
            self._function(self._codes.copy(), feature, count, rng), dtype=np.float64
        )
        if cells.shape != (count, len(self._codes)):
            raise ValueError(
                f"density returned draws of shape {cells.shape} for feature {feature}: return one "
                f"row per draw, "
                f"{(count, len(self._codes))}."
            )
        return cells, np.nan


Redraws = DensityRedraws | FunctionRedraws


def fitted_density(density: Any, table: Table, *, seed: int, progress: bool) -> Any:
    """Return the density to use: a function or a fitted one as it is,
    any other fitted to the table.
    """
    if density is None:
        density = JointDensity()
    if is_ready(density):
        return density
    return with_defaults(clone(density), random_state=seed, progress=progress).fit(table)


def redraws_of(density: Any, table: Table, seed: int) -> Redraws:
    """Return the redraws of the rows of a table by a fitted density, or by a function."""
    density = unfrozen(density)
    if isinstance(density, NetworkModel):
        return DensityRedraws(density.joint_density().conditionals(table, random_state=seed))
    return FunctionRedraws(density, table.codes)
