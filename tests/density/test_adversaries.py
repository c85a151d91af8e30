"""The opponents of KnockoffGAN: what each loss ignores, forbids and bounds;
where networks get numbers from.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from knockoffs.density.swaps import swap
from knockoffs.generators.compared.gan import (
    GRADIENT_PENALTY,
    Critic,
    DependenceBounds,
    SwapDiscriminator,
)
from knockoffs.generators.compared.noise_networks import NoiseNetwork, dense, mlp


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=seeded(seed))


# the discriminator
# ----------------------------------------------------------------------------------------------


def coins(rows: int, features: int, seed: int) -> torch.Tensor:
    return (torch.rand(rows, features, generator=seeded(seed)) < 0.5).float()


def test_coordinates_that_are_told_do_not_count() -> None:
    discriminator = SwapDiscriminator(3, 8, seeded())
    u, u_tilde, swapped = normal(40, 3), normal(40, 3, seed=1), coins(40, 3, 2)
    told = torch.tensor([0.0, 1.0, 0.0]).expand(40, 3)
    before = discriminator.loss(u, u_tilde, swapped, told)
    bias = discriminator.body[-1].bias
    (slope,) = torch.autograd.grad(before, bias, retain_graph=True)
    assert slope[1] == 0
    assert (slope[[0, 2]] != 0).all()
    with torch.no_grad():
        bias[1] += 100
    torch.testing.assert_close(discriminator.loss(u, u_tilde, swapped, told), before)
    assert discriminator.loss(u, u_tilde, swapped, torch.ones(40, 3)).item() == 0


def test_the_truth_of_untold_coordinates_is_hidden() -> None:
    """Whatever was swapped, the network gets the same input where nothing is told."""
    discriminator = SwapDiscriminator(3, 8, seeded())
    seen = []
    discriminator.body.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].clone()))
    u, u_tilde = normal(20, 3), normal(20, 3, seed=1)
    told = torch.tensor([0.0, 1.0, 0.0]).expand(20, 3)
    swapped = coins(20, 3, 2)
    other = torch.cat([1 - swapped[:, :1], swapped[:, 1:2], 1 - swapped[:, 2:]], 1)
    for truth in (swapped, other):
        discriminator.loss(u, u_tilde, truth, told)
    torch.testing.assert_close(seen[0], seen[1])
    torch.testing.assert_close(seen[0][:, 7], swapped[:, 1])


def test_the_loss_is_the_cross_entropy_of_open_coordinates() -> None:
    discriminator = SwapDiscriminator(2, 4, seeded())
    with torch.no_grad():
        discriminator.body[-1].weight.zero_()
        discriminator.body[-1].bias.copy_(torch.tensor([1.0, -2.0]))
    swapped = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    told = torch.tensor([[0.0, 0.0], [0.0, 1.0]])
    loss = discriminator.loss(normal(2, 2), normal(2, 2), swapped, told)
    expected = -(
        functional.logsigmoid(torch.tensor([1.0, -2.0])).sum()
        + functional.logsigmoid(torch.tensor(-1.0))
    )
    torch.testing.assert_close(loss, expected / 2)


def trained_discriminator_loss(x: torch.Tensor, x_tilde: torch.Tensor) -> float:
    """Cross-entropy per coordinate on rows and swaps that the training did not see."""
    d = x.shape[1]
    discriminator = SwapDiscriminator(d, 16, seeded())
    optimiser = torch.optim.Adam(discriminator.parameters(), lr=1e-2)
    train, test = slice(0, len(x) // 2), slice(len(x) // 2, None)
    for step in range(150):
        swapped = coins(*x[train].shape, seed=step)
        loss = discriminator.loss(
            *swap(x[train], x_tilde[train], swapped), swapped, torch.zeros_like(swapped)
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    swapped = coins(*x[test].shape, seed=999)
    with torch.no_grad():
        loss = discriminator.loss(
            *swap(x[test], x_tilde[test], swapped), swapped, torch.zeros_like(swapped)
        )
    return loss.item() / d


def test_exact_knockoffs_leave_the_discriminator_guessing_and_shifted_ones_do_not() -> None:
    # independent columns: any fresh draw is a knockoff
    x, x_tilde = normal(4000, 2), normal(4000, 2, seed=1)
    assert trained_discriminator_loss(x, x_tilde) > math.log(2) - 0.01
    assert trained_discriminator_loss(x, x_tilde + 1.5) < math.log(2) - 0.1


# the critic
# --------------------------------------------------------------------------------------------------


def linear_critic(weight: torch.Tensor) -> Critic:
    critic = Critic(len(weight), 4, seeded())
    layer = dense(len(weight), 1, seeded())
    with torch.no_grad():
        layer.weight.copy_(weight[None])
    critic.body = nn.Sequential(layer)
    return critic


@pytest.mark.parametrize("slope", [1.0, 0.3, 2.0])
def test_the_gradient_penalty_is_for_slopes_other_than_one(slope: float) -> None:
    weight = slope * torch.tensor([0.6, 0.0, -0.8])
    critic = linear_critic(weight)
    x, x_tilde = normal(50, 3), normal(50, 3, seed=1) + 1
    difference = ((x_tilde - x) @ weight).mean()
    found = critic.loss(x, x_tilde, seeded(3)) - difference
    assert found.item() == pytest.approx(GRADIENT_PENALTY * (slope - 1) ** 2, abs=1e-5)


def test_the_penalty_looks_between_the_rows() -> None:
    """A critic that is steep only outside of the segments from x to x̃ is not punished."""

    class Kinked(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x[:, :1] + 100 * torch.relu(x[:, :1] - 2)

    critic = Critic(1, 2, seeded())
    critic.body = Kinked()
    x, x_tilde = torch.zeros(200, 1), torch.full((200, 1), 1.9)
    assert critic.loss(x, x_tilde, seeded()).item() == pytest.approx(1.9, abs=1e-4)
    assert critic.loss(x, x_tilde + 4, seeded()).item() > 1000


def test_a_trained_critic_measures_the_distance_of_two_laws() -> None:
    """Of laws that differ by a shift, the Wasserstein distance is the length of the shift."""
    critic = Critic(2, 16, seeded())
    optimiser = torch.optim.Adam(critic.parameters(), lr=1e-2)
    x, x_tilde = normal(400, 2), normal(400, 2, seed=1) + torch.tensor([1.2, 1.6])
    for step in range(200):
        loss = critic.loss(x, x_tilde, seeded(step))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        assert (critic(x) - critic(x_tilde)).item() == pytest.approx(2.0, abs=0.35)


# dependence
# --------------------------------------------------------------------------------------------------


def pairs(correlations: torch.Tensor, rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    x, noise = (
        normal(rows, len(correlations), seed=seed),
        normal(rows, len(correlations), seed=seed + 1),
    )
    return x, correlations * x + (1 - correlations**2).sqrt() * noise


CORRELATIONS = torch.tensor([0.0, 0.5, 0.8, 0.95])
INFORMATION = -0.5 * (1 - CORRELATIONS**2).log()


@pytest.fixture(scope="module")
def trained_bounds() -> DependenceBounds:
    bounds = DependenceBounds(4, 10, seeded())
    optimiser = torch.optim.Adam(bounds.parameters(), lr=1e-2)
    for step in range(400):
        x, x_tilde = pairs(CORRELATIONS, 1000, 10 * step)
        loss = -bounds(x, x_tilde, torch.randperm(1000, generator=seeded(step)))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return bounds.requires_grad_(False)


def bound_of_each(bounds: DependenceBounds, x: torch.Tensor, x_tilde: torch.Tensor) -> torch.Tensor:
    order = torch.randperm(len(x), generator=seeded(77))
    together = bounds._scores(x, x_tilde).mean(1)
    apart = torch.logsumexp(bounds._scores(x[order], x_tilde), 1) - math.log(len(x))
    torch.testing.assert_close((together - apart).sum(), bounds(x, x_tilde, order))
    return together - apart


def test_the_bound_is_below_the_mutual_information_and_grows_with_it(
    trained_bounds: DependenceBounds,
) -> None:
    found = bound_of_each(trained_bounds, *pairs(CORRELATIONS, 50_000, 123_456))
    assert (found < INFORMATION + 0.03).all()
    assert (found > 0.7 * INFORMATION - 0.01).all()
    assert (found.diff() > 0.05).all()


def test_no_network_sees_dependence_where_there_is_none(trained_bounds: DependenceBounds) -> None:
    """The bound holds for any weights: at most 0 for independent pairs, up to noise."""
    x, x_tilde = pairs(torch.zeros(4), 50_000, 5)
    for bounds in (trained_bounds, DependenceBounds(4, 10, seeded(3)).requires_grad_(False)):
        assert (bound_of_each(bounds, x, x_tilde) < 0.03).all()


def test_each_pair_has_a_network_of_its_own() -> None:
    bounds = DependenceBounds(4, 10, seeded()).requires_grad_(False)
    x, x_tilde = pairs(CORRELATIONS, 100, 3)
    before = bounds._scores(x, x_tilde)
    x[:, 2] += 1
    changed = (bounds._scores(x, x_tilde) != before).any(1)
    assert changed.tolist() == [False, False, True, False]


# random numbers
# -------------------------------------------------------------------------------------------------

MAKERS = {
    "dense": lambda generator: dense(3, 4, generator),
    "mlp": lambda generator: mlp([3, 5, 2], nn.PReLU, generator),
    "noise network": lambda generator: NoiseNetwork(3, 2, (4,), nn.Tanh, generator),
    "discriminator": lambda generator: SwapDiscriminator(3, 4, generator),
    "critic": lambda generator: Critic(3, 4, generator),
    "bounds": lambda generator: DependenceBounds(3, 4, generator),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_networks_come_from_their_generator_and_leave_the_global_ones_alone(make) -> None:
    def state() -> list[object]:
        legacy = np.random.get_state()  # noqa: NPY002 (it is what must not move)
        return [legacy[1].tolist(), legacy[2:], random.getstate(), torch.get_rng_state().tolist()]

    before = state()
    first = make(seeded(5))
    assert state() == before
    kept = torch.get_rng_state()
    torch.manual_seed(1234)
    again, other = make(seeded(5)), make(seeded(6))
    torch.set_rng_state(kept)
    weights = [list(network.parameters()) for network in (first, again, other)]
    assert all(torch.equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights[0], weights[2], strict=True))


def test_dense_weights_fill_their_interval() -> None:
    layer = dense(16, 500, seeded())
    for weights in (layer.weight, layer.bias):
        assert weights.abs().max() <= 0.25
        assert weights.abs().max() > 0.24
        assert weights.std().item() == pytest.approx(0.25 / math.sqrt(3), rel=0.05)


def test_critics_penalty_uses_only_its_generator() -> None:
    critic = Critic(2, 4, seeded())
    before = torch.get_rng_state()
    first, second = (
        critic.loss(normal(5, 2), normal(5, 2, seed=1), seeded(1)).item() for _ in range(2)
    )
    assert first == second
    assert torch.equal(torch.get_rng_state(), before)
