"""Where redraws of a feature come from: a density of the rows, or a function that knows the conditionals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from sklearn.base import clone

from knockoffs.generators.base import is_ready, unfrozen, with_defaults
from knockoffs.generators.conditionals import TableConditionals
from knockoffs.generators.ddlk import DDLK
from knockoffs.generators.joint import JointDensity
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.table.table import Table

Conditional = Callable[[Array, int, int, np.random.Generator], Array]


class Redrawn(NamedTuple):
    """New cells, `[draws, rows]`, and the mean effective number of places that they come from."""

    cells: Array
    effective: float


class Redraws(Protocol):
    """Draws of each feature given all the others, for the rows of a table."""

    @property
    def free(self) -> Flags:
        """Features that can be redrawn."""
        ...

    @property
    def device(self) -> torch.device:
        """Where statistics of redraws are computed."""
        ...

    def draw(self, feature: int, count: int, rng: np.random.Generator) -> Redrawn:
        """Draw new cells of a feature."""
        ...


class DensityRedraws:
    """Redraws by a fitted density."""

    def __init__(self, conditionals: TableConditionals) -> None:
        self._conditionals = conditionals
        self.free, self.device = conditionals.free, conditionals.device

    def draw(self, feature: int, count: int, rng: np.random.Generator) -> Redrawn:
        conditional = self._conditionals.of(feature)
        cells = conditional.sample(count, random_state=rng)
        return Redrawn(cells, float(conditional.effective_sample_size.mean()))


class FunctionRedraws:
    """Redraws by a function of the cells, the feature's number, how many draws, and a random generator."""

    device = torch.device("cpu")

    def __init__(self, function: Conditional, codes: Array) -> None:
        self._function, self._codes = function, codes
        self.free = np.array([len(np.unique(column)) > 1 for column in codes.T])

    def draw(self, feature: int, count: int, rng: np.random.Generator) -> Redrawn:
        cells = np.asarray(self._function(self._codes.copy(), feature, count, rng), dtype=np.float64)
        if cells.shape != (count, len(self._codes)):
            raise ValueError(
                f"density returned draws of shape {cells.shape} for feature {feature}: return one row per draw, "
                f"{(count, len(self._codes))}."
            )
        return Redrawn(cells, np.nan)


def fitted_density(density: Any, table: Table, *, seed: int, progress: bool) -> Any:
    """Return the density to use: a function or a fitted one as it is, any other fitted to the table."""
    if density is None:
        density = JointDensity()
    if is_ready(density):
        return density
    return with_defaults(clone(density), random_state=seed, progress=progress).fit(table)


def redraws_of(density: Any, table: Table, seed: int) -> Redraws:
    """Return the redraws of the rows of a table by a fitted density, or by a function."""
    density = unfrozen(density)
    if isinstance(density, DDLK):
        density = density.joint_density()
    if isinstance(density, JointDensity):
        return DensityRedraws(density.conditionals(table, random_state=seed))
    return FunctionRedraws(density, table.codes)
