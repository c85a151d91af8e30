"""A selection for survival times, from the table to the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from knockoffs import KnockoffSelector, KnockoffWarning, RandomizationTest, check_swap, write_report
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.effects import describe_effects
from knockoffs.effects.bins import bins_of
from knockoffs.effects.hazard import cox_fit, hazard_ratio, survival_curves
from knockoffs.effects.result import HazardRatio
from knockoffs.schema.schema import Column
from knockoffs.table.table import read_table
from knockoffs.targets.inputs import read_target
from knockoffs.targets.survival import Survival
from knockoffs.targets.times import RiskSets, Times, kaplan_meier
from tests.real_data import folder_with

LAW = AutoregressiveGaussian(features=12, rho=0.3)
NAMES = [f"gene {j}" for j in range(12)]


def patients(rows: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Genes 0 to 5 and the sex act on the hazard, gene 1 by its distance from 0;
    some cells are missing.
    """
    rng = np.random.default_rng(0)
    x = LAW.sample(rows, random_state=0)
    sex = rng.choice(["f", "m"], size=rows)
    score = (
        0.8 * x[:, [0, 2, 3, 4]].sum(1) - 0.8 * x[:, 5] + 1.2 * np.abs(x[:, 1]) + 1.2 * (sex == "m")
    )
    death, end = rng.exponential(np.exp(-score)), rng.exponential(0.6, size=rows)
    X = pd.DataFrame(x, columns=NAMES).assign(sex=sex)
    X.loc[rng.random(rows) < 0.1, "gene 4"] = np.nan
    return X, pd.DataFrame({"days": 365 * np.minimum(death, end), "died": death <= end})


@pytest.fixture(scope="module")
def fitted() -> KnockoffSelector:
    return KnockoffSelector("gaussian", "lasso", fdr=0.3, random_state=0).fit(*patients())


def test_the_target_in_words(fitted: KnockoffSelector) -> None:
    _, y = patients()
    settings = fitted.selection_.settings()
    assert (settings["task"], settings["target"]) == ("survival", "time to died")
    assert settings["target_kind"].startswith(
        f"{y['died'].sum()} of 300 rows have the event, median follow-up "
    )
    assert {"gene 0", "gene 2", "gene 3", "gene 5", "sex"} <= set(fitted.selection_.discoveries)


def test_effects_are_hazard_ratios(fitted: KnockoffSelector) -> None:
    effects = fitted.selection_.effects
    for name, truth in (("gene 0", np.exp(0.8)), ("gene 5", np.exp(-0.8)), ("sex", np.exp(1.2))):
        ratio = effects[name].hazard
        assert ratio is not None
        # other features are adjusted for by lines that are shrunk, so ratios are somewhat closer to
        # 1
        assert abs(np.log(ratio.ratio / truth)) < 0.35
        assert (ratio.low > 1) == (truth > 1)
        assert ratio.low < ratio.ratio < ratio.high
    assert effects["gene 0"].said.startswith("hazard rises (hazard ratio ")
    assert effects["gene 5"].said.startswith("hazard falls (hazard ratio 0.")
    assert effects["sex"].said.startswith("hazard is higher at 'm' than at 'f' (hazard ratio ")
    assert " for 'm' against 'f', " in effects["sex"].said


def test_a_ratio_of_correlated_features_is_that_of_coxs_model() -> None:
    """Proxies do not absorb it: with two relevant features that have a correlation of .7."""
    held = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        x = LAW.sample(400, random_state=rng)
        x[:, 1] = 0.7 * x[:, 0] + 0.51**0.5 * x[:, 1]
        death, end = (
            rng.exponential(np.exp(-0.6 * x[:, [0, 1, 6]].sum(1))),
            rng.exponential(size=400),
        )
        y = pd.DataFrame({"days": np.minimum(death, end), "died": death <= end})
        table = read_table(x, who="test")
        target = read_target(y, "auto", rows=400, who="test")
        effects = describe_effects(
            table,
            table,
            target,
            [0, 1, 6],
            names=NAMES,
            selected=[False] * 12,
            draws=np.zeros((1, 12)),
        )
        truths = np.exp(0.6 * x[:, [0, 1, 6]].std(0))
        held.append(
            [
                e.hazard.low <= truth <= e.hazard.high
                for e, truth in zip(effects, truths, strict=True)
            ]
        )
    assert np.mean(held) > 0.88
    assert np.mean(held, axis=0).min() > 0.8


