"""What a column holds: the kind follows from its values, however they are written or ordered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from knockoffs import Column, Schema, infer_schema
from knockoffs.schema.kinds import KINDS, frequent
from tests.real_data import folder_with

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=1000)
KIND_OF: dict[str, tuple[Any, str]] = {
    "normal": (NORMAL, "continuous"),
    "single precision": (NORMAL.astype(np.float32), "continuous"),
    "skewed": (np.exp(3 * NORMAL), "continuous"),
    "many zeros": (np.maximum(NORMAL, 0), "semicontinuous"),
    "a limit of detection": (np.maximum(NORMAL, -1.5), "semicontinuous"),
    "counts": (RNG.poisson(3, size=1000), "ordinal"),
    "whole and all different": (RNG.permutation(1000) * 17, "ordinal"),
    "one decimal": (np.round(NORMAL, 1), "ordinal"),
    "grades": (RNG.choice([1.0, 1.3, 1.7, 2.0], size=1000), "ordinal"),
    "two values": (NORMAL > 0, "binary"),
    "two texts": (np.where(NORMAL > 0, "yes", "no"), "binary"),
    "three texts": (RNG.choice(["a", "b", "c"], size=1000), "nominal"),
    "ordered": (
        pd.Categorical(RNG.choice(["s", "m", "l"], size=1000), ["s", "m", "l"], ordered=True),
        "ordinal",
    ),
    "one value": (np.full(1000, 7.5), "constant"),
    "no value": (np.full(1000, np.nan), "constant"),
    "one value and gaps": (np.where(NORMAL > 0, 1.0, np.nan), "constant"),
}


@pytest.mark.parametrize(("column", "kind"), KIND_OF.values(), ids=KIND_OF.keys())
def test_the_kind_of_a_column(column: Any, kind: str) -> None:
    assert kind in KINDS
    (found,) = infer_schema(pd.DataFrame({"x": column}))
    assert found.kind == kind
    order = RNG.permutation(1000)
    (again,) = infer_schema(pd.DataFrame({"x": column}).iloc[order])
    assert again == found


@pytest.mark.parametrize(("column", "kind"), KIND_OF.values(), ids=KIND_OF.keys())
def test_gaps_do_not_change_the_kind(column: Any, kind: str) -> None:
    table = pd.DataFrame({"x": column})
    table["x"] = table["x"].where(np.arange(1000) % 5 > 0)
    (found,) = infer_schema(table)
    assert found.kind == kind
    assert found.missing == table["x"].isna().mean()


@pytest.mark.parametrize("scale", [1e-6, 1000.0])
def test_the_unit_of_a_quantity_does_not_matter(scale: float) -> None:
    for name in ("normal", "many zeros", "skewed"):
        x = np.asarray(KIND_OF[name][0])
        assert [c.kind for c in infer_schema((scale * x)[:, None])] == [
            c.kind for c in infer_schema(x[:, None])
        ]


@given(
    arrays(
        np.float64, st.integers(1, 30), elements=st.sampled_from([0.0, 0.5, 1.0, 2.5, 1e9, np.nan])
    )
)
def test_the_values_are_those_that_occur(x: np.ndarray) -> None:
    (column,) = infer_schema(x[:, None])
    present = x[~np.isnan(x)]
    assert column.missing == pytest.approx(np.isnan(x).mean())
    assert column.varies == (len(np.unique(x)) > 1)  # np.unique counts nan as one value
    if column.discrete:
        assert list(column.values) == sorted(set(present))
        assert column.labels() == column.values
    else:
        assert set(column.values) <= set(present)
    assert (column.kind == "constant") == (len(set(present)) <= 1)


def test_frequent_values_of_a_semicontinuous_column() -> None:
    (column,) = infer_schema(KIND_OF["a limit of detection"][0][:, None])
    assert column.values == (-1.5,)
    assert not column.discrete
    np.testing.assert_array_equal(frequent(np.array([1, 2, 3, 500])), [False, False, False, True])


def test_labels_are_as_in_the_table() -> None:
    table = pd.DataFrame({"size": pd.Categorical(["m", "s", "m"], categories=["s", "m", "l"])})
    (column,) = infer_schema(table)
    assert column.levels == ("s", "m", "l")
    assert column.values == (0.0, 1.0)
    assert column.labels() == ("s", "m")


def test_a_schema_as_a_table() -> None:
    table = pd.DataFrame(
        {"x": NORMAL, "sex": np.where(NORMAL > 0, "f", "m"), "n": RNG.poisson(3, size=1000)}
    )
    table.loc[:249, "sex"] = None
    schema = infer_schema(table)
    assert isinstance(schema, Schema)
    assert isinstance(schema[0], Column)
    assert len(schema) == 3
    assert schema.names == ("x", "sex", "n")
    assert (
        repr(schema) == "Schema(3 columns: 1 continuous, 1 ordinal, 1 binary; 1 with missing cells)"
    )
    frame = schema.to_frame()
    assert frame["feature"].tolist() == ["x", "sex", "n"]
    assert frame["kind"].tolist() == ["continuous", "binary", "ordinal"]
    assert frame["missing"].tolist() == [0, 0.25, 0]
    assert frame["values"].isna().tolist() == [True, False, False]
    assert frame["unit"].tolist() == ["x", "sex", "n"]
    np.testing.assert_array_equal(schema.varies, True)


def test_columns_without_names_are_numbered() -> None:
    assert infer_schema(np.eye(3)).names == ("x0", "x1", "x2")


# real tables

REAL = {
    "support2/support2.parquet": {
        "age": "continuous",
        "sex": "binary",
        "dzgroup": "nominal",
        "num.co": "ordinal",
        "income": "nominal",
        "totcst": "continuous",
        "temp": "ordinal",
        "diabetes": "binary",
    },
    "nhefs/nhefs.parquet": {
        "qsmk": "binary",
        "age": "ordinal",
        "marital": "nominal",
        "birthplace": "nominal",
        "wt82_71": "continuous",
        "pregnancies": "ordinal",
    },
    "acic2016/covariates.parquet": {
        "x_1": "ordinal",
        "x_2": "nominal",
        "x_17": "binary",
        "x_24": "nominal",
    },
}


@pytest.mark.parametrize(("file", "kinds"), REAL.items(), ids=REAL.keys())
def test_real_tables_are_read_as_they_are(file: str, kinds: dict[str, str]) -> None:
    table = pd.read_parquet(folder_with(file.split("/")[0]) / file)
    schema = infer_schema(table)
    found = {column.name: column for column in schema}
    assert {name: found[name].kind for name in kinds} == kinds
    np.testing.assert_allclose(
        [column.missing for column in schema], table.isna().mean(), atol=1e-12
    )
    for column in schema:
        if column.discrete:
            assert set(column.labels()) == set(table[column.name].dropna())
