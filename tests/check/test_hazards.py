"""Identifiers and copies of the target, also in tables with levels and missing cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from knockoffs import KnockoffWarning
from knockoffs.check.hazards import copies_of_target, warn_of_hazards
from knockoffs.table.doubts import identifiers
from knockoffs.table.table import read_table
from knockoffs.targets.classes import Classes

ROWS = 60
RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=ROWS)
GAPS = RNG.random(ROWS) < 0.3
Y = RNG.normal(size=ROWS)
CLASSES = RNG.integers(3, size=ROWS).astype(float)


def columns(*values: object) -> np.ndarray:
    return np.column_stack(values).astype(float)


def test_missing_cells_do_not_hide_an_identifier() -> None:
    numbers = np.arange(ROWS) + 1000.0
    shuffled = RNG.permutation(numbers)
    counts = RNG.poisson(4, ROWS).astype(float)
    table = columns(numbers, shuffled, counts, NOISE)
    np.testing.assert_array_equal(identifiers(table), [0, 1])
    np.testing.assert_array_equal(identifiers(np.where(GAPS[:, None], np.nan, table)), [0, 1])
    assert len(identifiers(np.full((ROWS, 2), np.nan))) == 0


def test_a_copy_of_a_quantity_may_have_gaps() -> None:
    with_gaps = np.where(GAPS, np.nan, 7 - 3 * Y)
    mostly_missing = np.where(np.arange(ROWS) < 5, Y, np.nan)  # five cells are not much to go by
    table = columns(Y, with_gaps, mostly_missing, NOISE, np.where(GAPS, np.nan, NOISE))
    np.testing.assert_array_equal(copies_of_target(table, Y), [0, 1])


def test_classes_under_other_numbers_where_one_class_is_a_gap() -> None:
    renumbered = np.array([2.0, 0.0, 1.0])[CLASSES.astype(int)]
    one_missing = np.where(CLASSES == 2, np.nan, CLASSES)  # such as the cause of a death
    table = columns(renumbered, one_missing, np.where(GAPS, np.nan, CLASSES), CLASSES == 1, NOISE)
    np.testing.assert_array_equal(copies_of_target(table, CLASSES), [0, 1, 2])


@pytest.mark.parametrize("target", [CLASSES, CLASSES * 1.5 + 0.25])
def test_levels_that_decide_the_target(target: np.ndarray) -> None:
    wards = 3 * RNG.integers(4, size=ROWS) + CLASSES  # twelve wards, each with one class
    by_chance = np.arange(ROWS) // 2.0  # two rows of each level
    table = columns(wards, by_chance, RNG.integers(12, size=ROWS), np.arange(ROWS))
    np.testing.assert_array_equal(copies_of_target(table, target, np.ones(4, dtype=bool)), [0])
    # numbers with an order may well decide it, as a cut does
    assert len(copies_of_target(table, target)) == 0


def test_few_rows_decide_nothing() -> None:
    levels, target = np.array([0, 0, 1, 1, 2.0]), np.array([0, 0, 1, 1, 0.0])
    assert len(copies_of_target(levels[:, None], target, np.array([True]))) == 0


def test_hazards_of_a_mixed_table_are_said_by_name() -> None:
    names = np.array(["a", "b", "c"], dtype=object)
    frame = pd.DataFrame({f"x{j}": RNG.normal(size=ROWS) for j in range(30)})
    frame["leak"] = names[CLASSES.astype(int)]
    frame["row"] = np.where(GAPS, np.nan, np.arange(ROWS))
    frame["site"] = RNG.choice(names, size=ROWS)
    with pytest.warns(KnockoffWarning) as caught:
        warn_of_hazards(read_table(frame, who="test"), Classes.numbered(CLASSES))
    said = sorted(str(warning.message) for warning in caught)
    assert len(said) == 2
    assert said[0].startswith(
        "Some columns may not mean what they say. column 'row': a different whole number in"
    )
    assert said[1].startswith("column 'leak': a copy of the target")
