"""Finished selectors for reports: with any w that a test asks for, and after real fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from knockoffs import DDLK, GaussianKnockoffs, KnockoffSelector, KnockoffWarning, LassoStatistic
from knockoffs.datasets import AutoregressiveGaussian


def finished(
    ws: Any,
    *,
    names: Sequence[str] | None = None,
    fdr: float = 0.2,
    offset: int = 1,
    rows: int = 60,
    x: Any = None,
    history: Sequence[Any] = (),
) -> KnockoffSelector:
    """A selector after `fit`, with this w of each draw;
    data and knockoffs are noise unless x is given.
    """
    ws = np.atleast_2d(np.asarray(ws, dtype=float))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, ws.shape[1])) if x is None else np.asarray(x, dtype=float)
    table = pd.DataFrame(
        x, columns=[f"f{j}" for j in range(ws.shape[1])] if names is None else list(names)
    )
    remaining = iter(ws)
    selector = KnockoffSelector(
        lambda X: X.iloc[rng.permutation(len(X))].set_axis(X.index),
        lambda X, X_tilde, y: next(remaining),
        fdr=fdr,
        offset=offset,
        n_draws=len(ws),
        certify=len(x) >= 100,  # fewer rows have no certificate, and need no simulated responses
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        selector.fit(table, np.arange(len(x)) % 2)
    selector.generator_.history_ = list(history)
    return selector


def standing_out(features: int, relevant: int, draws: int = 1, seed: int = 0) -> np.ndarray:
    """Statistics of which the first `relevant` are far above zero, and the others around it."""
    rng = np.random.default_rng(seed)
    w = 0.02 * rng.normal(size=(draws, features))
    w[:, :relevant] = rng.uniform(0.1, 1, size=relevant) * rng.uniform(
        0.8, 1.2, size=(draws, relevant)
    )
    return w


@pytest.fixture(scope="session")
def fitted() -> KnockoffSelector:
    """After a real fit on real numbers."""
    x = AutoregressiveGaussian(features=20, rho=0.4).sample(300, random_state=0)
    y = x[:, :12].sum(axis=1) + np.random.default_rng(1).normal(size=300)
    table = pd.DataFrame(x).add_prefix("feature ")
    return KnockoffSelector(GaussianKnockoffs(), LassoStatistic(), fdr=0.2, random_state=0).fit(
        table, y
    )


@pytest.fixture(scope="session")
def fitted_deep(fast_ddlk: Callable[..., DDLK]) -> KnockoffSelector:
    """After a fit with a generator that is trained in stages, two draws, classes,
    and several kinds of columns.
    """
    x = AutoregressiveGaussian(features=6, rho=0.6).sample(160, random_state=0)
    table = pd.DataFrame(x, columns=["<b>", "a & b", "count", "yes or no", "constant", "plain"])
    table["count"] = np.rint(3 * table["count"])
    table["yes or no"] = table["yes or no"] > 0
    table["constant"] = 7
    selector = KnockoffSelector(fast_ddlk(), LassoStatistic(), fdr=0.5, n_draws=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        return selector.fit(table, np.where(x[:, 0] > 0, "ill", "well"))


@pytest.fixture(params=["one draw", "stages and draws", "nothing found", "one feature", "all zero"])
def selector(request: pytest.FixtureRequest) -> KnockoffSelector:
    match request.param:
        case "one draw":
            return request.getfixturevalue("fitted")
        case "stages and draws":
            return request.getfixturevalue("fitted_deep")
        case "nothing found":
            return finished([0.3, -0.4, 0.1, -0.2, 0.0])
        case "one feature":
            return finished([0.5])
        case _:
            return finished(np.zeros(7))
