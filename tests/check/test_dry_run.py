"""Rates of simulated responses are counted right, and the level follows them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from joblib import parallel_config

from knockoffs import LassoStatistic, fdp, knockoff_select, power
from knockoffs.check.dry_run import KINDS, DryRun, calibrated_level, simulate
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.progress import heard_by

NAN = float("nan")
LAW = AutoregressiveGaussian(features=12, rho=0.5)
X = LAW.sample(150, random_state=0)
X.flags.writeable = False


def correlations(x: Array, x_tilde: Array, y: Array) -> Array:
    """A quick statistic: swapping a feature with its knockoff turns the sign of w."""
    z, z_tilde, target = ((t - t.mean(0)) / t.std(0) for t in (x, x_tilde, y))
    return np.abs(target @ z) - np.abs(target @ z_tilde)


def draw_exact(seed: int) -> Array:
    return LAW.knockoffs(X, random_state=seed)


def run(
    draw: Callable[[int], Array] = draw_exact, *, x: Array = X, seed: int = 0, **settings: object
) -> DryRun:
    settings = {"replicates": 4, "offset": 1} | settings
    return simulate(
        x,
        draw,
        settings.pop("statistic", correlations),
        rng=np.random.default_rng(seed),
        **settings,
    )


def by_truth(signs_of_nulls: object, replicates: int = 6, features: int = 40) -> DryRun:
    """Half of the features relevant, with w = 2 or so; the others' w about 1, with these signs."""
    rng = np.random.default_rng(0)
    relevant = np.tile(np.arange(features) < features // 2, (replicates, 1))
    w = rng.uniform(1, 1.1, size=relevant.shape) * np.where(
        relevant, 2, signs_of_nulls(rng, relevant.shape)
    )
    return DryRun(w, relevant, ("linear",) * replicates)


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
        (kind, q) for kind in KINDS for q in (0.1, 0.25)
    ]
    for rate in [*rates, found.rate(0.25), found.rate(0.6)]:
        of_kind = np.array([rate.response in (kind, "all") for kind in found.kinds])
        ws, truths = found.ws[of_kind], found.relevant[of_kind]
        assert len(ws) == (20 if rate.response == "all" else 5)
        selections = [knockoff_select(w, rate.level) for w in ws]
        for score, mean, error in (
            (fdp, rate.fdp, rate.fdp_error),
            (power, rate.power, rate.power_error),
        ):
            values = [score(selected, t) for selected, t in zip(selections, truths, strict=True)]
            assert mean == pytest.approx(np.mean(values))
            assert error == pytest.approx(np.std(values, ddof=1) / np.sqrt(len(ws)))
        some = [s.any() for s in selections]
        assert rate.selecting == np.mean(some)
        assert rate.fdp_of_selections == pytest.approx(
            rate.fdp / rate.selecting if any(some) else NAN, nan_ok=True
        )
    assert found.rate(0.6).selecting > 0


def random_run(responses: int = 60, features: int = 15) -> DryRun:
    rng = np.random.default_rng(3)
    relevant = rng.random((responses, features)) < rng.uniform(0.1, 0.9, size=(responses, 1))
    relevant[:, 0] = True
    w = rng.normal(size=relevant.shape) + 2 * relevant
    return DryRun(np.where(rng.random(w.shape) < 0.1, 0.0, w), relevant, ("linear",) * responses)


def test_the_false_share_is_that_of_selections_with_the_level_counted_in() -> None:
    found = random_run()
    selections = [knockoff_select(w, 0.3) for w in found.ws]
    shares = [
        fdp(s, relevant) for s, relevant in zip(selections, found.relevant, strict=True) if s.any()
    ]
    assert 3 < len(shares) < len(selections)  # some are empty
    assert found.false_share(0.3) == pytest.approx((sum(shares) + 3 * 0.3) / (len(shares) + 3))
    nothing = DryRun(-np.abs(found.ws), found.relevant, found.kinds)
    assert nothing.false_share(0.3) == pytest.approx(0.3)


def test_coins_give_what_exact_knockoffs_would() -> None:
    exact, broken = by_truth(coins, replicates=200), by_truth(too_large, replicates=60)
    assert exact.fdp_of_exact(0.2) == pytest.approx(exact.rate(0.2).fdp, abs=0.04)
    assert broken.false_share(0.3) > exact.false_share(0.3) + 0.1
    assert broken.fdp_of_exact(0.3) < 0.3 < broken.rate(0.3).fdp


def test_where_nothing_was_ever_selected_no_share_is_known() -> None:
    nothing = DryRun(-np.ones((5, 8)), np.ones((5, 8), dtype=bool), ("linear",) * 5)
    assert nothing.fdp_of_exact(0.2) == 0
    assert np.isnan(nothing.rate(0.2).fdp_of_selections)
    assert nothing.rate(0.2)[2:7] == (0, 0, 0, 0, 0)


