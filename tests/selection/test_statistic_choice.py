"""`statistic="auto"`: chosen by X alone, so that what the filter promises stays true."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, Ridge

from knockoffs import (
    HoldoutStatistic,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    fdp,
    power,
)
from knockoffs.check import expectation
from knockoffs.check.dry_run import Rate
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array
from knockoffs.selection import statistic_choice as choice
from knockoffs.selection.statistic_choice import exchanged
from knockoffs.table.table import read_table

LAW = AutoregressiveGaussian(features=20, rho=0.4)
RELEVANT = np.arange(20) < 8


class Exact(BaseEstimator):
    """Exact knockoffs of `LAW`."""

    def fit(self, X: Any, y: Any = None) -> Exact:
        self.fitted_ = True
        return self

    def sample(self, X: Any, *, n_draws: int | None = None, random_state: int | None = None) -> Any:
        rng = np.random.default_rng(random_state)
        if n_draws is None:
            return LAW.knockoffs(X, random_state=rng)
        return [LAW.knockoffs(X, random_state=rng) for _ in range(n_draws)]


def quick_holdout() -> HoldoutStatistic:
    return HoldoutStatistic(Ridge(10.0), folds=2, blocks=2)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates and an expectation that take no time."""
    monkeypatch.setattr(choice, "CANDIDATES", (quick_holdout, lambda: LassoStatistic(cv=2)))
    monkeypatch.setattr(expectation, "DRAWS", 1)
    monkeypatch.setattr(expectation, "RESPONSES", 20)


def fitted(
    x: Array, y: Array, seed: int, generator: Any = None, **settings: Any
) -> KnockoffSelector:
    settings = {"fdr": 0.2, "certify": False, "random_state": seed} | settings
    selector = KnockoffSelector(Exact() if generator is None else generator, "auto", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)  # of selections that find nothing
        return selector.fit(x, y)


def rows(seed: int, count: int = 150) -> tuple[Array, Array]:
    x = LAW.sample(count, random_state=seed)
    return x, x[:, RELEVANT].sum(1) + 2 * np.random.default_rng(1000 + seed).normal(size=count)


def chosen(selector: KnockoffSelector) -> tuple[Any, ...]:
    return (
        type(selector.statistic_),
        selector.statistic_.get_params(deep=False).keys(),
        selector.statistic_reason_,
    )


