"""Columns that add up: given the others each has one value,
so that its only valid knockoff is a copy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs import GaussianKnockoffs, KnockoffSelector, KnockoffWarning, RandomizationTest
from knockoffs.kinds.dependence import equal_where_present, linear_dependence

ROWS = 800
TOWNS = ["Bath", "Ely", "York", "Wells"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Indicators of every town (one of them rare), parts with their total, and free columns."""
    rng = np.random.default_rng(0)
    town = rng.choice(4, p=[0.5, 0.3, 0.18, 0.02], size=ROWS)
    parts = rng.poisson(3, size=(ROWS, 2))
    free = rng.normal(size=(ROWS, 3)) + np.column_stack([town, parts])
    columns = np.column_stack([np.eye(4)[town], parts, parts.sum(1), free])
    return pd.DataFrame(columns, columns=[*TOWNS, "in", "out", "total", "a", "b", "c"])


def test_exact_relations_are_found_and_near_ones_are_not(table: pd.DataFrame) -> None:
    noise = np.random.default_rng(1).normal(size=ROWS)
    table = table.assign(near=table["a"] + table["b"] + 1e-3 * noise)
    found = linear_dependence(table.to_numpy(), np.arange(table.shape[1]))
    assert table.columns[found.exact].tolist() == [*TOWNS, "in", "out", "total"]
    assert table.columns[found.own < 1e-4].tolist() == [
        *TOWNS,
        "in",
        "out",
        "total",
        "a",
        "b",
        "near",
    ]


def test_columns_that_are_swapped_together_do_not_determine_each_other(table: pd.DataFrame) -> None:
    unit = np.array([0, 0, 0, 0, 1, 1, 2, 3, 4, 5])
    found = linear_dependence(table.to_numpy(), unit)
    assert table.columns[found.exact].tolist() == ["total"]  # by two that are swapped together


def test_knockoffs_of_columns_that_add_up_are_copies(table: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.warns(
        KnockoffWarning,
        match=r"column 'Bath'.*and 2 more: a linear combination.*Drop one column of",
    ):
        model = GaussianKnockoffs(random_state=0).fit(table)
    drawn = model.sample(table)
    determined = [*TOWNS, "in", "out", "total"]
    pd.testing.assert_frame_equal(drawn[determined], table[determined])
    assert (drawn[["a", "b", "c"]] != table[["a", "b", "c"]]).to_numpy().all()
    both = np.corrcoef(table["b"], drawn["b"])[0, 1], np.corrcoef(table["in"], drawn["b"])[0, 1]
    # they are looked at
    assert both[1] == pytest.approx(np.corrcoef(table["in"], table["b"])[0, 1], abs=0.1)
    assert both[0] < 0.95
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(GaussianKnockoffs.load(tmp_path / "model").sample(table), drawn)


def test_what_others_determine_is_never_selected(table: pd.DataFrame) -> None:
    """Given all others it tells nothing, however strongly y depends on it;
    without one of each set it can.
    """
    y = table[["Bath", "Ely", "total"]] @ [3.0, -3.0, 1.0] + np.random.default_rng(2).normal(
        size=ROWS
    )
    selector = KnockoffSelector(
        "gaussian", "lasso", fdr=0.5, offset=0, certify=False, random_state=0
    )
    with pytest.warns(KnockoffWarning, match="linear combination"):
        found = selector.fit(table, y).selection_.discoveries
    assert not set(found) & {*TOWNS, "in", "out", "total"}
    found = selector.fit(table.drop(columns=["Wells", "total"]), y).selection_.discoveries
    assert set(found) >= {"Bath", "Ely", "in", "out"}


def test_what_others_determine_has_no_p_value(table: pd.DataFrame) -> None:
    y = table["total"] + np.random.default_rng(2).normal(size=ROWS)
    test = RandomizationTest(resamples=200, random_state=0)
    with pytest.warns(KnockoffWarning, match="Drop") as warned:
        result = test.fit(table, y).result_.to_frame().set_index("feature")
    assert (result.loc[[*TOWNS, "in", "out", "total"], "p"] == 1).all()
    for said in ("a linear combination of other columns", "its p-value is 1"):
        assert any(said in str(warning.message) for warning in warned)


def test_columns_that_are_equal_where_both_are_there_are_copied_and_named(tmp_path: Path) -> None:
    """One of them is the other with gaps filled in;
    one that differs in a single row is another column.
    """
    rng = np.random.default_rng(3)
    filled = rng.normal(size=ROWS)
    raw = np.where(rng.random(ROWS) < 0.3, np.nan, filled)
    nearly = raw.copy()
    nearly[np.flatnonzero(~np.isnan(raw))[-1]] += 1
    hardly_shared = np.where(np.isnan(raw) | (np.arange(ROWS) < 20), filled, np.nan)
    free = filled + rng.normal(size=ROWS)
    table = pd.DataFrame(
        {
            "raw": raw,
            "free": free,
            "filled": filled,
            "nearly": nearly,
            "hardly shared": hardly_shared,
        }
    )
    pairs = equal_where_present(table.to_numpy(), np.ones(5, dtype=bool))
    assert pairs == [(0, 2), (4, 2)]  # `filled` is equal to both wherever they are there
    with pytest.warns(
        KnockoffWarning, match=r"'raw' \(as column 'filled'\).*equal wherever both are there"
    ):
        model = GaussianKnockoffs(random_state=0).fit(table[["raw", "free", "filled"]])
    drawn = model.sample(table[["raw", "free", "filled"]])
    pd.testing.assert_frame_equal(drawn[["raw", "filled"]], table[["raw", "filled"]])
    assert (drawn["free"] != table["free"]).all()
    assert np.corrcoef(drawn["free"], filled)[0, 1] == pytest.approx(
        np.corrcoef(free, filled)[0, 1], abs=0.1
    )
    model.save(tmp_path / "model")
    again = GaussianKnockoffs.load(tmp_path / "model").sample(table[["raw", "free", "filled"]])
    pd.testing.assert_frame_equal(again, drawn)


def test_flags_that_are_nearly_always_off_say_too_little_to_be_the_same() -> None:
    first, second = np.zeros((2, ROWS))
    first[:9] = second[:9] = 1
    second[ROWS // 2 :] = np.nan
    assert equal_where_present(np.column_stack([first, second]), np.ones(2, dtype=bool)) == []
    first[:12] = second[:12] = 1
    assert equal_where_present(np.column_stack([first, second]), np.ones(2, dtype=bool)) == [(1, 0)]
