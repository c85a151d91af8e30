"""The evidence bound of the auto-encoder where the evidence is known:
a linear Gaussian model set by hand.
"""

from __future__ import annotations

import math

import pytest
import torch

from knockoffs.generators.compared.autoencoder import Autoencoder

pytestmark = pytest.mark.usefixtures("double_precision")

FEATURES, LATENT = 3, 2
NOISE = torch.tensor([0.5, 0.8, 1.1], dtype=torch.float64)  # deviations of x given z
OFFSET = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
# Loadings with W^T S^-2 W diagonal, so that the true posterior has independent coordinates.
LOADINGS = NOISE[:, None] * torch.tensor([[0.9, 0.6], [0.9, -0.6], [0.9, 0.0]], dtype=torch.float64)


def linear(weight: torch.Tensor, bias: torch.Tensor) -> torch.nn.Linear:
    layer = torch.nn.utils.skip_init(torch.nn.Linear, weight.shape[1], weight.shape[0])
    layer.weight, layer.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)
    return layer


def linear_gaussian(*, posterior_shift: float = 0.0, posterior_scale: float = 1.0) -> Autoencoder:
    """x = W z + b + S e with the posterior of z given x, moved and widened by the arguments."""
    network = Autoencoder(FEATURES, LATENT, (4,), torch.Generator().manual_seed(0))
    precision = torch.eye(LATENT) + LOADINGS.T @ torch.diag(NOISE**-2) @ LOADINGS
    assert torch.allclose(precision, torch.diag(precision.diagonal()))
    slope = torch.linalg.solve(precision, LOADINGS.T @ torch.diag(NOISE**-2))
    network.z_mean = linear(slope, -slope @ OFFSET + posterior_shift)
    log_deviation = -0.5 * precision.diagonal().log() + math.log(posterior_scale)
    network.z_log_deviation = linear(torch.zeros(LATENT, FEATURES), log_deviation)
    network.x_mean = linear(LOADINGS, OFFSET)
    network.x_log_deviation = linear(torch.zeros(FEATURES, LATENT), NOISE.log())
    return network.requires_grad_(False)


def normal(rows: int, columns: int, seed: int) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def rows_of_the_model(rows: int) -> torch.Tensor:
    return normal(rows, LATENT, 1) @ LOADINGS.T + OFFSET + NOISE * normal(rows, FEATURES, 2)


EVIDENCE = torch.distributions.MultivariateNormal(
    OFFSET, LOADINGS @ LOADINGS.T + torch.diag(NOISE**2)
)


def mean_bound(
    network: Autoencoder, x: torch.Tensor, draws: int = 4000
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean over many draws of z, row by row, and its standard error."""
    noise = normal(len(x) * draws, network.noise, 3)
    found = network.negative_elbo(x.repeat_interleave(draws, 0), noise).reshape(len(x), draws)
    return found.mean(1), found.std(1) / math.sqrt(draws)


def test_at_the_true_posterior_the_bound_is_the_evidence() -> None:
    x = rows_of_the_model(20)
    found, error = mean_bound(linear_gaussian(), x)
    assert ((found + EVIDENCE.log_prob(x)).abs() < 4.5 * error).all()


@pytest.mark.parametrize(("shift", "scale"), [(0.4, 1.0), (0.0, 1.8), (0.0, 0.4), (-0.3, 1.3)])
def test_elsewhere_it_is_above_by_the_divergence_from_the_posterior(
    shift: float, scale: float
) -> None:
    x = rows_of_the_model(20)
    network, true = linear_gaussian(posterior_shift=shift, posterior_scale=scale), linear_gaussian()
    q, p = (
        torch.distributions.Normal(n.z_mean(x), n.z_log_deviation(x).exp()) for n in (network, true)
    )
    gap = torch.distributions.kl_divergence(q, p).sum(1)
    assert gap.min() > 0.05
    found, error = mean_bound(network, x)
    assert (found > -EVIDENCE.log_prob(x)).all()
    assert ((found + EVIDENCE.log_prob(x) - gap).abs() < 4.5 * error).all()


def test_the_posterior_of_no_information_costs_nothing() -> None:
    """Where q(z | x) is the prior and x does not depend on z,
    every draw gives minus the log-density.
    """
    network = linear_gaussian()
    network.z_mean = linear(torch.zeros(LATENT, FEATURES), torch.zeros(LATENT))
    network.z_log_deviation = linear(torch.zeros(LATENT, FEATURES), torch.zeros(LATENT))
    network.x_mean = linear(torch.zeros(FEATURES, LATENT), OFFSET)
    x = rows_of_the_model(10)
    expected = torch.distributions.Normal(OFFSET, NOISE).log_prob(x).sum(1)
    torch.testing.assert_close(network.negative_elbo(x, normal(10, network.noise, 4)), -expected)


def test_knockoffs_go_through_posterior_and_likelihood() -> None:
    """At the true posterior x̃ has the law of x, and cov(x, x̃) = W cov(E(z | x)) W^T."""
    rows = 100_000
    x, network = rows_of_the_model(rows), linear_gaussian()
    x_tilde = network(x, normal(rows, network.noise, 5))
    joint = torch.cov(torch.cat([x, x_tilde], 1).T)
    slope = network.z_mean.weight
    expected = EVIDENCE.covariance_matrix @ slope.T @ LOADINGS.T
    torch.testing.assert_close(joint[:3, :3], joint[3:, 3:], atol=0.04, rtol=0)
    torch.testing.assert_close(joint[:3, 3:], expected, atol=0.04, rtol=0)
    torch.testing.assert_close(x_tilde.mean(0), OFFSET, atol=0.02, rtol=0)


def test_gradients_match_finite_differences() -> None:
    network = Autoencoder(3, 2, (4,), torch.Generator().manual_seed(1))
    x, noise = normal(5, 3, 6).requires_grad_(), normal(5, network.noise, 7)
    assert torch.autograd.gradcheck(lambda x: network.negative_elbo(x, noise), (x,))


def test_rows_far_away_stay_finite() -> None:
    network = Autoencoder(3, 2, (4,), torch.Generator().manual_seed(1))
    x = torch.full((1, 3), 1e6)
    noise = normal(1, network.noise, 8)
    assert torch.isfinite(network(x, noise)).all()
    assert torch.isfinite(network.negative_elbo(x, noise)).all()
