"""`make quality`: how far from exact knockoffs, on three laws whose density is known."""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import astuple, fields

import numpy as np
import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from benchmarks.measures import Law, Quality, measure
from knockoffs import DDLK
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula

LAWS: dict[str, Law] = {
    "gaussian": AutoregressiveGaussian(),
    "mixture": AutoregressiveMixture(),
    "clayton": ClaytonCopula(),
}
PAPER_ENTROPY = {"gaussian": 0.1, "mixture": 0.001, "clayton": 0.1}  # the paper has no copula
FIT_ROWS, HELD_OUT_ROWS = 1700, 2000


def run(name: str, settings: str, seed: int) -> tuple[str, str, float, Quality]:
    torch.set_num_threads(1)
    law = LAWS[name]
    x = law.sample(FIT_ROWS + HELD_OUT_ROWS, seed)
    options = {"validation_fraction": 300 / FIT_ROWS, "device": "cpu", "random_state": seed}
    model = DDLK(**options) if settings == "default" else DDLK.paper(entropy=PAPER_ENTROPY[name], **options)
    begun = time.perf_counter()
    model.fit(x[:FIT_ROWS])
    spent = time.perf_counter() - begun
    return name, settings, spent, measure(model, law, x[FIT_ROWS:], seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--laws", nargs="+", default=list(LAWS), choices=list(LAWS))
    parser.add_argument("--seeds", type=int, default=5, help="fits with the default settings; medians are shown")
    parser.add_argument("--paper-seeds", type=int, default=1, help="fits with DDLK.paper(), minutes each")
    parser.add_argument("--n-jobs", type=int, default=2, help="fits side by side, one core each")
    arguments = parser.parse_args()
    runs = [(name, "paper", seed) for name in arguments.laws for seed in range(arguments.paper_seeds)]
    runs += [(name, "default", seed) for name in arguments.laws for seed in range(arguments.seeds)]
    results = Parallel(arguments.n_jobs)(delayed(run)(*task) for task in runs)

    names = [field.name for field in fields(Quality)]
    table = Table(
        title=f"{FIT_ROWS} rows fitted, 100 columns, {HELD_OUT_ROWS} held-out rows; median (range) over seeds"
    )
    for heading in ("law", "settings", "fits", "seconds", *names):
        table.add_column(heading.replace("_", " "), justify="right")
    for name in arguments.laws:
        for settings in ("default", "paper"):
            found = [
                (spent, *astuple(quality))
                for law, how, spent, quality in results
                if (law, how) == (name, settings)
            ]
            if found:
                columns = zip(*found, strict=True)
                table.add_row(name, settings, str(len(found)), *(_spread(column) for column in columns))
    Console(width=160).print(table)


def _spread(values: tuple[float, ...]) -> str:
    middle = f"{statistics.median(values):.3f}"
    return middle if len(values) == 1 else f"{middle} ({np.min(values):.3f} to {np.max(values):.3f})"


if __name__ == "__main__":
    main()
