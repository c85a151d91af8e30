"""What a result says of its effects is true: their sign, their unit, and what they are about."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from knockoffs import JointDensity, KnockoffWarning, RandomizationTest, write_test_report

ROWS = 300
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(ROWS, 3)), columns=["harm", "help", "noise"])
X["sex"] = RNG.choice(["woman", "man"], size=ROWS)
NOISE = RNG.normal(size=ROWS)
TEST = RandomizationTest(JointDensity(epochs=1), "linear", resamples=200, random_state=0)


def times() -> pd.DataFrame:
    death, end = RNG.exponential(np.exp(-X["harm"] + X["help"])), RNG.exponential(3, size=ROWS)
    return pd.DataFrame({"days": np.minimum(death, end), "died": death < end})


def test_effects_on_survival_times_say_which_sign_is_the_earlier_event(tmp_path: Path) -> None:
    test = TEST.fit(X, times())
    result = test.result_
    harm, helps = result.effects[:2]
    assert harm > 0.2
    assert helps < -0.2  # harm shortens the time: more events than expected
    assert "above 0 the event comes earlier" in result.effect_meaning
    assert result.settings()["target"] == "time to died"
    assert "rows have the event" in result.settings()["target_kind"]
    write_test_report(test, tmp_path / "page.html", source_name="trial.csv")
    page = (tmp_path / "page.html").read_text()
    for said in (
        "tell something about time to died?",
        "the event comes earlier",
        "trial.csv",
        "median follow-up",
    ):
        assert said in page


def test_effects_on_two_classes_are_changes_of_the_share_that_is_named() -> None:
    y = pd.Series(np.where(X["harm"] + 0.3 * NOISE > 0, "sick", "well"), name="outcome")
    result = TEST.fit(X, y).result_
    assert "the share of rows with outcome = 'well' changes" in result.effect_meaning
    assert result.effects[0] < -0.2
    renamed = TEST.fit(X, y.replace({"well": "a cure"})).result_  # comes first in the alphabet
    assert "outcome = 'sick'" in renamed.effect_meaning
    assert renamed.effects[0] == pytest.approx(-result.effects[0])
    slope = np.polyfit(X["harm"] / X["harm"].std(), y == "well", 1)[0]
    # in shares of rows, not in standard deviations
    assert result.effects[0] == pytest.approx(slope, abs=0.05)


def test_effects_of_two_levels_name_the_level_that_they_speak_for(tmp_path: Path) -> None:
    y = 1.0 * (X["sex"] == "woman") + 0.3 * NOISE
    test = TEST.fit(X, y)
    write_test_report(test, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert (
        "stay as they are. Intervals are those of 95 %. For a feature with two levels in words"
        in page
    )
    result = test.result_
    frame = result.to_frame().set_index("feature")
    assert result.effects[3] > 0.5
    assert frame.loc["sex", "effect_towards"] == "woman"
    assert frame.loc["harm", "effect_towards"] == ""
    assert json.loads(json.dumps(result.to_dict()))["settings"]["effect"].startswith(
        "An effect says by how many"
    )


def test_without_levels_in_words_a_page_names_none(tmp_path: Path) -> None:
    test = TEST.fit(X[["harm", "help"]], X["harm"] + NOISE)
    assert "effect_towards" not in test.result_.to_frame()
    write_test_report(test, tmp_path / "page.html")
    assert "level in brackets" not in (tmp_path / "page.html").read_text()


def test_effects_on_several_classes_have_no_direction(tmp_path: Path) -> None:
    y = np.array(["low", "middle", "high"])[np.digitize(X["harm"] + 0.3 * NOISE, [-0.5, 0.5])]
    test = TEST.fit(X, y)
    assert np.isnan(test.result_.effects).all()
    assert "effect_towards" not in test.result_.to_frame()
    write_test_report(test, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert (
        "There are no effects: the target has 3 classes, so that a change has no direction." in page
    )
    for untrue in ("An effect says", "level in brackets", "Intervals"):
        assert untrue not in page


def test_effects_on_a_target_with_heavy_tails_are_those_of_its_normal_scores() -> None:
    cost = pd.Series(np.exp(1.5 * X["harm"] + 1.5 * NOISE), name="cost")
    result = TEST.fit(X, cost).result_
    assert "the normal scores of cost" in result.effect_meaning
    scores = ndtri((rankdata(cost) - 0.5) / ROWS)
    in_scores, as_it_is = (
        np.polyfit(X["harm"] / X["harm"].std(), y / y.std(), 1)[0] for y in (scores, cost)
    )
    assert result.effects[0] == pytest.approx(in_scores, abs=0.1)
    assert in_scores - as_it_is > 0.2


def test_doubtful_columns_and_copies_of_the_target_are_said_before_a_test_too() -> None:
    table = X.assign(patient_id=np.arange(ROWS) // 3, copy=2 * X["harm"] + 1)
    with pytest.warns(KnockoffWarning) as warned:
        result = TEST.fit(table, X["harm"]).result_
    said = " ".join(str(warning.message) for warning in warned)
    assert "column 'patient_id': looks like an identifier whose values repeat" in said
    assert "a copy of the target y" in said
    assert any("copy of the target" in own for own in result.cautions)


def test_a_target_with_a_class_for_nearly_each_row_is_refused() -> None:
    """The advice can be followed: text that is no number, as with a unit,
    cannot be read as a quantity.
    """
    for y, task, remedy in (
        ([f"{k} mg" for k in range(ROWS)], "auto", "Convert it to numbers"),
        ([str(k) for k in range(ROWS)], "auto", "Pass task='regression'"),
        (NOISE, "classification", "Pass task='regression'"),
    ):
        with pytest.raises(
            ValueError, match=f"y has 300 classes in 300 rows, too few rows.*{remedy}.*a quantity"
        ):
            RandomizationTest(task=task).fit(X, y)


def test_one_discovery_is_spoken_of_as_one(tmp_path: Path) -> None:
    test = TEST.fit(X[["harm", "noise"]], X["harm"] + NOISE)
    assert test.result_.discoveries == ["harm"]
    assert test.result_.explanation.startswith("1 of 2 tested features is a discovery at level")
    write_test_report(test, tmp_path / "page.html")
    assert "<strong>1</strong> discovery</li>" in (tmp_path / "page.html").read_text()


def test_features_are_counted_without_those_that_are_conditioned_on() -> None:
    result = clone(TEST).set_params(condition_on=["harm"]).fit(X, X["help"] + NOISE).result_
    assert result.settings()["features"] == len(result.to_frame()) == 3


def test_a_page_says_how_its_variant_makes_p(tmp_path: Path) -> None:
    """No share of 40 redraws is as small as what Fisher's method makes of the parts of the holdout
    variant.
    """
    page = tmp_path / "page.html"
    for variant in ("distilled", "holdout"):
        test = clone(TEST).set_params(variant=variant, statistic=LinearRegression(), resamples=40)
        with warnings.catch_warnings():
            # too few redraws for a single discovery
            warnings.simplefilter("ignore", KnockoffWarning)
            result = test.fit(X, 2 * X["harm"] + NOISE).result_
        write_test_report(test, page)
        said = " ".join(page.read_text(encoding="utf-8").split())
        combined = result.pvalues.min() < 1 / 41
        assert combined == (variant == "holdout")
        assert ("Fisher's method combines these into one p" in said) == combined
        assert ("p is the share of redraws" in said) != combined
