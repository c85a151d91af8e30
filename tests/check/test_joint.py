"""Rows against swapped rows: exact under the null, awake to faults."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from knockoffs.check import joint_tests as joint
from knockoffs.check.exact import draw_signs, p_value, quadratic
from knockoffs.check.joint_tests import (
    _classifier,
    _covariance_kernel,
    _exponential_kernel,
    _paired_area,
    _swaps,
    compare_swaps,
    covariance_errors,
)
from knockoffs.check.pairs import Pairs, inverse_root
from knockoffs.runtime.arrays import Array, Flags

from .conftest import PAIRS, exact_pair, swap_cells
from .test_features import every_sign

Make = Callable[[int, int], tuple[Array, Array]]
SWAPS = {"full": np.ones(6, bool), "half": np.arange(6) % 2 == 0, "one": np.arange(6) == 4}


def covariance(pairs: Pairs, columns: Flags) -> Array:
    middle = pairs.middle @ inverse_root(pairs.middle_covariance)
    return _covariance_kernel(middle, pairs.half / np.sqrt(pairs.half_variance), columns)


def exponential(pairs: Pairs, columns: Flags) -> Array:
    return _exponential_kernel(pairs, inverse_root(pairs.covariance), columns)


KERNELS = {"covariance": covariance, "exponential": exponential}
all_kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
all_pairs = pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS.keys())
all_swaps = pytest.mark.parametrize("columns", SWAPS.values(), ids=SWAPS.keys())


@all_kernels
@all_pairs
@all_swaps
def test_swapping_a_row_turns_its_row_and_column_of_the_kernel(
    kernel: Callable[..., Array], make: Make, columns: Flags
) -> None:
    """So ε'Kε over all ε is the same set for the data and for the swapped data:
    the p-value is exact.
    """
    x, x_tilde = make(25, 1)
    signs = np.where(np.random.default_rng(0).random(25) < 0.5, -1, 1)
    before = kernel(Pairs(x, x_tilde), columns)
    after = kernel(Pairs(*swap_cells(x, x_tilde, (signs[:, None] < 0) & columns)), columns)
    np.testing.assert_allclose(
        after, before * np.outer(signs, signs), atol=2e-4 * np.abs(before).max()
    )
    assert np.linalg.eigvalsh(before).min() > -1e-3 * np.abs(before).max()  # inner products


@all_kernels
@all_pairs
@all_swaps
def test_p_values_are_exact_over_all_swaps_of_rows(
    kernel: Callable[..., Array], make: Make, columns: Flags
) -> None:
    x, x_tilde = make(7, 3)
    every = every_sign(7)
    found = []
    for e in every.T:
        pairs = Pairs(*swap_cells(x, x_tilde, (e[:, None] < 0) & columns))
        found.append(p_value(quadratic(kernel(pairs, columns), every)))
    for alpha in np.unique(found):
        assert np.mean(np.array(found) <= alpha) <= alpha + 1e-9


@all_pairs
@all_swaps
def test_the_classifier_judges_rows_that_it_has_not_learned(make: Make, columns: Flags) -> None:
    """Swapping all rows on which it is judged turns its AUC around,
    so nothing of them was in the fit.
    """
    x, x_tilde = make(81, 2)
    x_tilde[:, 4] += 1.5
    judged = np.random.default_rng(0).permutation(81)[40:]
    swapped = np.isin(np.arange(81), judged)[:, None] & columns
    one = _classifier("", Pairs(x, x_tilde), columns, np.random.default_rng(0), 50)
    other = _classifier(
        "", Pairs(*swap_cells(x, x_tilde, swapped)), columns, np.random.default_rng(0), 50
    )
    assert one.told_apart == pytest.approx(1 - other.told_apart)
    assert one.high - one.low == pytest.approx(other.high - other.low) or {0, 1} & {
        one.low,
        one.high,
    }


@pytest.mark.parametrize("decimals", [0, 8])
def test_the_area_is_that_of_the_roc_curve(decimals: int) -> None:
    rng = np.random.default_rng(1)
    kept, turned = (
        np.round(rng.normal(size=40), decimals),
        np.round(rng.normal(0.5, 2, size=40), decimals),
    )
    area, error, exchanged = _paired_area(kept, turned)
    assert area == pytest.approx(
        roc_auc_score(np.repeat([0, 1], 40), np.concatenate([kept, turned]))
    )
    assert area == pytest.approx(0.5 + exchanged.sum() / (2 * 40 * 40))
    assert error > 0
    back, same_error, turned_back = _paired_area(turned, kept)
    assert back == pytest.approx(1 - area)
    assert same_error == pytest.approx(error)
    np.testing.assert_allclose(turned_back, -exchanged)
    increased = _paired_area(np.exp(kept), np.exp(turned))
    assert increased[:2] == pytest.approx((area, error))


def test_the_interval_covers_the_area_in_95_percent() -> None:
    """The two scores of a row depend on each other, which the interval must know."""
    rng = np.random.default_rng(2)
    truth, covered = norm.cdf(0.5 / np.sqrt(2)), []
    for _ in range(400):
        shared = rng.normal(size=(150, 1))
        kept, turned = (0.7 * shared + np.sqrt(0.51) * rng.normal(size=(150, 2))).T
        area, error, _ = _paired_area(kept, turned + 0.5)
        covered.append(abs(area - truth) <= error)
    assert 0.91 < np.mean(covered) < 0.98


def test_swaps_take_all_columns_or_half_of_them() -> None:
    for features, sizes in (
        (1, [1, 1, 1]),
        (2, [1, 1, 1]),
        (6, [3, 2, 2]),
        (8, [4, 4, 4]),
        (80, [40, 40, 40]),
    ):
        (name, full), *halves = _swaps(features, np.random.default_rng(0))
        assert name == "full"
        assert full.all()
        assert [columns.sum() for _, columns in halves] == sizes
    taken = [
        columns
        for seed in range(30)
        for _, columns in [*_swaps(6, np.random.default_rng(seed))][1:]
    ]
    assert 0.3 < np.mean(taken, axis=0).min() <= np.mean(taken, axis=0).max() < 0.7


def results(
    x: Array, x_tilde: Array, seed: int = 0, draws: int = 100
) -> dict[tuple[str, str], object]:
    rng = np.random.default_rng(seed)
    found = compare_swaps(Pairs(x, x_tilde), draw_signs(rng, draws, len(x)), rng)
    return {(test.test, test.swap): test for test in found}


def test_exact_knockoffs_give_uniform_p_values() -> None:
    """Of every test and every swap, over 80 tables."""
    found = [results(*exact_pair(81, seed), seed=seed) for seed in range(1000, 1080)]
    assert len(found[0]) == 12
    for key in found[0]:
        p = np.array([tests[key].p_value for tests in found])
        for alpha in (0.05, 0.1, 0.25, 0.5, 0.75):
            assert np.mean(p <= alpha) <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / 80), (
                key,
                alpha,
            )
        if key[0] != "classifier":  # on 41 rows trees often tell nothing, and p = 1
            assert np.mean(p) < 0.5 + 3 / np.sqrt(12 * 80), key


def test_rows_and_knockoffs_may_change_places() -> None:
    x, x_tilde = exact_pair(60, 7)
    one, other = results(x, x_tilde), results(x_tilde, x)
    for key, test in one.items():
        if key[0] != "classifier":  # whose features are in another order
            assert other[key].told_apart == pytest.approx(test.told_apart, abs=0.02)
            assert other[key].p_value == pytest.approx(test.p_value, abs=0.02)


def test_each_test_finds_the_fault_it_is_made_for() -> None:
    x, x_tilde = exact_pair(200, 8)
    noise = results(x, np.random.default_rng(0).normal(1, 1, size=x.shape))
    shifted = results(x, np.roll(x, 1, axis=0))  # only half swaps can see it
    for test in ("covariance", "kernel"):
        assert noise[test, "full"].p_value == 0.01
        assert noise[test, "full"].told_apart > 0.6
        assert min(shifted[test, f"half {k}"].p_value for k in (1, 2, 3)) == 0.01
        assert shifted[test, "full"].p_value > 0.01
    x_tilde[:, 2] = 1 + 2 * (x_tilde[:, 2] - 1)
    wide = results(x, x_tilde)
    assert wide["classifier", "full"].p_value == 0.01
    assert wide["classifier", "full"].low > 0.5


def test_covariance_errors_are_chance_or_a_fault() -> None:
    x, x_tilde = exact_pair(4000, 9)
    exact = covariance_errors(Pairs(x, x_tilde))
    assert max(exact) < 3 / np.sqrt(4000)
    noise = covariance_errors(Pairs(x, np.random.default_rng(0).normal(1, 1, size=x.shape)))
    expected = np.sqrt(
        np.mean([0.6 ** (2 * abs(j - k)) for j in range(6) for k in range(6) if j != k])
    )
    assert noise == pytest.approx((expected, expected), abs=0.05)
    assert covariance_errors(Pairs(x, x.copy())) == pytest.approx((0, 0), abs=1e-12)
    units = np.array([1, 1e-5, 1e5, 3, 7, 0.1])
    assert covariance_errors(Pairs(5 + units * x, 5 + units * x_tilde)) == pytest.approx(
        exact, rel=1e-6
    )


def test_a_column_without_variance_on_these_rows_has_no_infinite_error() -> None:
    """A rare indicator may be 0 on all held-out rows and 1 in one knockoff."""
    x, x_tilde = exact_pair(60, 10)
    x[:, 2], x_tilde[:, 2] = 0.0, np.arange(60) == 7
    assert np.isfinite(covariance_errors(Pairs(x, x_tilde))).all()


@pytest.mark.parametrize("features", range(1, 20))
def test_some_half_swap_parts_any_two_of_few_features(features: int) -> None:
    """A fault that two features have together shows only where one of them is swapped."""
    (_, full), *halves = joint._swaps(features, np.random.default_rng(features))
    assert full.all()
    assert len(halves) == joint.HALF_SWAPS
    for _, half in halves:
        assert 1 <= half.sum() <= max(1, features // 2)
    if features <= 2**joint.HALF_SWAPS:
        digits = np.stack([half for _, half in halves], axis=1)
        assert len(np.unique(digits, axis=0)) == features
