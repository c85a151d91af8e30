"""The twin: fitted on some rows, checked on the others."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import polars as pl
import pytest

from knockoffs import GaussianKnockoffs
from knockoffs.diagnostics.certificate import Certificate
from knockoffs.diagnostics.twin import certify, certify_pair
from knockoffs.tables import read_table

from .conftest import exact_pair

X = exact_pair(150, 0)[0]
GROUPS = np.repeat(np.arange(75), 2)


class Spy(GaussianKnockoffs):
    """Remembers the rows that it was fitted on and asked for, by their first cell."""

    fitted: ClassVar[list[set[float]]] = []
    sampled: ClassVar[list[set[float]]] = []

    def fit(self, X: Any, y: Any = None) -> Self:
        self.fitted.append(rows_of(X))
        return super().fit(X, y)

    def sample(self, X: Any, **settings: Any) -> Any:
        self.sampled.append(rows_of(X))
        return super().sample(X, **settings)


def rows_of(X: Any) -> set[float]:
    return set(read_table(X, who="test").codes[:, 0].tolist())


@pytest.fixture(autouse=True)
def _forget() -> None:
    Spy.fitted.clear()
    Spy.sampled.clear()


def certified(generator: Any = None, x: Any = X, **settings: Any) -> Certificate | None:
    defaults = {"ready": False, "groups": None, "seed": 0, "progress": False}
    return certify(Spy(random_state=0) if generator is None else generator, x, **(defaults | settings))


def test_a_twin_is_checked_on_the_rows_that_it_was_not_fitted_on() -> None:
    found = certified()
    (fitted,), (sampled,) = Spy.fitted, Spy.sampled
    assert fitted & sampled == set()
    assert fitted | sampled == rows_of(X)
    assert (len(fitted), len(sampled)) == (105, 45)
    assert found.found.rows == 45
    assert "Spy fitted on 105 of the rows, checked on the other 45" in found.found.subject


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_belong_together_stay_together(seed: int) -> None:
    certified(groups=GROUPS, seed=seed)
    (fitted,), (sampled,) = Spy.fitted, Spy.sampled
    assert fitted | sampled <= rows_of(X)
    groups = [{int(GROUPS[X[:, 0] == cell][0]) for cell in side} for side in (fitted, sampled)]
    assert groups[0] & groups[1] == set()
    assert groups[0] | groups[1] == set(GROUPS.tolist())
    assert len(sampled) == np.isin(GROUPS, list(groups[1])).sum()  # whole groups, whose means are checked too


def test_seeds_choose_the_rows() -> None:
    for seed in (0, 0, 1):
        certified(seed=seed)
    assert Spy.fitted[0] == Spy.fitted[1] != Spy.fitted[2]


def test_a_generator_that_is_ready_is_not_fitted_and_sees_all_rows() -> None:
    model = Spy(random_state=0).fit(X[:100])
    Spy.fitted.clear()
    found = certified(model, ready=True)
    assert Spy.fitted == []
    assert Spy.sampled == [rows_of(X)]
    assert found.found.share_of_fit == pytest.approx(100 / 150)
    assert any("67% of these rows were used to fit the generator" in reason for reason in found.reasons)


def test_all_kinds_of_table_are_split_alike() -> None:
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(150)[::-1])
    expected = certified().to_dict()
    for table in (frame, pl.from_pandas(frame)):
        found = certified(x=table).to_dict()
        for name in ("verdict", "p_value", "tests", "subject"):
            assert found[name] == expected[name]


def test_fewer_than_a_hundred_rows_have_no_certificate() -> None:
    assert certified(x=X[:99]) is None
    assert Spy.fitted == Spy.sampled == []
    assert certified(x=X[:100]) is not None


def test_knockoffs_of_a_function_are_checked_as_a_pair() -> None:
    x, x_tilde = exact_pair(150, 0)
    found = certify_pair(x, x_tilde, groups=None, seed=0, progress=False)
    assert (found.verdict, found.found.rows, found.found.learned) == ("pass", 150, False)
    assert "too kind" in found.found.subject
    assert certify_pair(x[:99], x_tilde[:99], groups=None, seed=0, progress=False) is None


UNEVEN = {
    "one large group": np.r_[np.zeros(130), np.arange(1, 21)],
    "one group": np.zeros(150),
    "two groups, one small": np.r_[np.zeros(145), np.ones(5)],
}


@pytest.mark.parametrize("groups", UNEVEN.values(), ids=UNEVEN.keys())
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_uneven_groups_are_no_error(groups: np.ndarray, seed: int) -> None:
    """Where too few rows are left on one side there can be no check, and the selection goes on without."""
    certified(groups=groups, seed=seed)


def test_levels_that_only_the_twin_has_not_seen_are_not_warned_of() -> None:
    """The generator itself has seen all rows; warnings are errors in tests."""
    town = np.arange(len(X)) % 70  # some of which are in none of the rows that the twin is fitted on
    table = pd.DataFrame({"town": [f"t{number}" for number in town], "a": X[:, 0], "b": X[:, 1]})
    assert certified(GaussianKnockoffs(random_state=0), table) is not None
