"""Laws of KnockoffSelector and of the Selection it gives out."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import random
import re
import warnings
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, strategies as st
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from knockoffs import (
    DDLK,
    GaussianKnockoffs,
    HierarchicalKnockoffs,
    HoldoutStatistic,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    Selection,
    fdp,
    knockoff_evalues,
    knockoff_select,
    knockoff_threshold,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.filtering.filter import combine_draws, evalue_threshold
from knockoffs.selection.explanation import explain_selection
from knockoffs.statistics.base import Statistic
from knockoffs.table.doubts import identifiers

LAW = AutoregressiveGaussian(features=12, rho=0.4, mean=1.0)
X = LAW.sample(240, random_state=0)
X.flags.writeable = False
RELEVANT = np.arange(12) < 6
NOISE = np.random.default_rng(1).normal(size=240)
Y = X[:, RELEVANT] @ np.array([1, -1, 1, 1, -1, 1.0]) + 0.5 * NOISE
Y.flags.writeable = False
CLASSES = np.array(["low", "middle", "high"])[np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))]
NAMES = [*"abcdefghijk", "l & m"]
FRAME = pd.DataFrame(X, columns=NAMES, index=np.arange(240) + 7)


def selector(generator: Any = None, statistic: Any = None, **settings: Any) -> KnockoffSelector:
    """Quick parts, a level that six discoveries can hold, a seed,
    no check of knockoffs (most are fakes).
    """
    generator = GaussianKnockoffs() if generator is None else generator
    statistic = LassoStatistic() if statistic is None else statistic
    return KnockoffSelector(
        generator, statistic, **({"fdr": 0.2, "random_state": 0, "certify": False} | settings)
    )


def upside_down(table: Any) -> Any:
    """Some numbers of the right shape in place of knockoffs, without labels,
    which would tell of another order.
    """
    return np.asarray(table)[::-1]


def arrow_types(table: pd.DataFrame) -> pd.DataFrame:
    return table.convert_dtypes(dtype_backend="pyarrow")


def gives(*ws: Any) -> Callable[..., Any]:
    """A statistic that returns these, one after the other and again."""
    in_turn = itertools.cycle(ws)
    return lambda X, X_tilde, y: next(in_turn)


def quiet_fit(estimator: KnockoffSelector, *args: Any, **kwargs: Any) -> KnockoffSelector:
    """A fit whose warnings are another test's matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        return estimator.fit(*args, **kwargs)


def warnings_of(x: Any, y: Any, **settings: Any) -> list[str]:
    """What a fit with trivial parts warns of before it comes to its result."""
    features = np.shape(x)[1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        KnockoffSelector(
            upside_down, gives(np.ones(features)), **({"fdr": 0.2, "certify": False} | settings)
        ).fit(x, y)
    assert {w.category for w in caught} <= {KnockoffWarning}
    return [str(w.message) for w in caught]


# scikit-learn
# --------------------------------------------------------------------------------------------------


# tables of a few rows and three columns
@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [
        KnockoffSelector(GaussianKnockoffs(), LassoStatistic(), random_state=0),
        KnockoffSelector(random_state=0),
    ]
)
def test_what_scikit_learn_expects(estimator: Any, check: Any) -> None:
    check(estimator)


def test_cross_validation_of_a_pipeline_selects_within_each_fold() -> None:
    folds = KFold(3)
    scores = cross_val_score(make_pipeline(selector(), LinearRegression()), X, Y, cv=folds)
    for score, (train, test) in zip(scores, folds.split(X), strict=True):
        chosen = selector().fit(X[train], Y[train]).get_support()
        model = LinearRegression().fit(X[train][:, chosen], Y[train])
        assert score == model.score(X[test][:, chosen], Y[test])
    assert scores.min() > 0.8


def test_a_pipeline_hands_groups_on() -> None:
    groups = np.arange(240) // 8
    statistic = HoldoutStatistic(LinearRegression(), mixture=0, folds=2)
    expected = selector(statistic=statistic).fit(X, Y, groups=groups).w_
    assert not np.array_equal(expected, selector(statistic=statistic).fit(X, Y).w_)
    pipeline = make_pipeline(selector(statistic=statistic), LinearRegression())
    pipeline.fit(X, Y, knockoffselector__groups=groups)
    np.testing.assert_array_equal(pipeline[0].w_, expected)
    alone = selector(statistic=statistic)
    alone.fit_transform(X, Y, groups=groups)
    np.testing.assert_array_equal(alone.w_, expected)


def test_clone_copies_the_settings_and_nothing_learned() -> None:
    fitted = selector(fdr=0.3, offset=0, n_draws=2, task="regression", n_jobs=1).fit(X, Y)
    fresh = clone(fitted)
    assert fresh.generator is not fitted.generator
    settings, own = fresh.get_params(deep=False), fitted.get_params(deep=False)
    assert {k: v for k, v in settings.items() if k not in ("generator", "statistic")} == {
        k: v for k, v in own.items() if k not in ("generator", "statistic")
    }
    with pytest.raises(NotFittedError):
        fresh.get_support()
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    np.testing.assert_array_equal(fresh.fit(X, Y).w_, fitted.w_)


def test_fitting_leaves_the_settings_alone() -> None:
    estimator = selector()
    before = estimator.get_params()
    kept = {name: repr(value) for name, value in before.items()}
    assert estimator.fit(X, Y) is estimator
    after = estimator.get_params()
    assert all(after[name] is value for name, value in before.items())
    assert {name: repr(value) for name, value in after.items()} == kept
    assert estimator.generator_ is not estimator.generator
    assert estimator.statistic_ is not estimator.statistic
    with pytest.raises(NotFittedError):
        estimator.generator.sample(X)


def test_nested_settings_reach_the_parts() -> None:
    estimator = selector().set_params(generator__method="equi", statistic__cv=3).fit(X, Y)
    assert (estimator.generator_.method, estimator.statistic_.cv) == ("equi", 3)


def test_pickle_gives_the_same_selector() -> None:
    fitted = selector().fit(FRAME, Y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.transform(FRAME), fitted.transform(FRAME))
    assert copy.selection_.to_dict() == fitted.selection_.to_dict()


# tables in and out
# ----------------------------------------------------------------------------------------------


