"""Each statistic with each kind of target on a GPU, for features that have several columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from knockoffs import GaussianKnockoffs
from knockoffs.statistics.registry import STATISTICS
from tests.gpu.conftest import Compare
from tests.gpu.devices import needs_gpu
from tests.gpu.tables import CASES, mixed, targets

pytestmark = [needs_gpu, pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")]

WITH_TORCH = ("mixture", "holdout", "midpoint", "sum")


@pytest.fixture(scope="module")
def knockoffs() -> pd.DataFrame:
    return GaussianKnockoffs(random_state=0).fit(mixed().X).sample(mixed().X)


@pytest.mark.parametrize("target", targets(mixed().y))
@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "lightgbm"])
def test_statistics_are_repeatable_and_nearly_those_of_a_cpu(
    name: str, target: str, knockoffs: pd.DataFrame, compare: Compare
) -> None:
    X, y = mixed().X, targets(mixed().y)[target]
    compare(lambda: w(name, X, knockoffs, y), same=name not in WITH_TORCH)


@pytest.mark.parametrize("name", WITH_TORCH)
@pytest.mark.parametrize("table", ["continuous", "groups of rows"])
def test_statistics_of_plain_columns(name: str, table: str, compare: Compare) -> None:
    case = CASES[table]()
    X_tilde = GaussianKnockoffs(random_state=0).fit(case.X).sample(case.X)
    compare(lambda: w(name, case.X, X_tilde, case.y, groups=case.groups))


def w(name: str, X: pd.DataFrame, X_tilde: pd.DataFrame, y: Any, **settings: Any) -> np.ndarray:
    statistic = STATISTICS[name]().set_params(random_state=0)
    return statistic.compute(X, X_tilde, y, **settings)
