"""`knockoffs demo` on a small table: what it says is what it found."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from click.testing import Result

from knockoffs import (
    GaussianKnockoffs,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    MidpointStatistic,
)
from knockoffs.cli.demo_picture import as_png, as_text, pixel_flags
from knockoffs.datasets.known_truth import add_null_columns, is_null

from .conftest import Invoke, contents

PIXELS = [f"pixel_{j // 4 + 2}_{j % 4 + 1}" for j in range(12)]
Refused = Callable[..., str]


def small_digits(*, return_X_y: bool, as_frame: bool) -> tuple[pd.DataFrame, pd.Series]:
    """Two "digits" that differ in all twelve seen pixels; two more pixels are all but blank."""
    assert return_X_y
    assert as_frame
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = pd.DataFrame(8 + 2 * rng.normal(size=(300, 12)) + 1.5 * y[:, None], columns=PIXELS)
    return X.assign(pixel_0_0=0.0, pixel_0_1=rng.normal(size=300) / 10), pd.Series(y, name="target")


@pytest.fixture
def demo(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The demo with few images and a quick generator and statistic."""
    monkeypatch.setattr(sklearn.datasets, "load_digits", small_digits)
    module = import_module("knockoffs.cli.demo")
    monkeypatch.setattr(module, "GENERATOR", "gaussian")
    monkeypatch.setattr(module, "STATISTIC", "lasso")
    return partial(invoke, "demo")