def test_all_kinds_of_table_give_the_same_selection() -> None:
    expected = selector().fit(X, Y)
    assert expected.selection_.names == tuple(f"x{j}" for j in range(12))
    assert expected.get_support()[RELEVANT].all()
    polars = pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)})
    for table, y in (
        (FRAME, pd.Series(Y, index=FRAME.index)),
        (polars, pl.Series(Y)),
        (X.tolist(), Y.tolist()),
    ):
        other = selector().fit(table, y)
        np.testing.assert_array_equal(other.w_, expected.w_)
        np.testing.assert_array_equal(other.get_support(), expected.get_support())
        if not isinstance(table, list):
            assert other.selection_.names == tuple(NAMES)
            assert other.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize(("output", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(output: str, kind: type) -> None:
    estimator = selector().set_output(transform=output)
    table = FRAME if output == "pandas" else pl.from_pandas(FRAME)
    found = estimator.fit(table, Y).transform(table)
    assert type(found) is kind
    names = [name for name, chosen in zip(NAMES, estimator.get_support(), strict=True) if chosen]
    assert list(found.columns) == names == estimator.get_feature_names_out().tolist()
    assert sorted(names) == sorted(estimator.selection_.discoveries)
    np.testing.assert_array_equal(found.to_numpy(), X[:, estimator.get_support()])
    if output == "pandas":
        pd.testing.assert_frame_equal(found, FRAME[names])


@pytest.mark.parametrize(
    "convert", [pd.DataFrame.copy, pd.DataFrame.convert_dtypes, arrow_types, pl.from_pandas]
)
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_text_that_is_not_selected_leaves_the_selected_numbers_alone(
    convert: Callable[[pd.DataFrame], Any], output: str
) -> None:
    table = convert(FRAME.reset_index(drop=True).assign(ward=np.resize(["v", "w", "u"], 240)))
    estimator = selector(upside_down, gives(np.r_[np.where(RELEVANT, 1.0, -0.1), -0.1]))
    if isinstance(table, pd.DataFrame):
        estimator.set_output(transform=output)
    found = estimator.fit(table, Y).transform(table)
    np.testing.assert_array_equal(found, X[:, RELEVANT])
    if isinstance(found, pd.DataFrame):
        assert found.dtypes.equals(table.dtypes[:6])
    else:
        assert found.dtype == np.float64


@pytest.mark.filterwarnings("ignore:No features were selected")  # of scikit-learn
@pytest.mark.parametrize(
    "convert", [pd.DataFrame.copy, arrow_types, pl.from_pandas, pa.Table.from_pandas]
)
def test_where_nothing_is_selected_all_rows_are_left_and_no_columns(
    convert: Callable[[pd.DataFrame], Any],
) -> None:
    table = convert(FRAME.reset_index(drop=True).assign(ward=np.resize(["v", "w", "u"], 240)))
    estimator = selector(upside_down, gives(np.full(len(NAMES) + 1, -1.0)))
    with pytest.warns(KnockoffWarning, match="Nothing is selected"):
        estimator.fit(table, Y)
    # the oldest polars has no rows without columns
    rows_alone = ["polars"] if pl.DataFrame(np.empty((3, 0))).shape == (3, 0) else []
    for container in ("default", "pandas", *rows_alone):
        assert estimator.set_output(transform=container).transform(table).shape == (240, 0)


def test_selected_text_comes_back_as_it_is() -> None:
    table = arrow_types(FRAME.iloc[:, :2].assign(ward=np.resize(["v", None, "u"], 240)))
    found = (
        selector(upside_down, gives([1.0, -0.1, 1.0]), fdr=0.6, offset=0)
        .fit(table, Y)
        .transform(table)
    )
    assert found.shape == (240, 2)
    assert found[0].tolist() == [X[0, 0], "v"]


def test_names_of_unnamed_columns_are_those_of_scikit_learn() -> None:
    estimator = selector().set_output(transform="pandas").fit(X, Y)
    found = estimator.transform(X)
    assert sorted(found.columns) == sorted(estimator.selection_.discoveries)


def test_the_order_of_columns_is_that_of_the_fit() -> None:
    fitted = selector().fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(FRAME[NAMES[::-1]])
    with pytest.raises(ValueError, match="12 features"):
        selector().fit(X, Y).transform(X[:, :5])


# the target
# --------------------------------------------------------------------------------------------------

COUNTS = np.rint(20 * Y)
TARGETS = {
    "floats": (Y, "regression"),
    "a column": (Y[:, None], "regression"),
    "single precision": (Y.astype(np.float32), "regression"),
    "float objects": (Y.astype(object), "regression"),
    "pandas Float64": (pd.Series(Y).astype("Float64"), "regression"),
    "many counts": (COUNTS.astype(int), "regression"),
    "strings": (CLASSES, "classification"),
    "string objects": (CLASSES.astype(object), "classification"),
    "category": (pd.Series(CLASSES).astype("category"), "classification"),
    "polars": (pl.Series(CLASSES), "classification"),
    "booleans": (Y > 0, "classification"),
    "pandas boolean": (pd.Series(Y > 0).astype("boolean"), "classification"),
    "zeros and ones": ((Y > 0).astype(int), "classification"),
    "zeros and ones as floats": ((Y > 0).astype(float), "classification"),
}


@pytest.mark.parametrize(("y", "task"), TARGETS.values(), ids=TARGETS.keys())
def test_the_task_is_that_of_the_target(y: Any, task: str) -> None:
    fitted = selector(statistic=LassoStatistic(cv=3)).fit(X, y)
    assert fitted.statistic_.task == task
    assert fitted.selection_.task == task
    assert fitted.w_[RELEVANT].min() > fitted.w_[~RELEVANT].max()


def test_the_names_of_two_classes_do_not_matter() -> None:
    flags = Y > 0
    expected = selector().fit(X, flags).w_
    for y in (flags.astype(int), flags * 8.0 - 3, np.where(flags, "yes", "no"), flags.tolist()):
        np.testing.assert_array_equal(selector().fit(X, y).w_, expected)


def test_the_unit_of_a_quantity_does_not_matter() -> None:
    expected = selector().fit(X, Y)
    found = selector().fit(X, Y * 2.0**20)
    np.testing.assert_allclose(found.w_, expected.w_, rtol=1e-6)
    np.testing.assert_array_equal(found.get_support(), expected.get_support())


def test_the_task_can_be_said() -> None:
    zero_one = (Y > 0).astype(int)
    chosen = selector(task="regression").fit(X, zero_one)
    assert chosen.statistic_.task == chosen.selection_.task == "regression"
    as_numbers = selector(statistic=LassoStatistic(task="regression")).fit(X, zero_one)
    np.testing.assert_array_equal(chosen.w_, as_numbers.w_)
    assert not np.array_equal(chosen.w_, selector().fit(X, zero_one).w_)
    few_counts = np.digitize(Y, [-1, 1])
    assert selector(task="classification").fit(X, few_counts).selection_.task == "classification"
    assert selector(task="regression").fit(X, few_counts).selection_.task == "regression"


def test_the_reported_task_is_the_one_the_statistic_used() -> None:
    fitted = selector(statistic=LassoStatistic(task="regression")).fit(X, (Y > 0).astype(int))
    assert fitted.statistic_.task == "regression"
    assert fitted.selection_.task == "regression"


BAD_TARGETS = {
    "none": (None, "auto", "requires y to be passed"),
    "short": (Y[:-1], "auto", r"y has shape \(239,\); pass one value for each of the 240 rows"),
    "two columns": (np.column_stack([Y, Y]), "auto", r"y has shape \(240, 2\)"),
    "NaN": (
        np.where(np.arange(240) < 3, np.nan, Y),
        "auto",
        "y has 3 missing values. Drop those rows",
    ),
    "None within": ([None, *CLASSES[1:]], "auto", r"y has 1 missing value\."),
    "pandas NA": (
        pd.Series(COUNTS.astype(int)).astype("Int64").mask(np.arange(240) < 2),
        "auto",
        "missing",
    ),
    "pandas boolean NA": (
        pd.Series(Y > 0).astype("boolean").mask(np.arange(240) < 2),
        "auto",
        "missing",
    ),
    "one class": (np.full(240, "a"), "auto", "one class only.*at least two classes"),
    "one number": (np.zeros(240, dtype=int), "auto", "one class only"),
    "constant": (np.full(240, 1.5), "auto", r"y is constant \(1.5\)"),
    "constant regression": (np.full(240, 2), "regression", r"y is constant \(2\)"),
    "infinite": (
        np.where(np.arange(240) == 3, -np.inf, Y),
        "auto",
        "y has infinite values. Drop those rows",
    ),
    "names as quantity": (CLASSES, "regression", "KnockoffSelector: y"),
    "unknown task": (Y, "classify", "task='classify' is not valid.*'regression', 'classification'"),
}


@pytest.mark.parametrize(("y", "task", "said"), BAD_TARGETS.values(), ids=BAD_TARGETS.keys())
def test_bad_targets(y: Any, task: str, said: str) -> None:
    calls: list[object] = []
    with pytest.raises(ValueError, match=said):
        selector(calls.append, task=task).fit(X, y)
    assert calls == []  # nothing expensive before the checks


# generators
# --------------------------------------------------------------------------------------------------


def contents(generator: Any) -> dict[str, bytes]:
    return {name: pickle.dumps(value) for name, value in vars(generator).items()}


@pytest.mark.parametrize("kind", ["Gaussian", "DDLK"])
def test_a_fitted_generator_is_used_as_it_is(kind: str, fast_ddlk: Callable[..., DDLK]) -> None:
    generator = (GaussianKnockoffs() if kind == "Gaussian" else fast_ddlk()).fit(
        LAW.sample(200, random_state=9)
    )
    before = contents(generator)
    estimator = selector(generator).fit(X, Y)
    assert estimator.generator_ is generator
    assert contents(generator) == before
    refitted = selector(clone(generator)).fit(X, Y)
    assert refitted.generator_ is not generator
    assert not np.array_equal(estimator.w_, refitted.w_)
    with pytest.raises(ValueError, match="expecting 12 features"):
        selector(generator).fit(X[:, :11], Y)


class Counted(GaussianKnockoffs):
    """Counts its fits, and keeps what it was fitted to."""

    fits: ClassVar[list[tuple[Any, ...]]] = []

    def fit(self, *args: Any, **kwargs: Any) -> Self:
        self.fits.append((*args, *kwargs.values()))
        return super().fit(*args, **kwargs)


@pytest.fixture
def counted() -> Counted:
    Counted.fits.clear()
    return Counted()


def test_a_frozen_generator_survives_clone(counted: Counted) -> None:
    generator = counted.fit(X)
    frozen = selector(FrozenEstimator(generator))
    copy = clone(frozen).fit(X, Y)
    assert copy.generator_.estimator is generator
    np.testing.assert_array_equal(copy.w_, selector(generator).fit(X, Y).w_)
    cross_val_score(make_pipeline(frozen, LinearRegression()), X, Y, cv=3)
    assert len(Counted.fits) == 1
    cross_val_score(make_pipeline(selector(generator), LinearRegression()), X, Y, cv=3)
    assert len(Counted.fits) == 4  # clone forgets the fit otherwise


def test_an_unfitted_generator_is_fitted_once_to_the_table_alone(counted: Counted) -> None:
    selector(counted, n_draws=3, fdr=0.4).fit(X, Y)
    ((table, *rest),) = Counted.fits
    np.testing.assert_array_equal(table.codes, X)
    assert all(argument is None for argument in rest)


def test_the_generator_never_sees_y() -> None:
    """Knockoffs are the same bits whatever y."""

    def drawn(generator: Any, y: Any) -> list[np.ndarray]:
        seen: list[np.ndarray] = []

        def statistic(x: Any, x_tilde: Any, target: Any) -> np.ndarray:
            np.testing.assert_array_equal(x, X)
            assert target is y
            seen.append(np.array(x_tilde))
            return np.ones(12)

        selector(generator, statistic, fdr=0.2, n_draws=2).fit(X, y)
        return seen

    for generator in (GaussianKnockoffs(), lambda table: LAW.knockoffs(table, random_state=3)):
        tables = [drawn(generator, y) for y in (Y, -NOISE, CLASSES)]
        for table in tables[1:]:
            np.testing.assert_array_equal(table, tables[0])
    first, second = drawn(GaussianKnockoffs(), Y)
    assert (first != second).all()


def test_a_function_as_generator() -> None:
    calls: list[Any] = []

    def generator(*args: Any, **kwargs: Any) -> np.ndarray:
        calls.append((args, kwargs))
        return LAW.knockoffs(*args, random_state=len(calls))

    estimator = selector(generator, LassoStatistic(random_state=0), n_draws=3, fdr=0.4).fit(X, Y)
    assert estimator.generator_ is generator
    assert all(args[0] is X and len(args) == 1 and not kwargs for args, kwargs in calls)
    assert len(calls) == 3
    for w, seed in zip(estimator.selection_.draws, (1, 2, 3), strict=True):
        expected = LassoStatistic(random_state=0).compute(X, LAW.knockoffs(X, random_state=seed), Y)
        np.testing.assert_array_equal(w, expected)
    assert "generator" in estimator.selection_.generator
    tables = [quiet_fit(selector(upside_down), table, Y).w_ for table in (X, FRAME)]
    np.testing.assert_array_equal(*tables)


def test_rows_and_columns_that_are_paired_wrongly_are_refused() -> None:
    """Taken by position, a y in another order hides every discovery."""
    y = pd.Series(Y, index=FRAME.index)
    with pytest.raises(
        ValueError, match=r"y has the row labels of X in another order.*y\.loc\[X\.index\]"
    ):
        selector().fit(FRAME, y[::-1])
    with pytest.raises(ValueError, match=r"groups has the row labels of X in another order"):
        selector().fit(FRAME, y, groups=pd.Series(np.arange(len(Y)) // 4, index=FRAME.index)[::-1])
    with pytest.raises(ValueError, match=r"X_tilde has the columns of X in another order"):
        selector(lambda table: table[table.columns[::-1]]).fit(FRAME, y)
    np.testing.assert_array_equal(selector().fit(FRAME, y).w_, selector().fit(FRAME, Y).w_)


def with_a_hole(table: np.ndarray, value: float = np.nan) -> np.ndarray:
    return np.where(np.arange(12) == 5, value, table)


BAD_KNOCKOFFS = {
    "fewer columns": (lambda x: x[:, 1:], r"generator.*\(240, 11\).*\(240, 12\)"),
    "fewer rows": (lambda x: x[1:], r"generator.*\(239, 12\).*\(240, 12\)"),
    "nothing": (lambda x: None, r"generator.*\(\)"),
    "NaN": (with_a_hole, r"generator"),
    "infinite": (lambda x: with_a_hole(x, np.inf), r"generator"),
    "text": (lambda x: np.full(x.shape, "a"), r"generator"),
}


@pytest.mark.parametrize(("generator", "said"), BAD_KNOCKOFFS.values(), ids=BAD_KNOCKOFFS.keys())
@pytest.mark.parametrize(
    "statistic", [LassoStatistic(), gives(np.ones(12))], ids=["lasso", "function"]
)
def test_bad_knockoffs_are_the_generators_fault(generator: Any, said: str, statistic: Any) -> None:
    with pytest.raises(ValueError, match=said):
        selector(generator, statistic).fit(X, Y)


def test_every_draw_is_checked() -> None:
    for bad in (with_a_hole(X), X[:, 1:]):
        tables = iter([X[::-1], bad])
        with pytest.raises(ValueError, match="generator"):
            quiet_fit(
                selector(lambda x, tables=tables: next(tables), gives(np.ones(12)), n_draws=2), X, Y
            )


def test_duplicated_and_constant_columns_are_never_selected() -> None:
    """As the generators' warnings promise."""
    table = np.column_stack([X, X[:, 0], np.full(240, 3.0)])
    for seed in range(12):
        found = quiet_fit(selector(random_state=seed), table, Y)
        assert not found.get_support()[[0, 12, 13]].any()


# statistics
# --------------------------------------------------------------------------------------------------


def test_a_function_as_statistic() -> None:
    knockoffs = LAW.knockoffs(X, random_state=3)

    def statistic(x: Any, x_tilde: Any, y: Any) -> list[float]:
        assert x is X
        assert y is Y
        np.testing.assert_array_equal(x_tilde, knockoffs)
        return (np.abs(x.T @ y) - np.abs(x_tilde.T @ y)).tolist()

    estimator = quiet_fit(selector(lambda x: knockoffs, statistic), X, Y)
    assert estimator.statistic_ is statistic
    np.testing.assert_allclose(estimator.w_, np.abs(X.T @ Y) - np.abs(knockoffs.T @ Y))
    assert estimator.selection_.exact is None
    assert "statistic" in estimator.selection_.statistic


def test_only_an_exact_statistic_is_reported_as_exact() -> None:
    assert selector().fit(X, Y).selection_.exact is True
    held_out = HoldoutStatistic(LinearRegression(), mixture=0, folds=2)
    assert selector(statistic=held_out).fit(X, Y).selection_.exact is False


@pytest.mark.parametrize("w", [np.ones(11), np.ones((12, 1)), np.ones((2, 12)), 1.0])
def test_statistics_of_the_wrong_shape(w: Any) -> None:
    shape = re.escape(str(np.shape(w)))
    with pytest.raises(
        ValueError, match=f"statistic returned w of shape {shape}.*each of the 12 features"
    ):
        selector(upside_down, gives(w)).fit(X, Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_statistics_that_are_no_numbers(bad: float) -> None:
    w = np.where(np.arange(12) == 3, bad, 1.0)
    for draws in (gives(w), gives(np.ones(12), w)):
        with pytest.raises(
            ValueError, match=r"statistic.*one finite number for each of the 12 features"
        ):
            selector(upside_down, draws, n_draws=2).fit(X, Y)


class Witness(Statistic):
    """Keeps what it was asked to compute."""

    exact = True
    seen: ClassVar[list[Any]] = []

    def __init__(self, *, task: str = "auto", random_state: Any = None) -> None:
        self.task = task
        self.random_state = random_state

    def _compute(self, problem: Any, rng: Any) -> np.ndarray:
        self.seen.append(problem)
        return np.ones(problem.features)


def test_groups_reach_the_statistic() -> None:
    Witness.seen.clear()
    groups = [f"patient {i // 5}" for i in range(240)]
    for given_groups in (groups, np.array(groups), pd.Series(groups), None):
        selector(statistic=Witness(), n_draws=2).fit(X, Y, groups=given_groups)
    assert len(Witness.seen) == 8
    for problem in Witness.seen[:6]:  # the same partition of the rows, whatever the labels
        assert (
            len(set(zip(groups, problem.groups, strict=True)))
            == len(set(groups))
            == len(set(problem.groups))
        )
    assert all(problem.groups is None for problem in Witness.seen[6:])


class Careful(LinearRegression):
    """Refuses to predict rows of a group (in its first column) that it was fitted on."""

    def fit(self, X: Any, y: Any) -> Self:
        self.groups_ = set(X[:, 0])
        return super().fit(X, y)

    def predict(self, X: Any) -> np.ndarray:
        if self.groups_ & set(X[:, 0]):
            raise LookupError("a group on both sides")
        return super().predict(X)


@pytest.mark.parametrize(
    "settings", [{"folds": 2}, {"folds": 4}, {"folds": None}, {"folds": 2, "mixture": 0.5}]
)
def test_no_group_is_on_both_sides_of_a_split(settings: dict[str, Any]) -> None:
    groups = np.random.default_rng(0).integers(30, size=240)
    table = np.column_stack([groups, X])
    statistic = HoldoutStatistic(Careful(), **({"mixture": 0} | settings))
    careful = selector(lambda x: np.column_stack([x[:, 0], x[::-1, 1:]]), statistic)
    quiet_fit(careful, table, Y, groups=groups)
    with pytest.raises(LookupError, match="both sides"):
        quiet_fit(careful, table, Y)


def patients(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """60 patients with 4 rows each, which are alike, and a y with an effect of each patient."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(60), 4)
    x = rng.normal(size=(60, 6))[groups] + 0.5 * rng.normal(size=(240, 6))
    return x, x[:, :3].sum(1) + rng.normal(size=60)[groups] + 0.3 * rng.normal(size=240), groups


def test_knockoffs_of_groups_are_drawn_for_whole_groups() -> None:
    x, y, groups = patients()
    fitted = quiet_fit(selector(fdr=0.4), x, y, groups=groups)
    assert isinstance(fitted.generator_, HierarchicalKnockoffs)
    assert isinstance(fitted.generator_.generator, GaussianKnockoffs)
    assert (fitted.selection_.groups, fitted.selection_.row_handling) == (60, "groups modelled")
    assert fitted.selection_.exact is True
    assert fitted.selection_.settings()["groups"] == 60


def test_groups_of_single_rows_are_no_groups() -> None:
    plain, grouped = selector().fit(X, Y), selector().fit(X, Y, groups=np.arange(240))
    np.testing.assert_array_equal(plain.w_, grouped.w_)
    assert grouped.selection_.row_handling == "independent"


def test_a_fitted_generator_of_rows_refuses_groups() -> None:
    x, y, groups = patients()
    with pytest.raises(
        ValueError, match=r"GaussianKnockoffs is fitted already.*Pass the generator unfitted"
    ):
        selector(GaussianKnockoffs().fit(x)).fit(x, y, groups=groups)


def test_a_fitted_generator_of_groups_is_used_as_it_is() -> None:
    x, y, groups = patients()
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(x, groups=groups)
    for generator in (model, FrozenEstimator(model)):
        fitted = quiet_fit(selector(generator, fdr=0.4), x, y, groups=groups)
        assert fitted.generator_ is generator
        assert fitted.selection_.row_handling == "groups modelled"


def test_of_a_functions_knockoffs_of_groups_nothing_is_claimed() -> None:
    x, y, groups = patients()
    fitted = selector(
        lambda table: np.random.default_rng(0).permutation(table), fdr=0.4, certify=False
    )
    with pytest.warns(KnockoffWarning) as caught:
        fitted.fit(x, y, groups=groups)
    assert any("is not bounded" in str(warning.message) for warning in caught)
    assert fitted.selection_.exact is False
    assert fitted.selection_.row_handling == "groups ignored by the generator"


@pytest.mark.parametrize("with_groups", [False, True])
def test_repeated_rows_share_a_knockoff_and_stay_together(with_groups: bool) -> None:
    x, y, groups = patients()
    order = np.random.default_rng(1).permutation(480)
    table, target = np.repeat(x, 2, axis=0)[order], np.repeat(y, 2)[order]
    labels = np.repeat(groups, 2)[order] if with_groups else None
    seen: list[np.ndarray] = []

    class Seen(LassoStatistic):
        def compute_read(self, x: Any, x_tilde: Any, y: Any, groups: Any, **asked: Any) -> Any:
            seen.extend((x_tilde.codes, groups))
            return super().compute_read(x, x_tilde, y, groups, **asked)

    with pytest.warns(KnockoffWarning, match="240 of 480 rows repeat another row exactly"):
        selector(statistic=Seen(), fdr=0.4, certify=False).fit(table, target, groups=labels)
    knockoffs, together = seen
    first = np.unique(table, axis=0, return_index=True)[1]
    for row in first[:20]:
        alike = (table == table[row]).all(1)
        assert alike.sum() == 2
        assert len(np.unique(knockoffs[alike], axis=0)) == 1
        assert len(set(together[alike])) == 1
    assert len(np.unique(knockoffs, axis=0)) == 240


@pytest.mark.parametrize(
    "statistic", [LassoStatistic(), HoldoutStatistic(LinearRegression(), folds=2)], ids=repr
)
def test_groups_of_the_wrong_length(statistic: Statistic) -> None:
    for groups in ([1, 2], np.arange(241)):
        with pytest.raises(
            ValueError, match=f"groups has {len(groups)} entries; pass one for each of the 240 rows"
        ):
            selector(statistic=statistic).fit(X, Y, groups=groups)


# randomness
# --------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits() -> None:
    held_out = HoldoutStatistic(LinearRegression(), mixture=0.5, folds=2)
    for statistic in (LassoStatistic(), held_out):
        first, second, other = (
            selector(statistic=statistic, n_draws=2, fdr=0.4, random_state=seed).fit(X, Y)
            for seed in (5, 5, 6)
        )
        np.testing.assert_array_equal(first.selection_.draws, second.selection_.draws)
        assert not np.array_equal(first.selection_.draws, other.selection_.draws)


def test_the_seed_on_record_gives_the_selection_again() -> None:
    legacy = np.random.RandomState(3)
    for random_state in (None, np.random.default_rng(3), legacy, np.int64(3)):
        found = selector(random_state=random_state).fit(X, Y).selection_
        again = selector(random_state=found.seed).fit(X, Y).selection_
        np.testing.assert_array_equal(again.draws, found.draws)
        assert again.seed == found.seed
        assert type(found.seed) is int


def test_without_a_seed_each_fit_draws_its_own() -> None:
    rng = np.random.default_rng(4)
    for random_state in (None, rng):
        first, second = (selector(random_state=random_state).fit(X, Y) for _ in range(2))
        assert first.selection_.seed != second.selection_.seed
        assert not np.array_equal(first.w_, second.w_)


def test_parts_without_a_seed_get_different_ones() -> None:
    fitted = selector().fit(X, Y)
    assert fitted.generator_.random_state != fitted.statistic_.random_state
    assert fitted.generator.random_state is None
    assert fitted.statistic.random_state is None


def test_the_seeds_of_the_parts_are_kept() -> None:
    fitted = selector(
        GaussianKnockoffs(random_state=0), LassoStatistic(random_state=0), random_state=7
    ).fit(X, Y)
    assert fitted.generator_.random_state == 0
    assert fitted.statistic_.random_state == 0


@pytest.mark.parametrize("fitted", [False, True])
def test_parts_with_seeds_of_their_own_need_none_of_the_selector(fitted: bool) -> None:
    """`random_state` is for generator and statistic "where they have none of their own"."""
    generator = GaussianKnockoffs(random_state=0)
    generator = generator.fit(X) if fitted else generator
    one, other, unseeded = (
        selector(generator, LassoStatistic(random_state=0), random_state=seed).fit(X, Y).w_
        for seed in (1, 2, None)
    )
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, unseeded)


def test_global_random_numbers_are_not_touched() -> None:
    def state() -> list[object]:
        legacy = np.random.get_state()  # noqa: NPY002 (it is what must not move)
        return [legacy[1].tolist(), legacy[2:], random.getstate(), torch.get_rng_state().tolist()]

    before = state()
    for random_state in (0, None):
        selector(random_state=random_state, n_draws=2, fdr=0.4).fit(X, Y).transform(X)
        quiet_fit(KnockoffSelector(random_state=random_state), X[:100, :3], Y[:100])
    assert state() == before


def test_global_random_numbers_do_not_matter() -> None:
    found = []
    for seed in (0, 1):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 (a caller may)
        torch.manual_seed(seed)
        found.append(quiet_fit(KnockoffSelector(random_state=0), X[:100, :3], Y[:100]).w_)
    np.testing.assert_array_equal(*found)


def test_the_callers_tables_are_left_alone() -> None:
    x, y, frame, groups = X.copy(), Y.copy(), FRAME.copy(deep=True), np.arange(240) // 4
    for table in (x, frame):
        selector(n_draws=2, fdr=0.4).fit(table, y, groups=groups).transform(table)
    quiet_fit(KnockoffSelector(random_state=0), x[:, :3], y)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(groups, np.arange(240) // 4)
    pd.testing.assert_frame_equal(frame, FRAME)


def test_cores_do_not_matter() -> None:
    with parallel_config(backend="threading"):
        alone, several = (selector(n_jobs=n_jobs).fit(X, Y) for n_jobs in (None, 2))
    assert several.statistic_.n_jobs == 2
    np.testing.assert_array_equal(alone.w_, several.w_)
    assert selector(statistic=LassoStatistic(n_jobs=1), n_jobs=2).fit(X, Y).statistic_.n_jobs == 1


# filter
# --------------------------------------------------------------------------------------------------

SMALL = X[:40, :6]
small_w = st.lists(st.integers(-5, 8), min_size=6, max_size=6).map(
    lambda w: np.array(w, dtype=float)
)
levels = st.sampled_from([0.1, 0.2, 0.3, 0.5])


@given(w=small_w, fdr=levels, offset=st.sampled_from([0, 1]))
def test_one_draw_is_the_knockoff_filter(w: np.ndarray, fdr: float, offset: int) -> None:
    found = quiet_fit(
        KnockoffSelector(upside_down, gives(w), fdr=fdr, offset=offset, certify=False),
        SMALL,
        Y[:40],
    )
    np.testing.assert_array_equal(found.w_, w)
    assert found.threshold_ == knockoff_threshold(w, fdr, offset=offset)
    np.testing.assert_array_equal(found.get_support(), knockoff_select(w, fdr, offset=offset))
    np.testing.assert_array_equal(
        found.selection_.frequency, knockoff_select(w, fdr, offset=offset)
    )


def test_one_draw_with_the_real_parts_is_the_knockoff_filter() -> None:
    for fdr, offset in itertools.product((0.1, 0.2, 0.5), (0, 1)):
        found = quiet_fit(selector(fdr=fdr, offset=offset), X, Y)
        np.testing.assert_array_equal(
            found.get_support(), knockoff_select(found.w_, fdr, offset=offset)
        )
        assert found.selection_.n_draws == 1


def e_bh(evalues: np.ndarray, fdr: float) -> np.ndarray:
    """Wang and Ramdas (2022) word for word."""
    d = len(evalues)
    order = np.argsort(-evalues, kind="stable")
    counts = [k for k in range(1, d + 1) if evalues[order[k - 1]] >= d / (k * fdr) * (1 - 1e-9)]
    selected = np.zeros(d, dtype=bool)
    selected[order[: max(counts, default=0)]] = True
    return selected


@given(ws=st.lists(small_w, min_size=2, max_size=4), fdr=levels)
def test_several_draws_are_combined_by_e_values(ws: list[np.ndarray], fdr: float) -> None:
    draws = len(ws)
    found = quiet_fit(
        KnockoffSelector(upside_down, gives(*ws), fdr=fdr, n_draws=draws, certify=False),
        SMALL,
        Y[:40],
    ).selection_
    evalues = np.mean([knockoff_evalues(w, fdr / 2) for w in ws], axis=0)
    np.testing.assert_allclose(found.evalues, evalues)
    np.testing.assert_array_equal(found.selected, e_bh(evalues, fdr))
    np.testing.assert_array_equal(found.draws, ws)
    np.testing.assert_array_equal(found.w, ws)
    np.testing.assert_allclose(found.mean_w, np.mean(ws, axis=0))
    np.testing.assert_allclose(
        found.frequency, np.mean([knockoff_evalues(w, fdr / 2) > 0 for w in ws], axis=0)
    )
    np.testing.assert_array_equal(found.thresholds, [evalue_threshold(w, fdr / 2) for w in ws])
    assert ((found.smallest_levels <= fdr) == found.selected).all()
    assert math.isnan(found.threshold)
    assert ((found.frequency >= 0) & (found.frequency <= 1)).all()


@pytest.mark.parametrize(
    ("ws", "said"),
    [
        # The attempt that comes nearest to 40 / k is said, not one of features without any e-value.
        (
            ([5, 0, 0, -1], [0, 5, -1, 0]),
            "the 2 largest: each has 2 or more, where fdr=0.1 needs 20, too little at",
        ),
        (
            ([5, 4, 0, -1], [5, 4, 0, -1]),
            "the 2 largest: each has 4 or more, where fdr=0.1 needs 20, which fdr=0.5",
        ),
        (
            ([5, 0, 0, -1], [5, 1, -1, 0]),
            "the largest: it has 4, where fdr=0.1 needs 40, too little at any fdr",
        ),
        (
            ([1, 0, 0, -5], [1, 0, 0, -5]),
            "the largest: it has 0, where fdr=0.1 needs 40, too little at any fdr",
        ),
    ],
)
def test_the_best_attempt_of_several_draws_is_the_nearest(
    ws: tuple[list[int], ...], said: str
) -> None:
    draws = np.array(ws, dtype=float)
    selected, evalues = combine_draws([*draws], 0.1)
    assert not selected.any()
    assert f"The best attempt is {said}" in explain_selection(draws, selected, evalues, 0.1)


def test_levels_of_several_draws_do_not_count_columns_that_are_conditioned_on() -> None:
    """An e-value is a share of the number of tested features,
    and so is the bar that it has to pass.
    """
    w = np.array([5.0, 4, 3, 2, 0, 0])
    found = quiet_fit(
        selector(upside_down, gives(w, w), n_draws=2, fdr=0.26, condition_on=[4, 5]), SMALL, Y[:40]
    )
    selection = found.selection_
    assert selection.selected.tolist() == [True] * 4 + [False] * 2
    np.testing.assert_array_equal(selection.smallest_levels, [0.25] * 4 + [1, 1])


def test_the_order_of_draws_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    ws = list(rng.normal(0.7, 1, size=(5, 12)))
    first, second = (
        quiet_fit(selector(upside_down, gives(*order), n_draws=5, fdr=0.5), X, Y).selection_
        for order in (ws, ws[::-1])
    )
    np.testing.assert_array_equal(first.selected, second.selected)
    np.testing.assert_allclose(first.evalues, second.evalues)


def test_draws_differ_and_the_first_is_not_special() -> None:
    found = selector(n_draws=4, fdr=0.4).fit(X, Y)
    assert math.isnan(found.threshold_)
    assert len(np.unique(found.selection_.draws, axis=0)) == 4
    np.testing.assert_array_equal(found.w_, found.selection_.draws)


def test_more_draws_depend_less_on_the_seed() -> None:
    law = AutoregressiveGaussian(features=40, rho=0.5)
    x = law.sample(300, random_state=0)
    y = 0.3 * x[:, ::2].sum(1) + np.random.default_rng(1).normal(size=300)
    generator = FrozenEstimator(
        GaussianKnockoffs(covariance=law.covariance, mean=np.zeros(40)).fit(x)
    )

    def disagreement(n_draws: int) -> float:
        found = [
            selector(generator, n_draws=n_draws, random_state=s).fit(x, y).get_support()
            for s in range(5)
        ]
        assert all(one.sum() >= 10 for one in found)
        return float(np.mean([(a != b).sum() for a, b in itertools.combinations(found, 2)]))

    assert disagreement(12) < 0.6 * disagreement(1)


# result
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def selection() -> Selection:
    return selector().fit(FRAME, Y).selection_


def test_the_selection_is_frozen(selection: Selection) -> None:
    with pytest.raises(FrozenInstanceError):
        selection.fdr = 0.5
    with pytest.raises(FrozenInstanceError):
        selection.selected = ~selection.selected


def test_nothing_that_is_given_out_changes_the_selection() -> None:
    found = selector().fit(FRAME, Y)
    before = json.dumps(found.selection_.to_dict())
    result = found.selection_
    arrays = [
        found.w_,
        found.get_support(),
        result.w,
        result.selected,
        result.evalues,
        result.frequency,
    ]
    for array in [*arrays, result.draws, result.thresholds]:
        try:
            array[...] = 0
        except ValueError:  # read-only
            continue
    result.settings()["versions"].clear()
    frame = result.to_frame()
    frame.loc[:, "w"] = 0.0
    frame.loc[:, "selected"] = False
    frame.attrs["versions"].clear()
    result.to_dict()["features"].clear()
    result.discoveries.clear()
    assert json.dumps(found.selection_.to_dict()) == before


def test_the_frame_is_sorted_and_complete(selection: Selection) -> None:
    frame = selection.to_frame()
    assert list(frame.columns) == [
        "feature",
        "selected",
        "w",
        "threshold",
        "evalue",
        "frequency",
        "smallest_level",
    ]
    assert (frame["selected"] == (frame["smallest_level"] <= 0.2)).all()
    assert frame["w"].is_monotonic_decreasing
    assert frame.index.tolist() == list(range(12))
    in_order = frame.set_index("feature").loc[NAMES]
    np.testing.assert_array_equal(in_order["w"], selection.w)
    np.testing.assert_array_equal(in_order["selected"], selection.selected)
    np.testing.assert_array_equal(in_order["evalue"], selection.evalues)
    np.testing.assert_array_equal(in_order["frequency"], selection.frequency)
    assert (frame["selected"] == (frame["w"] >= frame["threshold"])).all()
    assert frame.loc[frame["selected"], "feature"].tolist() == selection.discoveries
    assert frame.attrs == selection.settings()


def test_the_settings_say_how_to_find_it_again(selection: Selection) -> None:
    settings = selection.settings()
    expected = {
        "fdr": 0.2,
        "offset": 1,
        "n_draws": 1,
        "task": "regression",
        "rows": 240,
        "features": 12,
        "seed": 0,
    }
    assert settings | expected == settings
    assert settings["exact"] is True
    assert settings["generator"].startswith("GaussianKnockoffs(")
    assert settings["statistic"].startswith("LassoStatistic(")
    assert {"python", "knockoffs", "numpy", "scikit-learn", "torch"} <= set(settings["versions"])
    assert (
        selection.explanation == f"{selection.selected.sum()} of 12 features selected at fdr=0.2."
    )


@pytest.mark.parametrize("offset", [0, 1, np.int64(1)], ids=repr)
@pytest.mark.parametrize("w", [np.ones(12), -np.ones(12)], ids=["all", "none"])
def test_the_dictionary_is_json(w: np.ndarray, offset: Any) -> None:
    estimator = selector(
        upside_down,
        gives(w),
        offset=offset,
        fdr=np.float32(0.2),
        n_draws=np.int64(2),
        random_state=np.int32(4),
    )
    found = quiet_fit(estimator, FRAME, Y).selection_
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert read == found.to_dict()
    assert [row["feature"] for row in read["features"]] == NAMES
    assert [row["mean_w"] for row in read["features"]] == w.tolist()
    assert [row["selected"] for row in read["features"]] == (w > 0).tolist()
    assert read["thresholds"] == ([1.0, 1.0] if w[0] > 0 else [None, None])
    assert found.thresholds.tolist() == ([1.0, 1.0] if w[0] > 0 else [math.inf, math.inf])
    assert read["discoveries"] == (NAMES if w[0] > 0 else [])
    json.dumps(found.to_frame().attrs, allow_nan=False)


def test_discoveries_come_with_the_largest_w_first() -> None:
    w = np.array([3.0, 9, -1, 5, 0, 8, 7, 2, 6, 4, 0.5, 3])
    found = selector(upside_down, gives(w)).fit(FRAME, Y).selection_
    assert found.discoveries == [
        NAMES[j] for j in np.argsort(-w, kind="stable") if found.selected[j]
    ]
    assert len(found.discoveries) == 10


# warnings
# --------------------------------------------------------------------------------------------------


def test_warnings_point_at_the_callers_line() -> None:
    """Those of the selector, of its generator and of its statistic,
    and that of an empty selection.
    """
    table = np.column_stack([X[:, :3], np.full(240, 3.0)])
    statistic = HoldoutStatistic(LinearRegression(), mixture=0, folds=3)
    with pytest.warns(KnockoffWarning) as caught:
        selector(statistic=statistic, fdr=0.1).fit(table, Y)
    said = [str(warning.message) for warning in caught]
    for expected in (
        "needs at least 10 selections",
        "constant",
        "mixture=0 with folds=3",
        "Nothing is selected",
    ):
        assert any(expected in message for message in said)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("action", ["always", "default", "ignore"])
def test_cautions_are_what_was_warned_of_even_where_nobody_listens(action: str) -> None:
    table = np.column_stack([X[:, :3], np.full(240, 3.0)])
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            found = selector(fdr=0.1).fit(table, Y).selection_
        said = [str(warning.message) for warning in caught]
        assert said[:-1] == ([] if action == "ignore" else list(found.cautions))
        assert action == "ignore" or said[-1].startswith(
            "Nothing is selected at fdr=0.1: the selection's explanation"
        )
        assert len(found.cautions) == len(set(found.cautions)) == 2
        assert found.to_dict()["cautions"] == list(found.cautions)
    assert selector().fit(X, Y).selection_.cautions == ()


def test_warnings_come_before_an_error_too() -> None:
    with (
        pytest.warns(KnockoffWarning, match="needs at least 10 selections"),
        pytest.raises(ValueError, match="returned a table of shape"),
    ):
        selector(lambda x: x[1:], fdr=0.1).fit(X[:, :4], Y)


def empty(w: Any, **settings: Any) -> str:
    """The explanation of an empty selection, of which a short warning tells."""
    with pytest.warns(KnockoffWarning) as caught:
        found = selector(upside_down, gives(*np.atleast_2d(w)), **settings).fit(X, Y)
    assert not found.get_support().any()
    assert str(caught[-1].message).startswith("Nothing is selected at fdr=")
    assert len(str(caught[-1].message)) < 120
    return found.selection_.explanation


def test_an_empty_selection_is_explained_with_numbers() -> None:
    assert (
        empty(-np.ones(12))
        == "No feature of 12 has w > 0: none looks more useful than its knockoff."
    )
    said = empty(np.where(np.arange(12) < 4, 1, -0.1), fdr=0.1)
    assert re.search(
        r"4 of 12 have w > 0. 8 have w < 0.*.*at least 10 features.*selected at fdr=0.25", said
    )
    assert "no level below 1 selects any" in empty([1.0, -2, -3, *np.zeros(9)], fdr=0.5)


@pytest.mark.parametrize("positive", range(1, 10))
def test_the_level_that_an_explanation_names_does_select(positive: int) -> None:
    w = np.where(np.arange(12) < positive, 2.0, -1.0)
    said = empty(w, fdr=0.1)
    named = re.search(r"selected at fdr=([\d.]+\d)", said)
    if named is None:
        assert positive == 1
        return
    again = quiet_fit(selector(upside_down, gives(w), fdr=float(named[1])), X, Y)
    assert again.get_support().sum() == positive


def test_an_empty_selection_of_several_draws_is_explained_with_numbers() -> None:
    found = np.where(np.arange(12) < 10, 1.0, -0.1)
    said = empty([found, -found, -found], n_draws=3)
    assert "over 3 draws" in said
    assert "33% of the draws" in said


def test_the_explanation_of_several_draws_names_a_level_that_e_bh_allows() -> None:
    """Nine features stand out in all draws, and another nine in two of three,
    where fdr=0.1 needs ten.
    """
    ws = np.ones((3, 12))
    ws[:, 9:] = -0.5
    said = empty(ws, n_draws=3, fdr=0.1)
    assert (
        "the 9 largest: each has 12 or more, where fdr=0.1 needs 13.3, which fdr=0.112 allows"
        in said
    )
    ws[2, :9] = np.where(np.arange(9) < 4, 1, -0.1)
    said = empty(ws, n_draws=3, fdr=0.1)
    level = re.search(r"which fdr=([\d.]+\d) allows", said)
    assert level is not None
    evalues = np.mean([knockoff_evalues(w, 0.05) for w in ws], axis=0)
    assert e_bh(evalues, float(level[1])).any()
    assert not e_bh(evalues, float(level[1]) - 0.002).any()


def test_ten_features_that_stand_out_in_every_draw_are_enough_for_a_tenth() -> None:
    """Filtering each draw at half the level asked for twenty."""
    ws = np.where(np.arange(12) < 10, 1.0, -0.5)[None].repeat(3, axis=0)
    found = quiet_fit(selector(upside_down, gives(*ws), n_draws=3, fdr=0.1), X, Y)
    np.testing.assert_array_equal(found.get_support(), np.arange(12) < 10)


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("n_draws", [1, 2])
def test_too_few_features_are_warned_of_exactly_when_the_best_statistic_selects_none(
    offset: int, n_draws: int
) -> None:
    for features, fdr in itertools.product([1, 2, 3, 4, 5, 9, 10, 11], [0.1, 0.2, 0.3, 0.5]):
        settings = {"fdr": fdr, "offset": offset, "n_draws": n_draws}
        warned = any(
            "none can be selected" in said for said in warnings_of(X[:, :features], Y, **settings)
        )
        best = quiet_fit(
            selector(upside_down, gives(np.ones(features)), **settings), X[:, :features], Y
        )
        assert warned == (not best.get_support().any()), f"{features} features, {settings}"


@pytest.mark.parametrize("features", [2, 3, 4, 6, 7, 9])
def test_the_level_that_a_warning_of_too_few_features_names_will_do(features: int) -> None:
    said = warnings_of(X[:, :features], Y, fdr=0.1)[0]
    assert f"needs at least 10 selections, but X has only {features} features to test" in said
    level = re.search(r"Raise fdr to ([\d.]+\d)", said)
    assert level is not None
    assert warnings_of(X[:, :features], Y, fdr=float(level[1])) == []


def test_columns_that_are_conditioned_on_are_not_among_the_features_of_a_level() -> None:
    said = warnings_of(X, Y, fdr=0.1, condition_on=[0, 1, 2, 3])[0]
    assert "needs at least 10 selections, but X has only 8 features to test" in said
    assert "only 1 feature to test" in warnings_of(X[:, :2], Y, fdr=0.1, condition_on=[0])[0]


def test_a_level_that_most_features_would_have_to_hold_is_warned_of_before_the_fit() -> None:
    def refuse(table: Any) -> Any:
        raise RuntimeError("the generator was called")

    X17 = np.column_stack([X, NOISE[:, None] + X[:, :5] ** 2])
    with (
        pytest.warns(
            KnockoffWarning,
            match="needs at least 10 of the 17 features to stand out together, or none",
        ),
        pytest.raises(RuntimeError),
    ):
        selector(refuse, fdr=0.1).fit(X17, Y)
    (said,) = warnings_of(X17, Y, fdr=0.1)
    assert said.endswith("If fewer may be relevant, raise fdr to 0.2 or more, where 5 suffice.")
    assert warnings_of(X17, Y, fdr=0.2) == warnings_of(X17, Y, fdr=0.1, offset=0) == []
    (said,) = warnings_of(X[:, :10], Y, fdr=0.2, n_draws=2)
    assert "needs at least 5 of the 10 features to stand out together in almost every draw" in said
    assert "or pass n_draws=1" in said
    assert (
        warnings_of(X[:, :10], Y, fdr=0.2) == warnings_of(X[:, :10], Y, fdr=0.34, n_draws=2) == []
    )


def test_a_single_feature_is_not_told_of_a_level_that_is_not_allowed() -> None:
    said = warnings_of(X[:, :1], Y, fdr=0.1)[0]
    assert "1 feature" in said
    assert "Raise fdr to 1 " not in said


def test_offset_zero_is_no_remedy_for_too_few_features() -> None:
    """It selects one feature that stands out, and so half of the time where none is relevant."""
    for columns, fdr in ((3, 0.1), (9, 0.1), (12, 0.1), (4, 0.2)):
        assert not any("offset=0" in said for said in warnings_of(X[:, :columns], Y, fdr=fdr))
    (said,) = warnings_of(X[:, :3], Y, fdr=0.1, offset=0)
    assert said.startswith(
        "With offset=0, next to nothing is bounded with fewer than 10 discoveries"
    )
    assert said.endswith(
        "only 3 features to test. Pass offset=1, and raise fdr to 0.5 or more, where 2 suffice."
    )
    assert warnings_of(X[:, :3], Y, fdr=0.34, offset=0) == []


def test_few_discoveries_of_offset_zero_are_said_to_be_bounded_by_next_to_nothing() -> None:
    w = np.array([9.0, 8, 7, -1, 0, 0])
    found = {
        offset: quiet_fit(
            selector(upside_down, gives(w), fdr=fdr, offset=offset), SMALL, Y[:40]
        ).selection_
        for offset, fdr in ((0, 0.25), (1, 0.34))
    }
    assert found[0].selected.sum() == found[1].selected.sum() == 3
    assert (
        "With offset=0, next to nothing is bounded with fewer than 4 discoveries: all"
        in found[0].explanation
    )
    assert found[1].explanation == "3 of 6 features selected at fdr=0.34."


def with_column(column: Any, j: int = 3) -> pd.DataFrame:
    table = FRAME.copy()
    table["the one"] = np.asarray(column, dtype=np.float64)
    return table[[*NAMES[:j], "the one", *NAMES[j:]]]


def test_identifiers_are_warned_of() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.permutation(240)
    days = pd.date_range("2021-11-20", periods=240).strftime("%Y%m%d").astype(float)
    some_of_a_thousand = rng.permutation(1000)[:240]
    sparse_in_order = np.sort(rng.choice(10**9, size=240, replace=False))
    for column in (
        np.arange(240),
        numbers * 1000 + 5,
        -numbers,
        100_000 + numbers,
        days,
        some_of_a_thousand,
        sparse_in_order,
        sparse_in_order[::-1],
    ):
        (said,) = warnings_of(with_column(column), Y)
        assert re.search(
            "'the one': a different whole number in every row.*Drop it if it is an identifier", said
        )
    (said,) = warnings_of(np.column_stack([X, numbers]), Y)
    assert "column 'x12':" in said


def test_other_whole_numbers_are_no_identifiers() -> None:
    for column in (np.arange(240) // 2, np.arange(240) + 0.5, np.zeros(240), NOISE > 0):
        assert warnings_of(with_column(column), Y) == []


def test_measured_concentrations_in_whole_units_are_no_identifiers() -> None:
    """Also where by chance no two of few rows agree."""
    rng = np.random.default_rng(1)
    concentrations = np.rint(rng.lognormal(6, 1, size=(45, 400)))
    different = [len(np.unique(column)) == 45 for column in concentrations.T]
    assert sum(different) > 10
    assert len(identifiers(concentrations)) == 0
    assert len(identifiers(np.column_stack([concentrations, rng.permutation(45)]))) == 1


def test_a_large_unit_makes_no_identifiers() -> None:
    """Beyond 2^53 all floating-point numbers are whole."""
    assert warnings_of(X * 2.0**70, Y) == []


def test_copies_of_the_target_are_warned_of() -> None:
    for column in (Y, 2 * Y + 3, -Y / 7):
        (said,) = warnings_of(with_column(column), Y)
        assert re.search("'the one': a copy of the target y. Drop it", said)
    flags = Y > 0
    for y in (flags, np.where(flags, "yes", "no"), flags.astype(int)):
        (said,) = warnings_of(with_column(~flags), y)
        assert "copy of the target" in said


def test_a_column_that_is_the_target_is_warned_of_whatever_the_numbers_of_its_classes() -> None:
    y = np.array([0, 1, 10])[np.digitize(Y, [-1, 1])]
    assert any("copy of the target" in said for said in warnings_of(with_column(y), y))


def test_features_that_only_tell_of_the_target_are_no_copies() -> None:
    for column in (Y + 1e-3 * NOISE, np.exp(Y / 4), Y > 0):
        assert warnings_of(with_column(column), Y) == []


def test_fewer_rows_than_columns_are_warned_of() -> None:
    (said,) = warnings_of(X[:11], Y[:11])
    assert "X has 11 rows and 12 columns" in said
    assert "Add rows, or drop columns (not by y)" in said
    assert warnings_of(X[:12], Y[:12]) == []


# bad settings
# --------------------------------------------------------------------------------------------------

BAD_SETTINGS = {
    "fdr zero": ({"fdr": 0}, "fdr=0 is not valid.*above 0 and below 1"),
    "fdr one": ({"fdr": 1}, "fdr=1 is not valid.*above 0 and below 1"),
    "fdr nan": ({"fdr": math.nan}, "fdr=nan is not valid"),
    "fdr text": ({"fdr": "a"}, "fdr='a' is not valid"),
    "fdr none": ({"fdr": None}, "fdr=None is not valid"),
    "offset two": ({"offset": 2}, "offset=2 is not valid: pass one of 0, 1"),
    "no draws": ({"n_draws": 0}, "n_draws=0 is not valid.*at least 1"),
    "half a draw": ({"n_draws": 1.5}, "n_draws=1.5 is not valid"),
    "no cores": (
        {"n_jobs": 0},
        "n_jobs=0 is not valid: pass a whole number of at least 1, or -1 for all cores",
    ),
    "cores text": ({"n_jobs": "a"}, "n_jobs='a' is not valid"),
    "generator number": ({"generator": 3}, "generator=3 is not valid.*'sample'"),
    "generator text": ({"generator": "DDLK()"}, r"generator='DDLK\(\)' is not valid.*'ddlk'"),
    "generator class": (
        {"generator": GaussianKnockoffs},
        "generator=<class.*GaussianKnockoffs'> is not valid",
    ),
    "statistic number": ({"statistic": 3}, "statistic=3 is not valid.*'compute'"),
    "statistic class": (
        {"statistic": LassoStatistic},
        "statistic=<class.*LassoStatistic'> is not valid",
    ),
    "task": ({"task": "rank"}, "task='rank' is not valid"),
    "negative seed": ({"random_state": -1}, "random_state=-1 is not valid"),
    "seed text": ({"random_state": "a"}, "random_state='a' is not valid"),
}


@pytest.mark.parametrize(("settings", "said"), BAD_SETTINGS.values(), ids=BAD_SETTINGS.keys())
def test_bad_settings(settings: dict[str, Any], said: str) -> None:
    # as scikit-learn wants it, only the fit complains
    estimator = selector().set_params(**settings)
    with pytest.raises(ValueError, match=said):
        estimator.fit(X, Y)
    assert not hasattr(estimator, "selection_")


def test_bad_tables_name_the_selector_and_the_column() -> None:
    table = FRAME.copy()
    table.iloc[4, 3] = np.inf
    table["a"] = pd.Timestamp("2020-01-01")
    with pytest.raises(
        ValueError, match=r"KnockoffSelector: .*'a': has type datetime.*'d' \(1\): infinite"
    ):
        selector().fit(table, Y)


class Duck(BaseEstimator):
    """A generator by its methods alone."""

    def fit(self, X: Any, y: Any = None) -> Self:
        self.law_ = AutoregressiveGaussian(X.shape[1], rho=0.4, mean=1.0)
        return self

    def sample(self, X: Any, *, n_draws: int | None = None, random_state: Any = None) -> Any:
        rng = np.random.default_rng(random_state)
        tables = [self.law_.knockoffs(X, rng) for _ in range(n_draws or 1)]
        return tables[0] if n_draws is None else tables


def test_any_object_with_fit_and_sample_is_a_generator() -> None:
    estimator = selector(Duck(), n_draws=2, fdr=0.4).fit(X, Y)
    assert isinstance(estimator.generator_, Duck)
    assert estimator.get_support()[RELEVANT].all()
    np.testing.assert_array_equal(estimator.w_, clone(estimator).fit(X, Y).w_)


def test_progress_is_shown_only_when_asked_for(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal by lines, from ten seconds on: here at once."""
    monkeypatch.setattr("knockoffs.runtime.progress.FIRST_LINE", 0.0)
    statistic = HoldoutStatistic(LinearRegression(), mixture=0, folds=2)
    quiet = selector(statistic=statistic, n_draws=2, fdr=0.4).fit(X, Y)
    assert capfd.readouterr() == ("", "")
    loud = selector(statistic=statistic, n_draws=2, fdr=0.4, progress=True).fit(X, Y)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert re.search(
        "1/3 learning the distribution.*\n(.*\n)*2/3 comparing with knockoffs, .*%", shown.err
    )
    np.testing.assert_array_equal(loud.w_, quiet.w_)


# the promise
# --------------------------------------------------------------------------------------------------


def marginal(x: Any, x_tilde: Any, y: Any) -> np.ndarray:
    """The difference of absolute correlations; unlike the lasso's it is never zero."""
    return np.abs(x.T @ y) - np.abs(x_tilde.T @ y)


@pytest.mark.parametrize(("statistic", "replicates"), [(LassoStatistic(), 60), (marginal, 150)])
def test_the_global_null(statistic: Any, replicates: int) -> None:
    """Where y has nothing to do with x, any selection is a false one, and few runs make any."""
    law = AutoregressiveGaussian(features=20, rho=0.5)
    generator = GaussianKnockoffs(covariance=law.covariance, mean=np.zeros(20)).fit(
        law.sample(100, 0)
    )
    hits = []
    for seed in range(replicates):
        y = np.random.default_rng(10_000 + seed).normal(size=100)
        estimator = selector(generator, statistic, random_state=seed)
        hits.append(quiet_fit(estimator, law.sample(100, seed), y).get_support().any())
    assert np.mean(hits) <= 0.2 + 3 * (0.2 * 0.8 / replicates) ** 0.5
    if statistic is marginal:
        assert any(hits)


def test_false_discoveries_among_true_ones() -> None:
    law = AutoregressiveGaussian(features=30, rho=0.5)
    relevant = np.arange(30) % 3 == 0
    generator = GaussianKnockoffs(covariance=law.covariance, mean=np.zeros(30)).fit(
        law.sample(100, 0)
    )
    shares, found = [], []
    for seed in range(40):
        x = law.sample(300, seed)
        y = 0.5 * x[:, relevant].sum(1) + np.random.default_rng(10_000 + seed).normal(size=300)
        chosen = quiet_fit(selector(generator, random_state=seed), x, y).get_support()
        shares.append(fdp(chosen, relevant))
        found.append(chosen[relevant].mean())
    assert np.mean(shares) <= 0.2 + 3 * np.std(shares) / 40**0.5
    assert np.mean(found) > 0.9


def test_a_function_may_return_dates_that_kinds_says_are_categories() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    table["since"] = rng.choice(["2020-01-01", "2021-01-01", "2022-01-01"], 60)

    def reversed_rows(X: pd.DataFrame) -> pd.DataFrame:
        return X[::-1].set_index(X.index)

    selector = KnockoffSelector(
        reversed_rows,
        LassoStatistic(),
        fdr=0.5,
        calibrate=True,
        kinds={"since": "nominal"},
        random_state=0,
    )
    y = table[["a", "b"]].sum(axis=1) + (table["since"] > "2020") + 0.1 * rng.normal(size=60)
    assert selector.fit(table, y).selection_.w.shape == (4,)


def test_columns_of_polars_keep_their_types() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 8))
    table = pl.DataFrame(
        {f"x{j}": x[:, j] for j in range(8)}
        | {
            "whole": rng.integers(0, 5, 200),
            "text": pl.Series(rng.choice(["a", "b", None], 200), dtype=pl.String),
        }
    )
    y = (
        table["whole"].to_numpy()
        + 2.0 * (table["text"] == "a").fill_null(False).to_numpy()
        + x[:, 0]
        + x[:, 1]
    )
    selector = KnockoffSelector(
        GaussianKnockoffs(), LassoStatistic(), fdr=0.5, certify=False, random_state=0
    )
    as_array = selector.fit(table, y).transform(table)
    assert isinstance(as_array, np.ndarray)  # by default, as scikit-learn does
    chosen = selector.get_feature_names_out().tolist()
    assert {"whole", "text", "x0"} <= set(chosen)
    selector.set_output(transform="polars")
    assert selector.transform(table).equals(table.select(chosen))
    assert selector.transform(table).schema == table.select(chosen).schema
    assert selector.fit_transform(table, y).schema == table.select(chosen).schema
    with pytest.raises(ValueError, match="feature names"):
        selector.transform(table.rename({"x0": "other"}))
    assert isinstance(selector.set_output(transform="pandas").transform(table), pd.DataFrame)
