"""`make certificate`: does the certificate pass exact knockoffs and fail broken ones? Level, power,
cost.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
import pandas as pd
import torch
from scipy.stats import kstest

from benchmarks.repeated import Job, Row, add_options, measured, seeds_of, show
from benchmarks.speed import seconds
from knockoffs import DDLK, GaussianKnockoffs, check_swap
from knockoffs.datasets import (
    AutoregressiveGaussian,
    AutoregressiveMixture,
    ClaytonCopula,
    gene_walk,
    load_expression,
    load_icu,
    symmetrised,
)
from knockoffs.runtime.arrays import Array

NOISE = 1e-3
LAWS = {
    "gaussian": AutoregressiveGaussian(),
    "mixture": AutoregressiveMixture(),
    "clayton": ClaytonCopula(),
}
SIGNS = AutoregressiveMixture(rhos=(0.6, 0.4, -0.6))
REAL = ("genes", "icu")
VERDICTS = ("pass", "warn", "fail")


def exact(data: str, rows: int, seed: int, folder: str | None) -> tuple[Array, Array]:
    """Rows and exact knockoffs; of real rows by exchanging cells of rows and learned knockoffs at
    random.
    """
    if data in LAWS:
        x = LAWS[data].sample(rows, seed)
        return x, LAWS[data].knockoffs(x, seed)
    x, model = _real(data, folder)
    chosen = np.random.default_rng(seed).permutation(len(x))[:rows]
    return symmetrised(x[chosen], model.sample(x[chosen], random_state=seed), seed)


@lru_cache
def _real(data: str, folder: str | None) -> tuple[Array, DDLK]:
    if data == "genes":
        x = gene_walk(load_expression(folder), random_state=0)
    else:
        x = load_icu(folder, missing="fill").X
    return x.to_numpy(), DDLK(random_state=0).fit(x.to_numpy())


def permuted(x: Array, x_tilde: Array, rng: np.random.Generator) -> Array:
    return np.stack([rng.permutation(column) for column in x.T], axis=1)


def copies(x: Array, x_tilde: Array, rng: np.random.Generator) -> Array:
    """Where values repeat, the noisy ones go to the nearest value:
    off the grid they would be told by that.
    """
    noisy = x + NOISE * x.std(0) * rng.standard_normal(x.shape)
    for j, column in enumerate(x.T):
        values = np.unique(column)
        if len(values) < len(column):
            middles = (values[1:] + values[:-1]) / 2
            noisy[:, j] = values[np.searchsorted(middles, noisy[:, j])]
    return noisy


def wide(x: Array, x_tilde: Array, rng: np.random.Generator) -> Array:
    """One column's variance 20 % too large. (A column with two values only cannot have that,
    and be itself.)
    """
    j = rng.choice([j for j in range(x.shape[1]) if len(np.unique(x[:, j])) > 2])
    wide = x_tilde.copy()
    wide[:, j] = wide[:, j].mean() + np.sqrt(1.2) * (wide[:, j] - wide[:, j].mean())
    return wide


def shifted(x: Array, x_tilde: Array, rng: np.random.Generator) -> Array:
    return np.roll(x_tilde, 1, axis=0)


BROKEN: dict[str, Callable[[Array, Array, np.random.Generator], Array]] = {
    "columns permuted": permuted,
    "copies + noise": copies,
    "one variance + 20 %": wide,
    "rows shifted": shifted,
}


def pair(data: str, kind: str, rows: int, seed: int, folder: str | None) -> tuple[Array, Array]:
    if kind == "Gaussian, signs differ":
        x = SIGNS.sample(2 * rows, seed)
        return x[rows:], GaussianKnockoffs(random_state=seed).fit(x[:rows]).sample(x[rows:])
    x, x_tilde = exact(data, rows, seed, folder)
    return x, BROKEN[kind](x, x_tilde, np.random.default_rng(seed)) if kind in BROKEN else x_tilde


def one_certificate(
    data: str, kind: str, rows: int, seed: int, folder: str | None = None
) -> list[Row]:
    """Return the verdict, its parts, and the p-values of the classifier test;
    `folder` holds the real data.
    """
    tables = pair(data, kind, rows, seed, folder)
    begun = time.perf_counter()
    found = check_swap(tables, random_state=seed)
    row: Row = {
        "data": data,
        "rows": len(tables[0]),
        "knockoffs": kind,
        "s": time.perf_counter() - begun,
    }
    row |= {verdict: float(found.verdict == verdict) for verdict in VERDICTS}
    row |= {
        "validity fails": float(found.validity == "fail"),
        "power warns": float(found.power == "warn"),
    }
    return [
        row
        | {"classifier": [test.p_value for test in found.found.tests if test.test == "classifier"]}
    ]


def tasks(sets: list[str]) -> Iterator[tuple[str, str, int]]:
    """Yield data set, kind of knockoffs and rows."""
    for data in sets:
        rows = {"genes": 975, "icu": 4000}.get(data, 2000)
        for kind in ("exact", *BROKEN, *(["Gaussian, signs differ"] if data == "mixture" else [])):
            yield data, kind, rows
    if "gaussian" in sets:
        yield "gaussian", "one variance + 20 %", 4000


def tabulated(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the share of draws with each verdict."""
    groups = frame.groupby(["data", "rows", "knockoffs"], sort=False)
    shares = groups[[*VERDICTS, "validity fails", "power warns"]].mean()
    table = shares.map("{:.0%}".format)
    table.insert(0, "draws", groups.size())
    table["s"] = groups["s"].median().map("{:.1f}".format)
    return table.reset_index()[["data", "knockoffs", "rows", *table.columns]]


