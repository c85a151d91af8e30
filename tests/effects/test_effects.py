"""What each feature does: adjusted means against arithmetic, and against truths that are known."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from knockoffs import (
    GaussianKnockoffs,
    HoldoutStatistic,
    KnockoffSelector,
    LassoStatistic,
    MidpointStatistic,
)
from knockoffs.effects import Effects, describe_effects
from knockoffs.effects.bins import NO_CLAIMS, NO_DIFFERENCE, Shape, shape_of
from knockoffs.effects.regression import Adjustment, Confounders
from knockoffs.table.table import read_table
from knockoffs.targets.inputs import read_target
from knockoffs.targets.standard_units import standardise

ROWS = 1200


def effects_of(
    X: pd.DataFrame,
    y: Any,
    *,
    knockoffs: Any = None,
    features: Sequence[int] | None = None,
    **settings: Any,
) -> Effects:
    """Effects of some columns, by default of all, with Gaussian knockoffs."""
    if knockoffs is None:
        knockoffs = GaussianKnockoffs(random_state=0).fit(X).sample(X)
    target = read_target(y, "auto", rows=len(X), who="test")
    return describe_effects(
        read_table(X, who="test"),
        read_table(knockoffs, who="test"),
        target,
        range(X.shape[1]) if features is None else features,
        names=list(X.columns),
        selected=[True] * X.shape[1],
        draws=np.zeros((1, X.shape[1])),
        **settings,
    )


def correlated(rng: np.random.Generator, columns: int = 6, rows: int = ROWS) -> pd.DataFrame:
    covariance = 0.7 ** np.abs(np.subtract.outer(np.arange(columns), np.arange(columns)))
    return pd.DataFrame(
        rng.multivariate_normal(np.zeros(columns), covariance, size=rows)
    ).add_prefix("f")


@pytest.fixture(scope="module")
def mixed() -> Effects:
    """y = 2 f0 + f1² - f2, an own value for level "a" of f3 and for missing cells of f2,
    and noise.
    """
    rng = np.random.default_rng(0)
    X = correlated(rng)
    level = np.where(X["f3"] > 0.6, "a", np.where(X["f3"] > -0.6, "b", "c"))
    missing = rng.random(ROWS) < 0.2
    y = (
        2 * X["f0"]
        + X["f1"] ** 2
        - np.where(missing, -3, X["f2"])
        + 2 * (level == "a")
        + rng.normal(size=ROWS)
    )
    return effects_of(X.assign(f3=level, f2=X["f2"].mask(missing)), y)


# the regression
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [5, 40])  # fewer than rows, and more
def test_a_column_is_left_out_as_if_it_had_never_been_there(columns: int) -> None:
    rng = np.random.default_rng(columns)
    z, y = rng.normal(size=(25, columns)), rng.normal(size=(25, 2))
    adjustment = Adjustment(z, y)
    own = np.array([1, 3])
    rest = np.delete(adjustment.z, own, axis=1)
    v = rng.normal(size=(25, 3))
    b = np.linalg.solve(rest.T @ rest + adjustment.penalty * np.eye(columns - 2), rest.T @ v)
    np.testing.assert_allclose(adjustment.leave(v, own), v - rest @ b, atol=1e-8)


def test_coefficients_solve_the_penalised_problem() -> None:
    rng = np.random.default_rng(0)
    z, y, c = rng.normal(size=(60, 8)), rng.normal(size=(60, 1)), rng.normal(size=(60, 2))
    adjustment = Adjustment(z, y)
    found = adjustment.coefficients(c, own=np.array([0]), beside=np.array([2, 5]))
    rest = np.delete(adjustment.z, [0, 2, 5], axis=1)
    every = np.hstack([c - c.mean(0), adjustment.z[:, [2, 5]], rest])
    penalty = np.diag([0.0] * 2 + [1.0] * 2 + [adjustment.penalty] * 5)
    solved = np.linalg.solve(every.T @ every + penalty, every.T @ adjustment.y)
    np.testing.assert_allclose(found.coefficients, solved[:4], atol=1e-8)


def test_columns_that_tell_of_y_or_of_the_feature_are_adjusted_for() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(400, 300))
    z[:, 1] += 0.9 * z[:, 0]  # tells of the feature
    y = z[:, [0, 2]].sum(axis=1, keepdims=True) + rng.normal(size=(400, 1))
    confounders = Confounders(standardise(z).tables[0], y, rows=400)
    beside = confounders.beside(np.array([0]))
    assert {1, 2} <= set(beside)
    assert 0 not in beside
    assert len(beside) < 30
    assert len(Confounders(z, y, rows=16).beside(np.array([0]))) == 2


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_feature_and_a_copy_of_it_claim_nothing(noise: float) -> None:
    """Nobody can know what one does while the other stays as it is."""
    rng = np.random.default_rng(0)
    X = correlated(rng, 4, 400)
    X["f1"] = X["f0"] + noise * rng.normal(size=400)
    score = X["f0"] + X["f3"]
    death, end = rng.exponential(np.exp(-score)), rng.exponential(size=400)
    times = pd.DataFrame({"days": np.minimum(death, end), "died": death <= end})
    for y in (score + rng.normal(size=400), times):
        effects = effects_of(X, y, knockoffs=X.sample(frac=1, random_state=0))
        for copy in ("f0", "f1"):
            assert "has no clear direction" in effects[copy].said
        assert "rises" in effects["f3"].said


def coverage_of_numbers(
    rho: float, columns: int, seeds: int, rows: int = 400
) -> tuple[float, float]:
    """How often intervals hold the truth: of relevant features, and of others."""
    covariance = rho ** np.abs(np.subtract.outer(np.arange(columns), np.arange(columns)))
    inside: list[list[bool]] = [[], []]
    for seed in range(seeds):
        rng = np.random.default_rng([seed, columns])
        X = pd.DataFrame(
            rng.multivariate_normal(np.zeros(columns), covariance, size=rows)
        ).add_prefix("f")
        y = 0.4 * X.iloc[:, :6].sum(axis=1) + rng.normal(size=rows)
        knockoffs = GaussianKnockoffs(covariance=covariance, random_state=seed).fit(X).sample(X)
        for j, effect in enumerate(effects_of(X, y, knockoffs=knockoffs, features=range(12))):
            (curve,) = effect.curves
            if curve.shape in ("rises", "falls"):
                truth = 0.4 * (j < 6) * (effect.places[-1] - effect.places[0])
                inside[j >= 6].append(curve.change_low <= truth <= curve.change_high)
            else:  # a line, whose slope is that of the truth up to what bins leave of it
                inside[j >= 6].append((curve.change_low is None or curve.change_low <= 0) or j < 6)
    return float(np.mean(inside[0])), float(np.mean(inside[1]))


@pytest.mark.parametrize(("rho", "columns", "seeds"), [(0.7, 12, 25), (0.7, 60, 15)])
def test_correlated_features_do_not_take_the_credit_of_each_other(
    rho: float, columns: int, seeds: int
) -> None:
    relevant, others = coverage_of_numbers(rho, columns, seeds)
    assert relevant > 0.88
    assert others > 0.88


@pytest.mark.parametrize(("columns", "rows", "replicates"), [(4, 300, 80), (120, 80, 40)])
def test_intervals_hold_the_truth_in_most_cases(columns: int, rows: int, replicates: int) -> None:
    """The step of a yes or no feature is 1; noise has a larger variance where it is yes."""
    inside = []
    for seed in range(replicates):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(rows, columns))).add_prefix("f")
        yes = X["f0"] > 0
        y = yes + X["f1"] + (1 + yes) * rng.normal(size=rows)
        copies = X.assign(f0=rng.permutation(yes))  # columns are independent
        (curve,) = effects_of(X.assign(f0=yes), y, knockoffs=copies, features=[0])["f0"].curves
        assert curve.change_low is not None
        assert curve.change_high is not None
        inside.append(curve.change_low <= 1 <= curve.change_high)
    assert 0.85 <= np.mean(inside) <= 1


def test_errors_of_groups_are_those_of_groups() -> None:
    """Ten copies of each row say no more than one, and standard errors by groups know it."""
    rng = np.random.default_rng(0)
    X = correlated(rng, 3, 200)
    y = X["f0"] + rng.normal(size=200)
    groups = np.repeat(np.arange(200), 10)
    copied, y_copied = X.loc[groups].reset_index(drop=True), y.loc[groups].reset_index(drop=True)
    once, naive = effects_of(X, y), effects_of(copied, y_copied)
    known = effects_of(copied, y_copied, groups=groups)
    errors = [
        np.mean([e for e in found["f0"].curves[0].error if e is not None])
        for found in (once, naive, known)
    ]
    assert errors[1] < 0.5 * errors[0]
    assert errors[2] == pytest.approx(errors[0], rel=0.4)


# curves
# --------------------------------------------------------------------------------------------------


def test_curves_follow_the_truth_and_knockoffs_are_flat(mixed: Effects) -> None:
    straight = mixed["f0"]
    (curve,) = straight.curves
    assert straight.ordered
    truth = 2 * (np.array(straight.places) - np.average(straight.places, weights=straight.rows))
    np.testing.assert_array_less(np.abs(np.array(curve.mean) - truth), 4 * np.array(curve.error))
    for effect in mixed:
        (curve,) = effect.curves
        assert curve.knockoff_strength < 0.35 * curve.strength or effect.feature in ("f4", "f5")
        flat = np.abs(
            [
                m / e
                for m, e in zip(curve.knockoff, curve.knockoff_error, strict=True)
                if m is not None
            ]
        )
        assert np.mean(flat < 3) > 0.8


def test_shapes_are_said_in_words(mixed: Effects) -> None:
    assert mixed["f0"].said.startswith("rises (")
    assert mixed["f1"].said.startswith("falls, then rises (")
    assert mixed["f2"].said.startswith("falls (")
    assert "is higher at 'a' than at" in mixed["f3"].said
    for feature in ("f4", "f5"):
        assert mixed[feature].curves[0].strength < 0.1


def test_missing_cells_have_a_bin_of_their_own(mixed: Effects) -> None:
    effect = mixed["f2"]
    assert effect.bins[-1] == "missing"
    assert effect.places[-1] is None
    (curve,) = effect.curves
    # 3 more than the others on average
    assert curve.mean[-1] == max(m for m in curve.mean if m is not None)
    assert sum(effect.rows) == ROWS
    assert curve.missing == pytest.approx(3, abs=4 * curve.missing_error)
    assert ", higher where it is missing (" in effect.said
    assert mixed["f0"].curves[0].missing is None


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_the_unit_of_y_does_not_matter(unit: float) -> None:
    """Also where squares of y are no numbers."""
    rng = np.random.default_rng(0)
    X = correlated(rng, rows=300)
    X["f2"] = X["f2"].mask(rng.random(300) < 0.2)
    y = 2 * X["f0"] + X["f1"] ** 2 + X["f2"].isna() + rng.normal(size=300)
    for effect, scaled in zip(effects_of(X, y), effects_of(X, y * unit), strict=True):
        one, other = effect.curves[0], scaled.curves[0]
        assert one.shape == other.shape
        for name in ("strength", "knockoff_strength"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-4)
        for name in (
            "mean",
            "error",
            "knockoff_error",
            "change",
            "change_error",
            "missing",
            "missing_error",
        ):
            expected, found = np.array([getattr(one, name), getattr(other, name)], dtype=float)
            np.testing.assert_allclose(found / unit, expected, rtol=1e-4)


def test_shares_of_classes_rise_and_fall_together() -> None:
    rng = np.random.default_rng(1)
    X = correlated(rng, 4)
    score = 1.5 * X["f0"].to_numpy() + rng.logistic(size=ROWS)
    two = effects_of(X, pd.Series(np.where(score > 0, "ill", "well"), name="state"))
    (curve,) = two["f0"].curves
    assert curve.of == "well"
    assert two["f0"].said.startswith("share of well falls (")
    assert " points)" in two["f0"].said
    three = effects_of(X, pd.Series(np.digitize(score, [-1, 1]).astype(str)))
    assert [own.of for own in three["f0"].curves] == ["0", "1", "2"]
    np.testing.assert_allclose(sum(np.array(own.mean) for own in three["f0"].curves), 0, atol=1e-4)
    assert [own.shape for own in three["f0"].curves] == ["falls", "rises, then falls", "rises"]


def test_bins_with_too_few_rows_are_left_open() -> None:
    rng = np.random.default_rng(2)
    X = correlated(rng, 3, 200)
    X["f0"] = np.where(np.arange(200) < 3, "rare", np.where(X["f0"] > 0, "x", "y"))
    effect = effects_of(X, X["f1"] + rng.normal(size=200))["f0"]
    (curve,) = effect.curves
    assert curve.mean[effect.bins.index("rare")] is None
    assert "rare" not in effect.said


def test_models_make_curves_surer() -> None:
    """What networks know of a product elsewhere is no noise any more."""
    rng = np.random.default_rng(3)
    X = correlated(rng, 6, 800)
    y = X["f0"] + 3 * X["f3"] * X["f5"] + rng.normal(size=800)
    table = read_table(X, who="test")
    knockoffs = read_table(GaussianKnockoffs(random_state=0).fit(X).sample(X), who="test")
    _, others = HoldoutStatistic(random_state=0, folds=2).compute_with_predictions(
        table, knockoffs, y
    )
    errors = [
        np.mean([e for e in effects_of(X, y, others=own)["f0"].curves[0].error if e is not None])
        for own in (None, others)
    ]
    assert errors[1] < 0.9 * errors[0]


# beside the selection
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statistic", [HoldoutStatistic, MidpointStatistic])
@pytest.mark.parametrize("classes", [False, True])
def test_predictions_change_no_bit_of_w(statistic: Any, classes: bool) -> None:
    rng = np.random.default_rng(4)
    x, x_tilde = rng.normal(size=(2, 150, 4))
    y = x[:, 0] + rng.normal(size=150)
    y = np.digitize(y, [-0.5, 0.5]) if classes else y
    own = statistic(folds=2, random_state=0)
    w, others = own.compute_with_predictions(x, x_tilde, y)
    np.testing.assert_array_equal(w, own.compute(x, x_tilde, y))
    assert np.isfinite(others).all()
    if classes:
        np.testing.assert_allclose(others.sum(-1), 1, atol=1e-5)
    assert statistic("boosting").compute_with_predictions(x, x_tilde, y)[1] is None


def test_the_selector_describes_discoveries_and_those_that_come_next() -> None:
    rng = np.random.default_rng(5)
    X = correlated(rng, 40, 500)
    y = pd.Series(X.iloc[:, ::4].sum(axis=1) + rng.normal(size=500), name="score")
    fitted = KnockoffSelector(
        GaussianKnockoffs(), LassoStatistic(), fdr=0.2, certify=False, random_state=0
    )
    selection = fitted.fit(X, y).selection_
    discoveries = [effect.feature for effect in selection.effects if effect.selected]
    assert discoveries == selection.discoveries
    assert 0 < len(selection.effects) - len(discoveries) <= 5
    assert all(selection.effects[f"f{j}"].said.startswith("rises") for j in range(0, 40, 4))
    said = json.loads(json.dumps(selection.to_dict(), allow_nan=False))["effects"]
    assert said == selection.effects.to_dict()
    frame = selection.effects.to_frame()
    assert set(frame["feature"]) == {effect.feature for effect in selection.effects}
    assert "rises" in repr(selection.effects)
    assert "rises" in selection.effects._repr_html_()
    with pytest.raises(KeyError, match="no effect of 'nothing' was described"):
        _ = selection.effects["nothing"]


def test_uncertainty_over_draws_is_told_where_there_are_several() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(200, 6))
    y = x[:, :5].sum(axis=1) + rng.normal(size=200)
    one, three = (
        KnockoffSelector(
            GaussianKnockoffs(),
            LassoStatistic(),
            fdr=0.5,
            n_draws=draws,
            certify=False,
            random_state=0,
        )
        .fit(x, y)
        .selection_
        for draws in (1, 3)
    )
    assert one.effects["x0"].importance_error is None
    assert three.effects["x0"].importance_error == pytest.approx(three.draws[:, 0].std(ddof=1))
    assert three.effects["x0"].importance == pytest.approx(three.mean_w[0])


# words and intervals
# ---------------------------------------------------------------------------------------------


def flat(bins: int, *, ordered: bool, rng: np.random.Generator, **settings: Any) -> Shape:
    """The shape of means that are noise."""
    rows = rng.integers(10, 100, size=bins)
    labels, every = tuple(map(str, range(bins))), np.ones(bins, dtype=bool)
    mean, covariance = rng.normal(size=bins) / np.sqrt(rows), np.diag(1 / rows)
    return shape_of(mean, covariance, rows / rows.sum(), labels, every & ordered, every, **settings)


def misses(shapes: Sequence[Shape], truth: float = 0.0) -> float:
    """How often the interval of a change does not hold the truth."""
    return float(
        np.mean([not (s.change is None or s.change.low <= truth <= s.change.high) for s in shapes])
    )


@pytest.mark.parametrize("levels", [2, 4, 6, 12])
@pytest.mark.parametrize("level", [0.95, 0.99])
def test_levels_that_are_chosen_by_their_means_have_simultaneous_intervals(
    levels: int, level: float
) -> None:
    rng = np.random.default_rng(levels)
    shapes = [flat(levels, ordered=False, rng=rng, level=level) for _ in range(2000)]
    wrong = 1 - level
    assert misses(shapes) < wrong + 2.5 * np.sqrt(wrong * level / 2000)
    assert {s.words for s in shapes if s.change.low <= 0} <= {NO_DIFFERENCE}


@pytest.mark.parametrize("bins", [3, 5, 10])
def test_a_turning_point_that_is_chosen_by_the_means_is_no_discovery(bins: int) -> None:
    """Rising, falling and turning together stay close to the level; turning alone does."""
    rng = np.random.default_rng(bins)
    shapes = [flat(bins, ordered=True, rng=rng) for _ in range(3000)]
    turning = [s for s in shapes if ", then " in s.words]
    assert len(turning) < 0.05 * len(shapes)
    assert misses(shapes) < 0.075


def test_words_claim_what_their_interval_supports() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(3000):
        bins, strength = int(rng.integers(3, 11)), rng.choice([0.0, 0.3, 1.0])
        place = np.linspace(-1, 1, bins)
        truth = strength * rng.choice([place, -place, place**2, -(place**2), np.abs(place) - place])
        root = rng.normal(size=(bins, bins)) / 5
        mean, covariance = truth + root @ rng.normal(size=bins), root @ root.T
        every, labels = np.ones(bins, dtype=bool), tuple(map(str, range(bins)))
        for ordered in (every, ~every):
            words, change = shape_of(mean, covariance, every / bins, labels, ordered, every)
            seen.add(words.split(" at ")[0])
            if words in NO_CLAIMS:
                assert change is None or change.low <= 0 <= change.high
            else:
                assert change is not None
                assert change.low > 0 or change.high < 0
            if "rise" in words and "then" not in words:
                assert change.low > 0
            if "fall" in words and "then" not in words:
                assert change.high < 0
    assert seen >= {
        "rises",
        "tends to rise",
        "rises, then falls",
        "falls, then rises",
        "is higher",
        *NO_CLAIMS,
    }


def test_a_size_never_contradicts_the_direction_beside_it() -> None:
    """A line rises while the last bin lies below the first:
    it does not 'tend to rise' by their difference.
    """
    labels, every = tuple("abcdefgh"), np.ones(8, dtype=bool)
    mean, covariance, shares = (
        np.array([0.0, -1.2, -0.6, 0, 0.5, 1, 1.3, 0.3]),
        0.2**2 * np.eye(8),
        np.full(8, 1 / 8),
    )
    for last, said in ((0.3, "tends to rise"), (-0.2, "has no clear direction")):
        mean[-1] = last
        rising = shape_of(mean, covariance, shares, labels, every, every)
        assert rising.words == said
        # along the line: the ends do not differ clearly
        assert rising.change is None or rising.change.low > 0
        falling = shape_of(-mean, covariance, shares, labels, every, every)
        assert falling.words == said.replace("rise", "fall")


def test_shares_stay_within_0_and_1() -> None:
    labels, every = ("a", "b"), np.ones(2, dtype=bool)
    covariance, none = np.diag([0.02, 0.02]) ** 2, ~every
    far = shape_of(np.array([0.6, -0.48]), covariance, every / 2, labels, none, every, limit=1.0)
    assert far.words == "is higher at 'a' than at 'b'"
    assert far.change is not None
    assert far.change.size == 1  # not 1.08
    assert 0.9 < far.change.low < far.change.high == 1
    wide = shape_of(
        np.array([0.4, -0.36]), 900 * covariance, every / 2, labels, none, every, limit=1.0
    )
    assert wide.words == NO_DIFFERENCE
    assert wide.change is not None
    assert (wide.change.low > -1, wide.change.high) == (True, 1)


def test_shares_in_sentences_are_possible() -> None:
    """A difference decides: straight lines leave 0 to 1 by far."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(60, 3))
        x[:, 1] = x[:, 0] + 0.3 * rng.normal(size=60)
        y = np.where(4 * (x[:, 0] - x[:, 1]) + x[:, 2] > 0, "yes", "no")
        share = np.mean(y == "yes")
        for effect in effects_of(pd.DataFrame(x).add_prefix("f"), y):
            (curve,) = effect.curves
            for mean in (*curve.mean, *curve.knockoff):
                assert mean is None or -1e-6 <= share + mean <= 1 + 1e-6
            said = re.search(r"\((-?\d+), (-?\d+) to (-?\d+) points\)", effect.said)
            assert said is not None
            assert all(abs(float(end)) <= 100 for end in said.groups()), effect.said


