"""Shapes of a feature and its copies treat the cell itself and its copies alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from knockoffs import infer_schema
from knockoffs.pvalues.copies import Copies, copies_of
from knockoffs.runtime.arrays import Array

RNG = np.random.default_rng(0)
CELLS = {
    "continuous": RNG.lognormal(size=(8, 300)),
    "counts": RNG.poisson(2.0, size=(8, 300)).astype(float),
    "two values": (RNG.random((8, 300)) < 0.2).astype(float),
    "with missing cells": np.where(RNG.random((8, 300)) < 0.3, np.nan, RNG.normal(size=(8, 300))),
    "levels": RNG.integers(5, size=(8, 300)).astype(float),
    "nearly constant": np.where(RNG.random((8, 300)) < 0.0005, 1.0, 0.0),
}


def shapes(cells: Array, what: str) -> Copies:
    """The copies are the rows of `cells`, and the first of these is the feature itself."""
    column = infer_schema(
        pd.DataFrame({"x": np.nan_to_num(cells[0])}),
        kinds={"x": "nominal"} if what == "levels" else None,
    )[0]
    return copies_of(column, cells[0], cells[1:], torch.device("cpu"))


@pytest.mark.parametrize("what", CELLS)
def test_exchanging_cells_and_copies_exchanges_their_shapes(what: str) -> None:
    cells = CELLS[what]
    # other ones in each row of the table
    order = np.argsort(np.random.default_rng(1).random(cells.shape), axis=0)
    found, again = shapes(cells, what), shapes(np.take_along_axis(cells, order, axis=0), what)
    expected = np.take_along_axis(found.shapes.numpy(), order.T[:, :, None], axis=1)
    np.testing.assert_allclose(again.shapes.numpy(), expected, atol=1e-9)
    assert again.unit == pytest.approx(found.unit)


@pytest.mark.parametrize("what", CELLS)
def test_shapes_are_uncorrelated_with_mean_0_and_variance_1(what: str) -> None:
    flat = shapes(CELLS[what], what).shapes.flatten(0, 1)
    assert flat.shape[1] >= (0 if what == "nearly constant" else 1)
    torch.testing.assert_close(flat.mean(0), torch.zeros(flat.shape[1]).double(), atol=1e-9, rtol=0)
    torch.testing.assert_close(
        flat.T @ flat / len(flat), torch.eye(flat.shape[1]).double(), atol=1e-9, rtol=0
    )


def test_the_first_shape_is_the_value_and_curves_and_missing_cells_follow() -> None:
    found = shapes(CELLS["continuous"], "continuous").shapes
    value, cells = found[:, :, 0].flatten(), CELLS["continuous"].T.flatten()
    inner = (cells > np.quantile(cells, 0.01)) & (cells < np.quantile(cells, 0.99))
    assert np.corrcoef(value[inner], cells[inner])[0, 1] == pytest.approx(1)
    assert found.shape[2] == 4
    gaps = shapes(CELLS["with missing cells"], "with missing cells").shapes
    assert gaps.shape[2] == 5
