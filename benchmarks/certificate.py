"""`make certificate`: does the certificate pass exact knockoffs and fail broken ones? Level, power, cost."""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table
from scipy.stats import kstest

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
LAWS = {"gaussian": AutoregressiveGaussian(), "mixture": AutoregressiveMixture(), "clayton": ClaytonCopula()}
SIGNS = AutoregressiveMixture(rhos=(0.6, 0.4, -0.6))
REAL = ("genes", "icu")


@dataclass
class Row:
    """One certificate."""

    data: str
    kind: str
    seed: int
    rows: int
    verdict: str
    validity: str
    power: str
    p_value: float
    seconds: float


def exact(data: str, rows: int, seed: int) -> tuple[Array, Array]:
    """Rows and exact knockoffs; of real rows by exchanging cells of rows and learned knockoffs at random."""
    if data in LAWS:
        x = LAWS[data].sample(rows, seed)
        return x, LAWS[data].knockoffs(x, seed)
    x, model = _real(data)
    chosen = np.random.default_rng(seed).permutation(len(x))[:rows]
    return symmetrised(x[chosen], model.sample(x[chosen], random_state=seed), seed)


@lru_cache
def _real(data: str) -> tuple[Array, DDLK]:
    x = gene_walk(load_expression(), random_state=0) if data == "genes" else load_icu(missing="fill").X
    return x.to_numpy(), DDLK(random_state=0).fit(x.to_numpy())


def permuted(x: Array, x_tilde: Array, rng: np.random.Generator) -> Array:
    return np.stack([rng.permutation(column) for column in x.T], axis=1)


def copies(x: Array, x_tilde: Array, rng: np.random.Generator) -> Array:
    """Where values repeat, the noisy ones go to the nearest value: off the grid they would be told by that."""
    noisy = x + NOISE * x.std(0) * rng.standard_normal(x.shape)
    for j, column in enumerate(x.T):
        values = np.unique(column)
        if len(values) < len(column):
            middles = (values[1:] + values[:-1]) / 2
            noisy[:, j] = values[np.searchsorted(middles, noisy[:, j])]
    return noisy


def wide(x: Array, x_tilde: Array, rng: np.random.Generator) -> Array:
    """One column's variance 20 % too large. (A column with two values only cannot have that, and be itself.)"""
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


def pair(data: str, kind: str, rows: int, seed: int) -> tuple[Array, Array]:
    if kind == "Gaussian, signs differ":
        x = SIGNS.sample(2 * rows, seed)
        return x[rows:], GaussianKnockoffs(random_state=seed).fit(x[:rows]).sample(x[rows:])
    x, x_tilde = exact(data, rows, seed)
    return x, BROKEN[kind](x, x_tilde, np.random.default_rng(seed)) if kind in BROKEN else x_tilde


def run(data: str, kind: str, rows: int, seed: int) -> tuple[Row, list[float]]:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    tables = pair(data, kind, rows, seed)
    begun = time.perf_counter()
    found = check_swap(tables, random_state=seed)
    spent = time.perf_counter() - begun
    row = Row(data, kind, seed, len(tables[0]), found.verdict, found.validity, found.power, found.p_value, spent)
    return row, [t.p_value for t in found.found.tests if t.test == "classifier"]


def tasks(draws: int) -> list[tuple[str, str, int, int]]:
    found = []
    for data in (*LAWS, *REAL):
        rows = {"genes": 975, "icu": 4000}.get(data, 2000)
        kinds = ["exact", *BROKEN, *(["Gaussian, signs differ"] if data == "mixture" else [])]
        found += [(data, kind, rows, seed) for kind in kinds for seed in range(draws)]
    return found + [("gaussian", "one variance + 20 %", 4000, seed) for seed in range(draws)]


def show(rows: list[Row]) -> None:
    table = Table(title="Share of draws with each verdict")
    for heading in (
        "data",
        "rows",
        "knockoffs",
        "draws",
        "pass",
        "warn",
        "fail",
        "validity fails",
        "power warns",
        "s",
    ):
        table.add_column(heading, justify="left" if heading in ("data", "knockoffs") else "right")
    for key in dict.fromkeys((r.data, r.rows, r.kind) for r in rows):
        found = [r for r in rows if (r.data, r.rows, r.kind) == key]
        shares = [np.mean([r.verdict == v for r in found]) for v in ("pass", "warn", "fail")]
        shares += [np.mean([r.validity == "fail" for r in found]), np.mean([r.power == "warn" for r in found])]
        spent = np.median([r.seconds for r in found])
        table.add_row(key[0], str(key[1]), key[2], str(len(found)), *(f"{s:.0%}" for s in shares), f"{spent:.1f}")
    Console(width=130).print(table)


def calibration(draws: int, n_jobs: int) -> None:
    """p-values of the classifier test for exact knockoffs, one swap of each draw."""
    for data in LAWS:
        found = Parallel(n_jobs)(delayed(run)(data, "exact", 400, 1000 + seed) for seed in range(draws))
        by_swap = np.array([p for _, p in found]).T
        fits = ", ".join(f"{kstest(p, 'uniform').pvalue:.3f}" for p in by_swap)
        passed = np.mean([row.verdict == "pass" for row, _ in found])
        print(
            f"{data}: {draws} draws of 400 rows: KS p against uniform (full, 3 halves): {fits}; pass {passed:.1%}"
        )


def cost() -> None:
    """One core, n = 2000, d = 100, with DDLK's densities; then the dry run with the default statistic."""
    torch.set_num_threads(1)
    x = LAWS["gaussian"].sample(4000, 0)
    model = DDLK(random_state=0)
    print(f"fit of DDLK: {seconds(lambda: model.fit(x[:2000])):.1f} s")
    print(f"check_swap: {seconds(lambda: check_swap(model, x[2000:], random_state=0)):.1f} s")
    print(f"with dry run: {seconds(lambda: check_swap(model, x[2000:], dry_run=True, random_state=0)):.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--calibration-draws", type=int, default=200)
    parser.add_argument("--sets", nargs="+", default=[*LAWS, *REAL], choices=[*LAWS, *REAL])
    parser.add_argument("--data", help="folder with the real data; without it those are left out")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the certificates' verdicts to this JSON file")
    parser.add_argument("--cost", action="store_true", help="measure the time alone")
    arguments = parser.parse_args()
    if arguments.cost:
        cost()
        return
    if arguments.data:
        os.environ["KNOCKOFFS_DATA"] = arguments.data
    sets = [name for name in arguments.sets if arguments.data or name not in REAL]
    todo = [task for task in tasks(arguments.draws) if task[0] in sets]
    rows = [row for row, _ in Parallel(arguments.n_jobs)(delayed(run)(*task) for task in todo)]
    if arguments.out:
        arguments.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    show(rows)
    if arguments.calibration_draws:
        calibration(arguments.calibration_draws, arguments.n_jobs)


if __name__ == "__main__":
    from benchmarks import certificate  # noqa: PLW0406 - by this name workers find it and keep what they fitted

    certificate.main()
