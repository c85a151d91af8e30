"""Tables as internal columns, and back."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from knockoffs import GaussianKnockoffs, KnockoffWarning, check_swap
from knockoffs.kinds.encoder import FARTHEST, CellEncoder
from knockoffs.kinds.encoding import TableEncoding
from knockoffs.kinds.fit_encoding import exact_encoding, first_alike, fit_encoding, spread_encoding
from knockoffs.kinds.latent import start_latents
from knockoffs.kinds.levels import Boxes, Exact, Spread, level_boxes, nominal_boxes
from knockoffs.kinds.units import (
    Constant,
    Plain,
    WithGaps,
    continuous_intervals,
    discrete_intervals,
    gap_threshold,
    measured,
)
from knockoffs.table.table import read_table

ROWS = 300


def fitted(X: object, seed: int = 0) -> tuple[TableEncoding, np.ndarray]:
    table = read_table(X, who="test")
    codes = table.codes
    return fit_encoding(codes, table.schema, first_alike(codes), np.random.default_rng(seed)), codes


def with_gaps(column: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(column)) < share, np.nan, column)


def mixed(seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    """A table with a column of every kind, with and without missing cells."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 8)) + rng.normal(size=(rows, 1))
    ward = pd.Series(np.array(list("abcde"))[np.digitize(z[:, 4], [-2, -0.5, 0.5, 1])])
    return pd.DataFrame(
        {
            "plain": z[:, 0],
            "gaps": with_gaps(np.exp(z[:, 1]), 0.2, rng),
            "count": np.rint(np.exp(z[:, 2] / 2)),
            "flag": z[:, 3] > 0,
            "flag gaps": with_gaps((z[:, 5] > 1).astype(float), 0.1, rng),
            "ward": ward,
            "ward gaps": ward.sample(frac=1, random_state=seed, ignore_index=True).where(
                rng.random(rows) > 0.15
            ),
            "zeros": np.where(z[:, 6] < 0, 0.0, z[:, 6]),
            "zeros gaps": with_gaps(np.where(z[:, 7] < 0, 0.0, z[:, 7]), 0.2, rng),
            "constant": 3.0,
            "one value": with_gaps(np.full(rows, 7.0), 0.3, rng),
            "missing": np.nan,
            "again": z[:, 0],
        }
    )


UNITS = {
    "discrete": lambda x: discrete_intervals(np.round(x)),
    "semicontinuous": lambda x: discrete_intervals(np.maximum(x, 0.0), np.zeros(1)),
    "continuous": continuous_intervals,
    "discrete with gaps": lambda x: WithGaps(discrete_intervals(np.round(x)), gap_threshold(0.2)),
    "measured with gaps": lambda x: WithGaps(measured(x), gap_threshold(0.01)),
    "continuous with gaps": lambda x: WithGaps(continuous_intervals(x), gap_threshold(0.01)),
    "one value with gaps": lambda x: WithGaps(Constant(2.0), gap_threshold(0.5)),
    "nominal": lambda x: nominal_boxes(np.round(2 * x), np.column_stack([x, x**2])),
    "nominal with gaps": lambda x: nominal_boxes(np.where(x > 1, np.nan, np.round(x)), x[:, None]),
    "ordered levels": lambda x: level_boxes(np.round(x)),
    "constant": lambda x: Constant(1.5),
}
CELLS = {
    "discrete": np.round,
    "semicontinuous": lambda x: np.maximum(x, 0.0),
    "continuous": lambda x: x,
    "discrete with gaps": lambda x: np.where(x > 1, np.nan, np.round(x)),
    "measured with gaps": lambda x: np.where(x > 1, np.nan, x),
    "continuous with gaps": lambda x: np.where(x > 1, np.nan, x),
    "one value with gaps": lambda x: np.where(x > 1, np.nan, 2.0),
    "nominal": lambda x: np.round(2 * x),
    "nominal with gaps": lambda x: np.where(x > 1, np.nan, np.round(x)),
    "ordered levels": np.round,
    "constant": lambda x: np.full(len(x), 1.5),
}


