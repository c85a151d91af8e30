"""`make mixed`: false discoveries and power on real tables of mixed types,
and known mutations of HIV.
"""

from __future__ import annotations

import argparse
from functools import lru_cache

import numpy as np
import pandas as pd

from benchmarks.mixed import GENERATORS, REAL, available
from benchmarks.repeated import ABOVE, Job, Row, add_options, measured, rates_at, rates_table, show
from knockoffs import HoldoutStatistic, LassoStatistic, SumStatistic, knockoff_select
from knockoffs.check.dry_run import feature_scores
from knockoffs.datasets import liang_response, linear_response, load_hiv
from knockoffs.datasets.real import position
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.table.design import expand
from knockoffs.table.table import Table, read_table

LEVELS = (0.05, 0.1, 0.2)
MOST_ROWS = 3_000
AMPLITUDE = 10.0  # of the linear response, over √rows
RESPONSES = ("linear", "Liang", "steps")
STATISTICS = {"default": HoldoutStatistic, "lasso": LassoStatistic, "sum": SumStatistic}
DRUGS = {
    "NNRTI": ("DLV", "EFV", "NVP"),
    "NRTI": ("3TC", "ABC", "AZT", "D4T", "DDI", "TDF"),
    "PI": ("APV", "ATV", "IDV", "LPV", "NFV", "RTV", "SQV"),
}


def some_rows(name: str, data: str | None, fit: int) -> Table:
    """Random rows of a real table, as a user would pass them."""
    table = REAL[name](data)
    order = np.random.default_rng(500 + fit).permutation(len(table))
    return read_table(table.iloc[order[:MOST_ROWS]], who="mixed")


def respond(table: Table, kind: str, seed: int) -> tuple[Array, Flags]:
    """A response of two fifths of the features, at most 40, and which these are."""
    scores = feature_scores(expand(table.schema, table.codes), seed)
    rng = np.random.default_rng(seed)
    varying = rng.permutation(np.flatnonzero(scores.std(0) > 0))
    z = (scores[:, varying] - scores[:, varying].mean(0)) / scores[:, varying].std(0)
    count = max(8, 4 * round(min(0.4 * len(varying), 40) / 4))
    if kind == "linear":
        y, chosen = linear_response(z, relevant=count, amplitude=AMPLITUDE, random_state=seed)
    elif kind == "Liang":
        y, chosen = liang_response(z, relevant=count, random_state=seed)
    else:
        y, chosen = steps_response(z, count, rng)
    relevant = np.zeros(table.shape[1], dtype=bool)
    relevant[varying[chosen]] = True
    return y, relevant


def steps_response(z: Array, count: int, rng: np.random.Generator) -> tuple[Array, Flags]:
    """Absolute values, steps, waves and lines of the first features, and products of neighbours."""
    y = np.zeros(len(z))
    for k in range(count):
        v = z[:, k]
        shape = (np.abs(v), 2.0 * (v > np.quantile(v, rng.uniform(0.3, 0.7))), np.sin(2 * v), v)[
            k % 4
        ]
        y += rng.choice([-1, 1]) * rng.uniform(0.6, 1.2) * shape
    for k in range(0, count - 1, 2):
        y += 0.5 * z[:, k] * z[:, k + 1]
    return y / y.std() + 0.7 * rng.normal(size=len(z)), np.arange(z.shape[1]) < count


@lru_cache
def fitted(name: str, generator: str, fit: int, data: str | None) -> KnockoffGenerator:
    """Return a generator that has learned a table; one process fits it once."""
    return GENERATORS[generator](fit).fit(some_rows(name, data, fit))


def some_replicates(
    name: str, generator: str, fit: int, data: str | None, first: int, count: int
) -> list[Row]:
    """Return FDP and power of all statistics at all levels,
    for simulated responses of all kinds.
    """
    table, model = some_rows(name, data, fit), fitted(name, generator, fit, data)
    found = []
    for seed in range(first, first + count):
        knockoffs = model.sample(table, random_state=seed)
        for kind in RESPONSES:
            y, relevant = respond(table, kind, seed)
            for statistic, make in STATISTICS.items():
                w = make(random_state=seed).compute(table, knockoffs, y)
                about = {
                    "table": name,
                    "generator": generator,
                    "statistic": statistic,
                    "response": kind,
                }
                found += [about | rates for rates in rates_at(w, relevant, LEVELS)]
    return found


def rates(arguments: argparse.Namespace) -> pd.DataFrame:
    """Return FDP with its standard error, and power, by table, generator,
    statistic and response.
    """
    half = (arguments.repeats + 1) // 2
    jobs = [
        Job(some_replicates, (name, generator, fit, arguments.data, arguments.first_seed, half))
        for name in available(arguments.tables, arguments.data)
        for generator in arguments.generators
        for fit in range(2)
    ]
    return rates_table(measured(jobs, arguments), ["table", "generator", "statistic", "response"])


def one_drug(drug_class: str, drug: str, data: str | None, draws: int) -> list[Row]:
    """Return how many positions are selected at .05,
    on the panel of known positions and outside.
    """
    mutations = load_hiv(data, drug_class=drug_class, drug=drug)
    table = read_table(mutations.X, who="mixed")
    model = GENERATORS["DDLK"](0).fit(table)
    found = []
    for seed in range(draws):
        knockoffs = model.sample(table, random_state=seed)
        for name, make in STATISTICS.items():
            w = make(random_state=seed).compute(table, knockoffs, mutations.y.to_numpy())
            selected = knockoff_select(w, 0.05)
            pairs = zip(mutations.X.columns, mutations.treatment_selected, selected, strict=True)
            positions = {position(column): bool(known) for column, known, chosen in pairs if chosen}
            on_panel = sum(positions.values())
            about = {"statistic": name, "draw": seed, "drug": drug}
            found.append(about | {"on the panel": on_panel, "outside": len(positions) - on_panel})
    return found


def drugs(arguments: argparse.Namespace) -> pd.DataFrame:
    jobs = [
        Job(one_drug, (drug_class, drug, arguments.data, arguments.draws))
        for drug_class, names in DRUGS.items()
        for drug in names
    ]
    found = measured(jobs, arguments).groupby(["statistic", "draw"], sort=False)
    return found[["on the panel", "outside"]].sum().reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=["rates", "hiv"])
    add_options(parser, "--replicates", 20)  # of each response, half of them for each fit
    parser.add_argument("--data", help="folder of the real tables")
    parser.add_argument("--draws", type=int, default=2, help="of knockoffs for each drug")
    parser.add_argument("--generators", nargs="*", default=["DDLK", "Gaussian"])
    parser.add_argument("--tables", nargs="*", default=list(REAL))
    arguments = parser.parse_args()
    if "rates" in arguments.part:
        show("real tables, simulated responses", rates(arguments), names=4, note=ABOVE)
    if "hiv" in arguments.part:
        if not list(available(["HIV"], arguments.data)):
            print("HIV is left out: its data are not there.")
        else:
            show("mutations of HIV at .05", drugs(arguments))


if __name__ == "__main__":
    main()
