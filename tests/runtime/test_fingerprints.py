"""Rows that a model has seen are recognised."""

from __future__ import annotations

import numpy as np
import pytest

from knockoffs.runtime import fingerprints
from knockoffs.runtime.fingerprints import row_fingerprints, share_of_known, smallest_fingerprints

X = np.random.default_rng(0).normal(size=(4000, 3))


def test_fingerprints_depend_on_the_values_of_a_row_alone() -> None:
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(row_fingerprints(X[order]), row_fingerprints(X)[order])
    assert len(set(row_fingerprints(X))) == len(X)
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert len(set(row_fingerprints(zeros))) == 1


@pytest.mark.parametrize("kept", [400, 5000])
def test_the_share_of_rows_that_were_seen_is_estimated(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(fingerprints, "KEPT", kept)
    known = smallest_fingerprints(X[:3000])
    assert len(known) == min(kept, 3000)
    for rows, share in ((slice(0, 1000), 1.0), (slice(2500, 3500), 0.5), (slice(3000, 4000), 0.0)):
        found = share_of_known(row_fingerprints(X[rows]), known)
        assert found == pytest.approx(share, abs=0.0 if share in (0, 1) else 0.15)


def test_missing_cells_are_alike() -> None:
    table = np.where(X[:50] > 1, np.nan, X[:50])
    assert np.isnan(table).any()
    other = np.where(np.isnan(table), -np.nan, table)
    np.testing.assert_array_equal(row_fingerprints(other), row_fingerprints(table))
    assert len(set(row_fingerprints(table))) == 50
    assert (row_fingerprints(np.nan_to_num(table)) != row_fingerprints(table)).any()
    assert share_of_known(row_fingerprints(table), smallest_fingerprints(other)) == 1
