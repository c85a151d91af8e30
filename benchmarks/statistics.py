"""`make statistics`: false discoveries and power of every statistic with exact knockoffs, and what they cost."""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor

from benchmarks.speed import seconds
from knockoffs import (
    DDLK,
    HoldoutStatistic,
    ImportanceStatistic,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    MidpointStatistic,
    SumStatistic,
    fdp,
    knockoff_select,
    power,
)
from knockoffs.datasets import AutoregressiveGaussian, linear_response
from knockoffs.statistics import Statistic

LEVELS = (0.05, 0.1, 0.2, 0.3)
ROWS = 2000
STATISTICS: dict[str, Statistic] = {
    "lasso": LassoStatistic(),
    "importance, forest": ImportanceStatistic(),
    "importance, ridge": ImportanceStatistic(Ridge()),
    "midpoint, 5 folds": MidpointStatistic(),
    "midpoint, boosting, 5 folds": MidpointStatistic("boosting"),
    "mixture, 5 folds": HoldoutStatistic(),
    "mixture, single split": HoldoutStatistic(folds=None),
    "plain, single split": HoldoutStatistic(mixture=0, folds=None),
    "plain, 2 folds": HoldoutStatistic(mixture=0, folds=2),
    "plain, 5 folds": HoldoutStatistic(mixture=0),
    "sum": SumStatistic(),
}


def one_replicate(seed: int) -> dict[str, list[float]]:
    """Return, per statistic, FDP at all levels, power at 0.1, and seconds."""
    _one_core()
    law = AutoregressiveGaussian()
    x = law.sample(ROWS, seed)
    x_tilde = law.knockoffs(x, seed)
    y, relevant = linear_response(x, amplitude=10, random_state=seed)
    found = {}
    for name, statistic in STATISTICS.items():
        ws: list[np.ndarray] = []
        spent = seconds(lambda s=statistic, ws=ws: ws.append(_seeded(s, seed).compute(x, x_tilde, y)))
        shares = [fdp(knockoff_select(ws[0], q), relevant) for q in LEVELS]
        found[name] = [*shares, power(knockoff_select(ws[0], 0.1), relevant), spent]
    return found


def one_null(seed: int) -> dict[str, bool]:
    """Return, per statistic, whether anything is selected at 0.1 though y is independent of x."""
    _one_core()
    law = AutoregressiveGaussian(features=30)
    x = law.sample(500, seed)
    x_tilde = law.knockoffs(x, seed)
    y = np.random.default_rng(10_000 + seed).normal(size=500)
    return {
        name: bool(knockoff_select(_seeded(statistic, seed).compute(x, x_tilde, y), 0.1).any())
        for name, statistic in STATISTICS.items()
    }


def show_rates(console: Console, replicates: int, nulls: int, n_jobs: int) -> None:
    runs = Parallel(n_jobs)(delayed(one_replicate)(seed) for seed in range(replicates))
    null_runs = Parallel(n_jobs)(delayed(one_null)(seed) for seed in range(nulls))
    table = Table(title=f"exact knockoffs of gaussian, 10/√N, {replicates} replicates; global null, {nulls}")
    for heading in ("statistic", "exact", *(f"FDP at {q}" for q in LEVELS), "power at 0.1", "null", "seconds"):
        table.add_column(heading, justify="left" if heading == "statistic" else "right")
    for name, statistic in STATISTICS.items():
        numbers = np.array([run[name] for run in runs])
        mean, error = numbers.mean(0), numbers.std(0, ddof=1) / np.sqrt(replicates)
        shares = [
            f"{mean[k]:.3f} ± {error[k]:.3f}{' !' if mean[k] > q + 2 * error[k] else ''}"
            for k, q in enumerate(LEVELS)
        ]
        null = np.mean([run[name] for run in null_runs])
        table.add_row(
            name,
            "yes" if statistic.exact else "no",
            *shares,
            f"{mean[4]:.3f} ± {error[4]:.3f}",
            f"{null:.3f}{' !' if null > 0.1 + 2 * np.sqrt(0.09 / nulls) else ''}",
            f"{np.median(numbers[:, 5]):.1f}",
        )
    console.print(table)
    console.print("! above the level by more than two standard errors")


def show_costs(console: Console, repeats: int) -> None:
    """Seconds on this core: the mixture statistic, its models fitted one by one, and the whole pipeline."""
    law = AutoregressiveGaussian()
    x = law.sample(ROWS, 0)
    x_tilde = law.knockoffs(x, 0)
    y, _ = linear_response(x, amplitude=10, random_state=0)
    ours, separate = [], []
    for seed in range(repeats):  # taken in turn, so that both see the same machine
        ours.append(seconds(lambda s=seed: HoldoutStatistic(random_state=s).compute(x, x_tilde, y)))
        mlp = MLPRegressor(
            hidden_layer_sizes=(200,), batch_size=64, early_stopping=True, max_iter=60, random_state=seed
        )
        train = np.random.default_rng(seed).permutation(ROWS)[: ROWS * 4 // 5]
        separate.append(seconds(lambda m=mlp, rows=train: m.fit(x[rows], y[rows])))
    whole = seconds(lambda: KnockoffSelector(DDLK(), HoldoutStatistic(), random_state=0).fit(x, y))
    one, all_of_them = np.median(ours), np.median(separate) * 5 * x.shape[1]
    console.print(f"mixture statistic, 5 folds, {ROWS} x {x.shape[1]}: {one:.1f} s (median of {repeats})")
    console.print(f"5 d separate scikit-learn networks (extrapolated from {repeats}): {all_of_them:.0f} s")
    console.print(f"ratio: {all_of_them / one:.0f}")
    console.print(f"DDLK, mixture statistic and filter, end to end: {whole:.1f} s")


def _seeded(statistic: Statistic, seed: int) -> Statistic:
    return statistic.set_params(random_state=seed)


def _one_core() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", KnockoffWarning)  # of plain with 5 folds, which is measured on purpose


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3, help="timings of which the median is shown")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="statistics whose name begins so")
    arguments = parser.parse_args()
    for name in [name for name in STATISTICS if not name.startswith(arguments.only)]:
        del STATISTICS[name]
    console = Console(width=160)
    _one_core()
    if arguments.repeats:
        show_costs(console, arguments.repeats)
    if arguments.replicates:
        show_rates(console, arguments.replicates, arguments.nulls, arguments.n_jobs)


if __name__ == "__main__":
    main()
