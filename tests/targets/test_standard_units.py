"""Signs and order of w do not depend on the units and origins of y and of the columns of X."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.linear_model import Lasso, PoissonRegressor, Ridge
from sklearn.svm import LinearSVR

from knockoffs import knockoff_select
from knockoffs.check.hazards import copies_of_target
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.importance import ImportanceStatistic
from knockoffs.statistics.midpoint import MidpointStatistic
from knockoffs.statistics.registry import STATISTICS
from knockoffs.targets.inputs import read_target
from knockoffs.targets.standard_units import standardise

LAW = AutoregressiveGaussian(features=8, rho=0.4)
X = LAW.sample(300, random_state=0)
X_TILDE = LAW.knockoffs(X, random_state=0)
Y = X[:, :3].sum(1) + 0.5 * np.random.default_rng(1).normal(size=300)
LEVELS = (0.1, 0.2, 0.34, 0.5)
COLUMN_UNITS = 10.0 ** np.array([-12, 12, -9, 9, -3, 3, 0, 6])

CHEAPER: dict[str, dict[str, Any]] = {  # the same models with fewer fits
    "mixture": {"folds": 2, "blocks": 1},
    "boosting": {"folds": 2, "blocks": 1},
    "linear+boosting": {"folds": 2, "blocks": 1},
    "lightgbm": {"folds": 2, "blocks": 1},
    "midpoint": {"folds": 2},
}
OTHERS: dict[str, Statistic] = {
    "importance of a ridge": ImportanceStatistic(Ridge()),
    "importance of a lasso with a fixed penalty": ImportanceStatistic(Lasso(alpha=0.05)),
    "midpoint with a support vector machine": MidpointStatistic(LinearSVR(random_state=0), folds=2),
    "mixture with absolute errors": HoldoutStatistic(
        Ridge(), folds=2, scoring="neg_mean_absolute_error"
    ),
    "midpoint with explained variance": MidpointStatistic(Ridge(), folds=2, scoring="r2"),
}
# What rounding errors can become, as a share of the largest |w|: training in single precision
# enlarges those of distant origins, and in small nodes of a forest many columns split equally well,
# so that they decide.
ENLARGED = {"mixture": 0.05, "holdout": 0.05, "midpoint": 0.05, "importance": 0.02}


def statistic_by(name: str) -> Statistic:
    statistic = (
        OTHERS[name] if name in OTHERS else STATISTICS[name]().set_params(**CHEAPER.get(name, {}))
    )
    return statistic.set_params(random_state=0)


def assert_same_signs_and_order(w: np.ndarray, expected: np.ndarray, floor: float) -> None:
    """The signs of w above the floor (in units of the largest |w|),
    and the order of |w| further apart than it.
    """
    w, expected = w / np.abs(w).max(), expected / np.abs(expected).max()
    clear = np.abs(expected) > floor
    np.testing.assert_array_equal(np.sign(w[clear]), np.sign(expected[clear]))
    larger = np.abs(expected)[:, None] > np.abs(expected) + floor
    assert (np.abs(w)[:, None] > np.abs(w))[larger].all()
    for level in LEVELS:  # whatever is above the floor is selected or not as before
        now, before = (
            knockoff_select(np.where(clear, v, 0), level, offset=0) for v in (w, expected)
        )
        np.testing.assert_array_equal(now, before)


@pytest.mark.parametrize("name", [*STATISTICS, *OTHERS])
def test_units_and_origins_change_neither_signs_nor_order(name: str) -> None:
    statistic = statistic_by(name)
    expected = statistic.compute(X, X_TILDE, Y)
    assert expected[:3].min() > 0.1 * expected.max()
    floor = ENLARGED.get(name, 1e-6)
    for y_unit, x_unit, origin in (
        (1e12, COLUMN_UNITS, 0.0),
        (1e-12, 1 / COLUMN_UNITS, 0.0),
        (1e-12, COLUMN_UNITS, 1e9),
    ):
        x, x_tilde, y = x_unit * (X + origin), x_unit * (X_TILDE + origin), y_unit * (Y - origin)
        assert_same_signs_and_order(statistic.compute(x, x_tilde, y), expected, floor)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_squares_neither_underflow_nor_overflow(unit: float) -> None:
    for statistic in (statistic_by("lasso"), MidpointStatistic(Ridge(), folds=2, random_state=0)):
        expected = statistic.compute(X, X_TILDE, Y)
        np.testing.assert_allclose(statistic.compute(X, X_TILDE, unit * Y), expected, rtol=1e-9)
        np.testing.assert_allclose(
            statistic.compute(unit * X, unit * X_TILDE, Y), expected, rtol=1e-9
        )


columns = hnp.arrays(
    np.float64, (2, 6, 3), elements=st.floats(-1.7e308, 1.7e308, allow_subnormal=False)
)


@given(columns, st.lists(st.booleans(), min_size=3, max_size=3))
def test_standard_units(tables: np.ndarray, swapped: list[bool]) -> None:
    x, x_tilde = tables
    (z, z_tilde), centre, deviation = standardise(x, x_tilde)
    together = np.concatenate([z, z_tilde])
    np.testing.assert_allclose(together.mean(0), 0, atol=1e-12)
    constant = (together == 0).all(0)
    np.testing.assert_allclose(together.std(0), np.where(constant, 0, 1), atol=1e-12)
    largest = np.maximum(np.abs(tables).max((0, 1)), np.finfo(float).tiny)
    np.testing.assert_allclose(
        z * (deviation / largest) + centre / largest, x / largest, atol=1e-11
    )
    # exchanging a feature and its knockoff exchanges the results, to the last bit
    again = standardise(np.where(swapped, x_tilde, x), np.where(swapped, x, x_tilde)).tables
    np.testing.assert_array_equal(again[0], np.where(swapped, z_tilde, z))
    np.testing.assert_array_equal(again[1], np.where(swapped, z, z_tilde))


def test_the_order_in_memory_does_not_matter_to_exchanges() -> None:
    one, other = (
        standardise(np.asfortranarray(X), X_TILDE).tables,
        standardise(X_TILDE, np.asfortranarray(X)).tables,
    )
    np.testing.assert_array_equal(one, other[::-1])


def test_columns_that_vary_by_rounding_errors_alone_become_zero() -> None:
    x = 1e20 * (np.full((50, 2), 0.1) + 1e-16 * np.arange(50)[:, None] * [1, 0])
    x[3, 1] *= 1.01
    (z,), _, _ = standardise(x)
    assert (z[:, 0] == 0).all()
    assert z[3, 1] == pytest.approx(7)  # one of 50 rows stands out by the root of 49


def test_a_target_that_varies_by_rounding_errors_alone_is_constant() -> None:
    with pytest.raises(ValueError, match=r"T: y is constant \(0\.1\) up to rounding"):
        read_target(0.1 + 1e-17 * np.arange(50), "regression", rows=50, who="T")


@pytest.mark.parametrize("y_unit", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("x_unit", [1e-300, 1.0, 1e300])
def test_copies_of_the_target_are_found_in_any_unit(y_unit: float, x_unit: float) -> None:
    x = x_unit * np.column_stack([X[:, 0], Y, X[:, 1], 3 - 2 * Y])
    np.testing.assert_array_equal(copies_of_target(x, y_unit * Y), [1, 3])
    np.testing.assert_array_equal(copies_of_target(x[:, [0, 2]], y_unit * Y), [])


def test_estimators_that_need_the_numbers_as_they_are() -> None:
    counts = np.random.default_rng(0).poisson(np.exp(0.5 * X[:, :3].sum(1)))
    for kind in (HoldoutStatistic, MidpointStatistic, ImportanceStatistic):
        w = kind(PoissonRegressor(), standardise=False, task="regression", random_state=0).compute(
            X, X_TILDE, counts
        )
        assert w[:3].min() > np.abs(w[3:]).max()


def test_scorers_see_y_in_its_own_units() -> None:
    counts = np.random.default_rng(0).poisson(np.exp(0.5 * X[:, :3].sum(1)))
    seen: list[np.ndarray] = []

    def score(model: Any, x: np.ndarray, y: np.ndarray) -> float:
        seen.append(y)
        return -float(np.abs(np.log1p(y) - np.log1p(np.maximum(model.predict(x), 0))).mean())

    w = MidpointStatistic(
        Ridge(), folds=2, scoring=score, task="regression", random_state=0
    ).compute(X, X_TILDE, counts)
    assert w[:3].min() > np.abs(w[3:]).max()
    assert all(np.isin(y, counts).all() for y in seen)


@pytest.mark.parametrize(
    "statistic",
    [HoldoutStatistic(standardise=False), MidpointStatistic("boosting", standardise=False)],
    ids=["network", "by name"],
)
def test_models_of_the_package_need_standard_units(statistic: Statistic) -> None:
    with pytest.raises(
        ValueError, match=r"standardise=False needs an estimator of your own.*or standardise=True"
    ):
        statistic.compute(X, X_TILDE, Y)
    with pytest.raises(ValueError, match="estimator=None is made for columns in standard units"):
        ImportanceStatistic(standardise=False).compute(X, X_TILDE, Y)
