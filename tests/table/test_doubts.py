"""Columns that may not mean what they say are named; sound tables that look alike are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import datasets

from knockoffs import GaussianKnockoffs, KnockoffSelector, KnockoffWarning, LassoStatistic
from knockoffs.datasets.mixed import load_acic2016, load_nhefs, load_support2
from knockoffs.datasets.real import load_expression, load_hiv, load_icu
from knockoffs.table.doubts import doubts, number_marks, spellings
from knockoffs.table.table import read_table
from tests.real_data import folder_with

RNG = np.random.default_rng(0)
ROWS = 300
AGES = RNG.integers(18, 90, size=ROWS).astype(float)
MEASURED = RNG.normal(5, 1, size=ROWS)


def said_of(X: Any, **options: Any) -> str | None:
    return doubts(read_table(X, who="test", **options))


def with_mark(column: np.ndarray, mark: float, cells: int = 5) -> np.ndarray:
    return np.where(np.arange(len(column)) < cells, mark, column)


@pytest.mark.parametrize(
    ("labels", "same"),
    [
        (["Male", "male ", "MALE", "Female"], [["Male", "male ", "MALE"]]),
        (["a b", "a  b", "c"], [["a b", "a  b"]]),
        (["yes", "Y", "no", "N"], [["yes", "Y"], ["no", "N"]]),
        (["m", "M", "f"], [["m", "M"]]),
        (["AA", "Aa", "aa"], []),  # genotypes
        (["AA", "Aa", "aa", "AB", "./."], []),
        (["yes", "Y", "no", "unknown"], [["yes", "Y"]]),
        (["yes", "no", "y axis"], []),
        (["y", "n"], []),
        (["Straße", "STRASSE", "Weg"], [["Straße", "STRASSE"]]),
        (["private", "state"], []),
    ],
)
def test_spellings_of_one_level(labels: list[str], same: list[list[str]]) -> None:
    assert spellings(labels) == same
    said = said_of(pd.DataFrame({"x": pd.Categorical(labels * 10, labels)}))
    assert ("spellings" in (said or "")) == bool(same)
    if said is not None and same:
        assert f"column 'x': {', '.join(map(repr, same[0]))}" in said
        assert "Write each in one way" in said


def test_categories_that_do_not_occur_are_no_spellings() -> None:
    assert (
        said_of(pd.DataFrame({"x": pd.Categorical(["a one", "b"] * 9, ["a one", "A one", "b"])}))
        is None
    )


MARKED: dict[str, tuple[np.ndarray, float]] = {
    "age": (AGES, 999),
    "age below zero": (AGES, -1),
    "measured": (MEASURED, -999),
    "scores with both signs": (RNG.normal(size=ROWS), -99),
    "genotypes": (RNG.integers(0, 3, size=ROWS).astype(float), -9),
    "an answer": (RNG.integers(0, 2, size=ROWS).astype(float), 9),
    "another answer": (RNG.integers(1, 6, size=ROWS).astype(float), 99),
    "counts": (RNG.poisson(20, size=ROWS).astype(float), -1),
}


@pytest.mark.parametrize(("column", "mark"), MARKED.values(), ids=MARKED.keys())
def test_numbers_that_stand_for_missing_cells(column: np.ndarray, mark: float) -> None:
    marks, counts = number_marks(with_mark(column, mark))
    assert (marks.tolist(), counts.tolist()) == ([mark], [5])
    # a value that hardly repeats is an outlier
    assert not len(number_marks(with_mark(column, mark, cells=2))[0])
    assert not len(number_marks(column)[0])
    said = said_of(pd.DataFrame({"x": with_mark(column, mark)}))
    assert said is not None
    assert f"column 'x': {mark:g} (5 cells): read as they stand" in said
    assert "--na-value COL=VALUE" in said
    said = doubts(read_table(MEASURED[:, None], who="test"), with_mark(column, mark))
    assert said is not None
    assert f"The target y: {mark:g} (5 cells)" in said
    assert "drop these rows" in said


def test_several_marks_in_a_column() -> None:
    column = with_mark(with_mark(AGES, 998, cells=10), 999)
    assert number_marks(column)[0].tolist() == [998, 999]


SOUND: dict[str, np.ndarray] = {
    "contrasts": RNG.choice([-1.0, 0, 1], size=ROWS),
    "signs": RNG.choice([-1.0, 1], size=ROWS),
    "doses": RNG.choice([1.0, 3, 9], size=ROWS),
    "grades": RNG.choice([6.0, 7, 8, 9], size=ROWS),
    "differences": RNG.integers(-4, 20, size=ROWS).astype(float),
    "small differences": RNG.integers(-1, 5, size=ROWS).astype(float),
    "prices": RNG.choice([9.0, 99, 999, 49, 499], size=ROWS),
    "weights up to 99": RNG.integers(40, 100, size=ROWS).astype(float),
    "one value": np.full(ROWS, 999.0),
    "scaled": RNG.uniform(-1, 1, size=ROWS).clip(-0.9, 0.9),
    "years": RNG.integers(1990, 2025, size=ROWS).astype(float),
    "missing": np.full(ROWS, np.nan),
}


@pytest.mark.parametrize("column", SOUND.values(), ids=SOUND.keys())
def test_numbers_that_stand_for_themselves(column: np.ndarray) -> None:
    assert said_of(column[:, None]) is None


def test_codes_of_categories_are_no_marks() -> None:
    codes = with_mark(RNG.integers(1, 5, size=ROWS).astype(float), 99)
    assert said_of(pd.DataFrame({"x": codes})) is not None
    assert said_of(pd.DataFrame({"x": codes}), kinds={"x": "nominal"}) is None
    assert (
        said_of(
            pd.DataFrame({"x": pd.Categorical(["b", "a"] * 9, [*map(str, range(9)), "a", "b"])})
        )
        is None
    )


@pytest.mark.parametrize("mark", ["?", ".", "unknown", "Unknown", "n/a", "NA", " ", "", "missing"])
def test_texts_that_stand_for_missing_cells(mark: str) -> None:
    said = said_of(pd.DataFrame({"x": ["private", "state", mark] * 20}))
    assert said is not None
    assert f"column 'x': {mark!r} (20 cells): read as they stand" in said


@pytest.mark.parametrize("other", ["none", "-", "Na", "other", "never"])
def test_texts_that_stand_for_themselves(other: str) -> None:
    assert said_of(pd.DataFrame({"x": ["+", "K", other] * 20})) is None
    assert said_of(pd.DataFrame({"x": ["?"] * 20})) is None  # a column of nothing else is constant


def test_identifiers() -> None:
    random = RNG.choice(10**9, size=ROWS, replace=False)
    for name in ("id", "patient_id", "PatientID", "MRN", "record id"):
        said = said_of(pd.DataFrame({name: random, "x": MEASURED}))
        assert said is not None
        assert f"column {name!r}: looks like an identifier, by its name" in said
    for name in ("acid", "paid", "humid", "AMP", "platelets"):
        assert said_of(pd.DataFrame({name: random, "x": MEASURED})) is None
    assert said_of(np.column_stack([random, MEASURED])) is None
    running = said_of(pd.DataFrame({"row": range(ROWS), "x": MEASURED}))
    assert running is not None
    assert "column 'row': a different whole number in every row" in running


def test_patients_seen_several_times_are_groups() -> None:
    visits = RNG.integers(0, ROWS // 5, size=ROWS)
    for name, column in (("patient_id", visits), ("subject", [f"p{k}" for k in visits])):
        said = said_of(pd.DataFrame({name: column, "x": MEASURED}))
        assert said is not None
        assert f"column {name!r}: looks like an identifier whose values repeat" in said
        assert "groups=" in said
    assert (
        said_of(pd.DataFrame({"site_id": visits % 8, "subject": ["art", "chemistry"] * 150}))
        is None
    )
    assert said_of(pd.DataFrame({"age": visits, "town": [f"t{k}" for k in visits]})) is None


def seen_four_times(name: str) -> pd.DataFrame:
    """Rows of 75 persons whose sex and birthplace do not change, whose age rises,
    and who are measured anew.
    """
    rng = np.random.default_rng(3)
    person = np.repeat(rng.permutation(ROWS // 4), 4)
    sex, place = rng.integers(2, size=ROWS // 4), rng.integers(9, size=ROWS // 4)
    columns = {name: person, "sex": sex[person], "birthplace": place[person], "x": MEASURED}
    return pd.DataFrame(columns).assign(age=40 + person % 7 + np.arange(ROWS) % 4)


def test_codes_of_groups_are_known_by_what_their_rows_have_in_common() -> None:
    said = said_of(seen_four_times("nr"))
    assert said is not None
    assert (
        "column 'nr': rows with the same value also agree in column 'sex', column 'birthplace'"
        in said
    )
    assert "--groups" in said
    by_name = said_of(seen_four_times("patient_id"))  # said once
    assert by_name is not None
    assert "also agree" not in by_name


def test_names_of_groups_are_not_told_to_be_nominal() -> None:
    table = seen_four_times("nr")
    for codes in (table, table.assign(nr="p" + table["nr"].astype(str))):
        said = said_of(codes)
        assert said is not None
        assert ("--kind COL=nominal" in said) is (codes is table)


def test_what_two_studies_did_not_measure_is_not_in_common() -> None:
    """Rows of a study lack the columns of the other one, and so agree in that,
    whatever their values.
    """
    rng = np.random.default_rng(5)
    first = np.arange(ROWS) < ROWS // 2
    scores = {
        f"score{j}": np.where(first == (j < 2), rng.integers(0, 40, size=ROWS), np.nan)
        for j in range(4)
    }
    assert (
        said_of(pd.DataFrame({"study": np.where(first, "a", "b"), "x": MEASURED} | scores)) is None
    )
    # what a person has in common also counts where half of the persons lack it
    table = seen_four_times("nr")
    table.loc[table["nr"] % 2 == 0, ["sex", "birthplace"]] = np.nan
    said = said_of(table)
    assert said is not None
    assert (
        "column 'nr': rows with the same value also agree in column 'sex', column 'birthplace'"
        in said
    )


def test_steps_of_a_quantity_and_rare_levels_are_no_groups() -> None:
    rng = np.random.default_rng(4)
    age = np.sort(rng.integers(20, 80, size=ROWS)).astype(float)
    steps = pd.DataFrame({"age": rng.permutation(age)})
    steps["born"], steps["decade"], steps["square"] = (
        2020 - steps["age"],
        steps["age"] // 10,
        steps["age"] ** 2,
    )
    rare = rng.random((ROWS, 20)) < 0.01  # hardly any two rows differ in them
    counts = pd.DataFrame(rng.poisson(30, size=(ROWS, 5))).add_prefix("count")
    assert (
        said_of(pd.concat([steps, counts, pd.DataFrame(rare).add_prefix("rare")], axis=1)) is None
    )


def test_a_code_of_places_that_decides_on_prices_is_named() -> None:
    """`birthplace` of nhefs is a number of a state of the USA, on which prices and taxes depend."""
    said = said_of(load_nhefs(folder_with("nhefs"))[0])
    assert said is not None
    assert said.startswith(
        "Some columns may not mean what they say. column 'birthplace': rows with the same value"
    )
    assert said.count(" column 'birthplace': ") == 1


def test_null_and_nan_become_one() -> None:
    column = pl.Series(
        [None, float("nan"), *np.random.default_rng(0).normal(size=18)], dtype=pl.Float64
    )
    said = said_of(
        pl.DataFrame({"x": column, "y": column.fill_nan(None), "z": column.fill_null(0.5)})
    )
    assert said is not None
    assert "column 'x': holds null and NaN, which are both read as missing" in said
    assert "'y'" not in said
    assert "'z'" not in said


def test_one_caution_names_all_and_is_kept_with_the_selection() -> None:
    X = pd.DataFrame(RNG.normal(size=(ROWS, 12)), columns=[f"x{j}" for j in range(12)])
    X["sex"] = ["Male", "male", "Female"] * (ROWS // 3)
    X["age"] = with_mark(AGES, 999)
    selector = KnockoffSelector(
        GaussianKnockoffs(), LassoStatistic(), fdr=0.5, certify=False, random_state=0
    )
    with pytest.warns(KnockoffWarning, match="may not mean what they say"):
        selector.fit(X, X[["x0", "x1", "x2", "x3", "x4"]].sum(axis=1) + RNG.normal(size=ROWS))
    (said,) = [caution for caution in selector.selection_.cautions if "may not mean" in caution]
    assert "column 'sex': 'Male', 'male'" in said
    assert "column 'age': 999 (5 cells)" in said


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "wine", "iris", "digits"])
def test_silence_on_tables_of_scikit_learn(name: str) -> None:
    assert said_of(getattr(datasets, f"load_{name}")(as_frame=True).frame) is None


@pytest.mark.parametrize(
    ("folder", "load"),
    [
        ("support2", lambda data: load_support2(data)[0]),
        ("acic2016", load_acic2016),
        ("hiv", lambda data: load_hiv(data)[0]),
        ("physionet2012", lambda data: load_icu(data)[0]),
        ("gdsc_expression", load_expression),
    ],
)
def test_silence_on_real_tables(folder: str, load: Any) -> None:
    """Mixed types, missing cells, mutations, intensive care and gene expression,
    as the experiments take them.
    """
    assert said_of(load(folder_with(folder))) is None


def test_tails_that_reach_below_zero_are_no_marks() -> None:
    """Whole numbers and decimals around a small mean: the lowest value is -1 now and then,
    and repeats.
    """
    rng = np.random.default_rng(1)
    columns = [np.rint(rng.normal(10, 4, size=1000)) for _ in range(100)]
    columns += [rng.poisson(rng.uniform(3, 12), size=1000) - 1.0 for _ in range(100)]
    columns += [rng.normal(3, 1.5, size=1000).round(1) for _ in range(100)]
    assert sum(column.min() == -1 for column in columns) > 50
    assert sum(len(number_marks(column)[0]) > 0 for column in columns) <= 3
