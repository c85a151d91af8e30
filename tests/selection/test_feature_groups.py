"""Groups of features: columns that are swapped as a whole and get one answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from knockoffs import (
    DDLK,
    GaussianKnockoffs,
    GaussianMixtureKnockoffs,
    HierarchicalKnockoffs,
    HoldoutStatistic,
    ImportanceStatistic,
    KnockoffSelector,
    LassoStatistic,
    MidpointStatistic,
    check_swap,
    fdp,
    knockoff_select,
    load_generator,
    power,
    write_report,
)
from knockoffs.check.joint_tests import swap_divergence
from knockoffs.generators.gaussian import KnockoffLaw, knockoff_gaps
from knockoffs.runtime.arrays import Array
from knockoffs.schema.schema import Units, read_feature_groups

GENES, SIZE = 14, 3
NAMES = [f"snp{j}" for j in range(GENES * SIZE)]
GROUPS = {f"gene{g}": NAMES[SIZE * g : SIZE * (g + 1)] for g in range(GENES)}
BLOCKS = np.arange(GENES * SIZE) // SIZE


def covariance(within: float = 0.9, between: float = 0.3) -> Array:
    """Columns of a gene are strongly correlated, those of different genes a little."""
    return np.where(BLOCKS[:, None] == BLOCKS, within, between * within) + (1 - within) * np.eye(
        len(BLOCKS)
    )


def rows(count: int, seed: int, sigma: Array | None = None) -> Array:
    sigma = covariance() if sigma is None else sigma
    return (
        np.random.default_rng(seed).normal(size=(count, len(sigma))) @ np.linalg.cholesky(sigma).T
    )


X = rows(240, 0)
FRAME = pd.DataFrame(X, columns=NAMES)
Y = X[:, : 8 * SIZE : SIZE].sum(axis=1) + np.random.default_rng(1).normal(size=len(X))


def selector(**settings: Any) -> KnockoffSelector:
    usual: dict[str, Any] = {
        "fdr": 0.2,
        "certify": False,
        "random_state": 0,
        "feature_groups": GROUPS,
    }
    return KnockoffSelector("gaussian", "lasso", **(usual | settings))


@pytest.fixture(scope="module")
def fitted() -> KnockoffSelector:
    return selector(certify=True).fit(FRAME, Y)


# reading
# --------------------------------------------------------------------------------------------------


def test_units_stand_in_the_order_of_their_first_columns() -> None:
    units = Units.of_groups(["a", "b", "c", "d", "e"], {1: "g", 4: "g", 2: "h"})
    assert units.names == ("a", "g", "h", "d")
    assert units.of.tolist() == [0, 1, 2, 3, 1]
    assert units.groups(["a", "b", "c", "d", "e"]) == {"g": ("b", "e"), "h": ("c",)}
    assert units.all_of(np.array([True, True, False, True, False])).tolist() == [
        True,
        False,
        False,
        True,
    ]


def test_one_error_names_all_problems() -> None:
    groups = {
        "liver": ["alt", "ast", "ggt"],
        "heart": ["alt", "bnp"],
        "empty": [],
        "age": ["sex", "age"],
        "text": "bnp",
        "late": ["y", "site"],
        1: ["bmi"],
        "1": ["bmi"],
    }
    names = ["alt", "ast", "bnp", "age", "sex", "site", "bmi"]
    conditioned = np.array([name == "site" for name in names])
    with pytest.raises(ValueError, match="feature_groups") as error:
        read_feature_groups(
            groups, names, len(names), who="here", conditioned=conditioned, target="y"
        )
    said = str(error.value)
    for problem in (
        "group 'liver': 'ggt' is no column of X",
        "group 'heart': column 'alt' is there in group 'liver' as well",
        "group 'empty' has no columns",
        "group 'age' has the name of a column",
        "group 'text' is 'bnp', not a list of columns",
        "group 'late': 'y' is the target",
        "group 'late': column 'site' is conditioned on",
        "group '1' is named twice",
        "group '1': column 'bmi' is there twice",
    ):
        assert problem in said
    assert said.startswith("here: feature_groups: ")


@pytest.mark.parametrize("groups", [["snp0"], "snp0", 3])
def test_what_is_no_dict_is_refused(groups: Any) -> None:
    with pytest.raises(ValueError, match="pass a dict of group names to lists of columns"):
        selector(feature_groups=groups).fit(FRAME, Y)


def test_the_selector_says_what_is_wrong_before_the_work() -> None:
    with pytest.raises(ValueError, match="'age' is no column of X") as error:
        selector(feature_groups={"g": ["snp0", "age"]}).fit(FRAME, Y)
    assert "'snp0', 'snp1'" in str(error.value)
    with pytest.raises(ValueError, match="column 'snp0' is conditioned on"):
        selector(condition_on=["snp0"]).fit(FRAME, Y)
    with pytest.raises(ValueError, match="'outcome' is the target"):
        selector(feature_groups={"g": ["snp0", "outcome"]}).fit(FRAME, pd.Series(Y, name="outcome"))
    with pytest.raises(ValueError, match="group 'x1' has the name of a column"):
        selector(feature_groups={"x1": [0, 1]}).fit(X, Y)


def test_columns_of_arrays_are_named_by_number() -> None:
    by_number = {
        name: [NAMES.index(column) for column in columns] for name, columns in GROUPS.items()
    }
    np.testing.assert_array_equal(
        selector(feature_groups=by_number).fit(X, Y).w_, selector().fit(FRAME, Y).w_
    )


# one answer per group
# -------------------------------------------------------------------------------------------


def test_a_group_has_one_w_and_transform_keeps_all_of_its_columns(fitted: KnockoffSelector) -> None:
    selection = fitted.selection_
    assert selection.names == tuple(GROUPS)
    assert set(selection.discoveries) >= set(list(GROUPS)[:8])
    assert selection.feature_groups == {name: tuple(columns) for name, columns in GROUPS.items()}
    kept = [column for name in GROUPS if name in selection.discoveries for column in GROUPS[name]]
    assert fitted.get_feature_names_out().tolist() == kept
    assert fitted.get_support().shape == (len(NAMES),)
    assert fitted.set_output(transform="pandas").transform(FRAME).columns.tolist() == kept


def test_columns_in_no_group_are_features_of_their_own() -> None:
    groups = {"first": ["snp4", "snp0", "snp9"]}  # in any order, and not side by side
    found = selector(feature_groups=groups, condition_on=["snp1"]).fit(FRAME, Y).selection_
    assert found.names == ("first", *(name for name in NAMES if name not in groups["first"]))
    assert found.settings()["features"] == len(NAMES) - 3
    assert found.columns_of("first") == ("snp0", "snp4", "snp9")
    assert found.columns_of("snp2") == ("snp2",)


def test_results_say_which_columns_a_group_has(fitted: KnockoffSelector, tmp_path: Path) -> None:
    frame = fitted.selection_.to_frame()
    assert (frame["columns"] == SIZE).all()
    plain = json.loads(json.dumps(fitted.selection_.to_dict()))
    assert plain["settings"]["feature_groups"] == GROUPS
    assert all(feature["columns"] == GROUPS[feature["feature"]] for feature in plain["features"])
    assert all(effect["column"] in GROUPS[effect["feature"]] for effect in plain["effects"]["each"])
    write_report(fitted, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "(3 columns: snp0, snp1, snp2)" in page
    assert "14, each of which is one feature here, with 42 columns in all" in page
    assert fitted.certificate_ is not None
    assert set(fitted.certificate_.to_frame()["feature"]) == set(GROUPS)


def test_without_groups_nothing_speaks_of_them() -> None:
    found = selector(feature_groups=None).fit(FRAME, Y).selection_
    assert "columns" not in found.to_frame()
    assert "columns" not in found.to_dict()["features"][0]
    assert all(effect.column is None for effect in found.effects)


@pytest.mark.parametrize(
    ("generator", "statistic"),
    [
        (GaussianKnockoffs(), MidpointStatistic(folds=2)),
        (GaussianMixtureKnockoffs(clusters=1), LassoStatistic()),
        ("ddlk", ImportanceStatistic(LinearRegression())),
    ],
)
def test_groups_of_one_column_change_no_bit(
    generator: Any, statistic: Any, fast_ddlk: Callable[..., DDLK]
) -> None:
    few = FRAME[NAMES[::5]].assign(
        kind=pd.cut(FRAME["snp1"], 3, labels=["low", "mid", "high"]).astype(str),
        gaps=FRAME["snp2"].where(FRAME["snp4"] > -1),
    )
    generator = fast_ddlk(random_state=None) if generator == "ddlk" else generator
    alone = {f"only {name}": [name] for name in few.columns}
    usual: dict[str, Any] = {"fdr": 0.2, "certify": False, "random_state": 0}
    with_groups = KnockoffSelector(generator, statistic, feature_groups=alone, **usual).fit(few, Y)
    without = KnockoffSelector(generator, statistic, **usual).fit(few, Y)
    np.testing.assert_array_equal(with_groups.w_, without.w_)
    np.testing.assert_array_equal(with_groups.get_support(), without.get_support())
    assert with_groups.selection_.names == tuple(alone)


STATISTICS = [
    LassoStatistic(random_state=0),
    ImportanceStatistic(LinearRegression(), random_state=0),
    HoldoutStatistic(folds=2, random_state=0),
    HoldoutStatistic(LinearRegression(), folds=2, blocks=3, random_state=0),
    MidpointStatistic(LinearRegression(), folds=2, random_state=0),
]


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_w_does_not_depend_on_where_the_columns_of_groups_stand(statistic: Any) -> None:
    """As long as groups, and columns within groups, keep their order, not a bit changes."""
    knockoffs = pd.DataFrame(rows(len(X), 5), columns=NAMES)
    shuffled = [f"snp{SIZE * g + k}" for k in range(SIZE) for g in range(GENES)]
    w = statistic.compute(FRAME, knockoffs, Y, feature_groups=GROUPS)
    moved = statistic.compute(FRAME[shuffled], knockoffs[shuffled], Y, feature_groups=GROUPS)
    assert w.shape == (GENES,)
    np.testing.assert_array_equal(moved, w)


@pytest.mark.parametrize("statistic", [own for own in STATISTICS if own.exact], ids=repr)
def test_swapping_a_group_turns_the_sign_of_its_w_and_nothing_else(statistic: Any) -> None:
    knockoffs = rows(len(X), 5)
    swapped = np.isin(BLOCKS, [0, 3, 10])
    one, other = np.where(swapped, knockoffs, X), np.where(swapped, X, knockoffs)
    by_number = {
        name: [NAMES.index(column) for column in columns] for name, columns in GROUPS.items()
    }
    w = statistic.compute(X, knockoffs, Y, feature_groups=by_number)
    signs = np.where(np.isin(np.arange(GENES), [0, 3, 10]), -1.0, 1.0)
    turned = statistic.compute(one, other, Y, feature_groups=by_number)
    np.testing.assert_allclose(turned, signs * w, atol=1e-4 * np.abs(w).max())


def test_a_statistic_of_ones_own_returns_one_number_per_group() -> None:
    def by_group(X: Any, X_tilde: Any, y: Any) -> Array:
        score = np.abs(np.asarray(X).T @ y) - np.abs(np.asarray(X_tilde).T @ y)
        return np.bincount(BLOCKS, score)

    found = KnockoffSelector(
        "gaussian", by_group, feature_groups=GROUPS, certify=False, random_state=0, fdr=0.2
    )
    assert found.fit(FRAME, Y).w_.shape == (GENES,)
    with pytest.raises(ValueError, match="one finite number for each of the 14 features"):
        clone(found).set_params(statistic=lambda X, X_tilde, y: np.ones(len(NAMES))).fit(FRAME, Y)


# generators
# --------------------------------------------------------------------------------------------------


def test_ddlk_swaps_whole_groups(fast_ddlk: Callable[..., DDLK], tmp_path: Path) -> None:
    model = fast_ddlk().fit(FRAME, feature_groups=GROUPS)
    taken = model.swap_probability_.reshape(GENES, SIZE)
    assert (taken == taken[:, :1]).all()
    assert len(np.unique(taken)) > GENES / 2
    alone = fast_ddlk().fit(FRAME)

    def likeness(generator: DDLK) -> float:
        drawn = generator.sample(X)
        return float(np.mean([np.corrcoef(X[:, j], drawn[:, j])[0, 1] for j in range(X.shape[1])]))

    with pytest.warns(UserWarning, match="feature names"):
        # columns of a group may leave their knockoffs
        assert likeness(model) < likeness(alone) - 0.3
    new = pd.DataFrame(rows(500, 9), columns=NAMES)
    assert model.swap_divergence(new, random_state=1).value < 0.02  # nats, for swaps of groups
    pairs = model.swap_pairs(new, 1)
    by_columns = swap_divergence(pairs, Units.of_groups(NAMES, {}), np.random.default_rng(0))
    assert by_columns.total > 1  # and nothing is promised for swaps of columns
    model.save(tmp_path / "model.safetensors")
    again = load_generator(tmp_path / "model.safetensors")
    pd.testing.assert_frame_equal(again.sample(FRAME), model.sample(FRAME))
    np.testing.assert_array_equal(again.swap_probability_, model.swap_probability_)
    assert again.swap_divergence(FRAME, random_state=1) == model.swap_divergence(
        FRAME, random_state=1
    )


@pytest.mark.parametrize("kind", [GaussianKnockoffs, GaussianMixtureKnockoffs])
def test_gaussian_models_with_groups_are_saved(kind: Any, tmp_path: Path) -> None:
    model = kind(random_state=0).fit(FRAME, feature_groups=GROUPS)
    model.save(tmp_path / "model.safetensors")
    again = load_generator(tmp_path / "model.safetensors")
    pd.testing.assert_frame_equal(again.sample(FRAME), model.sample(FRAME))
    assert again.schema_.units.names == tuple(GROUPS)


def test_knockoffs_of_groups_are_not_used_for_single_columns() -> None:
    model = GaussianKnockoffs(random_state=0).fit(FRAME, feature_groups=GROUPS)
    for ready in (model, FrozenEstimator(model)):
        with pytest.raises(ValueError, match="'gene4' and 9 more would not be swapped so"):
            selector(feature_groups=None).set_params(generator=ready).fit(FRAME, Y)
    halves = {"one": NAMES[: 7 * SIZE], "other": NAMES[7 * SIZE :]}  # unions of groups
    assert selector(feature_groups=halves, fdr=0.5).set_params(generator=model).fit(
        FRAME, Y
    ).w_.shape == (2,)
    apart = {"one": NAMES[:4], "other": NAMES[4:]}
    with pytest.raises(ValueError, match="'gene1' would not"):
        selector(feature_groups=apart).set_params(generator=model).fit(FRAME, Y)
    with pytest.raises(ValueError, match="'gene1' would not"):
        check_swap(model, FRAME, feature_groups=apart)


def test_a_duplicate_within_a_group_has_the_knockoff_of_the_other() -> None:
    twice = FRAME.assign(again=FRAME["snp0"])
    # no warning
    model = GaussianKnockoffs(random_state=0).fit(twice, feature_groups={"pair": ["snp0", "again"]})
    drawn = model.sample(twice)
    assert (drawn["snp0"] == drawn["again"]).all()
    assert (drawn["snp0"] != twice["snp0"]).all()


@pytest.mark.parametrize("kind", [GaussianKnockoffs, GaussianMixtureKnockoffs, "ddlk"])
def test_sums_and_near_copies_within_a_group_stay_so_and_cost_nothing(
    kind: Any, fast_ddlk: Callable[..., DDLK]
) -> None:
    noise = 1e-6 * np.random.default_rng(0).normal(size=len(FRAME))
    table = FRAME.assign(total=FRAME["snp0"] + FRAME["snp9"], near=FRAME["snp3"] + noise)
    groups = {"sum": ["snp0", "snp9", "total"], "copies": ["snp3", "near"]}
    model = fast_ddlk() if kind == "ddlk" else kind(random_state=0)
    drawn = model.fit(table, feature_groups=groups).sample(table)  # without a warning
    np.testing.assert_allclose(drawn["total"], drawn["snp0"] + drawn["snp9"], atol=0.02)
    np.testing.assert_allclose(drawn["near"], drawn["snp3"], atol=0.02)
    assert np.corrcoef(drawn["near"], table["near"])[0, 1] < 0.95


def test_rows_in_groups_and_groups_of_features_go_together() -> None:
    patient = np.arange(len(X)) // 4
    table = FRAME[NAMES[:12]] + np.random.default_rng(2).normal(size=(60, 12))[patient]
    groups = {name: GROUPS[name] for name in list(GROUPS)[:4]}
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0)
    model.fit(table, groups=patient, feature_groups=groups)
    for part in (model.between_, model.within_):
        assert part is not None
        assert len(np.unique(part.encoding_.swap_unit)) == 4
    found = KnockoffSelector(
        "gaussian", "lasso", fdr=0.3, offset=0, certify=False, feature_groups=groups, random_state=0
    ).fit(table, Y, groups=patient)
    assert found.selection_.row_handling == "groups modelled"
    assert found.w_.shape == (4,)


# checks
# --------------------------------------------------------------------------------------------------


def test_the_check_swaps_whole_groups_alone() -> None:
    """Knockoffs of groups pass as such, and fail where single columns would be swapped."""
    sigma = covariance()
    x = rows(300, 3, sigma)
    law = KnockoffLaw(np.zeros(len(sigma)), sigma, knockoff_gaps(sigma, blocks=BLOCKS))
    x_tilde = law.draw(x, np.random.default_rng(4).normal(size=x.shape))
    groups = {name: [NAMES.index(column) for column in columns] for name, columns in GROUPS.items()}
    whole = check_swap(
        (x, x_tilde), feature_groups=groups, fdr=0.2, statistic=LassoStatistic(), random_state=0
    )
    assert whole.verdict == "pass"
    assert whole.p_value > 0.01
    assert list(whole.found.names) == list(GROUPS)
    single = check_swap((x, x_tilde), fdr=0.2, statistic=LassoStatistic(), random_state=0)
    assert single.p_value < 0.01


def test_the_check_of_a_generator_knows_the_groups_of_its_fit(
    fast_ddlk: Callable[..., DDLK],
) -> None:
    model = fast_ddlk().fit(FRAME, feature_groups=GROUPS)
    found = check_swap(model, FRAME, fdr=0.2, statistic=LassoStatistic(), random_state=0).found
    assert list(found.names) == list(GROUPS)
    assert found.divergence is not None
    assert found.divergence.single.shape == found.divergence.worst.shape == (GENES,)
    assert np.isfinite(found.divergence.worst).all()


# what it is for
# -------------------------------------------------------------------------------------------------


def test_false_discoveries_are_bounded_and_groups_find_more_than_columns() -> None:
    """Exact Gaussian knockoffs, 30 responses: the same rows,
    responses and noise for both kinds of knockoffs.
    """
    sigma = covariance(within=0.95)
    laws = {
        name: KnockoffLaw(np.zeros(len(sigma)), sigma, gaps)
        for name, gaps in (
            ("columns", knockoff_gaps(sigma)),
            ("groups", knockoff_gaps(sigma, blocks=BLOCKS)),
        )
    }
    groups = {name: [NAMES.index(column) for column in columns] for name, columns in GROUPS.items()}
    false: dict[str, list[float]] = {name: [] for name in laws}
    found: dict[str, list[float]] = {name: [] for name in laws}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(120, len(sigma))) @ np.linalg.cholesky(sigma).T
        relevant = rng.permutation(GENES) < 8
        effects = np.where(relevant, rng.choice([-1.0, 1.0], size=GENES), 0.0)
        y = x[
            :, np.arange(GENES) * SIZE + rng.integers(SIZE, size=GENES)
        ] @ effects * 0.5 + rng.normal(size=120)
        noise = rng.normal(size=x.shape)
        for name, law in laws.items():
            w = LassoStatistic(cv=2, random_state=seed).compute(
                x, law.draw(x, noise), y, feature_groups=groups
            )
            selected = knockoff_select(w, 0.2)
            false[name].append(fdp(selected, relevant))
            found[name].append(power(selected, relevant))
    for name in laws:
        assert np.mean(false[name]) <= 0.2 + 2 * np.std(false[name]) / np.sqrt(30)
    gained = np.subtract(found["groups"], found["columns"])
    assert gained.mean() > 3 * gained.std() / np.sqrt(30)


# indicators that were made elsewhere
# ----------------------------------------------------------------------------


def one_hot_table(count: int = 400) -> pd.DataFrame:
    """Numbers beside the indicators of three wards, which depend on them,
    and how a ward is called.
    """
    rng = np.random.default_rng(6)
    z = rng.normal(size=(count, 5))
    ward = np.digitize(z[:, 0] + 0.5 * rng.normal(size=count), [-0.6, 0.5])
    indicators = {f"ward {k}": (ward == k).astype(float) for k in range(3)}
    return pd.DataFrame(z, columns=list("abcde")).assign(
        **indicators, wing=np.where(ward == 2, "new", "old")
    )


@pytest.mark.parametrize("kind", [GaussianKnockoffs, "ddlk"])
def test_indicators_of_one_category_are_drawn_as_one(
    kind: Any, fast_ddlk: Callable[..., DDLK], tmp_path: Path
) -> None:
    table = one_hot_table()
    ward = ["ward 0", "ward 1", "ward 2", "wing"]
    model = (fast_ddlk() if kind == "ddlk" else kind(random_state=0)).fit(
        table, feature_groups={"ward": ward}
    )
    drawn = model.sample(table)
    assert (drawn[ward[:3]].sum(axis=1) == 1).all()
    assert ((drawn["ward 2"] == 1) == (drawn["wing"] == "new")).all()
    np.testing.assert_allclose(drawn[ward[:3]].mean(), table[ward[:3]].mean(), atol=0.1)
    assert 0.1 < (drawn[ward[:3]].to_numpy() != table[ward[:3]].to_numpy()).any(axis=1).mean() < 0.9
    model.save(tmp_path / "model.safetensors")
    pd.testing.assert_frame_equal(
        load_generator(tmp_path / "model.safetensors").sample(table), drawn
    )


def test_a_state_that_the_fit_has_not_seen_is_its_own_knockoff() -> None:
    table = one_hot_table()
    ward = ["ward 0", "ward 1", "ward 2"]
    model = GaussianKnockoffs(random_state=0).fit(
        table.drop(columns="wing"), feature_groups={"ward": ward}
    )
    new = table.drop(columns="wing").head(20).assign(**dict.fromkeys(ward, 0.0))
    with pytest.warns(UserWarning, match="a value that the fit has not seen"):
        drawn = model.sample(new)
    assert (drawn[ward] == 0).all(axis=None)


def test_a_density_of_ddlk_with_groups_tests_no_column_that_others_determine(
    fast_ddlk: Callable[..., DDLK],
) -> None:
    table = one_hot_table().drop(columns="wing").assign(again=lambda frame: frame["a"])
    groups = {"ward": ["ward 0", "ward 1", "ward 2"], "pair": ["a", "again"]}
    density = fast_ddlk().fit(table, feature_groups=groups).joint_density()
    assert density.encoding_.copied.tolist() == [True, *[False] * 4, True, True, True, True]
