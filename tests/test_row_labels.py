"""Tables that are paired by position: rows and columns under the same labels in another order are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from knockoffs.row_labels import require_same_order

KINDS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame({name: frame[name].to_numpy() for name in frame}),
    "pyarrow": lambda frame: pa.table({name: frame[name].to_numpy() for name in frame}),
}

LABELS = {
    "numbers": pd.RangeIndex(5),
    "names": pd.Index([f"patient {i}" for i in range(5)]),
    "dates": pd.date_range("2020-01-01", periods=5),
    "several levels": pd.MultiIndex.from_product([["a"], range(5)]),
    "a missing label": pd.Index([1.0, np.nan, 2.0, 3.0, 4.0]),
    "several types": pd.Index([0, "a", 1.5, None, "b"], dtype=object),
}
ORDER = [0, 3, 2, 4, 1]


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("other", ["y", "groups", "X_tilde"])
def test_row_labels_in_another_order_are_refused(labels: pd.Index, other: str) -> None:
    X = pd.DataFrame(np.eye(5), index=labels)
    table = X if other == "X_tilde" else X[0]
    require_same_order(X, who="Test", **{other: table})
    with pytest.raises(
        ValueError,
        match=rf"^Test: {other} has the row labels of X in another order: row 1 is .*"
        rf"Pass {other}\.loc\[X\.index\] to pair rows by label, or {other}\.to_numpy\(\)",
    ):
        require_same_order(X, who="Test", **{other: table.iloc[ORDER]})
    require_same_order(X, who="Test", **{other: table.iloc[ORDER].to_numpy()})
    require_same_order(X, who="Test", **{other: table.iloc[ORDER].loc[X.index]})


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("others", LABELS.values(), ids=LABELS)
def test_labels_of_unrelated_sets_are_ignored(labels: pd.Index, others: pd.Index) -> None:
    if labels is not others:
        require_same_order(pd.DataFrame(np.eye(5), index=labels), y=pd.Series(range(5), index=others), who="Test")


def test_labels_that_occur_twice() -> None:
    """In one order they pass; in another they are refused, though they cannot say which rows belong together."""
    X = pd.DataFrame(np.eye(4), index=["a", "a", "b", "c"])
    require_same_order(X, y=pd.Series(range(4), index=["a", "a", "b", "c"]), who="Test")
    require_same_order(X, y=pd.Series(range(4), index=["a", "b", "b", "c"]), who="Test")  # another set
    with pytest.raises(
        ValueError, match=r"row 1 is 'a' in X and 'b' in y\. Bring both into one order.*y\.to_numpy"
    ):
        require_same_order(X, y=pd.Series(range(4), index=["a", "b", "a", "c"]), who="Test")


@pytest.mark.parametrize("kind", KINDS)
def test_columns_in_another_order_are_refused(kind: str) -> None:
    X = KINDS[kind](pd.DataFrame(np.eye(3), columns=["a", "b", "c"]))
    reordered = KINDS[kind](pd.DataFrame(np.eye(3), columns=["a", "c", "b"]))
    require_same_order(X, X_tilde=X, who="Test")
    said = r"another order: 'a', 'c', 'b' instead of 'a', 'b', 'c'\. Pass X_tilde\[list"
    with pytest.raises(ValueError, match=said):
        require_same_order(X, X_tilde=reordered, who="Test")
    for unlabelled in (np.eye(3), np.eye(3).tolist(), KINDS[kind](pd.DataFrame(np.eye(3), columns=[*"xyz"]))):
        require_same_order(X, X_tilde=unlabelled, who="Test")
        require_same_order(unlabelled, X_tilde=X, who="Test")
