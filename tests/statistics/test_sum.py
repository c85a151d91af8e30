"""The sum of statistics: exact where its terms are, in units of none,
and about as good as the better term.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from knockoffs import (
    HoldoutStatistic,
    ImportanceStatistic,
    KnockoffSelector,
    LassoStatistic,
    MidpointStatistic,
    SumStatistic,
)
from knockoffs.check.expectation import expect
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array
from knockoffs.statistics.sum import in_mean_sizes
from knockoffs.table.table import read_table

LAW = AutoregressiveGaussian(features=8)
X = LAW.sample(400, random_state=0)
X_TILDE = LAW.knockoffs(X, random_state=0)
Y = X[:, :3].sum(1) + 0.5 * np.random.default_rng(1).normal(size=400)
TERMS = (LassoStatistic(random_state=3), MidpointStatistic(folds=2, random_state=4))


class Counted(LassoStatistic):
    """A lasso whose w is multiplied."""

    def _compute(self, *arguments: Any) -> Array:
        return 1_000 * super()._compute(*arguments)


@pytest.mark.parametrize("y", [Y, Y > 0], ids=["quantity", "classes"])
def test_it_is_the_sum_of_its_terms_in_units_of_their_size(y: Array) -> None:
    terms = [in_mean_sizes(term.compute(X, X_TILDE, y)) for term in TERMS]
    found = SumStatistic(TERMS).compute(X, X_TILDE, y)
    np.testing.assert_allclose(found, np.sum(terms, axis=0), rtol=1e-6)
    larger = SumStatistic([Counted(random_state=3), TERMS[1]])
    np.testing.assert_allclose(larger.compute(X, X_TILDE, y), found, rtol=1e-6)


def test_swapping_features_flips_their_signs_and_nothing_else_where_terms_are_exact() -> None:
    mask = np.array([True, False, False, True, True, False, True, False])
    swapped = np.where(mask, X_TILDE, X), np.where(mask, X, X_TILDE)
    statistic = SumStatistic(TERMS)
    assert statistic.exact
    w, turned = statistic.compute(X, X_TILDE, Y), statistic.compute(*swapped, Y)
    np.testing.assert_allclose(turned, np.where(mask, -w, w), rtol=1e-4, atol=1e-4)


def test_it_is_exact_only_where_all_terms_are() -> None:
    assert not SumStatistic().exact
    assert SumStatistic([LassoStatistic(), ImportanceStatistic()]).exact
    assert not SumStatistic([LassoStatistic(), HoldoutStatistic()]).exact


def test_a_term_that_says_nothing_leaves_the_others_as_they_are() -> None:
    # a lasso sees nothing here
    y = np.abs(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=400)
    lasso = LassoStatistic(cv=2, random_state=0)
    networks = HoldoutStatistic(folds=2, random_state=0)
    assert networks.compute(X, X_TILDE, y).argmax() == 0
    assert SumStatistic([lasso, networks]).compute(X, X_TILDE, y).argmax() == 0


def test_the_predictions_are_those_of_the_networks() -> None:
    networks = HoldoutStatistic(folds=2, random_state=5)
    _, expected = networks.compute_with_predictions(X, X_TILDE, Y)
    _, found = SumStatistic([LassoStatistic(), networks], random_state=0).compute_with_predictions(
        X, X_TILDE, Y
    )
    assert expected is not None
    np.testing.assert_array_equal(found, expected)


def test_a_selection_by_the_command_lines_name_is_the_same_twice_and_finds_the_relevant_ones() -> (
    None
):
    selector = KnockoffSelector("gaussian", "sum", fdr=0.4, random_state=0).fit(X, Y)
    again = KnockoffSelector("gaussian", SumStatistic(), fdr=0.4, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(selector.w_, again.w_)
    assert selector.get_support()[:3].all()
    assert selector.selection_.exact is False


def test_the_check_expects_the_sum_of_what_stands_in_for_the_terms() -> None:
    table = read_table(X, who="test")
    statistics = [HoldoutStatistic(), LassoStatistic(), SumStatistic()]
    runs = expect(table, partial(LAW.knockoffs, X), statistics, offset=1, seed=0)
    networks, lasso, both = (in_mean_sizes(run.ws) for run in runs)
    assert np.corrcoef(both.ravel(), (networks + lasso).ravel())[0, 1] > 0.98  # folds differ
    for level in (0.2, 0.3, 0.5):
        rate = runs[2].rate(level)
        assert rate.fdp <= level + 2 * rate.fdp_error


@pytest.mark.parametrize(
    "statistics",
    [
        [LassoStatistic()],
        [LassoStatistic(), "mixture"],
        [LassoStatistic(), HoldoutStatistic(Ridge(), standardise=False)],
        LassoStatistic(),
    ],
    ids=["one", "a name", "other units", "no list"],
)
def test_what_is_no_sum_is_refused(statistics: Any) -> None:
    with pytest.raises(ValueError, match="pass at least two statistics of this package"):
        SumStatistic(statistics).compute(X, X_TILDE, Y)


def test_a_term_of_another_task_is_refused() -> None:
    """All terms explain the same y: a task of one of them had no effect."""
    terms = [LassoStatistic(task="regression"), ImportanceStatistic()]
    with pytest.raises(
        ValueError, match=r"not that of the sum, task='auto'. Pass task='regression' to Sum"
    ):
        SumStatistic(terms).compute(X, X_TILDE, Y > 0)
    found = SumStatistic(terms, task="regression", random_state=0).compute(X, X_TILDE, Y > 0)
    terms = [LassoStatistic(), ImportanceStatistic()]
    expected = SumStatistic(terms, task="regression", random_state=0).compute(X, X_TILDE, Y > 0)
    np.testing.assert_array_equal(found, expected)
