"""`make entropy`: `DDLK(entropy="auto")` against fixed weights λ: validity, power and time."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from benchmarks.measures import Law, swap_auc, true_divergence
from benchmarks.speed import seconds
from knockoffs import DDLK, HoldoutStatistic, LassoStatistic, fdp, knockoff_select, power
from knockoffs.arrays import Array
from knockoffs.datasets import (
    AutoregressiveGaussian,
    AutoregressiveMixture,
    ClaytonCopula,
    gene_walk,
    liang_response,
    linear_response,
    load_expression,
)
from knockoffs.generators.entropy import Entropy

LAWS: dict[str, Law] = {f"gaussian {rho}": AutoregressiveGaussian(rho=rho) for rho in (0.2, 0.4, 0.6, 0.8)}
LAWS |= {"mixture": AutoregressiveMixture(), "clayton": ClaytonCopula()}
SETTINGS: tuple[Entropy, ...] = (0.001, 0.01, 0.1, "auto")
LEVEL = 0.1
ROWS, HELD_OUT = 2000, 2000
WALK_ROWS = 675


@dataclass
class Row:
    """One fit: divergence under the truth (genes: under q_joint), AUC, FDP and power of two statistics."""

    data: str
    setting: str
    seed: int
    chosen: float
    seconds: float
    divergence: float
    auc: float
    lasso_fdp: float
    lasso_power: float
    boosting_fdp: float
    boosting_power: float


def run(data: str, setting: Entropy, seed: int) -> Row:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    if data == "genes":
        x = rng.permutation(gene_walk(load_expression(), random_state=seed).to_numpy())
        fitted, held = x[:WALK_ROWS], x[WALK_ROWS:]
    else:
        x = LAWS[data].sample(ROWS + HELD_OUT, seed)
        fitted, held = x[:ROWS], x[ROWS:]
    model = DDLK(entropy=setting, random_state=seed)
    spent = seconds(lambda: model.fit(fitted))
    held_tilde = model.sample(held, random_state=seed + 1)
    if data == "genes":
        divergence = model.swap_divergence(held, random_state=seed).value
    else:
        divergence = true_divergence(model, LAWS[data], held, held_tilde, rng)
    x_tilde = model.sample(fitted, random_state=seed + 2)
    rates = [*_lasso(data, fitted, x_tilde, seed), *_boosting(fitted, x_tilde, seed)]
    auc = swap_auc(held, held_tilde, rng, swaps=2)
    return Row(data, str(setting), seed, model.entropy_, spent, divergence, auc, *rates)


def _lasso(data: str, x: Array, x_tilde: Array, seed: int) -> tuple[float, float]:
    """Linear response of standardised columns; of raw ones for `mixture`, whose columns are all but copies."""
    scaled, amplitude = (x, 100) if data == "mixture" else ((x - x.mean(0)) / x.std(0), 5)
    y, relevant = linear_response(scaled, amplitude=amplitude, random_state=seed)
    selected = knockoff_select(LassoStatistic(random_state=seed).compute(x, x_tilde, y), LEVEL)
    return fdp(selected, relevant), power(selected, relevant)


def _boosting(x: Array, x_tilde: Array, seed: int) -> tuple[float, float]:
    y, relevant = liang_response((x - x.mean(0)) / x.std(0), random_state=seed)
    statistic = HoldoutStatistic("boosting", mixture=0, folds=2, random_state=seed)
    selected = knockoff_select(statistic.compute(x, x_tilde, y), LEVEL)
    return fdp(selected, relevant), power(selected, relevant)


def show(rows: list[Row]) -> None:
    table = Table(
        title=f"means ± s.e. over seeds; FDP and power at {LEVEL}; difference of auto from each, paired by seed"
    )
    headings = (
        "data",
        "λ",
        "seeds",
        "chosen",
        "time",
        "divergence",
        "AUC",
        "lasso FDP",
        "power",
        "boosting FDP",
        "power",
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "data" else "right")
    for data in dict.fromkeys(row.data for row in rows):
        auto = {r.seed: r for r in rows if (r.data, r.setting) == (data, "auto")}
        for setting in map(str, SETTINGS):
            found = [r for r in rows if (r.data, r.setting) == (data, setting)]
            if found:
                table.add_row(data, setting, str(len(found)), *_cells(found, auto))
    Console(width=190).print(table)


def _cells(found: list[Row], auto: dict[int, Row]) -> list[str]:
    chosen = ", ".join(f"{value:g}" for value in sorted({r.chosen for r in found}))
    times = [r.seconds / auto[r.seed].seconds for r in found if r.seed in auto]
    cells = [chosen, f"{1 / np.median(times):.2f}" if times else "-"]
    for name in ("divergence", "auc", "lasso_fdp", "lasso_power", "boosting_fdp", "boosting_power"):
        values = np.array([getattr(r, name) for r in found])
        cell = f"{values.mean():.3f} ± {_error(values):.3f}"
        gaps = np.array([getattr(auto[r.seed], name) - getattr(r, name) for r in found if r.seed in auto])
        if len(gaps) and found[0].setting != "auto":
            cell += f" ({gaps.mean():+.3f} ± {_error(gaps):.3f})"
        cells.append(cell)
    return cells


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(10, 20), help="from, and up to but without")
    parser.add_argument("--sets", nargs="+", default=[*LAWS, "genes"])
    parser.add_argument("--data", help="folder with gdsc_expression/expression.npz; without it genes are left out")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the rows to this JSON file")
    parser.add_argument("--rows", type=Path, help="show the rows of this JSON file instead of running")
    arguments = parser.parse_args()
    if arguments.rows:
        show([Row(**row) for row in json.loads(arguments.rows.read_text())])
        return
    if arguments.data:
        os.environ["KNOCKOFFS_DATA"] = arguments.data
    sets = [name for name in arguments.sets if name != "genes" or arguments.data]
    tasks = [(data, setting, seed) for seed in range(*arguments.seeds) for data in sets for setting in SETTINGS]
    rows: list[Row] = []
    for row in Parallel(arguments.n_jobs, return_as="generator_unordered")(delayed(run)(*task) for task in tasks):
        rows.append(row)
        if arguments.out:  # as they come, so that nothing is lost where the run is stopped
            arguments.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    show(rows)


if __name__ == "__main__":
    main()
