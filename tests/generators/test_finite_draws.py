"""Knockoffs are finite numbers, or an error says which columns and rows have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from knockoffs import DDLK, GaussianKnockoffs
from knockoffs.datasets import AutoregressiveGaussian

from .tiny import TINY

FRAME = pd.DataFrame(
    AutoregressiveGaussian(features=4, rho=0.6).sample(60, random_state=3), columns=list("abcd")
)
# would be drawn as the highest level where the draw is no number
FRAME["d"] = np.rint(2 * FRAME["d"])

pytestmark = pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")


@pytest.fixture(scope="module")
def ddlk() -> DDLK:
    return TINY["DDLK"]().fit(FRAME)


def test_rows_too_far_from_the_fit_are_counted_and_named(ddlk: DDLK) -> None:
    far = FRAME.copy()
    far.loc[[3, 7], "b"] = [1e39, -1e300]
    said = (
        r"DDLK: the draws for .*column 'b'.* not finite in 2 of 60 rows \(the first is row "
        r"4\)\..*drop these rows"
    )
    with pytest.raises(ValueError, match=said):
        ddlk.sample(far)
    with pytest.raises(ValueError, match=said):
        ddlk.sample(far, n_draws=2)
    kept = far.drop(index=[3, 7])
    assert np.isfinite(ddlk.sample(kept).to_numpy()).all()


@pytest.mark.parametrize("value", [1e20, 1e39, -1e155, 1e300])
@pytest.mark.parametrize("kind", TINY)
def test_no_draw_is_infinite_or_missing_unsaid(kind: str, value: float) -> None:
    generator = TINY[kind]().fit(FRAME)
    far = FRAME.copy()
    far.loc[5, "a"] = value
    try:
        drawn = generator.sample(far)
    except ValueError as error:
        said = str(error)
        assert "row 6" in said
        return
    assert np.isfinite(drawn.to_numpy()).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("as_table", [np.asarray, pd.DataFrame])
def test_numbers_that_the_columns_type_cannot_hold_are_kept_in_double_precision(
    dtype: type, as_table: Any
) -> None:
    x = FRAME[["a", "b", "c"]].to_numpy()
    table = as_table((x / np.abs(x).max() * np.finfo(dtype).max).astype(dtype))
    generator = GaussianKnockoffs(random_state=0).fit(table)
    drawn = generator.sample(table, n_draws=5)
    largest = [np.abs(np.asarray(draw, dtype=np.float64)).max() for draw in drawn]
    assert np.isfinite(largest).all()
    assert max(largest) > np.finfo(dtype).max
    assert (
        np.asarray(generator.sample(as_table((x / np.abs(x).max()).astype(dtype)))).dtype == dtype
    )
