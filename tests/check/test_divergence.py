"""The swap divergence by densities: nothing for exact knockoffs,
what the model itself says for DDLK.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from knockoffs import DDLK, GaussianKnockoffs, check_swap
from knockoffs.check.joint_tests import SINGLE_ROWS, Divergence, swap_divergence
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.generators.any_generator import declared_by
from knockoffs.generators.gaussian import knockoff_gaps
from knockoffs.generators.swap_pairs import EncodedPairs
from knockoffs.runtime.arrays import Array
from knockoffs.schema.schema import Units

LAW = AutoregressiveGaussian(features=4, rho=0.6)


class Densities:
    """A Gaussian distribution of [z, z̃] that is known, and rows of it;
    `unit` says which columns swap together.
    """

    def __init__(self, together: Array, rows: int = 50, unit: Any = (0, 1, 2, 3)) -> None:
        self.together = together
        self.unit = np.array(unit)
        both = np.random.default_rng(0).multivariate_normal(np.zeros(8), together, size=rows)
        self.z, self.z_tilde = both[:, :4], both[:, 4:]

    def log_prob(self, z: Array, z_tilde: Array) -> Array:
        return multivariate_normal(cov=self.together).logpdf(np.hstack([z, z_tilde]))

    def some(self, rows: slice) -> Densities:
        part = copy(self)
        part.z, part.z_tilde = self.z[rows], self.z_tilde[rows]
        return part


def exact(rows: int = 50) -> Densities:
    shared = LAW.covariance - np.diag(knockoff_gaps(LAW.covariance))
    return Densities(np.block([[LAW.covariance, shared], [shared, LAW.covariance]]), rows)


def independent(rows: int = 50, unit: Any = (0, 1, 2, 3)) -> Densities:
    nothing = np.zeros((4, 4))
    return Densities(np.block([[LAW.covariance, nothing], [nothing, np.eye(4)]]), rows, unit)


def divergence_of(pairs: Any, features: int = 4, seed: int = 1, **settings: Any) -> Divergence:
    units = Units.of_groups([str(j) for j in range(features)], {})
    encoded = EncodedPairs(pairs.z, pairs.z_tilde, pairs.unit, pairs.log_prob)
    return swap_divergence(encoded, units, np.random.default_rng(seed), **settings)


def gaussian_divergence(together: Array, columns: list[int]) -> float:
    """The Kullback-Leibler divergence to the distribution with these columns swapped."""
    order = np.arange(8)
    order[columns], order[np.add(columns, 4)] = np.add(columns, 4), columns
    swapped = together[np.ix_(order, order)]
    return (np.trace(np.linalg.inv(swapped) @ together) - 8) / 2  # the determinants are the same


def test_exact_knockoffs_have_none() -> None:
    found = divergence_of(exact())
    assert found.total == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found.single, 0, atol=1e-9)
    assert np.isnan(found.worst).all()


def test_it_is_the_kullback_leibler_divergence_of_the_swap() -> None:
    model = independent(4000)
    found = divergence_of(model)
    for j in range(4):
        expected = gaussian_divergence(model.together, [j])
        assert found.single[j] == pytest.approx(expected, abs=4 * found.single_error[j])
    assert found.total > 10 * found.total_error > 0
    assert SINGLE_ROWS < 4000


def test_the_columns_of_a_unit_are_swapped_together_and_others_never() -> None:
    """Features 1 and 2 have columns, 1 has two; feature 0 is a constant,
    and the last column is context.
    """
    model = independent(4000, unit=(1, 1, 2, -1))
    found = divergence_of(model, features=3)
    assert (found.single[0], found.single_error[0]) == (0, 0)
    for j, columns in ((1, [0, 1]), (2, [2])):
        expected = gaussian_divergence(model.together, columns)
        assert found.single[j] == pytest.approx(expected, abs=4 * found.single_error[j])
    by_coins = sum(gaussian_divergence(model.together, s) for s in ([0, 1], [2], [0, 1, 2])) / 4
    assert found.total == pytest.approx(by_coins, abs=4 * found.total_error)


class Levels:
    """Three levels, one-hot in three columns of one unit, beside a bit that depends on the level.

    Knockoffs of the pair are drawn given both (`joint`), which is exact by exchangeability, or the
    bit's knockoff ignores the level.
    """

    unit = np.array([0, 0, 0, 1])
    LEVEL = np.array([0.5, 0.3, 0.2])
    BIT = np.array([0.1, 0.5, 0.9])  # probability of 1 given the level

    def __init__(self, rows: int, *, exact: bool) -> None:
        self.exact = exact
        rng = np.random.default_rng(0)
        level, level_tilde = rng.choice(3, size=(2, rows), p=self.LEVEL)
        bit = rng.random(rows) < self.bit_probability(level, level_tilde, hidden=False)
        bit_tilde = rng.random(rows) < self.bit_probability(level, level_tilde, hidden=not exact)
        self.z = np.column_stack([np.eye(3)[level], bit])
        self.z_tilde = np.column_stack([np.eye(3)[level_tilde], bit_tilde])

    def bit_probability(self, level: Array, level_tilde: Array, *, hidden: bool) -> Array:
        """Symmetric in the two levels where knockoffs are exact."""
        if hidden:
            return np.full(len(level), self.LEVEL @ self.BIT)
        return (self.BIT[level] + self.BIT[level_tilde]) / 2 if self.exact else self.BIT[level]

    def log_prob(self, z: Array, z_tilde: Array) -> Array:
        levels = z[:, :3].argmax(1), z_tilde[:, :3].argmax(1)
        found = np.log(self.LEVEL[levels[0]]) + np.log(self.LEVEL[levels[1]])
        for bit, hidden in ((z[:, 3], False), (z_tilde[:, 3], not self.exact)):
            one = self.bit_probability(*levels, hidden=hidden)
            found += np.log(np.where(bit == 1, one, 1 - one))
        return found


def test_levels_that_swap_as_a_whole() -> None:
    found = divergence_of(Levels(300, exact=True), features=2)
    assert found.total == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found.single, 0, atol=1e-9)
    broken = divergence_of(Levels(500, exact=False), features=2)
    assert (broken.single > 4 * broken.single_error).all()
    assert broken.total > 4 * broken.total_error


def test_errors_are_standard_errors() -> None:
    """They shrink as one over the root of the rows, and are those of the mean."""
    model = independent(6400)
    few = [divergence_of(model.some(slice(k, k + 100)), seed=k) for k in range(0, 6400, 100)]
    spread = np.std([found.total for found in few])
    assert np.mean([found.total_error for found in few]) == pytest.approx(spread, rel=0.35)


def test_a_copied_column_adds_nothing() -> None:
    model = exact(30)
    model.z_tilde[:, 2] = model.z[:, 2]
    assert (divergence_of(model).single[2] == 0).all()


def test_the_worst_swap_is_that_of_the_fit() -> None:
    learned = np.array([0.2, np.nan, 0.9, 0.5])
    np.testing.assert_array_equal(divergence_of(exact(), swap_probability=learned).worst, learned)


def test_which_generators_have_densities(fast_ddlk: Callable[..., DDLK]) -> None:
    assert declared_by(fast_ddlk()).has_densities
    assert not declared_by(GaussianKnockoffs()).has_densities
    assert not declared_by(lambda X: X).has_densities


def test_that_of_ddlk_is_its_own(fast_ddlk: Callable[..., DDLK]) -> None:
    x = LAW.sample(500, random_state=0)
    model = fast_ddlk().fit(x[:300])
    found = check_swap(model, x[300:], random_state=0).found.divergence
    own = model.swap_divergence(x[300:], random_state=1)
    allowed = 5 * np.hypot(found.total_error, own.standard_error)
    assert found.total == pytest.approx(own.value, abs=allowed)
    np.testing.assert_array_equal(found.worst, model.swap_probability_)


def test_names_and_special_columns_do_not_matter(fast_ddlk: Callable[..., DDLK]) -> None:
    x = LAW.sample(260, random_state=0)
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    by_array = check_swap(fast_ddlk().fit(x[:200]), x[200:], random_state=0).found.divergence
    by_frame = check_swap(
        fast_ddlk().fit(frame[:200]), frame[200:], random_state=0
    ).found.divergence
    assert by_frame.total == by_array.total
    np.testing.assert_array_equal(by_frame.single, by_array.single)
    with pytest.warns(UserWarning, match="constant"):
        model = fast_ddlk().fit(frame.assign(e=1)[:200])
    found = check_swap(model, frame.assign(e=1)[200:], random_state=0).found
    assert found.divergence.single[4] == 0
    assert np.isnan(found.divergence.worst[4])
    assert not np.isnan(found.divergence.worst[:4]).any()


def test_gaussian_knockoffs_have_no_such_figure() -> None:
    x: Any = LAW.sample(200, random_state=0)
    assert (
        check_swap(GaussianKnockoffs().fit(x[:100]), x[100:], random_state=0).found.divergence
        is None
    )
