"""Checks of tables with levels, orders, bits and missing cells: exact knockoffs pass,
faults are named.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator

from knockoffs import GaussianKnockoffs, KnockoffSelector, KnockoffWarning, check_swap
from knockoffs.check.dry_run import KINDS, feature_scores, simulate, simulated_response
from knockoffs.check.exact import draw_signs
from knockoffs.check.expectation import DRAWS
from knockoffs.check.feature_tests import PerFeature, compare_features, near_duplicates
from knockoffs.check.joint_tests import compare_swaps
from knockoffs.check.pairs import Pairs, independent_pairs
from knockoffs.datasets import AutoregressiveGaussian, symmetrised
from knockoffs.datasets.known_truth import Response
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.table import table as tables
from knockoffs.table.design import aligned, copied_features, expand
from knockoffs.table.table import Table, read_table

from .test_features import every_sign

LAW = AutoregressiveGaussian(features=7, rho=0.6)
WARDS = np.array(["north", "east", "south", "west"], dtype=object)
BLOOD = np.array([None, "A", "B", "0"], dtype=object)
STAGES = ["I", "II", "III"]
NAMES = ["age", "ward", "lab", "smoker", "blood", "stage"]
SEVERAL = (1, 2, 4)  # levels, or missing cells


def cells(z: Array) -> pd.DataFrame:
    """A table of columns of all kinds, cut from normal ones;
    missing cells of "lab" depend on "smoker".
    """
    u = norm.cdf(z)
    return pd.DataFrame(
        {
            "age": z[:, 0],
            "ward": WARDS[np.searchsorted([0.5, 0.8, 0.95], u[:, 1])],
            "lab": np.where(u[:, 3] < 0.3, np.nan, z[:, 2]),
            "smoker": u[:, 4] < 0.3,
            "blood": BLOOD[np.searchsorted([0.2, 0.6, 0.8], u[:, 5])],
            "stage": pd.Categorical.from_codes(
                np.searchsorted([0.4, 0.8], u[:, 6]), STAGES, ordered=True
            ),
        }
    )


def exact_tables(rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Exact knockoffs stay exact where cells are functions of a unit's own columns."""
    z = LAW.sample(rows, random_state=seed)
    return cells(z), cells(LAW.knockoffs(z, random_state=seed + 10_000))


def independent_tables(rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    first, second = np.random.default_rng(seed).normal(size=(2, rows, 7))
    return cells(first), cells(second)


def symmetrised_tables(rows: int, seed: int) -> tuple[Table, Table]:
    """Made exact by a coin per cell of a feature, whatever the knockoffs were."""
    x = read_table(exact_tables(rows, seed)[0], who="test")
    other = x.rows(np.random.default_rng(seed).permutation(rows))
    codes, codes_tilde = symmetrised(x.codes, other.codes, seed)
    return x.with_codes(codes), x.with_codes(codes_tilde)


EXACT = {
    "dependent": exact_tables,
    "independent": independent_tables,
    "made so by coins": symmetrised_tables,
}


def pairs_of(x: Any, x_tilde: Any, groups: Any = None) -> Pairs:
    x, x_tilde = aligned(read_table(x, who="test"), read_table(x_tilde, who="test"), who="test")
    features = np.flatnonzero(~copied_features(x, x_tilde))
    return independent_pairs(x, x_tilde, features, groups, 10_000, np.random.default_rng(0))


# exact knockoffs


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT.keys())
def test_exact_knockoffs_hardly_ever_fail(make: Callable[[int, int], Any]) -> None:
    found = np.array([check_swap(make(50, seed), random_state=seed).p_value for seed in range(20)])
    for alpha in (0.05, 0.1, 0.25, 0.5):
        assert np.mean(found <= alpha) <= alpha


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT.keys())
def test_exact_knockoffs_pass(make: Callable[[int, int], Any]) -> None:
    found = check_swap(make(300, 1), random_state=0)
    assert found.verdict == "pass"
    assert found.found.several_columns == SEVERAL
    assert np.isfinite(np.array(found.found.per_feature)).all()
    np.testing.assert_allclose(found.found.per_feature.freedom, 0.9, atol=0.45)


