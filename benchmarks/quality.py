"""`make quality`: how far from exact knockoffs, on three laws whose density is known."""

from __future__ import annotations

import argparse
from dataclasses import asdict

import pandas as pd

from benchmarks.measures import Law, measure
from benchmarks.repeated import Job, Row, add_options, measured, seeds_of, show
from benchmarks.speed import seconds
from knockoffs import DDLK
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture, ClaytonCopula

LAWS: dict[str, Law] = {
    "gaussian": AutoregressiveGaussian(),
    "mixture": AutoregressiveMixture(),
    "clayton": ClaytonCopula(),
}
PAPER_ENTROPY = {"gaussian": 0.1, "mixture": 0.001, "clayton": 0.1}  # the paper has no copula
FIT_ROWS, HELD_OUT_ROWS = 1700, 2000


def one_fit(name: str, settings: str, seed: int) -> list[Row]:
    law = LAWS[name]
    x = law.sample(FIT_ROWS + HELD_OUT_ROWS, seed)
    options = {"validation_fraction": 300 / FIT_ROWS, "device": "cpu", "random_state": seed}
    model = (
        DDLK(**options)
        if settings == "default"
        else DDLK.paper(entropy=PAPER_ENTROPY[name], **options)
    )
    spent = seconds(lambda: model.fit(x[:FIT_ROWS]))
    judged = asdict(measure(model, law, x[FIT_ROWS:], seed))
    return [{"law": name, "settings": settings, "seconds": spent} | judged]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "--seeds", 5)
    parser.add_argument("--laws", nargs="+", default=list(LAWS), choices=list(LAWS))
    parser.add_argument(
        "--paper-seeds", type=int, default=1, help="fits with DDLK.paper(), minutes each"
    )
    arguments = parser.parse_args()
    kinds = {"paper": range(arguments.paper_seeds), "default": seeds_of(arguments)}
    jobs = [
        Job(one_fit, (name, settings, seed))
        for settings, seeds in kinds.items()
        for name in arguments.laws
        for seed in seeds
    ]
    found = measured(jobs, arguments).groupby(["law", "settings"])
    table = found.agg(_spread).rename(columns=lambda name: name.replace("_", " "))
    table.insert(0, "fits", found.size())
    title = (
        f"{FIT_ROWS} rows fitted, 100 columns, {HELD_OUT_ROWS} held-out rows; median (range) "
        f"over seeds"
    )
    show(title, table.reset_index(), names=2)


def _spread(values: pd.Series) -> str:
    middle = f"{values.median():.3f}"
    return middle if len(values) == 1 else f"{middle} ({values.min():.3f} to {values.max():.3f})"


if __name__ == "__main__":
    main()
