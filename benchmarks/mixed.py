"""`make mixed`: knockoffs of tables of mixed types; how well they are told from the data,
and at what cost.

Real tables are read from the folder of `--data`; those that are not there are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from benchmarks.experiments import studies
from benchmarks.experiments.summary import with_error
from benchmarks.repeated import Job, Row, add_options, means, measured, seeds_of, show
from knockoffs import DDLK, GaussianKnockoffs, HMMKnockoffs
from knockoffs.datasets import AutoregressiveGaussian, AutoregressiveMixture
from knockoffs.datasets.real import DataNotFoundError
from knockoffs.generators.markov import markov_knockoffs
from knockoffs.runtime.arrays import Array
from knockoffs.table.table import read_table

ROWS, FEATURES = 2_000, 50
HELD_OUT = 0.3
HALF_SWAPS = 4
STATES = np.array(["red", "green", "blue"], dtype=object)

GENERATORS: dict[str, Callable[[int], Any]] = {
    "DDLK": lambda seed: DDLK(device="cpu", random_state=seed),
    "Gaussian": lambda seed: GaussianKnockoffs(random_state=seed),
    "HMM": lambda seed: HMMKnockoffs(random_state=seed),
}
SHOWN = {"icu": "ICU stays", "hiv": "HIV"}
REAL = {SHOWN.get(name, name): load for name, load in studies.REAL.items()}


class Rows(NamedTuple):
    """Rows to fit on, rows held out, and exact knockoffs of the latter."""

    fitted: pd.DataFrame
    held_out: pd.DataFrame
    exact: pd.DataFrame


def _normal_scores(law: Any, x: Array) -> Array:
    """Columns of a law on the scale of a normal one, by the ranks of a large sample."""
    many = np.sort(law.sample(20_000, random_state=99), axis=0)
    place = [np.searchsorted(column, x[:, j]) for j, column in enumerate(many.T)]
    return ndtri((np.stack(place, axis=1) + 0.5) / (len(many) + 1))


def _gaps(z: Array, seed: int, by_value: bool) -> Array:
    """A fifth of the cells missing, at random or mostly the large ones."""
    noise = np.random.default_rng(seed).normal(size=z.shape)
    reason = (z + noise) / np.sqrt(2) if by_value else noise
    return np.where(reason > ndtri(0.8), np.nan, z)


CUTS: dict[str, Callable[[Array, int], Array]] = {
    "two equal levels": lambda z, seed: (z > 0).astype(float),
    "two levels, 12 % rare": lambda z, seed: (z > ndtri(0.88)).astype(float),
    "four levels": lambda z, seed: np.digitize(z, ndtri([0.25, 0.5, 0.75])).astype(float),
    "40 % zeros": lambda z, seed: np.where(z < ndtri(0.4), 0.0, np.exp(z)),
    "20 % missing": lambda z, seed: _gaps(z, seed, by_value=False),
    "20 % missing by value": lambda z, seed: _gaps(z, seed, by_value=True),
}
LAWS = {
    "gaussian": AutoregressiveGaussian(features=FEATURES, rho=0.6),
    "mixture": AutoregressiveMixture(features=FEATURES),
}


def cut_rows(law: str, cut: str, seed: int) -> Rows:
    """Columns of a law cut into levels. A knockoff has gaps of its own,
    since value and gap are one unit.
    """
    distribution = LAWS[law]
    x = distribution.sample(2 * ROWS, random_state=seed)
    x_tilde = distribution.knockoffs(x[ROWS:], random_state=seed + 10_000)
    z, z_tilde = (
        (x, x_tilde)
        if law == "gaussian"
        else (_normal_scores(distribution, t) for t in (x, x_tilde))
    )
    table, exact = pd.DataFrame(CUTS[cut](z, seed)), pd.DataFrame(CUTS[cut](z_tilde, seed + 1))
    return Rows(table[:ROWS], table[ROWS:], exact)


def chain_rows(seed: int) -> Rows:
    """A Markov chain of nominal states, the columns in random order."""
    rng = np.random.default_rng(1)
    mixed = rng.dirichlet(np.full(3, 0.7), size=(FEATURES - 1, 3))
    steps = 0.45 * mixed + 0.55 * np.stack(
        [np.eye(3)[rng.permutation(3)] for _ in range(FEATURES - 1)]
    )
    order = rng.permutation(FEATURES)
    rng = np.random.default_rng(seed)
    states = rng.integers(3, size=(2 * ROWS, FEATURES))
    for j in range(1, FEATURES):
        above = rng.random((2 * ROWS, 1)) > np.cumsum(steps[j - 1][states[:, j - 1]], axis=1)
        states[:, j] = above.sum(1).clip(max=2)
    noise = rng.random((ROWS, FEATURES))
    exact = markov_knockoffs(np.full(3, 1 / 3), steps, states[ROWS:], noise)
    table, knockoffs = (pd.DataFrame(STATES[s[:, order]]) for s in (states, exact))
    return Rows(table[:ROWS], table[ROWS:], knockoffs)


def swap_auc(x: Array, x_tilde: Array, seed: int) -> float:
    """How well boosted trees tell [x, x̃] from the same rows with half of the features swapped."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(HALF_SWAPS):
        swapped = rng.permutation(x.shape[1]) < x.shape[1] // 2
        kept = np.hstack([x, x_tilde])
        turned = np.hstack([np.where(swapped, x_tilde, x), np.where(swapped, x, x_tilde)])
        train = rng.permutation(len(x)) < len(x) // 2
        model = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
        model.fit(np.vstack([kept[train], turned[train]]), np.repeat([0, 1], train.sum()))
        scores = model.predict_proba(np.vstack([kept[~train], turned[~train]]))[:, 1]
        found.append(roc_auc_score(np.repeat([0, 1], (~train).sum()), scores))
    return float(np.mean(found))


