"""Warnings that belong to the call that caused them."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from knockoffs import GaussianKnockoffs, KnockoffSelector, KnockoffWarning, LassoStatistic
from knockoffs.runtime.cautions import caution, collect_cautions


def test_a_caution_is_a_warning_at_the_callers_line() -> None:
    with pytest.warns(KnockoffWarning, match="too few") as seen:
        caution("too few")
    assert seen[0].filename == __file__


def test_collected_cautions_are_not_shown_and_go_to_the_innermost_collector() -> None:
    with collect_cautions() as outer:
        caution("first")
        with collect_cautions() as inner:
            caution("second")
        caution("third")
    assert (outer, inner) == (["first", "third"], ["second"])


def test_a_collector_hears_nothing_of_other_threads() -> None:
    with collect_cautions() as messages, warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        other = threading.Thread(target=caution, args=("elsewhere",))
        other.start()
        other.join()
    assert messages == []


@pytest.mark.filterwarnings("ignore::knockoffs.KnockoffWarning")
def test_fits_in_parallel_threads_keep_their_own_cautions() -> None:
    def constant_columns_named_in_cautions(column: int) -> set[int]:
        rng = np.random.default_rng(column)
        x = rng.normal(size=(80, 12))
        x[:, column] = 1.0
        selector = KnockoffSelector(
            GaussianKnockoffs(), LassoStatistic(), certify=False, random_state=0
        )
        selector.fit(x, rng.normal(size=80))
        said = " ".join(selector.selection_.cautions)
        return {j for j in range(12) if f"'x{j}': constant" in said}

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(constant_columns_named_in_cautions, range(12)))
    assert found == [{column} for column in range(12)]
