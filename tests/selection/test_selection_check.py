"""The check of a selection: on its own rows, with its own generator,
and with alternatives that were computed.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest

from knockoffs import GaussianKnockoffs, HoldoutStatistic, LassoStatistic
from knockoffs.check.dry_run import DryRun
from knockoffs.check.expectation import BETTER, DRAWS, find_alternatives
from knockoffs.check.source import find_source
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array
from knockoffs.selection.selection_check import SelectionCheck, check_selection
from knockoffs.table.table import Table, read_table
from knockoffs.targets.base import Target
from knockoffs.targets.classes import Classes
from knockoffs.targets.quantity import Quantity
from tests.check.conftest import exact_pair

X = exact_pair(150, 0)[0]
LAW = AutoregressiveGaussian(features=30, rho=0.9)
CORRELATED = LAW.sample(400, random_state=0)


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


class Shuffling:
    """Knockoffs that ignore all other features."""

    def sample(self, X: Array, *, random_state: int) -> Array:
        return np.random.default_rng(random_state).permuted(X, axis=0)


def rows_of(X: Any) -> set[float]:
    return set(read_table(X, who="test").codes[:, 0].tolist())


@pytest.fixture(autouse=True)
def _forget() -> None:
    Spy.fitted.clear()
    Spy.sampled.clear()


def check(generator: Any, x: Any = X, knockoffs: Any = None, **settings: Any) -> SelectionCheck:
    table = x if isinstance(x, Table) else read_table(x, who="test")
    knockoffs = table if knockoffs is None else read_table(knockoffs, who="test")
    defaults = {
        "groups": None,
        "statistic": LassoStatistic(),
        "fdr": 0.2,
        "offset": 1,
        "target": Quantity.example(),
    }
    more = {"seed": 0, "conditioned": np.zeros(table.shape[1], dtype=bool)}
    return check_selection(generator, table, knockoffs, **(defaults | more | settings))


def test_the_generator_itself_is_checked_on_all_rows_and_not_fitted_again() -> None:
    model = Spy(random_state=0).fit(X)
    Spy.fitted.clear()
    found = check(model).certificate
    assert Spy.fitted == []
    assert Spy.sampled == [rows_of(X)] * (DRAWS + 1)  # for simulated responses and for the tests
    assert found.found.rows == 150
    assert found.found.subject == "Spy, on the rows of the selection"
    assert np.isnan(found.found.share_of_fit)
    assert not any(
        "used to fit the generator" in reason for reason in found.reasons
    )  # these rows are what matters


def test_the_knockoffs_of_a_function_are_checked_as_they_are() -> None:
    x, x_tilde = exact_pair(150, 0)

    def never(_: Any) -> None:
        raise AssertionError("knockoffs were made again")

    found = check(never, x, x_tilde).certificate
    assert (found.validity, found.found.rows, found.found.learned) == ("pass", 150, False)
    assert "knockoffs of a function" in found.found.subject


def test_too_few_rows_have_an_expectation_and_no_certificate() -> None:
    model = GaussianKnockoffs(random_state=0).fit(X)
    few = check(model, X[:99])
    assert few.certificate is None
    assert isinstance(few.expectation, DryRun)
    assert check(model, X[:100]).certificate is not None


def test_seeds_make_the_check() -> None:
    model = GaussianKnockoffs(random_state=0).fit(X)
    one, again, other = (check(model, seed=seed).certificate.to_dict() for seed in (0, 0, 1))
    assert one == again != other


UNEVEN = {
    "one large group": np.r_[np.zeros(130), np.arange(1, 21)],
    "one group": np.zeros(150),
    "two groups, one small": np.r_[np.zeros(145), np.ones(5)],
}


@pytest.mark.parametrize("groups", UNEVEN.values(), ids=UNEVEN.keys())
@pytest.mark.parametrize("kind", [Quantity, Classes])
def test_uneven_groups_are_no_error(groups: Array, kind: type[Target]) -> None:
    """With few groups there is no certificate, and the selection goes on without."""
    x, x_tilde = exact_pair(150, 0)
    groups = groups.astype(int)
    found = check(lambda t: t, x, x_tilde, groups=groups, target=kind.example())
    assert (found.certificate is None) == (groups.max() + 1 < 20)
    assert np.isfinite(found.expectation.ws).all()


def test_a_table_of_all_kinds_is_checked_without_warnings() -> None:
    town = np.arange(len(X)) % 70
    table = pd.DataFrame({"town": [f"t{number}" for number in town], "a": X[:, 0], "b": X[:, 1]})
    model = GaussianKnockoffs(random_state=0).fit(table)
    assert check(model, table).certificate is not None


# alternatives


def test_better_alternatives_are_found_and_their_figures_given() -> None:
    strongly_correlated = AutoregressiveGaussian(features=60, rho=0.97).sample(500, random_state=0)
    found = check(Shuffling(), strongly_correlated).certificate
    assert found.validity != "pass"
    named = dict(found.found.alternatives)
    assert any("calibrate=True" in what for what in named)
    gaussian = named["GaussianKnockoffs() (--generator gaussian)"]
    assert gaussian.fdp < BETTER * found.expected.fdp
    assert gaussian.level == found.expected.level == 0.2
    for what, rate in named.items():
        assert rate.fdp < found.expected.fdp, what
        assert any(what in sentence and f"{rate.fdp:.2f}" in sentence for sentence in found.advice)


def test_a_pass_and_gaussian_knockoffs_need_no_other_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits = []
    fit = GaussianKnockoffs.fit
    monkeypatch.setattr(
        GaussianKnockoffs, "fit", lambda self, *data: (fits.append(1), fit(self, *data))[1]
    )
    model = GaussianKnockoffs(random_state=0).fit(CORRELATED)
    fits.clear()
    found = check(model, CORRELATED).certificate
    assert fits == []
    assert found.validity != "pass" or found.found.alternatives == ()


@pytest.mark.parametrize(
    "statistic", [LassoStatistic(), HoldoutStatistic()], ids=["lasso", "mixture"]
)
def test_the_other_statistic_is_advised_where_it_is_much_better_alone(statistic: Any) -> None:
    found = check(Shuffling(), CORRELATED, statistic=statistic)
    expectation = found.expectation
    other = HoldoutStatistic() if isinstance(statistic, LassoStatistic) else LassoStatistic()
    of_other = check(Shuffling(), CORRELATED, statistic=other).expectation
    source = find_source(Shuffling(), CORRELATED, None)
    others = dict(
        find_alternatives(
            expectation, 0.2, source=source, expect_of=lambda *_: [of_other], exchangeable=False
        )
    )
    rate = of_other.rate(0.2)
    advised = [what for what in others if what.startswith(type(other).__name__)]
    assert bool(advised) == (rate.fdp < BETTER * expectation.rate(0.2).fdp)
    # knockoffs of a function cannot be exchanged
    assert not any("Gaussian" in what for what in others)
    level = expectation.calibrated_level(0.2)
    assert others[
        f"a filter at level {level:.2g} (calibrate=True, --calibrate)"
    ] == expectation.rate(level)


def test_alternatives_are_compared_at_the_level_that_is_judged_and_must_find_something() -> None:
    """At a level that selects nothing all statistics have no false discoveries,
    which is no remedy.
    """
    rng = np.random.default_rng(0)
    relevant = np.tile(np.arange(9) < 7, (40, 1))
    broken = np.where(relevant, 3.0, rng.choice([2.0, 2.0, -1.0], size=(40, 9)))
    kinds = ("linear",) * 40

    def expects(ws: Any) -> DryRun:
        return DryRun(ws, relevant, kinds, statistic=LassoStatistic())

    now = expects(broken)
    judged = now.judged(0.1)
    assert judged is not None
    assert judged.level > 0.1
    source = find_source(Shuffling(), CORRELATED, None)
    for ws, better in ((np.where(relevant, 3.0, -1.0), True), (np.full((40, 9), -1.0), False)):
        other = expects(ws)
        found = [
            *find_alternatives(
                now, 0.1, source=source, expect_of=lambda *_, own=other: [own], exchangeable=False
            )
        ]
        assert bool(found) == better
        assert all(rate.level == judged.level for _, rate in found)
