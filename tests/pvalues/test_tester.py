"""The randomisation test: valid with exact conditionals, powerful, reproducible,
clear about its limits.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge

from knockoffs import DDLK, JointDensity, KnockoffWarning, RandomizationTest
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula
from knockoffs.pvalues.copies import table_columns
from knockoffs.pvalues.residuals import Curves, Residuals
from knockoffs.table.table import read_table
from knockoffs.targets.quantity import Quantity

LAWS = {
    "gaussian": AutoregressiveGaussian(features=8),
    "mixture": AutoregressiveMixture(features=8),
    "clayton": ClaytonCopula(features=8),
}


def response(x: np.ndarray, seed: int) -> np.ndarray:
    """A line, a product and noise of three of eight columns."""
    z = (x - x.mean(0)) / x.std(0)
    return z[:, 0] + z[:, 3] * z[:, 4] + np.random.default_rng(seed).standard_normal(len(x))


def null_pvalues(law: ClaytonCopula, rows: int, repetitions: int, **settings: object) -> np.ndarray:
    null = np.array([1, 2, 5, 6, 7])
    found = []
    for seed in range(repetitions):
        x = law.sample(rows, random_state=seed)
        test = RandomizationTest(
            law.redraw, resamples=199, random_state=seed, exceedances=200, **settings
        )
        found.append(test.fit(x, response(x, seed)).pvalues_[null])
    return np.concatenate(found)


@pytest.mark.parametrize("name", LAWS)
def test_p_values_are_uniform_under_the_null_with_exact_conditionals(name: str) -> None:
    p = null_pvalues(LAWS[name], 80, 40, statistic="linear")
    assert kstest(p, "uniform").pvalue > 0.001
    for level in (0.05, 0.2):
        assert (p <= level).mean() < level + 3.5 * np.sqrt(level * (1 - level) / len(p))


def test_the_holdout_variant_is_uniform_under_the_null() -> None:
    p = null_pvalues(LAWS["gaussian"], 80, 40, statistic=LinearRegression(), variant="holdout")
    assert (p <= 0.05).mean() < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / len(p))
    assert kstest(p, "uniform").pvalue > 0.001


def test_early_ends_change_p_values_of_nulls_alone() -> None:
    x = LAWS["gaussian"].sample(200, random_state=0)
    y = response(x, 0)
    settings = {"statistic": "linear", "resamples": 999, "random_state": 0}
    early, whole = (
        RandomizationTest(LAWS["gaussian"].redraw, exceedances=h, **settings).fit(x, y)
        for h in (30, 1000)
    )
    np.testing.assert_array_equal(early.pvalues_[[0, 3, 4]], whole.pvalues_[[0, 3, 4]])
    np.testing.assert_allclose(early.pvalues_, whole.pvalues_, atol=0.1)
    assert early.result_.resamples.sum() < whole.result_.resamples.sum() / 2
    assert (whole.result_.resamples == 999).all()


def test_lines_curves_and_products_are_found_with_their_direction() -> None:
    law = AutoregressiveGaussian(features=8, rho=0.3)
    x = law.sample(500, random_state=0)
    noise = np.random.default_rng(0).standard_normal(500)
    y = -0.5 * x[:, 0] + 0.5 * x[:, 2] ** 2 + 0.7 * x[:, 4] * x[:, 5] + noise
    result = (
        RandomizationTest(law.redraw, statistic="linear", resamples=500, random_state=0)
        .fit(x, y)
        .result_
    )
    assert set(np.flatnonzero(result.selected)) >= {0, 2, 4, 5}
    assert result.effects[0] == pytest.approx(-0.5 / y.std(), abs=0.12)
    assert (result.pvalues[[0, 2, 4, 5]] <= 0.01).all()
    assert abs(result.effects[7]) < 4 * result.errors[7]
    assert result.discoveries[0] in {"x0", "x2", "x4", "x5"}


def test_the_residuals_know_nothing_of_their_feature() -> None:
    x = LAWS["gaussian"].sample(120, random_state=0)
    y = Quantity(response(x, 0)).residual_outputs()
    changed = x.copy()
    changed[:, 3] = np.random.default_rng(1).exponential(size=120)

    def residuals(table: np.ndarray, feature: int) -> np.ndarray:
        columns = table_columns(read_table(table, who="test").schema, table)
        tested = np.arange(8)
        models = lambda seed: Ridge()  # noqa: E731
        found = Residuals(columns, Curves.of(columns), y, tested, models, np.random.default_rng(0))
        return found.of(feature)

    np.testing.assert_allclose(residuals(x, 3), residuals(changed, 3), atol=1e-8)
    assert np.abs(residuals(x, 2) - residuals(changed, 2)).max() > 0.01


def test_a_proxy_of_a_confounder_is_selected_without_and_not_with_the_confounder() -> None:
    """Age drives y and the biomarker; the biomarker says nothing more about y."""
    without, given = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        age = rng.normal(60, 10, size=250)
        table = pd.DataFrame(
            {
                "age": age,
                "biomarker": age / 10 + rng.normal(size=250),
                "dose": rng.normal(size=250),
                "weight": rng.normal(size=250),
            }
        )
        y = age / 10 + 0.5 * table["dose"] + rng.normal(size=250)
        test = RandomizationTest(
            JointDensity(hidden=(4,), epochs=2),
            "linear",
            resamples=199,
            level=0.1,
            random_state=seed,
        )
        without.append(test.fit(table.drop(columns="age"), y).support_)
        result = clone(test).set_params(condition_on=["age"]).fit(table, y).result_
        given.append(result.selected[1:])
        assert np.isnan(result.pvalues[0])
        assert not result.selected[0]
        assert result.settings()["condition_on"] == ["age"]
        assert "age" not in set(result.to_frame()["feature"])
    without, given = np.mean(without, axis=0), np.mean(given, axis=0)
    assert without[0] == 1  # the biomarker stands for the age
    assert given[0] <= 0.1 + 3 * np.sqrt(0.09 / 8)
    assert given[1] >= 0.9


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
@pytest.mark.parametrize("variant", ["distilled", "holdout"])
def test_the_same_seed_gives_the_same_bits_whatever_the_cores(variant: str) -> None:
    x = LAWS["gaussian"].sample(120, random_state=0)
    y = response(x, 0)
    statistic = "linear" if variant == "distilled" else LinearRegression()
    density = JointDensity(hidden=(4,), epochs=1)
    test = RandomizationTest(density, statistic, variant=variant, resamples=49, random_state=3)
    first = test.fit(x, y).result_
    again = clone(test).set_params(n_jobs=2).fit(x, y).result_
    for name in ("pvalues", "adjusted", "effects", "errors", "strengths", "resamples", "effective"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    other = clone(test).set_params(random_state=4).fit(x, y).result_
    assert (first.pvalues != other.pvalues).any()


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_mixed_tables_with_classes_duplicates_and_repeated_rows() -> None:
    z = AutoregressiveGaussian(features=5, rho=0.4).sample(300, random_state=1)
    table = pd.DataFrame(
        {
            "a": z[:, 0],
            "twin": z[:, 0],
            "visits": np.rint(2 + z[:, 1]),
            "sex": np.where(z[:, 2] > 0.3, "f", "m"),
            "site": np.array(["north", "south", "east"])[np.digitize(z[:, 3], [-0.5, 0.5])],
            "marker": np.where(np.random.default_rng(0).random(300) < 0.2, np.nan, z[:, 4]),
            "constant": 1,
        }
    )
    signal = (
        2.0 * (table["site"] == "south")
        + table["visits"]
        + np.random.default_rng(2).normal(size=300)
    )
    y = np.where(signal > 3.5, "high", np.where(signal > 2, "mid", "low"))
    table, y = pd.concat([table, table[:40]], ignore_index=True), np.concatenate([y, y[:40]])
    test = RandomizationTest(
        JointDensity(hidden=(8,), epochs=2), "linear", random_state=0, resamples=400
    )
    result = test.fit(table, y).result_
    assert set(result.discoveries) >= {"visits", "site"}
    np.testing.assert_array_equal(result.pvalues[[0, 1, 6]], 1.0)
    assert result.settings()["copies"] == ["a", "twin", "constant"]
    assert any("cannot be tested" in said for said in result.cautions)
    assert result.strengths[4] > result.strengths[5]
    json.dumps(result.to_dict())
    frame = result.to_frame()
    assert (frame["p"].diff().dropna() >= 0).all()
    assert frame.attrs["correction"] == "bh"
    with pytest.raises(ValueError, match="read-only"):
        result.pvalues[0] = 0


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_one_fit_serves_knockoffs_and_tests() -> None:
    x = LAWS["gaussian"].sample(150, random_state=0)
    generator = DDLK(hidden=(4,), joint_epochs=1, knockoff_epochs=0, random_state=0).fit(x)
    settings = {"statistic": "linear", "resamples": 99, "random_state": 0}
    ours = RandomizationTest(generator, **settings).fit(x, x[:, 0])
    theirs = RandomizationTest(generator.joint_density(), **settings).fit(x, x[:, 0])
    np.testing.assert_array_equal(ours.pvalues_, theirs.pvalues_)
    for frozen in (FrozenEstimator(generator), FrozenEstimator(generator.joint_density())):
        found = clone(RandomizationTest(frozen, **settings)).fit(x, x[:, 0])
        np.testing.assert_array_equal(found.pvalues_, ours.pvalues_)


def test_it_warns_where_no_p_value_can_be_small_enough() -> None:
    x = LAWS["gaussian"].sample(60, random_state=0)
    test = RandomizationTest(LAWS["gaussian"].redraw, "linear", resamples=19, random_state=0)
    with pytest.warns(KnockoffWarning, match="a single discovery among 8 features needs 0.013"):
        test.fit(x, x[:, 0] ** 2)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"variant": "conditional"}, "variant='conditional' is not valid"),
        ({"correction": "fdr"}, "correction='fdr' is not valid"),
        ({"level": 1.5}, "level=1.5 is not valid"),
        ({"resamples": 0}, "resamples=0 is not valid"),
        ({"statistic": "forest"}, "statistic='forest' is not valid for variant='distilled'"),
        (
            {"statistic": "linear", "variant": "holdout"},
            "statistic='linear' is not valid for variant='holdout'",
        ),
        ({"density": 3}, "density=3 is not valid"),
        ({"condition_on": "age"}, "condition_on='age' is not valid: pass a list"),
        (
            {"n_jobs": 0},
            "n_jobs=0 is not valid: pass a whole number of at least 1, or -1 for all cores",
        ),
        ({"condition_on": 3}, "condition_on=3 is not valid: pass a list of columns"),
        # empty in a second fit
        ({"condition_on": iter([0])}, "condition_on=.* is not valid: pass a list"),
        (
            {"condition_on": ["age"]},
            "condition_on names 'age', which is no column of X: there are numbers from 0",
        ),
        ({"condition_on": range(8)}, "condition_on names all columns"),
        ({"density": lambda codes, j, count, rng: codes[:, j]}, "density returned draws of shape"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], said: str) -> None:
    x = LAWS["gaussian"].sample(60, random_state=0)
    with pytest.raises(ValueError, match=said):
        RandomizationTest(**({"density": LAWS["gaussian"].redraw} | settings)).fit(x, x[:, 0] ** 2)


def test_nothing_is_known_before_the_fit() -> None:
    with pytest.raises(NotFittedError):
        RandomizationTest().get_support()


@pytest.mark.parametrize("name", LAWS)
def test_redraws_of_the_synthetic_distributions_keep_them(name: str) -> None:
    law = LAWS[name]
    x = law.sample(3000, random_state=0)
    redrawn = x.copy()
    redrawn[:, 3] = law.redraw(x, 3, 2, np.random.default_rng(0))[1]
    assert law.log_prob(redrawn).mean() == pytest.approx(law.log_prob(x).mean(), abs=0.25)
    below = (law.redraw(x, 3, 99, np.random.default_rng(1)) < x[:, 3]).mean(0)
    assert (
        kstest(below + np.random.default_rng(2).uniform(-0.005, 0.005, 3000), "uniform").pvalue
        > 0.001
    )
