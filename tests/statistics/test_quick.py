"""Quick statistics are what they stand for: ridge regressions, fitted one at a time by scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from knockoffs.arrays import Array, Flags
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.statistics.problem import Problem
from knockoffs.statistics.quick import (
    BLOCKS,
    COEFFICIENT_PENALTIES,
    FOLDS,
    KEPT,
    PENALTIES,
    _folds,
    held_out_ridge,
    ridge_coefficients,
)

UNITS = np.array([0, 1, 1, 1, 2, 3, 3, 4])  # the feature of each column


def make_problem(rows: int, columns: int, unit: Array | None = None, seed: int = 0) -> Problem:
    law = AutoregressiveGaussian(features=columns, rho=0.6)
    x = law.sample(rows, random_state=seed)
    y = np.zeros(rows)
    return Problem(x, law.knockoffs(x, random_state=seed + 1), y, "regression", unit=unit).in_standard_units()


def responses(problem: Problem, count: int = 3) -> Array:
    """Several, with units and origins of their own."""
    rng = np.random.default_rng(7)
    signal = problem.x @ rng.normal(size=(problem.x.shape[1], count)) + rng.normal(size=(len(problem.x), count))
    return 5 + signal * 10.0 ** np.arange(count)


PROBLEMS = {
    "plain": make_problem(60, 6),
    "several columns": make_problem(60, 8, UNITS),
    "more columns than rows": make_problem(15, 24),
    "several columns, more than rows": make_problem(15, 24, np.repeat(np.arange(12), 2)),
    "more features than blocks": make_problem(60, 23),
    "one feature": make_problem(40, 1),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


def own_columns(problem: Problem, j: int) -> Flags:
    return (np.arange(problem.x.shape[1]) if problem.unit is None else problem.unit) == j


def predict_best(x: Array, y: Array, kept: Flags, *tables: Array) -> list[Array]:
    """Predictions by the penalty whose predictions of the rows that are kept from the fit are best."""
    models = [Ridge(penalty * (~kept).sum()).fit(x[~kept], y[~kept]) for penalty in PENALTIES]
    best = np.argmin([((y[kept] - model.predict(x[kept])) ** 2).mean(0) for model in models], axis=0)
    predictions = [np.stack([model.predict(table) for model in models]) for table in tables]
    return [own[best, :, np.arange(y.shape[1])].T for own in predictions]


def held_out_one_at_a_time(problem: Problem, y: Array, rng: np.random.Generator) -> Array:
    rows, features = len(problem.x), problem.features
    y = (y - y.mean(0)) / y.std(0)
    w = np.zeros((y.shape[1], features))
    fold = rng.permutation(rows) % FOLDS
    for number in range(FOLDS):
        train, test = fold != number, fold == number
        count = train.sum()
        kept = rng.permutation(count) < round(KEPT * count)
        for block in np.array_split(rng.permutation(features), min(BLOCKS, features)):
            coins = rng.random((count, features)) < 0.5
            mixed = problem.x[train]
            for j in block:
                columns = own_columns(problem, j)
                mixed[:, columns] = np.where(coins[:, [j]], problem.x_tilde[train][:, columns], mixed[:, columns])
            x, x_tilde = problem.x[test], problem.x_tilde[test]
            swapped = [np.where(own_columns(problem, j), x_tilde, x) for j in block]
            as_it_is, *with_knockoff = predict_best(mixed, y[train], kept, x, *swapped)
            for j, predicted in zip(block, with_knockoff, strict=True):
                w[:, j] += ((y[test] - predicted) ** 2 - (y[test] - as_it_is) ** 2).sum(0)
    return w / rows


@every_problem
def test_held_out_ridge_is_the_loss_with_the_knockoff_minus_the_loss_with_the_feature(problem: Problem) -> None:
    y = responses(problem)
    found = held_out_ridge(problem, y, np.random.default_rng(3))
    expected = held_out_one_at_a_time(problem, y, np.random.default_rng(3))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


def coefficients_one_at_a_time(problem: Problem, y: Array) -> Array:
    both = np.hstack([problem.x, problem.x_tilde])
    rows, columns = both.shape
    centred = both - both.mean(0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2
    differences = []
    for target in ((y - y.mean(0)) / y.std(0)).T:
        models = [Ridge(penalty * rows).fit(both, target) for penalty in COEFFICIENT_PENALTIES]
        scores = [
            ((target - model.predict(both)) ** 2).sum() / (1 - (values / (values + model.alpha)).sum() / rows) ** 2
            for model in models
        ]
        sizes = (models[int(np.argmin(scores))].coef_ * both.std(0)).reshape(2, columns // 2)
        norms = [np.linalg.norm(sizes[:, own_columns(problem, j)], axis=1) for j in range(problem.features)]
        differences.append([own - other for own, other in norms])
    return np.array(differences)


@every_problem
def test_coefficients_are_those_of_the_penalty_with_the_best_generalised_cross_validation(
    problem: Problem,
) -> None:
    y = responses(problem)
    found = ridge_coefficients(problem, y, np.random.default_rng(0))
    np.testing.assert_allclose(found, coefficients_one_at_a_time(problem, y), rtol=1e-6, atol=1e-9)


@every_problem
def test_swapping_a_feature_with_its_knockoff_turns_the_sign_of_its_coefficient_and_nothing_else(
    problem: Problem,
) -> None:
    y = responses(problem)
    w = ridge_coefficients(problem, y, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for _ in range(5):
        swapped = rng.random(problem.features) < 0.5
        columns = problem.per_column(swapped)
        other = problem._replace(
            x=np.where(columns, problem.x_tilde, problem.x), x_tilde=np.where(columns, problem.x, problem.x_tilde)
        )
        again = ridge_coefficients(other, y, np.random.default_rng(2))
        np.testing.assert_allclose(again, np.where(swapped, -w, w), rtol=1e-7, atol=1e-10)


@every_problem
@pytest.mark.parametrize("compute", [held_out_ridge, ridge_coefficients])
def test_responses_do_not_know_of_each_other(problem: Problem, compute) -> None:
    y = responses(problem)
    together = compute(problem, y, np.random.default_rng(0))
    assert together.shape == (3, problem.features)
    for k in range(3):
        alone = compute(problem, y[:, [k]], np.random.default_rng(0))
        np.testing.assert_allclose(alone[0], together[k], rtol=1e-7, atol=1e-10)


def test_rows_of_a_group_are_never_on_both_sides() -> None:
    problem = make_problem(120, 5)._replace(groups=np.repeat(np.arange(30), 4))
    held_out = []
    for train, test in _folds(problem, FOLDS, np.random.default_rng(0)):
        assert not set(problem.groups[train]) & set(problem.groups[test])
        assert len(train) + len(test) == 120
        held_out += test.tolist()
    assert sorted(held_out) == list(range(120))


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("compute", [held_out_ridge, ridge_coefficients])
def test_few_rows_and_constant_responses_give_numbers(rows: int, compute) -> None:
    problem = make_problem(40, 5)
    few = problem._replace(x=problem.x[:rows], x_tilde=problem.x_tilde[:rows])
    assert np.isfinite(compute(few, np.arange(2.0 * rows).reshape(rows, 2), np.random.default_rng(0))).all()
    assert (compute(problem, np.ones((40, 2)), np.random.default_rng(0)) == 0).all()
    one_group = problem._replace(groups=np.zeros(40, dtype=int))
    assert np.isfinite(compute(one_group, responses(problem), np.random.default_rng(0))).all()


def test_relevant_features_win_and_the_others_do_so_half_of_the_time() -> None:
    law = AutoregressiveGaussian(features=10, rho=0.5)
    x = law.sample(300, random_state=0)
    y = x[:, :3] @ np.ones((3, 200)) + np.random.default_rng(1).normal(size=(300, 200))
    null_wins = {held_out_ridge: [], ridge_coefficients: []}
    for seed in range(10):
        knockoffs = law.knockoffs(x, random_state=seed)
        problem = Problem(x, knockoffs, y[:, 0], "regression").in_standard_units()
        for compute, wins in null_wins.items():
            w = compute(problem, y[:, seed * 20 : seed * 20 + 20], np.random.default_rng(seed))
            assert (w[:, :3] > 0).mean() > 0.95
            wins.append((w[:, 3:] > 0).mean())
    for wins in null_wins.values():
        assert abs(np.mean(wins) - 0.5) < 3 * np.std(wins) / np.sqrt(len(wins)) + 0.01
