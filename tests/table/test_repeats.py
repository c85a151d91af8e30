"""Rows that are equal by chance are no copies, however columns depend on each other;
copies are found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from knockoffs import KnockoffWarning, RandomizationTest
from knockoffs.runtime.arrays import Array
from knockoffs.table.row_structure import row_structure

Rows = Callable[[np.random.Generator, int], Array]


def ages(rng: np.random.Generator, rows: int) -> Array:
    return np.clip(np.rint(rng.normal(50, 15, rows)), 18, 95)


def flags(rng: np.random.Generator, rows: int, share: float, count: int = 1) -> Array:
    return (rng.random((rows, count)) < share).astype(float)


def scale(rng: np.random.Generator, rows: int) -> Array:
    """0 to 100, with 40 % of the rows at either end."""
    u = rng.random(rows)
    return np.where(u < 0.4, 0.0, np.where(u < 0.8, 100.0, rng.integers(1, 100, rows)))


def items(rng: np.random.Generator, rows: int, count: int) -> Array:
    return np.clip(
        np.rint(3 + rng.normal(size=(rows, 1)) + 0.4 * rng.normal(size=(rows, count))), 1, 5
    )


def heaped(rng: np.random.Generator, rows: int) -> Array:
    """Amounts of which half are round."""
    return np.where(
        rng.random(rows) < 0.5, rng.choice([10, 20, 50, 100.0], rows), rng.lognormal(3, 1, rows)
    )


def detected(rng: np.random.Generator, rows: int, decimals: int) -> Array:
    return np.maximum(np.round(rng.lognormal(0, 1, rows), decimals), 0.3)


def body(rng: np.random.Generator, rows: int) -> Array:
    """Height, weight, and the index with two decimals."""
    height = np.rint(rng.normal(170, 10, rows))
    weight = np.rint(72 + 0.8 * (height - 170) + rng.normal(0, 12, rows))
    return np.column_stack([height, weight, np.round(1e4 * weight / height**2, 2)])


BY_CHANCE: dict[str, Rows] = {
    "a scale and rare flags": lambda rng, n: np.column_stack(
        [scale(rng, n), flags(rng, n, 0.03, 2)]
    ),
    "an age and an age group": lambda rng, n: np.column_stack([a := ages(rng, n), a > 50]),
    "an age three times": lambda rng, n: np.column_stack([a := ages(rng, n), 2 * a, a**2]),
    "an age and flags that follow it": lambda rng, n: np.column_stack(
        [a := ages(rng, n), *(rng.random(n) < 1 / (1 + np.exp((60 - a) / k)) for k in (2, 4, 8))]
    ),
    "a laboratory value with a limit": lambda rng, n: detected(rng, n, 1)[:, None],
    "two limits": lambda rng, n: np.column_stack([np.maximum(rng.lognormal(0, 1, (n, 2)), 0.5)]),
    "decimals and a flag": lambda rng, n: np.column_stack(
        [detected(rng, n, 2), flags(rng, n, 0.1)]
    ),
    "counts with many zeros": lambda rng, n: np.rint(
        rng.lognormal(3, 1, (n, 5)) * flags(rng, n, 0.3, 5)
    ),
    "round amounts": lambda rng, n: np.column_stack([heaped(rng, n), heaped(rng, n)]),
    "items of a questionnaire": lambda rng, n: items(rng, n, 8),
    "columns that nearly agree": lambda rng, n: np.rint(
        10 * (rng.normal(size=(n, 1)) + 0.02 * rng.normal(size=(n, 8)))
    ),
    "a body mass index": lambda rng, n: body(rng, n),
    "a day, its month and its weekday": lambda rng, n: np.column_stack(
        [day := rng.integers(365, size=n), day // 30, day % 7]
    ),
    "a site and its altitude": lambda rng, n: np.column_stack(
        [s := rng.integers(20, size=n), np.sqrt(s + 0.1) * 97]
    ),
    "indicators of a category": lambda rng, n: np.eye(12)[rng.integers(12, size=n)],
    "one flag": lambda rng, n: flags(rng, n, 0.4),
    "a flag and its opposite": lambda rng, n: np.column_stack([f := flags(rng, n, 0.4), 1 - f]),
}

COPIED: dict[str, Rows] = {
    "one quantity": lambda rng, n: rng.normal(size=(n, 1)),
    "a quantity and a flag": lambda rng, n: np.column_stack(
        [rng.normal(size=n), flags(rng, n, 0.3)]
    ),
    "quantities": lambda rng, n: rng.normal(size=(n, 5)),
    "zero or a quantity, twice": lambda rng, n: rng.lognormal(3, 1, (n, 2)) * flags(rng, n, 0.6, 2),
    "a quantity, an age and flags": lambda rng, n: np.column_stack(
        [rng.normal(size=n), ages(rng, n), flags(rng, n, 0.2, 4)]
    ),
    "rounded numbers": lambda rng, n: np.round(rng.normal(size=(n, 6)), 1),
    "whole numbers and flags": lambda rng, n: np.column_stack(
        [ages(rng, n), np.rint(rng.normal(100, 12, (n, 4))), flags(rng, n, 0.3, 5)]
    ),
    "items of a questionnaire": lambda rng, n: np.clip(np.rint(rng.normal(3, 1.2, (n, 30))), 1, 5),
}

COPIES: dict[str, Callable[[np.random.Generator, Array], Array]] = {
    "a tenth": lambda rng, x: np.concatenate([x, x[rng.integers(len(x), size=len(x) // 10)]]),
    "as many again": lambda rng, x: np.concatenate([x, x[rng.integers(len(x), size=len(x))]]),
    "a bootstrap": lambda rng, x: x[rng.integers(len(x), size=len(x))],
    "2 to 5 visits": lambda rng, x: np.repeat(x, rng.integers(2, 6, len(x)), axis=0),
}


def count_distinct(table: Array) -> int | None:
    """How many distinct rows the table counts as; None where repeats are taken as chance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        found = row_structure(table.astype(float), None, who="test").distinct
    return None if found is None else len(found)


