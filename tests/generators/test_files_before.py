"""Model files of before tables had schemas keep loading, and give the knockoffs that they gave."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from knockoffs import GaussianKnockoffs, HMMKnockoffs
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.generators.feature_units import Constant, Intervals
from knockoffs.generators.value_units import Exact, Plain, Spread
from knockoffs.persistence import ModelFileError

from .files_before import unpacked
from .mutations import ModelFile, mutations

GENERATORS = {"latent": GaussianKnockoffs, "spread": GaussianKnockoffs, "exact": HMMKnockoffs}
Z = AutoregressiveGaussian(features=4, rho=0.6).sample(20, random_state=3).round(2)
NUMBERS = np.column_stack(
    [Z[:, 0], np.full(20, 1.5), np.rint(2 * Z[:, 1]).clip(-1, 1), Z[:, 0], np.maximum(Z[:, 2], 0), Z[:, 3]]
)
# What commit e57b3ce drew with random_state=1: two rows, and the sum of each column.
DRAWN = {
    "latent": [
        [0.8, 1.5, 1.0, 0.8, 2.46, 2.237338],
        [2.06, 1.5, 1.0, 2.06, 0.13, 0.563945],
        [0.55, 30.0, 0.0, 0.55, 12.48, -2.314147],
    ],
    "spread": [
        [0.8, 1.5, -1.0, 0.8, 0.07, 0.056585],
        [2.06, 1.5, 1.0, 2.06, 0.0, 0.554306],
        [0.55, 30.0, 2.0, 0.55, 11.7, 10.523243],
    ],
    "exact": [[0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0], [-2.0, 5.0, 6.0, -2.0]],
}
UNITS = {
    "latent": [Plain, Constant, Intervals, Constant, Intervals, Plain],
    "spread": [Plain, Constant, Spread, Constant, Spread, Plain],
    "exact": [Exact] * 4,
}

pytestmark = pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
ROUNDING = 1e-5  # draws are made in single precision, whose last digits depend on the processor
each_file = pytest.mark.parametrize("name", GENERATORS)


def table(name: str) -> np.ndarray:
    return np.rint(2 * Z).clip(-1, 1) if name == "exact" else NUMBERS


def loaded(name: str, content: bytes, folder: Path) -> KnockoffGenerator:
    (folder / "model").write_bytes(content)
    return GENERATORS[name].load(folder / "model")


@each_file
def test_a_file_of_before_gives_the_same_knockoffs(name: str, tmp_path: Path) -> None:
    model = loaded(name, unpacked(name), tmp_path)
    assert [type(unit) for unit in model.encoding_.units] == UNITS[name]
    drawn = model.sample(table(name), random_state=1)
    np.testing.assert_allclose([*drawn[:2], drawn.sum(0)], DRAWN[name], rtol=ROUNDING, atol=ROUNDING)
    model.save(tmp_path / "again")
    again = GENERATORS[name].load(tmp_path / "again")
    np.testing.assert_array_equal(again.sample(table(name), random_state=1), drawn)
    assert again.share_of_fit(table(name)) == 1


@each_file
def test_a_file_of_version_1_had_neither_checksum_nor_fingerprints(name: str, tmp_path: Path) -> None:
    model = ModelFile.parse(unpacked(name))
    del model.arrays["table.fingerprints"]
    model.header["params"]["device"] = "cuda:7"
    before = loaded(name, model.content("removed"), tmp_path)
    drawn = before.sample(table(name), random_state=1)
    np.testing.assert_allclose([*drawn[:2], drawn.sum(0)], DRAWN[name], rtol=ROUNDING, atol=ROUNDING)
    assert np.isnan(before.share_of_fit(table(name)))


def test_files_of_before_there_were_latents_spread_discrete_values(tmp_path: Path) -> None:
    model = ModelFile.parse(unpacked("latent"))
    for array in [*model.arrays]:
        if array.startswith(("table.latent", "table.cells")):
            del model.arrays[array]
    before = loaded("latent", model.content("removed"), tmp_path)
    assert [type(unit) for unit in before.encoding_.units] == UNITS["spread"]
    drawn = before.sample(NUMBERS, random_state=1)
    assert np.isin(drawn[:, 2], NUMBERS[:, 2]).all()


@each_file
def test_their_rows_may_have_new_values_and_gaps(name: str, tmp_path: Path) -> None:
    model = loaded(name, unpacked(name), tmp_path)
    x = table(name).copy()
    x[0, 2], x[1, 2] = np.nan, 40.0
    drawn = model.sample(x, random_state=1)
    assert np.isnan(drawn[0, 2])
    assert np.isin(drawn[2:, 2], np.unique(table(name)[:, 2])).all()


@each_file
@pytest.mark.parametrize("how", ["recomputed", "removed"])
def test_damaged_files_of_before_are_refused_or_work(name: str, how: str, tmp_path: Path) -> None:
    refused = 0
    for content in mutations(unpacked(name), how, 60, seed=1):
        try:
            model = loaded(name, content, tmp_path)
        except ModelFileError:
            refused += 1
            continue
        try:
            model.sample(table(name), random_state=1)
        except ValueError as error:
            if not re.search("not finite|rules out", str(error)):  # numbers that were damaged lead to these
                raise
    assert refused > 30
