"""`make methods`: every generator on three laws: time, likeness of the knockoffs,
false discoveries and power.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

from benchmarks.experiments.pictures import compare_methods
from benchmarks.experiments.summary import with_error
from benchmarks.measures import Law, covariance_error, swap_auc
from benchmarks.repeated import Job, Row, add_options, means, measured, rates_at, seeds_of, show
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
    """Clayton copula with exponential margins, strongly dependent where the columns are large
    instead of small.
    """

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
RATED = ("lasso", "boosting")  # the statistics
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


def one_fit(law_name: str, method: str, seed: int) -> list[Row]:
    """Fit on the first rows, judge on the others, select on all."""
    law = LAWS[law_name]
    x = law.sample(ROWS, seed)
    if method == "oracle":
        spent, x_tilde = 0.0, law.knockoffs(x, seed)
    else:
        model = METHODS[method](random_state=seed)
        spent = seconds(lambda: model.fit(x[:TRAIN]))
        x_tilde = model.sample(x, random_state=seed)
    held, held_tilde = x[TRAIN:], x_tilde[TRAIN:]
    pairs = list(zip(held.T, held_tilde.T, strict=True))
    judged: Row = {
        "law": law_name,
        "method": method,
        "fit s": spent,
        "corr": float(np.mean([abs(np.corrcoef(a, b)[0, 1]) for a, b in pairs])),
        "cov x̃": _own_covariance_error(held, held_tilde),
        "cov x x̃": covariance_error(held, held_tilde),
        "sd": float(np.abs(held_tilde.std(0) / held.std(0) - 1).mean()),
        "KS": float(np.mean([ks_2samp(a, b)[0] for a, b in pairs])),
        "AUC": swap_auc(held, held_tilde, np.random.default_rng(seed)),
    }
    lasso, boosting = _lasso_w(law_name, x, x_tilde, seed), _boosting_w(x, x_tilde, seed)
    for name, (w, relevant) in (("lasso", lasso), ("boosting", boosting)):
        for rates in rates_at(w, relevant, LEVELS):
            judged |= {
                f"{name} {value} at {rates['level']:g}": rates[value] for value in ("FDP", "power")
            }
    return [judged]


def _own_covariance_error(x: Array, x_tilde: Array) -> float:
    """Root mean square difference of the off-diagonal entries of cov(x̃) and cov(x),
    in units of x.
    """
    mean, deviation = x.mean(0), x.std(0)
    z, z_tilde = (x - mean) / deviation, (x_tilde - mean) / deviation
    difference = np.cov(z_tilde.T) - np.cov(z.T)
    return float(np.sqrt(np.mean(difference[~np.eye(len(difference), dtype=bool)] ** 2)))


def _lasso_w(law: str, x: Array, x_tilde: Array, seed: int) -> tuple[Array, Flags]:
    """Linear response of the standardised columns; of the raw ones for `mixture`,
    all of them nearly copies.
    """
    scaled, amplitude = (x, 100) if law == "mixture" else ((x - x.mean(0)) / x.std(0), 10)
    y, relevant = linear_response(scaled, amplitude=amplitude, random_state=seed)
    return LassoStatistic(random_state=seed).compute(x, x_tilde, y), relevant


def _boosting_w(x: Array, x_tilde: Array, seed: int) -> tuple[Array, Flags]:
    y, relevant = liang_response((x - x.mean(0)) / x.std(0), random_state=seed)
    statistic = HoldoutStatistic("boosting", mixture=0, folds=2, random_state=seed)
    return statistic.compute(x, x_tilde, y), relevant


def tabulated(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds, in the order of the methods."""
    plain = ["corr", "cov x̃", "cov x x̃", "sd", "KS"]
    rated = [
        f"{name} {value} at {level:g}"
        for name in RATED
        for level in LEVELS
        for value in ("FDP", "power")
    ]
    found = means(frame, ["method"], ["fit s", *plain, "AUC", *rated])
    found = found.sort_values("method", key=lambda names: names.map(list(METHODS).index))
    table = found[["method"]].assign(**{"fit s": found["fit s"].map("{:.1f}".format)})
    for name in plain:
        table[name] = found[name].map("{:.3f}".format)
    table["AUC ± s.e."] = [with_error(*both) for both in found[["AUC", "s.e. of AUC"]].to_numpy()]
    for name in RATED:
        for level in LEVELS:
            both = found[[f"{name} FDP at {level:g}", f"{name} power at {level:g}"]].to_numpy()
            table[f"{name} FDP/power at {level:g}"] = [
                f"{false:.2f}/{right:.2f}" for false, right in both
            ]
    return table


def draw(path: Path) -> None:
    """How each method's knockoffs of two features of `mixture` look: modes missed,
    smeared or copied.
    """
    law = LAWS["mixture"]
    x = law.sample(ROWS, 0)
    warnings.simplefilter("ignore")
    found = {"data": x[TRAIN:]}
    for name, method in METHODS.items():
        model = None if method is None else method(random_state=0).fit(x[:TRAIN])
        found[name] = (
            law.knockoffs(x[TRAIN:], 0)
            if model is None
            else model.sample(x[TRAIN:], random_state=0)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    compare_methods(found, 0, 1).savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "--seeds", 5)
    parser.add_argument("--laws", nargs="*", default=list(LAWS), choices=list(LAWS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--figure", type=Path, help="draw the picture of `mixture` instead")
    arguments = parser.parse_args()
    if arguments.figure:
        draw(arguments.figure)
        return
    # the slow ones first, so that no core waits at the end
    order = sorted(
        arguments.methods, key=lambda m: m not in ("Auto-Encoding", "Deep Knockoffs", "KnockoffGAN")
    )
    jobs = [
        Job(one_fit, (law, method, seed))
        for method in order
        for law in arguments.laws
        for seed in seeds_of(arguments)[: FEWER_SEEDS.get(law)]
    ]
    for law, found in measured(jobs, arguments).groupby("law", sort=False):
        show(
            f"{law}: fit on {TRAIN} rows, judged on {ROWS - TRAIN}; means over seeds",
            tabulated(found),
            width=190,
        )


if __name__ == "__main__":
    main()