def test_the_ratio_maximises_the_partial_likelihood_of_all_columns() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 4))
    times = Times(
        np.round(rng.exponential(np.exp(-z @ [0.5, -0.5, 0.2, 0])), 1), rng.random(300) < 0.7
    )
    risk_sets = RiskSets(times)

    def loss(b: Any) -> float:
        score = z @ b
        at_risk = times.time >= times.time[times.event][:, None]
        return (
            np.log(at_risk @ np.exp(score)).sum()
            - score[times.event].sum()
            + (b[1:] ** 2).sum() / 2
        )

    solved = minimize(loss, np.zeros(4))
    found = cox_fit(z[:, :1], times, z[:, 1:])
    assert found is not None
    assert found[0] == pytest.approx(solved.x[0], abs=1e-3)
    assert found[1] == pytest.approx(np.sqrt(solved.hess_inv[0, 0]), rel=0.1)
    score = z @ solved.x
    np.testing.assert_allclose(
        risk_sets.score_residuals(z, score).sum(axis=0), z.T @ risk_sets.residuals(score), atol=1e-8
    )


def test_copies_of_rows_make_no_ratio_surer() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200, 3))
    times = Times(rng.exponential(np.exp(-z @ [0.5, -0.5, 0.2])), rng.random(200) < 0.7)
    groups = np.repeat(np.arange(200), 10)
    once = cox_fit(z[:, :1], times, z[:, 1:])
    naive, known = (
        cox_fit(z[groups, :1], times.rows(groups), z[groups, 1:], by) for by in (None, groups)
    )
    assert once is not None
    assert naive is not None
    assert known is not None
    assert naive[1] < 0.4 * once[1]
    assert known[1] == pytest.approx(once[1], rel=0.15)


def test_a_likelihood_without_a_maximum_has_no_ratio() -> None:
    """All events come before the first row of the other half;
    the interval would leave the floating numbers.
    """
    half = np.repeat([0.0, 1.0], 10)
    times = Times(np.arange(20.0), half == 0)
    bins = bins_of(Column("f", "continuous"), half, half)
    settings: dict[str, Any] = {"ordered": True, "level": 0.99}
    assert hazard_ratio(half, bins, np.zeros(2), np.empty((20, 0)), times, **settings) is None


@pytest.mark.parametrize("levels", [2, 6])
def test_the_ratio_of_levels_that_events_have_chosen_is_no_discovery(levels: int) -> None:
    excluded = []
    for seed in range(120):
        rng = np.random.default_rng([seed, levels])
        codes = rng.integers(levels, size=(300, 2)).astype(float)
        times = Times(rng.exponential(size=300), rng.random(300) < 0.6)
        bins = bins_of(Column("f", "nominal", tuple("abcdef")[:levels]), *codes.T)
        mean = [times.residuals[bins.x == k].mean() for k in range(levels)]
        ratio = hazard_ratio(
            codes[:, 0], bins, np.array(mean), np.empty((300, 0)), times, ordered=False, level=0.95
        )
        assert ratio is not None
        excluded.append(not ratio.low <= 1 <= ratio.high)
    assert np.mean(excluded) < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 120)


def test_a_hazard_ratio_names_the_levels_that_it_compares() -> None:
    X, y = patients()
    level = np.random.default_rng(2).integers(3, size=len(X))
    y["days"] *= np.array([9.0, 1.2, 1.0])[level]  # the event comes late where the stage is missing
    X["stage"] = np.array([None, "I", "II"], dtype=object)[level]
    selector = KnockoffSelector("gaussian", "lasso", fdr=0.5, certify=False, random_state=0)
    effect = selector.fit(X, y).selection_.effects["stage"]
    assert "hazard is higher at 'II' than at 'missing' (hazard ratio" in effect.said
    assert effect.hazard is not None
    assert effect.hazard.per == "'II' against 'I'"
    assert effect.hazard.per in effect.said


