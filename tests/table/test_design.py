"""Columns that models see: no gaps, one unit per feature, and nothing that a swap could change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from knockoffs.table.design import MOST_INDICATORS, Design, aligned, paired_design
from knockoffs.table.table import read_table

ROWS = 200


def drawn(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "town": rng.choice([f"town {i}" for i in range(40)], ROWS),
            "length": np.where(rng.random(ROWS) < 0.2, np.nan, rng.gamma(2, 3, ROWS)),
            "colour": pd.Series(rng.choice(["red", "green", "blue", None], ROWS), dtype="category"),
            "count": rng.poisson(3, ROWS),
            "flag": pd.Series(rng.choice([True, False, None], ROWS), dtype="boolean"),
        }
    )


X, X_TILDE = drawn(0), drawn(1)


def design_of(x: pd.DataFrame, x_tilde: pd.DataFrame) -> Design:
    return paired_design(*aligned(read_table(x, who="T"), read_table(x_tilde, who="T"), who="T"))


def test_the_columns_of_each_kind() -> None:
    design = design_of(X, X_TILDE)
    np.testing.assert_array_equal(np.bincount(design.unit), [MOST_INDICATORS, 2, 4, 1, 2])
    assert (design.features, design.plain) == (5, False)
    x, _ = design.tables
    assert np.isfinite(x).all()
    # indicators of the levels that are kept, the most frequent ones, and of missing cells
    kept = pd.concat([X, X_TILDE])["town"].value_counts().iloc[MOST_INDICATORS - 1]
    np.testing.assert_array_less(
        kept - 1, np.concatenate(design.tables)[:, design.unit == 0].sum(0)
    )
    np.testing.assert_array_equal(x[:, design.unit == 2].sum(1), 1)
    np.testing.assert_array_equal(x[:, design.unit == 3][:, 0], X["count"])
    value, gap = x[:, design.unit == 1].T
    np.testing.assert_array_equal(gap, X["length"].isna())
    np.testing.assert_array_equal(value[gap == 0], X["length"].dropna())
    np.testing.assert_allclose(value[gap == 1], pd.concat([X, X_TILDE])["length"].mean())
    assert design.indicators.sum() == MOST_INDICATORS + 1 + 4 + 1
    for flags, table in zip(design.missing(), (X, X_TILDE), strict=True):
        assert not flags[:, design.indicators].any()
        assert flags.sum() == table["length"].isna().sum() + table["flag"].isna().sum()


def test_a_table_of_numbers_stays_as_it_is() -> None:
    x, x_tilde = (table[["count"]].assign(half=table["count"] / 2) for table in (X, X_TILDE))
    design = design_of(x, x_tilde)
    assert design.plain
    assert not design.indicators.any()
    np.testing.assert_array_equal(design.tables[0], x)
    np.testing.assert_array_equal(design.unit, [0, 1])


@pytest.mark.parametrize(
    "names", [["town"], ["length", "flag"], ["colour", "count"], list(X.columns)], ids=str
)
def test_a_swap_of_features_swaps_their_columns_bit_by_bit(names: list[str]) -> None:
    one, other = X.copy(), X_TILDE.copy()
    one[names], other[names] = X_TILDE[names], X[names]
    design, swapped = design_of(X, X_TILDE), design_of(one, other)
    changed = np.isin(np.array(X.columns)[design.unit], names)
    x, x_tilde = design.tables
    np.testing.assert_array_equal(swapped.tables[0], np.where(changed, x_tilde, x))
    np.testing.assert_array_equal(swapped.tables[1], np.where(changed, x, x_tilde))


def levels_of(one: list[str], other: list[str], *, ordered: bool) -> tuple[str, ...]:
    tables = (
        pd.DataFrame({"a": pd.Categorical(levels, levels, ordered=ordered)})
        for levels in (one, other)
    )
    x, x_tilde = aligned(*(read_table(table, who="T") for table in tables), who="T")
    assert x.levels == x_tilde.levels
    assert x.levels[0] is not None
    return x.levels[0]


def test_levels_are_numbered_alike_whichever_table_they_come_from() -> None:
    for ordered in (True, False):
        for one, other, expected in (
            (["c", "a", "b"], ["c", "b"], ("c", "a", "b")),  # one order says it all
            (["a", "c"], ["b", "c"], ("a", "b", "c")),  # both in the order of their names
        ):
            assert levels_of(one, other, ordered=ordered) == expected
            assert levels_of(other, one, ordered=ordered) == expected
    assert levels_of(["c", "a"], ["a", "b"], ordered=False) == ("a", "b", "c")
    with pytest.raises(
        ValueError, match=r"T: X and X_tilde differ.*ordered categories in different orders"
    ):
        levels_of(["c", "a"], ["a", "c"], ordered=True)


def test_text_takes_the_order_of_the_categories_beside_it() -> None:
    """As in knockoffs of ordered categories that were written to a text file."""
    grades = ["low", "mid", "high"] * 4
    x = pd.DataFrame({"grade": pd.Categorical(grades, ["low", "mid", "high"], ordered=True)})
    drawn = pd.DataFrame({"grade": [*grades[1:], "best"]})
    x, x_tilde = aligned(read_table(x, who="T"), read_table(drawn, who="T"), who="T")
    assert x.levels == x_tilde.levels == (("low", "mid", "high", "best"),)
    assert x.kinds == x_tilde.kinds == {0: "ordinal"}
    np.testing.assert_array_equal(x.codes[:, 0], np.tile([0, 1, 2], 4))
    np.testing.assert_array_equal(x_tilde.codes[:, 0], [*x.codes[1:, 0], 3])


def test_a_column_that_is_missing_throughout_one_of_the_tables() -> None:
    x, x_tilde = X[["town"]], X_TILDE[["town"]].assign(town=None)
    first, second = design_of(x, x_tilde), design_of(x_tilde, x)
    np.testing.assert_array_equal(first.tables[0], second.tables[1])
    np.testing.assert_array_equal(first.tables[1], second.tables[0])
    np.testing.assert_array_equal(first.tables[1][:, -1], 1)
