"""A kind of column from outside the package works wherever those of the package do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from knockoffs import (
    DDLK,
    GaussianKnockoffs,
    JointDensity,
    KnockoffSelector,
    LassoStatistic,
    RandomizationTest,
    infer_schema,
    load_generator,
    write_report,
)
from knockoffs.cli import main
from knockoffs.kinds.fit_columns import ENCODERS, register_encoder
from knockoffs.runtime.arrays import Array
from knockoffs.schema.kinds import KINDS, register_kind

from .circular import CUT, TURN, Circular

ROWS = 240
RNG = np.random.default_rng(0)
SEASON = {"angle": "circular"}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register_kind(Circular())
    register_encoder(Circular.encoder, CUT)
    yield
    del KINDS[Circular.name], ENCODERS[Circular.encoder]


def frame_of(*, gaps: bool) -> tuple[pd.DataFrame, Array]:
    """Angles on the whole circle, other features, of which the last depend on the angle,
    and a y that is highest where the circle is cut.
    """
    angle = RNG.uniform(0, TURN, ROWS)
    frame = pd.DataFrame(RNG.normal(size=(ROWS, 7)), columns=list("abcdefg"))
    frame["f"] += np.cos(angle)
    y = 2 * np.cos(angle) + frame[list("abcd")].sum(axis=1) + 0.5 * RNG.normal(size=ROWS)
    missing = RNG.random(ROWS) < (0.15 if gaps else 0)
    return frame.assign(angle=pd.Series(angle).mask(missing)), y.to_numpy()


COMPLETE, WITH_GAPS = frame_of(gaps=False), frame_of(gaps=True)
complete_and_with_gaps = pytest.mark.parametrize(
    ("frame", "y"), [COMPLETE, WITH_GAPS], ids=["complete", "with gaps"]
)


@complete_and_with_gaps
def test_a_user_says_that_a_column_holds_angles(frame: pd.DataFrame, y: Array) -> None:
    assert infer_schema(frame)[7].kind == "continuous"
    schema = infer_schema(frame, kinds=SEASON)
    assert schema[7].kind == "circular"
    assert repr(schema).startswith("Schema(8 columns: 7 continuous, 1 circular")


def test_text_is_no_angle() -> None:
    with pytest.raises(ValueError, match='"circular", but the column holds text'):
        infer_schema(COMPLETE[0].assign(angle=["n", "e", "s"] * (ROWS // 3)), kinds=SEASON)


@complete_and_with_gaps
def test_cells_come_back_from_internal_columns(frame: pd.DataFrame, y: Array) -> None:
    encoding = GaussianKnockoffs(random_state=0).fit(frame, kinds=SEASON).encoding_
    cells = frame.to_numpy()
    back = encoding.decode(encoding.encode(cells, np.random.default_rng(1)))
    np.testing.assert_allclose(back, cells, atol=1e-6)


@pytest.mark.parametrize(
    "generator",
    [
        GaussianKnockoffs(random_state=0),
        DDLK(hidden=(4,), joint_epochs=1, knockoff_epochs=1, random_state=0),
    ],
    ids=["gaussian", "ddlk"],
)
@complete_and_with_gaps
def test_knockoffs_are_angles_also_after_loading(
    frame: pd.DataFrame, y: Array, generator: GaussianKnockoffs | DDLK, tmp_path: Path
) -> None:
    model = generator.fit(frame, kinds=SEASON)
    drawn = model.sample(frame, random_state=1)
    angles = drawn["angle"].dropna()
    assert angles.between(0, TURN).all()
    assert not angles.isin(frame["angle"]).mean() > 0.05
    model.save(tmp_path / "model")
    again = load_generator(tmp_path / "model").sample(frame, random_state=1)
    pd.testing.assert_frame_equal(again, drawn, check_exact=True)


def test_a_model_of_a_kind_that_is_not_registered_is_refused_by_name(tmp_path: Path) -> None:
    GaussianKnockoffs(random_state=0).fit(COMPLETE[0], kinds=SEASON).save(tmp_path / "model")
    own = KINDS.pop("circular")
    try:
        with pytest.raises(ValueError, match="circular"):
            load_generator(tmp_path / "model")
    finally:
        register_kind(own)


def w_of(frame: pd.DataFrame, y: Array, *, kind: str | None, turns: int = 0) -> Array:
    """The w of a lasso on the frame and its knockoffs, with turns added to all angles."""
    kinds = {"angle": kind} if kind else None
    selector = KnockoffSelector(
        GaussianKnockoffs(random_state=0).fit(frame, kinds=kinds),
        LassoStatistic(cv=3, random_state=0),
        kinds=kinds,
        certify=False,
        random_state=0,
    )
    moved = frame.assign(angle=frame["angle"] + turns * TURN)
    return selector.fit(moved, y).selection_.mean_w


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
@complete_and_with_gaps
def test_models_of_y_see_a_circle(frame: pd.DataFrame, y: Array) -> None:
    """An effect that turns round is found, and whole turns change nothing."""
    w = w_of(frame, y, kind="circular")
    assert w[7] > 3 * abs(w_of(frame, y, kind=None)[7])
    np.testing.assert_allclose(w_of(frame, y, kind="circular", turns=2), w, atol=1e-6)


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_the_selector_its_check_its_effects_and_its_report(tmp_path: Path) -> None:
    frame, y = WITH_GAPS
    selector = KnockoffSelector(
        "gaussian", LassoStatistic(cv=3, random_state=0), fdr=0.5, kinds=SEASON, random_state=0
    ).fit(frame, y)
    assert "angle" in selector.get_feature_names_out()
    assert selector.schema_[7].kind == "circular"
    assert selector.selection_.kinds == SEASON
    write_report(selector, tmp_path / "report.html")
    assert "angle" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
@complete_and_with_gaps
def test_a_randomization_test_finds_the_angle(frame: pd.DataFrame, y: Array) -> None:
    density = JointDensity(hidden=(8,), epochs=3, random_state=0)
    test = RandomizationTest(density, resamples=99, kinds=SEASON, random_state=0).fit(frame, y)
    assert test.pvalues_[7] <= 0.02


@pytest.fixture
def file(tmp_path: Path) -> str:
    frame, y = COMPLETE
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    return str(tmp_path / "t.csv")


def test_describe_at_the_command_line(file: str) -> None:
    arguments = ["describe", file, "--drop", "y", "--kind", "angle=circular"]
    assert "circular: angles in radians." in CliRunner().invoke(main, arguments).stdout
    described = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    assert described["columns"][7]["kind"] == "circular"


def test_select_at_the_command_line(file: str, tmp_path: Path) -> None:
    arguments = ["select", file, "--target", "y", "--kind", "angle=circular", "--fdr", "0.5"]
    arguments += ["--generator", "gaussian", "--report", str(tmp_path / "r.html"), "--seed", "0"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "angle" in result.stdout
    assert "angle" in (tmp_path / "r.html").read_text(encoding="utf-8")
