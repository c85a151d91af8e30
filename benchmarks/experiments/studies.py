"""Builders of studies: the data sets of the paper and the responses on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import pandas as pd
from scipy.stats import expon, gamma
from sklearn.datasets import load_digits

from benchmarks.experiments.experiment import Study, Target
from benchmarks.experiments.responses import KINDS, unseen_response
from knockoffs.datasets import (
    AutoregressiveGaussian,
    AutoregressiveMixture,
    ClaytonCopula,
    JoeCopula,
    gene_walk,
    liang_response,
    linear_response,
    load_acic2016,
    load_expression,
    load_hiv,
    load_icu,
    load_nhefs,
    load_support2,
)
from knockoffs.datasets.real import data_file, position
from knockoffs.runtime.arrays import Array
from knockoffs.table.table import read_table

ROWS = 2000
VERDICT_ROWS, VERDICT_RESPONSES = 1000, 15


def gaussian(
    seed: int, data: str | None, *, rho: float = 0.6, amplitudes: tuple[int, ...] = (100, 10)
) -> Study:
    """The paper's `gaussian`: autoregressive Gaussian rows, linear responses of 20 columns."""
    return _linear(AutoregressiveGaussian(rho=rho), seed, amplitudes)


def smoke(seed: int, data: str | None) -> Study:
    """Small, to try an installation or a cluster."""
    return _linear(AutoregressiveGaussian(features=30), seed, (100,), rows=200)


def mixture(seed: int, data: str | None, *, amplitudes: tuple[int, ...] = (100, 10)) -> Study:
    """The paper's `mixture` of three autoregressive Gaussians, linear responses of 20 columns."""
    return _linear(AutoregressiveMixture(), seed, amplitudes)


def _linear(
    law: AutoregressiveGaussian | AutoregressiveMixture,
    seed: int,
    amplitudes: tuple[int, ...],
    rows: int = ROWS,
) -> Study:
    x = law.sample(rows, seed)
    responses = {
        f"{amplitude}/√N": Target(*linear_response(x, amplitude=amplitude, random_state=seed))
        for amplitude in amplitudes
    }
    return Study(_frame(x), responses, lambda draw: law.knockoffs(x, draw))


def genes(seed: int, data: str | None, *, normal_scores: bool) -> Study:
    """The paper's `gene`: a walk over correlated genes,
    Liang's non-linear response of the first 20.
    """
    X = gene_walk(
        _expression(str(data_file(data, "gdsc_expression", "expression.npz").parents[1])),
        normal_scores=normal_scores,
        random_state=seed,
    )
    return Study(X, {"Liang": Target(*liang_response(X.to_numpy(), random_state=seed))})


@lru_cache(maxsize=1)
def _expression(data: str) -> pd.DataFrame:
    return load_expression(data)


def copula(
    seed: int,
    data: str | None,
    *,
    family: Literal["clayton", "joe"],
    margin: Literal["exponential", "gamma"],
    rows: int,
) -> Study:
    """Dependence in one tail, skewed margins, Liang's response of standardised columns."""
    law = ClaytonCopula() if family == "clayton" else JoeCopula()
    exponential = law.sample(rows, seed)
    standard = (exponential - exponential.mean(0)) / exponential.std(0)
    responses = {"Liang": Target(*liang_response(standard, random_state=seed))}
    oracle = None
    if isinstance(law, ClaytonCopula):  # knockoffs commute with maps of single columns
        oracle = lambda draw: _with_margin(law.knockoffs(exponential, draw), margin)  # noqa: E731
    return Study(_frame(_with_margin(exponential, margin)), responses, oracle)


def _with_margin(exponential: Array, margin: str) -> Array:
    return exponential if margin == "exponential" else gamma.isf(expon.sf(exponential), 3.0)


def clinical(
    seed: int,
    data: str | None,
    *,
    rows: Literal["stays", "snapshots"],
    missing: Literal["keep", "fill"] = "keep",
) -> Study:
    """Death in hospital of intensive-care patients;
    values that are filled in are drawn anew for each seed.
    """
    X, y, groups = load_icu(data, rows=rows, missing=missing, random_state=seed)
    return Study(
        X, {"death": Target(y.to_numpy())}, groups=None if groups is None else groups.to_numpy()
    )


def hiv(seed: int, data: str | None, *, drug_class: str, drug: str) -> Study:
    """Resistance to a drug; a discovery is a position,
    right where treatment selects mutations there.
    """
    X, y, treatment_selected = load_hiv(data, drug_class=drug_class, drug=drug)
    target = Target(y.to_numpy(), treatment_selected)
    return Study(X, {drug: target}, unit=[f"P{position(name)}" for name in X.columns])


REAL: dict[str, Callable[[str | None], pd.DataFrame]] = {
    "support2": lambda data: load_support2(data).X,
    "nhefs": lambda data: load_nhefs(data).X,
    "acic2016": load_acic2016,
    "icu": lambda data: load_icu(data, missing="keep").X,
    "hiv": lambda data: load_hiv(data).X,
    "digits": lambda data: pd.DataFrame(load_digits().data).add_prefix("pixel"),
}
KNOWN = {
    "gaussian": AutoregressiveGaussian(),
    "mixture": AutoregressiveMixture(),
    "clayton": ClaytonCopula(),
}


def verdict(seed: int, data: str | None, *, name: str) -> Study:
    """Rows of a data set, with responses of kinds that no prediction simulates."""
    oracle = None
    if name in KNOWN:
        x = KNOWN[name].sample(VERDICT_ROWS, seed)
        X = _frame(x)
        oracle = lambda draw: KNOWN[name].knockoffs(x, draw)  # noqa: E731
    elif name == "genes":
        X = gene_walk(
            _expression(str(data_file(data, "gdsc_expression", "expression.npz").parents[1])),
            random_state=seed,
        )
    else:
        whole = REAL[name](data)
        X = whole.sample(min(len(whole), VERDICT_ROWS), random_state=seed)
    table = read_table(X, who=name)
    kinds = [*KINDS]
    responses = {
        f"{kinds[k % len(kinds)]} {k}": Target(*unseen_response(table, k, seed + k))
        for k in range(VERDICT_RESPONSES)
    }
    return Study(X, responses, oracle)


def _frame(x: Array) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
