"""A selection for survival times, from the table to the report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from knockoffs import KnockoffSelector, KnockoffWarning, RandomizationTest, check_swap, write_report
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.diagnostics.simulated import as_target
from knockoffs.effects.result import HazardRatio

from .real_data import folder_with

LAW = AutoregressiveGaussian(features=12, rho=0.3)
NAMES = [f"gene {j}" for j in range(12)]


def patients(rows: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Genes 0 to 5 and the sex act on the hazard, gene 1 by its distance from 0; some cells are missing."""
    rng = np.random.default_rng(0)
    x = LAW.sample(rows, random_state=0)
    sex = rng.choice(["f", "m"], size=rows)
    score = 0.8 * x[:, [0, 2, 3, 4]].sum(1) - 0.8 * x[:, 5] + 1.2 * np.abs(x[:, 1]) + 1.2 * (sex == "m")
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
    assert settings["target_kind"].startswith(f"{y['died'].sum()} of 300 rows have the event, median follow-up ")
    assert {"gene 0", "gene 2", "gene 3", "gene 5", "sex"} <= set(fitted.selection_.discoveries)


def test_effects_are_hazard_ratios(fitted: KnockoffSelector) -> None:
    effects = fitted.selection_.effects
    for name, truth in (("gene 0", np.exp(0.8)), ("gene 5", np.exp(-0.8)), ("sex", np.exp(1.2))):
        ratio = effects[name].hazard
        assert ratio is not None
        # other features are adjusted for by lines that are shrunk, so ratios are somewhat closer to 1
        assert abs(np.log(ratio.ratio / truth)) < 0.35
        assert (ratio.low > 1) == (truth > 1)
        assert ratio.low < ratio.ratio < ratio.high
    assert effects["gene 0"].said.startswith("hazard rises (hazard ratio ")
    assert effects["gene 5"].said.startswith("hazard falls (hazard ratio 0.")
    assert effects["sex"].said.startswith("hazard is higher at 'm' than at 'f' (hazard ratio ")
    assert " for 'm' against 'f', " in effects["sex"].said


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
        ("has no clear direction", 0.9, None, "hazard has no clear direction (hazard ratio 0.9"),
        ("falls, then rises", 0.9, None, "hazard falls, then rises"),
        ("is higher at 'II' than at 'I'", 1.3, ("II", "I"), "hazard is higher at 'II' than at 'I' (haz"),
        ("is higher at 'II' than at 'I'", 0.9, ("II", "I"), "hazard has no direction that two models agree on"),
        ("is higher at 'II' than at 'missing'", 0.9, ("II", "I"), "hazard is higher at 'II' than at 'missing'"),
    ],
)
def test_a_sentence_has_no_direction_where_coxs_model_says_the_opposite(
    fitted: KnockoffSelector, shape: str, ratio: float, levels: tuple[str, str] | None, expected: str
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
    for shape, expected in (("is higher at 'missing' than at 'I'", 1), ("has no clear direction", 0)):
        curve = replace(effect.curves[0], shape=shape, missing=0.5, missing_error=0.1)
        for survival in (effect.survival, ()):
            said = replace(effect, curves=(curve,), survival=survival).said
            assert said.count("'missing'") == expected
            assert said.count("higher where it is missing") == 1 - expected


def test_curves_are_shares_that_fall(fitted: KnockoffSelector) -> None:
    low, high = fitted.selection_.effects["gene 0"].survival
    assert (low.rows + high.rows, low.of[:6], high.of[:6]) == (300, "up to ", "above ")
    for curve in (low, high):
        for shares in (curve.share, curve.knockoff):
            assert min(shares) >= 0
            assert max(shares) <= 1
            assert (np.diff(shares) <= 0).all()
    assert np.mean(low.share) > np.mean(high.share) + 0.1  # the event comes later where the hazard is low
    between = abs(np.mean(low.knockoff) - np.mean(high.knockoff))
    assert between < np.mean(low.share) - np.mean(high.share)
    assert [curve.of for curve in fitted.selection_.effects["sex"].survival] == ["f", "m"]


def test_all_of_it_survives_json_and_is_in_the_report(fitted: KnockoffSelector, tmp_path: Path) -> None:
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
    times = as_target(y, "survival", (0.7, 0.3), 0).times
    assert times is not None
    assert times.event.mean() == pytest.approx(0.3, abs=0.002)
    seen = times.event
    assert (np.argsort(times.time[seen]) == np.argsort(-y[seen])).all()  # the largest response comes first
    assert abs(np.corrcoef(y[~seen], times.time[~seen])[0, 1]) < 0.5


def test_exact_knockoffs_pass_the_check() -> None:
    x = LAW.sample(300, random_state=0)
    certificate = check_swap((x, LAW.knockoffs(x, 1)), task="survival", statistic=None, random_state=0)
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
    X = table[["age", "meanbp", "hrt", "resp", "temp", "crea", "sod", "scoma", "num.co", "ca", "dzgroup"]]
    selector = KnockoffSelector("gaussian", "lasso", fdr=0.5, certify=False, random_state=0)
    found = selector.fit(X, table[["d.time", "death"]]).selection_
    assert found.target == "time to death"
    assert any(effect.hazard is not None for effect in found.effects)