# what has a part in the choice


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("classes", [False, True])
def test_y_has_no_part_in_the_choice(classes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(0)
    if classes:  # whose shares may have a part, and are the same in any order
        y = y > 1
        of_classes = lambda: HoldoutStatistic(LogisticRegression(), folds=2, blocks=2)  # noqa: E731
        monkeypatch.setattr(choice, "CANDIDATES", (of_classes, lambda: LassoStatistic(cv=2)))
    one = fitted(x, y, 0)
    for other in (np.random.default_rng(0).permutation(y), y[::-1]):
        again = fitted(x, other, 0)
        assert chosen(again) == chosen(one)
        assert not np.array_equal(again.w_, one.w_)


@pytest.mark.usefixtures("quick")
def test_a_choice_cannot_know_which_of_a_feature_and_its_knockoff_is_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It sees rows of which coins have taken each column from X or from the knockoffs of the
    selection.
    """
    seen, simulate = [], choice.expect

    def listen(table: Any, draw_knockoffs: Any, *statistics: Any, **settings: Any) -> Any:
        seen.append((table.codes, draw_knockoffs(1).codes, draw_knockoffs(2).codes))
        return simulate(table, draw_knockoffs, *statistics, **settings)

    monkeypatch.setattr(choice, "expect", listen)
    x, y = rows(1)
    fitted(x, y, 0)
    ((codes, knockoffs, others),) = seen
    from_x = (codes == x).all(0)
    assert 0 < from_x.sum() < 20
    assert not (codes == knockoffs).any()  # which are drawn anew
    assert not (knockoffs == others).any()


def test_a_feature_that_trades_places_with_its_knockoff_and_turns_its_coin_changes_nothing() -> (
    None
):
    x, x_tilde = (read_table(table, who="test") for table in (rows(1)[0], rows(2)[0]))
    rng = np.random.default_rng(0)
    coins = rng.random(20) < 1 / 2
    for swapped in (RELEVANT, ~RELEVANT, rng.random(20) < 1 / 2):
        again = exchanged(*exchanged(x, x_tilde, swapped), coins ^ swapped)
        for one, other in zip(again, exchanged(x, x_tilde, coins), strict=True):
            np.testing.assert_array_equal(one.codes, other.codes)


@pytest.mark.usefixtures("quick")
def test_a_seed_makes_the_choice_and_certificates_do_not_change_it() -> None:
    x, y = rows(2)
    one, again, with_certificate = fitted(x, y, 0), fitted(x, y, 0), fitted(x, y, 0, certify=True)
    for other in (again, with_certificate):
        assert chosen(other) == chosen(one)
        np.testing.assert_array_equal(other.w_, one.w_)
    assert with_certificate.certificate_ is not None
    assert one.statistic == "auto"
    assert clone(one).statistic == "auto"


@pytest.mark.usefixtures("quick")
def test_the_reason_names_the_choice_and_the_figures() -> None:
    x, y = rows(3)
    found = fitted(x, y, 0)
    name = type(found.statistic_).__name__
    assert found.statistic_reason_.startswith(
        f"{name} was chosen by responses simulated on X at level 0."
    )
    for candidate in ("HoldoutStatistic", "LassoStatistic"):
        assert f"{candidate} holds it (" in found.statistic_reason_
    assert found.selection_.statistic.startswith(name)
    named = KnockoffSelector(Exact(), quick_holdout(), certify=False, fdr=0.9, random_state=0).fit(
        x, y
    )
    assert named.statistic_reason_ is None


# the best of the candidates


def candidate(statistic: Any, fdp: float, power: float, error: float = 0.01) -> Any:
    return choice._Candidate(statistic, Rate("all", 0.2, fdp, error, 0.5, 0.1, 1.0, fdp), power)


@pytest.mark.parametrize(
    ("holdout", "lasso", "best"),
    [
        ((0.1, 0.5), (0.1, 0.6), LassoStatistic),
        ((0.1, 0.6), (0.1, 0.5), HoldoutStatistic),
        # power does not make up for false discoveries
        ((0.19, 0.3), (0.23, 0.9), HoldoutStatistic),
        ((0.19, 0.3), (0.21, 0.9), LassoStatistic),  # within two standard errors
        # where none holds the level: the fewest false ones
        ((0.4, 0.9), (0.3, 0.1), LassoStatistic),
        ((0.1, 0.5), (0.1, 0.5), HoldoutStatistic),  # the default
    ],
)
def test_the_most_powerful_one_that_holds_the_level_is_chosen(
    holdout: Any, lasso: Any, best: type
) -> None:
    candidates = [candidate(HoldoutStatistic(), *holdout), candidate(LassoStatistic(), *lasso)]
    found = choice._best(candidates)
    assert type(found.statistic) is best
    assert found.reason.startswith(f"{best.__name__} was chosen")
    for own in candidates:
        assert f"{own.expected.fdp:.2f} ± 0.01" in found.reason
        assert f"finds {own.power:.0%}" in found.reason
        word = "holds" if own.expected.fdp - 0.02 <= 0.2 else "exceeds"
        assert f"{type(own.statistic).__name__} {word} it" in found.reason


# what it promises


def false_discoveries(seeds: int, count: int, level: float) -> tuple[Array, Array]:
    shares, found = [], []
    for seed in range(seeds):
        x, y = rows(seed, count)
        selected = fitted(x, y, seed, fdr=level).selection_.selected
        shares.append(fdp(selected, RELEVANT))
        found.append(power(selected, RELEVANT))
    return np.array(shares), np.array(found)


def any_selected(seeds: int, count: int, level: float) -> float:
    """The share of runs with a selection, where y has nothing to do with X."""
    runs = []
    for seed in range(seeds):
        y = np.random.default_rng(2000 + seed).normal(size=count)
        runs.append(fitted(rows(seed, count)[0], y, seed, fdr=level).selection_.selected.any())
    return float(np.mean(runs))


@pytest.mark.usefixtures("quick")
def test_exact_knockoffs_hold_the_level() -> None:
    shares, found = false_discoveries(24, 150, 0.2)
    assert shares.mean() <= 0.2 + 2 * shares.std(ddof=1) / np.sqrt(len(shares))
    assert found.mean() > 0.5


@pytest.mark.usefixtures("quick")
def test_the_global_null() -> None:
    assert any_selected(24, 100, 0.2) <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 24)


@pytest.mark.slow
def test_exact_knockoffs_hold_the_level_with_the_candidates_themselves() -> None:
    shares, found = false_discoveries(30, 200, 0.2)
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    print(f"auto: FDP {shares.mean():.3f} ± {error:.3f} at 0.2, power {found.mean():.2f}")
    assert shares.mean() <= 0.2 + 2 * error
    assert found.mean() > 0.6


@pytest.mark.slow
def test_the_global_null_with_the_candidates_themselves() -> None:
    share = any_selected(30, 150, 0.2)
    print(f"auto: share of runs with any selection {share:.3f}")
    assert share <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 30)
