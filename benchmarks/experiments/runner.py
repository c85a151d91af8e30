"""Carry out runs: one at a time in this process, on several cores, or on a dask cluster."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from benchmarks.experiments.catalogue import EXPERIMENTS, METHODS, STATISTICS
from benchmarks.experiments.experiment import Experiment, Run, Study, Target
from benchmarks.experiments.origin import origin_here
from benchmarks.experiments.store import Result, Store
from knockoffs.check.dry_run import like
from knockoffs.check.examine import examine
from knockoffs.check.expectation import expect
from knockoffs.check.source import find_source
from knockoffs.datasets.real import check_data_file
from knockoffs.runtime.cautions import collect_cautions
from knockoffs.runtime.parallel import one_thread
from knockoffs.runtime.progress import heard_by, report_stage
from knockoffs.statistics.models import require_model
from knockoffs.table.table import read_table


class RunFailedError(RuntimeError):
    """Some runs of an experiment ended with an error; the others are done."""


def run_experiment(
    experiment: Experiment,
    store: Store,
    *,
    methods: Sequence[str] | None = None,
    replicates: int | None = None,
    first: int = 0,
    data: str | None = None,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    device: str = "cpu",
) -> int:
    """Make all runs that the store lacks, write each as it ends, and return how many were made."""
    store.prepare(experiment)
    folder = None if data is None else str(Path(data).resolve())  # workers may stand elsewhere
    runs = experiment.runs(methods=methods, replicates=replicates, first=first)
    todo = [run for run in runs if not store.has(run)]
    if todo:
        _check_needs(experiment, data)
    made, failed = 0, []
    if todo:
        report_stage(experiment.name, 0, len(todo))
    # asked again as each is handed out, since another process may write to the same folder
    tasks = ((experiment, run, folder, device) for run in todo if not store.has(run))
    for done, (run, result) in enumerate(_carried_out(tasks, n_jobs, scheduler), start=1):
        if isinstance(result, Result):
            store.write(run, result)
            made += 1
        else:
            failed.append(f"{run}: {result.rstrip('.')}")
        report_stage(experiment.name, done, len(todo))
    if failed:
        raise RunFailedError(
            f"{len(failed)} of {len(todo)} runs failed, the first {failed[0]}. Run again once "
            f"that is "
            "mended: what is done is kept."
        )
    return made


def _check_needs(experiment: Experiment, data: str | None) -> None:
    """Find out before the first run, which may take an hour,
    what the last step of it would miss.
    """
    for file in experiment.files:
        check_data_file(data, file)
    for name in experiment.statistics:
        require_model(getattr(STATISTICS[name](), "estimator", None))


def _carried_out(
    tasks: Iterable[tuple[Experiment, Run, str | None, str]],
    n_jobs: int | None,
    scheduler: str | None,
) -> Iterator[tuple[Run, Result | str]]:
    """Results as they come, by joblib, or by the dask cluster whose scheduler listens at this
    address.
    """
    if scheduler is None:
        work = (joblib.delayed(_attempt)(*task) for task in tasks)
        yield from joblib.Parallel(n_jobs, return_as="generator_unordered")(work)
        return
    if not re.fullmatch(r"\w+://\S+:\d+", scheduler):
        raise ValueError(
            f"scheduler={scheduler!r} is not valid: pass an address such as tcp://127.0.0.1:8786."
        )
    try:
        from dask.distributed import Client, as_completed
    except ImportError as error:
        raise ImportError('a scheduler needs dask: pip install "knockoffs[cluster]".') from error
    with Client(scheduler, set_as_default=False) as client:
        # not pure: a run that was made and lost is to be made again
        runs = {client.submit(_attempt, *task, pure=False): task[1] for task in tasks}
        for future in as_completed(runs, loop=client.loop):
            try:
                yield future.result()
            except Exception as error:  # the worker died, not the run alone
                yield runs[future], _in_words(error)


def _attempt(
    experiment: Experiment, run: Run, data: str | None, device: str
) -> tuple[Run, Result | str]:
    try:
        return run, execute(run, data, experiment, device)
    except Exception as error:  # a run that fails must not take the others with it
        return run, _in_words(error)


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def execute(
    run: Run, data: str | None = None, experiment: Experiment | None = None, device: str = "cpu"
) -> Result:
    """Make the data, fit the method, draw knockoffs, compute every statistic.

    The same bits for the same run on the same kind of machine and device.
    """
    experiment = EXPERIMENTS[run.experiment] if experiment is None else experiment
    with _as_in_runs():
        study = experiment.variant(run.variant).make(experiment.data_seed(run), data)
        return _compute(run, experiment, study, device)


@contextmanager
def _as_in_runs() -> Iterator[None]:
    """One thread, on which the last bits depend; no warnings of methods compared on purpose;
    no progress.
    """
    with one_thread(), collect_cautions(), heard_by(None):
        yield


def first_study(experiment: Experiment, variant: str, data: str | None) -> Study:
    """The data of the first replicate."""
    for file in experiment.files:
        check_data_file(data, file)
    seed = experiment.data_seed(Run(experiment.name, variant, "", 0))
    return experiment.variant(variant).make(seed, data)


def draw_knockoffs(
    experiment: Experiment, variant: str, study: Study, methods: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Knockoffs of the first replicate by each method, those of its runs."""
    with _as_in_runs():
        runs = {method: Run(experiment.name, variant, method, 0) for method in methods}
        return {method: _drawing(run, study, "cpu")(run.seed) for method, run in runs.items()}


