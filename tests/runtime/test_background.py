"""Work in a thread of its own: the same results, cautions and errors as without,
and an end where nobody waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import torch

from knockoffs import DDLK, GaussianKnockoffs, KnockoffSelector, check_swap
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.cautions import caution, collect_cautions
from knockoffs.runtime.parallel import background, threads_beside
from knockoffs.runtime.progress import Job, Phase, heard_by, report_stage, shown_during

X = AutoregressiveGaussian(features=12, rho=0.5).sample(300, random_state=0)
Y = X[:, :6].sum(1) + np.random.default_rng(1).normal(size=len(X))


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def in_whose_thread() -> str:
    report_stage("stage", 1, 1)
    caution("from the work")
    return threading.current_thread().name


@pytest.mark.parametrize("threads", [1, 2])
def test_results_and_cautions_reach_the_caller(threads: int) -> None:
    told: list[str] = []
    with (
        collect_cautions() as cautions,
        heard_by(lambda stage, *_: told.append(stage)),
        threads_beside(threads),
        background(in_whose_thread) as result,
    ):
        caution("from the caller")
        assert (result() == threading.current_thread().name) == (threads == 1)
        assert result() == result()  # waits once
    # in the order of asking, whatever the timing
    assert cautions == ["from the caller", "from the work"]
    assert told == ["stage"]


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_reach_whoever_asks_for_the_result(threads: int) -> None:
    def fail() -> None:
        raise ValueError("from the work")

    with (
        threads_beside(threads),
        background(fail) as result,
        pytest.raises(ValueError, match="from the work"),
    ):
        result()


def test_work_ends_at_its_next_report_where_the_caller_fails() -> None:
    steps = []

    def work() -> None:
        for step in range(10_000):
            time.sleep(0.001)
            report_stage("step", step, 10_000)
            steps.append(step)

    def caller() -> None:
        with threads_beside(2), background(work):
            time.sleep(0.02)
            raise KeyError("of the caller")

    with pytest.raises(KeyError, match="of the caller"):
        caller()
    done = len(steps)
    time.sleep(0.02)
    assert len(steps) == done < 5_000


def test_nothing_begins_with_one_thread_before_it_is_asked_for() -> None:
    begun: list[bool] = []
    with threads_beside(1), background(lambda: begun.append(True)) as result:
        assert not begun
        result()
        assert begun == [True]


@pytest.mark.usefixtures("two_threads")
def test_a_selection_has_the_same_bits_with_threads_and_without() -> None:
    def selected() -> KnockoffSelector:
        generator = DDLK(hidden=(8,), joint_epochs=2, knockoff_epochs=1)
        return KnockoffSelector(generator, fdr=0.3, random_state=0).fit(X, Y)

    beside = selected()
    torch.set_num_threads(1)
    alone = selected()
    np.testing.assert_array_equal(beside.w_, alone.w_)
    assert beside.certificate_ is not None
    assert alone.certificate_ is not None
    assert beside.certificate_.to_dict() == alone.certificate_.to_dict()
    assert beside.selection_.to_dict() == alone.selection_.to_dict()


@pytest.mark.usefixtures("two_threads")
def test_a_check_has_the_same_bits_with_threads_and_without() -> None:
    model = GaussianKnockoffs(random_state=0).fit(X)
    beside = check_swap(model, X, random_state=0)
    torch.set_num_threads(1)
    assert check_swap(model, X, random_state=0).to_dict() == beside.to_dict()


@pytest.mark.usefixtures("two_threads")
def test_functions_of_the_user_are_never_called_from_two_threads() -> None:
    callers = set()

    def knockoffs(table: pd.DataFrame) -> pd.DataFrame:
        callers.add(threading.current_thread())
        return GaussianKnockoffs(random_state=0).fit(table).sample(table)

    check_swap(knockoffs, pd.DataFrame(X), random_state=0)
    assert callers == {threading.main_thread()}


def test_reports_of_work_beside_other_phases_wait_for_their_own() -> None:
    job = Job([Phase("compare"), Phase("check")])
    with heard_by(job.report), shown_during("check"):
        job.begin("compare")
        report_stage("early", 1, 2)
        assert job.share == 0
        job.begin("check")
        report_stage("late", 1, 2)
        assert job.share == pytest.approx(3 / 4)


def test_stages_that_alternate_are_not_taken_for_finished() -> None:
    job = Job([Phase("check", stages=2)])
    job.begin("check")
    job.report("tests", 1, 10, None)
    job.report("responses", 1, 10, None)
    job.report("tests", 2, 10, None)
    job.report("responses", 2, 10, None)
    assert job.share == pytest.approx(0.2)
