"""The filter's smallest selection, what stands out, and when p-values serve better."""

from __future__ import annotations

import numpy as np
import pytest

from knockoffs import knockoff_select
from knockoffs.better_tool import fewest_discoveries, plausible_discoveries, recommend_tests


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("level", [0.05, 0.1, 1 / 7, 0.2, 0.3, 0.35])
def test_so_many_winners_are_selected_and_one_fewer_are_not(level: float, offset: int) -> None:
    fewest = fewest_discoveries(level, offset)
    winners = np.arange(fewest + 1) < fewest
    assert knockoff_select(winners, level, offset=offset).sum() == fewest
    winners[0] = False
    assert not knockoff_select(winners, level, offset=offset).any()


def test_what_stands_out_is_counted_where_knockoffs_stand_out_least() -> None:
    noise = np.tile([0.5, -0.5], 20)
    assert plausible_discoveries(noise) == 0
    assert plausible_discoveries(np.concatenate([noise, [3.0, 4.0, 5.0]])) == 3
    assert plausible_discoveries(np.concatenate([noise, [3.0, 4.0, 5.0, -6.0]])) == 2
    assert plausible_discoveries(np.zeros(4)) == 0


def test_tests_are_recommended_where_fewer_features_stand_out_than_the_filter_can_report() -> None:
    w = np.concatenate([np.tile([0.5, -0.5], 6), np.full(6, 3.0)])
    hint = recommend_tests(w, 0.1)
    assert hint is not None
    assert "at least 10 features or none" in hint
    assert "about 6 stand out" in hint
    assert "RandomizationTest" in hint
    assert recommend_tests(w, 0.2) is None  # 5 suffice there
    assert recommend_tests(w, 0.1, offset=0) is None
    assert recommend_tests(-w, 0.1) is None  # nothing stands out: tests would find nothing either
