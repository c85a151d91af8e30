"""`python -m benchmarks.guarantees`: whether bounds of several draws hold, and the FDR of a filter with offset 0.

Exact knockoffs of Gaussian rows, and coefficients of a ridge regression, which have the flip-sign property.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from rich.console import Console
from rich.table import Table

from knockoffs import fdp, fdp_bounds, knockoff_select, pfer_select
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.filtering.guarantees import false_in_sets, pfer_over_draws
from knockoffs.generators.gaussian import KnockoffLaw, knockoff_gaps
from knockoffs.runtime.arrays import Array, Flags

LEVEL, FALSE = 0.1, 2
PENALTY = 0.1  # times the number of rows


def equicorrelated(features: int, rho: float) -> Array:
    return (1 - rho) * np.eye(features) + rho


Setting = tuple[int, Array, int, float, int]
Measure = Callable[[Array, Flags], list[float]]
# rows, covariance, relevant features, coefficients times the root of the rows, draws
OF_DRAWS: list[Setting] = [
    (300, AutoregressiveGaussian(60, rho=0.5).covariance, 20, 4.0, 20),
    (300, AutoregressiveGaussian(60, rho=0.5).covariance, 0, 4.0, 20),
    *((500, equicorrelated(40, 0.3), 12, 4.0, draws) for draws in (1, 2, 5, 20)),
    (500, equicorrelated(40, 0.3), 5, 8.0, 5),
]
OF_OFFSETS: list[Setting] = [
    (300, AutoregressiveGaussian(features, rho=0.5).covariance, relevant, 4.0, 1)
    for features, relevant in ((20, 0), (20, 2), (20, 5), (20, 10), (60, 0), (60, 2), (60, 5), (60, 10), (60, 30))
]


def replicates(
    rows: int, covariance: Array, relevant: int, amplitude: float, draws: int, *, runs: int
) -> Iterator[tuple[Array, Flags]]:
    """w of each draw, `[draws, features]`, and which features are relevant."""
    features = len(covariance)
    law = KnockoffLaw(np.zeros(features), covariance, knockoff_gaps(covariance))
    root = np.linalg.cholesky(covariance)
    for seed in range(runs):
        rng = np.random.default_rng([seed, features, relevant, draws])
        x, true = rng.standard_normal((rows, features)) @ root.T, rng.permutation(features) < relevant
        y = x @ (true * rng.choice([-1.0, 1.0], features)) * amplitude / rows**0.5 + rng.standard_normal(rows)
        ws = np.empty((draws, features))
        for w in ws:
            both = np.hstack([x, law.draw(x, rng.standard_normal(x.shape))])
            size = np.abs(np.linalg.solve(both.T @ both + PENALTY * rows * np.eye(2 * features), both.T @ y))
            w[:] = size[:features] - size[features:]
        yield ws, true


def of_draws(ws: Array, true: Flags) -> list[float]:
    """Failures of the bounds, also for sets of irrelevant features alone; false ones of other selections."""
    mean = ws.mean(0)
    order, worst = np.argsort(-mean, kind="stable"), np.lexsort((-mean, true))
    failed = [(np.cumsum(~true[o]) > false_in_sets(ws, o, LEVEL) + 1e-9).any() for o in (order, worst)]
    of_mean = np.cumsum(~true[order]) > np.arange(1, len(mean) + 1) * fdp_bounds(mean, LEVEL) + 1e-9
    false = [float((chosen & ~true).sum()) for chosen in (pfer_over_draws(ws, FALSE), pfer_select(mean, FALSE))]
    return [float(any(failed)), float(of_mean.any()), *false, fdp(knockoff_select(mean, LEVEL), true)]


def of_offsets(ws: Array, true: Flags) -> list[float]:
    return [fdp(knockoff_select(ws[0], LEVEL, offset=offset), true) for offset in (0, 1)]


def table(title: str, headings: list[str], settings: list[Setting], measure: Measure, runs: int) -> Table:
    shown = Table(title=f"{title}, {runs} runs", title_justify="left")
    for heading in ("rows", "features", "relevant", "draws", *headings):
        shown.add_column(heading, justify="right")
    for rows, covariance, relevant, amplitude, draws in settings:
        drawn = replicates(rows, covariance, relevant, amplitude, draws, runs=runs)
        found = np.array([measure(*one) for one in drawn])
        cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(found.mean(0), found.std(0) / runs**0.5, strict=True)]
        shown.add_row(*map(str, (rows, len(covariance), relevant, draws)), *cells)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs, console = parser.parse_args().runs, Console(width=150)
    headings = [f"bounds fail ({LEVEL})", "of mean w", f"false (at most {FALSE})", "of mean w", "FDR of mean w"]
    console.print(table("Several draws", headings, OF_DRAWS, of_draws, runs))
    console.print(table(f"FDR at {LEVEL}", ["offset 0", "offset 1"], OF_OFFSETS, of_offsets, runs))


if __name__ == "__main__":
    main()
