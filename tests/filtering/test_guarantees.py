"""Per-family error rate, k-FWER and simultaneous bounds: brute force,
and coin flips for irrelevant features.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from knockoffs.filtering.guarantees import fdp_bound, fdp_bounds, kfwer_select, pfer_select

law = settings(max_examples=200, deadline=None, derandomize=True, database=None)
statistics = st.lists(st.integers(-6, 6), min_size=1, max_size=12).map(
    lambda w: np.array(w, dtype=float)
)
alphas = st.sampled_from((0.05, 0.1, 0.3, 0.6))
FEATURES, RELEVANT = 40, np.arange(40) < 10


def coin_flips(rng: np.random.Generator, relevant: np.ndarray) -> np.ndarray:
    """Statistics of which irrelevant features have signs that are fair coins,
    whatever the sizes.
    """
    size = rng.gamma(1, size=len(relevant))
    return np.where(relevant, size + 1, size * rng.choice([-1, 1], size=len(relevant)))


# number of false selections
# -------------------------------------------------------------------------------------


@law
@given(statistics, st.integers(1, 4))
def test_v_knockoffs_take_the_positive_ones_before_the_vth_negative_one_by_brute_force(w, v):
    """A negative feature comes before positive ones of its size, the cautious order of ties."""
    selected, negatives = np.zeros(len(w), dtype=bool), 0
    for feature in sorted(range(len(w)), key=lambda j: (-abs(w[j]), w[j] > 0)):
        negatives += w[feature] < 0
        if negatives == v:
            break
        selected[feature] = w[feature] > 0
    np.testing.assert_array_equal(pfer_select(w, v), selected)


@law
@given(statistics, st.integers(1, 4))
def test_more_tolerance_never_selects_less(w, v):
    assert (pfer_select(w, v) <= pfer_select(w, v + 1)).all()
    assert (kfwer_select(w, 5 + v) <= kfwer_select(w, 6 + v)).all()
    assert (kfwer_select(w, 5 + v, 0.05) <= kfwer_select(w, 5 + v, 0.2)).all()


@pytest.mark.parametrize(
    "relevant", [RELEVANT, np.zeros(FEATURES, dtype=bool)], ids=["some", "global null"]
)
def test_no_more_false_selections_than_expected(relevant):
    rng = np.random.default_rng(0)
    ws = [coin_flips(rng, relevant) for _ in range(1500)]
    for v in (1, 2, 5):
        false = [np.count_nonzero(pfer_select(w, v) & ~relevant) for w in ws]
        assert 0.8 * v < np.mean(false) <= v + 3 * np.std(false) / len(ws) ** 0.5
    for k, alpha in ((3, 0.2), (5, 0.05), (8, 0.05), (8, 0.2)):
        too_many = np.mean(
            [np.count_nonzero(kfwer_select(w, k, alpha) & ~relevant) >= k for w in ws]
        )
        assert 0 < too_many <= alpha + 3 * (alpha * (1 - alpha) / len(ws)) ** 0.5


def test_a_kfwer_that_can_select_nothing_is_refused_with_a_remedy_that_works() -> None:
    with pytest.raises(
        ValueError, match=r"k=4 with alpha=0.05 can select nothing.*k=5 or more.*alpha=0.0625"
    ):
        kfwer_select([1.0], k=4)
    assert kfwer_select([1.0], k=5).all()
    assert kfwer_select([1.0], k=4, alpha=0.0625).all()


# bounds for any set
# ---------------------------------------------------------------------------------------------


def subsets(size: int) -> np.ndarray:
    return np.array(list(itertools.product([False, True], repeat=size)))


def bound_by_brute_force(w: np.ndarray, chosen: np.ndarray, alpha: float) -> float:
    """Katsevich and Ramdas's bound of every threshold, and interpolation, word for word."""
    bounds = [np.count_nonzero(chosen)]
    for t in {abs(value) for value in w if value != 0}:
        false = math.floor(
            math.log(1 / alpha) / math.log(2 - alpha) * (1 + np.count_nonzero(w <= -t))
        )
        bounds.append(np.count_nonzero(chosen & ~(w >= t)) + false)
    return min(bounds) / max(np.count_nonzero(chosen), 1)


@settings(law, max_examples=40)
@given(
    st.lists(st.integers(-6, 6), min_size=1, max_size=7).map(lambda w: np.array(w, dtype=float)),
    alphas,
)
def test_the_bound_of_every_set_by_brute_force(w, alpha):
    for chosen in subsets(len(w)):
        assert fdp_bound(w, chosen, alpha) == bound_by_brute_force(w, chosen, alpha)


@law
@given(statistics, alphas)
def test_the_bounds_along_the_path_are_those_of_its_sets(w, alpha):
    largest_first = np.argsort(-w, kind="stable")
    sets = [np.isin(np.arange(len(w)), largest_first[:k]) for k in range(1, len(w) + 1)]
    np.testing.assert_allclose(
        fdp_bounds(w, alpha), [fdp_bound(w, chosen, alpha) for chosen in sets]
    )
    assert (fdp_bounds(w, alpha) >= fdp_bounds(w, 0.7)).all()


@pytest.mark.parametrize(
    "relevant", [RELEVANT, np.zeros(FEATURES, dtype=bool)], ids=["some", "global null"]
)
def test_all_bounds_along_the_path_hold_together(relevant):
    rng = np.random.default_rng(1)
    ws = [coin_flips(rng, relevant) for _ in range(1500)]
    for alpha in (0.05, 0.2, 0.5):
        violated = []
        for w in ws:
            false = np.cumsum(~relevant[np.argsort(-w, kind="stable")])
            violated.append(
                (false / np.arange(1, FEATURES + 1) > fdp_bounds(w, alpha) + 1e-9).any()
            )
        assert np.mean(violated) <= alpha + 3 * (alpha * (1 - alpha) / len(ws)) ** 0.5
    assert np.mean(violated) > 0.05  # at 0.5: the bound is not empty


def test_the_bounds_of_all_sets_hold_together() -> None:
    """The set that an adversary who knows the truth would choose."""
    rng = np.random.default_rng(2)
    relevant, sets, alpha = np.arange(9) < 3, subsets(9)[1:], 0.3
    violated = []
    for _ in range(60):
        w = coin_flips(rng, relevant)
        false = (sets & ~relevant).sum(1) / sets.sum(1)
        violated.append(
            any(
                f > fdp_bound(w, chosen, alpha) + 1e-9
                for f, chosen in zip(false, sets, strict=True)
            )
        )
    assert np.mean(violated) <= alpha + 3 * (alpha * (1 - alpha) / len(violated)) ** 0.5


def test_bad_arguments() -> None:
    for call in (lambda: pfer_select([1.0], 0), lambda: pfer_select([1.0], 1.5)):
        with pytest.raises(
            ValueError, match=r"expected_false=.* is not valid: pass a whole number of at least 1"
        ):
            call()
    for call in (
        lambda: kfwer_select([1.0], 5, 0),
        lambda: fdp_bounds([1.0], 1),
        lambda: fdp_bound([1], [True], -1),
    ):
        with pytest.raises(
            ValueError, match=r"alpha=.* is not valid: pass a number above 0 and below 1"
        ):
            call()
    with pytest.raises(ValueError, match="chosen has shape"):
        fdp_bound([1.0, 2.0], [True])
    with pytest.raises(ValueError, match="chosen must be true/false"):
        fdp_bound([1.0, 2.0], [0, 1])
