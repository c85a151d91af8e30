"""Statistics of mixed tables: text, categories, booleans and missing cells, one w per feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from knockoffs import knockoff_select
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.importance import ImportanceStatistic
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.statistics.midpoint import MidpointStatistic
from knockoffs.statistics.problem import Problem
from knockoffs.table.design import aligned, paired_design
from knockoffs.table.table import read_table
from knockoffs.targets.quantity import Quantity

ROWS = 240
FEATURES = ["ward", "dose", "age", "smoker", "grade", "site", "weight", "pulse"]
RELEVANT = np.arange(8) < 3


def mixed(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Independent columns, so that another draw is an exact knockoff."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["north", "south", None], rows, p=[0.5, 0.3, 0.2])
    grades = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    return pd.DataFrame(
        {
            "ward": rng.choice(list("abcd"), rows, p=[0.35, 0.3, 0.2, 0.15]),
            "dose": np.where(rng.random(rows) < 0.3, np.nan, rng.normal(5, 2, rows)),
            "age": rng.normal(50, 10, rows),
            "smoker": rng.random(rows) < 0.3,
            "grade": pd.Series(rng.choice(grades.categories, rows)).astype(grades),
            "site": pd.Series(site, dtype="category"),
            "weight": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(70, 8, rows)),
            "pulse": rng.poisson(6, rows),
        }
    )


X, X_TILDE = mixed(0), mixed(1)
# neither increasing nor decreasing in the number of the level, and of the dose only whether it is
# missing
SIGNAL = (
    X["ward"].map({"a": 1, "b": -1, "c": 1, "d": -1})
    + 2.0 * X["dose"].isna()
    + (X["age"] - 50) / 10
)
Y = (SIGNAL + 0.5 * np.random.default_rng(2).normal(size=ROWS)).to_numpy()
CLASSES = np.array(["low", "middle", "high"])[np.digitize(Y, [0, 1.2])]

EXACT = [
    LassoStatistic(cv=3, random_state=0),
    ImportanceStatistic(Ridge(), random_state=0),
    MidpointStatistic(folds=2, random_state=0),
    MidpointStatistic("boosting", folds=2, random_state=0),
]
OTHERS = [
    ImportanceStatistic(random_state=0),
    MidpointStatistic("linear+boosting", folds=2, random_state=0),
    MidpointStatistic("lightgbm", folds=2, random_state=0),
    HoldoutStatistic(mixture=0, folds=2, random_state=0),
    HoldoutStatistic(folds=2, blocks=4, random_state=0),
    HoldoutStatistic(LinearRegression(), folds=2, random_state=0),
    HoldoutStatistic("boosting", folds=2, blocks=2, random_state=0),
    HoldoutStatistic("linear+boosting", folds=2, blocks=2, random_state=0),
    HoldoutStatistic("lightgbm", folds=2, blocks=2, random_state=0),
]


def swap(
    x: pd.DataFrame, x_tilde: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    one, other = x.copy(), x_tilde.copy()
    for name in names:
        one[name], other[name] = x_tilde[name], x[name]
    return one, other


@pytest.mark.parametrize("statistic", EXACT, ids=repr)
@pytest.mark.parametrize("target", ["real", "three classes", "two classes"])
def test_swapping_a_feature_of_any_kind_flips_its_sign_and_nothing_else(
    statistic: Statistic, target: str
) -> None:
    y = {"real": Y, "three classes": CLASSES, "two classes": Y > 0.6}[target]
    if target != "real" and isinstance(statistic, ImportanceStatistic):
        statistic = ImportanceStatistic(
            LogisticRegression(tol=1e-10, max_iter=1000), random_state=0
        )
    w = statistic.compute(X, X_TILDE, y)
    names = ["ward", "dose", "site", "smoker", "pulse"]
    expected = np.where(np.isin(FEATURES, names), -w, w)
    swapped = statistic.compute(*swap(X, X_TILDE, names), y)
    if isinstance(statistic, MidpointStatistic):
        np.testing.assert_array_equal(swapped, expected)  # bit by bit
    else:
        np.testing.assert_allclose(swapped, expected, atol=1e-7 * np.abs(w).max())


def test_with_groups_of_rows_too() -> None:
    groups = np.random.default_rng(3).permutation(np.repeat(np.arange(24), 10))
    y = Y + np.random.default_rng(4).normal(size=24)[groups]
    for statistic in (
        LassoStatistic(cv=3, random_state=0),
        MidpointStatistic(Ridge(), folds=2, random_state=0),
    ):
        w = statistic.compute(X, X_TILDE, y, groups=groups)
        swapped = statistic.compute(*swap(X, X_TILDE, ["ward", "weight"]), y, groups=groups)
        sign = np.where(np.isin(FEATURES, ["ward", "weight"]), -1, 1)
        np.testing.assert_allclose(swapped, sign * w, atol=1e-6 * np.abs(w).max())
        assert w[RELEVANT].min() > np.abs(w[~RELEVANT]).max()


@pytest.mark.parametrize("statistic", [*EXACT, *OTHERS], ids=repr)
def test_levels_without_order_and_missingness_are_found(statistic: Statistic) -> None:
    w = statistic.compute(X, X_TILDE, Y)
    assert w.shape == (8,)
    assert w[RELEVANT].min() > np.abs(w[~RELEVANT]).max()


@pytest.mark.parametrize(
    "statistic",
    [
        LassoStatistic(cv=3, random_state=0),
        MidpointStatistic(folds=2, random_state=0),
        HoldoutStatistic("linear+boosting", folds=2, blocks=1, random_state=0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("y", [CLASSES, Y > 0.6], ids=["three classes", "two classes"])
def test_classes(statistic: Statistic, y: Any) -> None:
    w = statistic.compute(X, X_TILDE, y)
    assert w[RELEVANT].min() > np.abs(w[~RELEVANT]).max()


@pytest.mark.parametrize("statistic", EXACT, ids=repr)
def test_names_and_order_of_levels_do_not_matter(statistic: Statistic) -> None:
    w = statistic.compute(X, X_TILDE, Y)
    names = {"a": "zebra", "b": "ape", "c": "newt", "d": "bee"}
    renamed = [table.assign(ward=table["ward"].map(names)) for table in (X, X_TILDE)]
    np.testing.assert_array_equal(statistic.compute(*renamed, Y), w)
    reordered = [
        table.assign(ward=pd.Categorical(table["ward"], categories=list("dbac?")))
        for table in (X, X_TILDE)
    ]
    np.testing.assert_array_equal(statistic.compute(*reordered, Y), w)


def test_permuted_features_permute_w() -> None:
    order = [6, 0, 3, 7, 5, 1, 4, 2]
    names = [FEATURES[j] for j in order]
    for statistic in (
        LassoStatistic(cv=3, random_state=0),
        ImportanceStatistic(Ridge(), random_state=0),
    ):
        w = statistic.compute(X, X_TILDE, Y)
        np.testing.assert_allclose(
            statistic.compute(X[names], X_TILDE[names], Y), w[order], atol=1e-7 * w.max()
        )


@pytest.mark.parametrize(
    "statistic", [*EXACT[1:], HoldoutStatistic(folds=2, blocks=2, random_state=0)], ids=repr
)
def test_an_array_gives_the_numbers_of_a_frame(statistic: Statistic) -> None:
    names = ["dose", "age", "weight", "pulse"]
    frames = X[names], X_TILDE[names]
    arrays = [frame.to_numpy() for frame in frames]
    np.testing.assert_array_equal(statistic.compute(*frames, Y), statistic.compute(*arrays, Y))


def test_levels_that_only_one_table_has() -> None:
    statistic = MidpointStatistic(Ridge(), folds=2, random_state=0)
    x = X.assign(ward=X["ward"].where(X["ward"] != "d", "e"))  # e in X alone, d in X_tilde alone
    w = statistic.compute(x, X_TILDE, Y)
    swapped = statistic.compute(*swap(x, X_TILDE, ["ward"]), Y)
    np.testing.assert_array_equal(swapped, np.where(np.isin(FEATURES, ["ward"]), -w, w))
    assert w[0] > np.abs(w[3:]).max()


@pytest.mark.parametrize("statistic", [*EXACT, HoldoutStatistic(folds=2, random_state=0)], ids=repr)
def test_a_copy_has_a_statistic_of_zero_where_cells_are_missing_too(statistic: Statistic) -> None:
    w = statistic.compute(X, X_TILDE.assign(dose=X["dose"], ward=X["ward"]), Y)
    np.testing.assert_array_equal(w[:2], 0)
    assert w[2] > 0


class NeverMissing(LinearRegression):
    """Refuses nan; scikit-learn does too, but not in all of its models."""

    def fit(self, x: Any, y: Any) -> Any:
        assert np.isfinite(x).all()
        return super().fit(x, y)

    def predict(self, x: Any) -> Any:
        assert np.isfinite(x).all()
        return super().predict(x)


def test_estimators_of_a_user_never_see_missing_values() -> None:
    for standardise in (True, False):
        for kind in (HoldoutStatistic, MidpointStatistic, ImportanceStatistic):
            w = kind(NeverMissing(), standardise=standardise, random_state=0).compute(X, X_TILDE, Y)
            assert w[:2].min() > np.abs(w[~RELEVANT]).max()


def problem_of(x: pd.DataFrame, x_tilde: pd.DataFrame, y: np.ndarray) -> Problem:
    tables = aligned(read_table(x, who="T"), read_table(x_tilde, who="T"), who="T")
    return Problem.of(paired_design(*tables), Quantity(y), None)


def test_trees_see_missing_values_as_such() -> None:
    problem = problem_of(X, X_TILDE, Y)
    with_gaps = problem.in_standard_units().with_gaps()
    for filled, found, table in (
        (problem.x, with_gaps.x, X),
        (problem.x_tilde, with_gaps.x_tilde, X_TILDE),
    ):
        assert np.isfinite(filled).all()
        (value,) = np.flatnonzero(np.isnan(found).any(0) & (problem.unit == 1))
        np.testing.assert_array_equal(np.isnan(found[:, value]), table["dose"].isna())
        # dose, site (of two levels) and weight
        assert set(problem.unit[np.isnan(found).any(0)]) == {1, 5, 6}


def test_columns_and_features() -> None:
    problem = problem_of(X, X_TILDE, Y)
    assert problem.features == 8
    np.testing.assert_array_equal(problem.unit, np.repeat(np.arange(8), [4, 2, 1, 1, 1, 2, 2, 1]))
    np.testing.assert_array_equal(problem.columns_of(np.array([1, 0])), [4, 5, 0, 1, 2, 3])
    np.testing.assert_array_equal(problem.per_feature(np.ones(14)), np.bincount(problem.unit))
    coins = np.arange(8) % 2 == 0
    np.testing.assert_array_equal(problem.per_column(coins), coins[problem.unit])


def test_indicators_are_in_units_of_a_half() -> None:
    problem = problem_of(X, X_TILDE, Y).in_standard_units()
    together = np.concatenate([problem.x, problem.x_tilde])
    np.testing.assert_allclose(together.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(np.ptp(together[:, problem.indicators], axis=0), 2)
    np.testing.assert_allclose(together[:, ~problem.indicators].std(0), 1)


@pytest.mark.parametrize(
    "statistic",
    [
        HoldoutStatistic(folds=2, blocks=4, random_state=0),
        MidpointStatistic(folds=2, random_state=0),
        LassoStatistic(cv=3, random_state=0),
    ],
    ids=repr,
)
def test_a_rare_level_or_a_rare_missing_cell_harms_no_other_feature(statistic: Statistic) -> None:
    without = statistic.compute(X, X_TILDE, Y)
    x, x_tilde = X.copy(), X_TILDE.copy()
    x.loc[[5, 7, 9], "pulse"], x_tilde.loc[[11, 12], "pulse"] = np.nan, np.nan
    x.loc[[15, 17], "site"], x_tilde.loc[[21, 22], "site"] = "north", "north"
    x.loc[31, "ward"], x_tilde.loc[37, "ward"] = "rare", "rare"
    w = statistic.compute(x, x_tilde, Y)
    assert w[RELEVANT].min() > 0.3 * without[RELEVANT].min()
    assert np.abs(w[~RELEVANT]).max() < w[RELEVANT].min()


def test_tables_of_different_types_are_refused_with_a_remedy() -> None:
    statistic = LassoStatistic()
    with pytest.raises(
        ValueError, match=r"column 'ward': text in one of X and X_tilde.*same column types"
    ):
        statistic.compute(X, X_TILDE.assign(ward=1.0), Y)
    turned = pd.CategoricalDtype(["low", "high", "middle"], ordered=True)
    with pytest.raises(ValueError, match="column 'grade': ordered categories in different orders"):
        statistic.compute(X, X_TILDE.assign(grade=X_TILDE["grade"].astype(turned)), Y)


def any_selected(statistic: Statistic, seed: int, q: float, rows: int) -> bool:
    """Whether anything is selected where y has nothing to do with X:
    two mixed tables side by side.
    """
    x, x_tilde = (
        pd.concat(
            [mixed(start + seed, rows), mixed(start + 5000 + seed, rows).add_suffix("2")], axis=1
        )
        for start in (10_000, 20_000)
    )
    y = np.random.default_rng(30_000 + seed).normal(size=rows)
    return bool(
        knockoff_select(statistic.set_params(random_state=seed).compute(x, x_tilde, y), q).any()
    )


@pytest.mark.parametrize(
    ("statistic", "runs"),
    [
        pytest.param(LassoStatistic(cv=3), 50, id="lasso"),
        pytest.param(MidpointStatistic(Ridge(), folds=2), 50, id="midpoint, ridge"),
        pytest.param(LassoStatistic(), 400, id="lasso, long", marks=pytest.mark.slow),
        pytest.param(MidpointStatistic(), 200, id="midpoint", marks=pytest.mark.slow),
        pytest.param(HoldoutStatistic(), 100, id="mixture", marks=pytest.mark.slow),
        pytest.param(
            MidpointStatistic("boosting"), 100, id="midpoint, boosting", marks=pytest.mark.slow
        ),
    ],
)
def test_the_global_null(statistic: Statistic, runs: int) -> None:
    q = 0.2
    share = np.mean([any_selected(statistic, seed, q, 150) for seed in range(runs)])
    print(f"share of runs with any selection: {share:.3f}")
    assert share <= q + 2 * (q * (1 - q) / runs) ** 0.5