@pytest.mark.parametrize("rows", [60, 300, 2000])
@pytest.mark.parametrize("name", BY_CHANCE)
def test_rows_that_are_equal_by_chance_are_no_copies(name: str, rows: int) -> None:
    repeated = 0
    for seed in range(20):
        table = BY_CHANCE[name](np.random.default_rng(seed), rows).astype(float)
        repeated += len(table) - len(np.unique(table, axis=0))
        assert count_distinct(table) is None
    assert repeated > 0


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", COPIED)
def test_copies_are_found(name: str, how: str) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = COPIES[how](rng, COPIED[name](rng, 300))
        assert count_distinct(table) == len(np.unique(table, axis=0))


def test_one_copy_among_quantities_is_found() -> None:
    for seed in range(10):
        table = np.random.default_rng(seed).normal(size=(300, 5))
        assert count_distinct(np.concatenate([table, table[:1]])) == 300


def test_units_and_the_order_of_columns_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    chance, copied = (
        BY_CHANCE["a scale and rare flags"](rng, 300),
        COPIED["rounded numbers"](rng, 300),
    )
    copied = COPIES["a tenth"](rng, copied)
    for change in (lambda x: x[:, ::-1], lambda x: 0.1 * x + 3, lambda x: -1e6 * x):
        assert count_distinct(change(chance)) is None
        assert count_distinct(change(copied)) == count_distinct(copied) == 300


def test_a_single_feature_of_two_values_is_refused_for_want_of_others() -> None:
    """60 rows are enough of them."""
    rng = np.random.default_rng(0)
    with pytest.raises(
        ValueError, match=r"X has 1 column .*at least 2 are needed. Add the other features"
    ):
        RandomizationTest(random_state=0).fit(flags(rng, 60, 0.5), rng.normal(size=60))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
@pytest.mark.parametrize(
    "name", ["a scale and rare flags", "an age and an age group", "a laboratory value with a limit"]
)
def test_p_values_of_discrete_columns_hold_their_level(name: str) -> None:
    """The density is that of all rows: where distinct rows alone count,
    p <= .05 in up to .30 of the tables.
    """
    found = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        table = np.column_stack([BY_CHANCE[name](rng, 300), flags(rng, 300, 0.3)])
        test = RandomizationTest(
            statistic="linear", resamples=199, exceedances=200, random_state=seed
        )
        found.append(test.fit(table, rng.normal(size=300)).pvalues_[0])
    assert np.mean(np.array(found) <= 0.05) < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / len(found))