@pytest.mark.parametrize(
    ("shape", "ratio", "levels", "expected"),
    [
        ("rises", 1.3, None, "hazard rises (hazard ratio 1.3"),
        ("rises", 0.9, None, "hazard has no direction that two models agree on (hazard ratio 0.9"),
        ("rises", 1.1, None, "hazard has no clear direction (hazard ratio 1.1"),  # 0.88 to 1.32
        ("tends to rise", 1.3, None, "hazard tends to rise (hazard ratio 1.3"),
        ("has no clear direction", 1.3, None, "hazard rises (hazard ratio 1.3"),
        ("has no clear direction", 0.9, None, "hazard has no clear direction (hazard ratio 0.9"),
        ("falls, then rises", 0.9, None, "hazard falls, then rises"),
        (
            "is higher at 'II' than at 'I'",
            1.3,
            ("II", "I"),
            "hazard is higher at 'II' than at 'I' (haz",
        ),
        (
            "is higher at 'II' than at 'I'",
            0.9,
            ("II", "I"),
            "hazard has no direction that two models agree on",
        ),
        (
            "is higher at 'II' than at 'missing'",
            0.9,
            ("II", "I"),
            "hazard is higher at 'II' than at 'missing'",
        ),
    ],
)
def test_a_sentence_has_no_direction_where_coxs_model_says_the_opposite(
    fitted: KnockoffSelector,
    shape: str,
    ratio: float,
    levels: tuple[str, str] | None,
    expected: str,
) -> None:
    effect = fitted.selection_.effects["gene 0"]
    per = "standard deviation" if levels is None else "'II' against 'I'"
    effect = replace(
        effect,
        curves=(replace(effect.curves[0], shape=shape, change=0.5, change_error=0.1),),
        hazard=HazardRatio(per, ratio, 0.8 * ratio, 1.2 * ratio, levels),
    )
    assert effect.said.startswith(expected)


def test_what_a_shape_says_of_missing_cells_is_not_said_twice(fitted: KnockoffSelector) -> None:
    effect = fitted.selection_.effects["gene 0"]
    for shape, expected in (
        ("is higher at 'missing' than at 'I'", 1),
        ("has no clear direction", 0),
    ):
        curve = replace(
            effect.curves[0], shape=shape, missing=0.5, missing_low=0.3, missing_high=0.7
        )
        for survival in (effect.survival, ()):
            said = replace(effect, curves=(curve,), survival=survival).said
            assert said.count("'missing'") == expected
            assert said.count("higher where it is missing") == 1 - expected


def step(time: Sequence[float], share: Sequence[float], at: Any) -> Any:
    """A curve at some times."""
    return np.append(1.0, share)[np.searchsorted(time, at, side="right")]


@pytest.mark.parametrize("rows", [40, 300, 9000])
def test_curves_step_where_events_are_and_end_at_the_last_observation(rows: int) -> None:
    rng = np.random.default_rng(rows)
    x, x_tilde = rng.normal(size=(2, rows))
    times = Times(np.round(rng.exponential(np.exp(x)) ** 3, 3), rng.random(rows) < 0.6)
    bins = bins_of(Column("f", "continuous"), x, x_tilde)
    curves = survival_curves(x, x_tilde, bins, times, ordered=True)
    low = x <= np.median(x)
    low_tilde = x_tilde <= np.median(x)
    found = [(c.time, c.share) for c in curves] + [(c.knockoff_time, c.knockoff) for c in curves]
    for (time, share), own in zip(found, (low, ~low, low_tilde, ~low_tilde), strict=True):
        mine = times.rows(np.flatnonzero(own))
        exact = kaplan_meier(mine)
        assert time[-1] == mine.time.max()
        assert set(time[:-1]) <= set(mine.time[mine.event])
        np.testing.assert_allclose(
            step(time, share, np.array(time)), step(*exact, np.array(time)), rtol=1e-5
        )
        above = step(time, share, exact.time) - exact.survival
        assert above.min() > -1e-6
        assert (
            above.max() < 1.001e-3 if len(set(mine.time[mine.event])) > 1000 else above.max() < 1e-6
        )
        assert len(time) <= 1001