def _compute(run: Run, experiment: Experiment, study: Study, device: str) -> Result:
    seconds = {}
    begun = time.perf_counter()
    draw = _drawing(run, study, device)
    X_tilde = draw(run.seed)
    seconds["knockoffs"] = time.perf_counter() - begun
    tables = []
    for response, target in study.responses.items():
        for name in experiment.statistics:
            begun = time.perf_counter()
            statistic = STATISTICS[name]().set_params(random_state=experiment.data_seed(run))
            w = statistic.compute(study.X, X_tilde, target.y, groups=study.groups)
            seconds[f"{name} of {response}"] = time.perf_counter() - begun
            tables.append(_table(name, response, w, target, study))
    predicted = {}
    if experiment.predicts is not None:
        begun = time.perf_counter()
        predicted = _predicted(experiment, study, draw, run.seed)
        seconds["prediction"] = time.perf_counter() - begun
    return Result(
        pd.concat(tables, ignore_index=True), seconds, device, predicted, origin_here(device)
    )


def _drawing(run: Run, study: Study, device: str) -> Callable[[int], pd.DataFrame]:
    """Return what draws knockoffs of the study's rows by a seed: the method, fitted to them,
    or exact ones.
    """
    if run.method != "oracle":
        generator = METHODS[run.method](run.seed)
        if hasattr(generator, "device"):
            generator.set_params(device=device)
        fitted = generator.fit(study.X)
        return lambda seed: fitted.sample(study.X, random_state=seed)
    oracle = study.oracle
    if oracle is None:
        raise ValueError(f"there are no exact knockoffs of {run.experiment} {run.variant}.")
    return lambda seed: pd.DataFrame(oracle(seed), columns=study.X.columns)


def _predicted(
    experiment: Experiment, study: Study, draw: Callable[[int], pd.DataFrame], seed: int
) -> dict[str, dict[str, Any]]:
    """What each statistic's false discoveries are expected to be, and the verdict,
    before any response is seen.
    """
    table = read_table(study.X, who=experiment.name)
    source = find_source((table, like(table, draw(seed))), None, None)._replace(
        draw=lambda own: like(table, draw(own)), learned=True
    )
    rng = np.random.default_rng(seed)
    expect_of = partial(expect, table, offset=1, seed=int(rng.integers(2**31)))
    found = {}
    expectations = expect_of(source.draw, [STATISTICS[name]() for name in experiment.statistics])
    for name, expected in zip(experiment.statistics, expectations, strict=True):
        certificate = examine(
            source,
            lambda known=expected: known,
            experiment.predicts or 0.1,
            rng,
            expect_of=expect_of,
        )
        rates = {f"expected at {level:g}": expected.rate(level).fdp for level in experiment.levels}
        errors = {
            f"error at {level:g}": expected.rate(level).fdp_error for level in experiment.levels
        }
        found[name] = (
            {"verdict": certificate.validity, "p_value": certificate.p_value} | rates | errors
        )
    return found


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
