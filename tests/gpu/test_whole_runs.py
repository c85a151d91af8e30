"""Whole runs on a GPU: selections with all their parts, randomisation tests,
and checks of knockoffs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from knockoffs import DDLK, KnockoffSelector, RandomizationTest, check_swap
from tests.gpu.conftest import Compare
from tests.gpu.devices import needs_gpu
from tests.gpu.tables import CASES, mixed, targets

pytestmark = [needs_gpu, pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")]


@pytest.mark.parametrize("table", CASES)
def test_the_default_selection(table: str, compare: Compare) -> None:
    case = CASES[table]()
    chosen = KnockoffSelector(random_state=0, **case.settings)
    compare(lambda: chosen.fit(case.X, case.y, groups=case.groups).w_)


@pytest.mark.parametrize("target", targets(mixed().y))
def test_the_default_selection_for_each_target(target: str, compare: Compare) -> None:
    y = targets(mixed().y)[target]
    compare(lambda: KnockoffSelector(random_state=0).fit(mixed().X, y).w_)


def test_a_statistic_that_is_chosen(compare: Compare) -> None:
    chosen = KnockoffSelector(statistic="auto", random_state=0)
    compare(lambda: chosen.fit(mixed().X, mixed().y).w_)


@pytest.mark.parametrize("target", targets(mixed().y))
@pytest.mark.parametrize("variant", ["distilled", "holdout"])
def test_randomisation_tests(variant: Any, target: str, compare: Compare) -> None:
    y = targets(mixed().y)[target]

    def strengths() -> np.ndarray:
        test = RandomizationTest(variant=variant, resamples=2000, random_state=0).fit(mixed().X, y)
        return -np.log(test.pvalues_)

    compare(strengths)


def test_a_check_of_knockoffs(compare: Compare) -> None:
    case = CASES["mixed with gaps"]()
    generator = DDLK(random_state=0).fit(case.X)

    def figures() -> np.ndarray:
        found = (
            check_swap(generator, case.X, random_state=0)
            .to_frame()
            .set_index("feature")
            .loc[case.X.columns]
        )
        return found[["ks", "correlation", "null_wins"]].to_numpy().ravel()

    compare(figures)