def calibration(arguments: argparse.Namespace) -> None:
    """p-values of the classifier test for exact knockoffs, one swap of each draw."""
    draws = arguments.calibration_draws
    for data in LAWS:
        jobs = [Job(one_certificate, (data, "exact", 400, 1000 + seed)) for seed in range(draws)]
        found = measured(jobs, arguments)
        by_swap = np.array(found["classifier"].tolist()).T
        fits = ", ".join(f"{kstest(p, 'uniform').pvalue:.3f}" for p in by_swap)
        print(
            f"{data}: {draws} draws of 400 rows: KS p against uniform (full, 3 halves): {fits}; "
            f"pass {found['pass'].mean():.1%}"
        )


def cost() -> None:
    """One core, n = 2000, d = 100, with DDLK's densities;
    then the dry run with the default statistic.
    """
    torch.set_num_threads(1)
    x = LAWS["gaussian"].sample(4000, 0)
    model = DDLK(random_state=0)
    print(f"fit of DDLK: {seconds(lambda: model.fit(x[:2000])):.1f} s")
    print(f"check_swap: {seconds(lambda: check_swap(model, x[2000:], random_state=0)):.1f} s")
    print(
        f"with dry run: "
        f"{seconds(lambda: check_swap(model, x[2000:], dry_run=True, random_state=0)):.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "--draws", 40)
    parser.add_argument("--calibration-draws", type=int, default=200)
    parser.add_argument("--sets", nargs="+", default=[*LAWS, *REAL], choices=[*LAWS, *REAL])
    parser.add_argument("--data", help="folder with the real data; without it those are left out")
    parser.add_argument("--cost", action="store_true", help="measure the time alone")
    arguments = parser.parse_args()
    if arguments.cost:
        cost()
        return
    sets = [name for name in arguments.sets if arguments.data or name not in REAL]
    jobs = [
        Job(one_certificate, (*task, seed, arguments.data))
        for task in tasks(sets)
        for seed in seeds_of(arguments)
    ]
    show("Share of draws with each verdict", tabulated(measured(jobs, arguments)), names=2)
    if arguments.calibration_draws:
        calibration(arguments)


if __name__ == "__main__":
    # by this name workers find it and keep what they fitted
    from benchmarks import certificate  # noqa: PLW0406

    certificate.main()
