"""`make intervals`: how often the intervals of effects hold the truth.

    python -m benchmarks.intervals hazard levels discoveries

Rows are Gaussian with exact knockoffs, so that every true coefficient is known.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import Lasso

from benchmarks.repeated import Job, Row, add_options, measured, show
from knockoffs import HoldoutStatistic, knockoff_select
from knockoffs.effects import Curve, Effect, Effects, describe_effects
from knockoffs.effects.bins import LEVEL, standard_errors
from knockoffs.generators.gaussian import knockoff_gaps, knockoff_law
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.table.table import Table, read_table
from knockoffs.targets.inputs import read_target
from knockoffs.targets.standard_units import standardise

TASKS = ("number", "classes", "survival")


class Rows(NamedTuple):
    """Rows with their knockoffs, and the coefficients of y."""

    x: Array
    x_tilde: Array
    coefficients: Array

    def response(self, task: str, rng: np.random.Generator) -> Any:
        """A number, a class with a probability that is linear, or a time, half of them censored."""
        score = self.x @ self.coefficients
        if task == "number":
            return score + rng.standard_normal(len(score))
        if task == "classes":
            return np.where(rng.random(len(score)) < np.clip(0.5 + score / 10, 0, 1), "yes", "no")
        time, end = rng.exponential(np.exp(-score)), rng.exponential(size=len(score))
        return pd.DataFrame({"time": np.minimum(time, end), "event": time <= end})


def gaussian_rows(
    covariance: Array, coefficients: Array, rows: int, rng: np.random.Generator
) -> Rows:
    x = rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=rows)
    shrink, spread = knockoff_law(covariance, knockoff_gaps(covariance))
    noise = rng.standard_normal(x.shape) @ np.linalg.cholesky(spread).T
    return Rows(x, x - x @ shrink.T + noise, coefficients)


def in_pairs(features: int) -> Array:
    """Features 0 and 1, 2 and 3 and so on have a correlation of .7."""
    partner = np.arange(features) ^ 1
    return np.eye(features) + 0.7 * (np.arange(features) == partner[:, None])


def in_a_row(features: int, rho: float) -> Array:
    return rho ** np.abs(np.subtract.outer(np.arange(features), np.arange(features)))


def effects_of(
    rows: Rows, y: Any, features: list[int], selected: Array | Flags, *, default: bool = False
) -> Effects:
    """Effects, with what the default statistic predicts or without models."""
    table, knockoffs = (read_table(x, who="intervals") for x in (rows.x, rows.x_tilde))
    others = None
    if default:
        _, others = HoldoutStatistic(random_state=0).compute_with_predictions(table, knockoffs, y)
    return describe(table, knockoffs, y, features, selected, others)


def describe(
    table: Table,
    knockoffs: Table,
    y: Any,
    features: list[int],
    selected: Array | Flags,
    others: Array | None = None,
) -> Effects:
    names = [str(j) for j in range(len(selected))]
    told = [bool(s) for s in selected]
    draws, target = (
        np.zeros((1, len(selected))),
        read_target(y, "auto", rows=len(table), who="intervals"),
    )
    return describe_effects(
        table, knockoffs, target, features, names=names, selected=told, draws=draws, others=others
    )


# coverage
# --------------------------------------------------------------------------------------------------


def holds(effect: Effect, rows: Rows, task: str, level: float | None = None) -> bool:
    """Whether the interval of an effect holds the truth; with another level than its own, too."""
    j = int(effect.feature)
    if task == "survival":
        if effect.hazard is None:
            return False
        low, ratio, high = np.log([effect.hazard.low, effect.hazard.ratio, effect.hazard.high])
        share = 1.0 if level is None else standard_errors(level) / standard_errors(effect.level)
        return bool(
            ratio - share * (ratio - low)
            <= rows.coefficients[j] * rows.x[:, j].std()
            <= ratio + share * (high - ratio)
        )
    (curve,) = effect.curves
    if curve.change is None or curve.change_low is None or curve.change_high is None:
        return True  # nothing is said
    size = rows.coefficients[j] / (10 if task == "classes" else 1)
    truth = size * _contrast(effect, curve) @ np.array(effect.places)
    share = 1.0 if level is None else standard_errors(level) / standard_errors(effect.level)
    low = curve.change - share * (curve.change - curve.change_low)
    high = curve.change + share * (curve.change_high - curve.change)
    return bool(low <= truth <= high)


def _contrast(effect: Effect, curve: Curve) -> Array:
    """The weights of the bins in the change that is said; bins are in order,
    and none is of missing cells.
    """
    mean, unit = np.array(curve.mean), np.eye(len(effect.bins))
    if ", then " in curve.shape:
        peak = int(np.argmax(mean) if curve.shape.startswith("rises") else np.argmin(mean))
        return unit[peak] - min(unit[[0, -1]], key=lambda end: abs(mean[peak] - end @ mean))
    if curve.shape in ("rises", "falls"):
        return unit[-1] - unit[0]
    weight = np.array(effect.rows) / sum(effect.rows)
    place = np.cumsum(weight) - weight / 2
    centred = weight * (place - weight @ place)
    return (place[-1] - place[0]) * centred / (centred @ place)


# experiments
# --------------------------------------------------------------------------------------------------


def hazard(replicates: int) -> Iterator[Job]:
    """Pairs with a correlation of .7, both relevant, one of them, or none;
    and features without a partner.
    """
    for task in ("survival", "number"):
        for default in (False, True):
            for rows, features in ((400, 12), (400, 40), (2000, 12), (2000, 40)):
                data_sets = max(8, replicates // features)
                yield Job(hazard_of, (task, default, rows, features, data_sets))


def hazard_of(task: str, default: bool, rows: int, features: int, data_sets: int) -> list[Row]:
    """Coverage of the intervals of correlated features, and of the others."""
    found: dict[str, list[bool]] = {"correlated": [], "others": []}
    for seed in range(data_sets):
        rng = np.random.default_rng([seed, rows, features])
        coefficients = np.zeros(features)
        coefficients[[0, 1, 4, features - 1]], coefficients[6] = 0.6, -0.4
        covariance = in_pairs(features)
        covariance[features // 2 :, features // 2 :] = np.eye(features - features // 2)
        data = gaussian_rows(covariance, coefficients, rows, rng)
        effects = effects_of(
            data,
            data.response(task, rng),
            list(range(features)),
            np.zeros(features),
            default=default,
        )
        for effect in effects:
            part = "correlated" if int(effect.feature) < features // 2 else "others"
            found[part].append(holds(effect, data, task))
    statistic = "default" if default else "no models"
    return [
        covered(f"{task}, {rows} x {features}, {statistic}, {part}", held)
        for part, held in found.items()
    ]


def levels(replicates: int) -> Iterator[Job]:
    """A feature of several levels that y does not depend on:
    how often its interval excludes no difference.
    """
    for task in TASKS:
        for count in (2, 4, 6):
            yield Job(levels_of, (task, count, replicates))


def levels_of(task: str, count: int, replicates: int) -> list[Row]:
    held = []
    for seed in range(replicates):
        rng = np.random.default_rng([seed, count])
        data = gaussian_rows(np.eye(3), np.array([0.0, 0.5, 0.0]), 600, rng)
        level, other = (np.array(list("abcdef"))[rng.integers(count, size=600)] for _ in range(2))
        table, knockoffs = (
            read_table(pd.DataFrame(x).add_prefix("f").assign(f0=own), who="intervals")
            for own, x in ((level, data.x), (other, data.x_tilde))
        )
        (effect,) = describe(table, knockoffs, data.response(task, rng), [0], np.zeros(3))
        (curve,) = effect.curves
        ends: Array = np.array([curve.change_low, curve.change_high], dtype=float)
        if task == "survival" and effect.hazard is not None:
            ends = np.log([effect.hazard.low, effect.hazard.high])
        held.append(bool(ends[0] <= 0 <= ends[1]))
    return [covered(f"{task}, {count} levels", held)]


def discoveries(replicates: int) -> Iterator[Job]:
    """AR(.5), 400 rows, 50 features of which 15 matter;
    intervals of what the lasso's knockoff filter selects.
    """
    for task in TASKS:
        for amplitude in (0.15, 0.25, 0.4):
            yield Job(discoveries_of, (task, amplitude, replicates))


def discoveries_of(task: str, amplitude: float, replicates: int) -> list[Row]:
    own, plain, missed = [], [], []
    seed = 0
    while len(own) < replicates and seed < replicates:
        rng = np.random.default_rng([seed, int(100 * amplitude)])
        seed += 1
        coefficients = amplitude * (rng.permutation(50) < 15) * rng.choice([-1.0, 1.0], size=50)
        data = gaussian_rows(in_a_row(50, 0.5), coefficients, 400, rng)
        y = data.response(task, rng)
        selected = knockoff_select(_lasso_w(data, y), 0.2)
        effects = effects_of(data, y, np.flatnonzero(selected).tolist(), selected)
        own += [holds(effect, data, task) for effect in effects]
        plain += [holds(effect, data, task, LEVEL) for effect in effects]
        missed.append(1 - np.mean(own[-len(effects) :]) if len(effects) else 0.0)
    name = f"{task}, coefficients ±{amplitude}"
    return [
        covered(f"{name}, at 95 %", plain),
        covered(f"{name}, at 1 - .05 R / m", own),
        covered(f"{name}, 1 - false coverage rate", [1 - share for share in missed]),
    ]


def covered(line: str, held: list[Any]) -> Row:
    """Return how often the truth was held, with the standard error of a share."""
    share = float(np.mean(held)) if held else float("nan")
    error = (share * (1 - share) / max(len(held), 1)) ** 0.5
    return {
        "intervals": line,
        "coverage": f"{share:.3f}",
        "s.e.": f"{error:.3f}",
        "number": len(held),
    }


def _lasso_w(data: Rows, values: Any) -> Array:
    target = read_target(values, "auto", rows=len(data.x), who="intervals")
    (z,) = standardise(np.hstack([data.x, data.x_tilde])).tables
    y = target.columns()[:, -1] if target.times is None else target.times.residuals
    penalty = 0.5 * y.std() * np.sqrt(np.log(z.shape[1]) / len(z))
    sizes = np.abs(Lasso(penalty, precompute=True, tol=1e-6, max_iter=5000).fit(z, y).coef_)
    own, other = np.split(sizes, 2)
    return own - other


EXPERIMENTS: dict[str, Callable[[int], Iterator[Job]]] = {
    "hazard": hazard,
    "levels": levels,
    "discoveries": discoveries,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "experiments", nargs="*", choices=[*EXPERIMENTS, []], default=list(EXPERIMENTS)
    )
    add_options(parser, "--intervals", 1200)  # at least, for each line
    arguments = parser.parse_args()
    for name in arguments.experiments:
        show(name, measured(EXPERIMENTS[name](arguments.repeats), arguments))


if __name__ == "__main__":
    main()
