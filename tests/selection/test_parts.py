"""Generators and statistics by name: the same as the objects,
and errors that list what there is.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np
import pytest
from sklearn.base import clone

from knockoffs import (
    DDLK,
    GaussianKnockoffs,
    HierarchicalKnockoffs,
    HoldoutStatistic,
    KnockoffSelector,
    LassoStatistic,
    MidpointStatistic,
    SumStatistic,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.registry import GENERATORS
from knockoffs.runtime.notebook import described
from knockoffs.runtime.registry import by_name
from knockoffs.statistics.registry import STATISTICS

X = AutoregressiveGaussian(features=12, rho=0.4).sample(150, random_state=0)
Y = X[:, :8].sum(1)


def fitted(generator: Any, statistic: Any) -> KnockoffSelector:
    return KnockoffSelector(generator, statistic, fdr=0.3, certify=False, random_state=0).fit(X, Y)


def test_names_give_what_objects_give() -> None:
    by_word, by_object = fitted("gaussian", "lasso"), fitted(GaussianKnockoffs(), LassoStatistic())
    np.testing.assert_array_equal(by_word.w_, by_object.w_)
    assert by_word.selection_.to_dict() == by_object.selection_.to_dict()
    assert type(by_word.generator_) is GaussianKnockoffs
    assert type(by_word.statistic_) is LassoStatistic
    mixed = fitted("gaussian", LassoStatistic())
    np.testing.assert_array_equal(mixed.w_, by_object.w_)


def test_names_are_kept_as_settings() -> None:
    selector = fitted("gaussian", "lasso")
    assert (selector.generator, selector.statistic) == ("gaussian", "lasso")
    again = clone(selector)
    assert (again.generator, again.statistic) == ("gaussian", "lasso")
    assert not hasattr(again, "selection_")
    np.testing.assert_array_equal(again.fit(X, Y).w_, selector.w_)
    again.set_params(statistic="midpoint")
    assert again.get_params()["statistic"] == "midpoint"


@pytest.mark.parametrize("names", [GENERATORS, STATISTICS], ids=["generators", "statistics"])
def test_every_name_stands_for_a_new_object(names: dict[str, Any]) -> None:
    for name in names:
        one, other = by_name(name, names), by_name(name, names)
        assert one is not other
        assert type(one) is type(other)
    given = object()
    assert by_name(given, names) is given


def test_unknown_generators_are_refused_with_a_list_of_the_known() -> None:
    with pytest.raises(
        ValueError, match=r"generator='gausian' is not valid: pass an object with a 'sample'"
    ) as raised:
        fitted("gausian", "lasso")
    for name in GENERATORS:
        assert repr(name) in str(raised.value)


def test_unknown_statistics_are_refused_with_a_list_of_the_known() -> None:
    with pytest.raises(
        ValueError, match=r"statistic='laso' is not valid: pass an object with a 'compute'"
    ) as raised:
        fitted("gaussian", "laso")
    for name in ("auto", *STATISTICS):
        assert repr(name) in str(raised.value)


@pytest.mark.parametrize("part", [3, GaussianKnockoffs, [], ""])
def test_what_is_neither_is_refused(part: Any) -> None:
    with pytest.raises(ValueError, match=r"generator=.* is not valid.*'gaussian'"):
        fitted(part, "lasso")
    with pytest.raises(ValueError, match=r"statistic=.* is not valid.*'lasso'"):
        fitted("gaussian", part)
    with pytest.raises(ValueError, match=r"generator='auto' is not valid"):
        fitted("auto", "lasso")


def test_a_statistic_cannot_be_chosen_with_the_knockoffs_of_a_function() -> None:
    """They are those of the selection, which must have no part in the choice."""
    with pytest.raises(
        ValueError, match=r"statistic='auto' needs knockoffs of its own.*Pass a generator"
    ):
        fitted(lambda table: table, "auto")


def test_whether_progress_is_shown_is_no_part_of_a_description() -> None:
    loud = DDLK(joint_epochs=3, progress=True)
    assert described(loud) == described(DDLK(joint_epochs=3)) == "DDLK(joint_epochs=3)"
    assert loud.progress
    assert described(HierarchicalKnockoffs(loud)) == described(
        HierarchicalKnockoffs(DDLK(joint_epochs=3))
    )


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        (LassoStatistic(cv=1), "cv=1"),
        (HoldoutStatistic(mixture=2), "mixture=2"),
        (MidpointStatistic(folds=1), "folds=1"),
        (MidpointStatistic("xgboost"), "estimator='xgboost'"),
        (SumStatistic([LassoStatistic(cv=1), HoldoutStatistic()]), "cv=1"),
        (SumStatistic([LassoStatistic()]), "pass at least two statistics"),
        (
            SumStatistic([LassoStatistic(task="regression"), HoldoutStatistic()]),
            "Pass task='regression' to Sum",
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_settings_of_a_statistic_are_refused_before_a_generator_is_fitted(
    statistic: Any, expected: str
) -> None:
    class NeverFitted(GaussianKnockoffs):
        def fit(self, X: Any, y: Any = None, **settings: Any) -> NoReturn:
            raise AssertionError("it was fitted")

    with pytest.raises(ValueError, match=re.escape(expected)):
        fitted(NeverFitted(), statistic)
