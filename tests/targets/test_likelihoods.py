"""What every target is: a likelihood, with its derivatives, and draws from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from knockoffs.runtime.arrays import Array
from knockoffs.targets.base import Target
from knockoffs.targets.classes import Classes
from knockoffs.targets.counts import Counts
from knockoffs.targets.quantity import Quantity
from knockoffs.targets.survival import Survival
from knockoffs.targets.times import Times
from tests.targets.ordered import Ordered

ROWS = 3000
RNG = np.random.default_rng(0)
LATENT = RNG.normal(size=ROWS)
ETA = 0.5 * RNG.normal(size=(ROWS, 3))
TARGETS: dict[str, Target] = {
    "quantity": Quantity(LATENT),
    "two classes": Classes.numbered((LATENT > 0.3).astype(float)),
    "three classes": Classes.numbered(np.digitize(LATENT, [-1, 1]).astype(float)),
    "counts": Counts.of(RNG.poisson(np.exp(LATENT)).astype(float)),
    "survival": Survival.of(Times(np.exp(LATENT), RNG.random(ROWS) < 0.6)),
    "ordered": Ordered.of(np.digitize(LATENT, [-1, 0, 1]).astype(float)),
}
every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def eta_of(target: Target) -> Array:
    return target.start() + ETA[:, : target.outputs]


def around(eta: Array, output: int) -> Array:
    """The points at a distance of 1e-5 on both sides of η along one output."""
    step = np.zeros(eta.shape[1])
    step[output] = 1e-5
    return np.stack([eta + step, eta - step])


@every_target
def test_the_score_is_the_slope_of_the_log_likelihood(target: Target) -> None:
    eta = eta_of(target)
    for k in range(target.outputs):
        after, before = (target.loglik(own) for own in around(eta, k))
        np.testing.assert_allclose(target.score(eta)[:, k], (after - before) / 2e-5, atol=1e-6)


@every_target
def test_the_information_is_minus_the_slope_of_the_score(target: Target) -> None:
    eta = eta_of(target)
    for k in range(target.outputs):
        after, before = (target.score(own) for own in around(eta, k))
        expected = -(after - before) / 2e-5
        np.testing.assert_allclose(target.information(eta)[:, :, k], expected, atol=1e-6)


@every_target
def test_without_features_the_score_sums_to_zero(target: Target) -> None:
    eta = np.broadcast_to(target.start(), (ROWS, target.outputs))
    np.testing.assert_allclose(target.score(eta).mean(0), 0.0, atol=1e-9)


@every_target
def test_draws_from_the_model_have_no_slope_at_it(target: Target) -> None:
    eta = eta_of(target)
    draws = [target.simulate(eta, np.random.default_rng(seed)) for seed in range(20)]
    scores = np.concatenate([own.score(eta) for own in draws])
    error = scores.std(0) / len(scores) ** 0.5
    assert (np.abs(scores.mean(0)) < 4 * error).all()
    for own in draws[:2]:
        assert type(own) is type(target)
        assert len(own) == ROWS


@every_target
def test_tensors_have_the_likelihood_of_arrays(target: Target) -> None:
    eta = eta_of(target)
    several = torch.as_tensor(np.stack([eta.T, 2 * eta.T]))  # as networks give it
    found = target.log_density(torch.as_tensor(target.observed), several)
    expected = np.stack([target.loglik(eta), target.loglik(2 * eta)])
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)
    one = target.log_density(torch.as_tensor(target.observed), several[0])
    np.testing.assert_allclose(one.numpy(), expected[0], rtol=1e-12, atol=1e-12)


@every_target
def test_rows_are_taken_before_or_after(target: Target) -> None:
    index = np.random.default_rng(1).permutation(ROWS)[:500]
    eta = eta_of(target)
    own = target.rows(index)
    np.testing.assert_allclose(own.loglik(eta[index]), target.loglik(eta)[index])
    np.testing.assert_allclose(own.score(eta[index]), target.score(eta)[index])
    np.testing.assert_array_equal(own.values, target.values[index])
    np.testing.assert_array_equal(own.columns(), target.columns()[index])
    assert own.rows(np.arange(500)).described == own.described


@every_target
def test_an_imitation_is_on_the_same_footing_and_rises_with_the_response(target: Target) -> None:
    response = np.random.default_rng(2).normal(size=ROWS)
    own = target.imitated(response, 0)
    assert type(own) is type(target)
    assert np.corrcoef(own.values, response)[0, 1] > 0.5
    if not target.quadratic and not target.timed:
        np.testing.assert_allclose(np.sort(own.values), np.sort(target.values), atol=1)
        assert (np.diff(own.values[np.argsort(response)]) >= 0).all()


@every_target
def test_a_bound_on_the_curvature_holds(target: Target) -> None:
    if not target.local:
        largest = np.linalg.eigvalsh(target.information(4 * eta_of(target)))[:, -1].max()
        assert largest <= target.curvature + 1e-12