@pytest.mark.parametrize("kind", UNITS)
@given(
    values=st.lists(st.floats(-3, 3), min_size=5, max_size=60, unique=True),
    place=st.floats(0, 1, exclude_max=True),
)
def test_a_latent_anywhere_in_its_box_is_read_as_the_cell_it_came_from(
    kind: str, values: list[float], place: float
) -> None:
    x = np.round(np.array([*values, -0.5, 2.0]), 6)
    unit: CellEncoder = UNITS[kind](x)
    cells = CELLS[kind](x)
    low, high = unit.bounds(cells)
    assert low.shape == (len(x), unit.width)
    z = start_latents(low, high, np.arange(unit.width), np.full(low.shape, place))
    np.testing.assert_allclose(unit.decode(z), cells, rtol=1e-6, atol=1e-9)
    assert unit.knows(cells).all()


def test_a_quantity_with_gaps_has_its_own_values_as_internal_column() -> None:
    x = np.random.default_rng(0).lognormal(size=200)
    core = np.column_stack(
        [np.where(np.arange(200) % 4 == 0, np.nan, x), np.random.default_rng(1).normal(size=200)]
    )
    encoding = fit_encoding(
        core, read_table(core, who="test").schema, np.arange(2), np.random.default_rng(2)
    )
    internal = encoding.encode(core, np.random.default_rng(3))[:, 0]
    seen = ~np.isnan(core[:, 0])
    np.testing.assert_allclose(internal[seen], x[seen], rtol=1e-9)
    # a drawn value is one that the quantity may have
    assert (internal[~seen] >= x[seen].min()).all()
    assert (internal[~seen] <= x[seen].max()).all()


