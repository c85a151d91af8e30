"""Which rows are independent of each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from knockoffs import KnockoffWarning
from knockoffs.row_structure import RowStructure, row_structure

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
INDEPENDENT = RowStructure(None, None, None)


def structure(values: np.ndarray, groups: object = None) -> RowStructure:
    return row_structure(values, groups, who="test")


def test_different_rows_without_groups_are_independent() -> None:
    assert structure(X) == INDEPENDENT
    assert structure(X, np.arange(30)) == INDEPENDENT  # every row is a group of its own


def test_groups_are_numbered_and_counted() -> None:
    found = structure(X, [f"patient {i % 7}" for i in range(30)])
    np.testing.assert_array_equal(found.groups, np.arange(30) % 7)
    assert found.group_count == 7
    assert found.distinct_rows(X) is X
    np.testing.assert_array_equal(found.kept_together, found.groups)


@pytest.mark.parametrize("groups", [None, np.arange(90) // 9])
def test_repeated_rows_are_found_wherever_they_stand(groups: np.ndarray | None) -> None:
    order = RNG.permutation(90) if groups is None else np.arange(90)
    table = np.repeat(X, 3, axis=0)[order]
    with pytest.warns(KnockoffWarning, match="60 of 90 rows repeat another row exactly"):
        found = structure(table, groups)
    assert len(found.distinct_rows(table)) == 30
    np.testing.assert_array_equal(found.all_rows(found.distinct_rows(table)), table)
    labels = pd.DataFrame(table).groupby(list(range(3))).ngroup().to_numpy()
    if groups is None:
        assert len(set(zip(labels, found.kept_together, strict=True))) == 30
    else:
        np.testing.assert_array_equal(found.kept_together, groups)
        assert found.group_count == 10


def test_equal_rows_of_discrete_columns_are_no_surprise() -> None:
    assert structure(RNG.integers(3, size=(200, 2)).astype(float)) == INDEPENDENT


def test_minus_zero_is_zero() -> None:
    table = np.repeat(X, 2, axis=0)
    table[::2, 0], table[1::2, 0] = 0.0, -0.0
    with pytest.warns(KnockoffWarning, match="30 of 60 rows repeat"):
        structure(table)


def test_rows_that_repeat_a_row_of_another_group_are_kept_apart() -> None:
    with pytest.warns(KnockoffWarning, match="30 of 90 rows repeat"):
        found = structure(np.repeat(X, 3, axis=0), np.tile([0, 0, 1], 30))
    assert len(found.distinct_rows(X[:1].repeat(90, axis=0))) == 60
    assert found.group_count == 2
