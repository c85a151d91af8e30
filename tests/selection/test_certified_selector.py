"""KnockoffSelector with a certificate and with a calibrated level."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from knockoffs import (
    Certificate,
    GaussianKnockoffs,
    HoldoutStatistic,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    knockoff_select,
    write_report,
)
from knockoffs.check.dry_run import Rate
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.filtering.filter import combine_draws
from knockoffs.report.summary import summarise
from knockoffs.selection import selection_check
from knockoffs.selection.conclusion import _about_false

LAW = AutoregressiveGaussian(features=12, rho=0.5)
X = LAW.sample(200, random_state=0)
X.flags.writeable = False
Y = X[:, :6].sum(1) + 0.5 * np.random.default_rng(1).normal(size=200)
FRAME = pd.DataFrame(X, columns=[*"abcdefghijkl"])


def selector(generator: Any = None, statistic: Any = None, **settings: Any) -> KnockoffSelector:
    generator = GaussianKnockoffs() if generator is None else generator
    statistic = LassoStatistic() if statistic is None else statistic
    return KnockoffSelector(generator, statistic, **({"fdr": 0.25, "random_state": 0} | settings))


def exact(table: Any) -> Any:
    return LAW.knockoffs(np.asarray(table), random_state=3)


def broken(table: Any) -> Any:
    return np.roll(np.asarray(table), 1, axis=0)


def copies(table: Any) -> Any:
    return np.array(table)


def correlations(x: Any, x_tilde: Any, y: Any) -> np.ndarray:
    """A quick statistic: swapping a feature with its knockoff turns the sign of w."""
    z, z_tilde = (np.asarray(t) - np.asarray(t).mean(0) for t in (x, x_tilde))
    size, size_tilde = (
        np.abs((y - np.mean(y)) @ t) / np.maximum(t.std(0), 1e-9) for t in (z, z_tilde)
    )
    return size - size_tilde


def fit_and_listen(estimator: KnockoffSelector, *data: Any, **settings: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(*data, **settings)
    return [str(w.message) for w in caught]


# the certificate


def test_exact_knockoffs_get_a_pass_and_no_warning() -> None:
    for generator in (exact, GaussianKnockoffs()):
        fitted = selector(generator)
        assert fit_and_listen(fitted, X, Y) == []
        assert isinstance(fitted.certificate_, Certificate)
        assert fitted.certificate_.verdict == "pass"
        assert fitted.selection_.cautions == ()


CORRELATED = AutoregressiveGaussian(features=30, rho=0.9).sample(400, random_state=0)


@pytest.mark.parametrize(("generator", "verdict"), [(broken, "fail"), (copies, "warn")])
def test_other_knockoffs_are_warned_of_once_and_in_the_report(generator: Any, verdict: str) -> None:
    fitted = selector(generator, correlations)
    said = fit_and_listen(fitted, CORRELATED, CORRELATED[:, :6].sum(1))
    said = [message for message in said if message.startswith("Check of the knockoffs")]
    assert len(said) == 1
    assert said[0].startswith(
        f"Check of the knockoffs: {verdict}. {fitted.certificate_.reasons[0]}"
    )
    # short, with a pointer
    assert not any(sentence in said[0] for sentence in fitted.certificate_.advice)
    assert said[0] in fitted.selection_.cautions
    assert said[0] in summarise(fitted)["cautions"]
    assert summarise(fitted)["certificate"]["verdict"] == verdict


def test_the_certificate_changes_nothing_of_the_selection() -> None:
    with_it, without = selector().fit(X, Y), selector(certify=False).fit(X, Y)
    assert without.certificate_ is None
    np.testing.assert_array_equal(with_it.w_, without.w_)
    said, unsaid = with_it.selection_.to_dict(), without.selection_.to_dict()
    assert said.pop("explanation").startswith(unsaid.pop("explanation"))
    assert unsaid.pop("expected_false") is None
    assert said.pop("expected_false") == with_it.selection_.expected_false > 0
    assert said == unsaid


def test_a_second_fit_forgets_the_first_certificate() -> None:
    fitted = selector().fit(X, Y)
    fitted.set_params(certify=False).fit(X, Y)
    assert fitted.certificate_ is None


def test_fewer_than_a_hundred_rows_have_none() -> None:
    with pytest.warns(
        KnockoffWarning, match="With 99 different rows the knockoffs cannot be checked"
    ):
        assert selector().fit(X[:99], Y[:99]).certificate_ is None
    assert selector().fit(X[:100], Y[:100]).certificate_ is not None


def test_the_same_seed_gives_the_same_certificate() -> None:
    one, again, other = (selector(random_state=seed).fit(X, Y).certificate_ for seed in (0, 0, 1))
    assert one.to_dict() == again.to_dict() != other.to_dict()


def test_a_fitted_generator_is_checked_as_it_is() -> None:
    model = GaussianKnockoffs(random_state=0).fit(LAW.sample(400, random_state=9))
    for generator in (model, FrozenEstimator(model)):
        found = selector(generator).fit(X, Y).certificate_
        assert found.found.rows == 200
        assert found.found.subject == "GaussianKnockoffs, on the rows of the selection"


def test_a_generator_with_a_seed_of_its_own_is_left_alone() -> None:
    generator = GaussianKnockoffs(random_state=7)
    fitted = selector(generator).fit(X, Y)
    assert not hasattr(generator, "n_features_in_")
    assert fitted.generator_.random_state == 7
    np.testing.assert_array_equal(fitted.w_, selector(generator, certify=False).fit(X, Y).w_)


def test_rows_of_one_patient_are_not_taken_for_independent_ones() -> None:
    """Exact knockoffs of 120 patients with four equal rows each: nothing is wrong,
    so nothing must be found.
    """
    verdicts = []
    for seed in range(5):
        x = np.repeat(LAW.sample(120, random_state=seed), 4, axis=0)
        y = x[:, :6].sum(1) + np.random.default_rng(seed).normal(size=480)

        def knockoffs(table: Any, seed: int = seed) -> Any:
            return LAW.knockoffs(np.asarray(table), random_state=seed + 50)

        fitted = selector(knockoffs, random_state=seed)
        fit_and_listen(fitted, x, y, groups=np.repeat(np.arange(120), 4))
        verdicts.append(fitted.certificate_.validity)
    assert verdicts == ["pass"] * 5


def test_uneven_groups_do_not_end_the_selection() -> None:
    groups = np.r_[np.zeros(180), np.arange(1, 21)]
    for seed in range(3):
        fit_and_listen(selector(random_state=seed), X, Y, groups=groups)


def test_a_rare_indicator_does_not_end_the_selection() -> None:
    """Of 0 on all rows of the check, and 1 in one of their knockoffs."""
    rare = X.copy()
    rare[:, 3] = 0.0

    def one_hit(table: Any) -> Any:
        drawn = exact(table)
        drawn[:, 3] = np.arange(len(drawn)) == 5
        return drawn

    fitted = selector(one_hit, correlations)
    assert not [
        said for said in fit_and_listen(fitted, rare, Y) if "overflow" in said or "invalid" in said
    ]


# settings


def test_clone_and_get_params_know_the_new_settings() -> None:
    estimator = selector(certify=False, calibrate=True)
    settings = clone(estimator).get_params(deep=False)
    assert (settings["certify"], settings["calibrate"]) == (False, True)
    plain = KnockoffSelector().get_params(deep=False)
    assert (plain["certify"], plain["calibrate"]) == (True, False)


# the calibrated level

nothing_found = pytest.mark.filterwarnings(
    "ignore:.*level was calibrated:knockoffs.KnockoffWarning"
)


def test_without_calibration_the_level_is_the_rate_asked_for() -> None:
    selection = selector(certify=False).fit(X, Y).selection_
    assert selection.level == selection.fdr == 0.25
    assert selection.settings()["level"] == 0.25


@pytest.mark.parametrize(
    "generator", [GaussianKnockoffs(), exact, broken], ids=["model", "function", "broken"]
)
@pytest.mark.parametrize("n_draws", [1, 3])
def test_the_selection_is_the_filter_at_the_calibrated_level(generator: Any, n_draws: int) -> None:
    fitted = selector(generator, correlations, calibrate=True, n_draws=n_draws)
    fit_and_listen(fitted, X, Y)
    selection = fitted.selection_
    assert 0 < selection.level <= selection.fdr == 0.25
    selected, evalues = combine_draws([*selection.draws], selection.level)
    np.testing.assert_array_equal(selection.selected, selected)
    np.testing.assert_array_equal(selection.evalues, evalues)
    if n_draws == 1:
        np.testing.assert_array_equal(
            selection.selected, knockoff_select(selection.w, selection.level)
        )
    assert selection.to_dict()["settings"]["level"] == selection.level
    assert selection.to_dict()["settings"]["fdr"] == 0.25
    json.dumps(selection.to_dict(), allow_nan=False)
    assert "calibrated for fdr=0.25" in selection.explanation


@nothing_found
def test_calibration_does_not_touch_w_and_has_a_seed() -> None:
    one, again = (selector(statistic=correlations, calibrate=True).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.w_, selector(statistic=correlations).fit(X, Y).w_)
    assert one.selection_.level == again.selection_.level
    assert one.certificate_.to_dict() == again.certificate_.to_dict()


@nothing_found
@pytest.mark.parametrize("generator", [GaussianKnockoffs(), broken], ids=["model", "broken"])
def test_the_calibrated_level_is_expected_to_hold_the_rate(generator: Any) -> None:
    fitted = selector(generator, correlations, calibrate=True)
    fit_and_listen(fitted, CORRELATED, CORRELATED[:, :6].sum(1))
    if generator is broken:  # a function, whose level is chosen by the rows themselves
        assert fitted.selection_.level == fitted.expectation_.calibrated_level(0.25)
    assert fitted.expectation_.rate(fitted.selection_.level).fdp <= 0.25
    assert (
        (fitted.selection_.level < 0.25)
        == (fitted.expectation_.rate(0.25).fdp > 0.25)
        == (generator is broken)
    )
    assert fitted.certificate_.expected == fitted.expectation_.rate(0.25)  # of the level asked for


@nothing_found
def test_a_level_that_is_calibrated_is_not_advised_to_be() -> None:
    for calibrate in (False, True):
        fitted = selector(broken, correlations, calibrate=calibrate)
        fit_and_listen(fitted, CORRELATED, CORRELATED[:, :6].sum(1))
        assert fitted.certificate_.verdict != "pass"
        assert fitted.certificate_.advice
        advised = any("calibrate=True" in sentence for sentence in fitted.certificate_.advice)
        assert advised != calibrate


@nothing_found
def test_a_level_is_calibrated_by_rows_that_coins_have_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, simulate = [], selection_check.expect

    def listen(table: Any, *arguments: Any, **settings: Any) -> Any:
        seen.append(table.codes)
        return simulate(table, *arguments, **settings)

    monkeypatch.setattr(selection_check, "expect", listen)
    selector(certify=False, statistic=correlations, calibrate=True).fit(X, Y)
    chosen, given = ((codes == X).all(0) for codes in seen)
    assert given.all()  # by which discoveries are expected to be false
    assert 0 < chosen.sum() < len(chosen)


def test_without_a_certificate_a_level_can_be_calibrated() -> None:
    fitted = selector(certify=False, statistic=correlations, calibrate=True).fit(X, Y)
    assert fitted.certificate_ is None
    assert fitted.expectation_ is not None
    assert selector(certify=False).fit(X, Y).expectation_ is None


# how many are expected to be false


def test_the_number_expected_to_be_false_is_said() -> None:
    fitted = selector().fit(X, Y)
    selection, found = fitted.selection_, int(fitted.selection_.selected.sum())
    assert selection.expected_false == pytest.approx(found * fitted.expectation_.false_share(0.25))
    assert selection.to_dict()["expected_false"] == selection.expected_false
    said = (
        f"Expect about {selection.expected_false:.1f} of these {found} to be false; you accepted "
        f"{0.25 * found:.1f} on average"
    )
    assert said in selection.explanation


def test_more_than_was_accepted_is_explained_by_empty_answers_or_not_at_all() -> None:
    half_are_empty = Rate("all", 0.2, 0.15, 0.01, 0.5, 0.01, 0.5, 0.3)
    for rate, explained in (
        (half_are_empty, True),
        (half_are_empty._replace(fdp=0.25), False),  # the level does not hold
    ):
        said = _about_false(3.0, 10, 0.2, rate)
        assert said.startswith(
            " Expect about 3.0 of these 10 to be false; you accepted 2.0 on average"
        )
        assert (
            said.endswith("over all answers, of which 50% are empty for simulated responses.")
            == explained
        )
    assert _about_false(1.0, 10, 0.2, half_are_empty).endswith("on average.")


def test_large_numbers_are_said_without_powers_of_ten() -> None:
    law = AutoregressiveGaussian(features=300, rho=0.1)
    x = law.sample(120, random_state=0)
    fitted = selector(
        lambda t: law.knockoffs(np.asarray(t), random_state=1), lambda *_: np.ones(300), fdr=0.5
    )
    fit_and_listen(fitted, x, x[:, 0])
    assert "of these 300 to be false; you accepted 150 on average" in fitted.selection_.explanation
    assert "e+" not in fitted.selection_.explanation


def test_nothing_is_expected_where_nothing_is_known() -> None:
    without = selector(certify=False).fit(X, Y).selection_
    several = selector(n_draws=3)
    fit_and_listen(several, X, Y)
    none_found = selector(statistic=lambda *_: -np.ones(12))
    fit_and_listen(none_found, X, Y)
    for selection in (without, several.selection_, none_found.selection_):
        assert selection.expected_false is None
        assert "Expect about" not in selection.explanation


def test_broken_knockoffs_get_a_lower_level() -> None:
    law = AutoregressiveGaussian(features=30, rho=0.9)
    x = law.sample(200, random_state=0)
    y = x[:, :5].sum(1) + np.random.default_rng(0).normal(size=200)

    def noise(table: Any) -> Any:
        return np.random.default_rng(0).normal(size=np.shape(table))

    fitted = selector(noise, correlations, calibrate=True)
    fit_and_listen(fitted, x, y)
    assert fitted.selection_.level < 0.2


@nothing_found
@pytest.mark.parametrize("y", [Y > 0, np.where(Y > 0, "ill", "well"), np.digitize(Y, [-2, 2])])
def test_classes_can_be_calibrated_for(y: Any) -> None:
    fitted = selector(statistic=LassoStatistic(cv=2), calibrate=True, certify=False).fit(X, y)
    assert fitted.selection_.task == "classification"
    assert 0 < fitted.selection_.level <= 0.25


@nothing_found
def test_a_classifier_of_the_users_own_can_be_calibrated() -> None:
    statistic = HoldoutStatistic(LogisticRegression(), mixture=0, folds=2)
    fitted = selector(statistic=statistic, calibrate=True, certify=False).fit(X, Y > 0)
    assert 0 < fitted.selection_.level <= 0.25


@nothing_found
def test_a_function_is_called_once_for_its_knockoffs_and_gets_the_users_kind_of_table() -> None:
    kinds, calls = [], []

    def statistic(table: Any, knockoffs: Any, y: Any) -> Any:
        kinds.append((type(table), type(knockoffs)))
        return correlations(table, knockoffs, y)

    def generator(table: Any) -> Any:
        calls.append(type(table))
        return pd.DataFrame(exact(table), columns=table.columns, index=table.index)

    selector(generator, statistic, calibrate=True).fit(FRAME, Y)
    assert kinds == [(pd.DataFrame, pd.DataFrame)]  # quick statistics stand in for it
    assert calls == [pd.DataFrame]


@nothing_found
@pytest.mark.parametrize("fdr", [1 / 3, 2 / 3])
def test_a_rate_of_many_digits_is_not_exceeded(fdr: float) -> None:
    fitted = selector(statistic=correlations, calibrate=True, certify=False, fdr=fdr).fit(X, Y)
    assert fitted.selection_.level <= fdr


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_two_columns_can_be_calibrated() -> None:
    fitted = selector(statistic=correlations, calibrate=True, fdr=0.6).fit(X[:, :2], Y)
    assert 0 < fitted.selection_.level <= 0.6


# what a selection says of how it was made


def test_too_few_rows_for_a_check_are_said() -> None:
    with pytest.warns(
        KnockoffWarning, match="With 60 different rows the knockoffs cannot be checked"
    ):
        fitted = selector(fdr=0.5).fit(X[:60], Y[:60])
    assert fitted.certificate_ is None
    assert any("certify=False (--no-certify)" in said for said in fitted.selection_.cautions)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector(fdr=0.5, certify=False).fit(X[:60], Y[:60])


def test_a_fitted_generator_says_again_what_it_copies() -> None:
    table = FRAME.assign(twice=FRAME["a"] * 2 + FRAME["b"])
    with pytest.warns(KnockoffWarning, match="a linear combination of other columns"):
        fitted = GaussianKnockoffs(random_state=0).fit(table)
    with pytest.warns(
        KnockoffWarning, match="'a', 'b', 'twice': the knockoff is a copy, so such a"
    ):
        selection = selector(fitted, certify=False).fit(table, Y).selection_
    assert not {"a", "b", "twice"} & set(selection.discoveries)
    with warnings.catch_warnings():  # what is conditioned on is not tested
        warnings.simplefilter("error")
        selector(fitted, certify=False, condition_on=["a", "b", "twice"], fdr=0.5).fit(table, Y)


def test_settings_tell_how_missing_cells_and_columns_were_read(tmp_path: Path) -> None:
    table = FRAME.assign(ward=np.arange(200) % 4, a=FRAME["a"].mask(FRAME["b"] > 1))
    settings = {"kinds": {"ward": "nominal"}, "certify": False, "fdr": 0.5}
    as_values = selector(**settings).fit(table, Y)
    completed = selector(missing="complete", **settings).fit(table, Y)
    assert as_values.selection_.settings()["missing"] == "value"
    assert completed.selection_.settings()["missing"] == "complete"
    assert completed.selection_.settings()["kinds"] == {"ward": "nominal"}
    for fitted, said, other in (
        (as_values, "a missing cell is a value of its own", "filled in first"),
        (completed, "filled in first", "a missing cell is a value of its own"),
    ):
        write_report(fitted, tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert said in page
        assert other not in page
        assert "ward: nominal" in page


def test_kinds_of_text_that_nobody_gave_are_not_said_to_be_given(tmp_path: Path) -> None:
    table = FRAME.assign(ward=np.arange(200) % 4, sex=np.where(np.arange(200) % 3 == 0, "f", "m"))
    fitted = selector(certify=False, fdr=0.5).fit(table, Y)
    assert fitted.selection_.settings()["kinds"] == {}
    write_report(fitted, tmp_path / "page.html")
    assert "kinds that were given" not in (tmp_path / "page.html").read_text()
    given = selector(certify=False, fdr=0.5, kinds={"ward": "nominal"}).fit(table, Y)
    assert given.selection_.settings()["kinds"] == {"ward": "nominal"}


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_tests_of_single_features_are_no_advice_for_rows_or_features_in_groups() -> None:
    rng = np.random.default_rng(5)
    y, settings = rng.normal(size=200), {"certify": False, "fdr": 0.1}
    of_groups = selector(**settings).fit(X, y, groups=np.arange(200) // 2)
    of_feature_groups = selector(feature_groups={"first": [0, 1]}, **settings).fit(X, y)
    alone = selector(**settings).fit(X, y)
    assert any("knockoffs test" in step for step in alone.selection_.advice)
    for fitted in (of_groups, of_feature_groups):
        assert not fitted.selection_.selected.any()
        assert not any("knockoffs test" in step for step in fitted.selection_.advice)


def test_a_statistic_with_another_task_is_refused() -> None:
    with pytest.raises(ValueError, match=r"is not valid with a statistic of task=.regression."):
        selector(statistic=LassoStatistic(task="regression"), task="classification").fit(X, Y > 0)


def test_the_task_of_a_statistic_is_that_of_the_whole_selection() -> None:
    zero_one = (Y > 0).astype(int)
    own = selector(statistic=LassoStatistic(task="regression")).fit(X, zero_one)
    asked = selector(task="regression").fit(X, zero_one)
    assert own.selection_.to_dict()["features"] == asked.selection_.to_dict()["features"]
    assert (
        own.selection_.target_kind == asked.selection_.target_kind == "a quantity: 0 to 1, median 1"
    )
    assert own.expectation_ is not None
    assert asked.expectation_ is not None
    np.testing.assert_array_equal(own.expectation_.ws, asked.expectation_.ws)


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_power_counts_features_that_can_be_selected() -> None:
    """Of relevant features that are conditioned on none can be found, whatever the statistic."""
    everything = selector(fdr=0.5).fit(X, Y).expectation_
    half = selector(fdr=0.5, condition_on=[*range(6)]).fit(X, Y).expectation_
    assert everything is not None
    assert half is not None
    assert half.rate(0.5).power > 0.6 * everything.rate(0.5).power
    assert (half.ws[:, :6] == 0).all()


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_columns_that_are_conditioned_on_have_no_row_in_the_table() -> None:
    selection = selector(certify=False, condition_on=["b", "k"]).fit(FRAME, Y).selection_
    assert sorted(selection.to_frame()["feature"]) == sorted(set(FRAME.columns) - {"b", "k"})
    assert selection.to_frame().attrs["condition_on"] == ["b", "k"]
    tested = {feature["feature"] for feature in selection.to_dict()["features"]}
    assert tested == set(selection.to_frame()["feature"])
    (axes,) = selection.plot().axes
    assert {label.get_text() for label in axes.get_yticklabels()} == tested
    assert f" of {len(FRAME.columns) - 2} features at" in repr(selection)
