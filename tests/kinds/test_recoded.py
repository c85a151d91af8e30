"""Features that are another one in other units or codes: both are copied,
and the model sees one of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs import DDLK, GaussianKnockoffs, KnockoffWarning
from knockoffs.generators.joint import JointDensity
from knockoffs.kinds.dependence import first_recoded
from knockoffs.kinds.fit_encoding import fit_encoding
from knockoffs.kinds.saved_units import unpack_encoding
from knockoffs.runtime.typed_json import packed
from knockoffs.table.table import read_table

ROWS = 600


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Incomes with their logarithm (missing where there is none), names of 150 towns with codes,
    and others.
    """
    rng = np.random.default_rng(0)
    z = rng.multivariate_normal(np.zeros(3), 0.5 + 0.5 * np.eye(3), size=ROWS)
    income = np.where(z[:, 0] < -0.5, 0.0, np.round(np.exp(z[:, 0]), 4))
    town = rng.permuted(np.arange(ROWS) % 150)
    code = rng.permutation(1000)[:150]
    return pd.DataFrame(
        {
            "income": income,
            "age": z[:, 1],
            "town": [f"town {k}" for k in town],
            "log": np.log(np.where(income > 0, income, np.nan)),
            "code": code[town],
            "debt": -income,
            "weight": z[:, 2],
        }
    )


def test_one_to_one_relations_are_found_however_many_values_there_are(table: pd.DataFrame) -> None:
    codes, category = read_table(table, who="test").codes, table.columns == "town"
    np.testing.assert_array_equal(first_recoded(codes, category), [0, 1, 2, 0, 2, 0, 6])
    shuffled = codes[np.random.default_rng(1).permutation(ROWS)]
    np.testing.assert_array_equal(first_recoded(shuffled, category), first_recoded(codes, category))
    turned = first_recoded(codes[:, ::-1], category[::-1])  # whichever comes first
    np.testing.assert_array_equal(turned, [0, 1, 2, 1, 2, 5, 1])


def test_what_could_look_like_a_relation_and_is_none() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=ROWS)
    gap, none = rng.random(ROWS) < 0.2, rng.random(ROWS) < 0.3
    pairs = {
        "different values everywhere": (x, rng.normal(size=ROWS)),
        "missing together": (np.where(gap, np.nan, x), np.where(gap, np.nan, x**2)),
        "missing and zero together": tuple(
            np.where(gap, np.nan, np.where(none, 0.0, own)) for own in (x, rng.normal(size=ROWS))
        ),
        "coarser": (np.round(x, 1), np.round(x)),
        "a cell differs": (np.round(x, 1), np.append(np.exp(np.round(x[:-1], 1)), 77.0)),
        "rare events of nine rows": (np.arange(ROWS) < 9, np.arange(ROWS) >= 9),
    }
    for name, pair in pairs.items():
        found = first_recoded(np.column_stack(pair).astype(np.float64), np.array([True, False]))
        np.testing.assert_array_equal(found, [0, 1], err_msg=name)


def test_quantities_of_patients_with_several_rows_are_no_relation() -> None:
    """Each patient has a height and a weight of its own, so that one tells the other:
    in these rows alone.
    """
    rng = np.random.default_rng(0)
    patients = np.repeat(rng.normal(size=(ROWS // 4, 2)), 4, axis=0)
    np.testing.assert_array_equal(first_recoded(patients, np.array([False, False])), [0, 1])
    # by a name one does know both
    named = np.column_stack([np.repeat(np.arange(ROWS // 4), 4), patients])
    np.testing.assert_array_equal(first_recoded(named, np.array([True, False, False])), [0, 0, 0])


@pytest.mark.parametrize(
    "generator", [GaussianKnockoffs(random_state=0), DDLK(hidden=(4,), random_state=0)]
)
def test_knockoffs_keep_the_relation(
    table: pd.DataFrame, generator: GaussianKnockoffs | DDLK
) -> None:
    with pytest.warns(
        KnockoffWarning, match=r"'income', column 'town', column 'log'.*determined by other"
    ):
        drawn = generator.fit(table).sample(table)
    for name in ("income", "log", "debt", "town", "code"):
        pd.testing.assert_series_equal(drawn[name], table[name])
    for name in ("age", "weight"):
        assert (drawn[name] != table[name]).all()


def test_new_rows_keep_the_relation(table: pd.DataFrame) -> None:
    with pytest.warns(KnockoffWarning, match="determined by other columns"):
        model = JointDensity(hidden=(4,), random_state=0).fit(table)
    rows = read_table(table, who="test").with_codes(model.sample(ROWS, random_state=0)).to_native()
    pairs = table.drop_duplicates(["town", "code"]).set_index("town")["code"]
    np.testing.assert_array_equal(rows["code"], pairs[rows["town"]])
    np.testing.assert_array_equal(rows["debt"], -rows["income"])
    np.testing.assert_array_equal(rows["log"].isna(), rows["income"] == 0)
    some = rows["income"] > 0
    np.testing.assert_allclose(np.exp(rows["log"][some]), rows["income"][some], rtol=0.1)


def test_in_a_group_knockoffs_keep_the_relation(table: pd.DataFrame) -> None:
    """Features that are swapped together have knockoffs of their own."""
    groups = {"money": ["income", "log", "debt"], "place": ["town", "code"]}
    drawn = GaussianKnockoffs(random_state=0).fit(table, feature_groups=groups).sample(table)
    assert (drawn["income"] != table["income"]).mean() > 0.5
    assert (drawn["town"] != table["town"]).mean() > 0.5
    np.testing.assert_array_equal(drawn["debt"], -drawn["income"])
    np.testing.assert_array_equal(drawn["log"].isna(), drawn["income"] == 0)
    pairs = table.drop_duplicates(["town", "code"]).set_index("town")["code"]
    np.testing.assert_array_equal(drawn["code"], pairs[drawn["town"]])


def test_a_model_file_keeps_the_relation(table: pd.DataFrame, tmp_path: Path) -> None:
    groups = {"money": ["income", "log", "debt"], "place": ["town", "code"]}
    model = GaussianKnockoffs(random_state=0).fit(table, feature_groups=groups)
    model.save(tmp_path / "model")
    again = GaussianKnockoffs.load(tmp_path / "model").sample(table)
    pd.testing.assert_frame_equal(again, model.sample(table))


def test_a_description_of_a_relation_must_be_one(table: pd.DataFrame) -> None:
    read = read_table(table[["income", "debt", "age"]], who="test")
    encoding = fit_encoding(
        read.codes,
        read.schema,
        first_recoded(read.codes, np.zeros(3, dtype=bool)),
        np.random.default_rng(0),
    )
    arrays: dict[str, np.ndarray] = {}
    description = packed(encoding, arrays)
    zeros = {
        name: array if array.dtype == np.intp else np.zeros_like(array)
        for name, array in arrays.items()
    }
    assert unpack_encoding(description, arrays, 3).alike.tolist() == [0, 0, 2]
    with pytest.raises(ValueError, match="increasing order"):
        unpack_encoding(description, zeros, 3)