def test_exact_knockoffs_of_groups_pass() -> None:
    """Groups of three rows with one table in common,
    of which levels and missing cells are constant.
    """
    groups = np.repeat(np.arange(100), 3)
    common, common_tilde = exact_tables(100, 0)
    own, own_tilde = exact_tables(300, 1)
    x, x_tilde = (
        common.loc[groups].reset_index(drop=True),
        common_tilde.loc[groups].reset_index(drop=True),
    )
    for column in ("ward", "lab"):  # vary within groups
        x[column], x_tilde[column] = own[column], own_tilde[column]
    found = check_swap((x, x_tilde), groups=groups, random_state=0)
    assert found.validity == "pass"
    assert found.found.several_columns == SEVERAL
    broken = x_tilde.assign(ward=x_tilde["ward"].mask(np.arange(300) % 2 == 0, "west"))
    assert check_swap((x, broken), groups=groups, random_state=0).validity == "fail"


# broken knockoffs


def permuted_level(x: pd.DataFrame, t: pd.DataFrame, rng: np.random.Generator) -> Any:
    return t["ward"].replace({"north": "south", "south": "north"})


def wrong_share_of_a_level(x: pd.DataFrame, t: pd.DataFrame, rng: np.random.Generator) -> Any:
    return t["ward"].mask((t["ward"] == "north") & (rng.random(len(t)) < 0.3), "west")


def unknown_level(x: pd.DataFrame, t: pd.DataFrame, rng: np.random.Generator) -> Any:
    return t["ward"].mask(rng.random(len(t)) < 0.1, "elsewhere")


def ignored_neighbour(x: pd.DataFrame, t: pd.DataFrame, rng: np.random.Generator) -> Any:
    return rng.permutation(x["ward"].to_numpy())


def too_many_gaps(x: pd.DataFrame, t: pd.DataFrame, rng: np.random.Generator) -> Any:
    return t["lab"].mask(rng.random(len(t)) < 0.15)


def no_gaps(x: pd.DataFrame, t: pd.DataFrame, rng: np.random.Generator) -> Any:
    return t["blood"].fillna("A")


def gaps_in_the_wrong_rows(x: pd.DataFrame, t: pd.DataFrame, rng: np.random.Generator) -> Any:
    """Of the right number, but they depend on the age instead of on who smokes."""
    gaps = t["age"].rank().to_numpy() <= t["lab"].isna().sum()
    return t["lab"].where(t["lab"].notna(), rng.choice(t["lab"].dropna(), len(t))).mask(gaps)


BROKEN = {
    "ward": (permuted_level, wrong_share_of_a_level, unknown_level, ignored_neighbour),
    "lab": (too_many_gaps, gaps_in_the_wrong_rows),
    "blood": (no_gaps,),
}
CASES = [
    pytest.param(name, change, id=change.__name__)
    for name, changes in BROKEN.items()
    for change in changes
]


@pytest.mark.parametrize(("name", "change"), CASES)
def test_a_fault_is_found_and_the_feature_named(name: str, change: Callable[..., Any]) -> None:
    x, x_tilde = exact_tables(600, 2)
    broken = x_tilde.assign(**{name: change(x, x_tilde, np.random.default_rng(0))})
    # six features are never selected: tests decide
    found = check_swap((x, broken), fdr=0.03, random_state=0)
    assert found.verdict == "fail"
    frame = found.to_frame()
    assert frame["feature"][0] == name
    assert (frame["feature"][frame[["ks_p", "shift_p"]].min(axis=1) < 0.01] == name).all()
    said = f"{name!r}: the knockoff's distribution, or how it depends on other"
    assert any(reason.startswith(said) for reason in found.reasons)


def test_the_distance_of_levels_and_gaps_is_that_of_their_shares() -> None:
    x, x_tilde = independent_tables(400, 0)
    found = compare_features(pairs_of(x, x_tilde), np.ones((400, 1), dtype=np.float32))
    shares = [(t["ward"].value_counts(normalize=True)) for t in (x, x_tilde)]
    assert found.ks[1] == pytest.approx((shares[0] - shares[1]).abs().max())
    x_tilde["lab"] = x["lab"].mask(np.arange(400) % 10 == 0)
    found = compare_features(pairs_of(x, x_tilde), np.ones((400, 1), dtype=np.float32))
    assert found.ks[2] == pytest.approx(x_tilde["lab"].isna().mean() - x["lab"].isna().mean())


