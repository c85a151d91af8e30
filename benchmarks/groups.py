"""`make groups`: false discoveries and power where rows come in groups, such as the visits of a patient."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import Ridge

from knockoffs import (
    DDLK,
    GaussianKnockoffs,
    HierarchicalKnockoffs,
    HoldoutStatistic,
    ImportanceStatistic,
    LassoStatistic,
    MidpointStatistic,
    fdp,
    knockoff_select,
    power,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.runtime.cautions import collect_cautions
from knockoffs.statistics import Statistic

LEVELS = (0.1, 0.2)
FEATURES, RELEVANT = 60, 15
EFFECT = 0.25  # of a relevant feature; noise and the effects of groups have variance 1


class Setting(NamedTuple):
    """Sizes of the groups, correlation of a feature within a group, and columns that are constant there."""

    sizes: Callable[[np.random.Generator], Indices]
    correlation: float
    constant: int = 0


class Rows(NamedTuple):
    x: Array
    y: Array
    groups: Indices
    relevant: Flags


SETTINGS = {
    "100 × 10, .8": Setting(lambda rng: np.full(100, 10), 0.8),
    "200 × 5, .5": Setting(lambda rng: np.full(200, 5), 0.5),
    "1,000 × 1": Setting(lambda rng: np.full(1000, 1), 0.5),
    "150 of 1 to 50, .6": Setting(lambda rng: np.minimum(rng.geometric(0.15, size=150), 50), 0.6),
    "200 × 5, .5, 15 constant": Setting(lambda rng: np.full(200, 5), 0.5, 15),
    "300 rows three times": Setting(lambda rng: np.full(300, 3), 1.0),
}
STATISTICS: dict[str, Statistic] = {
    "mixture": HoldoutStatistic(),
    "plain, 2 folds": HoldoutStatistic(mixture=0, folds=2),
    "midpoint": MidpointStatistic(),
    "lasso": LassoStatistic(),
    "ridge": ImportanceStatistic(Ridge()),
    "forest": ImportanceStatistic(),
    "boosting": HoldoutStatistic("boosting"),
    "linear+boosting": HoldoutStatistic("linear+boosting"),
    "lightgbm": HoldoutStatistic("lightgbm"),
}


def draw_rows(setting: Setting, seed: int) -> Rows:
    """Rows with a feature's share `correlation` of variance between groups, and y with an effect of each group."""
    rng = np.random.default_rng(seed)
    sizes = setting.sizes(rng)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    law = AutoregressiveGaussian(features=FEATURES, rho=0.5)
    common, own = law.sample(len(sizes), rng)[groups], law.sample(len(groups), rng)
    x = np.sqrt(setting.correlation) * common + np.sqrt(1 - setting.correlation) * own
    constant = rng.permutation(FEATURES)[: setting.constant]
    x[:, constant] = common[:, constant]
    chosen = rng.permutation(FEATURES)[:RELEVANT]
    relevant = np.isin(np.arange(FEATURES), chosen)
    slopes = EFFECT * rng.choice([-1.0, 1.0], size=FEATURES) * relevant
    effects = rng.normal(size=len(sizes))[groups]
    return Rows(x, x @ slopes + effects + rng.normal(size=len(groups)), groups, relevant)


def row_by_row(rows: Rows, seed: int) -> tuple[Rows, Array]:
    """Knockoffs that are exact for each row alone."""
    return rows, AutoregressiveGaussian(features=FEATURES, rho=0.5).knockoffs(rows.x, seed)


def by_groups(generator: Any, rows: Rows, seed: int) -> tuple[Rows, Array]:
    """What `KnockoffSelector` does: repeated rows share a knockoff, groups are modelled."""
    distinct, place = np.unique(rows.x, axis=0, return_inverse=True)
    if len(distinct) < len(rows.x):
        return rows, generator.set_params(random_state=seed).fit(distinct).sample(distinct)[place]
    if len(rows.x) == rows.groups.max() + 1:
        return rows, generator.set_params(random_state=seed).fit(rows.x).sample(rows.x)
    model = HierarchicalKnockoffs(generator, random_state=seed).fit(rows.x, groups=rows.groups)
    return rows, model.sample(rows.x, groups=rows.groups)


