"""All experiments, methods and statistics by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.experiments import studies
from benchmarks.experiments.broken import PermutedColumns, ShuffledRows
from benchmarks.experiments.experiment import Experiment, Variant
from knockoffs.datasets.real import SEVERITY_SCORES
from knockoffs.generators.registry import GENERATORS
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.registry import STATISTICS as BY_NAME

COMPARED = ("ddlk", "deep", "gan", "auto-encoding", "gaussian", "oracle")
ENTROPIES = (0.0, 0.001, 0.01, 0.1, 1.0)
CORRELATIONS = (0.2, 0.4, 0.6, 0.8)

METHODS: dict[str, Callable[[int], Any]] = {
    name: partial(lambda kind, seed: kind(random_state=seed), kind)
    for name, kind in GENERATORS.items()
}
METHODS["permuted"] = lambda seed: PermutedColumns(random_state=seed)
METHODS["shuffled"] = lambda seed: ShuffledRows(random_state=seed)
METHODS |= {
    f"ddlk-{entropy:g}": partial(
        lambda entropy, seed: GENERATORS["ddlk"](entropy=entropy, random_state=seed), entropy
    )
    for entropy in ENTROPIES
}
STATISTICS: dict[str, Callable[[], Any]] = {
    **BY_NAME,
    "lightgbm": lambda: HoldoutStatistic("lightgbm", mixture=0, folds=2),
    "lightgbm-mixture": lambda: HoldoutStatistic("lightgbm", folds=2),
}

_ICU = ("physionet2012/icu_stays.parquet", "physionet2012/icu_cbc_snapshots.parquet")
_HIV = {"PI": ("APV", "IDV", "LPV"), "NRTI": ("3TC", "AZT"), "NNRTI": ("EFV", "NVP")}


def _copulas() -> tuple[Variant, ...]:
    found = []
    for family in ("clayton", "joe"):
        for margin in ("exponential", "gamma"):
            for rows in (200, 2000):
                make = partial(studies.copula, family=family, margin=margin, rows=rows)
                found.append(Variant(f"{family}-{margin}-{rows}", make, oracle=family == "clayton"))
    return tuple(found)


EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "smoke",
            "A few seconds, to try an installation or a cluster",
            (Variant("small", studies.smoke, oracle=True),),
            ("gaussian", "oracle"),
            ("lasso",),
            replicates=10,
        ),
        Experiment(
            "gaussian",
            "Autoregressive Gaussian rows, linear response",
            (Variant("rho-0.6", studies.gaussian, oracle=True),),
            COMPARED,
            ("holdout", "mixture", "lasso"),
            note="100/√N as printed in the paper gives power 1 to all; at 10/√N methods differ.",
        ),
        Experiment(
            "mixture",
            "Three clusters of autoregressive Gaussian rows, linear response",
            (Variant("three-clusters", studies.mixture, oracle=True),),
            COMPARED,
            ("holdout", "mixture", "lasso"),
        ),
        Experiment(
            "gene",
            "Expression of 100 correlated genes, Liang's non-linear response",
            (
                Variant("normal-scores", partial(studies.genes, normal_scores=True), draw="walk"),
                Variant("standardised", partial(studies.genes, normal_scores=False), draw="walk"),
            ),
            COMPARED,
            ("holdout", "mixture", "lasso"),
            files=("gdsc_expression/expression.npz",),
            note="In normal scores the response has lighter tails; standardised columns are "
            "harder.",
        ),
        Experiment(
            "lambda",
            "How far the mean false discovery proportion is from nominal, over λ and correlation",
            tuple(
                Variant(f"rho-{rho:g}", partial(studies.gaussian, rho=rho, amplitudes=(10,)))
                for rho in CORRELATIONS
            ),
            tuple(f"ddlk-{entropy:g}" for entropy in ENTROPIES),
            ("holdout",),
            replicates=10,
        ),
        Experiment(
            "clinical",
            "Death in hospital of intensive-care patients (stand-in for the paper's private "
            "covid-19 data)",
            (Variant("stays", partial(studies.clinical, rows="stays")),),
            ("ddlk", "deep", "gan", "auto-encoding", "gaussian"),
            ("lightgbm", "lightgbm-mixture"),
            replicates=1,
            levels=(0.2,),
            note="Missing cells stay missing. Stays are independent rows.",
            marks=SEVERITY_SCORES,
            files=_ICU,
        ),
        Experiment(
            "clinical-filled",
            "The same with missing values filled in, as in the paper",
            (Variant("stays", partial(studies.clinical, rows="stays", missing="fill")),),
            ("ddlk", "deep", "gan", "auto-encoding", "gaussian"),
            ("lightgbm", "lightgbm-mixture"),
            replicates=1,
            levels=(0.2,),
            note="Missing values are drawn from observed ones. Stays are independent rows.",
            marks=SEVERITY_SCORES,
            files=_ICU,
        ),
        Experiment(
            "clinical-snapshots",
            "The same with one row a blood count, as in the paper; rows of one stay repeat each "
            "other",
            (Variant("snapshots", partial(studies.clinical, rows="snapshots")),),
            ("ddlk", "gaussian"),
            ("lightgbm", "lightgbm-mixture"),
            replicates=1,
            levels=(0.2,),
            note="Rows depend on each other, so this mirrors the paper and bounds nothing.",
            marks=SEVERITY_SCORES,
            files=_ICU,
        ),
        Experiment(
            "hiv",
            "Mutations that make HIV-1 resistant, against the treatment-selected panel, by "
            "position",
            tuple(
                Variant(f"{kind}-{drug}", partial(studies.hiv, drug_class=kind, drug=drug))
                for kind, drugs in _HIV.items()
                for drug in drugs
            ),
            ("ddlk", "gaussian", "hmm"),
            ("mixture", "lasso"),
            replicates=3,
            levels=(0.1, 0.2),
            files=(*(f"hiv/rhee2006_{kind}.parquet" for kind in _HIV), "hiv/truth.json"),
            note="The panel is no truth: 'false' discoveries are positions outside it.",
        ),
        Experiment(
            "verdict",
            "False discoveries that the check of the knockoffs expects, against those of "
            "responses it never saw",
            tuple(
                Variant(name, partial(studies.verdict, name=name), oracle=name in studies.KNOWN)
                for name in (*studies.KNOWN, "genes", *studies.REAL)
            ),
            ("ddlk", "gaussian", "permuted", "shuffled", "oracle"),
            ("mixture", "lasso"),
            replicates=2,
            levels=(0.1, 0.2),
            files=(
                "gdsc_expression/expression.npz",
                _ICU[0],
                "hiv/rhee2006_PI.parquet",
                "hiv/truth.json",
                *(f"{name}/{name}.parquet" for name in ("support2", "nhefs")),
                "acic2016/covariates.parquet",
            ),
            note="Permuted columns and shuffled rows are broken on purpose.",
            predicts=0.2,
        ),
        Experiment(
            "copula",
            "Clayton and Joe copulas, exponential and gamma margins, few and many rows",
            _copulas(),
            ("ddlk", "gaussian", "auto-encoding", "oracle"),
            ("mixture", "lasso"),
            replicates=10,
        ),
    )
}
