"""Figures show the numbers of the summary."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.experiments.figures import CURVE, curves, heat_map
from benchmarks.experiments.summary import distance_from_nominal, means, rates

METHODS = ("ddlk", "gaussian", "$own^{broken")


@pytest.fixture(scope="module")
def results() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    relevant = np.arange(30) < 8
    tables = [
        pd.DataFrame(
            {
                **{
                    "variant": variant,
                    "response": "100/√N",
                    "method": method,
                    "replicate": replicate,
                },
                **{"statistic": statistic, "feature": range(30), "unit": range(30)},
                **{
                    "w": rng.normal(size=30) + relevant,
                    "relevant": pd.array(relevant, dtype="boolean"),
                },
            }
        )
        for variant in ("rho-0.2", "$rho")
        for replicate in range(2)
        for method in METHODS
        for statistic in ("lasso", "$held_out^{")
    ]
    return pd.concat(tables, ignore_index=True)


def curve(results: pd.DataFrame) -> pd.DataFrame:
    return rates(results, CURVE.tolist())


def test_curves_have_a_line_for_each_method_and_the_diagonal(results: pd.DataFrame) -> None:
    figure = curves(curve(results), "rho-0.2", "100/√N")
    frame = means(results[results["variant"] == "rho-0.2"], CURVE.tolist())
    (above, below), statistics = np.array(figure.axes).reshape(2, 2), ("lasso", "$held_out^{")
    for value, panels in (("fdp", above), ("power", below)):
        for axes, statistic in zip(panels, statistics, strict=True):
            *lines, last = axes.lines
            if value == "fdp":
                assert axes.get_title() == statistic
                np.testing.assert_array_equal(*last.get_data())  # the diagonal
            else:
                lines = [*lines, last]
            assert [line.get_label() for line in lines] == list(METHODS)
            for line, method in zip(lines, METHODS, strict=True):
                found = frame[(frame["statistic"] == statistic) & (frame["method"] == method)]
                np.testing.assert_allclose(line.get_xdata(), CURVE)
                np.testing.assert_allclose(line.get_ydata(), found[value])
            assert len({line.get_color() for line in lines}) == len(METHODS)
            assert len(axes.collections) == len(METHODS)
    figure.canvas.draw()  # fails where a name is taken for a formula


def test_the_worst_are_seen(results: pd.DataFrame) -> None:
    """All that is selected is false, with an FDP of 1."""
    wrong = results.assign(w=np.where(results["relevant"], -1.0, 1.0))
    for axes in curves(curve(wrong), "rho-0.2", "100/√N").axes:
        low, high = axes.get_ylim()
        for line in axes.lines:
            assert low <= line.get_ydata().min()
            assert line.get_ydata().max() <= high


def test_bands_are_one_standard_error_wide(results: pd.DataFrame) -> None:
    axes = curves(curve(results), "rho-0.2", "100/√N").axes[0]
    frame = means(results[results["variant"] == "rho-0.2"], CURVE.tolist())
    found = frame[(frame["statistic"] == "lasso") & (frame["method"] == "ddlk")]
    corners = axes.collections[0].get_paths()[0].vertices
    last = corners[np.isclose(corners[:, 0], CURVE[-1]), 1]
    mean, error = found["fdp"].iloc[-1], found["fdp_error"].iloc[-1]
    assert error > 0
    assert (last.min(), last.max()) == (pytest.approx(mean - error), pytest.approx(mean + error))


def test_one_replicate_is_drawn_without_bands(results: pd.DataFrame) -> None:
    figure = curves(curve(results[results["replicate"] == 0]), "rho-0.2", "100/√N")
    figure.canvas.draw()
    assert np.isfinite(figure.axes[0].lines[0].get_ydata()).all()


def test_the_heat_map_has_the_numbers_of_the_table(results: pd.DataFrame) -> None:
    results = results[results["statistic"] == "lasso"]
    table = distance_from_nominal(curve(results))
    figure = heat_map(curve(results))
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), table.to_numpy())
    assert [text.get_text() for text in axes.texts] == [
        f"{value:.3f}" for value in table.to_numpy().ravel()
    ]
    assert [tuple(text.get_position()) for text in axes.texts] == [
        (c, r) for r in range(3) for c in range(2)
    ]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(METHODS)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["rho-0.2", "$rho"]
    figure.canvas.draw()


def test_a_cell_of_the_heat_map_without_runs_stays_empty(results: pd.DataFrame) -> None:
    missing = (results["method"] == "ddlk") & (results["variant"] == "rho-0.2")
    axes = heat_map(curve(results[(results["statistic"] == "lasso") & ~missing])).axes[0]
    assert len(axes.texts) == 2 * len(METHODS) - 1
    assert "nan" not in {text.get_text() for text in axes.texts}