def one_row_each(rows: Rows, seed: int) -> tuple[Rows, Array]:
    """Gaussian knockoffs of one row of each group."""
    order = np.random.default_rng(seed).permutation(len(rows.x))
    first = order[np.unique(rows.groups[order], return_index=True)[1]]
    some = Rows(rows.x[first], rows.y[first], np.arange(len(first)), rows.relevant)
    return some, GaussianKnockoffs(random_state=seed).fit(some.x).sample(some.x)


HANDLINGS: dict[str, Callable[[Rows, int], tuple[Rows, Array]]] = {
    "exact, row by row": row_by_row,
    "one row per group": one_row_each,
    "Gaussian, by groups": lambda rows, seed: by_groups(GaussianKnockoffs(), rows, seed),
    "DDLK, by groups": lambda rows, seed: by_groups(DDLK(device="cpu"), rows, seed),
}


def one_replicate(setting: str, handling: str, statistics: list[str], seed: int) -> dict[str, list[float]]:
    """Return, per statistic, FDP and then power at all levels."""
    torch.set_num_threads(1)
    rows = draw_rows(SETTINGS[setting], seed)
    found = {}
    with collect_cautions():
        rows, x_tilde = HANDLINGS[handling](rows, seed)
        groups = None if len(rows.x) == rows.groups.max() + 1 else rows.groups
        for name in statistics:
            w = STATISTICS[name].set_params(random_state=seed).compute(rows.x, x_tilde, rows.y, groups=groups)
            selections = [knockoff_select(w, level) for level in LEVELS]
            found[name] = [score(s, rows.relevant) for score in (fdp, power) for s in selections]
    return found


def show(
    console: Console, setting: str, handlings: list[str], statistics: list[str], runs: dict[str, Any]
) -> None:
    table = Table(title=f"{setting}: FDP ± s.e. and power at {' / '.join(f'{level:g}' for level in LEVELS)}")
    table.add_column("knockoffs")
    for name in statistics:
        table.add_column(name, justify="right")
    for handling in handlings:
        shares, powers = [], []
        for name in statistics:
            numbers = np.array([run[name] for run in runs[handling]])
            mean, error = numbers.mean(0), numbers.std(0, ddof=1) / np.sqrt(len(numbers))
            cells = [
                f"{mean[k]:.3f}±{error[k]:.3f}{'!' if mean[k] > level + 2 * error[k] else ''}"
                for k, level in enumerate(LEVELS)
            ]
            shares.append(" ".join(cells))
            powers.append(" ".join(f"{value:.2f}" for value in mean[len(LEVELS) :]))
        table.add_row(handling, *shares)
        table.add_row("  power", *powers)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS))
    parser.add_argument("--handlings", nargs="*", default=list(HANDLINGS))
    parser.add_argument("--statistics", nargs="*", default=list(STATISTICS))
    arguments = parser.parse_args()
    console = Console(width=200)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.replicates)
    jobs = [(s, h, seed) for s in arguments.settings for h in arguments.handlings for seed in seeds]
    results = Parallel(arguments.n_jobs, return_as="generator")(
        delayed(one_replicate)(s, h, arguments.statistics, seed) for s, h, seed in jobs
    )
    runs: dict[str, Any] = {}
    for (setting, handling, seed), result in zip(jobs, results, strict=True):
        runs.setdefault(handling, []).append(result)
        if handling == arguments.handlings[-1] and seed == seeds[-1]:
            show(console, setting, arguments.handlings, arguments.statistics, runs)
            runs = {}
    console.print("! above the level by more than two standard errors")


if __name__ == "__main__":
    main()