def test_curves_are_shares_that_fall(fitted: KnockoffSelector) -> None:
    low, high = fitted.selection_.effects["gene 0"].survival
    assert (low.rows + high.rows, low.of[:6], high.of[:6]) == (300, "up to ", "above ")
    for curve in (low, high):
        for shares in (curve.share, curve.knockoff):
            assert min(shares) >= 0
            assert max(shares) <= 1
            assert (np.diff(shares) <= 0).all()
    grid = np.linspace(0, min(low.time[-1], high.time[-1]), 50)
    shares = [np.mean(step(curve.time, curve.share, grid)) for curve in (low, high)]
    assert shares[0] > shares[1] + 0.1  # the event comes later where the hazard is low
    knockoffs = [np.mean(step(curve.knockoff_time, curve.knockoff, grid)) for curve in (low, high)]
    assert abs(knockoffs[0] - knockoffs[1]) < shares[0] - shares[1]
    assert [curve.of for curve in fitted.selection_.effects["sex"].survival] == ["f", "m"]


def test_all_of_it_survives_json_and_is_in_the_report(
    fitted: KnockoffSelector, tmp_path: Path
) -> None:
    found = fitted.selection_.to_dict()
    assert json.loads(json.dumps(found)) == found
    write_report(fitted, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in (
        "time to died",
        "rows have the event",
        "Kaplan-Meier",
        "hazard ratio",
        "share without the event",
    ):
        assert words in page
    fitted.selection_.effects.plot("gene 0")


def test_units_of_time_change_nothing(fitted: KnockoffSelector) -> None:
    X, y = patients()
    y["days"] = np.log1p(y["days"] / 7)
    again = KnockoffSelector("gaussian", "lasso", fdr=0.3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.w_, fitted.w_)
    assert again.expectation_ is not None
    assert fitted.expectation_ is not None
    assert again.expectation_.rate(0.2) == fitted.expectation_.rate(0.2)


def test_simulated_times_have_the_share_of_events_seen() -> None:
    y = np.random.default_rng(0).normal(size=1000)
    footing = Times(np.arange(10.0), np.arange(10) < 3)
    times = Survival.of(footing).imitated(y, 0).times
    assert times.event.mean() == pytest.approx(0.3, abs=0.002)
    seen = times.event
    # the largest response comes first
    assert (np.argsort(times.time[seen]) == np.argsort(-y[seen])).all()
    assert abs(np.corrcoef(y[~seen], times.time[~seen])[0, 1]) < 0.5


def test_exact_knockoffs_pass_the_check() -> None:
    x = LAW.sample(300, random_state=0)
    certificate = check_swap(
        (x, LAW.knockoffs(x, 1)), task="survival", statistic=None, random_state=0
    )
    assert certificate.validity == "pass"


@pytest.mark.parametrize("column", ["days", "died"])
def test_a_copy_of_time_or_event_is_warned_of(column: str) -> None:
    X, y = patients(120)
    X["copy"] = 3 * y[column] + 1
    with pytest.warns(KnockoffWarning, match="'copy': a copy of the target y"):
        KnockoffSelector("gaussian", "lasso", fdr=0.5, certify=False, random_state=0).fit(X, y)


def test_a_function_as_statistic_is_given_the_target_as_it_is() -> None:
    X, y = patients(120)

    def statistic(X: Any, X_tilde: Any, y: Any) -> np.ndarray:
        assert list(y.columns) == ["days", "died"]
        return np.linspace(-0.1, 1, 13)

    KnockoffSelector("gaussian", statistic, fdr=0.5, certify=False, random_state=0).fit(X, y)


def test_p_values_of_features() -> None:
    X, y = patients()
    test = RandomizationTest(LAW.redraw, resamples=300, random_state=0).fit(X[NAMES].fillna(0.0), y)
    assert test.result_.task == "survival"
    assert test.support_[[0, 2, 3, 5]].all()
    assert test.support_[6:].sum() <= 2
    assert test.effects_[0] > 0 > test.effects_[5]


def test_real_patients() -> None:
    table = pd.read_parquet(folder_with("support2") / "support2" / "support2.parquet")[:400]
    assert {"d.time", "death"} <= set(table.columns)
    X = table[
        ["age", "meanbp", "hrt", "resp", "temp", "crea", "sod", "scoma", "num.co", "ca", "dzgroup"]
    ]
    selector = KnockoffSelector("gaussian", "lasso", fdr=0.5, certify=False, random_state=0)
    found = selector.fit(X, table[["d.time", "death"]]).selection_
    assert found.target == "time to death"
    assert any(effect.hazard is not None for effect in found.effects)
