"""Knockoffs of groups of rows: what the mathematics of the hierarchical model promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from knockoffs import (
    DDLK,
    DeepKnockoffs,
    GaussianKnockoffs,
    HierarchicalKnockoffs,
    HMMKnockoffs,
    KnockoffWarning,
    load_generator,
)
from knockoffs.generators.hierarchy import Hierarchy, fit_hierarchy, group_means, within_contrasts

from .tiny import TINY

FEATURES = 4
BETWEEN = 0.8 * 0.5 ** np.abs(np.subtract.outer(np.arange(FEATURES), np.arange(FEATURES)))
WITHIN = 0.4 * (-0.4) ** np.abs(np.subtract.outer(np.arange(FEATURES), np.arange(FEATURES)))


def labels_of(sizes: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes)


def hierarchical_rows(sizes: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    labels = labels_of(sizes)
    common = rng.multivariate_normal(np.zeros(FEATURES), BETWEEN, size=len(sizes))
    return (
        1.0 + common[labels] + rng.multivariate_normal(np.zeros(FEATURES), WITHIN, size=len(labels))
    )


def covariance_of(pairs: np.ndarray) -> np.ndarray:
    return np.cov(pairs.T, bias=True)


def swapped(pairs: np.ndarray, feature: int) -> np.ndarray:
    """[x, x̃] with one feature exchanged for its knockoff."""
    order = np.arange(pairs.shape[1])
    order[[feature, feature + FEATURES]] = order[[feature + FEATURES, feature]]
    return pairs[:, order]


@pytest.fixture(scope="module")
def sizes() -> np.ndarray:
    return np.random.default_rng(0).integers(1, 7, size=3000)


@pytest.fixture(scope="module")
def drawn(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, rows and knockoffs of many groups of unequal sizes."""
    x, labels = hierarchical_rows(sizes, 1), labels_of(sizes)
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(x, groups=labels)
    return labels, x, model.sample(x, groups=labels)


def test_group_means_are_those_of_pandas_whatever_the_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    labels, x = rng.integers(5, size=40), rng.normal(size=(40, 3))
    counts, means = group_means(x, labels)
    expected = pd.DataFrame(x).groupby(labels).agg("mean")
    np.testing.assert_allclose(means, expected.to_numpy())
    np.testing.assert_array_equal(counts, np.bincount(labels))


def test_contrasts_are_an_orthonormal_basis_of_what_varies_within_groups() -> None:
    labels = np.random.default_rng(0).permutation(labels_of(np.array([3, 1, 5, 2])))
    matrix = within_contrasts(np.eye(len(labels)), labels)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(len(labels) - 4), atol=1e-12)
    np.testing.assert_allclose(matrix @ np.eye(4)[labels], 0, atol=1e-12)


def test_common_and_own_parts_have_the_models_distribution(sizes: np.ndarray) -> None:
    x, labels = hierarchical_rows(sizes, 2), labels_of(sizes)
    model = Hierarchy(np.ones(FEATURES), BETWEEN, WITHIN)
    noise = np.random.default_rng(3).standard_normal((len(sizes), FEATURES))
    common = model.draw_common_parts(x, labels, noise)
    own = x - common[labels]
    tolerance = 5 / np.sqrt(len(sizes))
    np.testing.assert_allclose(covariance_of(common), BETWEEN, atol=tolerance)
    np.testing.assert_allclose(covariance_of(own), WITHIN, atol=tolerance)
    np.testing.assert_allclose(common[labels].T @ own / len(own), 0, atol=tolerance)
    assert np.abs(within_means_against_rows(own, labels)).max() < tolerance