@pytest.mark.parametrize("place", [1e-9, 0.3, 1 - 1e-9])
def test_values_that_are_spread_or_numbered_are_read_as_themselves(place: float) -> None:
    x = np.array([3.0, -1.0, 7.5, 3.0])
    for unit, cells in (
        (Plain(2.0), x),
        (Spread(np.unique(x)), x),
        (Exact(np.append(np.unique(x), np.nan)), np.append(x, np.nan)),
    ):
        z = unit.encode(cells, np.full(len(cells), place))
        np.testing.assert_array_equal(unit.decode(z[:, None]), cells)
        assert unit.knows(cells).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_mixed_table_is_read_back_from_its_internal_columns(seed: int) -> None:
    encoding, codes = fitted(mixed(seed), seed)
    rng = np.random.default_rng(seed)
    for z in (
        encoding.encode(codes, rng),
        encoding.encode_apart(codes, rng.random((len(codes), encoding.width))),
        encoding.middles(codes),
    ):
        assert np.isfinite(z).all()
        np.testing.assert_allclose(encoding.decode(z, codes), codes, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(encoding.decode(z), codes, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("make", [spread_encoding, exact_encoding])
def test_tables_for_given_and_for_discrete_models_are_read_back(make: object) -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack(
        [rng.integers(0, 3, 80), rng.integers(0, 2, 80), np.full(80, 4.0), rng.integers(1, 9, 80)]
    )
    x = np.column_stack([x, x[:, 0]]).astype(float)
    encoding = make(x, read_table(x, who="test").schema, first_alike(x))
    assert encoding.width == 3
    for z in (encoding.encode(x, rng), encoding.middles(x)):
        np.testing.assert_array_equal(encoding.decode(z, x), x)


def test_a_duplicate_of_a_continuous_column_does_not_make_the_next_column_known() -> None:
    z = np.random.default_rng(0).normal(size=(200, 3))
    encoding, _ = fitted(np.column_stack([z[:, 0], z[:, 0], z[:, 1] > 0, z[:, 2]]))
    np.testing.assert_array_equal(encoding.latent, [1])
    np.testing.assert_array_equal(encoding.copied, [True, True, False, False])


def test_a_permutation_of_columns_permutes_the_encoding() -> None:
    frame = mixed(rows=4000).drop(columns=["again", "missing", "constant"])
    order = np.random.default_rng(1).permutation(frame.shape[1])
    (one, _), (other, _) = fitted(frame), fitted(frame.iloc[:, order])
    assert [unit.width for unit in other.units] == [one.units[j].width for j in order]
    internal = np.concatenate([np.flatnonzero(one.unit == j) for j in order])
    for expected, unit in zip((one.units[j] for j in order), other.units, strict=True):
        if isinstance(unit, Boxes):
            np.testing.assert_allclose(unit.high, expected.high, atol=1e-9)
    # Of the splits of one feature hardly two are seen in the same row; all else depends on noise a
    # little.
    between = other.unit[:, None] != other.unit
    expected = one.correlation[np.ix_(internal, internal)]
    np.testing.assert_allclose(other.correlation[between], expected[between], atol=0.12)


@pytest.mark.parametrize("rows", [1, 7, 40])
def test_internal_columns_of_a_row_do_not_depend_on_other_rows(rows: int) -> None:
    encoding, codes = fitted(mixed())
    whole, part = (
        encoding.encode(some, np.random.default_rng(2)) for some in (codes, codes[:rows])
    )
    np.testing.assert_allclose(part, whole[:rows], rtol=1e-9, atol=1e-9)


def test_rows_are_encoded_the_same_in_parts_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding, codes = fitted(mixed())
    whole = encoding.encode(codes, np.random.default_rng(2))
    monkeypatch.setattr("knockoffs.kinds.encoding.CHUNK", 17)
    np.testing.assert_allclose(
        encoding.encode(codes, np.random.default_rng(2)), whole, rtol=1e-9, atol=1e-9
    )


def frequencies(boxes: Boxes, draws: int) -> np.ndarray:
    drawn = boxes.decode(np.random.default_rng(0).standard_normal((draws, boxes.width)))
    return np.array(
        [np.mean(np.isnan(drawn) if np.isnan(code) else drawn == code) for code in boxes.codes]
    )


@pytest.mark.parametrize("levels", [3, 9, 60])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_boxes_of_levels_partition_the_space_by_their_frequencies(
    levels: int, missing: float
) -> None:
    rng = np.random.default_rng(levels)
    codes = np.append(rng.geometric(0.15, 900) % levels, np.arange(levels)).astype(float)
    codes = with_gaps(codes, missing, rng)
    boxes = nominal_boxes(codes, rng.normal(size=(len(codes), 4)) + (codes == 1)[:, None])
    z = rng.normal(size=(3000, boxes.width)) * 1.5
    inside = [
        (((z > low) | (low <= -FARTHEST)) & ((z <= high) | (high >= FARTHEST))).all(1)
        for low, high in zip(boxes.low, boxes.high, strict=True)
    ]
    np.testing.assert_array_equal(np.sum(inside, axis=0), 1)
    share = np.array(
        [np.mean(np.isnan(codes) if np.isnan(code) else codes == code) for code in boxes.codes]
    )
    error = np.sqrt(share * (1 - share) / 40_000)
    assert (np.abs(frequencies(boxes, 40_000) - share) < 5 * error).all()


def test_a_thousand_levels_some_of_one_row() -> None:
    rng = np.random.default_rng(0)
    codes = np.append(np.arange(1000), rng.integers(0, 30, 2000)).astype(float)
    boxes = nominal_boxes(codes, rng.normal(size=(3000, 3)))
    assert boxes.width <= 8
    z = start_latents(*boxes.bounds(codes), np.arange(boxes.width), rng.random((3000, boxes.width)))
    np.testing.assert_array_equal(boxes.decode(z), codes)


def test_special_columns_have_the_internal_columns_that_they_need() -> None:
    encoding, _ = fitted(mixed())
    widths = dict(zip(mixed().columns, (unit.width for unit in encoding.units), strict=True))
    assert widths["constant"] == widths["missing"] == 0
    assert widths["one value"] == widths["plain"] == widths["count"] == widths["flag"] == 1
    assert widths["gaps"] == widths["flag gaps"] == 2
    assert widths["ward gaps"] == widths["ward"] + 1


def test_every_row_may_have_a_gap() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4)) + rng.normal(size=(300, 1))
    x[np.arange(300), rng.integers(0, 4, 300)] = np.nan
    knockoffs = GaussianKnockoffs(random_state=0).fit(x).sample(x)
    np.testing.assert_allclose(np.isnan(knockoffs).mean(0), 0.25, atol=0.08)
    assert not np.array_equal(np.isnan(knockoffs), np.isnan(x))


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("ward", "new", "'new'"),
        ("sex", "x", "'x'"),
        ("grade", "best", "'best'"),
        ("plain", np.nan, "missing"),
    ],
)
def test_a_level_or_gap_that_the_fit_lacks_is_its_own_knockoff(
    column: str, cell: object, said: str
) -> None:
    frame = mixed()[["plain", "ward", "count"]].assign(
        sex=np.where(mixed()["flag"], "f", "m"),
        grade=pd.Categorical(
            np.array(["low", "mid", "high"])[np.arange(ROWS) % 3],
            ["low", "mid", "high"],
            ordered=True,
        ),
    )
    model = GaussianKnockoffs(random_state=0).fit(frame)
    new = frame.assign(**{column: frame[column].astype(object)})
    new.loc[:4, column] = cell
    if column == "grade":
        new["grade"] = pd.Categorical(new["grade"], ["low", "mid", "high", "best"], ordered=True)
    elif column == "plain":
        new["plain"] = new["plain"].astype(float)
    with pytest.warns(KnockoffWarning, match=rf"column '{column}' \(5: {said}\)"):
        knockoffs = model.sample(new)
    kept = knockoffs[column][:5]
    assert kept.isna().all() if said == "missing" else (kept == cell).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = model.sample(frame)[column][5:]
    pd.testing.assert_series_equal(knockoffs[column][5:].astype(object), expected.astype(object))


