"""Quick statistics are what they stand for: lassos, fitted one at a time by scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso, Ridge

from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.statistics import quick
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.statistics.problem import Problem
from knockoffs.statistics.quick import (
    FOR_WIDE,
    KEPT,
    PENALTIES,
    PENALTY,
    RIDGE_PENALTIES,
    USUAL,
    WIDE,
    Lassos,
    Penalised,
    _folds,
    held_out_lines,
    lasso_coefficients,
    ridge_coefficients,
)
from knockoffs.targets.quantity import Quantity

UNITS = np.array([0, 1, 1, 1, 2, 3, 3, 4])  # the feature of each column


def make_problem(rows: int, columns: int, unit: Array | None = None, seed: int = 0) -> Problem:
    law = AutoregressiveGaussian(features=columns, rho=0.6)
    x = law.sample(rows, random_state=seed)
    y = np.zeros(rows)
    return Problem(
        x, law.knockoffs(x, random_state=seed + 1), Quantity(y), unit=unit
    ).in_standard_units()


def responses(problem: Problem, count: int = 3) -> Array:
    """Several, with units and origins of their own."""
    rng = np.random.default_rng(7)
    signal = problem.x @ rng.normal(size=(problem.x.shape[1], count)) + rng.normal(
        size=(len(problem.x), count)
    )
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


# the lassos


def solved(x: Array, y: Array, penalised: Penalised, penalty: Array, steps: int = 3000) -> Array:
    return Lassos(x, y, penalised, 0.5).step(penalty, steps)


@pytest.mark.parametrize(("rows", "columns"), [(60, 6), (15, 24)])
def test_lassos_are_those_of_scikit_learn(rows: int, columns: int) -> None:
    problem = make_problem(rows, columns)
    y, penalty = responses(problem), np.array([0.1, 1.0, 30.0])
    found = solved(problem.x, y, Penalised.of_units(np.arange(columns), np.ones(columns)), penalty)
    for k in range(3):
        expected = Lasso(penalty[k], tol=1e-10, max_iter=100_000).fit(problem.x, y[:, k]).coef_
        np.testing.assert_allclose(found[:, k], expected, atol=1e-4 * 10.0**k)
        assert (expected != 0).sum() > 0


@pytest.mark.parametrize("rows", [60, 6])
def test_lassos_with_groups_fulfil_the_conditions_of_their_minimum(rows: int) -> None:
    """The gradient of a group in use points along its coefficients, as long as the penalty;
    else it is shorter.
    """
    problem = make_problem(rows, 8, UNITS)
    y, penalty, weight = (
        responses(problem),
        np.array([0.2, 3.0, 10.0]),
        np.array([1.0, 2.0, 0.5, 1.0, 1.0]),
    )
    b = solved(problem.x, y, Penalised.of_units(UNITS, weight), penalty)
    x = problem.x - problem.x.mean(0)
    gradient = x.T @ (y - y.mean(0) - x @ b) / rows
    for k in range(3):
        for g, own in enumerate(weight * penalty[k]):
            mine, pull = b[g == UNITS, k], gradient[g == UNITS, k]
            if np.linalg.norm(mine) > 0:
                np.testing.assert_allclose(pull, own * mine / np.linalg.norm(mine), atol=1e-4 * own)
            else:
                assert np.linalg.norm(pull) <= own * (1 + 1e-6)
    assert (b == 0).any()
    assert (b != 0).any()


def test_a_start_at_the_solution_stays_there() -> None:
    problem = make_problem(60, 8, UNITS)
    y, penalty = responses(problem), np.array([0.2, 3.0, 10.0])
    penalised = Penalised.of_units(UNITS, np.array([1.0, 2.0, 0.5, 1.0, 1.0]))
    b = solved(problem.x, y, penalised, penalty)
    again = Lassos(problem.x, y, penalised, 0.5)
    again.start_at(b, penalty)
    np.testing.assert_allclose(again.step(penalty, 1), b, atol=1e-3)


# held-out losses


def best_lines(x: Array, y: Array, kept: Flags) -> Lasso:
    """The lasso with the networks' penalty, in units of what the best ridge regression leaves of
    kept rows.
    """
    ridges = [Ridge(penalty * (~kept).sum()).fit(x[~kept], y[~kept]) for penalty in PENALTIES]
    left = min(((y[kept] - ridge.predict(x[kept])) ** 2).mean() for ridge in ridges)
    return Lasso(PENALTY * np.sqrt(left), tol=1e-9, max_iter=100_000).fit(x, y)


def held_out_one_at_a_time(problem: Problem, y: Array, rng: np.random.Generator) -> Array:
    rows, features = len(problem.x), problem.features
    y = (y - y.mean(0)) / y.std(0)
    w = np.zeros((y.shape[1], features))
    fold = rng.permutation(rows) % USUAL.folds
    for number in range(USUAL.folds):
        train, test = fold != number, fold == number
        count = train.sum()
        kept = rng.permutation(count) < round(KEPT * count)
        for block in np.array_split(rng.permutation(features), min(USUAL.blocks, features)):
            coins = rng.random((count, features)) < 0.5
            mixed = problem.x[train]
            mixed[:, block] = np.where(
                coins[:, block], problem.x_tilde[train][:, block], mixed[:, block]
            )
            for k in range(y.shape[1]):
                lines = best_lines(mixed, y[train, k], kept)
                x, x_tilde = problem.x[test], problem.x_tilde[test]
                for j in block:
                    swapped = np.where(np.arange(features) == j, x_tilde, x)
                    losses = [(y[test, k] - lines.predict(table)) ** 2 for table in (swapped, x)]
                    w[k, j] += (losses[0] - losses[1]).sum()
    return w / rows


@pytest.mark.parametrize("name", ["plain", "more features than blocks", "one feature"])
def test_held_out_lines_are_the_loss_with_the_knockoff_minus_the_loss_with_the_feature(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "USUAL", USUAL._replace(steps=400))
    y = responses(PROBLEMS[name], 2)
    found = held_out_lines(PROBLEMS[name], y, np.random.default_rng(3))
    expected = held_out_one_at_a_time(PROBLEMS[name], y, np.random.default_rng(3))
    np.testing.assert_allclose(found, expected, atol=5e-4)


@pytest.mark.parametrize("law", [AutoregressiveGaussian(30), AutoregressiveMixture(30)])
@pytest.mark.parametrize("compute", [held_out_lines, lasso_coefficients, ridge_coefficients])
def test_few_steps_rank_the_features_as_many_do(
    law, compute, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = law.sample(400, random_state=0)
    problem = Problem(x, law.knockoffs(x, random_state=1), Quantity(x[:, 0])).in_standard_units()
    y = responses(problem, 8)
    few = compute(problem, y, np.random.default_rng(0))
    monkeypatch.setattr(quick, "USUAL", USUAL._replace(steps=20 * USUAL.steps))
    many = compute(problem, y, np.random.default_rng(0))
    assert np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(few, many, strict=True)]) > 0.8


# coefficients


def test_coefficients_are_about_those_of_the_lasso_statistic() -> None:
    problem = make_problem(300, 20)
    y = responses(problem)
    found = lasso_coefficients(problem, y, np.random.default_rng(0))
    for own, target in zip(found, y.T, strict=True):
        w = LassoStatistic(random_state=0).compute(problem.x, problem.x_tilde, target)
        assert np.corrcoef(own, w)[0, 1] > 0.98


def coefficients_one_at_a_time(problem: Problem, y: Array) -> Array:
    both = np.hstack([problem.x, problem.x_tilde])
    rows, columns = both.shape
    centred = both - both.mean(0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2
    differences = []
    for target in ((y - y.mean(0)) / y.std(0)).T:
        models = [Ridge(penalty * rows).fit(both, target) for penalty in RIDGE_PENALTIES]
        scores = [
            ((target - model.predict(both)) ** 2).sum()
            / (1 - (values / (values + model.alpha)).sum() / rows) ** 2
            for model in models
        ]
        sizes = (models[int(np.argmin(scores))].coef_ * both.std(0)).reshape(2, columns // 2)
        norms = [
            np.linalg.norm(sizes[:, own_columns(problem, j)], axis=1)
            for j in range(problem.features)
        ]
        differences.append([own - other for own, other in norms])
    return np.array(differences)


@every_problem
def test_ridge_coefficients_are_those_of_the_penalty_with_the_best_generalised_cross_validation(
    problem: Problem,
) -> None:
    y = responses(problem)
    found = ridge_coefficients(problem, y, np.random.default_rng(0))
    np.testing.assert_allclose(found, coefficients_one_at_a_time(problem, y), rtol=1e-6, atol=1e-9)


@every_problem
@pytest.mark.parametrize("compute", [lasso_coefficients, ridge_coefficients])
def test_swapping_a_feature_with_its_knockoff_turns_the_sign_of_its_coefficient_and_nothing_else(
    problem: Problem, compute
) -> None:
    y = responses(problem)
    w = compute(problem, y, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for _ in range(5):
        swapped = rng.random(problem.features) < 0.5
        columns = problem.per_column(swapped)
        other = problem._replace(
            x=np.where(columns, problem.x_tilde, problem.x),
            x_tilde=np.where(columns, problem.x, problem.x_tilde),
        )
        again = compute(other, y, np.random.default_rng(0))
        np.testing.assert_allclose(again, np.where(swapped, -w, w), rtol=1e-7, atol=1e-10)


@every_problem
@pytest.mark.parametrize("compute", [held_out_lines, lasso_coefficients, ridge_coefficients])
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
    for train, test in _folds(problem, USUAL.folds, np.random.default_rng(0)):
        assert not set(problem.groups[train]) & set(problem.groups[test])
        assert len(train) + len(test) == 120
        held_out += test.tolist()
    assert sorted(held_out) == list(range(120))


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("compute", [held_out_lines, lasso_coefficients, ridge_coefficients])
def test_few_rows_and_constant_responses_give_numbers(rows: int, compute) -> None:
    problem = make_problem(40, 5)
    few = problem._replace(x=problem.x[:rows], x_tilde=problem.x_tilde[:rows])
    assert np.isfinite(
        compute(few, np.arange(2.0 * rows).reshape(rows, 2), np.random.default_rng(0))
    ).all()
    assert (compute(problem, np.ones((40, 2)), np.random.default_rng(0)) == 0).all()
    one_group = problem._replace(groups=np.zeros(40, dtype=int))
    assert np.isfinite(compute(one_group, responses(problem), np.random.default_rng(0))).all()


def test_relevant_features_win_and_the_others_do_so_half_of_the_time() -> None:
    law = AutoregressiveGaussian(features=10, rho=0.5)
    x = law.sample(300, random_state=0)
    y = x[:, :3] @ np.ones((3, 200)) + np.random.default_rng(1).normal(size=(300, 200))
    null_wins = {held_out_lines: [], lasso_coefficients: [], ridge_coefficients: []}
    for seed in range(10):
        knockoffs = law.knockoffs(x, random_state=seed)
        problem = Problem(x, knockoffs, Quantity(y[:, 0])).in_standard_units()
        for compute, wins in null_wins.items():
            w = compute(problem, y[:, seed * 20 : seed * 20 + 20], np.random.default_rng(seed))
            assert (w[:, :3] > 0).mean() > 0.95
            wins.append((w[:, 3:] > 0).sum() / (w[:, 3:] != 0).sum())  # a lasso leaves some at zero
    for wins in null_wins.values():
        assert abs(np.mean(wins) - 0.5) < 3 * np.std(wins) / np.sqrt(len(wins)) + 0.01


def test_wide_tables_get_less_work() -> None:
    problem = make_problem(30, WIDE + 1)
    assert quick._effort(problem) is FOR_WIDE
    for compute in (held_out_lines, lasso_coefficients):
        assert np.isfinite(compute(problem, responses(problem), np.random.default_rng(0))).all()
