"""Long runs (`make slow`): the rates that exact knockoffs promise."""

from __future__ import annotations

import numpy as np
import pytest

from knockoffs import (
    HoldoutStatistic,
    LassoStatistic,
    MidpointStatistic,
    fdp,
    knockoff_select,
    power,
)
from knockoffs.datasets import AutoregressiveGaussian, linear_response

LEVELS = (0.05, 0.1, 0.2, 0.3)
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("statistic", "replicates"),
    [
        pytest.param(LassoStatistic(random_state=0), 100, id="lasso"),
        pytest.param(MidpointStatistic(random_state=0), 60, id="midpoint, five folds"),
        pytest.param(
            HoldoutStatistic(mixture=0, folds=2, random_state=0),
            60,
            id="held-out network, two folds",
        ),
        pytest.param(HoldoutStatistic(random_state=0), 20, id="mixture of networks, five folds"),
    ],
)
def test_false_discoveries_and_power_with_exact_knockoffs(statistic, replicates):
    law = AutoregressiveGaussian()
    shares, powers = [], []
    for seed in range(replicates):
        x = law.sample(2000, seed)
        y, relevant = linear_response(x, amplitude=10, random_state=seed)
        w = statistic.compute(x, law.knockoffs(x, seed), y)
        shares.append([fdp(knockoff_select(w, q), relevant) for q in LEVELS])
        powers.append(power(knockoff_select(w, 0.1), relevant))
    mean, error = np.mean(shares, axis=0), np.std(shares, axis=0) / replicates**0.5
    print(f"FDP {mean.round(3)} ± {error.round(3)} at {LEVELS}; power at 0.1 {np.mean(powers):.2f}")
    assert (mean <= np.array(LEVELS) + 2 * error).all()
    assert np.mean(powers) >= 0.97


def test_the_global_null():
    law = AutoregressiveGaussian(features=30)
    any_selected = []
    for seed in range(200):
        x = law.sample(500, seed)
        y = np.random.default_rng(10_000 + seed).normal(size=500)
        w = LassoStatistic(random_state=seed).compute(x, law.knockoffs(x, seed), y)
        any_selected.append(knockoff_select(w, 0.1).any())
    share = np.mean(any_selected)
    print(f"share of runs with any selection: {share:.3f}")
    assert share <= 0.1 + 2 * (0.1 * 0.9 / 200) ** 0.5
