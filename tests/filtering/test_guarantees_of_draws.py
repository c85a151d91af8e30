"""Other guarantees for several knockoff draws: by brute force,
and on draws that share rows and responses.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from knockoffs import (
    KnockoffSelector,
    KnockoffWarning,
    Selection,
    fdp_bound,
    fdp_bounds,
    kfwer_select,
    knockoff_evalues,
    knockoff_select,
    knockoff_threshold,
    pfer_select,
    smallest_levels,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.filtering.guarantees import false_in_sets, pfer_over_draws

law = settings(max_examples=25, deadline=None, derandomize=True, database=None)
FEATURES = 5
draws_of_w = st.lists(
    st.lists(st.integers(-6, 6), min_size=FEATURES, max_size=FEATURES), min_size=1, max_size=6
).map(lambda ws: np.array(ws, dtype=float))


def selection(ws: Sequence[Sequence[float]], **settings: Any) -> Selection:
    """The result of a fit with this w of each draw."""
    remaining = iter(np.asarray(ws, dtype=float))
    x = np.random.default_rng(0).normal(size=(40, len(ws[0])))
    selector = KnockoffSelector(
        lambda X: X[::-1],
        lambda X, X_tilde, y: next(remaining),
        n_draws=len(ws),
        certify=False,
        random_state=0,
        **settings,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)
        return selector.fit(x, x[:, 0]).selection_


# by brute force
# ------------------------------------------------------------------------------------------------


@law
@given(draws_of_w, st.sampled_from((0.05, 0.2, 0.6)))
def test_of_every_set_the_middle_bound_of_the_draws_is_taken(ws: np.ndarray, alpha: float) -> None:
    draws = len(ws)
    level = alpha if draws == 1 else alpha / 2
    for members in itertools.chain(
        *(itertools.permutations(range(FEATURES), k) for k in (1, 3, FEATURES))
    ):
        chosen = np.isin(np.arange(FEATURES), members)
        of_each = sorted(fdp_bound(w, chosen, level) for w in ws)
        found = false_in_sets(ws, np.array(members), alpha)[-1] / len(members)
        assert found == pytest.approx(of_each[math.ceil(draws / 2) - 1])


@law
@given(draws_of_w, st.integers(1, 5))
def test_features_are_selected_that_enough_draws_select(
    ws: np.ndarray, expected_false: int
) -> None:
    v = expected_false if len(ws) == 1 else math.ceil(expected_false / 2)
    share = np.mean([pfer_select(w, v) for w in ws], axis=0)
    np.testing.assert_array_equal(
        pfer_over_draws(ws, expected_false), share >= v / expected_false - 1e-12
    )


def test_a_selection_gives_the_guarantees_of_its_draws() -> None:
    rng = np.random.default_rng(0)
    ws = rng.normal(1, 1, size=(4, 12))
    found, order = selection(ws), np.argsort(-ws.mean(0), kind="stable")
    np.testing.assert_allclose(
        found.fdp_bounds(0.2), false_in_sets(ws, order, 0.2) / np.arange(1, 13)
    )
    for k in (1, 5, 12):
        chosen = np.isin(np.arange(12), order[:k])
        assert found.fdp_bound(chosen, 0.2) == pytest.approx(found.fdp_bounds(0.2)[k - 1])
    np.testing.assert_array_equal(found.pfer_select(3), pfer_over_draws(ws, 3))
    one = selection(ws[:1])
    np.testing.assert_array_equal(one.fdp_bounds(0.1), fdp_bounds(ws[0], 0.1))
    np.testing.assert_array_equal(one.pfer_select(2), pfer_select(one.w, 2))
    assert one.fdp_bound(ws[0] > 1, 0.1) == fdp_bound(one.w, ws[0] > 1, 0.1)
    with pytest.raises(ValueError, match=r"chosen has shape \(11,\)"):
        found.fdp_bound(np.ones(11, dtype=bool))


def test_columns_to_condition_on_have_no_part_in_guarantees() -> None:
    """Their w, which some statistic of one's own may give, is no coin flip."""
    ws = [[9.0, 5, 4, 3, -8, 2], [9.0, 4, 5, 3, -8, 2]]
    found = selection(ws, condition_on=[0, 4])
    np.testing.assert_array_equal(found.w[:, [0, 4]], 0)
    assert found.pfer_select(1).tolist() == [False, True, True, True, False, True]
    assert len(found.fdp_bounds()) == 4