# units are swapped as a whole


def swap_units(pairs: Pairs, units: Flags) -> Pairs:
    """The same rows with some cells exchanged, all columns of a unit together."""
    mask = units[:, pairs.feature]
    x, x_tilde = pairs.raw, pairs.raw_tilde
    return Pairs(
        np.where(mask, x_tilde, x), np.where(mask, x, x_tilde), pairs.feature, pairs.derived
    )


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(40), 2)])
def test_swaps_of_units_turn_signs_and_nothing_else(groups: Any) -> None:
    pairs = pairs_of(*exact_tables(80, 3), groups)
    units = np.random.default_rng(0).random((pairs.rows, pairs.features)) < 0.5
    swapped = swap_units(pairs, units)
    np.testing.assert_allclose(
        swapped.half, np.where(units[:, pairs.feature], -pairs.half, pairs.half)
    )
    for name in (
        "middle",
        "half_variance",
        "middle_covariance",
        "covariance",
        "own_variance",
        "weight",
    ):
        np.testing.assert_allclose(
            getattr(swapped, name), getattr(pairs, name), rtol=1e-6, atol=1e-9
        )
    assert pairs.features == 6
    assert pairs.several_columns.tolist() == [*SEVERAL]


def test_p_values_are_exact_over_all_swaps_of_rows() -> None:
    pairs = pairs_of(*exact_tables(7, 4))
    every = every_sign(7)
    found = [
        compare_features(swap_units(pairs, np.repeat(e[:, None] < 0, 6, axis=1)), every)
        for e in every.T
    ]
    for name in ("ks_p", "shift_p"):
        smallest = np.array([getattr(one, name).min() for one in found])
        for alpha in np.unique(smallest):
            assert np.mean(smallest <= alpha) <= alpha + 1e-9, name


def test_half_swaps_take_whole_units(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = pairs_of(*exact_tables(100, 5))
    swapped: list[Flags] = []
    monkeypatch.setattr(
        Pairs, "swapped", lambda self, columns: (swapped.append(columns), (self.x, self.x_tilde))[1]
    )
    list(
        compare_swaps(
            pairs, draw_signs(np.random.default_rng(0), 20, 100), np.random.default_rng(0)
        )
    )
    assert len(swapped) == 8
    for columns in swapped:
        for j in range(6):
            assert len(set(columns[pairs.feature == j])) == 1


def test_the_covariance_is_that_of_the_rows_within_features_too() -> None:
    pairs = pairs_of(*exact_tables(10_000, 6))
    np.testing.assert_allclose(pairs.covariance, np.cov(pairs.x.T), atol=0.05)


# invariance


def test_the_order_of_columns_only_orders_the_findings() -> None:
    order = [4, 2, 0, 5, 1, 3]
    x, x_tilde = exact_tables(100, 7)
    x_tilde["ward"] = ignored_neighbour(x, x_tilde, np.random.default_rng(0))
    x_tilde["age"] = x["age"]
    one = check_swap((x, x_tilde), random_state=0).found
    other = check_swap((x.iloc[:, order], x_tilde.iloc[:, order]), random_state=0).found
    assert other.names == tuple(one.names[j] for j in order)
    np.testing.assert_array_equal(other.copied, one.copied[order])
    assert {order[j] for j in other.several_columns} == {*SEVERAL}
    for name in PerFeature._fields:
        expected = getattr(one.per_feature, name)[order]
        np.testing.assert_allclose(getattr(other.per_feature, name), expected, rtol=1e-3, atol=1e-5)


def test_names_and_order_of_levels_do_not_matter() -> None:
    x, x_tilde = exact_tables(100, 8)
    other_names = dict(zip(WARDS, ["4", "1", "3", "2"], strict=True))
    renamed = [t.assign(ward=t["ward"].map(other_names)) for t in (x, x_tilde)]
    one, other = (
        check_swap(tuple(pair), random_state=0).found.per_feature
        for pair in ((x, x_tilde), renamed)
    )
    for name in PerFeature._fields:
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-3, atol=1e-5)


