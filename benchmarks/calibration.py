"""`make calibration`: what `calibrate=True` does to false discoveries and power on gene expression."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from knockoffs import DDLK, HoldoutStatistic, LassoStatistic, MidpointStatistic, fdp, knockoff_select, power
from knockoffs.check.expectation import expect
from knockoffs.datasets import Response, gene_walk, liang_response, load_expression
from knockoffs.runtime.arrays import Array
from knockoffs.table.table import read_table

LEVELS = (0.1, 0.2, 0.3)
STATISTICS: dict[str, Any] = {
    "lasso": LassoStatistic,
    "midpoint": MidpointStatistic,
    "mixture": HoldoutStatistic,
    "mixture, boosting": lambda: HoldoutStatistic("boosting", folds=3),
}


def step_response(x: Array, *, random_state: int) -> Response:
    """Sums of steps of 20 columns at their medians: a kind of response that no dry run simulates."""
    rng = np.random.default_rng(random_state)
    relevant = rng.permutation(x.shape[1]) < 20
    steps = np.where(x > np.median(x, axis=0), 1.0, -1.0) * rng.choice([-1.0, 1.0], size=x.shape[1])
    return Response(0.5 * steps[:, relevant].sum(1) + rng.standard_normal(len(x)), relevant)


RESPONSES: dict[str, Callable[..., Response]] = {"Liang": liang_response, "steps": step_response}


@dataclass
class Row:
    """One response on one gene walk: FDP and power at a level, as it is and calibrated."""

    statistic: str
    response: str
    walk: int
    level: float
    calibrated_level: float
    fdp: float
    power: float
    calibrated_fdp: float
    calibrated_power: float


def run(walk: int, statistics: list[str]) -> list[Row]:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    x = gene_walk(load_expression(), random_state=walk).to_numpy()
    model = DDLK(random_state=walk).fit(x)
    x_tilde = model.sample(x, random_state=walk)
    rows = []
    for name in statistics:
        statistic = STATISTICS[name]().set_params(random_state=walk)
        (expected,) = expect(
            read_table(x, who="calibration"),
            lambda seed: model.sample(x, random_state=seed),
            [statistic],
            offset=1,
            seed=walk,
        )
        for response, simulated in RESPONSES.items():
            y, relevant = simulated(x, random_state=1000 + walk)
            w = statistic.compute(x, x_tilde, y)
            for level in LEVELS:
                lower = expected.calibrated_level(level)
                plain, calibrated = knockoff_select(w, level), knockoff_select(w, lower)
                rates = [f(s, relevant) for s in (plain, calibrated) for f in (fdp, power)]
                rows.append(Row(name, response, walk, level, lower, *rates))
    return rows


def show(rows: list[Row]) -> None:
    table = Table(title="DDLK knockoffs of gene walks: means ± s.e. over walks")
    for heading in ("statistic", "response", "q", "FDP", "power", "level", "FDP, calibrated", "power, calibrated"):
        table.add_column(heading, justify="left" if heading in ("statistic", "response") else "right")
    for key in dict.fromkeys((r.statistic, r.response, r.level) for r in rows):
        found = [r for r in rows if (r.statistic, r.response, r.level) == key]
        cells = [
            _mean(found, n) for n in ("fdp", "power", "calibrated_level", "calibrated_fdp", "calibrated_power")
        ]
        table.add_row(key[0], key[1], f"{key[2]:g}", *cells)
    Console(width=130).print(table)


def _mean(rows: list[Row], name: str) -> str:
    values = np.array([getattr(row, name) for row in rows])
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--walks", type=int, default=16)
    parser.add_argument(
        "--statistics", nargs="+", default=["lasso", "midpoint", "mixture"], choices=list(STATISTICS)
    )
    parser.add_argument("--data", required=True, help="folder with gdsc_expression/expression.npz")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the rows to this JSON file")
    arguments = parser.parse_args()
    os.environ["KNOCKOFFS_DATA"] = arguments.data
    tasks = [delayed(run)(walk, arguments.statistics) for walk in range(arguments.walks)]
    rows: list[Row] = []
    for found in Parallel(arguments.n_jobs, return_as="generator_unordered")(tasks):
        rows += found
        if arguments.out:  # as they come, so that nothing is lost where the run is stopped
            arguments.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    show(rows)


if __name__ == "__main__":
    main()
