"""Randomisation tests: uniform p-values under the null, power, small tables beside knockoffs,
and cost.

`python -m benchmarks.randomisation [null suite small cost] --n-jobs 16 --data FOLDER`; each part
stands alone. With `--out FILE` results are written there as they come, and a later call goes on
from them.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from scipy.stats import kstest

from benchmarks.mixed import REAL, available
from benchmarks.mixed_rates import respond
from benchmarks.randomisation_suite import ALPHA, SUITE
from benchmarks.repeated import (
    Job,
    Row,
    add_options,
    measured,
    rates_at,
    rates_table,
    seeds_of,
    show,
)
from knockoffs import DDLK, HoldoutStatistic, JointDensity, RandomizationTest, fdp, power
from knockoffs.check.dry_run import feature_scores
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula
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


def null_response(x: Array, rng: np.random.Generator) -> tuple[Array, Flags]:
    """Lines, a parabola and a product of six columns chosen at random, and noise."""
    z = (x - x.mean(0)) / x.std(0)
    a, b, c, d, e, f = rng.permutation(x.shape[1])[:RELEVANT]
    y = 0.6 * (z[:, a] - z[:, b] + z[:, c]) + 0.4 * z[:, d] ** 2 + 0.6 * z[:, e] * z[:, f]
    relevant = np.zeros(x.shape[1], dtype=bool)
    relevant[[a, b, c, d, e, f]] = True
    return y + rng.standard_normal(len(x)), relevant


def null_pvalues(law: str, rows: int, exact: bool, variant: Variant, seed: int) -> list[Row]:
    """p-values of irrelevant columns of a known distribution, and of relevant ones."""
    x = LAWS[law].sample(rows, random_state=seed)
    y, relevant = null_response(x, np.random.default_rng([seed, 1]))
    density = LAWS[law].redraw if exact else JointDensity(device="cpu")
    test = RandomizationTest(
        density, variant=variant, resamples=1000, exceedances=100, random_state=seed
    )
    p = test.fit(x, y).pvalues_
    about = {
        "table": law,
        "rows": rows,
        "density": "exact" if exact else "learned",
        "variant": variant,
    }
    return [about | {"null": p[~relevant].tolist(), "relevant": p[relevant].tolist()}]


def real_null_pvalues(
    name: str, rows: int, data: str | None, variant: Variant, seed: int
) -> list[Row]:
    """The same for rows of a real table with a simulated response."""
    table = some_rows(name, data, rows, seed)
    y, relevant = respond(table, ("linear", "Liang", "steps")[seed % 3], seed)
    test = RandomizationTest(
        JointDensity(device="cpu"),
        variant=variant,
        resamples=1000,
        exceedances=100,
        random_state=seed,
    ).fit(table, y)
    result = test.result_
    null = ~relevant & ~result.copies
    about = {"table": name, "rows": rows, "density": "learned", "variant": variant}
    return [
        about
        | {"null": result.pvalues[null].tolist(), "relevant": result.pvalues[relevant].tolist()}
    ]


def some_rows(name: str, data: str | None, rows: int, seed: int) -> Table:
    table = REAL[name](data)  # pyrefly: ignore[bad-argument-type]
    order = np.random.default_rng([seed, 7]).permutation(len(table))
    return read_table(table.iloc[order[:rows]], who="randomisation")


def null_table(arguments: argparse.Namespace) -> pd.DataFrame:
    """Kolmogorov-Smirnov tests of uniformity, and shares below two levels with standard errors."""
    variant, jobs = arguments.variant, []
    for seed in seeds_of(arguments):
        for rows in ROWS:
            for law in LAWS:
                jobs += [
                    Job(null_pvalues, (law, rows, exact, variant, seed)) for exact in (True, False)
                ]
            for name in available(("support2",), arguments.data):
                jobs.append(Job(real_null_pvalues, (name, rows, arguments.data, variant, seed)))
    lines = []
    for names, parts in measured(jobs, arguments).groupby(["table", "rows", "density", "variant"]):
        p, relevant = (np.concatenate(parts[side].tolist()) for side in ("null", "relevant"))
        line = [*names, len(p), kstest(p, "uniform").pvalue, p.mean()]
        for level in (0.05, 0.01):
            by_set = pd.Series([np.mean(np.array(null) <= level) for null in parts["null"]])
            line += [(p <= level).mean(), by_set.sem()]
        lines.append([*line, (relevant <= 0.05).mean()])
    names = ["table", "rows", "density", "variant", "nulls", "KS p", "mean p"]
    return pd.DataFrame(
        lines, columns=[*names, "≤ .05", "s.e.", "≤ .01", "s.e. ", "power at .05"]
    ).round(4)


def suite_pvalues(name: str, variant: Variant, seed: int) -> list[Row]:
    x, y = SUITE[name].sample(np.random.default_rng([seed, 3]))
    test = RandomizationTest(
        JointDensity(device="cpu"), variant=variant, resamples=1000, level=ALPHA, random_state=seed
    )
    return [{"problem": name, "p": test.fit(x, y).pvalues_.tolist()}]


def suite_table(arguments: argparse.Namespace) -> pd.DataFrame:
    """Power per relevant feature beside the most that is possible,
    and level per irrelevant feature.
    """
    jobs = [
        Job(suite_pvalues, (name, arguments.variant, seed))
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.data_sets)
        for name in SUITE
    ]
    lines = []
    for name, found in measured(jobs, arguments).groupby("problem", sort=False):
        problem, rejected = SUITE[str(name)], np.array(found["p"].tolist()) <= ALPHA
        rates, relevant = rejected.mean(0), list(problem.relevant)
        oracle = [problem.oracle_power(j, np.random.default_rng(j)) for j in relevant]
        null = np.delete(rates, relevant)
        by_set = (
            np.delete(rejected, relevant, axis=1).mean(1) if len(null) else np.zeros(len(rejected))
        )
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


def small_replicate(name: str, data: str | None, seed: int) -> list[Row]:
    """Benjamini-Hochberg on p-values beside knockoffs, from one density,
    on few columns of a real table.
    """
    rng = np.random.default_rng([seed, 5])
    frame = REAL[name](data)  # pyrefly: ignore[bad-argument-type]
    columns = rng.choice(frame.shape[1], size=int(rng.integers(10, 21)), replace=False)
    frame = frame.iloc[rng.permutation(len(frame))[:SMALL_ROWS], np.sort(columns)]
    table = read_table(frame, who="randomisation")
    y, relevant = few_relevant(table, int(rng.integers(3, 7)), rng, seed)
    generator = DDLK(device="cpu", random_state=seed).fit(table)
    w = HoldoutStatistic(random_state=seed).compute(
        table, generator.sample(table, random_state=seed), y
    )
    p = RandomizationTest(generator, random_state=seed).fit(table, y).pvalues_
    found = [
        {"table": name, "method": "knockoffs"} | rates for rates in rates_at(w, relevant, LEVELS)
    ]
    for level in LEVELS:
        selected = adjust_pvalues(p, "bh") <= level
        rates = {"level": level, "FDP": fdp(selected, relevant), "power": power(selected, relevant)}
        found.append({"table": name, "method": "tests, BH"} | rates)
    return found


def few_relevant(
    table: Table, count: int, rng: np.random.Generator, seed: int
) -> tuple[Array, Flags]:
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
        Job(small_replicate, (name, arguments.data, seed))
        for seed in seeds_of(arguments)
        for name in available(SMALL_TABLES, arguments.data)
    ]
    found = measured(jobs, arguments)
    return rates_table(found, ["table", "method"]) if len(found) else found


def cost_table(arguments: argparse.Namespace) -> pd.DataFrame:
    """Seconds for 100 columns and 2,000 rows, all features,
    with the resolution of 1,000 redraws.
    """
    lines = []
    laws = {
        "gaussian": AutoregressiveGaussian(),
        "mixture": AutoregressiveMixture(),
        "Clayton": ClaytonCopula(),
    }
    for name, law in laws.items():
        x = law.sample(2000, random_state=0)
        y, _ = null_response(x, np.random.default_rng(0))
        with collect_cautions():
            start, cpu = time.perf_counter(), time.process_time()
            density = JointDensity(device=arguments.device, random_state=0).fit(x)
            fitted = time.perf_counter()
            test = RandomizationTest(
                density, variant=arguments.variant, resamples=1000, random_state=0
            )
            result = test.fit(x, y).result_
            done, cpu = time.perf_counter(), time.process_time() - cpu
        lines.append(
            [name, fitted - start, done - fitted, done - start, cpu, int(result.resamples.sum())]
        )
    return pd.DataFrame(
        lines, columns=["table", "density", "tests", "together", "cpu", "redraws"]
    ).round(1)


PARTS = {"null": null_table, "suite": suite_table, "small": small_table, "cost": cost_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=list(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--data", help="folder of the real tables")
    add_options(parser, "--replicates", 60)
    parser.add_argument("--data-sets", type=int, default=50, help="per problem of the suite")
    parser.add_argument("--variant", default="distilled")
    parser.add_argument("--device", default="cpu", help="of the part cost")
    arguments = parser.parse_args()
    for part in arguments.part:
        start = time.perf_counter()
        table = PARTS[part](arguments)
        if len(table):
            show(f"{part}: {time.perf_counter() - start:.0f} s", table, names=2)


if __name__ == "__main__":
    main()
