"""The swap divergence by densities: nothing for exact knockoffs, what the model itself says for DDLK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from knockoffs import DDLK, GaussianKnockoffs, check_swap
from knockoffs.arrays import Array
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.diagnostics.divergence import SINGLE_ROWS, has_densities, swap_divergence
from knockoffs.generators.gaussian import knockoff_gaps

LAW = AutoregressiveGaussian(features=4, rho=0.6)


class Densities:
    """A Gaussian law of [x, x̃] that is known, given as the joint density of x and the conditional one of x̃."""

    def __init__(self, together: Array) -> None:
        self.together = together
        self.alone = together[:4, :4]

    def joint_log_prob(self, x: Array) -> Array:
        return multivariate_normal(cov=self.alone).logpdf(x)

    def log_prob(self, x: Array, x_tilde: Array) -> Array:
        both = multivariate_normal(cov=self.together).logpdf(np.hstack([x, x_tilde]))
        return both - self.joint_log_prob(x)

    def draw(self, rows: int) -> tuple[Array, Array]:
        both = np.random.default_rng(0).multivariate_normal(np.zeros(8), self.together, size=rows)
        return both[:, :4], both[:, 4:]


def exact() -> Densities:
    shared = LAW.covariance - np.diag(knockoff_gaps(LAW.covariance))
    return Densities(np.block([[LAW.covariance, shared], [shared, LAW.covariance]]))


def independent() -> Densities:
    nothing = np.zeros((4, 4))
    return Densities(np.block([[LAW.covariance, nothing], [nothing, np.eye(4)]]))


def test_exact_knockoffs_have_none() -> None:
    model = exact()
    found = swap_divergence(model, *model.draw(50), np.random.default_rng(1))
    assert found.total == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found.single, 0, atol=1e-9)
    assert np.isnan(found.worst).all()


def test_it_is_the_kullback_leibler_divergence_of_the_swap() -> None:
    model = independent()
    found = swap_divergence(model, *model.draw(4000), np.random.default_rng(1))
    for j in range(4):
        order = np.arange(8)
        order[[j, j + 4]] = j + 4, j
        swapped = model.together[np.ix_(order, order)]
        expected = (np.trace(np.linalg.inv(swapped) @ model.together) - 8) / 2  # the determinants are the same
        assert found.single[j] == pytest.approx(expected, abs=4 * found.single_error[j])
    assert found.total > 10 * found.total_error > 0
    assert SINGLE_ROWS < 4000


def test_errors_are_standard_errors() -> None:
    """They shrink as one over the root of the rows, and are those of the mean."""
    model = independent()
    x, x_tilde = model.draw(6400)
    few = [
        swap_divergence(model, x[k : k + 100], x_tilde[k : k + 100], np.random.default_rng(k))
        for k in range(0, 6400, 100)
    ]
    spread = np.std([found.total for found in few])
    assert np.mean([found.total_error for found in few]) == pytest.approx(spread, rel=0.35)


def test_a_copied_column_adds_nothing() -> None:
    model = exact()
    x, x_tilde = model.draw(30)
    x_tilde[:, 2] = x[:, 2]
    assert (swap_divergence(model, x, x_tilde, np.random.default_rng(0)).single[2] == 0).all()


def test_which_generators_have_densities(fast_ddlk: Callable[..., DDLK]) -> None:
    assert has_densities(fast_ddlk())
    assert not has_densities(GaussianKnockoffs())
    assert not has_densities(lambda X: X)


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
    by_frame = check_swap(fast_ddlk().fit(frame[:200]), frame[200:], random_state=0).found.divergence
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
    assert check_swap(GaussianKnockoffs().fit(x[:100]), x[100:], random_state=0).found.divergence is None