def test_all_kinds_of_table_give_the_same_certificate() -> None:
    x, x_tilde = exact_tables(100, 9)
    categories = [t.astype({"ward": "category", "blood": "category"}) for t in (x, x_tilde)]
    text = [t.astype({"stage": str}) for t in (x, x_tilde)]  # no order: I, II, III are nominal
    expected, expected_text = (
        check_swap(tuple(pair), random_state=0).to_dict() for pair in ((x, x_tilde), text)
    )
    assert check_swap(tuple(categories), random_state=0).to_dict() == expected
    read = tuple(read_table(t, who="test") for t in (x, x_tilde))
    assert check_swap(read, random_state=0).to_dict() == expected
    assert (
        check_swap(tuple(pl.from_pandas(t) for t in text), random_state=0).to_dict()
        == expected_text
    )


def test_a_copy_may_have_gaps() -> None:
    x, x_tilde = exact_tables(100, 10)
    found = check_swap((x, x_tilde.assign(lab=x["lab"], blood=x["blood"])), random_state=0).found
    assert found.copied.tolist() == [False, False, True, False, True, False]
    assert found.several_columns == (1,)
    everything = check_swap((x, x), random_state=0)
    assert everything.found.copied.all()
    assert everything.validity == "pass"


def test_levels_of_one_feature_are_no_near_duplicates_but_two_names_of_one_feature_are() -> None:
    x = exact_tables(400, 11)[0]
    x["site"] = x["ward"].map(dict(zip(WARDS, ["4", "1", "3", "2"], strict=True)))
    x["bit"] = x["blood"] == "A"  # known from "blood", not the same
    x_tilde = x.copy()  # knockoffs of duplicates can hardly differ from them
    for column in x:
        x_tilde.loc[:2, column] = x[column].to_numpy()[-3:]
    assert near_duplicates(pairs_of(x, x_tilde)) == [(1, 6)]
    missing_together = [
        t.assign(other=np.where(t["lab"].isna(), np.nan, t["age"])) for t in exact_tables(300, 12)
    ]
    assert near_duplicates(pairs_of(*missing_together)) == []


# a table is read once


