"""`make calibration`: what `calibrate=True` does to false discoveries and power on gene
expression.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.repeated import (
    Job,
    Row,
    add_options,
    means_as_text,
    measured,
    rates_at,
    seeds_of,
    show,
)
from knockoffs import DDLK, HoldoutStatistic, LassoStatistic, MidpointStatistic
from knockoffs.check.expectation import expect
from knockoffs.datasets import Response, gene_walk, liang_response, load_expression
from knockoffs.runtime.arrays import Array
from knockoffs.table.table import read_table

LEVELS = (0.1, 0.2, 0.3)
VALUES = ("FDP", "power", "calibrated level", "FDP, calibrated", "power, calibrated")
STATISTICS: dict[str, Any] = {
    "lasso": LassoStatistic,
    "midpoint": MidpointStatistic,
    "mixture": HoldoutStatistic,
    "mixture, boosting": lambda: HoldoutStatistic("boosting", folds=3),
}


def step_response(x: Array, *, random_state: int) -> Response:
    """Sums of steps of 20 columns at their medians:
    a kind of response that no dry run simulates.
    """
    rng = np.random.default_rng(random_state)
    relevant = rng.permutation(x.shape[1]) < 20
    steps = np.where(x > np.median(x, axis=0), 1.0, -1.0) * rng.choice([-1.0, 1.0], size=x.shape[1])
    return Response(0.5 * steps[:, relevant].sum(1) + rng.standard_normal(len(x)), relevant)


RESPONSES: dict[str, Callable[..., Response]] = {"Liang": liang_response, "steps": step_response}


def one_walk(walk: int, statistics: list[str], data: str) -> list[Row]:
    """Return FDP and power of each response at each level, as it is and calibrated."""
    x = gene_walk(load_expression(data), random_state=walk).to_numpy()
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
                (plain,), (calibrated,) = (
                    rates_at(w, relevant, [level]),
                    rates_at(w, relevant, [lower]),
                )
                about = {
                    "statistic": name,
                    "response": response,
                    "level": level,
                    "calibrated level": lower,
                }
                after = {f"{value}, calibrated": calibrated[value] for value in ("FDP", "power")}
                rows.append(plain | about | after)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "--walks", 16)
    parser.add_argument(
        "--statistics",
        nargs="+",
        default=["lasso", "midpoint", "mixture"],
        choices=list(STATISTICS),
    )
    parser.add_argument("--data", required=True, help="folder with gdsc_expression/expression.npz")
    arguments = parser.parse_args()
    jobs = [
        Job(one_walk, (walk, arguments.statistics, arguments.data)) for walk in seeds_of(arguments)
    ]
    names = ["statistic", "response", "level"]
    found = means_as_text(measured(jobs, arguments), names, VALUES, digits=2)
    show("DDLK knockoffs of gene walks: means ± s.e. over walks", found, names=2)


if __name__ == "__main__":
    main()
