"""Simulated responses depend on what they say, rates are counted right, and the level follows them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config

from knockoffs import LassoStatistic, fdp, knockoff_select, power
from knockoffs.arrays import Array
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.diagnostics.dry_run import DryRun, respond, simulate

LAW = AutoregressiveGaussian(features=12, rho=0.5)
X = LAW.sample(150, random_state=0)
X.flags.writeable = False


def correlations(x: Array, x_tilde: Array, y: Array) -> Array:
    """A quick statistic: swapping a feature with its knockoff turns the sign of w."""
    z, z_tilde, target = ((t - t.mean(0)) / t.std(0) for t in (x, x_tilde, y))
    return np.abs(target @ z) - np.abs(target @ z_tilde)


def draw_exact(seed: int) -> Array:
    return LAW.knockoffs(X, random_state=seed)


def run(draw: Callable[[int], Array] = draw_exact, *, x: Array = X, seed: int = 0, **settings: object) -> DryRun:
    settings = {"replicates": 4, "offset": 1} | settings
    return simulate(x, draw, settings.pop("statistic", correlations), rng=np.random.default_rng(seed), **settings)


def by_truth(signs_of_nulls: object, replicates: int = 6, features: int = 40) -> DryRun:
    """Half of the features relevant, with w = 2 or so; the others' w about 1, with these signs."""
    rng = np.random.default_rng(0)
    relevant = np.tile(np.arange(features) < features // 2, (replicates, 1))
    w = rng.uniform(1, 1.1, size=relevant.shape) * np.where(relevant, 2, signs_of_nulls(rng, relevant.shape))
    return DryRun({"linear": w}, {"linear": relevant})


def coins(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.choice([-1, 1], size=shape)


def all_negative(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.full(shape, -1)


def too_large(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Broken knockoffs: a null beats the relevant ones."""
    return rng.choice([3.0, -1], p=[0.7, 0.3], size=shape)


# rates


def test_rates_are_means_with_standard_errors() -> None:
    found = run(replicates=5)
    rates = found.rates([0.1, 0.25])
    assert [(r.response, r.level) for r in rates] == [
        *(("linear", 0.1), ("linear", 0.25), ("non-linear", 0.1), ("non-linear", 0.25)),
    ]
    for rate in rates:
        ws, truths = found.ws[rate.response], found.relevant[rate.response]
        for score, mean, error in ((fdp, rate.fdp, rate.fdp_error), (power, rate.power, rate.power_error)):
            values = [score(knockoff_select(w, rate.level), t) for w, t in zip(ws, truths, strict=True)]
            assert mean == pytest.approx(np.mean(values))
            assert error == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))


def test_coins_for_nulls_hold_the_level() -> None:
    for rate in by_truth(coins, replicates=200).rates([0.1, 0.2, 0.3]):
        assert rate.fdp <= rate.level + 3 * rate.fdp_error
        assert rate.power == 1
    assert all(rate.fdp == 0 for rate in by_truth(all_negative).rates())
    assert all(rate.fdp > rate.level + 3 * rate.fdp_error for rate in by_truth(too_large).rates([0.2, 0.3]))


def test_one_replicate_has_no_standard_error() -> None:
    assert all(np.isnan(rate.fdp_error) for rate in run(replicates=1).rates())


# the calibrated level


@given(fdr=st.floats(0.01, 0.99), seed=st.integers(0, 20))
def test_the_level_is_at_most_the_rate_asked_for(fdr: float, seed: int) -> None:
    level = by_truth(lambda rng, shape: coins(np.random.default_rng(seed), shape)).calibrated_level(fdr)
    assert 0 < level <= fdr


@given(fdr=st.floats(0.01, 0.99))
def test_the_level_stays_where_no_discovery_is_false(fdr: float) -> None:
    assert by_truth(all_negative).calibrated_level(fdr) == fdr


def test_the_level_is_the_largest_of_the_grid_that_holds() -> None:
    for make in (coins, too_large):
        found, fdr = by_truth(make), 0.3
        level = found.calibrated_level(fdr)
        held = [q for q in fdr * np.arange(1, 21) / 20 if max_excess(found, q, fdr) <= 0]
        assert level == pytest.approx(max(held))
    assert by_truth(too_large).calibrated_level(0.3) < 0.3


def max_excess(found: DryRun, level: float, fdr: float) -> float:
    return max(rate.fdp + rate.fdp_error - fdr for rate in found.rates([level]))


def test_the_worst_kind_of_response_counts() -> None:
    good, bad = by_truth(all_negative), by_truth(too_large)
    both = DryRun({"a": good.ws["linear"], "b": bad.ws["linear"]}, dict.fromkeys("ab", good.relevant["linear"]))
    assert both.calibrated_level(0.3) == bad.calibrated_level(0.3) < good.calibrated_level(0.3)


def test_broken_knockoffs_lower_the_level() -> None:
    law = AutoregressiveGaussian(features=30, rho=0.9)
    x = law.sample(300, random_state=0)
    exact = run(lambda seed: law.knockoffs(x, random_state=seed), x=x, replicates=6, statistic=LassoStatistic())
    noise = run(lambda seed: np.random.default_rng(seed).normal(size=x.shape), x=x, replicates=6)
    assert noise.calibrated_level(0.3) < 0.2 < exact.calibrated_level(0.3)


# simulation


def test_the_same_seed_gives_the_same_bits_on_any_number_of_cores() -> None:
    first, again, other = run(), run(), run(seed=1)
    with parallel_config(backend="threading", n_jobs=3):
        threads = run()
    for kind, w in first.ws.items():
        np.testing.assert_array_equal(again.ws[kind], w)
        np.testing.assert_array_equal(threads.ws[kind], w)
        assert not np.array_equal(other.ws[kind], w)


def test_every_replicate_has_its_own_knockoffs_and_response() -> None:
    seeds: list[int] = []
    seen: list[Array] = []

    def draw(seed: int) -> Array:
        seeds.append(seed)
        return draw_exact(seed)

    def statistic(x: Array, x_tilde: Array, y: Array) -> Array:
        seen.append(y)
        return correlations(x, x_tilde, y)

    found = run(draw, statistic=statistic)
    assert len(set(seeds)) == len(seeds) == 8
    assert len({y.tobytes() for y in seen}) == 8
    assert {kind: w.shape for kind, w in found.ws.items()} == {"linear": (4, 12), "non-linear": (4, 12)}


def test_statistics_are_cloned_and_told_the_task() -> None:
    statistic = LassoStatistic(task="classification", random_state=3)
    found = run(statistic=statistic, replicates=1)
    assert (statistic.task, statistic.random_state) == ("classification", 3)
    assert np.isfinite(found.ws["linear"]).all()


def test_progress_is_reported() -> None:
    told: list[tuple[object, ...]] = []
    run(report=lambda *what: told.append(what))
    assert [what[1:3] for what in told] == [(k, 8) for k in range(1, 9)]


# responses


@pytest.mark.parametrize("kind", ["linear", "non-linear"])
def test_a_response_depends_on_the_relevant_columns_alone(kind: str) -> None:
    y, relevant = respond(X, kind, 5)
    changed = X.copy()
    changed[:, ~relevant] = changed[::-1, ~relevant] ** 3
    again = respond(changed, kind, 5)
    np.testing.assert_allclose(again.y, y, rtol=1e-9)
    np.testing.assert_array_equal(again.relevant, relevant)
    for j in np.flatnonzero(relevant):
        one = X.copy()
        one[:, j] = one[::-1, j]
        assert np.abs(respond(one, kind, 5).y - y).max() > 1e-3


@pytest.mark.parametrize("kind", ["linear", "non-linear"])
def test_units_do_not_matter_and_constants_are_never_relevant(kind: str) -> None:
    y = respond(X, kind, 6).y
    np.testing.assert_allclose(respond(7 + 1e4 * X, kind, 6).y, y, rtol=1e-6, atol=1e-8)
    constant = X.copy()
    constant[:, 1::3] = 2.0
    for seed in range(5):
        assert not respond(constant, kind, seed).relevant[1::3].any()


@pytest.mark.parametrize(
    ("features", "count"), [(1, 1), (2, 1), (5, 1), (7, 2), (8, 4), (30, 4), (60, 12), (300, 20)]
)
def test_how_many_columns_are_relevant(features: int, count: int) -> None:
    x = np.random.default_rng(0).normal(size=(30, features))
    assert respond(x, "linear", 0).relevant.sum() == count
    if features >= 8:
        assert respond(x, "non-linear", 0).relevant.sum() == count


def test_few_columns_have_a_linear_response_alone() -> None:
    narrow = run(lambda seed: draw_exact(seed)[:, :7], x=X[:, :7])
    assert [*narrow.ws] == ["linear"]
    assert narrow.calibrated_level(0.5) <= 0.5


def test_relevant_columns_are_chosen_evenly() -> None:
    chosen = np.mean([respond(X, kind, seed).relevant for seed in range(150) for kind in ("linear", "x")], axis=0)
    np.testing.assert_allclose(chosen, 4 / 12, atol=0.12)