# bins and levels of intervals
# ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("centre", "spread"), [(2459000.5, 100), (1e9, 100), (1.7e9, 3600), (0, 1), (1e-7, 1e-9)]
)
def test_bins_are_told_apart_by_their_labels(centre: float, spread: float) -> None:
    rng = np.random.default_rng(0)
    f0 = centre + spread * rng.random(500)
    X = pd.DataFrame(
        {
            "f0": f0,
            "f1": centre + np.floor(spread * rng.integers(4, size=500)),
            "f2": rng.random(500),
        }
    )
    for effect in effects_of(
        X, rng.normal(size=500), knockoffs=X.sample(frac=1, random_state=0), features=[0, 1]
    ):
        assert len(set(effect.bins)) == len(effect.bins)
        for label in effect.bins:
            low, *high = label.split(" to ")
            assert high != [low]


def test_the_level_makes_up_for_the_selection() -> None:
    rng = np.random.default_rng(5)
    X = correlated(rng, 40, 500)
    y = X.iloc[:, ::4].sum(axis=1) + rng.normal(size=500)
    settings: dict[str, Any] = {"fdr": 0.2, "certify": False, "random_state": 0}
    selector = KnockoffSelector(
        GaussianKnockoffs(), LassoStatistic(), condition_on=["f39"], **settings
    )
    selection = selector.fit(X, y).selection_
    count = int(selection.selected.sum())
    assert count >= 10
    for effect in selection.effects:
        level = 1 - 0.05 * count / 39 if effect.selected else 0.95
        assert effect.level == pytest.approx(level, abs=1e-6)
        (curve,) = effect.curves
        if curve.shape == "rises":
            reach = (curve.change_high - curve.change) / curve.change_error
            assert reach == pytest.approx(norm.isf((1 - level) / 2), rel=1e-3)
    assert f"{100 * (1 - 0.05 * count / 39):.4g} %" in selection.effects.about_intervals
    assert selection.effects.about_intervals in selection.effects._repr_html_()


