"""Figures of results are drawn from what they are given, and names stay text."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from knockoffs import GaussianKnockoffs, KnockoffSelector, LassoStatistic


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
    return KnockoffSelector(GaussianKnockoffs(), LassoStatistic(), fdr=0.2, random_state=0).fit(
        table, y
    )


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
