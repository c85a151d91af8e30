"""Randomisation tests: uniform p-values under the null, power, small tables beside knockoffs, and cost.

`python -m benchmarks.randomisation [null suite small cost] --n-jobs 16 --data FOLDER`; each part stands alone.
With `--out FOLDER` results are written there as they come, and a later call goes on from them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from rich.console import Console
from scipy.stats import kstest

from benchmarks.mixed import REAL
from benchmarks.mixed_rates import respond
from benchmarks.randomisation_suite import ALPHA, SUITE
from knockoffs import DDLK, HoldoutStatistic, JointDensity, RandomizationTest, fdp, knockoff_select, power
from knockoffs.check.dry_run import feature_scores
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula
from knockoffs.datasets.real import DataNotFoundError
from knockoffs.pvalues.corrections import adjust_pvalues
from knockoffs.pvalues.one_feature import Variant
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.cautions import collect_cautions
from knockoffs.table.design import expand
from knockoffs.table.table import Table, read_table

FEATURES, RELEVANT = 40, 6
LAWS = {
    "gaussian": AutoregressiveGaussian(FEATURES),
    "mixture": AutoregressiveMixture(FEATURES),
    "Clayton": ClaytonCopula(FEATURES),
}
ROWS = (500, 2000)
LEVELS = (0.05, 0.1, 0.2)
SMALL_TABLES = ("support2", "ICU stays")
SMALL_ROWS = 1000


class Job(NamedTuple):
    """A function to be called, whose result JSON can write, and the words that tell it from all others."""

    key: str
    line: str  # of the table that it belongs to
    compute: Callable[..., Any]
    arguments: tuple[Any, ...]


def carry_out(part: str, jobs: list[Job], arguments: argparse.Namespace) -> dict[str, list[Any]]:
    """Results by the line of the table that they belong to; those that are written down are not made again."""
    path = None if arguments.out is None else Path(arguments.out) / f"{part}.jsonl"
    done: dict[str, Any] = {}
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            done = dict(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    if not arguments.show:
        work = (delayed(_keyed)(job) for job in jobs if job.key not in done)
        for key, result in Parallel(arguments.n_jobs, return_as="generator_unordered")(work):
            done[key] = result
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, result]) + "\n")
    found: dict[str, list[Any]] = {}
    for job in jobs:
        if job.key in done:
            found.setdefault(job.line, []).append(done[job.key])
    return found


def _keyed(job: Job) -> tuple[str, Any]:
    return job.key, job.compute(*job.arguments)


def null_response(x: Array, rng: np.random.Generator) -> tuple[Array, Flags]:
    """Lines, a parabola and a product of six columns chosen at random, and noise."""
    z = (x - x.mean(0)) / x.std(0)
    a, b, c, d, e, f = rng.permutation(x.shape[1])[:RELEVANT]
    y = 0.6 * (z[:, a] - z[:, b] + z[:, c]) + 0.4 * z[:, d] ** 2 + 0.6 * z[:, e] * z[:, f]
    relevant = np.zeros(x.shape[1], dtype=bool)
    relevant[[a, b, c, d, e, f]] = True
    return y + rng.standard_normal(len(x)), relevant


def null_pvalues(law: str, rows: int, exact: bool, variant: Variant, seed: int) -> list[list[float]]:
    """p-values of irrelevant columns of a known distribution, and of relevant ones."""
    torch.set_num_threads(1)
    x = LAWS[law].sample(rows, random_state=seed)
    y, relevant = null_response(x, np.random.default_rng([seed, 1]))
    density = LAWS[law].redraw if exact else JointDensity(device="cpu")
    with collect_cautions():
        test = RandomizationTest(density, variant=variant, resamples=1000, exceedances=100, random_state=seed)
        p = test.fit(x, y).pvalues_
    return [p[~relevant].tolist(), p[relevant].tolist()]


def real_null_pvalues(name: str, rows: int, data: str | None, variant: Variant, seed: int) -> list[list[float]]:
    """The same for rows of a real table with a simulated response."""
    torch.set_num_threads(1)
    table = some_rows(name, data, rows, seed)
    with collect_cautions():
        y, relevant = respond(table, ("linear", "Liang", "steps")[seed % 3], seed)
        test = RandomizationTest(
            JointDensity(device="cpu"), variant=variant, resamples=1000, exceedances=100, random_state=seed
        ).fit(table, y)
    result = test.result_
    null = ~relevant & ~result.copies
    return [result.pvalues[null].tolist(), result.pvalues[relevant].tolist()]


def some_rows(name: str, data: str | None, rows: int, seed: int) -> Table:
    table = REAL[name](data)  # pyrefly: ignore[bad-argument-type]
    order = np.random.default_rng([seed, 7]).permutation(len(table))
    return read_table(table.iloc[order[:rows]], who="randomisation")


def null_table(arguments: argparse.Namespace) -> pd.DataFrame:
    """Kolmogorov-Smirnov tests of uniformity, and shares below two levels with standard errors."""
    variant, jobs = arguments.variant, []
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.replicates):
        for rows in ROWS:
            for law in LAWS:
                for exact in (True, False):
                    line = f"{law}, {rows} rows, {'exact' if exact else 'learned'}, {variant}"
                    jobs.append(Job(f"{line}, {seed}", line, null_pvalues, (law, rows, exact, variant, seed)))
            for name in available(arguments.data, ("support2",)):
                line = f"{name}, {rows} rows, learned, {variant}"
                settings = (name, rows, arguments.data, variant, seed)
                jobs.append(Job(f"{line}, {seed}", line, real_null_pvalues, settings))
    lines = []
    for name, parts in sorted(carry_out("null", jobs, arguments).items()):
        p, relevant = (np.concatenate(side) for side in zip(*parts, strict=True))
        line = [*name.split(", "), len(p), kstest(p, "uniform").pvalue, p.mean()]
        for level in (0.05, 0.01):
            by_set = np.array([(np.array(null) <= level).mean() for null, _ in parts])
            line += [(p <= level).mean(), by_set.std(ddof=1) / np.sqrt(len(by_set)) if len(by_set) > 1 else np.nan]
        lines.append([*line, (relevant <= 0.05).mean()])
    names = ["table", "rows", "density", "variant", "nulls", "KS p", "mean p"]
    return pd.DataFrame(lines, columns=[*names, "≤ .05", "s.e.", "≤ .01", "s.e. ", "power at .05"]).round(4)


def suite_pvalues(name: str, variant: Variant, seed: int) -> list[float]:
    torch.set_num_threads(1)
    x, y = SUITE[name].sample(np.random.default_rng([seed, 3]))
    with collect_cautions():
        test = RandomizationTest(
            JointDensity(device="cpu"), variant=variant, resamples=1000, level=ALPHA, random_state=seed
        )
        return test.fit(x, y).pvalues_.tolist()


def suite_table(arguments: argparse.Namespace) -> pd.DataFrame:
    """Power per relevant feature beside the most that is possible, and level per irrelevant feature."""
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.data_sets)
    variant = arguments.variant
    jobs = [
        Job(f"{name}, {variant}, {seed}", name, suite_pvalues, (name, variant, seed))
        for seed in seeds
        for name in SUITE
    ]
    found = carry_out("suite", jobs, arguments)
    lines = []
    for name, problem in SUITE.items():
        if name not in found:
            continue
        rejected = np.array(found[name]) <= ALPHA
        rates, relevant = rejected.mean(0), list(problem.relevant)
        oracle = [problem.oracle_power(j, np.random.default_rng(j)) for j in relevant]
        null = np.delete(rates, relevant)
        by_set = np.delete(rejected, relevant, axis=1).mean(1) if len(null) else np.zeros(len(rejected))
        lines.append(
            [
                name,
                len(rejected),
                rates[relevant].mean(),
                rejected[:, relevant].mean(1).std() / np.sqrt(len(rejected)),
                np.mean([both[0] for both in oracle]),
                np.mean([both[1] for both in oracle]),
                problem.reported,
                " ".join(f"{rate:.2f}" for rate in rates[relevant]),
                " ".join(f"{rate:.2f}" for _, rate in oracle),
                null.mean() if len(null) else np.nan,
                by_set.std() / np.sqrt(len(by_set)),
                null.max(initial=0.0),
            ]
        )
    names = [
        "problem",
        "sets",
        "power",
        "s.e.",
        "possible",
        "two-sided",
        "reported",
        "by feature",
        "two-sided by feature",
    ]
    return pd.DataFrame(lines, columns=[*names, "level", "s.e. ", "largest"]).round(3)


def small_replicate(name: str, data: str | None, seed: int) -> list[Any]:
    """Benjamini-Hochberg on p-values beside knockoffs, from one density, on few columns of a real table."""
    torch.set_num_threads(1)
    rng = np.random.default_rng([seed, 5])
    frame = REAL[name](data)  # pyrefly: ignore[bad-argument-type]
    columns = rng.choice(frame.shape[1], size=int(rng.integers(10, 21)), replace=False)
    frame = frame.iloc[rng.permutation(len(frame))[:SMALL_ROWS], np.sort(columns)]
    found = []
    with collect_cautions():
        table = read_table(frame, who="randomisation")
        y, relevant = few_relevant(table, int(rng.integers(3, 7)), rng, seed)
        generator = DDLK(device="cpu", random_state=seed).fit(table)
        w = HoldoutStatistic(random_state=seed).compute(table, generator.sample(table, random_state=seed), y)
        p = RandomizationTest(generator, random_state=seed).fit(table, y).pvalues_
    for level in LEVELS:
        for method, selected in (
            ("tests, BH", adjust_pvalues(p, "bh") <= level),
            ("knockoffs", knockoff_select(w, level)),
        ):
            false, right = float(fdp(selected, relevant)), float(power(selected, relevant))
            found.append((name, level, method, false, right))
    return found


def few_relevant(table: Table, count: int, rng: np.random.Generator, seed: int) -> tuple[Array, Flags]:
    """Lines of some features and a product of two of these, and as much noise."""
    scores = feature_scores(expand(table.schema, table.codes), seed)
    varying = rng.permutation(np.flatnonzero(scores.std(0) > 0))[:count]
    z = (scores[:, varying] - scores[:, varying].mean(0)) / scores[:, varying].std(0)
    y = z @ rng.choice([-1.0, 1.0], size=len(varying)) + z[:, 0] * z[:, 1]
    relevant = np.zeros(table.shape[1], dtype=bool)
    relevant[varying] = True
    return y / y.std() + rng.standard_normal(len(y)), relevant


def small_table(arguments: argparse.Namespace) -> pd.DataFrame:
    jobs = [
        Job(f"{name}, {seed}", name, small_replicate, (name, arguments.data, seed))
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.replicates)
        for name in available(arguments.data, SMALL_TABLES)
    ]
    found = [line for lists in carry_out("small", jobs, arguments).values() for lines in lists for line in lines]
    names = ["table", "level", "method", "FDP", "power"]
    by = pd.DataFrame(found, columns=names).groupby(names[:3], sort=False)
    shown = by[["FDP", "power"]].mean()
    for measure in ("FDP", "power"):
        shown[f"s.e. of {measure}"] = by[measure].sem()
    shown["tables"] = by.size()
    return shown.round(3)


def available(data: str | None, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        try:
            REAL[name](data)  # pyrefly: ignore[bad-argument-type]
        except DataNotFoundError:
            continue
        yield name


def cost_table(arguments: argparse.Namespace) -> pd.DataFrame:
    """Seconds for 100 columns and 2,000 rows, all features, with the resolution of 1,000 redraws."""
    lines = []
    laws = {"gaussian": AutoregressiveGaussian(), "mixture": AutoregressiveMixture(), "Clayton": ClaytonCopula()}
    for name, law in laws.items():
        x = law.sample(2000, random_state=0)
        y, _ = null_response(x, np.random.default_rng(0))
        with collect_cautions():
            start, cpu = time.perf_counter(), time.process_time()
            density = JointDensity(device=arguments.device, random_state=0).fit(x)
            fitted = time.perf_counter()
            test = RandomizationTest(density, variant=arguments.variant, resamples=1000, random_state=0)
            result = test.fit(x, y).result_
            done, cpu = time.perf_counter(), time.process_time() - cpu
        lines.append([name, fitted - start, done - fitted, done - start, cpu, int(result.resamples.sum())])
    return pd.DataFrame(lines, columns=["table", "density", "tests", "together", "cpu", "redraws"]).round(1)


PARTS = {"null": null_table, "suite": suite_table, "small": small_table, "cost": cost_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=list(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--data", help="folder of the real tables")
    parser.add_argument("--replicates", type=int, default=60, help="tables per line of the parts null and small")
    parser.add_argument("--data-sets", type=int, default=50, help="per problem of the suite")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--variant", default="distilled")
    parser.add_argument("--device", default="cpu", help="of the part cost")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", help="folder of results, which are written as they come")
    parser.add_argument("--show", action="store_true", help="only show what is there")
    arguments = parser.parse_args()
    console = Console(width=180)
    for part in arguments.part:
        start = time.perf_counter()
        console.print(PARTS[part](arguments).to_string())
        console.print(f"{part}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
