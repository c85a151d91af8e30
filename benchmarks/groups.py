"""`make groups`: false discoveries and power where rows come in groups,
such as the visits of a patient.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Ridge

from benchmarks.repeated import (
    ABOVE,
    Job,
    Row,
    add_options,
    measured,
    rates_at,
    rates_table,
    seeds_of,
    show,
)
from knockoffs import (
    DDLK,
    GaussianKnockoffs,
    HierarchicalKnockoffs,
    HoldoutStatistic,
    ImportanceStatistic,
    LassoStatistic,
    MidpointStatistic,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.statistics.base import Statistic

LEVELS = (0.1, 0.2)
FEATURES, RELEVANT = 60, 15
EFFECT = 0.25  # of a relevant feature; noise and the effects of groups have variance 1


class Setting(NamedTuple):
    """Sizes of the groups, correlation of a feature within a group,
    and columns that are constant there.
    """

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
    """Rows with a feature's share `correlation` of variance between groups,
    and y with an effect of each group.
    """
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


def one_replicate(setting: str, handling: str, statistics: list[str], seed: int) -> list[Row]:
    """Return FDP and power of each statistic at all levels."""
    rows, x_tilde = HANDLINGS[handling](draw_rows(SETTINGS[setting], seed), seed)
    groups = None if len(rows.x) == rows.groups.max() + 1 else rows.groups
    found = []
    for name in statistics:
        w = (
            STATISTICS[name]
            .set_params(random_state=seed)
            .compute(rows.x, x_tilde, rows.y, groups=groups)
        )
        about = {"groups": setting, "knockoffs": handling, "statistic": name}
        found += [about | rates for rates in rates_at(w, rows.relevant, LEVELS)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "--replicates", 40)
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS))
    parser.add_argument("--handlings", nargs="*", default=list(HANDLINGS))
    parser.add_argument("--statistics", nargs="*", default=list(STATISTICS))
    arguments = parser.parse_args()
    for setting in arguments.settings:
        jobs = [
            Job(one_replicate, (setting, handling, arguments.statistics, seed))
            for handling in arguments.handlings
            for seed in seeds_of(arguments)
        ]
        table = rates_table(measured(jobs, arguments), ["knockoffs", "statistic"])
        show(f"{setting}: FDP ± s.e. and power", table, names=2, note=ABOVE)


if __name__ == "__main__":
    main()
