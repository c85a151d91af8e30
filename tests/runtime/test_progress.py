"""Progress: one job with named phases and the time left,
and lines now and then where there is no terminal.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from knockoffs.runtime import progress
from knockoffs.runtime.parallel import in_parallel
from knockoffs.runtime.progress import (
    Phase,
    heard_by,
    job,
    part_of_work,
    progress_bars,
    report_stage,
)

PHASES = [Phase("learning", 3.0, stages=2), Phase("checking", 1.0)]


class Clock:
    """A clock that a test moves on."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(progress.time, "monotonic", found)
    return found


def test_shares_follow_the_weights_and_stages_of_phases(clock: Clock) -> None:
    with job(False, PHASES) as work:
        work.begin("learning")
        assert work.share == 0
        work.report("first", 5, 10, None)
        assert work.share == pytest.approx(0.75 / 4)
        work.report("second", 0, 10, None)  # the first stopped early, and is over
        assert work.share == pytest.approx(1.5 / 4)
        work.report("third", 10, 10, None)  # more stages than expected
        assert work.share == pytest.approx(3 / 4)
        work.begin("checking")
        assert work.share == pytest.approx(3 / 4)
        clock.now = 60.0
        assert work.seconds_left == pytest.approx(20)


def test_without_a_terminal_there_is_a_line_now_and_then(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with job(True, PHASES) as work:
        work.begin("learning")
        with progress_bars(True):
            for second in range(1, 101):
                clock.now = float(second)
                report_stage("first", second, 200, 1.5)
        clock.now = 101.0
        work.begin("checking")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["1/2 learning"] * 4 + ["2/2 checking"]
    assert "loss 1.50" in lines[0]
    assert lines[-1] == "2/2 checking, 75%, about 30 s left"


def test_short_jobs_say_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with job(True, PHASES) as work:
        work.begin("learning")
        clock.now = 5.0
        work.begin("checking")
    with progress_bars(True):
        report_stage("stage", 1, 2)
    assert capsys.readouterr().err == ""


def test_a_single_work_without_a_terminal_names_its_stages(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bars(True):
        clock.now = 12.0
        report_stage("q_joint", 3, 10, 2.0)
        report_stage("q_joint", 4, 10, 2.0)
        report_stage("q_knockoff", 1, 10)
    said = capsys.readouterr().err.splitlines()
    assert said == ["q_joint: 3 of 10, held-out loss 2.000", "q_knockoff: 1 of 10"]


def test_a_terminal_has_one_bar_for_the_whole_job(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    settings: dict[str, Any] = {"file": screen, "force_terminal": True, "width": 100}
    monkeypatch.setattr(progress, "Console", lambda **_: Console(**settings))
    with job(True, PHASES) as work:
        work.begin("learning")
        with job(True, [Phase("inner")]) as inner:  # what is within belongs to the whole
            inner.begin("inner")
        with progress_bars(True):
            report_stage("first", 5, 10)
        work.begin("checking")
    said = screen.getvalue()
    assert "2/2 checking" in said
    assert "75 %" in said
    assert "inner" not in said
    assert said.count("\n") <= 2  # one line that is written over


def test_nobody_hears_of_stages_that_are_not_to_be_shown(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    with job(True, PHASES) as work:
        work.begin("learning")
        clock.now = 12.0
        # such as a quiet part of work that is shown
        with progress_bars(True), progress_bars(False):
            report_stage("first", 5, 10)
        report_stage("second", 5, 10)  # where nobody asked for progress
        assert work.share == 0
    assert capsys.readouterr().err == ""


def test_parts_of_the_work_are_named() -> None:
    heard: list[tuple[Any, ...]] = []
    with heard_by(lambda *said: heard.append(said)):
        with part_of_work("draw 2 of 3"):
            report_stage("statistic", 1, 5, 0.5)
        report_stage("statistic", 2, 5)
    assert heard == [("statistic, draw 2 of 3", 1, 5, 0.5), ("statistic", 2, 5, None)]


def test_tasks_say_nothing_wherever_they_are_carried_out() -> None:
    heard: list[tuple[Any, ...]] = []
    with heard_by(lambda *said: heard.append(said)):
        for done, _ in enumerate(in_parallel(report_stage, [("task", 1, 1)] * 3), start=1):
            report_stage("tasks", done, 3)
    assert heard == [("tasks", done, 3, None) for done in (1, 2, 3)]
