"""The test of one feature: redraw it, compute the statistic for its own cells and for redraws,
count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from knockoffs.check.exact import Found, sequential_pvalue
from knockoffs.pvalues.copies import COPIES, Columns, copies_of, feature_columns, in_standard_units
from knockoffs.pvalues.distilled import Distilled, Effect
from knockoffs.pvalues.held_out import WORK, Part, holdout_pvalue
from knockoffs.pvalues.redraws import Redraws
from knockoffs.pvalues.residuals import Curves, Residuals
from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.randomness import torch_generator
from knockoffs.schema.schema import Schema
from knockoffs.statistics.crossfit import losses
from knockoffs.statistics.problem import Problem
from knockoffs.targets.base import Target

Variant = Literal["distilled", "holdout"]


class Tested(NamedTuple):
    """What the test of one feature found."""

    found: Found
    effect: Effect
    effective: float


@dataclass(frozen=True)
class Study:
    """All that the tests of single features share.

    `parts` are those of the holdout variant, and None for the distilled one. `place` says which
    distinct row each row repeats, and is None where none does.
    """

    codes: Array
    schema: Schema
    columns: Columns
    curves: Curves
    target: Target
    place: Indices | None
    redraws: Redraws
    residuals: Residuals
    parts: list[Part] | None
    resamples: int
    exceedances: int

    def test(self, feature: int, seed: int) -> Tested:
        """Test one feature, by its number; the same seed gives the same bits."""
        rng = np.random.default_rng([seed, feature])
        distinct = (
            slice(None) if self.place is None else np.unique(self.place, return_index=True)[1]
        )
        own = self.codes[distinct, feature]
        cells, effective = self.redraws.draw(feature, COPIES, rng)
        copies = copies_of(self.schema[feature], own, cells, self.redraws.device)
        distilled = Distilled(
            copies, self.residuals.of(feature), self.curves.modifiers(feature), self.place
        )
        if distilled.empty:
            return Tested(Found(1.0, 0), Effect(np.nan, np.nan, 0.0), effective)
        if self.parts is None:
            found = self._distilled(distilled, rng)
        else:
            own_and_redrawn = np.concatenate([own[None], cells]).T
            of_rows = own_and_redrawn if self.place is None else own_and_redrawn[self.place]
            found = self._holdout(feature, of_rows, self.parts, rng)
        return Tested(found, distilled.effect(), effective)

    def _distilled(self, distilled: Distilled, rng: np.random.Generator) -> Found:
        generator = torch_generator(rng, self.redraws.device)
        return sequential_pvalue(
            distilled.observed(),
            lambda count: distilled.redraw(count, generator),
            resamples=self.resamples,
            exceedances=self.exceedances,
        )

    def _holdout(
        self, feature: int, cells: Array, parts: list[Part], rng: np.random.Generator
    ) -> Found:
        gains = [self._gains(feature, cells[part.rows], part) for part in parts]
        places = [None if self.place is None else self.place[part.rows] for part in parts]
        return holdout_pvalue(
            gains, places, rng, resamples=self.resamples, exceedances=self.exceedances
        )

    def _gains(self, feature: int, cells: Array, part: Part) -> Array:
        """Minus the losses of a part's model, with each of the copies of a feature, `[rows,
        copies]`.
        """
        own = self.columns.unit == feature
        others = in_standard_units(self.columns.x[part.rows], part.centre, part.deviation)
        gains = np.empty_like(cells)
        size = max(1, WORK // others.size)
        for start in range(0, cells.shape[1], size):  # some copies at a time
            copies = cells[:, start : start + size].T
            x = np.tile(others, (len(copies), 1))
            columns = feature_columns(self.schema[feature], copies.reshape(-1))
            x[:, own] = in_standard_units(columns, part.centre[own], part.deviation[own])
            target = self.target.rows(np.tile(part.rows, len(copies)))
            lost = losses(part.model, x, Problem(x, x, target))
            gains[:, start : start + size] = -lost.reshape(copies.shape).T
        return gains
