"""What takes long gives the same bits on a real dask cluster, whose workers do it,
as in this process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

import joblib
import numpy as np
import pytest
import torch

from knockoffs import (
    GaussianKnockoffs,
    HoldoutStatistic,
    KnockoffSelector,
    LassoStatistic,
    RandomizationTest,
    check_swap,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.pvalues.one_feature import Variant
from knockoffs.runtime import parallel
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.cautions import caution, collect_cautions
from knockoffs.runtime.parallel import in_parallel

distributed = pytest.importorskip("dask.distributed", reason="a cluster needs knockoffs[cluster]")

X = AutoregressiveGaussian(features=6, rho=0.5).sample(200, random_state=1)
X_TILDE = np.random.default_rng(3).permutation(X)
Y = X[:, 0] + X[:, 1] ** 2 + np.random.default_rng(2).normal(size=len(X))

OnCluster = Callable[[Callable[[], Any]], Any]


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(**options, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def on_cluster(client: distributed.Client, monkeypatch: pytest.MonkeyPatch) -> OnCluster:
    """Do work with the cluster as joblib's backend;
    what this process would carry out itself fails.
    """

    def here(*_: object) -> None:
        raise AssertionError("made in this process")

    def cores(n_jobs: int | None) -> int:
        found = joblib.effective_n_jobs(n_jobs)
        assert found == 2, "the surrounding configuration of joblib does not count"
        return found

    def carry_out(work: Callable[[], Any]) -> Any:
        with joblib.parallel_config("dask", client=client), monkeypatch.context() as patch:
            patch.setattr(parallel._Work, "__call__", here)
            patch.setattr(parallel, "effective_n_jobs", cores)
            return work()

    return carry_out


def _where(shared: int, task: int) -> tuple[int, int, int]:
    time.sleep(0.05)
    caution(f"task {task}")
    return shared + task, os.getpid(), torch.get_num_threads()


def test_both_workers_take_part_and_their_cautions_come_back_in_order(
    on_cluster: OnCluster,
) -> None:
    with collect_cautions() as cautions:
        found = on_cluster(
            lambda: list(in_parallel(_where, ((k,) for k in range(8)), shared=(10,)))
        )
    assert [value for value, _, _ in found] == list(range(10, 18))
    processes = {process for _, process, _ in found}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert cautions == [f"task {k}" for k in range(8)]


def test_workers_take_one_thread_where_the_caller_does(
    client: distributed.Client, on_cluster: OnCluster
) -> None:
    """The last bits depend on it, and a machine of a cluster may be set up for many threads."""
    client.run(torch.set_num_threads, 2)
    try:
        with collect_cautions():
            found = on_cluster(
                lambda: list(in_parallel(_where, ((k,) for k in range(4)), shared=(0,)))
            )
    finally:
        client.run(torch.set_num_threads, 1)
    assert torch.get_num_threads() == 1
    assert {threads for _, _, threads in found} == {1}


def test_an_error_of_a_worker_is_that_of_the_task(on_cluster: OnCluster) -> None:
    with pytest.raises(ZeroDivisionError):
        on_cluster(lambda: list(in_parallel(divmod, [(1, 1), (1, 0)])))


def _redraw(codes: Array, feature: int, count: int, rng: np.random.Generator) -> Array:
    return rng.normal(size=(count, len(codes)))


@pytest.mark.parametrize("variant", get_args(Variant))
def test_randomisation_tests(variant: Variant, on_cluster: OnCluster) -> None:
    test = RandomizationTest(
        _redraw, variant=variant, resamples=20, correction="none", random_state=0
    )
    here = test.fit(X, Y).result_
    there = on_cluster(lambda: test.fit(X, Y).result_)
    np.testing.assert_array_equal(there.pvalues, here.pvalues)
    np.testing.assert_array_equal(there.effects, here.effects)


@pytest.mark.parametrize("estimator", [None, "boosting"])
def test_folds_and_blocks_of_a_statistic(estimator: str | None, on_cluster: OnCluster) -> None:
    statistic = HoldoutStatistic(estimator, folds=2, blocks=3, random_state=0)
    there = on_cluster(lambda: statistic.compute(X, X_TILDE, Y))
    np.testing.assert_array_equal(there, statistic.compute(X, X_TILDE, Y))


def test_the_paths_of_a_lasso(on_cluster: OnCluster) -> None:
    statistic = LassoStatistic(random_state=0)
    there = on_cluster(lambda: statistic.compute(X, X_TILDE, Y))
    np.testing.assert_array_equal(there, statistic.compute(X, X_TILDE, Y))


def test_draws_of_a_selection_and_its_check(on_cluster: OnCluster) -> None:
    selector = KnockoffSelector("gaussian", "lasso", n_draws=3, fdr=0.5, random_state=0)

    def select() -> tuple[Array, Array, float]:
        with collect_cautions():
            selector.fit(X, Y)
        return selector.selection_.draws, selector.expectation_.ws, selector.certificate_.p_value

    for there, here in zip(on_cluster(select), select(), strict=True):
        np.testing.assert_array_equal(there, here)


def test_dry_runs(on_cluster: OnCluster) -> None:
    generator = GaussianKnockoffs(random_state=0).fit(X)

    def check() -> list[Any]:
        options = {
            "statistic": LassoStatistic(),
            "dry_run": True,
            "replicates": 3,
            "random_state": 0,
        }
        found = check_swap(generator, X, **options).found
        return [*found.dry_run, found.expected]

    there, here = on_cluster(check), check()
    assert len(here) > 1
    np.testing.assert_array_equal([rate[1:] for rate in there], [rate[1:] for rate in here])