@pytest.mark.filterwarnings("ignore:Nothing is selected")
def test_intervals_that_are_seen_hold_the_truth() -> None:
    """Over discoveries alone, which look stronger than they are;
    95 % intervals hold it in nine cases of ten.
    """
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    missed, plain = [], []
    for seed in range(20):
        rng = np.random.default_rng([seed, 7])
        X = pd.DataFrame(rng.multivariate_normal(np.zeros(40), covariance, size=300)).add_prefix(
            "f"
        )
        coefficients = 0.2 * (rng.permutation(40) < 15)
        y = X @ coefficients + rng.normal(size=300)
        generator = GaussianKnockoffs(covariance=covariance)
        selector = KnockoffSelector(generator, "lasso", fdr=0.2, certify=False, random_state=seed)
        found = [
            e
            for e in selector.fit(X, y).selection_.effects
            if e.selected and e.curves[0].shape == "rises"
        ]
        truths = [coefficients[int(e.feature[1:])] * (e.places[-1] - e.places[0]) for e in found]
        ends = [(e.curves[0].change_low, e.curves[0].change_high) for e in found]
        missed += [
            not low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)
        ]
        plain += [
            abs(e.curves[0].change - t) > 1.96 * e.curves[0].change_error
            for e, t in zip(found, truths, strict=True)
        ]
    assert len(missed) > 50
    assert np.mean(missed) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(missed))
    assert np.mean(missed) <= np.mean(plain)


def test_a_column_that_y_has_chosen_pays_for_the_choice() -> None:
    """One of five columns of a group is described, the one that y changes most along."""
    rng = np.random.default_rng(0)
    X = correlated(rng, 6, 300)
    groups = {"all": [f"f{j}" for j in range(5)]}
    selector = KnockoffSelector(
        "gaussian", "lasso", fdr=0.5, feature_groups=groups, certify=False, random_state=0
    )
    selection = selector.fit(X, X["f0"] + rng.normal(size=300)).selection_
    assert selection.selected[0]
    for_discoveries = 1 - 0.05 * selection.selected.sum() / 2
    assert selection.effects["all"].level == pytest.approx(1 - (1 - for_discoveries) / 5)
