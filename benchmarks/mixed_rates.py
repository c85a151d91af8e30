"""`make mixed`: false discoveries and power on real tables of mixed types, and known mutations of HIV."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from rich.console import Console

from benchmarks.mixed import GENERATORS, REAL
from knockoffs import HoldoutStatistic, LassoStatistic, SumStatistic, fdp, knockoff_select, load_generator, power
from knockoffs.check.dry_run import feature_scores
from knockoffs.datasets import liang_response, linear_response, load_hiv
from knockoffs.datasets.real import DataNotFoundError, position
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.cautions import collect_cautions
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
        shape = (np.abs(v), 2.0 * (v > np.quantile(v, rng.uniform(0.3, 0.7))), np.sin(2 * v), v)[k % 4]
        y += rng.choice([-1, 1]) * rng.uniform(0.6, 1.2) * shape
    for k in range(0, count - 1, 2):
        y += 0.5 * z[:, k] * z[:, k + 1]
    return y / y.std() + 0.7 * rng.normal(size=len(z)), np.arange(z.shape[1]) < count


def fit_model(name: str, generator: str, fit: int, data: str | None, folder: Path) -> None:
    torch.set_num_threads(1)
    with collect_cautions():
        GENERATORS[generator](fit).fit(some_rows(name, data, fit)).save(model_path(folder, name, generator, fit))


def model_path(folder: Path, name: str, generator: str, fit: int) -> Path:
    return folder / f"{name} {generator} {fit}"


def one_replicate(
    name: str, generator: str, fit: int, data: str | None, folder: Path, kind: str, seed: int
) -> list[Any]:
    """FDP and power of both statistics at all levels, for one simulated response."""
    torch.set_num_threads(1)
    table = some_rows(name, data, fit)
    found = []
    with collect_cautions():
        knockoffs = load_generator(model_path(folder, name, generator, fit)).sample(table, random_state=seed)
        y, relevant = respond(table, kind, seed)
        for statistic, make in STATISTICS.items():
            w = make(random_state=seed).compute(table, knockoffs, y)
            for level in LEVELS:
                selected = knockoff_select(w, level)
                found.append(
                    (name, generator, statistic, kind, level, fdp(selected, relevant), power(selected, relevant))
                )
    return found


def rates(arguments: argparse.Namespace, folder: Path) -> pd.DataFrame:
    """Mean FDP with its standard error, and power, by table, generator, statistic and response."""
    subjects = [(name, g, fit) for name in available(arguments) for g in arguments.generators for fit in range(2)]
    run = Parallel(arguments.n_jobs)
    run(delayed(fit_model)(*subject, arguments.data, folder) for subject in subjects)
    seeds = range(arguments.first_seed, arguments.first_seed + (arguments.replicates + 1) // 2)
    found = run(
        delayed(one_replicate)(*subject, arguments.data, folder, kind, seed)
        for seed in seeds
        for subject in subjects
        for kind in RESPONSES
    )
    names = ["table", "generator", "statistic", "response", "level", "fdp", "power"]
    frame = pd.DataFrame([row for rows in found for row in rows], columns=names)
    by = frame.groupby(names[:5], sort=False)
    table = by["fdp"].agg(["mean", "sem", "size"]).rename(columns={"mean": "FDP", "sem": "s.e."})
    table["power"] = by["power"].mean()
    level = table.index.get_level_values("level")
    table["above"] = np.where(table["FDP"] > level + 2 * table["s.e."], "!", "")
    return table.round(3)


def available(arguments: argparse.Namespace) -> Iterable[str]:
    for name in arguments.tables:
        try:
            REAL[name](arguments.data)
        except DataNotFoundError:
            continue
        yield name


def one_drug(drug_class: str, drug: str, data: str | None, draws: int) -> list[Any]:
    """Positions that are selected at .05, on the panel of known positions and outside."""
    torch.set_num_threads(1)
    mutations = load_hiv(data, drug_class=drug_class, drug=drug)
    table = read_table(mutations.X, who="mixed")
    found = []
    with collect_cautions():
        model = GENERATORS["DDLK"](0).fit(table)
        for seed in range(draws):
            knockoffs = model.sample(table, random_state=seed)
            for name, make in STATISTICS.items():
                w = make(random_state=seed).compute(table, knockoffs, mutations.y.to_numpy())
                selected = knockoff_select(w, 0.05)
                pairs = zip(mutations.X.columns, mutations.treatment_selected, selected, strict=True)
                positions = {position(column): bool(known) for column, known, chosen in pairs if chosen}
                on_panel = sum(positions.values())
                found.append((drug, name, seed, on_panel, len(positions) - on_panel))
    return found


def drugs(arguments: argparse.Namespace) -> pd.DataFrame:
    jobs = [(drug_class, drug) for drug_class, names in DRUGS.items() for drug in names]
    found = Parallel(arguments.n_jobs)(delayed(one_drug)(*job, arguments.data, arguments.draws) for job in jobs)
    frame = pd.DataFrame(
        [row for rows in found for row in rows], columns=["drug", "statistic", "draw", "on the panel", "outside"]
    )
    return frame.groupby(["statistic", "draw"])[["on the panel", "outside"]].sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=["rates", "hiv"])
    parser.add_argument("--data", help="folder of the real tables")
    parser.add_argument("--replicates", type=int, default=20, help="of each response, half of them for each fit")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=2, help="of knockoffs for each drug")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--generators", nargs="*", default=["DDLK", "Gaussian"])
    parser.add_argument("--tables", nargs="*", default=list(REAL))
    arguments = parser.parse_args()
    console = Console(width=160)
    if "rates" in arguments.part:
        with tempfile.TemporaryDirectory() as folder:
            console.print(rates(arguments, Path(folder)).to_string())
        console.print("! above the level by more than two standard errors")
    if "hiv" in arguments.part:
        try:
            console.print(drugs(arguments).to_string())
        except DataNotFoundError as error:
            console.print(f"HIV is left out: {error}")


if __name__ == "__main__":
    main()
