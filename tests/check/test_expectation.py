"""Exact knockoffs are expected to hold the level, broken ones not,
and figures are counted right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from knockoffs import HoldoutStatistic, LassoStatistic, MidpointStatistic, knockoff_select
from knockoffs.check.dry_run import HIGHER, HIGHEST, KINDS, DryRun
from knockoffs.check.expectation import DRAWS, RESPONSES, expect
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.progress import heard_by
from knockoffs.statistics import lasso
from knockoffs.statistics.problem import Problem
from knockoffs.table.table import read_table
from knockoffs.targets.classes import Classes
from knockoffs.targets.counts import Counts

LAW = AutoregressiveGaussian(features=20, rho=0.5)
X = LAW.sample(200, random_state=0)
LEVELS = (0.1, 0.2, 0.3, 0.5)


def expected(
    x: Array = X,
    draw: Callable[[int], Array] | None = None,
    *,
    statistic: Any = None,
    seed: int = 0,
    **settings: Any,
) -> DryRun:
    draw = (lambda own: LAW.knockoffs(x, random_state=own)) if draw is None else draw
    statistic = LassoStatistic() if statistic is None else statistic
    settings = {"offset": 1} | settings
    return expect(read_table(x, who="test"), draw, [statistic], seed=seed, **settings)[0]


STATISTICS = {"mixture": HoldoutStatistic(), "lasso": LassoStatistic(), "function": lambda *_: None}


@pytest.fixture(scope="module")
def exact() -> dict[str, DryRun]:
    return {name: expected(statistic=statistic) for name, statistic in STATISTICS.items()}


# exact knockoffs and others


@pytest.mark.parametrize("name", STATISTICS)
def test_exact_knockoffs_are_expected_to_hold_every_level(
    exact: dict[str, DryRun], name: str
) -> None:
    for level in LEVELS:
        rate = exact[name].rate(level)
        assert rate.fdp <= level + 2 * rate.fdp_error
    assert exact[name].rate(0.3).power > 0.3


SETTINGS = {
    "two classes": {"target": Classes.example()},
    "a rare class": {"target": Classes.numbered(np.repeat([0.0, 1.0], (9, 1)))},
    "three classes": {"target": Classes.numbered(np.repeat([0.0, 1.0, 2.0], (2, 3, 5)))},
    "counts": {"target": Counts.example()},
    "groups": {"groups": np.arange(200) // 2},
    "groups and classes": {"groups": np.arange(200) // 2, "target": Classes.example()},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_classes_and_groups_hold_the_level_too(
    exact: dict[str, DryRun], settings: dict[str, Any]
) -> None:
    found = expected(**settings)
    for level in LEVELS:
        rate = found.rate(level)
        assert rate.fdp <= level + 2 * rate.fdp_error
    assert found.rate(0.5).power > 0.3
    np.testing.assert_array_equal(found.relevant, exact["lasso"].relevant)  # of the same responses
    assert not np.array_equal(found.ws, exact["lasso"].ws)


@pytest.mark.parametrize(
    "statistic", [LassoStatistic(), HoldoutStatistic()], ids=["lasso", "mixture"]
)
def test_permuted_columns_of_strongly_correlated_rows_exceed_it(statistic: Any) -> None:
    x = AutoregressiveGaussian(features=30, rho=0.9).sample(300, random_state=0)

    def permuted(seed: int) -> Array:
        return np.random.default_rng(seed).permuted(x, axis=0)

    found = expected(x, permuted, statistic=statistic)
    judged = found.judged(0.2)
    assert judged.fdp - 2 * judged.fdp_error > 1.5 * found.fdp_of_exact(judged.level)
    assert found.false_share(judged.level) > 1.2 * judged.level
    assert found.calibrated_level(0.3) < 0.3
    assert found.rate(found.calibrated_level(0.3)).fdp <= 0.3


def test_exact_knockoffs_keep_the_level_asked_for_in_nearly_all_runs() -> None:
    kept = 0
    for seed in range(10):
        x = LAW.sample(150, random_state=seed)
        found = expected(x, lambda own, x=x: LAW.knockoffs(x, random_state=own), seed=seed)
        levels = [found.calibrated_level(fdr) for fdr in (0.1, 0.2, 0.3)]
        assert levels == sorted(levels)
        kept += levels[1] == 0.2
    assert kept >= 8


# copies, wins


def test_copied_features_have_no_statistic() -> None:
    def draw(seed: int) -> Array:
        drawn = LAW.knockoffs(X, random_state=seed)
        drawn[:, [3, 7]] = X[:, [3, 7]]
        return drawn

    for statistic in STATISTICS.values():
        found = expected(draw=draw, statistic=statistic)
        assert (found.ws[:, [3, 7]] == 0).all()
        assert (np.delete(found.ws, [3, 7], axis=1) != 0).any(0).all()
        wins, counts = found.null_wins()
        assert np.isnan(wins[[3, 7]]).all()
        assert (counts[[3, 7]] == 0).all()


@pytest.mark.parametrize("name", STATISTICS)
def test_features_without_a_part_win_half_of_the_time(exact: dict[str, DryRun], name: str) -> None:
    wins, counts = exact[name].null_wins()
    # a lasso leaves many features at zero, which counts for neither side
    assert (counts >= 20).all()
    assert abs(wins.mean() - 0.5) < 0.07
    assert (np.abs(wins - 0.5) < 4 * 0.5 / np.sqrt(counts)).all()


# seeds and shapes


@pytest.mark.parametrize("name", STATISTICS)
def test_the_same_seed_gives_the_same_bits(exact: dict[str, DryRun], name: str) -> None:
    one = exact[name]
    two, three = (expected(statistic=STATISTICS[name], seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(two.ws, one.ws)
    np.testing.assert_array_equal(two.relevant, one.relevant)
    assert not np.array_equal(three.ws, one.ws)


def test_all_statistics_have_the_same_responses_and_each_its_own_figures(
    exact: dict[str, DryRun],
) -> None:
    mixture, *others = (exact[name] for name in STATISTICS)
    for other in others:
        np.testing.assert_array_equal(other.relevant, mixture.relevant)
        assert not np.array_equal(other.ws, mixture.ws)
    midpoint = expected(statistic=MidpointStatistic())  # is cross-fitted, too
    np.testing.assert_array_equal(midpoint.ws, mixture.ws)


def test_responses_of_all_kinds_are_simulated_on_several_draws() -> None:
    seeds: list[int] = []
    told: list[tuple[Any, ...]] = []

    def draw(seed: int) -> Array:
        seeds.append(seed)
        return LAW.knockoffs(X, random_state=seed)

    with heard_by(lambda *what: told.append(what[1:3])):
        found = expected(draw=draw)
    assert len(set(seeds)) == len(seeds) == DRAWS
    assert told == [(k, DRAWS) for k in range(1, DRAWS + 1)]
    run = found
    assert run.ws.shape == run.relevant.shape == (DRAWS * RESPONSES, 20)
    assert {kind: run.kinds.count(kind) for kind in KINDS} == dict.fromkeys(
        KINDS, DRAWS * RESPONSES // len(KINDS)
    )
    assert len({tuple(row) for row in run.relevant.tolist()}) > DRAWS * RESPONSES / 2


def test_classes_have_the_shares_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Array] = []

    def spy(problem: Problem, y: Array, rng: np.random.Generator) -> Array:
        seen.append(y)
        return np.zeros((y.shape[1], problem.features))

    monkeypatch.setattr(lasso, "lasso_coefficients", spy)
    expected(target=Classes.numbered(np.repeat(np.arange(3.0), (2, 5, 3))))
    assert np.concatenate(seen, axis=1).shape == (200, DRAWS * RESPONSES)
    for y in np.concatenate(seen, axis=1).T:
        np.testing.assert_allclose(np.bincount(y.astype(int)) / 200, (0.2, 0.5, 0.3), atol=0.006)


# which figures count


def run_of(ws: Array, relevant: Array) -> DryRun:
    return DryRun(ws, relevant, ("linear",) * len(ws))


@pytest.mark.parametrize("positive", range(0, 20, 2))
@pytest.mark.parametrize("fdr", [0.05, 0.1, 0.2, 0.3, 0.6])
def test_the_lowest_level_that_usually_selects_is_judged(positive: int, fdr: float) -> None:
    """All statistics of a response are positive in just more than half of them."""
    ws = -np.ones((9, 20))
    ws[:5, :positive] = 1.0
    ws[:5, positive:] = 0.0
    run = run_of(ws, np.tile(np.arange(20) < 10, (9, 1)))
    found = run.judged(fdr)
    levels = [fdr, *(times * fdr for times in HIGHER if times * fdr <= HIGHEST)]
    selecting = [level for level in levels if knockoff_select(ws[0], level).any()]
    assert (None if found is None else found.level) == (selecting[0] if selecting else None)
    if found is not None:
        assert found == run.rate(found.level)
        seldom = run_of(ws[1:], run.relevant[1:])  # in half of them, which is enough; then in fewer
        assert seldom.judged(fdr).level == found.level
        seldom = run_of(ws[2:], run.relevant[2:])
        assert seldom.judged(fdr) is None