def kept_correlation(x: Array, x_tilde: Array) -> tuple[float, float]:
    """Slopes of the correlations among knockoffs, and across, on those of the data;
    between different features.
    """

    def correlations(first: Array, second: Array) -> Array:
        both = pd.DataFrame(np.hstack([first, second])).corr().to_numpy()
        return both[: first.shape[1], first.shape[1] :]

    off = ~np.eye(x.shape[1], dtype=bool)
    data = correlations(x, x)[off]
    others = (correlations(x_tilde, x_tilde)[off], correlations(x, x_tilde)[off])
    among, across = (float(other @ data / (data @ data)) for other in others)
    return among, across


def judge(
    subject: str,
    generator: str,
    fitted: pd.DataFrame,
    held_out: pd.DataFrame,
    exact: Any,
    seed: int,
) -> list[Row]:
    """Fit a generator and judge its knockoffs of held-out rows."""
    start = time.perf_counter()
    drawn = (
        exact if generator == "exact" else GENERATORS[generator](seed).fit(fitted).sample(held_out)
    )
    spent = time.perf_counter() - start
    x = read_table(held_out, who="mixed")
    x_tilde = read_table(drawn, who="mixed").with_levels(x.levels)
    same = (x.codes == x_tilde.codes) | (np.isnan(x.codes) & np.isnan(x_tilde.codes))
    nominal = any(column.kind == "nominal" for column in x.schema)
    among, across = (np.nan, np.nan) if nominal else kept_correlation(x.codes, x_tilde.codes)
    judged = {"AUC": swap_auc(x.codes, x_tilde.codes, seed), "corr. among": among, "across": across}
    return [
        {"table": subject, "knockoffs": generator}
        | judged
        | {"same cells": float(same.mean()), "seconds": spent}
    ]


SYNTHETIC: dict[str, Callable[[int], Rows]] = {
    f"{law}, {cut}": partial(cut_rows, law, cut) for law in LAWS for cut in CUTS
} | {"chain of 3 states": chain_rows}


def judge_synthetic(subject: str, generator: str, seed: int) -> list[Row]:
    return judge(subject, generator, *SYNTHETIC[subject](seed), seed)


def judge_real(subject: str, generator: str, data: str | None, seed: int) -> list[Row]:
    table = REAL[subject](data)
    order = np.random.default_rng(seed).permutation(len(table))
    cut = round((1 - HELD_OUT) * len(table))
    return judge(subject, generator, table.iloc[order[:cut]], table.iloc[order[cut:]], None, seed)


def judge_cost(subject: str, seed: int) -> list[Row]:
    """A continuous table, or one of the same size with columns of all kinds in turn."""
    z = AutoregressiveGaussian(features=FEATURES, rho=0.6).sample(ROWS + 500, random_state=seed)
    table = pd.DataFrame(z)
    if subject == "mixed":
        for j in range(FEATURES):
            cut = ("", "two equal levels", "40 % zeros", "20 % missing", "four levels")[j % 5]
            if cut:
                table[j] = CUTS[cut](z[:, [j]], seed + j)[:, 0]
            if j % 10 == 4:
                table[j] = STATES[np.digitize(z[:, j], [-0.5, 0.5])]
    return judge(subject, "DDLK", table[:ROWS], table[ROWS:], None, seed)


def available(names: Iterable[str], data: str | None) -> Iterator[str]:
    """Yield the names of the real tables that are there."""
    for name in names:
        try:
            REAL[name](data)
        except DataNotFoundError:
            continue
        yield name


def jobs_of(part: str, seed: int, arguments: argparse.Namespace) -> Iterator[Job]:
    if part == "synthetic":
        for subject in (name for name in SYNTHETIC if arguments.only in name):
            for name in ("exact", *arguments.generators):
                yield Job(judge_synthetic, (subject, name, seed))
    elif part == "real":
        for subject in available(arguments.tables, arguments.data):
            for name in arguments.generators:
                yield Job(judge_real, (subject, name, arguments.data, seed))
    else:
        for subject in ("continuous", "mixed"):
            yield Job(judge_cost, (subject, seed))


def tabulated(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds, and the median of the seconds."""
    found = means(frame, ["table", "knockoffs"], ["AUC", "corr. among", "across", "same cells"])
    seconds = frame.groupby(["table", "knockoffs"], sort=False)["seconds"].median()
    found["AUC ± s.e."] = [with_error(*both) for both in found[["AUC", "s.e. of AUC"]].to_numpy()]
    for name in ("corr. among", "across", "same cells"):
        found[name] = found[name].map("{:.2f}".format)
    found["seconds"] = seconds.map("{:.1f}".format).to_numpy()
    return found[
        ["table", "knockoffs", "AUC ± s.e.", "corr. among", "across", "same cells", "seconds"]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=["synthetic", "real", "cost"])
    add_options(parser, "--seeds", 5)
    parser.add_argument("--data", help="folder of the real tables")
    parser.add_argument("--generators", nargs="*", default=["DDLK", "Gaussian"])
    parser.add_argument("--only", default="", help="synthetic rows whose name has this in it")
    parser.add_argument("--tables", nargs="*", default=list(REAL))
    arguments = parser.parse_args()
    for part in arguments.part:
        jobs = [job for seed in seeds_of(arguments) for job in jobs_of(part, seed, arguments)]
        found = measured(jobs, arguments)
        if len(found):
            show(f"{part}: {arguments.repeats} seeds", tabulated(found), names=2)


if __name__ == "__main__":
    main()
