"""`make methods`: every generator on three laws: time, likeness of the knockoffs, false discoveries and power."""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table
from scipy.stats import ks_2samp

from benchmarks.experiments.pictures import compare_methods
from benchmarks.measures import Law, covariance_error, swap_auc
from benchmarks.speed import seconds
from knockoffs import (
    DDLK,
    AutoEncodingKnockoffs,
    DeepKnockoffs,
    GaussianKnockoffs,
    GaussianMixtureKnockoffs,
    HMMKnockoffs,
    HoldoutStatistic,
    KnockoffGAN,
    LassoStatistic,
    fdp,
    knockoff_select,
    power,
)
from knockoffs.datasets import (
    AutoregressiveGaussian,
    AutoregressiveMixture,
    ClaytonCopula,
    liang_response,
    linear_response,
)
from knockoffs.runtime.arrays import Array, Flags

ROWS, TRAIN = 2000, 1400


class UpperClayton:
    """Clayton copula with exponential margins, strongly dependent where the columns are large instead of small."""

    def sample(self, rows: int, random_state: int) -> Array:
        return self._flipped(ClaytonCopula().sample(rows, random_state))

    def log_prob(self, x: Array) -> Array:
        return ClaytonCopula().log_prob(self._flipped(x)) - x.sum(1) + self._flipped(x).sum(1)

    def knockoffs(self, x: Array, random_state: int) -> Array:
        """Knockoffs commute with maps of single columns."""
        return self._flipped(ClaytonCopula().knockoffs(self._flipped(x), random_state))

    @staticmethod
    def _flipped(x: Array) -> Array:
        return -np.log(-np.expm1(-x))


LEVELS = (0.1, 0.2)
LAWS: dict[str, Law] = {
    "gaussian": AutoregressiveGaussian(),
    "mixture": AutoregressiveMixture(),
    "clayton": ClaytonCopula(),
    "clayton, upper": UpperClayton(),
}
FEWER_SEEDS = {"clayton, upper": 3}
METHODS: dict[str, Any] = {
    "oracle": None,
    "DDLK": DDLK,
    "Gaussian": GaussianKnockoffs,
    "Gaussian mixture": GaussianMixtureKnockoffs,
    "Deep Knockoffs": DeepKnockoffs,
    "KnockoffGAN": KnockoffGAN,
    "Auto-Encoding": AutoEncodingKnockoffs,
    "HMM": HMMKnockoffs,
}


@dataclass
class Row:
    """What one method reached on one draw of one law."""

    law: str
    method: str
    seed: int
    fit_seconds: float
    correlation: float
    own_covariance: float
    cross_covariance: float
    spread: float
    ks: float
    auc: float
    lasso: list[float]  # FDP and power at each level
    boosting: list[float]


