"""Survival times: what is made of them, and laws of the statistics that explain them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import Ridge

from knockoffs import fdp, knockoff_select
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.effects.hazard import cox_fit
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.importance import ImportanceStatistic
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.statistics.midpoint import MidpointStatistic
from knockoffs.targets.times import RiskSets, Times, kaplan_meier, median_follow_up

LAW = AutoregressiveGaussian(features=8, rho=0.4)
X = LAW.sample(300, random_state=0)
X_TILDE = LAW.knockoffs(X, random_state=0)


def survival_times(score: np.ndarray, seed: int, censored: float = 1.0) -> np.ndarray:
    """Exponential times of these log hazards, censored by others of the given hazard."""
    rng = np.random.default_rng(seed)
    death, end = rng.exponential(np.exp(-score)), rng.exponential(1 / censored, size=len(score))
    found = np.empty(len(score), dtype=[("died", bool), ("days", float)])
    found["died"], found["days"] = death <= end, np.minimum(death, end)
    return found


Y = survival_times(X[:, :3].sum(1), 1)
TIED = Times(np.array([3.0, 1, 2, 2, 2, 5, 4, 1]), np.array([1, 0, 1, 1, 0, 0, 1, 1], dtype=bool))
SCORE = np.array([0.3, -1.0, 0.5, 0.0, 2.0, -0.4, 0.1, 0.2])


def test_exposures_are_the_sums_of_events_by_rows_at_risk() -> None:
    steps = {
        t: TIED.event[TIED.time == t].sum() / (TIED.time >= t).sum()
        for t in np.unique(TIED.time).tolist()
    }
    expected = [sum(step for t, step in steps.items() if t <= own) for own in TIED.time]
    np.testing.assert_allclose(TIED.exposure, expected)
    assert abs(TIED.residuals.sum()) < 1e-12
    assert TIED.residuals.max() < 1


def test_the_partial_likelihood_and_its_derivatives() -> None:
    risk_sets = RiskSets(TIED)
    expected = -sum(
        SCORE[i] - np.log(np.exp(SCORE[TIED.time >= TIED.time[i]]).sum())
        for i in np.flatnonzero(TIED.event)
    )
    np.testing.assert_allclose(risk_sets.minus_log_likelihood(SCORE), expected)
    # only ratios matter
    np.testing.assert_allclose(risk_sets.minus_log_likelihood(SCORE + 800), expected)
    slope = approx_fprime(SCORE, risk_sets.minus_log_likelihood)
    np.testing.assert_allclose(risk_sets.residuals(SCORE), -slope, atol=1e-6)
    z = np.random.default_rng(0).normal(size=(8, 2))
    bend = approx_fprime(np.zeros(2), lambda b: -z.T @ risk_sets.residuals(SCORE + z @ b))
    np.testing.assert_allclose(risk_sets.information(z, SCORE), bend, atol=1e-6)


def test_the_share_without_the_event_is_the_product_over_times() -> None:
    curve = kaplan_meier(TIED)
    np.testing.assert_allclose(curve.survival, np.cumprod([7 / 8, 4 / 6, 2 / 3, 1 / 2, 1]))
    all_seen = Times(TIED.time, np.ones(8, dtype=bool))
    np.testing.assert_allclose(
        kaplan_meier(all_seen).survival, [np.mean(TIED.time > t) for t in (1, 2, 3, 4, 5)]
    )
    # nobody was lost, so all that is known is that it was at least that
    assert median_follow_up(all_seen) == 5
    assert kaplan_meier(all_seen).median() == 2


def test_coxs_model_maximises_the_likelihood_and_finds_the_true_ratio() -> None:
    times = Times(Y["days"], Y["died"])
    found = cox_fit(X[:, :3], times)
    assert found is not None
    b, error = found
    assert abs(b - 1) < 3 * error
    assert 0.05 < error < 0.15
    risk_sets = RiskSets(times)
    best = min(risk_sets.minus_log_likelihood(own * X[:, 0]) for own in np.linspace(-2, 2, 401))
    alone = cox_fit(X[:, :1], times)
    assert alone is not None
    assert 0 <= best - risk_sets.minus_log_likelihood(alone[0] * X[:, 0]) < 1e-2
    assert cox_fit(np.ones((300, 1)), times) is None
    first = Times(np.arange(20.0), np.arange(20) < 10)  # who has the event is known without error
    separated = cox_fit((np.arange(20) < 10).astype(float)[:, None], first)
    assert separated is None or separated[1] > 100


EXACT = [
    LassoStatistic(random_state=0),
    ImportanceStatistic(Ridge(), random_state=0),
    MidpointStatistic(folds=2, random_state=0),
    MidpointStatistic("boosting", folds=2, random_state=0),
]
ALL = [
    *EXACT,
    ImportanceStatistic(random_state=0),
    HoldoutStatistic(blocks=2, folds=2, random_state=0),
    HoldoutStatistic("linear+boosting", blocks=2, folds=2, random_state=0),
]


@pytest.mark.parametrize("statistic", EXACT, ids=repr)
def test_swapping_a_feature_flips_its_sign_and_nothing_else(statistic: Statistic) -> None:
    mask = np.array([True, False, False, True, True, False, True, False])
    w = statistic.compute(X, X_TILDE, Y)
    swapped = statistic.compute(np.where(mask, X_TILDE, X), np.where(mask, X, X_TILDE), Y)
    np.testing.assert_allclose(swapped, np.where(mask, -w, w), atol=1e-6 * np.abs(w).max())


@pytest.mark.parametrize("statistic", ALL, ids=repr)
def test_relevant_features_stand_out_and_only_the_order_of_times_matters(
    statistic: Statistic,
) -> None:
    w = statistic.compute(X, X_TILDE, Y)
    assert w[:3].min() > np.abs(w[3:]).max()
    later = Y.copy()
    later["days"] = np.exp(Y["days"]) + 100
    np.testing.assert_array_equal(statistic.compute(X, X_TILDE, later), w)


def test_equal_tables_have_no_winner_and_groups_stay_together() -> None:
    groups = np.repeat(np.arange(60), 5)
    w = LassoStatistic(random_state=0).compute(X, X_TILDE, Y, groups=groups)
    assert w[:3].min() > np.abs(w[3:]).max()
    np.testing.assert_array_equal(LassoStatistic(random_state=0).compute(X, X, Y), np.zeros(8))


def test_levels_and_missing_cells_are_taken_as_a_whole() -> None:
    import pandas as pd

    ward = np.random.default_rng(2).choice(["a", "b", "c"], size=(2, 300))
    gaps = np.random.default_rng(3).random((2, 300)) < 0.2
    tables = []
    for k, own in enumerate((X, X_TILDE)):
        table = pd.DataFrame(own[:, :4], columns=[*"abcd"]).assign(ward=ward[k])
        tables.append(table.assign(b=table["b"].mask(gaps[k])))
    score = X[:, 0] + 1.5 * (ward[0] == "b")
    w = LassoStatistic(random_state=0).compute(*tables, survival_times(score, 3))
    assert set(np.argsort(-w)[:2]) == {0, 4}
    swapped = LassoStatistic(random_state=0).compute(*tables[::-1], survival_times(score, 3))
    np.testing.assert_allclose(swapped, -w, atol=1e-6 * np.abs(w).max())


@pytest.mark.parametrize("effect", [0.0, 0.8])
def test_false_discoveries_with_exact_knockoffs(effect: float) -> None:
    law = AutoregressiveGaussian(features=15, rho=0.4)
    relevant = np.arange(15) < (6 if effect else 0)
    shares, found = [], []
    for seed in range(10):
        x = law.sample(120, seed)
        w = LassoStatistic(cv=3, random_state=seed).compute(
            x, law.knockoffs(x, seed), survival_times(effect * x[:, :6].sum(1), seed)
        )
        selected = knockoff_select(w, 0.2)
        shares.append(fdp(selected, relevant))
        found.append(selected[:6].mean())
    assert np.mean(shares) <= 0.2 + 2 * (0.2 * 0.8 / 10) ** 0.5
    assert np.mean(found) > 0.7 if effect else np.mean(found) < 0.2


def test_few_events_are_refused_by_name() -> None:
    few = Y.copy()
    few["died"] = np.arange(300) < 3
    for statistic, name in ((LassoStatistic(), "cv"), (HoldoutStatistic(), "folds")):
        with pytest.raises(
            ValueError, match=f"{name}=5 needs as many rows with the event; there are 3"
        ):
            statistic.compute(X, X_TILDE, few)


@pytest.mark.parametrize("share", [0.05, 0.9, 1.0])
def test_rare_events_and_rare_censoring(share: float) -> None:
    """Where only few rows are censored, folds cannot have their share of them."""
    y = survival_times(X[:, :3].sum(1), 1)
    y["died"] = np.random.default_rng(0).permutation(300) < share * 300
    for statistic in (
        LassoStatistic(cv=2, random_state=0),
        MidpointStatistic(folds=2, random_state=0),
    ):
        assert np.isfinite(statistic.compute(X, X_TILDE, y)).all()
