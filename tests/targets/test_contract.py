"""What y may be, and what every kind of target promises.
A new kind joins by one line in TARGETS.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from knockoffs import (
    GaussianKnockoffs,
    JointDensity,
    KnockoffSelector,
    LassoStatistic,
    RandomizationTest,
)

ROWS = 150
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(ROWS, 8)), columns=list("abcdefgh"))
# independent columns: exact
X_TILDE = pd.DataFrame(RNG.normal(size=(ROWS, 8)), columns=list("abcdefgh"))
SIGNAL = X.iloc[:, :5].sum(axis=1).to_numpy()
NOISY = SIGNAL + 0.5 * RNG.normal(size=ROWS)
NUMBER = np.rint(64 * NOISY) / 64  # exact in short floats, too
TWO = np.where(NOISY > 0.5, "well", "ill")
SEVERAL = np.array(["low", "middle", "high"])[np.digitize(NOISY, [-1.5, 1.5])]
VISITS = np.random.default_rng(3).poisson(np.exp(0.4 + 0.4 * SIGNAL))
DAYS = np.rint(1 + 300 * np.exp(-SIGNAL) * RNG.exponential(size=ROWS))
DIED = RNG.random(ROWS) < 0.8
SURVIVAL = pd.DataFrame({"days": DAYS, "died": DIED})


def structured(
    days: np.ndarray, died: np.ndarray, names: tuple[str, str] = ("died", "days")
) -> np.ndarray:
    return np.array([*zip(died, days, strict=True)], dtype=[(names[0], bool), (names[1], float)])


class Kind(NamedTuple):
    """A kind of target: an example, the task that it is, ways to give it,
    and others that mean the same.

    `same` are changes after which all answers are the same bits: units of a quantity, names of
    classes in the same order, monotone changes of time. `turned` reverses the order of classes, or
    is None. `asked` is passed as `task`: the type does not tell of all kinds.
    """

    y: Any
    task: str
    ways: dict[str, Callable[[Any], Any]]
    same: dict[str, Any]
    turned: Any = None
    asked: str = "auto"


def categories(y: np.ndarray) -> pd.Categorical:
    return pd.Categorical(y, categories=["not seen", *np.unique(y)[::-1]])


VECTORS: dict[str, Callable[[Any], Any]] = {
    "list": np.ndarray.tolist,
    "objects": lambda y: y.astype(object),
    "pandas": pd.Series,
    "nullable": lambda y: pd.Series(y).convert_dtypes(),
    "arrow in pandas": lambda y: pd.Series(y).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.Series,
    "arrow": pa.array,
    "frame of one column": lambda y: pd.DataFrame({"y": y}),
    "array of one column": lambda y: y[:, None],
}
LABELS = VECTORS | {
    "categories": categories,
    "categories in pandas": lambda y: pd.Series(categories(y)),
    "categories in polars": lambda y: pl.Series(y).cast(pl.Categorical),
}
TARGETS = {
    "number": Kind(
        NUMBER,
        "regression",
        VECTORS
        | {
            "short floats": lambda y: y.astype(np.float32),
            "column-like": lambda y: np.repeat(y, 2)[::2],
        },
        {"other units": 1024 * NUMBER},
    ),
    "two classes": Kind(
        TWO,
        "classification",
        LABELS,
        {
            "booleans": TWO == "well",
            "booleans in a list": (TWO == "well").tolist(),
            "0 and 1": (TWO == "well").astype(int),
            "1 and 2": 1.0 + (TWO == "well"),
            "nullable booleans": pd.Series(TWO == "well", dtype="boolean"),
            "bytes": TWO.astype("S"),
        },
        np.where(TWO == "well", "cured", "sick"),
    ),
    "several classes": Kind(
        SEVERAL,
        "classification",
        LABELS,
        {
            "whole numbers": np.searchsorted(np.unique(SEVERAL), SEVERAL),
            "other names": np.char.add("c", SEVERAL),
        },
        np.array([{"high": "z", "low": "b", "middle": "a"}[label] for label in SEVERAL]),
    ),
    "counts": Kind(
        VISITS,
        "count",
        VECTORS | {"floats": lambda y: y.astype(float), "short": lambda y: y.astype(np.int8)},
        {},
        asked="count",
    ),
    "survival": Kind(
        SURVIVAL,
        "survival",
        {
            "columns exchanged": lambda y: y[["died", "days"]],
            "0 and 1": lambda y: y.astype({"died": int}),
            "nullable": lambda y: y.convert_dtypes(),
            "polars": pl.from_pandas,
            "arrow": pa.Table.from_pandas,
            "structured": lambda y: structured(y["days"], y["died"]),
            "structured, time first": lambda y: y.to_records(index=False),
        },
        {
            "months": SURVIVAL.assign(days=DAYS / 32),
            "logarithms": SURVIVAL.assign(days=np.log(DAYS)),
            "other names": SURVIVAL.rename(columns={"days": "t", "died": "e"}),
        },
    ),
}
GIVEN = [
    pytest.param(kind, way, id=f"{kind}: {way}")
    for kind, own in TARGETS.items()
    for way in own.ways
]
CHANGED = [
    pytest.param(kind, way, id=f"{kind}: {way}")
    for kind, own in TARGETS.items()
    for way in own.same
]
every_target = pytest.mark.parametrize("kind", TARGETS)


@cache
def generator() -> Any:
    return GaussianKnockoffs(random_state=0).fit(X)


@cache
def density() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return JointDensity(hidden=(4,), epochs=1, random_state=0).fit(X)


def w_of(y: Any, task: str = "auto") -> np.ndarray:
    return LassoStatistic(cv=3, random_state=0, task=task).compute(X, X_TILDE, y)


def selection_of(y: Any, task: str = "auto") -> Any:
    selector = KnockoffSelector(
        generator(), LassoStatistic(cv=3), fdr=0.25, certify=False, task=task, random_state=0
    )
    return selector.fit(X, y).selection_


def pvalues_of(y: Any, task: str = "auto") -> Any:
    test = RandomizationTest(density(), "linear", resamples=300, task=task, random_state=0)
    return test.fit(X, y).result_


plain_w = cache(lambda kind: w_of(TARGETS[kind].y, TARGETS[kind].asked))
plain_selection = cache(lambda kind: selection_of(TARGETS[kind].y, TARGETS[kind].asked))
plain_test = cache(lambda kind: pvalues_of(TARGETS[kind].y, TARGETS[kind].asked))


def assert_same_answers(kind: str, y: Any) -> None:
    found, expected = selection_of(y), plain_selection(kind)
    np.testing.assert_array_equal(found.draws, expected.draws)
    assert found.selected.tolist() == expected.selected.tolist()
    found, expected = pvalues_of(y), plain_test(kind)
    np.testing.assert_array_equal(found.pvalues, expected.pvalues)
    np.testing.assert_allclose(found.effects, expected.effects, rtol=1e-9)


@every_target
def test_its_task_is_known_by_its_type_and_relevant_features_are_found(kind: str) -> None:
    for result in (plain_selection(kind), plain_test(kind)):
        assert result.task == TARGETS[kind].task
        assert result.selected[:5].all()


@pytest.mark.parametrize(("kind", "way"), GIVEN)
def test_however_it_is_given_w_is_the_same_bits(kind: str, way: str) -> None:
    y = TARGETS[kind].ways[way](TARGETS[kind].y)
    np.testing.assert_array_equal(w_of(y, TARGETS[kind].asked), plain_w(kind))


@pytest.mark.parametrize(("kind", "way"), CHANGED)
def test_units_and_names_change_no_answer(kind: str, way: str) -> None:
    assert_same_answers(kind, TARGETS[kind].same[way])


@every_target
def test_asking_for_the_task_changes_nothing(kind: str) -> None:
    own = TARGETS[kind]
    statistic = LassoStatistic(cv=3, random_state=0, task=own.task)
    np.testing.assert_array_equal(statistic.compute(X, X_TILDE, own.y), plain_w(kind))


@pytest.mark.parametrize("kind", [kind for kind, own in TARGETS.items() if own.turned is not None])
def test_the_order_of_classes_turns_effects_and_changes_nothing_else(kind: str) -> None:
    found, expected = selection_of(TARGETS[kind].turned), plain_selection(kind)
    np.testing.assert_allclose(
        found.draws, expected.draws, atol=5e-3 * np.abs(expected.draws).max()
    )
    assert found.selected.tolist() == expected.selected.tolist()
    found, expected = pvalues_of(TARGETS[kind].turned), plain_test(kind)
    np.testing.assert_allclose(found.pvalues, expected.pvalues, atol=1e-9)
    np.testing.assert_allclose(found.effects, -expected.effects, rtol=1e-6)


def test_effects_of_classes_are_those_of_the_class_that_is_named() -> None:
    """Each of the first five features makes `well`, `cured` and `high` more frequent,
    and `low` rarer.
    """
    assert "'well'" in plain_test("two classes").effect_meaning
    assert (plain_test("two classes").effects[:5] > 0.02).all()
    turned = pvalues_of(TARGETS["two classes"].turned)
    assert "'sick'" in turned.effect_meaning
    assert (turned.effects[:5] < -0.02).all()
    for y, rising, falling in ((TWO, "well", None), (SEVERAL, "high", "low")):
        curves = {
            curve.of: curve
            for curve in selection_of(pd.Series(y, name="state")).effects["a"].curves
        }
        assert curves[rising].change > 0
        assert falling is None or curves[falling].change < 0
    curves = {
        curve.of: curve for curve in selection_of(TARGETS["two classes"].turned).effects["a"].curves
    }
    assert [curve.change < 0 for of, curve in curves.items() if of == "sick"] == [True]


def test_effects_on_times_say_which_sign_is_the_earlier_event() -> None:
    assert "above 0 the event comes earlier" in plain_test("survival").effect_meaning
    assert (plain_test("survival").effects[:5] > 0.02).all()
    assert plain_selection("survival").effects["a"].hazard.ratio > 1


@every_target
def test_rows_in_another_order_with_their_labels_are_refused(kind: str) -> None:
    y = TARGETS[kind].y
    y = y if isinstance(y, pd.DataFrame) else pd.Series(y)
    with pytest.raises(ValueError, match="y has the row labels of X in another order"):
        w_of(y[::-1])


def spoilt(y: Any, value: Any, column: str | None = None) -> Any:
    """y with one other cell."""
    y = y.astype(object).copy()
    if column is None:
        y[3] = value
    else:
        y.loc[3, column] = value
    return y


BAD = {
    "too short": (lambda own: own.y[:-1], rf"y has .*{ROWS - 1}.*each of the {ROWS}"),
    "a missing value": (
        lambda own: spoilt(own.y, None, "days" if own.task == "survival" else None),
        "1 missing value.*Drop those rows",
    ),
}
BAD_ONES = {
    "infinite numbers": (
        spoilt(NUMBER, np.inf).astype(float),
        "y has infinite values. Drop those rows",
    ),
    "a constant": (np.full(ROWS, 1.5), r"y is constant \(1.5\)"),
    "one class": (np.full(ROWS, "ill"), r"one class only \('ill'\)"),
    "as many classes as rows": ([f"p{k}" for k in range(ROWS)], f"{ROWS} classes in {ROWS} rows"),
    "classes of several types": (spoilt(SEVERAL, 1), "classes of several types"),
    "dates": (pd.date_range("2020-01-01", periods=ROWS), "days since a date"),
    "negative times": (SURVIVAL.assign(days=-DAYS), "the column 'days' of y has .*negative times"),
    "infinite times": (
        SURVIVAL.assign(days=np.where(DAYS > 50, DAYS, np.inf)),
        "the column 'days' of y has infinite",
    ),
    "equal times": (SURVIVAL.assign(days=7.0), r"the column 'days' of y is constant \(7\)"),
    "no events": (
        SURVIVAL.assign(died=False),
        "the column 'died' of y says that no row has the event",
    ),
    "two events": (
        SURVIVAL.assign(days=DAYS > 50),
        "both columns of y .*'days' and 'died'.* could be the event",
    ),
    "no event column": (SURVIVAL.assign(died=DAYS + 1), "neither says whether the event was seen"),
    "three columns": (SURVIVAL.assign(ward=1.0), r"y has shape \(150, 3\)"),
}


@pytest.mark.parametrize("bad", BAD)
@every_target
def test_what_cannot_be_a_target_is_named_before_any_work(kind: str, bad: str) -> None:
    change, said = BAD[bad]
    refused(change(TARGETS[kind]), said)


@pytest.mark.parametrize("bad", BAD_ONES)
def test_what_is_wrong_with_a_target_is_named(bad: str) -> None:
    refused(*BAD_ONES[bad])


def refused(y: Any, said: str) -> None:
    for part in (KnockoffSelector("gaussian", "lasso"), RandomizationTest(density())):
        with pytest.raises(ValueError, match=f"(?s)^{type(part).__name__}: .*{said}"):
            part.fit(X, y)
    with pytest.raises(ValueError, match=said):
        w_of(y)
