"""Pictures of knockoffs are drawn from what they are given, and names stay text."""

from __future__ import annotations

import numpy as np

from benchmarks.experiments.pictures import compare_marginals, compare_methods
from knockoffs.runtime.figures import DATA

X = np.random.default_rng(0).normal(size=(80, 3))
TABLES = {"data": X, "$broken^{math": X[::-1], "copies": X}


def test_a_panel_for_each_table_with_its_points() -> None:
    figure = compare_methods(TABLES, 0, 2)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == list(TABLES)
    for axes, table in zip(shown, TABLES.values(), strict=True):
        np.testing.assert_array_equal(axes.collections[0].get_offsets(), table[:, [0, 2]])
    figure.canvas.draw()  # fails where a name is taken for a formula


def test_knockoff_panels_carry_the_outline_of_the_data() -> None:
    data, *others = [axes for axes in compare_methods(TABLES, 0, 1).axes if axes.get_visible()]
    assert len(data.collections) == 1
    assert all(len(axes.collections) == 2 for axes in others)


def test_columns_on_one_line_have_no_outline() -> None:
    line = np.column_stack([X[:, 0], X[:, 0]])
    assert [
        len(axes.collections) for axes in compare_methods({"data": line, "same": line}, 0, 1).axes
    ] == [1, 1]


def test_marginals_hold_all_rows() -> None:
    figure = compare_marginals(TABLES, 1)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == list(TABLES)[1:]
    for axes in shown:
        bars = [patch for patch in axes.patches if patch.get_facecolor()[:3] == _rgb(DATA)]
        assert sum(patch.get_height() for patch in bars) == len(X)
    figure.canvas.draw()


def test_missing_cells_are_left_out() -> None:
    gappy = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)
    tables = {"data": gappy, "knockoffs": gappy[::-1]}
    (axes,) = compare_marginals(tables, 1).axes
    bars = [patch for patch in axes.patches if patch.get_facecolor()[:3] == _rgb(DATA)]
    assert sum(patch.get_height() for patch in bars) == np.count_nonzero(~np.isnan(gappy[:, 1]))
    for figure in (
        compare_methods(tables, 0, 1),
        compare_methods(
            {"data": np.full((40, 2), np.nan), "knockoffs": np.full((40, 2), np.nan)}, 0, 1
        ),
    ):
        figure.canvas.draw()


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
