"""Laws of the knockoff statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from knockoffs.datasets import AutoregressiveGaussian, linear_response
from knockoffs.engine.response import ResponseNetworks, cross_entropy, squared_error, swap_differences
from knockoffs.statistics import (
    HoldoutStatistic,
    ImportanceStatistic,
    LassoStatistic,
    MidpointStatistic,
    Statistic,
)
from knockoffs.statistics.base import Problem, read_target
from knockoffs.statistics.crossfit import Split

LAW = AutoregressiveGaussian(features=8, rho=0.4)
X = LAW.sample(400, random_state=0)
X_TILDE = LAW.knockoffs(X, random_state=0)
RELEVANT = np.arange(8) < 3
Y = X[:, :3].sum(1) + 0.5 * np.random.default_rng(1).normal(size=400)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(Y, [-1, 1])]

EXACT = [
    LassoStatistic(random_state=0),
    ImportanceStatistic(Ridge(), random_state=0),
    MidpointStatistic(random_state=0),
    MidpointStatistic("boosting", folds=2, random_state=0),
]
APPROXIMATE = [
    HoldoutStatistic(mixture=0, folds=2, random_state=0),
    HoldoutStatistic(random_state=0),
    HoldoutStatistic(LinearRegression(), mixture=0.5, folds=3, random_state=0),
    HoldoutStatistic(make_pipeline(StandardScaler(), Ridge()), mixture=0, folds=None, random_state=0),
]
ALL = [*EXACT, ImportanceStatistic(random_state=0), *APPROXIMATE]


@pytest.mark.parametrize("statistic", EXACT, ids=repr)
@pytest.mark.parametrize("target", ["real", "classes"])
def test_swapping_a_feature_flips_its_sign_and_nothing_else(statistic: Statistic, target: str) -> None:
    y = Y if target == "real" else CLASSES
    if target == "classes" and isinstance(statistic, ImportanceStatistic):
        statistic = ImportanceStatistic(LogisticRegression(), random_state=0)
    mask = np.array([True, False, False, True, True, False, True, False])
    w = statistic.compute(X, X_TILDE, y)
    swapped = statistic.compute(np.where(mask, X_TILDE, X), np.where(mask, X, X_TILDE), y)
    assert statistic.exact
    tolerance = 1e-8 if target == "real" else 5e-3  # the logistic solver stops early
    np.testing.assert_allclose(swapped, np.where(mask, -w, w), atol=tolerance * np.abs(w).max())


@pytest.mark.parametrize("statistic", ALL, ids=repr)
def test_relevant_features_stand_out_and_their_knockoffs_do_not(statistic: Statistic) -> None:
    w = statistic.compute(X, X_TILDE, Y)
    assert w[RELEVANT].min() > np.abs(w[~RELEVANT]).max()
    assert (statistic.compute(X_TILDE, X, Y)[RELEVANT] < w[RELEVANT]).all()


@pytest.mark.parametrize(
    "statistic",
    [
        LassoStatistic(random_state=0),
        HoldoutStatistic(random_state=0),
        HoldoutStatistic(LogisticRegression(), folds=2),
    ],
    ids=repr,
)
@pytest.mark.parametrize("y", [CLASSES, CLASSES == "high"], ids=["three classes", "two classes"])
def test_classes(statistic: Statistic, y: Any) -> None:
    w = statistic.compute(X, X_TILDE, y)
    assert w[RELEVANT].min() > w[~RELEVANT].max()


@pytest.mark.parametrize("statistic", ALL, ids=repr)
def test_the_same_seed_gives_the_same_numbers_and_nothing_is_touched(statistic: Statistic) -> None:
    before = X.copy(), X_TILDE.copy(), Y.copy()
    state = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 (that it is untouched)
    first, second = (statistic.compute(X, X_TILDE, Y) for _ in range(2))
    assert np.array_equal(first, second)
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, X_TILDE, Y), strict=True))
    assert torch.equal(state[0], torch.random.get_rng_state())
    assert np.array_equal(state[1], np.random.get_state()[1])  # noqa: NPY002


def test_the_plain_statistic_is_the_difference_of_held_out_losses() -> None:
    statistic = HoldoutStatistic(LinearRegression(), mixture=0, folds=None, test_size=0.3, random_state=0)
    data = Problem(X, X_TILDE, Y, "regression")
    ((train, test),) = statistic._splits(data, np.random.default_rng(0))
    split = Split(train, test)
    model = LinearRegression().fit(X[train], Y[train])
    swapped = X[test].copy()
    swapped[:, 1] = X_TILDE[test, 1]
    expected = ((model.predict(swapped) - Y[test]) ** 2).mean() - ((model.predict(X[test]) - Y[test]) ** 2).mean()
    (found,) = statistic._model_differences(LinearRegression(), data, split, np.random.default_rng(0))
    assert found[:, 1].mean() == pytest.approx(expected)


def test_the_mixture_gives_power_away() -> None:
    """A model that must do with x̃_j half of the time leans less on x_j."""
    trees = HistGradientBoostingRegressor(max_iter=30, min_samples_leaf=5)
    plain, mixed = (
        HoldoutStatistic(trees, mixture=share, folds=2, random_state=0).compute(X, X_TILDE, Y)
        for share in (0, 0.5)
    )
    assert (mixed[RELEVANT] < plain[RELEVANT]).all()


@pytest.mark.parametrize("folds", [None, 4])
def test_groups_stay_together(folds: int | None) -> None:
    groups = np.repeat(np.arange(100), 4)
    statistic = HoldoutStatistic(folds=folds)
    for train, test in statistic._splits(Problem(X, X_TILDE, Y, "regression", groups), np.random.default_rng(0)):
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("loss", [squared_error, cross_entropy])
def test_swap_differences_are_those_of_one_network_at_a_time(count: int, loss: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    networks = ResponseNetworks(count, 5, 3, width=7, generator=generator).double()
    x, x_tilde = torch.randn(2, 20, 5, generator=generator, dtype=torch.float64)
    y = torch.randint(3, (20,), generator=generator).double()
    found = swap_differences(networks, x, x, x_tilde, y, loss)
    for j in range(5):
        swapped = x.clone()
        swapped[:, j] = x_tilde[:, j]
        network = 0 if count == 1 else j
        with torch.no_grad():
            before, after = (loss(networks(rows), y)[network] for rows in (x, swapped))
        torch.testing.assert_close(found[:, j], after - before)


def test_targets() -> None:
    assert read_target([1.5, 2.5], "auto", rows=2, who="T")[0] == "regression"
    task, y = read_target(["b", "a", "b"], "auto", rows=3, who="T")
    assert (task, y.tolist()) == ("classification", [1, 0, 1])
    assert read_target([0, 1], "regression", rows=2, who="T")[0] == "regression"


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.zeros(400), "one class only"),
        (np.full(400, 1.5), "constant"),
        (np.where(np.arange(400) < 3, np.nan, Y), "3 missing values"),
        (np.where(np.arange(400) < 3, np.inf, Y), "infinite"),
        (Y[:-1], "one value for each of the 400 rows"),
    ],
)
def test_bad_targets(y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LassoStatistic(task="auto" if said == "one class only" else "regression").compute(X, X_TILDE, y)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="one knockoff for each cell"):
        LassoStatistic().compute(X, X_TILDE[:, :-1], Y)
    with pytest.raises(ValueError, match="neither feature_importances_ nor coef_"):
        ImportanceStatistic(HistGradientBoostingRegressor()).compute(X, X_TILDE, Y)
    with pytest.raises(ValueError, match=r"mixture=1 is not valid"):
        HoldoutStatistic(mixture=1).compute(X, X_TILDE, Y)
    with pytest.raises(ValueError, match=r"folds=1 is not valid"):
        HoldoutStatistic(folds=1).compute(X, X_TILDE, Y)
    with pytest.raises(ValueError, match="has no predict_proba"):
        HoldoutStatistic(Ridge()).compute(X, X_TILDE, CLASSES)


def test_the_linear_response_is_the_papers() -> None:
    y, relevant = linear_response(X, relevant=3, amplitude=100, random_state=0)
    assert relevant.sum() == 3
    coefficients = LinearRegression().fit(X, y).coef_
    np.testing.assert_allclose(np.abs(coefficients), np.where(relevant, 5.0, 0.0), atol=0.3)
