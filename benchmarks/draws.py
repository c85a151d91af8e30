"""`make draws`: false discoveries, power and dependence on the seed with several knockoff draws.

Exact knockoffs of Gaussian rows, and a lasso at a fixed penalty, which has the flip-sign property
exactly.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.linear_model import Lasso

from benchmarks.repeated import Job, Row, add_options, means, measured, seeds_of, show, wide
from knockoffs import fdp, knockoff_evalues, knockoff_select, power, select_by_evalues
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law
from knockoffs.runtime.arrays import Array, Flags

ROWS = 400
RELEVANT = {10: 5, 30: 10, 100: 20}  # by the number of features
AMPLITUDES = (4.0, 6.0)  # coefficients times the root of the number of rows
LEVELS = (0.05, 0.1, 0.2)
DRAWS = (1, 5, 10, 20, 50)
SEEDS = 5  # answers on the same data that are compared
RULE = ["q", "e-values of a draw"]
MEASURES = ("FDP", "power", "empty", "similarity")


def filter_alone(w: Array, level: float) -> Array:
    """Ren and Barber's e-values: zero where the filter selects nothing."""
    return knockoff_evalues(w, level) * knockoff_select(w, level)


RULES: dict[str, Callable[[Array, float], Array]] = {
    "filter alone, q/2": lambda w, q: filter_alone(w, q / 2),
    "q/3": lambda w, q: knockoff_evalues(w, q / 3),
    "q/2 (default)": lambda w, q: knockoff_evalues(w, q / 2),
    "q": knockoff_evalues,
}


def statistics_of_draws(
    features: int, amplitude: float, draws: int, seed: int
) -> tuple[Array, Flags]:
    """w of many knockoff draws of one data set, `[draws, features]`,
    and which features are relevant.
    """
    rng = np.random.default_rng([seed, features, int(10 * amplitude)])
    distribution = AutoregressiveGaussian(features, rho=0.5)
    x = distribution.sample(ROWS, rng)
    relevant = rng.permutation(features) < RELEVANT[features]
    coefficients = relevant * rng.choice([-1.0, 1.0], size=features) * amplitude / np.sqrt(ROWS)
    y = x @ coefficients + rng.standard_normal(ROWS)
    y -= y.mean()
    penalty = 0.5 * y.std() * np.sqrt(np.log(2 * features) / ROWS)
    shrink, spread = knockoff_law(distribution.covariance, knockoff_gaps(distribution.covariance))
    expected, root = x - x @ shrink.T, np.linalg.cholesky(spread).T
    ws = np.empty((draws, features))
    for draw in range(draws):
        table = np.hstack([x, expected + rng.standard_normal(x.shape) @ root])
        table = (table - table.mean(0)) / table.std(0)
        lasso = Lasso(
            penalty, precompute=table.T @ table, fit_intercept=False, tol=1e-6, max_iter=5000
        )
        sizes = np.abs(lasso.fit(table, y).coef_)
        ws[draw] = sizes[:features] - sizes[features:]
    return ws, relevant


def one_replicate(features: int, amplitude: float, seed: int) -> list[Row]:
    """Return the measures on one data set, by rule, level and number of draws."""
    ws, relevant = statistics_of_draws(features, amplitude, SEEDS * max(DRAWS), seed)
    found = []
    for level, (name, rule) in itertools.product(LEVELS, RULES.items()):
        evalues = np.array([rule(w, level) for w in ws])
        for draws in DRAWS:
            values = (0.0, 0.0, 1.0, np.nan)  # no rule can select anything
            if features >= 1 / level:
                values = measures(_answers(ws, evalues, level, draws), relevant)
            about = {"q": level, "e-values of a draw": name, "draws": draws}
            found.append(about | dict(zip(MEASURES, values, strict=True)))
    return found


def _answers(ws: Array, evalues: Array, level: float, draws: int) -> list[Flags]:
    """Return what is selected from the same data with draws of other seeds."""
    if draws == 1:
        return [knockoff_select(w, level) for w in ws[:SEEDS]]
    means = evalues[: SEEDS * draws].reshape(SEEDS, draws, ws.shape[1]).mean(1)
    return [select_by_evalues(e, level) for e in means]


def measures(answers: list[Flags], relevant: Flags) -> tuple[float, float, float, float]:
    """Means over answers; the similarity is the mean Jaccard index of two answers of which one is
    not empty.
    """
    pairs = [(a, b) for a, b in itertools.combinations(answers, 2) if (a | b).any()]
    similarity = np.mean([(a & b).sum() / (a | b).sum() for a, b in pairs]) if pairs else np.nan
    shares = [(fdp(a, relevant), power(a, relevant), float(not a.any())) for a in answers]
    return (*np.mean(shares, axis=0), float(similarity))


def tabulated(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rules and levels as rows, numbers of draws as columns,
    and the largest standard errors.
    """
    found = means(frame, [*RULE, "draws"], MEASURES)
    cells = [" ".join(f"{row[name]:.2f}" for name in MEASURES) for row in found.to_dict("records")]
    table = wide(found.assign(cell=cells), RULE, "draws", "cell")
    groups = found.groupby(RULE, sort=False)
    errors = groups[[f"s.e. of {name}" for name in MEASURES]].max()
    table["s.e."] = [" ".join(f"{error:.2f}" for error in row) for row in errors.to_numpy()]
    empty = found.groupby("q", sort=False)["empty"].min()
    # else nothing can be had there, whatever the rule
    kept = table["q"].isin(empty.index[empty <= 0.995])
    return table[kept].rename(
        columns=lambda name: f"{name} draws" if isinstance(name, int) else name
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "--replicates", 200)
    parser.add_argument(
        "--features", type=int, nargs="+", default=list(RELEVANT), choices=list(RELEVANT)
    )
    arguments = parser.parse_args()
    for features, amplitude in itertools.product(arguments.features, AMPLITUDES):
        jobs = [Job(one_replicate, (features, amplitude, seed)) for seed in seeds_of(arguments)]
        table = tabulated(measured(jobs, arguments))
        what = f"{features} features, {RELEVANT[features]} relevant with ±{amplitude:g}/√{ROWS}"
        measured_as = f"{', '.join(MEASURES)} (largest s.e. of the row)"
        show(f"{what}, {arguments.repeats} replicates: {measured_as}", table, names=2)


if __name__ == "__main__":
    main()
