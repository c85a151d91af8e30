"""A generator and a statistic from outside the package: one class each, and one line to register
it.
"""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray
from sklearn.base import clone

from knockoffs import (
    GaussianKnockoffs,
    HierarchicalKnockoffs,
    KnockoffSelector,
    check_swap,
    load_generator,
    register_generator,
    register_statistic,
    write_report,
)
from knockoffs.cli import main
from knockoffs.generators.base import RowwiseGenerator
from knockoffs.generators.registry import GENERATORS
from knockoffs.runtime import registry
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.registry import Registry
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.problem import Problem
from knockoffs.statistics.registry import STATISTICS

Array = NDArray[np.float64]
RELEVANT = [f"f{j}" for j in range(12)]
NAMES = [f"f{j}" for j in range(20)]
COUNT = len(NAMES)


class IndependentNormals(RowwiseGenerator):
    """Exact knockoffs of independent normal columns: new draws of each."""

    name = "independent-normals"
    cost = 0.1
    stages = 1

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def _check_settings(self) -> None:
        pass

    def _fit_memory(self, rows: int, columns: int) -> float:
        return 8.0 * rows * columns

    def _fit(self, core: Array, rng: np.random.Generator) -> None:
        self.mean_, self.deviation_ = core.mean(0), core.std(0)

    def _sample(self, core: Array, rng: np.random.Generator) -> Array:
        return self.mean_ + self.deviation_ * rng.standard_normal(core.shape)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {"mean": self.mean_, "deviation": self.deviation_}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        columns = (self._modelled_count,)
        self.mean_ = take_array(arrays, "mean", columns)
        self.deviation_ = take_array(arrays, "deviation", columns)


class Covariances(Statistic):
    """|cov(x_j, y)| - |cov(x̃_j, y)|, summed over the columns of a feature."""

    name = "covariances"
    variants = {"squared-covariances": {"power": 2}}  # noqa: RUF012 (as a reader would write it)
    exact = True

    def __init__(self, power: int = 1, *, task: Any = "auto", random_state: Any = None) -> None:
        self.power = power
        self.task = task
        self.random_state = random_state

    def _compute(self, problem: Problem, rng: np.random.Generator) -> Array:
        y = problem.y - problem.y.mean()
        size, size_tilde = (
            problem.per_feature(np.abs(y @ x / len(y)) ** self.power)
            for x in (problem.x, problem.x_tilde)
        )
        return size - size_tilde


@pytest.fixture(autouse=True)
def registered() -> None:
    """The one line that each part takes; `conftest.py` forgets them after the test."""
    register_generator(IndependentNormals)
    register_statistic(Covariances)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, COUNT)), columns=NAMES)
    return X.assign(y=X[RELEVANT].sum(axis=1) + 0.5 * rng.normal(size=300))


def fitted(table: pd.DataFrame, generator: Any, statistic: Any, **settings: Any) -> Any:
    given = {"fdr": 0.2, "certify": False, "random_state": 0} | settings
    return KnockoffSelector(generator, statistic, **given).fit(table[NAMES], table["y"])


def command(*arguments: Any) -> Result:
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def file(tmp_path: Path, table: pd.DataFrame) -> Path:
    table.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_names_give_what_objects_give(table: pd.DataFrame) -> None:
    by_name = fitted(table, "independent-normals", "covariances")
    by_object = fitted(table, IndependentNormals(), Covariances())
    assert by_name.selection_.to_dict() == by_object.selection_.to_dict()
    assert by_name.selection_.exact
    assert by_name.selection_.selected[:12].sum() >= 8


def test_a_variant_is_a_name_with_settings(table: pd.DataFrame) -> None:
    by_name = fitted(table, "gaussian", "squared-covariances")
    np.testing.assert_array_equal(by_name.w_, fitted(table, "gaussian", Covariances(2)).w_)
    assert by_name.statistic_.power == 2


def test_the_check_of_a_selection_knows_both(table: pd.DataFrame) -> None:
    selector = fitted(table, "independent-normals", "covariances", certify=True)
    assert selector.certificate_.verdict == "pass"
    assert "IndependentNormals" in selector.certificate_.found.subject


def test_knockoffs_of_the_generator_are_exact_and_bad_ones_fail(table: pd.DataFrame) -> None:
    X = table[NAMES]
    model = IndependentNormals(random_state=0).fit(X[:150])
    assert check_swap(model, X[150:], random_state=0).verdict == "pass"
    dependent = X.add(2 * X["f0"], axis=0)
    model = IndependentNormals(random_state=0).fit(dependent[:150])
    assert check_swap(model, dependent[150:], random_state=0).verdict == "fail"


def test_covariances_change_their_sign_under_swaps_and_nothing_else(table: pd.DataFrame) -> None:
    X = table[NAMES].to_numpy()
    X_tilde = np.random.default_rng(5).normal(size=X.shape)
    mask = np.arange(COUNT) % 3 == 0
    w = Covariances().compute(X, X_tilde, table["y"])
    swapped = Covariances().compute(
        np.where(mask, X_tilde, X), np.where(mask, X, X_tilde), table["y"]
    )
    np.testing.assert_allclose(swapped, np.where(mask, -w, w), rtol=1e-9)