def within_means_against_rows(own: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Covariances of different rows of one group: of pairs of neighbours in the table."""
    same = labels[1:] == labels[:-1]
    return own[1:][same].T @ own[:-1][same] / same.sum()


def test_the_fit_finds_both_covariances(sizes: np.ndarray) -> None:
    found = fit_hierarchy(hierarchical_rows(sizes, 4), labels_of(sizes))
    np.testing.assert_allclose(found.between, BETWEEN, atol=0.1)
    np.testing.assert_allclose(found.within, WITHIN, atol=0.05)
    np.testing.assert_allclose(found.mean, 1.0, atol=0.1)


@pytest.mark.parametrize("feature", range(FEATURES))
def test_no_swap_changes_the_covariances_of_rows_or_of_group_means(
    drawn: tuple[np.ndarray, np.ndarray, np.ndarray], feature: int
) -> None:
    labels, x, x_tilde = drawn
    rows = np.hstack([x, x_tilde])
    for table in (rows, group_means(rows, labels)[1], within_contrasts(rows, labels)):
        difference = covariance_of(swapped(table, feature)) - covariance_of(table)
        assert np.abs(difference).max() < 6 / np.sqrt(labels.max() + 1)


def test_knockoffs_are_as_alike_within_groups_as_the_rows(
    drawn: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    labels, x, x_tilde = drawn
    alike, alike_tilde = (within_means_against_rows(t - 1.0, labels) for t in (x, x_tilde))
    np.testing.assert_allclose(alike_tilde, alike, atol=0.1)
    rowwise = GaussianKnockoffs(random_state=0).fit(x).sample(x)
    # which is why
    assert np.diag(alike - within_means_against_rows(rowwise - 1.0, labels)).min() > 0.2


def patients(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(labels_of(rng.integers(1, 6, size=60)))
    rows = len(labels)
    common = rng.normal(size=(60, 3))[labels]
    table = {
        "sex": (rng.random(60) < 0.5)[labels],
        "age": rng.normal(60, 10, size=60)[labels],
        "pressure": 120 + 10 * (common[:, 0] + rng.normal(size=rows)),
        "dose": np.exp(common[:, 1] + 0.5 * rng.normal(size=rows)),
        "visits": rng.poisson(3, size=rows),
    }
    return pd.DataFrame(table), np.array([f"patient {label}" for label in labels])


@pytest.fixture(scope="module")
def fitted() -> HierarchicalKnockoffs:
    table, groups = patients()
    with pytest.warns(KnockoffWarning, match="distinct values"):
        return HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(table, groups=groups)


def test_what_is_constant_within_groups_stays_so(fitted: HierarchicalKnockoffs) -> None:
    table, groups = patients()
    knockoffs = fitted.sample(table, groups=groups)
    pd.testing.assert_series_equal(knockoffs.dtypes, table.dtypes)
    spread = knockoffs.groupby(groups).agg("nunique")
    assert (spread[["sex", "age"]] == 1).all(axis=None)
    assert (knockoffs["age"] != table["age"]).mean() > 0.98
    assert knockoffs["sex"].nunique() == 2
    assert (knockoffs["pressure"] != table["pressure"]).all()
    assert (knockoffs["dose"] > 0).all()
    assert set(knockoffs["visits"]) <= set(table["visits"])


def test_the_same_seed_gives_the_same_bits_also_from_a_file(
    fitted: HierarchicalKnockoffs, tmp_path: Path
) -> None:
    table, groups = patients()
    expected = fitted.sample(table, groups=groups, n_draws=2, random_state=3)
    fitted.save(tmp_path / "model")
    for loaded in (
        HierarchicalKnockoffs.load(tmp_path / "model"),
        load_generator(tmp_path / "model"),
    ):
        assert isinstance(loaded.generator, GaussianKnockoffs)
        for one, other in zip(
            loaded.sample(table, groups=groups, n_draws=2, random_state=3), expected, strict=True
        ):
            pd.testing.assert_frame_equal(one, other, check_exact=True)
    first, second = expected
    assert (first["pressure"] != second["pressure"]).all()


@pytest.mark.filterwarnings("ignore:column 'ward'.*fewer than 10 distinct values")
def test_categories_that_say_nothing_have_knockoffs_that_are_no_copies() -> None:
    """Knockoffs of a category that depends on nothing agree with it as often as two independent
    draws do.
    """
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 8)
    numbers = rng.normal(size=(40, 3))[groups] + rng.normal(size=(320, 3))
    table = pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(
        ward=rng.choice(list("pqrs"), 320)
    )
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(table, groups=groups)
    drawn = [model.sample(table, groups=groups, random_state=seed) for seed in range(5)]
    agree = np.mean([own["ward"] == table["ward"] for own in drawn])
    assert 0.2 < agree < 0.35


def test_a_grid_that_is_seen_within_groups_alone_is_kept(tmp_path: Path) -> None:
    """Heights with one decimal hardly repeat among 40 persons,
    of whom each has one in three rows.
    """
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(40), 3)
    height = rng.normal(150, 20, 40).round(1)[person]
    table = pd.DataFrame(
        {"height": height, "exact": rng.normal(size=40)[person], "x": rng.normal(size=120)}
    )
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(table, groups=person)
    assert model.schema_[0].kind == "continuous"
    model.save(tmp_path / "model")
    found = model.sample(table, groups=person)
    pd.testing.assert_frame_equal(
        HierarchicalKnockoffs.load(tmp_path / "model").sample(table, groups=person), found
    )
    np.testing.assert_array_equal(found["height"].round(1), found["height"])
    assert found["height"].nunique() > 20
    assert not np.isin(found["height"], height).all()
    assert (found["exact"].round(6) != found["exact"]).all()
    elsewhere = model.sample(table.assign(height=table["height"] + 0.0123), groups=person)
    assert (elsewhere["height"].round(1) != elsewhere["height"]).all()  # as are its cells


def test_zeros_on_a_grid_have_no_sign() -> None:
    """A file would show which cells are knockoffs: -0.0, which the table does not hold."""
    rng = np.random.default_rng(7)
    person = np.repeat(np.arange(40), 3)
    table = pd.DataFrame(
        {"score": rng.normal(0, 5, 40).round(1)[person] + 0.0, "x": rng.normal(size=120)}
    )
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(table, groups=person)
    scores = np.concatenate(
        [model.sample(table, groups=person, random_state=k)["score"] for k in range(40)]
    )
    np.testing.assert_array_equal(scores.round(1), scores)
    assert (scores == 0).any()
    assert not np.signbit(scores[scores == 0]).any()


def test_arrays_and_polars_come_back_as_they_were(fitted: HierarchicalKnockoffs) -> None:
    table, groups = patients()
    drawn = fitted.sample(table, groups=groups)
    from_polars = fitted.sample(
        pl.DataFrame({name: table[name].to_numpy() for name in table}), groups=groups
    )
    assert isinstance(from_polars, pl.DataFrame)
    np.testing.assert_array_equal(from_polars["dose"].to_numpy(), drawn["dose"].to_numpy())


def test_a_new_table_may_have_other_groups(fitted: HierarchicalKnockoffs) -> None:
    table, groups = patients(seed=1)
    assert np.isfinite(fitted.sample(table[:7], groups=groups[:7]).to_numpy(dtype=float)).all()
    assert len(fitted.sample(table[:0], groups=groups[:0])) == 0


@pytest.mark.filterwarnings("ignore:There are only:knockoffs.KnockoffWarning")
@pytest.mark.parametrize("varying", [0, 1])
def test_few_columns_that_vary_within_groups(varying: int) -> None:
    labels = labels_of(np.full(40, 3))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))[labels]
    x[:, :varying] += rng.normal(size=(120, varying))
    drawn = (
        HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0)
        .fit(x, groups=labels)
        .sample(x, groups=labels)
    )
    spread = pd.DataFrame(drawn).groupby(labels).agg("nunique").to_numpy()
    assert (spread[:, varying:] == 1).all()
    assert (spread[:, :varying] == 3).all()


@pytest.mark.parametrize("varying", [0, 1, 2])
def test_swaps_change_no_covariance_where_few_columns_vary_within_groups(varying: int) -> None:
    """A part of a single column has knockoffs by itself."""
    sizes = np.random.default_rng(0).integers(2, 6, size=3000)
    labels, rng = labels_of(sizes), np.random.default_rng(1)
    x = rng.multivariate_normal(np.zeros(FEATURES), BETWEEN, size=len(sizes))[labels]
    noise = rng.multivariate_normal(np.zeros(FEATURES), WITHIN, size=len(labels))
    x[:, :varying] += noise[:, :varying]
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(x, groups=labels)
    assert (model.within_ is None) == (varying == 0)
    rows = np.hstack([x, model.sample(x, groups=labels)])
    for table in (rows, group_means(rows, labels)[1], within_contrasts(rows, labels)):
        for feature in range(FEATURES):
            difference = covariance_of(swapped(table, feature)) - covariance_of(table)
            assert np.abs(difference).max() < 6 / np.sqrt(len(sizes))
    correlation = np.corrcoef(rows.T)[range(FEATURES), range(FEATURES, 2 * FEATURES)]
    assert correlation.max() < 0.95  # and no copies


@pytest.mark.filterwarnings("ignore:.*of the spread of the data:knockoffs.KnockoffWarning")
@pytest.mark.parametrize("name", TINY)
def test_every_generator_takes_parts_of_one_column(name: str, tmp_path: Path) -> None:
    labels, rng = labels_of(np.full(80, 3)), np.random.default_rng(0)
    x = rng.normal(size=(80, 3))[labels]
    x[:, 0] += rng.normal(size=240)
    model = HierarchicalKnockoffs(TINY[name](), random_state=0).fit(x, groups=labels)
    found = model.sample(x, groups=labels)
    spread = pd.DataFrame(found).groupby(labels).agg("nunique").to_numpy()
    np.testing.assert_array_equal(spread, np.tile([3, 1, 1], (80, 1)))
    model.save(tmp_path / "model")
    again = load_generator(tmp_path / "model").sample(x, groups=labels)
    np.testing.assert_array_equal(again, found)


def test_what_a_generator_of_parts_warns_of_is_heard() -> None:
    labels, rng = labels_of(np.full(80, 3)), np.random.default_rng(0)
    x = rng.normal(size=(80, 3))[labels] + rng.normal(size=(240, 3))
    never_learned = DeepKnockoffs(hidden=(8,), epochs=1, learning_rate=1e-12)
    with pytest.warns(KnockoffWarning, match="Do not use them"):
        HierarchicalKnockoffs(never_learned, random_state=0).fit(x, groups=labels)


@pytest.mark.filterwarnings("ignore:There are only:knockoffs.KnockoffWarning")
def test_ddlk_is_the_default_and_can_be_saved(tmp_path: Path) -> None:
    labels = labels_of(np.full(40, 3))
    x = np.random.default_rng(0).normal(size=(40, 3))[labels] + np.random.default_rng(1).normal(
        size=(120, 3)
    )
    quick = DDLK(hidden=(4,), joint_epochs=1, knockoff_epochs=1)
    model = HierarchicalKnockoffs(quick, random_state=0).fit(x, groups=labels)
    assert isinstance(model.between_, DDLK)
    assert not hasattr(quick, "n_features_in_")
    model.save(tmp_path / "model")
    loaded = load_generator(tmp_path / "model")
    np.testing.assert_array_equal(loaded.sample(x, groups=labels), model.sample(x, groups=labels))
    assert HierarchicalKnockoffs().generator is None


@pytest.mark.filterwarnings("ignore:There are only:knockoffs.KnockoffWarning")
def test_wrong_arguments_are_named() -> None:
    x, labels = np.random.default_rng(0).normal(size=(60, 3)), labels_of(np.full(20, 3))
    with pytest.raises(ValueError, match="groups is missing"):
        HierarchicalKnockoffs().fit(x)
    with pytest.raises(ValueError, match="groups has 59 entries; pass one for each of the 60 rows"):
        HierarchicalKnockoffs().fit(x, groups=labels[:59])
    with pytest.raises(ValueError, match="groups has 3 different labels; at least 10 groups"):
        HierarchicalKnockoffs().fit(x, groups=labels % 3)
    with pytest.raises(ValueError, match="groups has a label of its own for each of the 60 rows"):
        HierarchicalKnockoffs().fit(x, groups=np.arange(60))
    with pytest.raises(ValueError, match=r"labels are missing in groups \(60\)"):
        HierarchicalKnockoffs().fit(x, groups=np.full(60, np.nan))
    masked = np.ma.array(labels, mask=labels == 3)
    with pytest.raises(ValueError, match=r"labels are missing in groups \(3\)"):
        HierarchicalKnockoffs().fit(x, groups=masked)
    with pytest.raises(ValueError, match="has a given model of rows"):
        HierarchicalKnockoffs(GaussianKnockoffs(covariance=np.eye(3))).fit(x, groups=labels)
    with pytest.raises(ValueError, match="is fitted to rows already"):
        HierarchicalKnockoffs(GaussianKnockoffs().fit(x)).fit(x, groups=labels)
    frame = pd.DataFrame(x)
    with pytest.raises(ValueError, match="groups has the row labels of X in another order"):
        HierarchicalKnockoffs().fit(frame, groups=pd.Series(labels).iloc[::-1])
    with pytest.raises(ValueError, match="generator='ddlk' is not valid"):
        HierarchicalKnockoffs("ddlk").fit(x, groups=labels)
    with pytest.raises(ValueError, match="describes columns of few values"):
        HierarchicalKnockoffs(HMMKnockoffs(emissions="categorical")).fit(x, groups=labels)
    with pytest.raises(ValueError, match="HierarchicalKnockoffs already"):
        HierarchicalKnockoffs(HierarchicalKnockoffs()).fit(x, groups=labels)


@pytest.mark.filterwarnings("ignore:There are only:knockoffs.KnockoffWarning")
def test_the_names_of_groups_do_not_matter() -> None:
    x, labels = hierarchical_rows(np.full(40, 3), 0), labels_of(np.full(40, 3))
    named = np.array([f"p{label}" for label in labels], dtype=object)
    mixed = np.array([label if label % 2 else f"p{label}" for label in labels], dtype=object)
    tables = [
        HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0)
        .fit(x, groups=groups)
        .sample(x, groups=groups)
        for groups in (labels, named, mixed)
    ]
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])


@pytest.mark.filterwarnings("ignore:There are only:knockoffs.KnockoffWarning")
def test_what_was_constant_within_groups_must_stay_so() -> None:
    x, labels = hierarchical_rows(np.full(40, 3), 0), labels_of(np.full(40, 3))
    x[:, 1] = labels
    model = HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0).fit(x, groups=labels)
    x[0, 1] += 0.5
    with pytest.raises(
        ValueError, match=r"column 'x1' was constant within every group of the fit and varies"
    ):
        model.sample(x, groups=labels)


def test_few_groups_are_warned_of() -> None:
    x, labels = hierarchical_rows(np.full(12, 9), 0), labels_of(np.full(12, 9))
    with pytest.warns(KnockoffWarning, match="There are only 12 groups for 4 columns"):
        HierarchicalKnockoffs(GaussianKnockoffs()).fit(x, groups=labels)
