"""Tables that are paired by position: rows and columns under the same labels in another order are
refused.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from knockoffs import KnockoffWarning, RandomizationTest
from knockoffs.table.row_structure import require_same_order

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
        require_same_order(
            pd.DataFrame(np.eye(5), index=labels), y=pd.Series(range(5), index=others), who="Test"
        )


def test_labels_that_occur_twice() -> None:
    """In one order they pass; in another they are refused,
    though they cannot say which rows belong together.
    """
    X = pd.DataFrame(np.eye(4), index=["a", "a", "b", "c"])
    require_same_order(X, y=pd.Series(range(4), index=["a", "a", "b", "c"]), who="Test")
    # another set
    require_same_order(X, y=pd.Series(range(4), index=["a", "b", "b", "c"]), who="Test")
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
    for unlabelled in (
        np.eye(3),
        np.eye(3).tolist(),
        KINDS[kind](pd.DataFrame(np.eye(3), columns=[*"xyz"])),
    ):
        require_same_order(X, X_tilde=unlabelled, who="Test")
        require_same_order(unlabelled, X_tilde=X, who="Test")


SHIFTED = {
    "rows of one table": (pd.RangeIndex(1, 300), pd.RangeIndex(0, 299)),
    "names": (pd.Index([f"p{i}" for i in range(299)]), pd.Index([f"p{i}" for i in range(1, 300)])),
    "days": (pd.date_range("2020-01-01", periods=299), pd.date_range("2020-01-08", periods=299)),
    "intervals that overlap": (
        pd.IntervalIndex.from_arrays(range(299), range(3, 302)),
        pd.IntervalIndex.from_arrays(range(1, 300), range(4, 303)),
    ),
    "different rows dropped": (pd.RangeIndex(300).delete(10), pd.RangeIndex(300).delete(200)),
}
NOT_SHIFTED = {
    "equal": (pd.RangeIndex(7, 306), pd.RangeIndex(7, 306)),
    "new labels of a part in order": (pd.RangeIndex(299), pd.RangeIndex(300).delete(150)),
    "new labels of a part at random": (
        pd.RangeIndex(299),
        pd.Index(np.random.default_rng(0).permutation(310)[:299]),
    ),
    "new labels of the last rows": (pd.RangeIndex(299), pd.RangeIndex(100, 399)),
    "one label differs": (
        pd.RangeIndex(1, 300),
        pd.RangeIndex(1, 300).delete(-1).append(pd.Index([1000])),
    ),
    "labels that occur twice": (pd.Index([1, *range(1, 299)]), pd.Index([*range(1, 299), 299])),
}


@pytest.mark.parametrize("labels", SHIFTED.values(), ids=SHIFTED)
def test_nearly_the_same_labels_in_other_rows_are_warned_of(
    labels: tuple[pd.Index, pd.Index],
) -> None:
    X, y = pd.DataFrame(np.eye(299), index=labels[0]), pd.Series(np.arange(299.0), index=labels[1])
    with pytest.warns(
        KnockoffWarning, match=r"^y has 29[28] of the 299 row labels of X, in other rows: row "
    ) as found:
        require_same_order(X, y=y, who="Test")
    assert len(found) == 1
    both = X.index.intersection(y.index)  # the advice
    with warnings.catch_warnings(action="error"):
        require_same_order(X.loc[both], y=y.loc[both], who="Test")
        require_same_order(X, y=y.to_numpy(), who="Test")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("labels", NOT_SHIFTED.values(), ids=NOT_SHIFTED)
def test_labels_that_say_nothing_of_a_shift(labels: tuple[pd.Index, pd.Index]) -> None:
    for first, second in (labels, labels[::-1]):
        require_same_order(
            pd.DataFrame(np.eye(299), index=first),
            y=pd.Series(range(299), index=second),
            who="Test",
        )


def test_a_shifted_target_is_among_the_cautions_of_a_fit() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(61, 4)), columns=[*"abcd"])
    test = RandomizationTest(
        lambda codes, feature, n, rng: rng.normal(size=(n, 60)), "linear", resamples=99
    )
    with pytest.warns(
        KnockoffWarning,
        match="y has 59 of the 60 row labels of X, in other rows: row 0 is 1 in X and 0",
    ):
        test.fit(frame[["a", "b", "c"]].iloc[1:], frame["d"].iloc[:-1])
    assert any("59 of the 60" in said for said in test.result_.cautions)