def found(folder: str = "out") -> dict:
    return json.loads(Path(folder, "selection.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("fdr", "seed"), [(0.2, 0), (0.6, 0), (0.6, 1), (0.8, 2)])
def test_the_known_false_discoveries_are_counted(
    demo: Callable[..., Result], fdr: float, seed: int
) -> None:
    result = demo("--fdr", fdr, "--seed", seed)
    assert result.exit_code == 0, result.output
    names = found()["discoveries"]
    false = sum(name not in PIXELS for name in names)
    assert false == sum(name.startswith("null ") for name in names)
    said = re.search(
        r"(\d+) of (\d+) discoveries are shuffled copies, known to be false "
        r"\((\d+)%; accepted: (\d+)% on average\)",
        result.stdout,
    )
    assert said, result.stdout
    assert [int(group) for group in said.groups()] == [
        false,
        len(names),
        round(100 * false / len(names)),
        round(100 * fdr),
    ]
    assert len(set(names) & set(PIXELS)) >= 10  # the differences are real
    assert (false > 0) == (fdr > 0.5)  # so that the count of this test is not always 0


def test_the_work_is_the_librarys_on_the_pixels_and_their_shuffled_copies(
    demo: Callable[..., Result],
) -> None:
    demo("--fdr", 0.2, "--seed", 1)
    X, y = small_digits(return_X_y=True, as_frame=True)
    table = add_null_columns(X[PIXELS], random_state=1)
    selector = KnockoffSelector(GaussianKnockoffs(), LassoStatistic(), fdr=0.2, random_state=1)
    selector.fit(table, y.rename("digit"))
    assert found() == selector.selection_.to_dict()
    features = [f["feature"] for f in found()["features"]]
    # blank and dim pixels are left out
    assert features == [*PIXELS, *(f"null {name}" for name in PIXELS)]


def test_copies_are_shuffled_as_whole_rows_and_tell_nothing_by_themselves() -> None:
    X, _ = small_digits(return_X_y=True, as_frame=True)
    table = add_null_columns(X, random_state=0)
    nulls = table[[name for name in table.columns if is_null(name)]].set_axis(X.columns, axis=1)
    assert table.index.equals(X.index)
    pd.testing.assert_frame_equal(table[X.columns], X)
    in_order = lambda frame: frame.sort_values(PIXELS, ignore_index=True)  # noqa: E731
    pd.testing.assert_frame_equal(in_order(nulls), in_order(X))
    assert (nulls != X).any(axis=1).mean() > 0.9


def test_it_says_what_it_works_on_and_where_the_results_are(demo: Callable[..., Result]) -> None:
    said = demo("--fdr", 0.2, "--out", "a/b").stdout
    assert said.startswith(
        "Which pixels distinguish handwritten digits?\n300 images, 12 pixels, and a shuffled copy"
    )
    assert (
        "Picture: a/b/pixels.png\nSelection: a/b/selection.csv, selection.json and "
        "certificate.json\n" in said
    )
    assert said.endswith("Report: a/b/report.html\n")
    assert sorted(path.name for path in Path("a/b").iterdir()) == [
        "certificate.json",
        "pixels.png",
        "report.html",
        "selection.csv",
        "selection.json",
    ]
    discoveries = found("a/b")["discoveries"]
    assert f"{len(discoveries)} of 24 features selected at fdr=0.2." in said
    assert found("a/b")["settings"]["target"] == "digit"


def test_the_pictures_show_the_selected_pixels(demo: Callable[..., Result]) -> None:
    said = demo("--fdr", 0.2).stdout
    selected = [name for name in found()["discoveries"] if name in PIXELS]
    assert f"\n{as_text(pixel_flags(selected), pixel_flags(PIXELS))}\n" in said
    assert said.count("■") == len(selected) + 1  # and the one that is explained
    X, y = small_digits(return_X_y=True, as_frame=True)
    drawn = as_png(X[PIXELS], y, pixel_flags(selected))
    assert drawn.startswith(b"\x89PNG")
    assert Path("out/pixels.png").read_bytes() == drawn
    assert drawn != as_png(X[PIXELS], y, pixel_flags(selected[1:]))


def test_the_same_seed_gives_the_same_bytes(demo: Callable[..., Result]) -> None:
    for folder, seed in (("first", 3), ("second", 3), ("other", 4)):
        demo("--fdr", 0.2, "--out", folder, "--seed", seed)
    first, second, other = (
        Path(f, "selection.json").read_bytes() for f in ("first", "second", "other")
    )
    assert first == second
    assert first != other


def test_several_draws(demo: Callable[..., Result]) -> None:
    assert demo("--fdr", 0.2, "--draws", 3).exit_code == 0
    assert found()["settings"]["n_draws"] == 3


def test_quiet_shows_no_table(demo: Callable[..., Result]) -> None:
    result = demo("--fdr", 0.2, "--quiet")
    assert result.exit_code == 0
    assert "■" not in result.output
    assert "images" not in result.output
    assert found()["discoveries"]


def test_no_discoveries_are_no_false_ones(demo: Callable[..., Result]) -> None:
    result = demo("--fdr", "0.01")
    assert result.exit_code == 0
    assert (
        "0 of 0 discoveries are shuffled copies, known to be false (0%; accepted: 1% on average)."
        in result.stdout
    )
    assert all(line.startswith("Warning: ") for line in result.stderr.splitlines())


def test_bad_settings_are_refused_in_one_line(demo: Callable[..., Result]) -> None:
    for arguments, said, code in (
        (("--fdr", "2"), "fdr=2.0 is not valid", 1),
        (("--draws", "0"), "draws=0 is not valid", 1),
        (("--seed", "-1"), "seed", 2),
        (("surplus",), "surplus", 2),
    ):
        result = demo(*arguments, "--quiet")
        assert result.exit_code == code
        (line,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert said in line
        assert not [*Path().rglob("selection*")]


def test_an_output_that_cannot_be_is_refused(
    demo: Callable[..., Result], refused: Refused, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    assert "file/out" in refused("demo", "--quiet", "--out", "file/out")
    assert "file" in refused("demo", "--quiet", "--out", "file", code=2)


def test_an_interrupt_exits_with_130_and_writes_nothing(
    demo: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KnockoffSelector, "fit", interrupt)
    result = demo("--quiet")
    assert (result.exit_code, result.stdout) == (130, "")
    assert not contents(tmp_path)


def test_the_real_defaults_run_too(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """DDLK and the midpoint statistic, as in the real demo, on a few columns of few images."""
    X, y = small_digits(return_X_y=True, as_frame=True)
    few = (X.iloc[::3, :3], y.iloc[::3])
    monkeypatch.setattr(sklearn.datasets, "load_digits", lambda **_: few)
    assert invoke("demo", "--fdr", "0.5").exit_code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        expected = KnockoffSelector(statistic=MidpointStatistic(), fdr=0.5, random_state=0).fit(
            add_null_columns(few[0], 0), few[1].rename("digit")
        )
    assert found() == expected.selection_.to_dict()
