"""Real tables: what the loaders promise, where the data is at hand;
and the choice of genes and fair pairs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs import check_swap, infer_schema
from knockoffs.datasets import (
    DataNotFoundError,
    gene_walk,
    load_acic2016,
    load_expression,
    load_hiv,
    load_icu,
    load_nhefs,
    load_support2,
    symmetrised,
)
from knockoffs.datasets.real import CHECKSUMS, HOW_TO_GET, VARIABLE, check_data_file, position
from tests.real_data import DATA, folder_with as data

# genes


@pytest.fixture(scope="module")
def expression() -> pd.DataFrame:
    return load_expression(data("gdsc_expression"))


def require_a_walk(walk: pd.DataFrame, table: pd.DataFrame, nearest: int) -> None:
    """Each gene after the first is among the nearest of an earlier one that were free when it was
    chosen.
    """
    likeness = np.abs(np.corrcoef(table.to_numpy().T))
    chosen = [table.columns.get_loc(name) for name in walk.columns]
    assert len(set(chosen)) == len(chosen)
    for k in range(1, len(chosen)):
        free = np.setdiff1d(np.arange(table.shape[1]), chosen[:k])
        ranks = [
            np.sum(likeness[one, free] > likeness[one, chosen[k]] + 1e-12) for one in chosen[:k]
        ]
        assert min(ranks) < nearest


def made_up(genes: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, genes)) + rng.normal(size=(80, 3)) @ rng.normal(size=(3, genes))
    return pd.DataFrame(
        3 + 2 * x, columns=[f"g{j}" for j in range(genes)], index=[f"cell {i}" for i in range(80)]
    )


@pytest.mark.parametrize("nearest", [1, 5, 50])
def test_each_gene_is_near_an_earlier_one(nearest: int) -> None:
    table = made_up(200)
    walk = gene_walk(table, features=30, nearest=nearest, random_state=0)
    require_a_walk(walk, table, nearest)
    np.testing.assert_allclose(walk.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(walk.std(ddof=0), 1)
    assert walk.index.equals(table.index)
    pd.testing.assert_frame_equal(
        walk, gene_walk(table, features=30, nearest=nearest, random_state=0)
    )
    assert not walk.columns.equals(
        gene_walk(table, features=30, nearest=nearest, random_state=1).columns
    )


def test_no_gene_comes_twice_where_few_are_left() -> None:
    table = made_up(40)
    for seed in range(5):
        walk = gene_walk(table, features=40, random_state=seed)
        assert sorted(walk.columns) == sorted(table.columns)


def test_more_genes_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="features=41"):
        gene_walk(made_up(40), features=41, random_state=0)


def test_expression_and_its_walk(expression: pd.DataFrame) -> None:
    assert expression.shape == (975, 5778)
    assert expression.columns.is_unique
    assert expression.index.is_unique
    assert np.isfinite(expression.to_numpy()).all()
    assert expression.to_numpy().std(0).min() > 0
    require_a_walk(gene_walk(expression, features=12, random_state=0), expression, 50)


# intensive care


@pytest.mark.parametrize("rows", ["stays", "snapshots"])
@pytest.mark.parametrize("missing", ["keep", "fill"])
def test_intensive_care(rows: str, missing: str) -> None:
    X, y, groups = load_icu(data("physionet2012"), rows=rows, missing=missing)
    assert len(X) == len(y) > 3000
    assert set(y.unique()) == {0, 1}
    assert 0.05 < y.mean() < 0.3
    numbers = X.select_dtypes("number")
    assert np.isfinite(numbers).to_numpy().all() == (missing == "fill")
    assert (numbers.std() > 0).all()
    assert X.filter(like="ICU ").sum(axis=1).le(1).all()
    assert (groups is None) == (rows == "stays") == ("minute" not in X)
    if groups is not None:
        assert y.groupby(groups).nunique().max() == 1  # one outcome per stay
        assert groups.nunique() < len(groups)


def test_missing_cells_of_intensive_care_are_those_of_the_source() -> None:
    raw = pd.read_parquet(data("physionet2012") / "physionet2012" / "icu_stays.parquet")
    X = load_icu(DATA).X
    shared = [name for name in X.columns if name != "ICUType"]
    pd.testing.assert_frame_equal(X[shared], raw[shared].astype(float))
    assert X["ICUType"].value_counts().to_dict() == {
        "medical": 4293,
        "surgical": 3408,
        "cardiac surgery": 2530,
        "coronary": 1769,
    }
    assert {column.name: column.kind for column in infer_schema(X)}["ICUType"] == "nominal"


def test_filling_in_keeps_what_was_there_and_draws_from_it() -> None:
    raw = pd.read_parquet(data("physionet2012") / "physionet2012" / "icu_stays.parquet")
    X = load_icu(DATA, missing="fill").X
    shared = [name for name in X.columns if name in raw.columns]
    assert shared
    for name in shared:
        there = raw[name].notna().to_numpy()
        np.testing.assert_array_equal(X[name][there], raw[name][there].astype(float))
        assert set(X[name][~there]) <= set(raw[name][there].astype(float))
    pd.testing.assert_frame_equal(X, load_icu(DATA, missing="fill").X)
    assert not X.equals(load_icu(DATA, missing="fill", random_state=1).X)


def test_other_rows_of_intensive_care_are_refused() -> None:
    with pytest.raises(
        ValueError, match="rows='hours' is not valid: pass one of 'stays', 'snapshots'"
    ):
        load_icu("nowhere", rows="hours")
    with pytest.raises(ValueError, match="missing='drop' is not valid: pass one of 'keep', 'fill'"):
        load_icu("nowhere", missing="drop")


# HIV


@pytest.mark.parametrize(("drug_class", "drug"), [("PI", "APV"), ("NRTI", "AZT"), ("NNRTI", "EFV")])
def test_mutations(drug_class: str, drug: str) -> None:
    X, y, selected = load_hiv(data("hiv"), drug_class=drug_class, drug=drug)
    assert set(np.unique(X.to_numpy())) == {False, True}
    assert X.shape == X.select_dtypes(bool).shape
    assert X.sum().min() >= 3
    assert not X.T.duplicated().any()
    assert X.index.equals(y.index)
    assert np.isfinite(y).all()
    assert 0 < selected.sum() < len(selected) == X.shape[1]
    by_position = pd.Series(selected).groupby([position(name) for name in X.columns])
    assert by_position.nunique().max() == 1  # positions are selected, not mutations
    assert load_hiv(DATA, drug_class=drug_class, drug=drug, least=20).X.sum().min() >= 20


def test_another_drug_is_refused() -> None:
    folder = data("hiv")
    with pytest.raises(ValueError, match=r"drug='aspirin' is not valid: pass one of .*'APV'"):
        load_hiv(folder, drug="aspirin")
    with pytest.raises(ValueError, match="drug_class='XX' is not valid"):
        load_hiv(folder, drug_class="XX")


# tables of mixed types


@pytest.mark.parametrize(
    ("outcome", "rows", "values"),
    [
        ("hospdead", 9105, 2),
        ("death", 9105, 2),
        ("d.time", 9105, 1724),
        ("slos", 9105, 167),
        ("totcst", 8217, None),
    ],
)
def test_seriously_ill_patients(outcome: str, rows: int, values: int | None) -> None:
    X, y, groups = load_support2(data("support2"), outcome=outcome)
    assert X.shape == (rows, 31)
    assert groups is None
    assert y.notna().all()
    assert y.name == outcome
    assert values is None or y.nunique() == values
    assert X.isna().to_numpy().mean() == pytest.approx(0.13, abs=0.01)
    assert not {"sno", "prg2m", "surv2m", "dnr", "hospdead", "charges"} & set(X.columns)
    kinds = {column.name: column.kind for column in infer_schema(X)}
    assert [kinds[name] for name in ("age", "sex", "race", "num.co")] == [
        "continuous",
        "binary",
        "nominal",
        "ordinal",
    ]


@pytest.mark.parametrize(
    ("outcome", "rows"), [("wt82_71", 1566), ("sbp", 1552), ("dbp", 1548), ("death", 1629)]
)
def test_smokers(outcome: str, rows: int) -> None:
    X, y, groups = load_nhefs(data("nhefs"), outcome=outcome)
    assert X.shape == (rows, 54)
    assert groups is None
    assert y.notna().all()
    assert "qsmk" in X
    assert not {"seqn", "wt82", "wt82_71", "sbp", "dbp", "death", "yrdth"} & set(X.columns)
    assert sum(column.kind == "nominal" for column in infer_schema(X)) == 14


def test_covariates_of_the_competition() -> None:
    X = load_acic2016(data("acic2016"))
    assert X.shape == (4802, 58)
    assert X.notna().to_numpy().all()
    assert [c.name for c in infer_schema(X) if c.kind == "nominal"] == ["x_2", "x_21", "x_24"]


def test_other_outcomes_are_refused() -> None:
    for load in (load_support2, load_nhefs):
        with pytest.raises(ValueError, match=r"outcome='luck' is not valid: pass one of '"):
            load("nowhere", outcome="luck")


@pytest.mark.parametrize("file", [file for file in CHECKSUMS if not file.startswith("gdsc")])
def test_the_files_at_hand_are_those_of_the_published_figures(file: str) -> None:
    check_data_file(data(file.split("/")[0]), file)


# where the data is not


LOADERS = {
    "gdsc_expression": load_expression,
    "physionet2012": load_icu,
    "hiv": load_hiv,
    "support2": load_support2,
    "nhefs": load_nhefs,
    "acic2016": load_acic2016,
}


@pytest.mark.parametrize(("folder", "load"), LOADERS.items(), ids=LOADERS.keys())
def test_missing_data_say_how_to_get_them(
    folder: str, load: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(
        DataNotFoundError, match=rf"{folder}/.* is needed\. Pass data= .*, or set {VARIABLE}"
    ) as said:
        load()
    assert HOW_TO_GET[folder] in str(said.value)
    for call in (lambda: load(tmp_path), lambda: load(str(tmp_path))):
        with pytest.raises(FileNotFoundError, match="does not exist") as said:
            call()
        assert str(tmp_path) in str(said.value)
        assert HOW_TO_GET[folder] in str(said.value)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(DataNotFoundError, match="does not exist"):
        load()


# fair pairs


def test_symmetrised_pairs_keep_each_pair_of_cells() -> None:
    rng = np.random.default_rng(0)
    x, x_tilde = rng.normal(size=(2, 500, 4))
    kept, kept_tilde = x.copy(), x_tilde.copy()
    u, u_tilde = symmetrised(x, x_tilde, random_state=0)
    np.testing.assert_array_equal(np.sort([u, u_tilde], axis=0), np.sort([x, x_tilde], axis=0))
    swapped = u != x
    assert abs(swapped.mean() - 0.5) < 4 * 0.5 / np.sqrt(2000)
    assert np.abs(np.corrcoef(swapped.T) - np.eye(4)).max() < 4 / np.sqrt(500)
    np.testing.assert_array_equal([x, x_tilde], [kept, kept_tilde])
    np.testing.assert_array_equal(symmetrised(x, x_tilde, random_state=0)[0], u)


def test_symmetrised_pairs_are_exact_whatever_the_knockoffs_were() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, 4)) + rng.normal(size=(150, 1))
    x_tilde = np.exp(rng.normal(size=x.shape))
    assert check_swap((x, x_tilde), random_state=0).validity == "fail"
    assert [check_swap(symmetrised(x, x_tilde, k), random_state=k).validity for k in range(5)] == [
        "pass"
    ] * 5