def test_rows_in_groups_and_model_files(table: pd.DataFrame, tmp_path: Path) -> None:
    X, groups = table[NAMES], np.repeat(np.arange(60), 5)
    model = IndependentNormals(random_state=0).fit(X)
    model.save(tmp_path / "model")
    loaded = load_generator(tmp_path / "model")
    assert type(loaded) is IndependentNormals
    pd.testing.assert_frame_equal(loaded.sample(X), model.sample(X))
    of_groups = HierarchicalKnockoffs(IndependentNormals(), random_state=0).fit(X, groups=groups)
    of_groups.save(tmp_path / "groups")
    pd.testing.assert_frame_equal(
        load_generator(tmp_path / "groups").sample(X, groups=groups),
        of_groups.sample(X, groups=groups),
    )
    selector = KnockoffSelector(
        "independent-normals", "covariances", certify=False, random_state=0
    ).fit(X, table["y"], groups=groups)
    assert selector.selection_.row_handling == "groups modelled"


def test_the_command_line_selects_by_name(file: Path, table: pd.DataFrame) -> None:
    parts = ("--generator", "independent-normals", "--statistic", "covariances")
    given = ("--fdr", 0.2, "--no-certify", "--quiet", "--json")
    done = command("select", file, "--target", "y", *parts, *given)
    expected = fitted(table, "independent-normals", "covariances").selection_
    said = json.loads(done.stdout)
    assert expected.generator.startswith("IndependentNormals(")
    assert {own["feature"] for own in said["features"] if own["selected"]} == {
        name for name, own in zip(NAMES, expected.selected, strict=True) if own
    }


def test_the_command_line_samples_saves_and_checks(file: Path, table: pd.DataFrame) -> None:
    out, model = file.with_name("out.csv"), file.with_name("model")
    saved = ("--out", out, "--save-model", model, "--quiet")
    command("sample", file, "--drop", "y", "--generator", "independent-normals", *saved)
    expected = IndependentNormals(random_state=0).fit(table[NAMES]).sample(table[NAMES])
    np.testing.assert_allclose(pd.read_csv(out), expected)
    given = ("--statistic", "covariances", "--json", "--quiet")
    done = command("check", file, "--drop", "y", "--model", model, *given)
    assert json.loads(done.stdout)["verdict"] == "pass"


@pytest.mark.parametrize(
    ("name", "expected"), [("select", ["covariances", "squared-covariances"]), ("sample", [])]
)
def test_help_names_both(name: str, expected: list[str]) -> None:
    said = "".join(command(name, "--help").output.split())
    assert all(own in said for own in ["independent-normals", *expected])


def test_what_is_not_known_is_refused_with_a_list_that_has_both(
    file: Path, table: pd.DataFrame
) -> None:
    for generator, statistic, known in (
        ("normals", "lasso", "'independent-normals'"),
        ("gaussian", "covariance", "'covariances'"),
    ):
        with pytest.raises(ValueError, match=known):
            fitted(table, generator, statistic)
    done = command("select", file, "--target", "y", "--statistic", "covariance")
    assert done.exit_code == 2
    assert "covariances" in done.output


def test_the_report_names_both(table: pd.DataFrame, tmp_path: Path) -> None:
    write_report(fitted(table, "independent-normals", "covariances"), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "IndependentNormals" in page
    assert "Covariances" in page


@pytest.mark.parametrize("taken", ["gaussian", "independent-normals"])
def test_a_name_belongs_to_one_part(taken: str) -> None:
    class Other(IndependentNormals):
        name = taken

    with pytest.raises(ValueError, match=f"the name '{taken}' belongs to another generator"):
        register_generator(Other)
    assert GENERATORS["independent-normals"] is IndependentNormals


def test_a_class_that_inherits_its_name_is_refused() -> None:
    class Mine(GaussianKnockoffs):
        pass

    with pytest.raises(ValueError, match="the name 'gaussian' belongs to another"):
        register_generator(Mine)


def test_auto_is_no_name_of_a_statistic() -> None:
    class Auto(Covariances):
        name = "auto"

    with pytest.raises(ValueError, match="the name 'auto' belongs to another statistic"):
        register_statistic(Auto)


def test_a_class_that_is_defined_again_takes_the_place_of_the_first() -> None:
    def define() -> type[RowwiseGenerator]:
        class Again(IndependentNormals):
            name = "again"

        return Again

    first, second = (register_generator(define()) for _ in range(2))
    assert first is not second
    assert GENERATORS["again"] is second


def test_installed_packages_announce_parts_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"{__name__}:IndependentNormals"

    def announced(*, group: str) -> list[EntryPoint]:
        return [EntryPoint(name, place, group) for name in ("independent-normals", "gaussian")]

    monkeypatch.setattr(registry, "entry_points", announced)
    known = Registry("generator", {"gaussian": "nowhere:Nothing"}, default="gaussian")
    assert set(known) == {"gaussian", "independent-normals"}
    assert known["independent-normals"] is IndependentNormals
    assert known.of_class("IndependentNormals") is IndependentNormals
    with pytest.raises(ModuleNotFoundError):  # a name of ours is ours
        _ = known["gaussian"]


@pytest.mark.parametrize("known", [GENERATORS, STATISTICS], ids=["generators", "statistics"])
def test_every_part_declares_the_names_that_it_is_listed_by(known: Registry) -> None:
    for name, make in known.items():
        part = type(make())
        assert name == part.name or name in part.variants
        assert {part.name, *part.variants} <= set(known)
        for variant, settings in part.variants.items():
            assert clone(known[variant]()).get_params().items() >= dict(settings).items()


def test_generators_say_whether_they_need_torch() -> None:
    """Their modules import it or not."""
    for make in GENERATORS.values():
        in_torch = any(
            "torch" in vars(__import__(own.__module__, fromlist=["x"]))
            for own in type(make()).__mro__
            if own.__module__.startswith("knockoffs")
        )
        assert type(make()).needs_torch == in_torch
