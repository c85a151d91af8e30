"""Laws of the knockoff statistics."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from knockoffs import KnockoffWarning
from knockoffs.datasets import AutoregressiveGaussian, linear_response
from knockoffs.density.response_networks import (
    ResponseNetworks,
    swap_differences,
)
from knockoffs.density.ridge import Line
from knockoffs.runtime.progress import heard_by
from knockoffs.runtime.randomness import random_generator
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.crossfit import Split
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.importance import ImportanceStatistic
from knockoffs.statistics.lasso import LassoStatistic, lars_lasso
from knockoffs.statistics.midpoint import MidpointStatistic
from knockoffs.statistics.models import make_model
from knockoffs.statistics.problem import Problem
from knockoffs.targets.classes import Classes
from knockoffs.targets.inputs import read_target
from knockoffs.targets.quantity import Quantity

LAW = AutoregressiveGaussian(features=8, rho=0.4)
X = LAW.sample(400, random_state=0)
X_TILDE = LAW.knockoffs(X, random_state=0)
RELEVANT = np.arange(8) < 3
Y = X[:, :3].sum(1) + 0.5 * np.random.default_rng(1).normal(size=400)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(Y, [-1, 1])]

# as models see them by default
TOGETHER = np.concatenate([X, X_TILDE])
Z, Z_TILDE = ((table - TOGETHER.mean(0)) / TOGETHER.std(0) for table in (X, X_TILDE))

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
    HoldoutStatistic(
        make_pipeline(StandardScaler(), Ridge()), mixture=0, folds=None, random_state=0
    ),
    HoldoutStatistic("linear+boosting", blocks=2, folds=2, random_state=0),
]
ALL = [*EXACT, ImportanceStatistic(random_state=0), *APPROXIMATE]


@pytest.mark.parametrize("statistic", EXACT, ids=repr)
@pytest.mark.parametrize("target", ["real", "classes"])
def test_swapping_a_feature_flips_its_sign_and_nothing_else(
    statistic: Statistic, target: str
) -> None:
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
    statistic = HoldoutStatistic(
        LinearRegression(), mixture=0, folds=None, test_size=0.3, random_state=0
    )
    data = Problem(X, X_TILDE, Quantity(Y))
    ((train, test),) = statistic._splits(data, np.random.default_rng(0))
    split = Split(train, test)
    model = LinearRegression().fit(X[train], Y[train])
    swapped = X[test].copy()
    swapped[:, 1] = X_TILDE[test, 1]
    expected = ((model.predict(swapped) - Y[test]) ** 2).mean() - (
        (model.predict(X[test]) - Y[test]) ** 2
    ).mean()
    (found,) = statistic._model_differences(
        LinearRegression(), data, split, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(found.features, np.arange(X.shape[1]))
    assert found.values[:, 1].mean() == pytest.approx(expected)


class Counted(LinearRegression):
    """Counts its fits, and keeps which columns were mixed."""

    mixed: ClassVar[list[frozenset[int]]] = []

    def fit(self, x: Any, y: Any) -> Any:
        columns = (j for j in range(x.shape[1]) if not np.isin(x[:, j], X[:, j]).all())
        self.mixed.append(frozenset(columns))
        return super().fit(x, y)


@pytest.mark.parametrize(("blocks", "models"), [(None, 8), (1, 1), (3, 3), (8, 8), (40, 8)])
def test_every_feature_is_mixed_in_one_model_of_each_fold(blocks: int | None, models: int) -> None:
    Counted.mixed.clear()
    reports = []
    statistic = HoldoutStatistic(
        Counted(), blocks=blocks, folds=2, standardise=False, random_state=0
    )
    with heard_by(lambda *args: reports.append(args)):
        w = statistic.compute(X, X_TILDE, Y)
    assert len(Counted.mixed) == 2 * models
    for fold in (Counted.mixed[:models], Counted.mixed[models:]):
        assert sorted(j for block in fold for j in block) == list(range(len(w)))
        assert max(map(len, fold)) - min(map(len, fold)) <= 1
    assert reports[-1][1:3] == (2 * models, 2 * models)


def test_blocks_find_what_single_models_find() -> None:
    single, blocks = (
        HoldoutStatistic(LinearRegression(), blocks=b, folds=2, random_state=0).compute(
            X, X_TILDE, Y
        )
        for b in (None, 3)
    )
    assert blocks[RELEVANT].min() > blocks[~RELEVANT].max()
    assert np.corrcoef(single, blocks)[0, 1] > 0.9


def test_lines_and_trees_together_learn_what_either_learns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 5))
    signal = 3 * x[:, 0] + 4 * (x[:, 1] > 0) * (x[:, 2] > 0)
    seen, new = slice(0, 400), slice(400, None)
    both = make_model("linear+boosting", 0, of_classes=False).fit(x[seen], signal[seen])
    trees = make_model("boosting", 0, of_classes=False).fit(x[seen], signal[seen])
    error, of_trees, of_line = (
        np.mean((m.predict(x[new]) - signal[new]) ** 2) for m in (both, trees, both.linear_)
    )
    assert error < of_trees
    assert error < of_line
    classes = make_model("linear+boosting", 0, of_classes=True).fit(x[seen], signal[seen] > 1)
    assert np.mean(classes.predict(x[new]) == (signal[new] > 1)) > 0.9
    np.testing.assert_allclose(classes.predict_proba(x[new]).sum(1), 1)


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
    for train, test in statistic._splits(
        Problem(X, X_TILDE, Quantity(Y), groups), np.random.default_rng(0)
    ):
        assert not set(groups[train]) & set(groups[test])


LOSSES = {
    kind: lambda outputs, y, own=own: -own.log_density(y, outputs)
    for kind, own in (
        ("quantity", Quantity(np.zeros(1))),
        ("classes", Classes(np.zeros(1), classes=("a", "b", "c"))),
    )
}
BLOCKS = {
    "one": [torch.arange(5)],
    "uneven": [torch.tensor([3, 0]), torch.tensor([4, 1, 2])],
    "single": [torch.tensor([j]) for j in (2, 0, 1, 4, 3)],
}


def some_networks(blocks: list[torch.Tensor], generator: torch.Generator) -> ResponseNetworks:
    """With hidden units that have a say."""
    lines = [
        Line(torch.randn(3, 5, generator=generator), torch.randn(3, generator=generator))
        for _ in blocks
    ]
    networks = ResponseNetworks(blocks, 3, lines, width=7, generator=generator).double()
    with torch.no_grad():
        networks.last.weight.normal_(generator=generator)
    return networks


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_swap_differences_are_those_of_one_network_at_a_time(
    blocks: list[torch.Tensor], loss: Any
) -> None:
    generator = torch.Generator().manual_seed(0)
    networks = some_networks(blocks, generator)
    x, x_tilde = torch.randn(2, 20, 5, generator=generator, dtype=torch.float64)
    y = torch.randint(3, (20,), generator=generator).double()
    found = swap_differences(networks, x, x, x_tilde, y, loss)
    for number, block in enumerate(blocks):
        for j in block:
            swapped = x.clone()
            swapped[:, j] = x_tilde[:, j]
            with torch.no_grad():
                before, after = (loss(networks(rows), y)[number] for rows in (x, swapped))
            torch.testing.assert_close(found[:, j], after - before)


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
def test_a_network_sees_its_own_block_changed_and_nothing_else(blocks: list[torch.Tensor]) -> None:
    generator = torch.Generator().manual_seed(1)
    networks = some_networks(blocks, generator)
    x, change = torch.randn(2, 20, 5, generator=generator, dtype=torch.float64)
    found = networks(x, change)
    for number, block in enumerate(blocks):
        changed = x.clone()
        changed[:, block] += change[:, block]
        torch.testing.assert_close(found[number], networks(changed)[number])


def test_networks_begin_as_their_lines() -> None:
    generator = torch.Generator().manual_seed(2)
    line = Line(torch.randn(3, 5, generator=generator), torch.randn(3, generator=generator))
    networks = ResponseNetworks([torch.arange(5)], 3, [line], width=7, generator=generator)
    x = torch.randn(20, 5, generator=generator)
    torch.testing.assert_close(networks(x)[0], (x @ line.slope.T + line.intercept).T)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_networks_find_a_product_that_lines_miss(task: str) -> None:
    rng = np.random.default_rng(3)
    x, x_tilde = rng.normal(size=(2, 600, 6))
    signal = 3 * x[:, 0] * x[:, 1]
    y = signal + rng.normal(size=600) if task == "regression" else (signal > 0).astype(int)
    w = HoldoutStatistic(folds=2, random_state=0).compute(x, x_tilde, y)
    assert w[:2].min() > 10 * np.abs(w[2:]).max()


def test_few_rows_are_no_reason_to_stop_at_straight_lines() -> None:
    """An epoch of 300 rows has two steps: patience that counts epochs would end where training
    began.
    """
    rng = np.random.default_rng(5)
    x, x_tilde = rng.normal(size=(2, 300, 6))
    w = HoldoutStatistic(folds=2, random_state=0).compute(
        x, x_tilde, 2 * x[:, 0] ** 2 + rng.normal(size=300)
    )
    assert w[0] > 50 * np.abs(w[1:]).max()


def test_a_strong_curve_does_not_hide_a_weaker_one() -> None:
    """A penalty for noise as large as all that straight lines leave would silence the second
    feature.
    """
    rng = np.random.default_rng(6)
    x, x_tilde = rng.normal(size=(2, 1000, 6))
    y = 2 * x[:, 0] ** 2 + 2 * np.abs(x[:, 1]) + rng.normal(size=1000)
    w = HoldoutStatistic(folds=2, random_state=0).compute(x, x_tilde, y)
    assert w[:2].min() > 10 * np.abs(w[2:]).max()


@pytest.mark.parametrize(
    "statistic",
    [HoldoutStatistic(folds=2, random_state=0), MidpointStatistic(folds=2, random_state=0)],
)
def test_a_column_that_is_constant_but_for_a_row_or_rounding_harms_no_other(statistic: Any) -> None:
    """The mean of equal numbers is not always that number: a deviation of 1e-17 is none."""
    without = statistic.compute(X, X_TILDE, Y)
    rare, rare_tilde = np.full((2, len(X), 1), np.log(0.1))
    rare[3], rare_tilde[7] = 1.0, 1.0
    w = statistic.compute(np.hstack([X, rare]), np.hstack([X_TILDE, rare_tilde]), Y)
    assert abs(w[-1]) < 0.1 * without.max()
    assert w[:-1][RELEVANT].min() > 0.3 * without[RELEVANT].min()


def test_a_target_that_is_constant_but_for_a_row_gives_numbers() -> None:
    y = np.full(len(X), 0.1)
    y[5] = 3.0
    assert np.isfinite(
        HoldoutStatistic(folds=2, task="regression", random_state=0).compute(X, X_TILDE, y)
    ).all()


def test_a_single_group_to_learn_from_is_split() -> None:
    groups = np.repeat([0, 1], 200)
    w = HoldoutStatistic(folds=2, random_state=0).compute(X, X_TILDE, Y, groups=groups)
    assert w[RELEVANT].min() > np.abs(w[~RELEVANT]).max()


def test_the_unit_of_y_does_not_matter() -> None:
    """w of 1000 y + 5 is w of y, up to rounding, which training can enlarge a little."""
    one, other = (
        HoldoutStatistic(folds=2, random_state=0).compute(X, X_TILDE, y) for y in (Y, 1000 * Y + 5)
    )
    np.testing.assert_allclose(other, one, rtol=0.02, atol=1e-3 * np.abs(one).max())


def test_targets() -> None:
    assert read_target([1.5, 2.5], "auto", rows=2, who="T").task == "regression"
    target = read_target(["b", "a", "b"], "auto", rows=3, who="T")
    assert (target.task, target.values.tolist()) == ("classification", [1, 0, 1])
    assert read_target([0, 1], "regression", rows=2, who="T").task == "regression"


WHOLE = np.arange(30) % 3
TARGETS = {
    "objects": (WHOLE.astype(object), "classification"),
    "nullable whole numbers": (pd.Series(WHOLE, dtype="Int64"), "classification"),
    "nullable numbers": (pd.Series(WHOLE + 0.5, dtype="Float64"), "regression"),
    "nullable booleans": (pd.Series(WHOLE > 0, dtype="boolean"), "classification"),
    "arrow numbers": (pd.Series(WHOLE + 0.5, dtype="double[pyarrow]"), "regression"),
    "arrow text": (pd.Series(WHOLE.astype(str), dtype="string[pyarrow]"), "classification"),
    "booleans": (WHOLE > 0, "classification"),
    "text": (WHOLE.astype(str), "classification"),
    "bytes": (WHOLE.astype("S"), "classification"),
    "categories": (pd.Categorical(WHOLE.astype(str)), "classification"),
    "decimals": ([Decimal(int(v)) / 2 for v in WHOLE], "regression"),
    "tensor": (torch.tensor(WHOLE + 0.5, requires_grad=True), "regression"),
    "tensor of whole numbers": (torch.tensor(WHOLE), "classification"),
    "half tensor": (torch.tensor(WHOLE + 0.5).bfloat16(), "regression"),
    "nothing masked": (np.ma.array(WHOLE + 0.5), "regression"),
    "counts": (np.arange(30), "regression"),
    "a column": (pd.DataFrame({"y": WHOLE + 0.5}), "regression"),
}


@pytest.mark.parametrize(("y", "task"), TARGETS.values(), ids=TARGETS)
def test_targets_of_all_types(y: Any, task: str) -> None:
    target = read_target(y, "auto", rows=30, who="T")
    assert target.task == task
    different, order = np.unique(target.values, return_inverse=True)
    expected = np.arange(30) if len(different) == 30 else np.minimum(WHOLE, len(different) - 1)
    np.testing.assert_array_equal(order, expected)


@pytest.mark.parametrize(
    ("values", "counts", "task"),
    [
        (
            [0, 1, 2, 3, 4, 8],
            [500, 260, 120, 80, 39, 1],
            "regression",
        ),  # visits: no class of one row can be learned
        ([0, 1, 2], [5, 15, 20], "classification"),
        ([0, 1], [998, 2], "classification"),
        (["0", "1", "2"], [600, 398, 2], "classification"),
    ],
)
def test_whole_numbers_that_become_rare_are_counts(
    values: list[Any], counts: list[int], task: str
) -> None:
    y = np.repeat(values, counts)
    assert read_target(y, "auto", rows=len(y), who="T").task == task


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.ma.array(WHOLE, mask=WHOLE == 1), "10 missing values"),
        (np.ma.array(WHOLE.astype(str), mask=WHOLE == 1), "10 missing values"),
        (pd.Series([None, *WHOLE[1:]], dtype="Int64"), r"1 missing value\."),
        (pd.Series([None, *WHOLE[1:]], dtype="double[pyarrow]"), r"1 missing value\."),
        (np.array([1, "a", 2.5] * 10, dtype=object), "y holds classes of several types"),
        (WHOLE + 1j, "complex128 does not hold real numbers"),
        (np.arange(30).astype("datetime64[D]"), "days since a date"),
        ([0.0, 1.0, np.inf] * 10, "infinite values"),
        ([[1, 2], [3]] * 15, "y is no array"),
    ],
    ids=[
        "masked",
        "masked text",
        "NA",
        "arrow NA",
        "mixed",
        "complex",
        "dates",
        "infinite",
        "ragged",
    ],
)
def test_targets_that_are_refused(y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^T: .*{said}"):
        read_target(y, "auto", rows=30, who="T")


def test_rows_and_columns_in_another_order_are_refused() -> None:
    names = [f"patient {i}" for i in range(400)]
    x, x_tilde = (pd.DataFrame(table, index=names).add_prefix("x") for table in (X, X_TILDE))
    y, groups = pd.Series(Y, index=names), pd.Series(np.arange(400) // 4, index=names)
    statistic = LassoStatistic(random_state=0)
    expected = statistic.compute(X, X_TILDE, Y, groups=groups.to_numpy())
    np.testing.assert_array_equal(statistic.compute(x, x_tilde, y, groups=groups), expected)
    numbered, numbered_groups = x_tilde.reset_index(drop=True), groups.reset_index(drop=True)
    np.testing.assert_array_equal(
        statistic.compute(x, numbered, y, groups=numbered_groups), expected
    )
    for (bad_x_tilde, bad_y, bad_groups), said in (
        ((x_tilde, y[::-1], groups), "y has the row labels"),
        ((x_tilde, y, groups[::-1]), "groups has the row labels"),
        ((x_tilde[::-1], y, groups), "X_tilde has the row labels"),
        ((x_tilde[x.columns[::-1]], y, groups), "X_tilde has the columns"),
    ):
        with pytest.raises(ValueError, match=f"LassoStatistic: {said} of X in another order"):
            statistic.compute(x, bad_x_tilde, bad_y, groups=bad_groups)


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
        LassoStatistic(task="auto" if said == "one class only" else "regression").compute(
            X, X_TILDE, y
        )


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="one knockoff for each cell"):
        LassoStatistic().compute(X, X_TILDE[:, :-1], Y)
    with pytest.raises(ValueError, match="neither feature_importances_ nor coef_"):
        ImportanceStatistic(HistGradientBoostingRegressor()).compute(X, X_TILDE, Y)
    with pytest.raises(ValueError, match=r"mixture=1 is not valid"):
        HoldoutStatistic(mixture=1).compute(X, X_TILDE, Y)
    with pytest.raises(ValueError, match=r"folds=1 is not valid"):
        HoldoutStatistic(folds=1).compute(X, X_TILDE, Y)
    for cv in (1, "5"):
        with pytest.raises(
            ValueError, match=rf"cv={cv!r} is not valid: pass a whole number of at least 2"
        ):
            LassoStatistic(cv=cv).compute(X, X_TILDE, Y)
    with pytest.raises(ValueError, match="has no predict_proba"):
        HoldoutStatistic(Ridge()).compute(X, X_TILDE, CLASSES)
    in_one_group, groups = np.arange(400) < 10, np.arange(400) // 10
    with pytest.raises(
        ValueError, match="'boosting' has one class alone to learn from in some fold"
    ):
        HoldoutStatistic("boosting").compute(X, X_TILDE, in_one_group, groups=groups)


def test_the_linear_response_is_the_papers() -> None:
    y, relevant = linear_response(X, relevant=3, amplitude=100, random_state=0)
    assert relevant.sum() == 3
    coefficients = LinearRegression().fit(X, y).coef_
    np.testing.assert_allclose(np.abs(coefficients), np.where(relevant, 5.0, 0.0), atol=0.3)


@pytest.mark.parametrize(
    "statistic",
    [
        *EXACT,
        ImportanceStatistic(random_state=0),
        MidpointStatistic(Ridge(), folds=2),
        HoldoutStatistic(Ridge()),
    ],
    ids=repr,
)
def test_a_feature_whose_knockoff_is_a_copy_has_a_statistic_of_zero(statistic: Statistic) -> None:
    """Swapping changes nothing, so w = -w; generators give copies of duplicated columns."""
    copied = X_TILDE.copy()
    copied[:, [0, 5]] = X[:, [0, 5]]
    w = statistic.compute(X, copied, Y)
    np.testing.assert_allclose(w[[0, 5]], 0, atol=1e-9)
    assert w[1] > 0


# held-out statistics
# --------------------------------------------------------------------------------------------

HALF = slice(0, 160)
MIDPOINT = [
    pytest.param(MidpointStatistic(folds=2, random_state=0), id="network"),
    pytest.param(
        MidpointStatistic(folds=None, test_size=0.3, random_state=0), id="network, one split"
    ),
    pytest.param(MidpointStatistic("boosting", folds=2, random_state=0), id="boosting"),
    pytest.param(MidpointStatistic("lightgbm", folds=2, random_state=0), id="lightgbm"),
    pytest.param(MidpointStatistic(LogisticRegression(), folds=5, random_state=0), id="logistic"),
]


@pytest.mark.parametrize("statistic", MIDPOINT)
@pytest.mark.parametrize(
    "y", [Y[HALF], CLASSES[HALF], Y[HALF] > 0], ids=["real", "three classes", "two classes"]
)
def test_the_midpoint_statistic_flips_its_own_sign_bit_by_bit(
    statistic: MidpointStatistic, y: Any
) -> None:
    if isinstance(statistic.estimator, LogisticRegression) and y.dtype.kind == "f":
        statistic = MidpointStatistic(Ridge(), folds=5, random_state=0)
    x, x_tilde = X[HALF], X_TILDE[HALF]
    w = statistic.compute(x, x_tilde, y)
    assert (w != 0).all()
    for mask in (
        np.arange(8) == 0,
        np.arange(8) == 5,
        np.arange(8) % 3 == 1,
        np.ones(8, dtype=bool),
    ):
        swapped = statistic.compute(np.where(mask, x_tilde, x), np.where(mask, x, x_tilde), y)
        np.testing.assert_array_equal(swapped, np.where(mask, -w, w))


def test_the_midpoint_statistic_by_hand() -> None:
    statistic = MidpointStatistic(LinearRegression(), folds=3, random_state=4)
    total = np.zeros(8)
    for train, test in statistic._splits(Problem(X, X_TILDE, Quantity(Y)), random_generator(4)):
        middle = (X + X_TILDE) / 2
        model = LinearRegression().fit(middle[train], Y[train])
        for j in range(8):
            for table, sign in ((X_TILDE, 1), (X, -1)):
                rows = middle[test].copy()
                rows[:, j] = table[test, j]
                total[j] += sign * ((model.predict(rows) - Y[test]) ** 2).sum()
    given = MidpointStatistic(LinearRegression(), folds=3, standardise=False, random_state=4)
    np.testing.assert_allclose(given.compute(X, X_TILDE, Y), total / len(Y), rtol=1e-9)
    # least squares do not depend on units, and squared errors come in units of the variance of y
    np.testing.assert_allclose(
        statistic.compute(X, X_TILDE, Y), total / len(Y) / Y.var(), rtol=1e-9
    )


@pytest.mark.parametrize("name", ["boosting", "lightgbm"])
@pytest.mark.parametrize("kind", [HoldoutStatistic, MidpointStatistic])
@pytest.mark.parametrize("y", [Y, CLASSES, Y > 0], ids=["real", "three classes", "two classes"])
def test_boosted_trees_by_name(name: str, kind: Any, y: Any) -> None:
    columns = [0, 1, 5, 7]
    w = kind(name, folds=2, random_state=0).compute(X[:, columns], X_TILDE[:, columns], y)
    assert w[:2].min() > 2 * np.abs(w[2:]).max()


def test_other_names_of_estimators_are_refused() -> None:
    for kind in (HoldoutStatistic, MidpointStatistic):
        with pytest.raises(
            ValueError,
            match=r"estimator='xgboost' is not valid: pass one of 'boosting', 'linear\+boosting', "
            r"'lightgbm'",
        ):
            kind("xgboost").compute(X, X_TILDE, Y)


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(
        ImportError, match=r'pip install "knockoffs\[lightgbm\]", or pass "boosting"'
    ):
        MidpointStatistic("lightgbm").compute(X, X_TILDE, Y)


def area_under_curve(y: np.ndarray, score: np.ndarray) -> float:
    """By ranks (Mann and Whitney)."""
    positive = y == 1
    ranks = rankdata(score)[positive].sum() - positive.sum() * (positive.sum() + 1) / 2
    return ranks / (positive.sum() * (~positive).sum())


@pytest.mark.parametrize("midpoint", [False, True])
def test_area_under_the_curve_by_hand(midpoint: bool) -> None:
    y = (Y > 0).astype(int)
    kind = MidpointStatistic if midpoint else HoldoutStatistic
    settings: dict[str, Any] = {} if midpoint else {"mixture": 0}
    statistic = kind(LogisticRegression(), scoring="roc_auc", folds=2, random_state=4, **settings)
    base = (Z + Z_TILDE) / 2 if midpoint else Z
    expected = np.zeros(8)
    for train, test in statistic._splits(
        Problem(X, X_TILDE, Classes.numbered(y)), random_generator(4)
    ):
        model = LogisticRegression().fit(base[train], y[train])
        for j in range(8):
            for table, sign in ((Z, 1), (Z_TILDE, -1)):  # a score: larger is better
                rows = base[test].copy()
                rows[:, j] = table[test, j]
                area = area_under_curve(y[test], model.decision_function(rows))
                expected[j] += sign * area * len(test) / len(y)
    np.testing.assert_allclose(statistic.compute(X, X_TILDE, y), expected, rtol=1e-9, atol=1e-12)
    assert expected[RELEVANT].min() > 0


@pytest.mark.parametrize("folds", [None, 2, 3])
def test_absolute_error_by_hand(folds: int | None) -> None:
    statistic = HoldoutStatistic(
        Ridge(), mixture=0, folds=2, scoring="neg_mean_absolute_error", random_state=4
    ).set_params(folds=folds)
    expected, held_out = np.zeros(8), 0
    for train, test in statistic._splits(Problem(X, X_TILDE, Quantity(Y)), random_generator(4)):
        model = Ridge().fit(Z[train], Y[train])  # linear in y, whose units thus do not matter
        held_out += len(test)
        for j in range(8):
            swapped = Z[test].copy()
            swapped[:, j] = Z_TILDE[test, j]
            errors = np.abs(model.predict(swapped) - Y[test]) - np.abs(
                model.predict(Z[test]) - Y[test]
            )
            expected[j] += errors.sum()
    if folds == 3:
        with pytest.warns(KnockoffWarning, match="folds=3"):
            found = statistic.compute(X, X_TILDE, Y)
    else:
        found = statistic.compute(X, X_TILDE, Y)
    np.testing.assert_allclose(found, expected / held_out, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mixture", [0, 0.5])
def test_a_scorer_is_as_good_as_its_name(mixture: float) -> None:
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    named, given = (
        HoldoutStatistic(
            Ridge(), mixture=mixture, folds=2, scoring=scoring, random_state=0
        ).compute(X, X_TILDE, Y)
        for scoring in ("neg_mean_absolute_error", scorer)
    )
    np.testing.assert_array_equal(named, given)
    assert named[RELEVANT].min() > np.abs(named[~RELEVANT]).max()


def test_squared_error_as_a_scorer_is_the_default_in_the_units_of_y() -> None:
    for kind in (HoldoutStatistic, MidpointStatistic):
        default, scored = (
            kind(Ridge(), folds=4, scoring=scoring, random_state=0).compute(X, X_TILDE, Y)
            for scoring in (None, "neg_mean_squared_error")
        )
        np.testing.assert_allclose(default * Y.var(), scored, rtol=1e-9, atol=1e-12)


def test_a_score_needs_an_estimator() -> None:
    for kind in (HoldoutStatistic, MidpointStatistic):
        with pytest.raises(ValueError, match=r"scoring='r2' needs an estimator.*or scoring=None"):
            kind(scoring="r2").compute(X, X_TILDE, Y)


@pytest.mark.parametrize(
    ("statistic", "total"),
    [
        pytest.param(HoldoutStatistic(folds=2), 2, id="networks"),
        pytest.param(HoldoutStatistic(Ridge(), folds=3), 24, id="a model a feature"),
        pytest.param(HoldoutStatistic(Ridge(), mixture=0, folds=None), 1, id="one model"),
        pytest.param(MidpointStatistic(folds=2), 2, id="midpoint network"),
        pytest.param(MidpointStatistic(Ridge(), folds=5), 5, id="midpoint model"),
    ],
)
def test_reports_count_up_to_their_total(statistic: Statistic, total: int) -> None:
    heard: list[tuple[Any, ...]] = []
    with heard_by(lambda *said: heard.append(said)):
        w = statistic.set_params(random_state=0).compute(X, X_TILDE, Y)
    assert heard == [("statistic", done, total, None) for done in range(total + 1)]
    np.testing.assert_array_equal(w, statistic.compute(X, X_TILDE, Y))


def test_the_plain_statistic_with_many_folds_is_warned_of() -> None:
    for folds in (3, 5):
        with pytest.warns(
            KnockoffWarning, match=f"mixture=0 with folds={folds} exceeds its level"
        ) as caught:
            HoldoutStatistic(Ridge(), mixture=0, folds=folds).compute(X, X_TILDE, Y)
        assert [warning.filename for warning in caught] == [__file__]
    for settings in (
        {"mixture": 0, "folds": 2},
        {"mixture": 0, "folds": None},
        {"mixture": 0.1, "folds": 5},
    ):
        HoldoutStatistic(Ridge(), **settings).compute(X, X_TILDE, Y)  # a warning would be an error


@pytest.mark.parametrize("kind", [HoldoutStatistic, MidpointStatistic])
def test_a_rare_class_is_named_with_its_remedy(kind: Any) -> None:
    y = pd.Series(np.where(np.arange(400) < 4, "rare", CLASSES), name="dose")
    said = (
        r"folds=5 needs as many rows of each class of y \('dose'\), but 'rare' has 4 rows\. "
        r".*, or pass folds=4 in"
    )
    with pytest.raises(ValueError, match=said):
        kind(LogisticRegression(), folds=5).compute(X, X_TILDE, y)
    said = (
        r"of y, but 'rarest' has 1 row, 'rare' has 3 rows\. Join rare classes or drop.* is a "
        r"quantity\.$"
    )
    with pytest.raises(ValueError, match=said):
        kind(LogisticRegression(), folds=5).compute(
            X, X_TILDE, np.where(np.arange(400) < 1, "rarest", y)
        )
    assert np.isfinite(kind(LogisticRegression(), folds=4).compute(X, X_TILDE, y)).all()


def test_few_counts_are_told_of_the_other_task() -> None:
    y = np.where(np.arange(400) < 4, 9, np.digitize(Y, [-1, 1]))
    with pytest.raises(ValueError, match=r'pass task="regression" \(--task regression\) if y is'):
        MidpointStatistic(LogisticRegression(), task="classification").compute(X, X_TILDE, y)
    for task in ("auto", "regression"):
        w = MidpointStatistic(LinearRegression(), task=task).compute(X, X_TILDE, y)
        assert w[RELEVANT].min() > 0


@pytest.mark.parametrize("kind", [HoldoutStatistic, MidpointStatistic])
@pytest.mark.parametrize("y", [Y, CLASSES], ids=["real", "classes"])
def test_fewer_groups_than_folds(kind: Any, y: Any) -> None:
    model = Ridge() if y is Y else LogisticRegression()
    with pytest.raises(
        ValueError,
        match=r"folds=5 needs as many groups; there are 4\. Collect more, or pass folds=4",
    ):
        kind(model, folds=5).compute(X, X_TILDE, y, groups=np.arange(400) % 4)
    assert np.isfinite(kind(model, folds=4).compute(X, X_TILDE, y, groups=np.arange(400) % 4)).all()


def test_fewer_rows_than_folds() -> None:
    with pytest.raises(ValueError, match="folds=9 needs as many rows; there are 8"):
        MidpointStatistic(Ridge(), folds=9).compute(X[:8], X_TILDE[:8], Y[:8])


# lasso with groups
# ----------------------------------------------------------------------------------------------

GROUPS = np.random.default_rng(3).permutation(np.repeat(np.arange(50), 8))


@pytest.mark.parametrize("target", ["real", "classes"])
def test_groups_stay_together_in_the_cross_validation_of_the_lasso(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds: list[Any] = []

    def logistic(*, cv: Any, **settings: Any) -> Any:
        folds.append(cv)
        return LogisticRegressionCV(cv=cv, **settings)

    def lars(x: Any, y: Any, cv: Any, **settings: Any) -> Any:
        folds.append(cv)
        return lars_lasso(x, y, cv, **settings)

    monkeypatch.setattr("knockoffs.statistics.lasso.LogisticRegressionCV", logistic)
    monkeypatch.setattr("knockoffs.statistics.lasso.lars_lasso", lars)
    w = LassoStatistic(cv=4, random_state=0).compute(
        X, X_TILDE, Y if target == "real" else CLASSES, groups=[f"patient {g}" for g in GROUPS]
    )
    assert w[RELEVANT].min() > np.abs(w[~RELEVANT]).max()
    (splits,) = folds
    assert len(splits) == 4
    for train, test in splits:
        assert not set(GROUPS[train]) & set(GROUPS[test])
        assert len(train) + len(test) == 400
    np.testing.assert_array_equal(
        np.sort(np.concatenate([test for _, test in splits])), np.arange(400)
    )


def test_the_lasso_with_groups_is_exact_and_does_not_care_for_their_names() -> None:
    statistic = LassoStatistic(random_state=0)
    w = statistic.compute(X, X_TILDE, Y, groups=GROUPS)
    mask = np.arange(8) % 2 == 0
    swapped = statistic.compute(
        np.where(mask, X_TILDE, X), np.where(mask, X, X_TILDE), Y, groups=GROUPS
    )
    np.testing.assert_allclose(swapped, np.where(mask, -w, w), atol=1e-8)
    np.testing.assert_array_equal(
        statistic.compute(X, X_TILDE, Y, groups=GROUPS.astype(float) + 0.5), w
    )


def test_the_lasso_with_fewer_groups_than_folds() -> None:
    with pytest.raises(ValueError, match="groups"):
        LassoStatistic().compute(X, X_TILDE, Y, groups=np.arange(400) % 3)


@pytest.mark.parametrize("statistic", [*ALL, LassoStatistic(cv=3)], ids=repr)
def test_groups_of_the_wrong_length(statistic: Statistic) -> None:
    with pytest.raises(
        ValueError, match="groups has 399 entries; pass one for each of the 400 rows"
    ):
        statistic.compute(X, X_TILDE, Y, groups=np.arange(399))


@pytest.mark.parametrize("kind", [HoldoutStatistic, MidpointStatistic])
def test_folds_side_by_side_give_the_same_statistic(
    kind: type[HoldoutStatistic | MidpointStatistic],
) -> None:
    rng = np.random.default_rng(0)
    x, x_tilde = rng.normal(size=(2, 120, 4))
    y = x[:, 0] + rng.normal(size=120)
    one, two = (
        kind(folds=3, n_jobs=jobs, random_state=0).compute(x, x_tilde, y) for jobs in (None, 2)
    )
    assert np.array_equal(one, two)