def run(law_name: str, method: str, seed: int) -> Row:
    """Fit on the first rows, judge on the others, select on all."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    law = LAWS[law_name]
    x = law.sample(ROWS, seed)
    if method == "oracle":
        spent, x_tilde = 0.0, law.knockoffs(x, seed)
    else:
        model = METHODS[method](random_state=seed)
        spent = seconds(lambda: model.fit(x[:TRAIN]))
        x_tilde = model.sample(x, random_state=seed)
    held, held_tilde = x[TRAIN:], x_tilde[TRAIN:]
    return Row(
        law_name,
        method,
        seed,
        fit_seconds=spent,
        correlation=float(
            np.mean([abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(held.T, held_tilde.T, strict=True)])
        ),
        own_covariance=_own_covariance_error(held, held_tilde),
        cross_covariance=covariance_error(held, held_tilde),
        spread=float(np.abs(held_tilde.std(0) / held.std(0) - 1).mean()),
        ks=float(np.mean([ks_2samp(a, b)[0] for a, b in zip(held.T, held_tilde.T, strict=True)])),
        auc=swap_auc(held, held_tilde, np.random.default_rng(seed)),
        lasso=_lasso_rates(law_name, x, x_tilde, seed),
        boosting=_boosting_rates(x, x_tilde, seed),
    )


def _own_covariance_error(x: Array, x_tilde: Array) -> float:
    """Root mean square difference of the off-diagonal entries of cov(x̃) and cov(x), in units of x."""
    mean, deviation = x.mean(0), x.std(0)
    z, z_tilde = (x - mean) / deviation, (x_tilde - mean) / deviation
    difference = np.cov(z_tilde.T) - np.cov(z.T)
    return float(np.sqrt(np.mean(difference[~np.eye(len(difference), dtype=bool)] ** 2)))


def _lasso_rates(law: str, x: Array, x_tilde: Array, seed: int) -> list[float]:
    """Linear response of the standardised columns; of the raw ones for `mixture`, all of them nearly copies."""
    scaled, amplitude = (x, 100) if law == "mixture" else ((x - x.mean(0)) / x.std(0), 10)
    y, relevant = linear_response(scaled, amplitude=amplitude, random_state=seed)
    return _rates(LassoStatistic(random_state=seed).compute(x, x_tilde, y), relevant)


def _boosting_rates(x: Array, x_tilde: Array, seed: int) -> list[float]:
    y, relevant = liang_response((x - x.mean(0)) / x.std(0), random_state=seed)
    statistic = HoldoutStatistic("boosting", mixture=0, folds=2, random_state=seed)
    return _rates(statistic.compute(x, x_tilde, y), relevant)


def _rates(w: Array, relevant: Flags) -> list[float]:
    return [score(knockoff_select(w, q), relevant) for q in LEVELS for score in (fdp, power)]


def show(console: Console, rows: list[Row]) -> None:
    for law in LAWS:
        table = Table(title=f"{law}: fit on {TRAIN} rows, judged on {ROWS - TRAIN}; means over seeds")
        headings = ("method", "fit s", "corr", "cov x̃", "cov x x̃", "sd", "KS", "AUC ± s.e.")
        headings += ("lasso FDP/power .1", "at .2", "boosting FDP/power .1", "at .2")
        for heading in headings:
            table.add_column(heading, justify="left" if heading == "method" else "right")
        for method in METHODS:
            found = [row for row in rows if row.law == law and row.method == method]
            if not found:
                continue
            mean = {k: np.mean([getattr(r, k) for r in found]) for k in Row.__annotations__ if k not in _TEXTS}
            aucs = [r.auc for r in found]
            error = np.std(aucs, ddof=1) / np.sqrt(len(aucs)) if len(aucs) > 1 else np.nan
            table.add_row(
                method,
                f"{mean['fit_seconds']:.1f}",
                *(f"{mean[k]:.3f}" for k in ("correlation", "own_covariance", "cross_covariance", "spread", "ks")),
                f"{mean['auc']:.3f} ± {error:.3f}",
                *_rate_cells([r.lasso for r in found]),
                *_rate_cells([r.boosting for r in found]),
            )
        console.print(table)


_TEXTS = ("law", "method", "seed", "lasso", "boosting")


def _rate_cells(rates: list[list[float]]) -> list[str]:
    mean = np.mean(rates, axis=0)
    return [f"{mean[2 * k]:.2f}/{mean[2 * k + 1]:.2f}" for k in range(len(LEVELS))]


def draw(path: Path) -> None:
    """How each method's knockoffs of two features of `mixture` look: modes missed, smeared or copied."""
    law = LAWS["mixture"]
    x = law.sample(ROWS, 0)
    warnings.simplefilter("ignore")
    found = {"data": x[TRAIN:]}
    for name, method in METHODS.items():
        model = None if method is None else method(random_state=0).fit(x[:TRAIN])
        found[name] = law.knockoffs(x[TRAIN:], 0) if model is None else model.sample(x[TRAIN:], random_state=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    compare_methods(found, 0, 1).savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--out", type=Path, help="write the rows to this JSON file")
    parser.add_argument("--rows", type=Path, help="show the rows of this JSON file instead of running")
    parser.add_argument("--figure", type=Path, help="draw the picture of `mixture` instead")
    arguments = parser.parse_args()
    if arguments.figure:
        draw(arguments.figure)
        return
    if arguments.rows:
        show(Console(width=190), [Row(**row) for row in json.loads(arguments.rows.read_text())])
        return
    # the slow ones first, so that no core waits at the end
    order = sorted(arguments.methods, key=lambda m: m not in ("Auto-Encoding", "Deep Knockoffs", "KnockoffGAN"))
    tasks = [
        (law, method, seed)
        for method in order
        for law in LAWS
        for seed in range(min(arguments.seeds, FEWER_SEEDS.get(law, arguments.seeds)))
    ]
    rows = []
    for row in Parallel(arguments.n_jobs, return_as="generator_unordered")(delayed(run)(*task) for task in tasks):
        rows.append(row)
        if arguments.out:  # as they come, so that nothing is lost where the run is stopped
            arguments.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    show(Console(width=190), rows)


if __name__ == "__main__":
    main()
