"""Figures are drawn from what they are given, and names stay text."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from knockoffs import GaussianKnockoffs, KnockoffSelector, LassoStatistic
from knockoffs.report.knockoff_pictures import DATA, compare_marginals, compare_methods

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
    assert [len(axes.collections) for axes in compare_methods({"data": line, "same": line}, 0, 1).axes] == [1, 1]


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
        compare_methods({"data": np.full((40, 2), np.nan), "knockoffs": np.full((40, 2), np.nan)}, 0, 1),
    ):
        figure.canvas.draw()


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))


# figures of results


def drawn(figure: Figure) -> bytes:
    """The picture as a file, so that all of it is laid out."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


@pytest.fixture(scope="module")
def fitted() -> KnockoffSelector:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 12)), columns=[f"$price_{j}" for j in range(12)])
    y = table.iloc[:, :6].sum(axis=1) + rng.normal(size=300)
    table["$price_0"] = np.where(table["$price_0"] > 0, "high", "low")
    return KnockoffSelector(GaussianKnockoffs(), LassoStatistic(), fdr=0.2, random_state=0).fit(table, y)


def test_a_selection_draws_its_statistics(fitted: KnockoffSelector) -> None:
    selection = fitted.selection_
    figure = selection.plot(most=8)
    (axes,) = figure.axes
    largest = np.sort(selection.w)[-8:]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], largest)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-1] == selection.names[int(np.argmax(selection.w))]
    assert drawn(figure)
    with pytest.raises(ValueError, match="most=0"):
        selection.plot(most=0)


def test_effects_draw_a_panel_for_each(fitted: KnockoffSelector) -> None:
    effects = fitted.selection_.effects
    figure = effects.plot(target="y")
    assert sum(axes.get_visible() for axes in figure.axes) == len(effects)
    assert drawn(figure)
    (axes,) = effects.plot("$price_1").axes
    curve = effects["$price_1"].curves[0]
    np.testing.assert_allclose(axes.lines[-1].get_ydata(), curve.mean)
    assert axes.get_xlabel() == "$price_1"
    assert drawn(fitted.selection_.effects.plot("$price_0"))  # levels as bars


def test_a_certificate_draws_tests_and_features(fitted: KnockoffSelector) -> None:
    certificate = fitted.certificate_
    figure = certificate.plot(most=5)
    left, right = figure.axes
    assert len(left.get_yticklabels()) == len(certificate.found.tests)
    widths = [bar.get_width() for bar in right.patches]
    np.testing.assert_allclose(widths[::-1], np.sort(certificate.found.per_feature.ks)[::-1][:5])
    assert certificate.verdict in figure.get_suptitle()
    assert drawn(figure)
