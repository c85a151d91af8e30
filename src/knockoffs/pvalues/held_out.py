r"""The holdout statistic: how well a model of earlier rows predicts y in the next ones,
by x_j or its redraws.

The rows are put in random order and cut into parts. A model of all features is fitted on the parts
before a part, and predicts that part with the cells of feature j and with redraws of these. Given
all earlier rows the cells and their redraws are exchangeable, so the part's p-value is at least
uniform whatever happened before: the p-values of the parts are as good as independent, and Fisher's
method combines them exactly. Fitting on all other parts instead would make the parts depend on each
other through the models, and exceeds the level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from knockoffs.check.exact import Found, sequential_pvalue
from knockoffs.pvalues.copies import in_standard_units, standard_units
from knockoffs.runtime.arrays import Array, Indices

PARTS = 5
WORK = 2**24


class Part(NamedTuple):
    """Rows that a model of earlier rows predicts."""

    model: Any
    rows: Indices
    centre: Array  # standard units of the earlier rows, in which the model sees the columns
    deviation: Array


def forward_parts(
    x: Array,
    y: Array,
    place: Indices | None,
    make_model: Callable[[int], Any],
    rng: np.random.Generator,
) -> list[Part]:
    """Fit a model before each part but the first; rows that repeat each other are in one part."""
    rows = np.arange(len(x)) if place is None else place
    order = rng.permutation(rows.max() + 1)
    number = np.empty_like(order)
    number[order] = np.arange(len(order)) * PARTS // len(order)
    part = number[rows]
    found = []
    for k in range(1, PARTS):
        before = part < k
        if len(np.unique(y[before])) > 1:
            centre, deviation = standard_units(x[before])
            model = make_model(int(rng.integers(2**31)))
            model.fit(in_standard_units(x[before], centre, deviation), y[before])
            found.append(Part(model, np.flatnonzero(part == k), centre, deviation))
    return found


def holdout_pvalue(
    gains: list[Array],
    places: list[Indices | None],
    rng: np.random.Generator,
    *,
    resamples: int,
    exceedances: int,
) -> Found:
    """The p-value of a feature from the gains in each part, `[rows, 1 + copies]`: minus losses,
    its own first.
    """
    found = [
        _part_pvalue(own, place, rng, resamples=resamples, exceedances=exceedances)
        for own, place in zip(gains, places, strict=True)
    ]
    if not found:
        return Found(1.0, 0)
    statistic = -2 * np.sum(np.log([part.pvalue for part in found]))
    return Found(float(chi2.sf(statistic, 2 * len(found))), sum(part.resamples for part in found))


def _part_pvalue(
    gains: Array,
    place: Indices | None,
    rng: np.random.Generator,
    *,
    resamples: int,
    exceedances: int,
) -> Found:
    if place is not None:  # rows that repeat another one are redrawn with it
        distinct, position = np.unique(place, return_inverse=True)
        together = np.zeros((len(distinct), gains.shape[1]))
        np.add.at(together, position, gains)
        gains = together
    gains = gains - gains[:, :1]
    rows = np.arange(len(gains))

    def redraw(count: int) -> Array:
        return gains[rows, rng.integers(gains.shape[1], size=(count, len(rows)))].sum(1)

    most = max(1, WORK // len(rows))
    return sequential_pvalue(0.0, redraw, resamples=resamples, exceedances=exceedances, most=most)
