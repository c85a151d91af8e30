"""p-values that stop early, and corrections for many tests: brute force."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from knockoffs.check.exact import sequential_pvalue
from knockoffs.pvalues.corrections import adjust_pvalues


def pvalue(ranks: np.ndarray, resamples: int, exceedances: int, first: int = 3) -> float:
    """The p-value of the first of exchangeable numbers."""
    rest = iter(ranks[1:])
    found = sequential_pvalue(
        float(ranks[0]),
        lambda count: np.array([next(rest) for _ in range(count)], dtype=float),
        resamples=resamples,
        exceedances=exceedances,
        first=first,
    )
    assert 1 <= found.resamples <= resamples
    return found.pvalue


@pytest.mark.parametrize(("resamples", "exceedances"), [(5, 1), (5, 2), (6, 3), (6, 7)])
def test_no_level_is_exceeded_by_any_order_of_exchangeable_numbers(
    resamples: int, exceedances: int
) -> None:
    """All orders are equally likely: the share of those with p at most t is at most t,
    for every t.
    """
    found = np.array(
        [pvalue(np.array(p), resamples, exceedances) for p in permutations(range(resamples + 1))]
    )
    for level in np.unique(found):
        assert (found <= level).mean() <= level + 1e-12
    assert found.min() <= 1 / (1 + resamples) + 1e-12 or exceedances == 1


def test_ties_count_against_the_feature() -> None:
    assert pvalue(np.zeros(11), 10, 4) == 1.0
    assert pvalue(np.array([1.0, *np.zeros(10)]), 10, 4) == 1 / 11


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 10_000))
def test_batches_do_not_matter(first: int, exceedances: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).integers(0, 30, size=201).astype(float)
    assert pvalue(numbers, 200, exceedances, first) == pvalue(numbers, 200, exceedances, 200)


def test_without_an_early_end_it_is_the_plain_p_value() -> None:
    numbers = np.random.default_rng(0).normal(size=101)
    assert pvalue(numbers, 100, 101) == (1 + (numbers[1:] >= numbers[0]).sum()) / 101


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.sampled_from(["bh", "by", "holm", "none"]),
)
def test_adjusted_p_values_give_the_step_procedures(pvalues: list[float], correction: str) -> None:
    p = np.array(pvalues)
    adjusted = adjust_pvalues(p, correction)
    order, m = np.argsort(p, kind="stable"), len(p)
    for level in (0.05, 0.1, 0.3):
        k = np.arange(1, m + 1)
        thresholds = {
            "bh": level * k / m,
            "by": level * k / m / np.sum(1 / k),
            "holm": level / (m - k + 1),
            "none": np.full(m, level),
        }[correction]
        small = p[order] <= thresholds * (1 + 1e-12)
        if correction in ("bh", "by"):  # step up
            count = int(k[small].max(initial=0))
        elif correction == "holm":  # step down
            count = int(np.argmin(small)) if not small.all() else m
        else:
            count = int(small.sum())
        chosen = adjusted <= level * (1 + 1e-9)
        assert chosen.sum() >= count
        assert set(order[:count]) <= set(np.flatnonzero(chosen))
        assert not any(p[i] > p[order[count - 1]] for i in np.flatnonzero(chosen)) or count == 0
    assert all(b >= a - 1e-15 for a, b in pairwise(adjusted[order]))
    assert (adjusted >= p - 1e-15).all()