# of simulated rows
# ---------------------------------------------------------------------------------------------

RUNS, DRAWS, D = 300, 6, 30


@cache
def simulated(relevant: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """w of several exact knockoffs of the same rows by ridge regression,
    and which features are relevant.
    """
    distribution, found = AutoregressiveGaussian(D, rho=0.5), []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        x, true = distribution.sample(150, random_state=seed), rng.permutation(D) < relevant
        y = 0.3 * x[:, true].sum(1) + rng.normal(size=len(x))
        ws = []
        drawn = distribution.knockoffs(np.tile(x, (DRAWS, 1)), random_state=seed)
        for x_tilde in np.split(drawn, DRAWS):
            both = np.hstack([x, x_tilde])
            size = np.abs(np.linalg.solve(both.T @ both + 15 * np.eye(2 * D), both.T @ y))
            ws.append(size[:D] - size[D:])
        found.append((np.array(ws), true))
    return found


@pytest.mark.parametrize("relevant", [0, 10])
def test_bounds_of_draws_hold_where_those_of_their_mean_do_not(relevant: int) -> None:
    alpha, failed, of_mean_failed = 0.1, [], []
    for ws, true in simulated(relevant):
        order = np.argsort(-ws.mean(0), kind="stable")
        false = np.cumsum(~true[order])
        failed.append((false > false_in_sets(ws, order, alpha) + 1e-9).any())
        of_mean_failed.append(
            (false / np.arange(1, D + 1) > fdp_bounds(ws.mean(0), alpha) + 1e-9).any()
        )
    error = (alpha * (1 - alpha) / RUNS) ** 0.5
    assert np.mean(failed) <= alpha + 2 * error
    assert np.mean(of_mean_failed) > alpha + 2 * error  # why w of several draws is not their mean


@pytest.mark.parametrize("relevant", [0, 10])
@pytest.mark.parametrize("expected_false", [1, 2])
def test_no_more_false_ones_than_expected_of_draws(relevant: int, expected_false: int) -> None:
    false = [
        (pfer_over_draws(ws, expected_false) & ~true).sum() for ws, true in simulated(relevant)
    ]
    assert np.mean(false) <= expected_false
    of_mean = [
        (pfer_select(ws.mean(0), expected_false) & ~true).sum() for ws, true in simulated(relevant)
    ]
    assert np.mean(of_mean) > expected_false


def test_the_bounds_of_draws_are_not_empty() -> None:
    """They say something of the ten largest, which are mostly relevant."""
    bounds = [false_in_sets(ws, np.argsort(-ws.mean(0)), 0.2)[9] for ws, _ in simulated(10)]
    assert np.mean(bounds) < 9


# w of several draws
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "take",
    [
        lambda w: knockoff_select(w, 0.2),
        lambda w: knockoff_threshold(w, 0.2),
        lambda w: knockoff_evalues(w, 0.2),
        smallest_levels,
        lambda w: pfer_select(w, 2),
        lambda w: kfwer_select(w, 5),
        fdp_bounds,
        lambda w: fdp_bound(w, np.ones(12, dtype=bool)),
    ],
)
def test_w_of_several_draws_is_not_taken_for_one_w(take: Callable[[Any], Any]) -> None:
    w = selection(np.random.default_rng(0).normal(1, 1, size=(3, 12))).w
    assert w.shape == (3, 12)
    with pytest.raises(
        ValueError, match=r"w has shape \(3, 12\).*selection_.*fdp_bounds, fdp_bound, pfer_select"
    ):
        take(w)
    take(w[0])


def test_the_mean_of_draws_is_called_one() -> None:
    ws = np.random.default_rng(0).normal(1, 1, size=(3, 12))
    several, one = selection(ws), selection(ws[:1])
    assert "w" not in several.to_frame()
    np.testing.assert_allclose(several.to_frame()["mean_w"], np.sort(ws.mean(0))[::-1])
    assert {"mean_w"} == {
        key for row in several.to_dict()["features"] for key in row if key.endswith("w")
    }
    assert "mean_w" not in one.to_frame()
    assert isinstance(several.to_frame(), pd.DataFrame)
