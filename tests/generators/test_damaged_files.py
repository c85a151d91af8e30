"""Damaged model files: refused with a ModelFileError, or the same model;
never another error or wrong numbers.
"""

from __future__ import annotations

import json
import resource
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import knockoffs
from knockoffs import DDLK, GaussianKnockoffs, HierarchicalKnockoffs, JointDensity
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.runtime.model_files import ModelFileError

from .mutations import CHECKSUMS, Checksum, ModelFile, mutations
from .tiny import TINY

PACKAGE = str(Path(knockoffs.__file__).parent)
Model = KnockoffGenerator | JointDensity
GENERATORS: dict[str, Callable[[], Model]] = TINY | {
    "DDLK on scores": lambda: TINY["DDLK"]().set_params(scale="normal"),
    "DDLK of the paper": lambda: DDLK.paper(
        hidden=(4, 3), components=2, joint_epochs=1, knockoff_epochs=1, random_state=0
    ),
    "categorical HMM": lambda: TINY["HMM"]().set_params(emissions="categorical"),
    "groups of rows": lambda: HierarchicalKnockoffs(GaussianKnockoffs(), random_state=0),
    "mixed table": TINY["Gaussian"],
    "mixed table in DDLK": TINY["DDLK"],
    "density": lambda: JointDensity(hidden=(4,), components=2, epochs=1, random_state=0),
    "mixed table in a density": lambda: JointDensity(
        hidden=(4,), components=2, epochs=1, random_state=0
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")


def table(kind: str) -> Any:
    z = AutoregressiveGaussian(features=4, rho=0.6).sample(60, random_state=3)
    if kind.startswith("mixed"):
        return mixed_table(z)
    whole = np.rint(2 * z).clip(-2, 2)
    x = (
        whole
        if kind == "categorical HMM"
        else np.column_stack([z[:, :2], np.exp(z[:, 2]), whole[:, 3]])
    )
    return np.insert(x, 2, 1.5, axis=1)  # a constant column too


def mixed_table(z: np.ndarray) -> pd.DataFrame:
    """Levels, gaps, and two classes of rows: by gaps in two columns,
    and by a category that coarsens another.
    """
    ward = np.array(list("abcd"))[np.digitize(z[:, 1], [-0.7, 0, 0.7])]
    gap = np.arange(60) % 4 == 0
    return pd.DataFrame(
        {
            "age": np.where(np.arange(60) % 7 == 0, np.nan, z[:, 0]),
            "ward": ward,
            "floor": np.where(ward < "c", "first", "second"),
            "high": np.where(gap, np.nan, z[:, 2]),
            "low": np.where(gap, np.nan, np.rint(z[:, 3])),
            "sex": np.where(z[:, 3] > z[:, 1], "f", "m"),
            "site": 1.5,
        }
    )


def as_numbers(drawn: Any) -> np.ndarray:
    """A table as numbers that can be compared, missing cells and text among them."""
    if isinstance(drawn, np.ndarray):
        return drawn
    labels = {
        label: float(k) for k, label in enumerate(["a", "b", "c", "d", "first", "second", "f", "m"])
    }
    cells = [
        c if pd.api.types.is_numeric_dtype(c) else c.astype(object).map(labels)
        for _, c in drawn.items()
    ]
    return np.column_stack([column.fillna(-9.0) for column in cells]).astype(np.float64)


def groups_of(generator: type[Model]) -> dict[str, np.ndarray]:
    """What `fit` and `sample` need beside the table."""
    return {"groups": np.arange(60) // 2} if generator is HierarchicalKnockoffs else {}


_SAVED: dict[str, tuple[type[Model], bytes]] = {}


def saved(kind: str, folder: Path) -> tuple[type[Model], bytes]:
    """Return the class and the file of a model that is fitted once."""
    if kind not in _SAVED:
        model = GENERATORS[kind]()
        model.fit(table(kind), **groups_of(type(model)))
        model.save(folder / "whole")
        _SAVED[kind] = type(model), (folder / "whole").read_bytes()
    return _SAVED[kind]


def draw(model: Model, x: Any) -> Any:
    """Knockoffs, or redraws of a feature that depends on all of a density."""
    if isinstance(model, JointDensity):
        cells = model.conditional(x, 0).sample(2, random_state=1)
        return np.where(np.isnan(cells), -9.0, cells)  # missing cells, as below
    return model.sample(x, random_state=1, **groups_of(type(model)))


def outcome(generator: type[Model], path: Path, x: Any) -> np.ndarray | str:
    """Return the knockoffs of a model file, or how it was refused; any other error goes through."""
    try:
        model = generator.load(path)
    except ModelFileError as error:
        if repr(str(path)) not in str(error):  # the message must name the file
            raise
        return "refused"
    try:
        return as_numbers(draw(model, x))
    except ValueError as error:
        # by scikit-learn: other names in the file
        if str(error).startswith("The feature names should match"):
            return "refused in sampling"
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        assert last is not None
        if not last.tb_frame.f_code.co_filename.startswith(PACKAGE):
            raise  # not an error that this package raises on purpose
        return "refused in sampling"


def attack(kind: str, how: Checksum, count: int, folder: Path) -> Counter[str]:
    """Damage a model file in `count` ways and count what comes of it."""
    generator, content = saved(kind, folder)
    x = table(kind)
    (folder / "model").write_bytes(content)
    expected = outcome(generator, folder / "model", x)
    assert isinstance(expected, np.ndarray)
    original = parts(content)
    found: Counter[str] = Counter()
    for damaged in mutations(content, how, count, seed=len(kind)):
        (folder / "model").write_bytes(damaged)
        drawn = outcome(generator, folder / "model", x)
        if isinstance(drawn, str):
            found[drawn] += 1
            continue
        assert np.isfinite(drawn).all()
        if how == "kept":
            generator.load(folder / "model").save(folder / "again")
            assert parts((folder / "again").read_bytes()) == original, (
                "a damaged file gave another model"
            )
        found["same" if np.array_equal(drawn, expected) else "other numbers"] += 1
    return found


def parts(
    content: bytes,
) -> tuple[dict[str, str], str, dict[str, tuple[str, tuple[int, ...], bytes]]]:
    """Return all that is in a model file, whatever the order in which it is written."""
    model = ModelFile.parse(content)
    arrays = {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in model.arrays.items()}
    return model.metadata, json.dumps(model.header, sort_keys=True), arrays


@pytest.mark.parametrize("how", CHECKSUMS)
@pytest.mark.parametrize("kind", GENERATORS)
def test_a_damaged_file_gives_a_clear_error_or_the_same_model(
    kind: str, how: Checksum, tmp_path: Path
) -> None:
    found = attack(kind, how, 24, tmp_path)
    assert found["refused"] > 12
    assert how != "kept" or found.keys() <= {"refused", "same"}


SMALL_CHANGES = [0.0, -1.0, 0.5, 3.0, 1e300, np.nan, np.inf, -np.inf]


def test_any_other_number_in_a_description_of_columns_is_refused_or_works(tmp_path: Path) -> None:
    """Most numbers of a model file of a mixed table are those of its columns: levels,
    intervals and boxes.
    """
    generator, content = saved("mixed table", tmp_path)
    x, model = table("mixed table"), ModelFile.parse(content)
    rng = np.random.default_rng(0)
    found: Counter[str] = Counter()
    correlation = model.header["table"]["encoding"]["correlation"]["array"]
    of_columns = {
        name: array
        for name, array in model.arrays.items()
        if name.startswith("record.") and name != correlation and array.dtype in (float, bool)
    }
    places = [
        (name, place) for name in sorted(of_columns) for place in range(of_columns[name].size)
    ]
    for name, place in rng.permutation(np.array(places, dtype=object))[:150]:
        numbers = of_columns[name].copy()
        numbers.flat[place] = rng.choice(SMALL_CHANGES)
        changed = model._replace(arrays=model.arrays | {name: numbers})
        (tmp_path / "model").write_bytes(changed.content("recomputed"))
        drawn = outcome(generator, tmp_path / "model", x)
        found[drawn if isinstance(drawn, str) else "works"] += 1
        assert isinstance(drawn, str) or np.isfinite(drawn).all()
    assert found["refused"] > 75
    assert found["works"] > 10


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        ("ward", ["a", "b", "c"]),
        ("ward", ["a", "b", "c", "c"]),
        ("ward", ["a", "b", "c", ["d"]]),
        ("ward", ["a", "b", "c", float("nan")]),
        ("sex", ["f", "\ud800"]),
        ("sex", "f"),
        ("age", ["young", "old"]),
    ],
)
def test_levels_that_are_no_levels_of_the_columns_are_refused(
    column: str, levels: Any, tmp_path: Path
) -> None:
    generator, content = saved("mixed table", tmp_path)
    model = ModelFile.parse(content)
    (entry,) = (entry for entry in model.header["table"]["schema"] if entry["name"] == column)
    entry["levels"] = levels
    (tmp_path / "model").write_bytes(model.content("recomputed"))
    with pytest.raises(ModelFileError, match="does not hold a usable model"):
        generator.load(tmp_path / "model")


HUGE = {
    "DDLK": ("networks", "joint", "hidden"),
    "DDLK of the paper": ("networks", "knockoff", "hidden"),
    "deep": ("params", "hidden"),
    "auto-encoding": ("params", "hidden"),
}


@pytest.mark.parametrize(
    "widths", [[14_000, 14_000], [10**6] * 3, [1] * 300_000], ids=["wide", "wider", "deep"]
)
@pytest.mark.parametrize("kind", HUGE)
def test_a_header_that_asks_for_huge_networks_allocates_nothing(
    kind: str, widths: list[int], tmp_path: Path
) -> None:
    generator, content = saved(kind, tmp_path)
    model = ModelFile.parse(content)
    entry = model.header
    for name in HUGE[kind][:-1]:
        entry = entry[name]
    entry[HUGE[kind][-1]] = widths
    (tmp_path / "model").write_bytes(model.content("recomputed"))
    before = peak_memory()
    with pytest.raises(ModelFileError, match=r"shape|hidden layers"):
        generator.load(tmp_path / "model")
    assert peak_memory() - before < 100 * 2**20


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", CHECKSUMS)
@pytest.mark.parametrize("kind", GENERATORS)
def test_many_damaged_files(kind: str, how: Checksum, tmp_path: Path) -> None:
    found = attack(kind, how, 500, tmp_path)
    assert found["refused"] > 250
    assert how != "kept" or found.keys() <= {"refused", "same"}
