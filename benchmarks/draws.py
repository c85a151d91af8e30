"""`make draws`: false discoveries, power and dependence on the seed with several knockoff draws.

Exact knockoffs of Gaussian rows, and a lasso at a fixed penalty, which has the flip-sign property exactly.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import Lasso

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


def statistics_of_draws(features: int, amplitude: float, draws: int, seed: int) -> tuple[Array, Flags]:
    """w of many knockoff draws of one data set, `[draws, features]`, and which features are relevant."""
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
        lasso = Lasso(penalty, precompute=table.T @ table, fit_intercept=False, tol=1e-6, max_iter=5000)
        sizes = np.abs(lasso.fit(table, y).coef_)
        ws[draw] = sizes[:features] - sizes[features:]
    return ws, relevant


def one_replicate(features: int, amplitude: float, seed: int) -> Array:
    """The measures on one data set, `[rules, levels, numbers of draws, measures]`."""
    ws, relevant = statistics_of_draws(features, amplitude, SEEDS * max(DRAWS), seed)
    found = np.empty((len(RULES), len(LEVELS), len(DRAWS), len(MEASURES)))
    for (r, rule), (k, level) in itertools.product(enumerate(RULES.values()), enumerate(LEVELS)):
        if features < 1 / level:  # no rule can select anything
            found[r, k] = (0, 0, 1, np.nan)
            continue
        evalues = np.array([rule(w, level) for w in ws])
        for m, draws in enumerate(DRAWS):
            if draws == 1:
                answers = [knockoff_select(w, level) for w in ws[:SEEDS]]
            else:
                means = evalues[: SEEDS * draws].reshape(SEEDS, draws, features).mean(1)
                answers = [select_by_evalues(e, level) for e in means]
            found[r, k, m] = measures(answers, relevant)
    return found


def measures(answers: list[Flags], relevant: Flags) -> tuple[float, float, float, float]:
    """Means over answers; the similarity is the mean Jaccard index of two answers of which one is not empty."""
    pairs = [(a, b) for a, b in itertools.combinations(answers, 2) if (a | b).any()]
    similarity = np.mean([(a & b).sum() / (a | b).sum() for a, b in pairs]) if pairs else np.nan
    shares = [(fdp(a, relevant), power(a, relevant), float(not a.any())) for a in answers]
    return (*np.mean(shares, axis=0), float(similarity))


def show(console: Console, features: int, amplitude: float, runs: Array) -> None:
    """One table: rules and levels as rows, numbers of draws as columns."""
    title = (
        f"{features} features, {RELEVANT[features]} relevant with ±{amplitude:g}/√{ROWS}, {len(runs)} replicates"
    )
    table = Table(title=f"{title}: {', '.join(MEASURES)} (largest s.e. of the row)", title_justify="left")
    for heading in ("q", "e-values of a draw", *(f"{draws} draws" for draws in DRAWS), "s.e."):
        table.add_column(heading, justify="left" if heading.startswith("e-") else "right", no_wrap=True)
    mean, error = _means(runs)
    for (k, level), (r, rule) in itertools.product(enumerate(LEVELS), enumerate(RULES)):
        if mean[:, k, :, 2].min() > 0.995:  # nothing can be had at this level, whatever the rule
            continue
        cells = [" ".join(f"{value:.2f}" for value in mean[r, k, m]) for m in range(len(DRAWS))]
        table.add_row(f"{level:g}", rule, *cells, " ".join(f"{e:.2f}" for e in np.fmax.reduce(error[r, k])))
    console.print(table)


def _means(runs: Array) -> tuple[Array, Array]:
    """Means and standard errors over the replicates in which a measure is defined; nan where it never is."""
    defined = np.isfinite(runs)
    count = np.where(defined.any(0), defined.sum(0), np.nan)
    mean = np.where(defined, runs, 0).sum(0) / count
    return mean, np.sqrt(np.where(defined, (runs - mean) ** 2, 0).sum(0)) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--features", type=int, nargs="+", default=list(RELEVANT), choices=list(RELEVANT))
    parser.add_argument("--n-jobs", type=int, default=1)
    arguments = parser.parse_args()
    console = Console(width=170)
    for features, amplitude in itertools.product(arguments.features, AMPLITUDES):
        tasks = [delayed(one_replicate)(features, amplitude, seed) for seed in range(arguments.replicates)]
        show(console, features, amplitude, np.array(Parallel(arguments.n_jobs)(tasks)))


if __name__ == "__main__":
    main()
