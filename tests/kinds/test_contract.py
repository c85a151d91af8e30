"""What every kind of column promises. A new kind joins by one line in KINDS."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from knockoffs import (
    DDLK,
    GaussianKnockoffs,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    complete_table,
    infer_schema,
    load_generator,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.kinds.fit_columns import ENCODERS
from knockoffs.schema.kinds import KINDS as REGISTERED
from knockoffs.table.design import expand
from knockoffs.table.table import read_table

ROWS = 160
Z = AutoregressiveGaussian(features=3, rho=0.6).sample(ROWS, random_state=2)
GAPS = np.random.default_rng(3).random(ROWS) < 0.2
BANDS = np.digitize(Z[:, 1], [-0.7, 0.2, 1.0])

pytestmark = pytest.mark.filterwarnings("ignore:.*distinct values:knockoffs.KnockoffWarning")


class Kind(NamedTuple):
    """A sort of column: an example, the kind that it is,
    and the kinds that a user may ask for instead.

    `atoms` are values of a continuous quantity that occur often.
    """

    column: pd.Series
    kind: str
    overrides: tuple[str, ...] = ()
    atoms: tuple[float, ...] = ()

    @property
    def numeric(self) -> bool:
        return pd.api.types.is_numeric_dtype(self.column.dtype)

    @property
    def discrete(self) -> bool:
        return self.kind in ("ordinal", "binary", "nominal", "constant")


def column(values: Any, dtype: Any = None) -> pd.Series:
    return pd.Series(values, name="own", dtype=dtype)


def labels(*names: Any) -> np.ndarray:
    return np.array(names, dtype=object)[np.minimum(BANDS, len(names) - 1)]


KINDS = {
    "quantity": Kind(column(Z[:, 1]), "continuous"),
    "short floats": Kind(column(100 + Z[:, 1], np.float32), "continuous"),
    "many zeros": Kind(column(np.maximum(Z[:, 1], 0)), "semicontinuous", ("continuous",), (0.0,)),
    "counts": Kind(column(np.rint(np.exp(1 + Z[:, 1]))), "ordinal", ("nominal", "continuous")),
    "whole numbers": Kind(column(np.rint(50 + 10 * Z[:, 1]), np.int16), "ordinal", ("continuous",)),
    "nullable whole numbers": Kind(
        column(np.rint(4 + 2 * Z[:, 1]), "Int64"), "ordinal", ("continuous",)
    ),
    "grades": Kind(column(labels(1.0, 1.3, 1.7, 2.0).astype(float)), "ordinal", ("nominal",)),
    "ordered categories": Kind(
        column(
            pd.Categorical(
                labels("s", "m", "l", "xl"), ["s", "m", "l", "xl", "never"], ordered=True
            )
        ),
        "ordinal",
        ("nominal",),
    ),
    "text": Kind(column(labels("north", "east", "west", "south")), "nominal"),
    "arrow text": Kind(
        column(labels("north", "east", "west", "south"), "string[pyarrow]"), "nominal"
    ),
    "categories": Kind(
        column(pd.Categorical(labels("B", "A", "0"), ["never", "0", "B", "A"])), "nominal"
    ),
    "codes with leading zeros": Kind(column(labels("035", "007", "7", "110")), "nominal"),
    "booleans": Kind(column(Z[:, 1] > 0.4), "binary"),
    "nullable booleans": Kind(column(Z[:, 1] > 0.4, "boolean"), "binary"),
    "0 and 1": Kind(column(Z[:, 1] > 0.4, np.int8), "binary"),
    "two texts": Kind(column(labels("no", "yes")), "binary"),
}
GENERATORS: dict[str, Callable[[], Any]] = {
    "gaussian": lambda: GaussianKnockoffs(random_state=0),
    "ddlk": lambda: DDLK(hidden=(4,), joint_epochs=1, knockoff_epochs=1, random_state=0),
}


def in_polars(frame: pd.DataFrame) -> pl.DataFrame:
    """With ordered categories as polars has them."""
    ordered = [name for name, dtype in frame.dtypes.items() if getattr(dtype, "ordered", False)]
    enums = [pl.col(name).cast(pl.Enum(frame[name].cat.categories)) for name in ordered]
    text = {name: frame[name].astype(object).where(frame[name].notna(), None) for name in ordered}
    return pl.from_pandas(frame.assign(**text)).with_columns(enums)


LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": in_polars,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
every_kind = pytest.mark.parametrize("name", KINDS)
with_and_without_gaps = pytest.mark.parametrize(
    "gaps", [False, True], ids=["complete", "with gaps"]
)
every_generator = pytest.mark.parametrize("generator", GENERATORS)
every_library = pytest.mark.parametrize("library", LIBRARIES)


def table_of(name: str, *, gaps: bool) -> pd.DataFrame:
    """The column between two quantities that it depends on."""
    own = KINDS[name].column
    return pd.DataFrame(
        {"before": Z[:, 0], "own": own.mask(GAPS) if gaps else own, "after": Z[:, 2]}
    )


@cache
def fitted(name: str, generator: str, gaps: bool) -> Any:
    return GENERATORS[generator]().fit(table_of(name, gaps=gaps))


def present(cells: pd.Series) -> set[Any]:
    return set(cells.dropna().tolist())


def in_pandas(table: Any) -> pd.DataFrame:
    return table if isinstance(table, pd.DataFrame) else table.to_pandas()


def assert_of_its_kind(drawn: pd.Series, x: pd.Series, own: Kind) -> None:
    """Levels and grid values are among those of x, other numbers are new,
    and gaps are where x may have gaps.
    """
    assert x.isna().any() or not drawn.isna().any()
    if own.discrete:
        assert present(drawn) <= present(x)
        assert len(present(drawn)) > 1
        return
    atoms = drawn.dropna().isin(own.atoms)
    assert not drawn.dropna()[~atoms].isin(x.dropna()).mean() > 0.05
    assert atoms.any() == bool(own.atoms)


# --- what a schema says ---


@every_library
@with_and_without_gaps
@every_kind
def test_the_schema_names_the_kind(name: str, gaps: bool, library: str) -> None:
    frame, own = table_of(name, gaps=gaps), KINDS[name]
    # an Enum of polars may or may not have an order: a user says so
    asked = {"own": own.kind} if library == "polars" and name == "ordered categories" else None
    schema = infer_schema(LIBRARIES[library](frame), kinds=asked)
    assert [column.kind for column in schema] == ["continuous", own.kind, "continuous"]
    assert schema.names == ("before", "own", "after")
    assert schema[1].missing == frame["own"].isna().mean()
    if own.discrete:
        assert set(schema[1].labels()) == present(frame["own"])


@with_and_without_gaps
@every_kind
def test_columns_in_another_order_permute_the_schema(name: str, gaps: bool) -> None:
    frame = table_of(name, gaps=gaps)
    schema, permuted = infer_schema(frame), infer_schema(frame[["own", "after", "before"]])
    assert permuted.columns == (schema[1], schema[2], schema[0])


@with_and_without_gaps
@every_kind
def test_rows_in_another_order_leave_the_schema_alone(name: str, gaps: bool) -> None:
    frame = table_of(name, gaps=gaps)
    assert infer_schema(frame.sample(frac=1, random_state=0)) == infer_schema(frame)


@pytest.mark.parametrize("name", [name for name, own in KINDS.items() if own.numeric])
def test_an_array_has_the_schema_of_a_table(name: str) -> None:
    frame = table_of(name, gaps=True)
    schema = infer_schema(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    assert [(c.kind, c.values, c.missing) for c in schema] == [
        (c.kind, c.values, c.missing) for c in infer_schema(frame)
    ]


def test_every_registered_kind_has_an_example() -> None:
    """A constant has one in a test of its own."""
    assert {own.kind for own in KINDS.values()} == {*REGISTERED} - {"constant"}


@every_kind
def test_the_facts_of_a_kind_agree_with_each_other(name: str) -> None:
    frame = table_of(name, gaps=True)
    own = infer_schema(frame)[1]
    facts = REGISTERED[own.kind]
    assert facts.discrete == KINDS[name].discrete
    assert facts.of_levels <= (facts.discrete and not facts.ordered)
    assert facts.from_repeats <= facts.inferred
    assert facts.encoder in ENCODERS
    assert facts.words(own.values, own.levels).startswith(own.kind)
    assert (len(own.values) > 0) == facts.atoms
    cells = np.array(own.values)
    if facts.as_they_are:
        np.testing.assert_array_equal(facts.numbers(cells)[..., 0], cells)


# --- what generators see ---


@with_and_without_gaps
@every_kind
def test_cells_come_back_from_internal_columns(name: str, gaps: bool) -> None:
    encoding = fitted(name, "gaussian", gaps).encoding_
    cells = read_table(table_of(name, gaps=gaps), who="test").codes
    back = encoding.decode(encoding.encode(cells, np.random.default_rng(5)))
    np.testing.assert_allclose(back, cells, rtol=1e-6, atol=1e-6)


@with_and_without_gaps
@every_kind
def test_a_permutation_of_columns_permutes_what_models_of_y_see(name: str, gaps: bool) -> None:
    frame = table_of(name, gaps=gaps)
    order = ["own", "after", "before"]
    designs = [
        expand(table.schema, table.codes)
        for table in (read_table(own, who="test") for own in (frame, frame[order]))
    ]
    for j, moved in enumerate([2, 0, 1]):
        own, other = (
            design.tables[0][:, design.unit == feature]
            for design, feature in zip(designs, (j, moved), strict=True)
        )
        np.testing.assert_array_equal(own, other)


# --- what knockoffs are ---


@every_generator
@with_and_without_gaps
@every_kind
def test_knockoffs_are_of_the_kind_and_type(name: str, gaps: bool, generator: str) -> None:
    frame = table_of(name, gaps=gaps)
    drawn = fitted(name, generator, gaps).sample(frame, random_state=1)
    pd.testing.assert_series_equal(drawn.dtypes, frame.dtypes)
    pd.testing.assert_index_equal(drawn.columns, frame.columns)
    assert_of_its_kind(drawn["own"], frame["own"], KINDS[name])
    assert not drawn["own"].equals(frame["own"])
    assert not drawn[["before", "after"]].isna().any(axis=None)


@every_generator
@pytest.mark.parametrize("library", ["polars", "arrow"])
@every_kind
def test_all_libraries_get_the_same_knockoffs_in_their_own_types(
    name: str, library: str, generator: str
) -> None:
    frame = table_of(name, gaps=True)
    table = LIBRARIES[library](frame)
    drawn = fitted(name, generator, True).sample(table, random_state=1)
    assert type(drawn) is type(table)
    assert drawn.schema == table.schema
    expected = in_pandas(
        LIBRARIES[library](fitted(name, generator, True).sample(frame, random_state=1))
    )
    found = in_pandas(drawn)
    assert found["own"].isna().tolist() == expected["own"].isna().tolist()
    assert found["own"].dropna().tolist() == expected["own"].dropna().tolist()


@every_generator
@with_and_without_gaps
@every_kind
def test_save_and_load_draw_the_same_knockoffs(
    name: str, gaps: bool, generator: str, tmp_path: Path
) -> None:
    frame = table_of(name, gaps=gaps)
    fitted(name, generator, gaps).save(tmp_path / "model")
    drawn, expected = (
        model.sample(frame, random_state=4)
        for model in (load_generator(tmp_path / "model"), fitted(name, generator, gaps))
    )
    pd.testing.assert_frame_equal(drawn, expected, check_exact=True)


@every_generator
@every_kind
def test_a_column_all_of_one_value_comes_back_as_it_was(name: str, generator: str) -> None:
    """What is read and written without a draw in between is the same, gaps and types included."""
    frame = table_of(name, gaps=True)
    model = fitted(name, generator, True)
    one = frame.assign(
        own=pd.Series([frame["own"][~GAPS].iloc[0]] * ROWS).astype(frame["own"].dtype)
    )
    with pytest.warns(KnockoffWarning, match="'own': constant"):
        constant = type(model)(**model.get_params()).fit(one)
    pd.testing.assert_series_equal(constant.sample(frame)["own"], frame["own"])


@with_and_without_gaps
@every_kind
def test_completed_cells_are_of_the_kind_and_the_others_as_they_were(name: str, gaps: bool) -> None:
    frame = table_of(name, gaps=gaps)
    completed = complete_table(frame, random_state=0)
    pd.testing.assert_series_equal(completed.dtypes, frame.dtypes)
    assert not completed.isna().any(axis=None)
    pd.testing.assert_frame_equal(completed[~(gaps & GAPS)], frame[~(gaps & GAPS)])
    if gaps:
        filled = completed["own"][GAPS]
        assert KINDS[name].discrete == (present(filled) <= present(frame["own"]))


# --- what names, orders and a user's knowledge change ---


@pytest.mark.parametrize("name", [name for name, own in KINDS.items() if own.kind == "nominal"])
def test_names_and_order_of_levels_leave_w_as_it_is(name: str) -> None:
    frame = table_of(name, gaps=True)
    drawn = fitted(name, "gaussian", True).sample(frame, random_state=1)
    y = Z[:, 0] + (BANDS == 1) + 0.3 * np.random.default_rng(0).normal(size=ROWS)
    statistic = LassoStatistic(cv=3, random_state=0)
    w = statistic.compute(frame, drawn, y)
    known = sorted(present(frame["own"]))
    for names in (
        dict(zip(known, known[1:] + known[:1], strict=True)),
        {k: f"level {k}" for k in known},
    ):
        renamed = [t.assign(own=t["own"].astype(object).map(names)) for t in (frame, drawn)]
        np.testing.assert_allclose(statistic.compute(*renamed, y), w, atol=1e-9)
    reordered = [
        t.assign(own=pd.Categorical(t["own"].astype(object), ["nobody", *known[::-1]]))
        for t in (frame, drawn)
    ]
    np.testing.assert_allclose(statistic.compute(*reordered, y), w, atol=1e-9)


ASKED = [
    pytest.param(name, kind, id=f"{name} as {kind}")
    for name, own in KINDS.items()
    for kind in own.overrides
]


@pytest.mark.parametrize(("name", "kind"), ASKED)
def test_a_kind_that_is_given_is_the_kind(name: str, kind: str, tmp_path: Path) -> None:
    frame = table_of(name, gaps=True)
    schema = infer_schema(frame, kinds={"own": kind})
    assert [column.kind for column in schema] == ["continuous", kind, "continuous"]
    assert infer_schema(frame, kinds={1: kind}) == schema
    model = GENERATORS["gaussian"]().fit(frame, kinds={"own": kind})
    drawn = model.sample(frame, random_state=1)
    if kind == "continuous":  # numbers between those seen, whatever the type of these
        assert not drawn["own"].dropna().isin(frame["own"].dropna()).mean() > 0.1
    else:
        pd.testing.assert_series_equal(drawn.dtypes, frame.dtypes)
        assert present(drawn["own"]) <= present(frame["own"])
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(
        load_generator(tmp_path / "model").sample(frame, random_state=1), drawn
    )
    selector = KnockoffSelector(
        "gaussian", "lasso", kinds={"own": kind}, certify=False, random_state=0
    )
    with pytest.warns(KnockoffWarning):  # three features are too few to find any
        selector.fit(frame, Z[:, 0])
    assert selector.schema_ == schema
    assert selector.selection_.kinds == {"own": kind}


@every_kind
def test_a_kind_that_does_not_exist_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"kinds\['own'\]='colour' is not valid.*nominal"):
        infer_schema(table_of(name, gaps=False), kinds={"own": "colour"})
    with pytest.raises(ValueError, match=r"kinds names 'other', which is no column of X.*'own'"):
        infer_schema(table_of(name, gaps=False), kinds={"other": "nominal"})


@pytest.mark.parametrize("name", ["text", "arrow text", "codes with leading zeros"])
@pytest.mark.parametrize("kind", ["ordinal", "continuous"])
def test_text_has_no_order_that_could_be_asked_for(name: str, kind: str) -> None:
    with pytest.raises(
        ValueError, match=f'column \'own\': kinds asks for "{kind}".*Pass "nominal", or convert'
    ):
        infer_schema(table_of(name, gaps=False), kinds={"own": kind})
