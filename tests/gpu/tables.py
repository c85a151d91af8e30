"""One table of each kind that the package treats in a way of its own,
with a response of some of its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from knockoffs.datasets import AutoregressiveGaussian

ROWS, COLUMNS = 400, 12


class Case(NamedTuple):
    """A table, its response, and how a selector is told of what is special."""

    X: pd.DataFrame
    y: np.ndarray
    groups: np.ndarray | None = None
    settings: dict[str, Any] = {}  # noqa: RUF012


def _latent() -> np.ndarray:
    return AutoregressiveGaussian(COLUMNS, rho=0.5).sample(ROWS, random_state=3)


def response(z: np.ndarray, scale: float = 2.0) -> np.ndarray:
    """A number that the first half of the columns decides, each less than the one before."""
    effects = scale * np.linspace(1.5, 0.5, COLUMNS // 2)
    return z[:, : COLUMNS // 2] @ effects + np.random.default_rng(4).normal(size=len(z))


def continuous() -> Case:
    z = _latent()
    return Case(pd.DataFrame(z).add_prefix("x"), response(z))


def mixed() -> Case:
    """Text, a yes/no column, counts, grades, and a tenth of the cells missing in two columns."""
    z = _latent()
    X = pd.DataFrame(z).add_prefix("x")
    X["x1"] = np.where(z[:, 1] > 0.5, "high", np.where(z[:, 1] > -0.5, "middle", "low"))
    X["x3"] = z[:, 3] > 0
    X["x5"] = np.floor(np.exp(z[:, 5] / 2) * 3).astype(int)
    X["x7"] = np.where(z[:, 7] > 0, "b", "a")
    missing = np.random.default_rng(5).random((ROWS, 2)) < 0.1
    X[["x0", "x8"]] = X[["x0", "x8"]].mask(missing)
    return Case(X, response(z))


def feature_groups() -> Case:
    groups = {"first two": ["x0", "x1"], "last three": ["x9", "x10", "x11"]}
    return continuous()._replace(settings={"feature_groups": groups})


def groups_of_rows() -> Case:
    """Four visits of each patient, who has a part of every column for all of them."""
    patients = np.repeat(np.arange(ROWS // 4), 4)
    z = (_latent()[: ROWS // 4][patients] + _latent()) / np.sqrt(2)
    return Case(pd.DataFrame(z).add_prefix("x"), response(z), patients)


def conditioned() -> Case:
    return mixed()._replace(settings={"condition_on": ["x7", "x11"]})


CASES: dict[str, Callable[[], Case]] = {
    "continuous": continuous,
    "mixed with gaps": mixed,
    "feature groups": feature_groups,
    "groups of rows": groups_of_rows,
    "condition_on": conditioned,
}


def targets(y: np.ndarray) -> dict[str, Any]:
    """The same response as a number, as classes, and as times of which a fifth are censored."""
    late = np.exp(-y / y.std()) + 0.1
    end = np.quantile(late, 0.8)
    times = pd.DataFrame({"time": np.minimum(late, end), "seen": late < end})
    classes = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))]
    return {
        "number": y,
        "two classes": y > np.median(y),
        "three classes": classes,
        "survival": times,
    }