def test_wins_of_features_that_have_no_part_are_counted() -> None:
    found = random_run()
    wins, counts = found.null_wins()
    for j in range(1, 15):
        own = found.ws[~found.relevant[:, j], j]
        assert counts[j] == (own != 0).sum()
        assert wins[j] == pytest.approx((own > 0).sum() / (own != 0).sum())
    assert np.isnan(wins[0])  # always relevant
    assert counts[0] == 0


def test_coins_for_nulls_hold_the_level() -> None:
    for rate in by_truth(coins, replicates=200).rates([0.1, 0.2, 0.3]):
        assert rate.fdp <= rate.level + 3 * rate.fdp_error
        assert rate.power == 1
    assert all(rate.fdp == 0 for rate in by_truth(all_negative).rates())
    assert all(
        rate.fdp > rate.level + 3 * rate.fdp_error for rate in by_truth(too_large).rates([0.2, 0.3])
    )


def test_one_replicate_has_no_standard_error() -> None:
    assert all(np.isnan(rate.fdp_error) for rate in run(replicates=1).rates())


# the calibrated level


@given(fdr=st.floats(0.01, 0.99), seed=st.integers(0, 20))
def test_the_level_is_at_most_the_rate_asked_for(fdr: float, seed: int) -> None:
    found = by_truth(lambda rng, shape: coins(np.random.default_rng(seed), shape))
    assert 0 < calibrated_level(found.rate, fdr) <= fdr


@given(fdr=st.floats(0.01, 0.99))
def test_the_level_stays_where_no_discovery_is_false(fdr: float) -> None:
    """Not even the last bit of it is lost."""
    assert calibrated_level(by_truth(all_negative).rate, fdr) == fdr


def test_the_level_is_the_largest_of_the_grid_that_holds() -> None:
    for make in (coins, too_large):
        found, fdr = by_truth(make), 0.3
        held = [q for q in fdr * np.arange(1, 21) / 20 if found.rate(q).fdp <= fdr]
        assert calibrated_level(found.rate, fdr) == pytest.approx(max(held))
    assert calibrated_level(by_truth(too_large).rate, 0.3) < 0.3


def test_a_larger_rate_never_gets_a_much_smaller_level() -> None:
    """What holds for a rate holds for a larger one, up to the steps of its coarser grid."""
    for make in (coins, too_large):
        rates = np.linspace(0.05, 0.95, 10)
        levels = np.array([calibrated_level(by_truth(make).rate, q) for q in rates])
        assert (np.diff(levels) >= -rates[1:] / 20).all()


def test_where_no_level_holds_it_is_the_smallest() -> None:
    all_false = DryRun(np.ones((5, 50)), np.zeros((5, 50), dtype=bool), ("linear",) * 5)
    assert calibrated_level(all_false.rate, 0.5) == pytest.approx(0.5 / 20)


def test_broken_knockoffs_lower_the_level() -> None:
    law = AutoregressiveGaussian(features=30, rho=0.9)
    x = law.sample(300, random_state=0)
    exact = run(lambda seed: law.knockoffs(x, random_state=seed), x=x, replicates=6)
    noise = run(lambda seed: np.random.default_rng(seed).normal(size=x.shape), x=x, replicates=6)
    assert calibrated_level(noise.rate, 0.3) < 0.2 < calibrated_level(exact.rate, 0.3)


# simulation


def test_the_same_seed_gives_the_same_bits_on_any_number_of_cores() -> None:
    first, again, other = run(), run(), run(seed=1)
    with parallel_config(backend="threading", n_jobs=3):
        threads = run()
    np.testing.assert_array_equal(again.ws, first.ws)
    np.testing.assert_array_equal(threads.ws, first.ws)
    np.testing.assert_array_equal(threads.relevant, first.relevant)
    assert not np.array_equal(other.ws, first.ws)


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
    assert len(set(seeds)) == len(seeds) == 16
    assert len({y.tobytes() for y in seen}) == 16
    assert found.ws.shape == found.relevant.shape == (16, 12)
    assert found.kinds == (*KINDS,) * 4


def test_statistics_are_cloned_and_told_the_task() -> None:
    statistic = LassoStatistic(task="classification", random_state=3)
    found = run(statistic=statistic, replicates=1)
    assert (statistic.task, statistic.random_state) == ("classification", 3)
    assert np.isfinite(found.ws).all()


def test_progress_is_reported() -> None:
    told: list[tuple[object, ...]] = []
    with heard_by(lambda *what: told.append(what)):
        run()
    assert [what[1:3] for what in told] == [(k, 16) for k in range(1, 17)]