@pytest.fixture
def read_columns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the columns of pandas tables, each time that one is read."""
    names: list[str] = []
    read = tables.pandas_cells
    monkeypatch.setattr(
        tables, "pandas_cells", lambda series: (names.append(series.name), read(series))[1]
    )
    return names


def test_a_check_reads_each_table_once(read_columns: list[str]) -> None:
    x, x_tilde = exact_tables(60, 13)
    check_swap((x, x_tilde), random_state=0)
    assert read_columns == [*NAMES, *NAMES]
    read_columns.clear()
    settings = {"dry_run": True, "statistic": lambda x, x_tilde, y: np.arange(6.0), "replicates": 3}
    check_swap(lambda table: x_tilde, x, random_state=0, **settings)
    drawn = DRAWS + 1 + 3 * len(KINDS)  # for simulated responses, for the tests, for the dry run
    # the rows, and knockoffs each time that they are drawn
    assert read_columns == NAMES * (1 + drawn)


@pytest.mark.parametrize("ready", [False, True])
def test_a_selection_with_its_certificate_reads_the_table_once(
    read_columns: list[str], ready: bool
) -> None:
    x = pd.DataFrame(LAW.sample(150, random_state=0), columns=list("abcdefg"))
    model = GaussianKnockoffs(random_state=0)
    model = model.fit(x) if ready else model
    read_columns.clear()
    selector = KnockoffSelector(model, "lasso", fdr=0.9, random_state=0).fit(x, x.sum(axis=1))
    assert selector.certificate_ is not None
    assert read_columns == list("abcdefg")


class Resampler(BaseEstimator):
    """Knows native tables alone: draws each column from the rows of the fit."""

    def fit(self, X: Any, y: Any = None) -> Resampler:
        self.seen_ = X
        return self

    def sample(self, X: Any, *, n_draws: int | None = None, random_state: int) -> Any:
        columns = {
            name: self.seen_[name].sample(len(X), replace=True, random_state=random_state)
            for name in X
        }
        drawn = pd.DataFrame(
            {name: column.to_numpy() for name, column in columns.items()}, index=X.index
        )
        return drawn if n_draws is None else [drawn] * n_draws


def test_generators_that_know_no_tables_get_native_ones() -> None:
    x = exact_tables(400, 15)[0].astype({"stage": str})
    selector = KnockoffSelector(Resampler(), "lasso", fdr=0.03, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        found = selector.fit(x, x["age"]).certificate_
    assert found.validity == "fail"  # columns that depend on each other
    assert found.found.rows == 400


# simulated responses


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_feature_can_be_relevant_and_others_have_no_part(kind: str) -> None:
    x, other = (read_table(t, who="test") for t in exact_tables(200, 16))
    relevant_once = np.zeros(6, dtype=bool)
    for seed in range(12):
        y, relevant = respond(x, kind, seed)
        relevant_once |= relevant
        np.testing.assert_allclose(respond(mix(x, other, ~relevant), kind, seed).y, y)
        for j in np.flatnonzero(relevant):
            changed = respond(mix(x, other, np.arange(6) == j), kind, seed).y
            assert np.abs(changed - y).max() > 1e-3
    assert relevant_once.all()


def respond(table: Table, kind: str, seed: int) -> Response:
    return simulated_response(expand(table.schema, table.codes), kind, seed)


def scores(table: Table, seed: int) -> Array:
    return feature_scores(expand(table.schema, table.codes), seed)


def mix(x: Table, other: Table, columns: Flags) -> Table:
    return x.with_codes(np.where(columns, other.codes, x.codes))


def test_missing_cells_and_levels_have_effects() -> None:
    x = read_table(exact_tables(500, 17)[0], who="test")
    found = scores(x, 0)
    assert np.isfinite(found).all()
    for j, values in ((1, 4), (4, 4)):  # one number for each level, missing cells among them
        assert len(np.unique(found[:, j])) == values
    gaps = np.isnan(x.codes[:, 2])
    assert len(np.unique(found[gaps, 2])) == 1
    np.testing.assert_allclose(np.abs(np.corrcoef(found[~gaps, 2], x.codes[~gaps, 2])[0, 1]), 1)
    np.testing.assert_array_equal(found[:, [0, 3, 5]], x.codes[:, [0, 3, 5]])


class OnTables(BaseEstimator):
    """A statistic that takes tables as they were read."""

    def compute(self, X: Any, X_tilde: Any, y: Any, *, groups: Any = None) -> Array:
        assert isinstance(X, Table)
        assert isinstance(X_tilde, Table)
        assert X.levels == X_tilde.levels
        return np.arange(6.0)


def test_statistics_get_tables_and_functions_native_ones() -> None:
    x, x_tilde = exact_tables(60, 18)
    seen: list[tuple[pd.DataFrame, pd.DataFrame]] = []

    def statistic(X: Any, X_tilde: Any, y: Any) -> Array:
        seen.append((X, X_tilde))
        return np.arange(6.0)

    for part in (statistic, OnTables()):
        found = simulate(
            x, lambda _: x_tilde, part, replicates=2, offset=1, rng=np.random.default_rng(0)
        )
        assert found.ws.shape == (2 * len(KINDS), 6)
    for X, X_tilde in seen:
        pd.testing.assert_frame_equal(X, x)
        pd.testing.assert_frame_equal(X_tilde, x_tilde, check_dtype=False)


def towns(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    table["town"] = [f"t{number}" for number in rng.permutation(np.arange(rows) % 60)]
    table["since"] = rng.choice(["2020-01-01", "2021-01-01", "2022-01-01"], rows)
    return table


def test_what_the_generator_takes_for_categories_are_no_free_text_and_no_dates_in_fewer_rows() -> (
    None
):
    model = GaussianKnockoffs(random_state=0).fit(towns(300, 0), kinds={"since": "nominal"})
    found = check_swap(model, towns(80, 1), random_state=0)  # 60 towns in 80 rows
    assert found.to_frame().shape[0] == 5


def test_numbers_that_the_generator_takes_for_levels_are_compared_by_their_levels() -> None:
    table = towns(300, 0).assign(ward=np.arange(300) % 4).drop(columns=["town", "since"])
    model = GaussianKnockoffs(random_state=0).fit(table, kinds={"ward": "nominal"})
    assert check_swap(model, table, random_state=0).found.several_columns == (3,)
