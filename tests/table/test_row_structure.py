"""Which rows are independent of each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from knockoffs import KnockoffWarning
from knockoffs.table.row_structure import RowStructure, row_structure
from knockoffs.table.table import read_table

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


def test_rows_that_are_all_equal_are_refused_as_such() -> None:
    with pytest.raises(
        ValueError, match=r"^test: every column of X is constant \(all 30 rows are equal\)"
    ):
        structure(np.ones((30, 3)))


def test_minus_zero_is_zero() -> None:
    table = np.repeat(X, 2, axis=0)
    table[::2, 0], table[1::2, 0] = 0.0, -0.0
    with pytest.warns(KnockoffWarning, match="30 of 60 rows repeat"):
        structure(table)


def test_groups_that_share_rows_are_joined() -> None:
    """Copies of patients under new names are not independent of the patients."""
    patient = np.arange(30) // 3
    with pytest.warns(KnockoffWarning) as caught:
        found = structure(np.tile(X, (3, 1)), np.concatenate([patient, patient + 10, patient + 20]))
    said = " ".join(str(warning.message) for warning in caught)
    assert "60 of 90 rows repeat another row exactly" in said
    assert "joined: of 30 groups 10 are left" in said
    assert found.group_count == 10
    np.testing.assert_array_equal(found.kept_together, np.tile(patient, 3))


def test_repeated_rows_of_rounded_columns_are_found() -> None:
    """No single column tells rows apart, but a few of them do."""
    rounded = np.round(RNG.normal(size=(300, 12)), 1)
    with pytest.warns(KnockoffWarning, match="600 of 900 rows repeat"):
        assert len(structure(np.tile(rounded, (3, 1))).distinct_rows(np.zeros(900))) == 300


def test_equal_rows_of_strongly_dependent_few_valued_columns_are_no_surprise() -> None:
    kind = RNG.integers(3, size=500)
    prototypes = RNG.integers(2, size=(3, 60))
    noise = RNG.random((500, 60)) < 0.01
    assert structure((prototypes[kind] ^ noise).astype(float)) == INDEPENDENT


def test_rows_that_miss_the_same_cells_can_be_equal() -> None:
    with_gaps = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    with_gaps[:, 0] = X[:, 0]
    table = np.repeat(with_gaps, 2, axis=0)
    table[::2] = np.where(np.isnan(table[::2]), -np.nan, table[::2])  # another nan
    with pytest.warns(KnockoffWarning, match="30 of 60 rows repeat another row exactly"):
        found = structure(table)
    np.testing.assert_array_equal(found.all_rows(found.distinct_rows(table)), table)
    table[::2, 1] = np.where(np.isnan(table[::2, 1]), 0.0, np.nan)  # a gap on one side alone
    assert structure(table) == INDEPENDENT


def test_tables_are_taken_apart_and_put_together() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "high", None), "c": X[:, 2]})
    frame = pd.concat([frame, frame[::-1]], ignore_index=True)
    table = read_table(frame, who="test")
    with pytest.warns(KnockoffWarning, match="30 of 60"):
        found = structure(table.codes)
    distinct = found.distinct_rows(table)
    assert distinct.shape == (30, 3)
    np.testing.assert_array_equal(found.all_rows(distinct).codes, table.codes)
    pd.testing.assert_frame_equal(distinct.to_native(), found.distinct_rows(frame))
