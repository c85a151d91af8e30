"""Heavy tails of correlated columns in few rows are warned of by name; the advice can be followed,
and helps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from knockoffs import JointDensity, KnockoffWarning, RandomizationTest
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.pvalues.heavy_tails import warn_of_heavy_tails
from knockoffs.runtime.arrays import Array
from knockoffs.table.table import read_table

NAMES = [f"gene {j}" for j in range(12)]
HEAVY: dict[str, Callable[[Array], Array]] = {
    "cubed": lambda z: z**3,
    "t2": lambda z: t.ppf(norm.cdf(z), 2),
    "t3": lambda z: t.ppf(norm.cdf(z), 3),
    "Cauchy": lambda z: t.ppf(norm.cdf(z), 1),
}
FINE: dict[str, Callable[[Array], Array]] = {
    "normal": lambda z: z,
    "uniform": norm.cdf,
    "lognormal": np.exp,
    "far lognormal": lambda z: np.exp(2 * z),
    "binary": lambda z: (z > 1).astype(float),
    "counts": lambda z: np.floor(np.exp(z)),
    "ranks of cubes": lambda z: pd.DataFrame(z**3).rank(pct=True).to_numpy(),
}


def rows(margin: Callable[[Array], Array], count: int, seed: int, rho: float = 0.6) -> pd.DataFrame:
    law = AutoregressiveGaussian(features=12, rho=rho)
    return pd.DataFrame(margin(law.sample(count, random_state=seed)), columns=NAMES)


def caution_on(X: object) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KnockoffWarning)
        warn_of_heavy_tails(read_table(X, who="test"))
    return " ".join(str(one.message) for one in caught)


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_tails_are_warned_of(name: str) -> None:
    said = [caution_on(rows(HEAVY[name], 150, seed)) for seed in range(10)]
    assert sum("heavy tails, and correlated" in one for one in said) >= 9
    assert all("column 'gene " in one for one in said if one)


@pytest.mark.parametrize("count", [60, 150, 600])
@pytest.mark.parametrize("name", FINE)
def test_other_columns_are_not(name: str, count: int) -> None:
    assert not any(caution_on(rows(FINE[name], count, seed)) for seed in range(5))


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_diabetes])
def test_real_tables_are_not(load: Callable[..., Any]) -> None:
    assert not caution_on(load(as_frame=True).data)


def test_rows_in_which_the_tails_are_learned_are_not() -> None:
    """Where p-values hold their level: of cubes from 600 rows on.
    Those of Cauchy's distribution do not.
    """
    assert not any(caution_on(rows(HEAVY["cubed"], 1000, seed)) for seed in range(5))
    assert all(caution_on(rows(HEAVY["Cauchy"], 600, seed)) for seed in range(5))


def test_neither_are_columns_on_their_own_and_a_single_heavy_one() -> None:
    assert not any(caution_on(rows(HEAVY["cubed"], 300, seed, rho=0.0)) for seed in range(5))
    table = rows(FINE["normal"], 150, 0)
    assert not caution_on(table.assign(**{NAMES[3]: table[NAMES[3]] ** 3}))


def test_only_columns_with_heavy_tails_are_named_also_with_gaps() -> None:
    table = rows(HEAVY["t2"], 200, 1)
    table[NAMES[:6]] = rows(FINE["normal"], 200, 1)[NAMES[:6]]
    table = table.mask(np.random.default_rng(0).random(table.shape) < 0.1).assign(empty=np.nan)
    said = caution_on(table)
    assert "'gene 8'" in said
    assert not any(f"'{name}'" in said for name in NAMES[:6])


def test_the_advice_ends_the_caution_and_keeps_the_hypotheses() -> None:
    table, y = rows(HEAVY["cubed"], 150, 0), np.random.default_rng(0).normal(size=150)
    test = RandomizationTest(JointDensity(epochs=1), "linear", resamples=199, random_state=0)
    with pytest.warns(
        KnockoffWarning, match=r"heavy tails, .*150 rows do not show .*X\[COL\]\.rank\(pct=True\)"
    ):
        test.fit(table, y)
    assert any("heavy tails" in said for said in test.result_.cautions)
    with warnings.catch_warnings(action="error"):
        test.fit(table.rank(pct=True), y)


def test_a_known_distribution_is_not_warned_of() -> None:
    table, y = rows(HEAVY["cubed"], 150, 0), np.random.default_rng(0).normal(size=150)
    exact = AutoregressiveGaussian(features=12, rho=0.6)

    def redraw(codes: Array, feature: int, count: int, rng: np.random.Generator) -> Array:
        return exact.redraw(np.cbrt(codes), feature, count, rng) ** 3

    with warnings.catch_warnings(action="error"):
        RandomizationTest(redraw, "linear", resamples=199, random_state=0).fit(table, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_p_values_of_ranks_hold_their_level() -> None:
    """As they are, .12 of the p-values of these tables are below .05."""
    found = []
    for seed in range(60):
        y = np.random.default_rng(1000 + seed).normal(size=150)
        test = RandomizationTest(
            statistic="linear", resamples=199, exceedances=200, random_state=seed
        )
        found.append(
            np.mean(test.fit(rows(HEAVY["cubed"], 150, seed).rank(pct=True), y).pvalues_ <= 0.05)
        )
    assert np.mean(found) < 0.05 + 3 * np.std(found) / np.sqrt(len(found))
