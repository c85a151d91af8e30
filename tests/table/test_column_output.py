"""Selected columns have the cells and the types that they have in the table,
whatever these types are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import issparse

from knockoffs import GaussianKnockoffs, KnockoffSelector

SELECTED = np.array([True, True, False])
RNG = np.random.default_rng(0)
CELLS = RNG.normal(size=(60, 3)) * (RNG.random((60, 3)) < 0.4)
Y = RNG.normal(size=60)


def fitted(table: Any) -> KnockoffSelector:
    """A selector that has chosen the first two of three columns."""
    selector = KnockoffSelector(
        GaussianKnockoffs(),
        lambda X, X_tilde, y: np.where(SELECTED, 1.0, -0.1),
        fdr=0.5,
        offset=0,
        certify=False,
        random_state=0,
    )
    return selector.fit(table, Y)


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
@pytest.mark.parametrize(
    "fills", [(0.0, 0.0), (np.nan, np.nan), (0.0, np.nan), (1.0, None), (0.0, None)]
)
def test_sparse_columns_come_back_whatever_they_leave_out(fills: tuple[float | None, ...]) -> None:
    """With zeros left out they are a sparse matrix, as before;
    None stands for a column that is not sparse.
    """
    frame = pd.DataFrame(CELLS, columns=["a", "b", "c"]).mask(lambda table: table > 1)
    for name, fill in zip(frame, fills, strict=False):
        if fill is not None:
            frame[name] = pd.arrays.SparseArray(frame[name], fill_value=fill)
    selector = fitted(frame)
    found = selector.transform(frame)
    assert issparse(found) == (fills == (0.0, 0.0))
    cells = found.toarray() if issparse(found) else found
    np.testing.assert_array_equal(cells, frame[["a", "b"]].astype(float))
    as_table = selector.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(as_table, frame[["a", "b"]])


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_intervals_of_pyarrow_go_all_the_way() -> None:
    frame = pd.DataFrame({"cut": pd.cut(CELLS[:, 0], 4), "b": CELLS[:, 1], "c": CELLS[:, 2]})
    selector = fitted(pa.Table.from_pandas(frame))
    assert selector.selection_.discoveries == ["cut", "b"]
    assert selector.schema_[0].kind == "ordinal"
    knockoffs = selector.generator_.sample(pa.Table.from_pandas(frame), random_state=0)
    assert (
        knockoffs.schema.field("cut").type == pa.Table.from_pandas(frame).schema.field("cut").type
    )
    np.testing.assert_array_equal(
        selector.transform(pa.Table.from_pandas(frame))[:, 1].astype(float), CELLS[:, 1]
    )