def booleans(*, gaps: bool) -> pd.DataFrame:
    """A table with booleans as pandas reads them from a file: with gaps they are objects."""
    frame = mixed()[["plain", "count"]].assign(flag=np.arange(ROWS) % 3 == 0)
    return (
        frame.assign(flag=frame["flag"].astype(object).mask(np.arange(ROWS) % 7 == 0))
        if gaps
        else frame
    )


@pytest.mark.parametrize("gaps", [True, False])
def test_booleans_are_the_same_with_gaps_and_without(gaps: bool) -> None:
    model = GaussianKnockoffs(random_state=0).fit(booleans(gaps=gaps))
    other = booleans(gaps=not gaps)
    typed = other.assign(flag=other["flag"].astype("boolean"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)  # gaps that the fit has not seen
        knockoffs, expected = model.sample(other)["flag"], model.sample(typed)["flag"]
    assert {type(cell) for cell in knockoffs.dropna()} == {bool}
    pd.testing.assert_series_equal(knockoffs.astype("boolean"), expected)
    assert (
        check_swap((booleans(gaps=gaps), other.assign(flag=knockoffs)), random_state=0).found.rows
        == ROWS
    )


@pytest.mark.parametrize(
    ("values", "gaps"),
    [
        (np.arange(ROWS) % 3, True),
        (np.arange(ROWS) ** 1.5, True),
        (np.array(["no", "yes"] * (ROWS // 2)), False),
    ],
)
def test_booleans_are_no_other_numbers_and_no_text(values: np.ndarray, gaps: bool) -> None:
    model = GaussianKnockoffs(random_state=0).fit(mixed()[["plain", "count"]].assign(flag=values))
    with pytest.raises(
        ValueError, match="column 'flag' held text or categories in the fit and numbers here"
    ):
        model.sample(booleans(gaps=gaps))


def test_a_column_without_cells_in_the_fit_may_have_any_later() -> None:
    frame = mixed()[["plain", "ward", "count"]]
    model = GaussianKnockoffs(random_state=0)
    with pytest.warns(KnockoffWarning, match="column 'ward' \\(entirely missing\\): constant"):
        model.fit(frame.assign(ward=np.nan))
    assert model.sample(frame)["ward"].tolist() == frame["ward"].tolist()


def test_a_category_that_the_fit_lists_but_has_not_seen_is_its_own_knockoff() -> None:
    frame = mixed()[["plain", "count"]].assign(
        side=pd.Categorical(np.where(mixed()["flag"], "left", "right"), ["left", "both", "right"])
    )
    model = GaussianKnockoffs(random_state=0).fit(frame)
    new = frame.copy()
    new.loc[:4, "side"] = "both"
    with pytest.warns(KnockoffWarning, match=r"'side' \(5: 'both'\)"):
        assert (model.sample(new)["side"][:5] == "both").all()
    assert not (model.sample(frame)["side"] == "both").any()


def test_equal_columns_are_found_whatever_the_bits_of_their_gaps() -> None:
    x = np.random.default_rng(0).normal(size=(50, 2))
    x[::5, 0] = np.nan
    x = np.column_stack([x, x[:, 0]])
    x[::5, 2] = -np.nan
    np.testing.assert_array_equal(first_alike(x), [0, 1, 0])
