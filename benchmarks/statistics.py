"""`make statistics`: false discoveries and power of every statistic with exact knockoffs,
and what they cost.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor

from benchmarks.repeated import (
    ABOVE,
    Job,
    Row,
    add_options,
    marked,
    means,
    measured,
    rates_at,
    rates_table,
    seeds_of,
    show,
)
from benchmarks.speed import seconds
from knockoffs import (
    DDLK,
    HoldoutStatistic,
    ImportanceStatistic,
    KnockoffSelector,
    LassoStatistic,
    MidpointStatistic,
    SumStatistic,
    knockoff_select,
)
from knockoffs.datasets import AutoregressiveGaussian, linear_response
from knockoffs.runtime.parallel import one_thread
from knockoffs.statistics.base import Statistic

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


def one_replicate(name: str, seed: int) -> list[Row]:
    """Return FDP and power at all levels, and seconds."""
    law = AutoregressiveGaussian()
    x = law.sample(ROWS, seed)
    x_tilde = law.knockoffs(x, seed)
    y, relevant = linear_response(x, amplitude=10, random_state=seed)
    ws: list[np.ndarray] = []
    spent = seconds(lambda: ws.append(_seeded(STATISTICS[name], seed).compute(x, x_tilde, y)))
    return [
        {"statistic": name, "seconds": spent} | rates for rates in rates_at(ws[0], relevant, LEVELS)
    ]


def one_null(name: str, seed: int) -> list[Row]:
    """Return whether anything is selected at 0.1 though y is independent of x."""
    law = AutoregressiveGaussian(features=30)
    x = law.sample(500, seed)
    x_tilde = law.knockoffs(x, seed)
    y = np.random.default_rng(10_000 + seed).normal(size=500)
    w = _seeded(STATISTICS[name], seed).compute(x, x_tilde, y)
    return [{"statistic": name, "any": float(knockoff_select(w, 0.1).any())}]


def show_rates(names: list[str], arguments: argparse.Namespace) -> None:
    runs = [Job(one_replicate, (name, seed)) for name in names for seed in seeds_of(arguments)]
    nulls = [Job(one_null, (name, seed)) for name in names for seed in range(arguments.nulls)]
    found, null = measured(runs, arguments), measured(nulls, arguments)
    table = rates_table(found, ["statistic"])
    table.insert(
        1, "exact", ["yes" if STATISTICS[name].exact else "no" for name in table["statistic"]]
    )
    if len(null):
        shares = means(null, ["statistic"], ["any"])
        cells = [marked(row["any"], row["s.e. of any"], 0.1) for row in shares.to_dict("records")]
        table = table.merge(shares.assign(null=cells)[["statistic", "null"]])
    table["seconds"] = found.groupby("statistic", sort=False)["seconds"].median().to_numpy()
    title = (
        f"exact knockoffs of gaussian, 10/√N, {arguments.repeats} replicates; global null, "
        f"{arguments.nulls}"
    )
    show(title, table, note=ABOVE)


def show_costs(console: Console, repeats: int) -> None:
    """Seconds on this core: the mixture statistic, its models fitted one by one,
    and the whole pipeline.
    """
    law = AutoregressiveGaussian()
    x = law.sample(ROWS, 0)
    x_tilde = law.knockoffs(x, 0)
    y, _ = linear_response(x, amplitude=10, random_state=0)
    ours, separate = [], []
    for seed in range(repeats):  # taken in turn, so that both see the same machine
        ours.append(seconds(lambda s=seed: HoldoutStatistic(random_state=s).compute(x, x_tilde, y)))
        mlp = MLPRegressor(
            hidden_layer_sizes=(200,),
            batch_size=64,
            early_stopping=True,
            max_iter=60,
            random_state=seed,
        )
        train = np.random.default_rng(seed).permutation(ROWS)[: ROWS * 4 // 5]
        separate.append(seconds(lambda m=mlp, rows=train: m.fit(x[rows], y[rows])))
    whole = seconds(lambda: KnockoffSelector(DDLK(), HoldoutStatistic(), random_state=0).fit(x, y))
    one, all_of_them = np.median(ours), np.median(separate) * 5 * x.shape[1]
    console.print(
        f"mixture statistic, 5 folds, {ROWS} x {x.shape[1]}: {one:.1f} s (median of {repeats})"
    )
    console.print(
        f"5 d separate scikit-learn networks (extrapolated from {repeats}): {all_of_them:.0f} s"
    )
    console.print(f"ratio: {all_of_them / one:.0f}")
    console.print(f"DDLK, mixture statistic and filter, end to end: {whole:.1f} s")


def _seeded(statistic: Statistic, seed: int) -> Statistic:
    return statistic.set_params(random_state=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "--replicates", 100)
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument(
        "--repeats",
        dest="timings",
        type=int,
        default=3,
        help="timings of which the median is shown",
    )
    parser.add_argument("--only", default="", help="statistics whose name begins so")
    arguments = parser.parse_args()
    if arguments.timings:
        with one_thread():
            show_costs(Console(width=160), arguments.timings)
    if arguments.repeats:
        show_rates([name for name in STATISTICS if name.startswith(arguments.only)], arguments)


if __name__ == "__main__":
    main()
