"""Knockoffs of discrete columns and of missing cells depend on other columns as the data do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats.contingency import association

from knockoffs import GaussianKnockoffs
from knockoffs.datasets import AutoregressiveGaussian

ROWS, FEATURES = 2000, 10
LAW = AutoregressiveGaussian(features=FEATURES, rho=0.6)
LEFT = np.arange(FEATURES - 1)
RIGHT = LEFT + 1

CUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "two equal levels": lambda z: (z > 0).astype(float),
    "two levels, one rare": lambda z: (z > ndtri(0.88)).astype(float),
    "four levels": lambda z: np.digitize(z, ndtri([0.25, 0.5, 0.75])).astype(float),
    "40 % zeros": lambda z: np.where(z < ndtri(0.4), 0.0, np.exp(z)),
    "missing at random": lambda z: np.where(coins(z) < 0.2, np.nan, z),
    "missing by value": lambda z: np.where(coins(z) < 0.4 * (z > 0), np.nan, z),
}


def coins(z: np.ndarray) -> np.ndarray:
    return np.random.default_rng(int(1e6 * abs(z[0, 0]))).random(z.shape)


def knockoffs_of(cut: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that a model was not fitted on, and their knockoffs."""
    x, fresh = (cut(LAW.sample(ROWS, random_state=seed)) for seed in (0, 1))
    return fresh, GaussianKnockoffs(random_state=0).fit(x).sample(fresh)


def correlations(x: np.ndarray, x_tilde: np.ndarray) -> tuple[float, float, float]:
    """Mean correlations of neighbours: in the data, among knockoffs, and across."""
    together = pd.DataFrame(np.hstack([x, x_tilde])).corr().to_numpy()
    own, tilde = together[:FEATURES], together[FEATURES:]
    across = (own[LEFT, FEATURES + RIGHT] + own[RIGHT, FEATURES + LEFT]) / 2
    return own[LEFT, RIGHT].mean(), tilde[LEFT, FEATURES + RIGHT].mean(), across.mean()


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_correlations_and_shares_of_missing_cells_are_those_of_the_data(cut: Callable) -> None:
    x, x_tilde = knockoffs_of(cut)
    data, among, across = correlations(x, x_tilde)
    assert among == pytest.approx(data, rel=0.1)
    assert across == pytest.approx(data, rel=0.1)
    np.testing.assert_allclose(np.isnan(x_tilde).mean(0), np.isnan(x).mean(0), atol=0.04)
    # About four standard errors of a column's mean.
    np.testing.assert_allclose(
        np.nanmean(x_tilde, 0), np.nanmean(x, 0), atol=0.1 * max(1, np.nanstd(x))
    )


def test_gaps_that_depend_on_values_depend_on_those_of_neighbours_in_knockoffs_too() -> None:
    x, x_tilde = knockoffs_of(CUTS["missing by value"])
    data, among, across = correlations(np.isnan(x), np.isnan(x_tilde))
    assert data > 0.08
    assert among == pytest.approx(data, abs=0.03)
    assert across == pytest.approx(data, abs=0.03)
    # Where the left neighbour is large the cell is missing more often.
    large = np.nan_to_num(x[:, LEFT], nan=0) > 1
    gaps, gaps_tilde = (
        np.isnan(x[:, RIGHT])[large].mean(),
        np.isnan(x_tilde[:, RIGHT])[large].mean(),
    )
    assert gaps > 0.28
    assert gaps_tilde == pytest.approx(gaps, abs=0.04)


CHAINS = {
    "sticky": np.full((3, 3), 0.2) + 0.4 * np.eye(3),
    "sticky and cyclic": np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]]),
    "shift": np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]),
}


def chain(transitions: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    states = np.empty((ROWS, FEATURES), dtype=np.intp)
    states[:, 0] = rng.integers(0, 3, ROWS)
    for j in RIGHT:
        states[:, j] = (rng.random(ROWS)[:, None] > transitions.cumsum(1)[states[:, j - 1]]).sum(1)
    return states


def as_frame(states: np.ndarray) -> pd.DataFrame:
    """States as text, columns in a random order."""
    order = np.random.default_rng(7).permutation(FEATURES)
    labels = np.array(["blue", "green", "red"], dtype=object)
    return pd.DataFrame({f"c{j}": labels[states[:, j]] for j in order})


def cramers_v(left: pd.Series, right: pd.Series) -> float:
    return association(pd.crosstab(left, right).to_numpy(), method="cramer")


@pytest.mark.parametrize("transitions", CHAINS.values(), ids=CHAINS.keys())
def test_neighbours_in_a_chain_of_levels_stay_associated(transitions: np.ndarray) -> None:
    x, fresh = (as_frame(chain(transitions, seed)) for seed in (0, 1))
    x_tilde = GaussianKnockoffs(random_state=0).fit(x).sample(fresh)
    pairs = [(f"c{j}", f"c{j + 1}") for j in LEFT]
    data = np.mean([cramers_v(fresh[a], fresh[b]) for a, b in pairs])
    assert np.mean([cramers_v(x_tilde[a], x_tilde[b]) for a, b in pairs]) == pytest.approx(
        data, rel=0.15
    )
    assert np.mean([cramers_v(fresh[a], x_tilde[b]) for a, b in pairs]) == pytest.approx(
        data, rel=0.15
    )
    own = np.mean([cramers_v(fresh[a], x_tilde[a]) for a, _ in pairs])
    assert own < 0.85  # they are no copies
    for column in fresh:
        np.testing.assert_allclose(
            x_tilde[column].value_counts(normalize=True, sort=False).sort_index(),
            fresh[column].value_counts(normalize=True, sort=False).sort_index(),
            atol=0.05,
        )
