"""The group lasso solves its problem, and columns may stand in any order."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import KFold

from knockoffs.statistics.group_lasso import (
    Groups,
    _largest_penalty,
    _path,
    group_lasso,
)
from knockoffs.targets.base import Likelihood
from knockoffs.targets.classes import Classes
from knockoffs.targets.counts import Counts
from knockoffs.targets.quantity import Quantity
from knockoffs.targets.survival import Survival
from knockoffs.targets.times import Times

OF = np.array([0, 0, 0, 1, 2, 2, 3, 4, 4, 4])
GROUPS = Groups(OF, np.sqrt(np.bincount(OF)))
RNG = np.random.default_rng(0)
Z = RNG.normal(size=(250, 10)) @ (np.eye(10) + 0.3 * RNG.normal(size=(10, 10)))
Y = Z[:, :3].sum(1) - Z[:, 6] + RNG.normal(size=250)
TARGETS = {
    "quantity": Quantity(Y),
    "two classes": Classes.numbered((Y > 0).astype(float)),
    "three classes": Classes.numbered(np.digitize(Y, [-1, 1]).astype(float)),
    "counts": Counts.of(RNG.poisson(np.exp(Y / 2)).astype(float)),
    "times": Survival.of(Times(np.round(np.exp(-Y), 1), RNG.random(250) < 0.6)),
}
RESPONSES: dict[str, Likelihood] = {name: target.of_lines() for name, target in TARGETS.items()}


def with_constant(groups: Groups) -> tuple[np.ndarray, Groups]:
    count = len(groups.weight)
    return np.column_stack([Z, np.ones(250)]), Groups(
        np.append(groups.of, count), np.append(groups.weight, 0)
    )


@pytest.mark.parametrize("target", RESPONSES)
def test_each_solution_of_the_path_satisfies_the_conditions_of_an_optimum(target: str) -> None:
    z, groups = with_constant(GROUPS)
    response = RESPONSES[target]
    largest = _largest_penalty(z, response, groups)
    for penalty, b in zip(
        largest * np.array([0.999, 0.5, 0.1, 0.02]),
        _path(z, response, groups, largest * np.array([0.999, 0.5, 0.1, 0.02])),
        strict=True,
    ):
        gradient = -z.T @ response.score(z @ b) / len(z)
        norms, weight = groups.norms(b), penalty * groups.weight
        for g in range(len(groups.weight)):
            columns = groups.of == g
            if norms[g] > 0:
                np.testing.assert_allclose(
                    gradient[columns], -weight[g] * b[columns] / norms[g], atol=2e-3 * largest
                )
            else:
                assert np.linalg.norm(gradient[columns]) <= weight[g] * 1.01
        if penalty > 0.99 * largest:
            assert (norms[:-1] > 0).sum() == 1


def test_groups_of_one_column_give_the_lasso() -> None:
    z, groups = with_constant(Groups(np.arange(10), np.ones(10)))
    for target, model in (
        ("quantity", Lasso(alpha=0.1, tol=1e-10)),
        (
            "two classes",
            LogisticRegression(
                C=1 / (250 * 0.02), l1_ratio=1.0, solver="saga", tol=1e-8, max_iter=9999
            ),
        ),
    ):
        penalty = 0.1 if target == "quantity" else 0.02
        (b,) = _path(z, RESPONSES[target], groups, np.array([penalty]))
        model.fit(Z, TARGETS[target].values)
        np.testing.assert_allclose(b[:-1, 0], np.ravel(model.coef_), atol=1e-3)
        np.testing.assert_allclose(b[-1, 0], np.ravel(model.intercept_)[0], atol=2e-3)


@pytest.mark.parametrize("target", RESPONSES)
def test_relevant_groups_are_found_whatever_the_order_of_columns(target: str) -> None:
    splits = [*KFold(4, shuffle=True, random_state=0).split(Z)]
    b = group_lasso(Z, RESPONSES[target], GROUPS, splits)
    norms = GROUPS.norms(b)
    assert norms[[0, 3]].min() > 3 * norms[[1, 2, 4]].max()
    order = np.random.default_rng(1).permutation(10)
    again = group_lasso(Z[:, order], RESPONSES[target], Groups(OF[order], GROUPS.weight), splits)
    np.testing.assert_allclose(again, b[order], atol=1e-9)


def test_columns_that_are_constant_or_copies_do_no_harm() -> None:
    splits = [*KFold(4, shuffle=True, random_state=0).split(Z)]
    z = np.column_stack([Z, np.zeros(250), Z[:, 0]])
    groups = Groups(np.append(OF, [5, 6]), np.append(GROUPS.weight, [1, 1]))
    b = group_lasso(z, Quantity(Y), groups, splits)
    assert b[10] == 0
    np.testing.assert_allclose(
        b[0] + b[11], group_lasso(Z, Quantity(Y), GROUPS, splits)[0], atol=0.1
    )
