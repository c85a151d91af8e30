"""An empty selection does not break a pipeline, and what is kept is never called a discovery."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from knockoffs import KnockoffSelector, KnockoffWarning
from knockoffs.report.page import render
from knockoffs.report.summary import summarise
from knockoffs.selection.explanation import explain_empty_selection, next_steps

X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 6)), columns=[*"abcdef"])
Y = pd.Series(X["a"] + X["b"], name="yield")
W = np.array([0.3, 0.5, -0.4, 0.1, 0.0, 0.2])


def selector(w: np.ndarray = W, **settings: Any) -> KnockoffSelector:
    """A selector that finds this w, whatever X and y are."""
    return KnockoffSelector(
        lambda X: X.iloc[::-1].set_axis(X.index),
        lambda *_: w,
        certify=False,
        random_state=0,
        **settings,
    )


def quiet_fit(estimator: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        return estimator.fit(X, Y)


def test_a_pipeline_goes_on_with_the_best_features() -> None:
    fitted = quiet_fit(
        make_pipeline(selector(keep_at_least=2).set_output(transform="pandas"), LinearRegression())
    )
    assert fitted.score(X, Y) > 0.9
    assert fitted[0].selection_.discoveries == []
    assert fitted[0].selection_.kept == ("b", "a")
    assert list(fitted[0].transform(X).columns) == ["a", "b"]


def test_selected_features_come_first_and_nothing_is_kept_where_there_are_enough() -> None:
    w = np.array([0.3, 0.5, -0.1, 0.4, 0.0, 0.05])
    found = quiet_fit(selector(w, fdr=0.4, keep_at_least=2)).selection_
    assert (found.discoveries, found.kept) == (["b", "d", "a"], ())
    found = quiet_fit(selector(w, fdr=0.4, keep_at_least=4)).selection_
    assert (found.discoveries, found.kept) == (["b", "d", "a"], ("f",))
    assert quiet_fit(selector(keep_at_least=99)).get_support().all()


def test_conditioned_columns_are_never_kept() -> None:
    assert quiet_fit(selector(keep_at_least=1, condition_on=["b"])).selection_.kept == ("a",)


@pytest.mark.parametrize(
    "columns",
    [X.columns[:2], np.array(["a", "b"]), pd.Series(["a", "b"]), pl.Series(["a", "b"]), ("a", 1)],
)
def test_columns_to_condition_on_may_be_any_sequence(columns: Any) -> None:
    assert quiet_fit(selector(condition_on=columns)).selection_.conditioned == ("a", "b")


def test_it_is_marked_everywhere_and_warned_of_once() -> None:
    with pytest.warns(KnockoffWarning) as caught:
        fitted = selector(keep_at_least=2).fit(X, Y)
    said = [
        str(warning.message)
        for warning in caught
        if "without any guarantee" in str(warning.message)
    ]
    assert said == [
        "keep_at_least=2 keeps b, a without any guarantee: the share of false ones among these is "
        "not bounded."
    ]
    selection = fitted.selection_
    assert "none: 0 of 6 features at fdr=0.1; kept without guarantee: b, a" in repr(selection)
    assert "Kept without any guarantee: b, a." in selection._repr_html_()
    assert json.loads(json.dumps(selection.to_dict()))["kept_without_guarantee"] == ["b", "a"]
    page = render(summarise(fitted))
    assert "<strong>Kept without any guarantee:</strong> b, a." in page
    assert page.count("kept without guarantee</td>") == 2
    assert not selection.to_frame()["selected"].any()


def test_an_empty_selection_says_what_to_do_next() -> None:
    w = np.array([0.9, 0.8, 0.7, -0.1, 0.05, 0.02])
    found = quiet_fit(selector(w)).selection_
    level, tests = found.advice
    assert level.startswith(
        "A higher level: fdr=0.334 is the smallest that selects anything, a, b, c."
    )
    assert "needs about 10 at once, and 3 stand out here" in tests
    assert tests.endswith(
        "both together bound the sum of their levels: 0.2 for tests at level=0.1."
    )
    one_stands = quiet_fit(selector(np.array([0.9, 0.02, 0.01, -0.1, 0.05, 0.02]))).selection_
    assert "needs about 10 at once, and 1 stands out here." in one_stands.advice[-1]
    assert quiet_fit(selector(w, fdr=0.334)).selection_.discoveries == ["a", "b", "c"]
    assert not quiet_fit(selector(w, fdr=0.333)).selection_.discoveries
    assert found.to_dict()["advice"] == list(found.advice)
    one_stands = quiet_fit(selector(np.array([0.9, 0.02, 0.01, -0.1, 0.05, 0.02]))).selection_
    assert "needs about 10 at once, and 1 stands out here." in one_stands.advice[-1]
    assert quiet_fit(selector(w, fdr=0.334)).selection_.advice == ()


def test_levels_that_are_shown_select() -> None:
    """A third is no level of 0.33, nor of 0.333: what is shown beside a feature selects it where it
    is passed.
    """
    w = np.array([0.9, 0.8, 0.7, -0.1, 0.05, 0.02])
    found = quiet_fit(selector(w, fdr=0.2))
    page = " ".join(render(summarise(found)).split())
    assert "the level at which each would enter: a (0.334), b (0.334), c (0.334)" in page
    assert page.count(">0.334</td>") == 3
    again = quiet_fit(selector(w, fdr=0.334)).selection_
    assert again.discoveries == ["a", "b", "c"]
    assert again._repr_html_().count("<td>0.334</td>") == 3


def test_more_rows_are_no_advice_where_no_number_of_rows_would_do() -> None:
    """At 0.1 ten features have to stand out together; with offset 0 one is enough."""
    w = np.array([0.9, 0.2, -1.0, -0.5])
    for offset, advised in ((1, False), (0, True)):
        steps = next_steps(
            w[None], np.zeros(4), list("abcd"), 0.1, rows=300, power=0.0, offset=offset
        )
        assert any(step.startswith("More rows") for step in steps) == advised
        assert any("needs about 10 at once" in step for step in steps) != advised
        said = explain_empty_selection(w, 0.1, offset=offset)
        least = (
            "at least 1 feature that stands out (10 "
            if offset == 0
            else "at least 10 features that stand out (20 "
        )
        assert least in said


def test_advice_names_near_duplicates() -> None:
    table = X.assign(c=X["a"] + 0.01 * X["d"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        found = selector(-np.ones(6)).fit(table, Y).selection_
    assert found.twins == (("a", "c"),)
    assert any("'a' and 'c'" in step for step in found.advice)


@pytest.mark.parametrize("value", [-1, 1.5, "2", None])
def test_bad_numbers_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="keep_at_least="):
        selector(keep_at_least=value).fit(X, Y)
