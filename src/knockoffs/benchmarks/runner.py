"""Carry out runs: one at a time in this process, on several cores, or on a dask cluster."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import joblib
import numpy as np
import pandas as pd
import torch

from knockoffs.benchmarks.catalogue import EXPERIMENTS, METHODS, STATISTICS
from knockoffs.benchmarks.experiment import Experiment, Run, Study, Target
from knockoffs.benchmarks.store import Result, Store
from knockoffs.checks import KnockoffWarning
from knockoffs.engine.training import Report


class RunFailedError(RuntimeError):
    """Some runs of an experiment ended with an error; the others are done."""


def run_experiment(
    experiment: Experiment,
    store: Store,
    *,
    methods: Sequence[str] | None = None,
    replicates: int | None = None,
    data: str | None = None,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    report: Report | None = None,
) -> int:
    """Make all runs that the store lacks, write each as it ends, and return how many there were."""
    todo = [run for run in experiment.runs(methods=methods, replicates=replicates) if not store.has(run)]
    failed = []
    with _workers(scheduler):
        results = joblib.Parallel(n_jobs, return_as="generator_unordered")(
            joblib.delayed(_attempt)(run, data) for run in todo
        )
        for done, (run, result) in enumerate(results, start=1):
            if isinstance(result, Result):
                store.write(run, result)
            else:
                failed.append(f"{run}: {result}")
            if report is not None:
                report(experiment.name, done, len(todo), None)
    if failed:
        raise RunFailedError(
            f"{len(failed)} of {len(todo)} runs failed, the first {failed[0]}. Run again once that is mended: "
            "what is done is kept."
        )
    return len(todo)


@contextlib.contextmanager
def _workers(scheduler: str | None) -> Iterator[None]:
    """joblib's own workers, or those of the dask cluster whose scheduler listens at this address."""
    if scheduler is None:
        yield
        return
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise ImportError('a scheduler needs dask: pip install "knockoffs[cluster]".') from error
    with Client(scheduler, set_as_default=False) as client, joblib.parallel_config("dask", client=client):
        yield


def _attempt(run: Run, data: str | None) -> tuple[Run, Result | str]:
    try:
        return run, execute(run, data)
    except Exception as error:  # a run that fails must not take the others with it
        return run, f"{type(error).__name__}: {error}"


def execute(run: Run, data: str | None = None) -> Result:
    """Make the data, fit the method, draw knockoffs, compute every statistic. The same bits for the same run."""
    experiment = EXPERIMENTS[run.experiment]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KnockoffWarning)
            study = experiment.variant(run.variant).make(run.data_seed, data)
            return _compute(run, experiment, study)
    finally:
        torch.set_num_threads(threads)


def _compute(run: Run, experiment: Experiment, study: Study) -> Result:
    seconds = {}
    begun = time.perf_counter()
    X_tilde = _knockoffs(run, study)
    seconds["knockoffs"] = time.perf_counter() - begun
    tables = []
    for response, target in study.responses.items():
        for name in experiment.statistics:
            begun = time.perf_counter()
            statistic = STATISTICS[name]().set_params(random_state=run.data_seed)
            w = statistic.compute(study.X, X_tilde, target.y, groups=study.groups)
            seconds[f"{name} of {response}"] = time.perf_counter() - begun
            tables.append(_table(name, response, w, target, study))
    return Result(pd.concat(tables, ignore_index=True), seconds)


def _knockoffs(run: Run, study: Study) -> Any:
    if run.method != "oracle":
        return METHODS[run.method](run.seed).fit(study.X).sample(study.X, random_state=run.seed)
    if study.oracle is None:
        raise ValueError(f"there are no exact knockoffs of {run.experiment} {run.variant}.")
    return pd.DataFrame(study.oracle(run.seed), columns=study.X.columns)


def _table(statistic: str, response: str, w: Any, target: Target, study: Study) -> pd.DataFrame:
    names = [str(name) for name in study.X.columns]
    relevant = np.full(len(names), None) if target.relevant is None else target.relevant
    return pd.DataFrame(
        {
            "response": response,
            "statistic": statistic,
            "feature": names,
            "unit": names if study.unit is None else list(study.unit),
            "w": w,
            "relevant": pd.array(relevant, dtype="boolean"),
        }
    )
