"""The opponents of KnockoffGAN's generator, each with the loss that it minimises."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from knockoffs.density.nn import StackedLinear, StackedMLP
from knockoffs.generators.compared.noise_networks import mlp

GRADIENT_PENALTY = 10.0


class SwapDiscriminator(nn.Module):
    """Tells of [u, ũ] which coordinates were swapped, given the truth for some of them as a hint."""

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.body = mlp([3 * features, hidden, hidden, features], nn.Tanh, generator)

    def loss(self, u: Tensor, u_tilde: Tensor, swapped: Tensor, told: Tensor) -> Tensor:
        """Cross-entropy over the coordinates that the hint leaves open."""
        hint = told * swapped + 0.5 * (1 - told)
        logits = self.body(torch.cat([u, u_tilde, hint], 1))
        losses = functional.binary_cross_entropy_with_logits(logits, swapped, reduction="none")
        return ((1 - told) * losses).sum(1).mean()


class Critic(nn.Module):
    """Wasserstein critic of the distribution of x̃ against that of x, with a gradient penalty."""

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.body = mlp([features, hidden, hidden, 1], nn.Tanh, generator)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x).mean()

    def loss(self, x: Tensor, x_tilde: Tensor, generator: torch.Generator) -> Tensor:
        share = torch.rand(len(x), 1, generator=generator, device=x.device)
        between = (share * x + (1 - share) * x_tilde).requires_grad_()
        (gradient,) = torch.autograd.grad(self.body(between).sum(), between, create_graph=True)
        penalty = (gradient.norm(dim=1) - 1).square().mean()
        return self(x_tilde) - self(x) + GRADIENT_PENALTY * penalty


class DependenceBounds(nn.Module):
    """d small networks, each a lower bound on the mutual information of x_j and x̃_j (Belghazi et al. 2018)."""

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = StackedLinear(features, 2, hidden, generator=generator)
        self.rest = StackedMLP(features, [hidden], 1, generator=generator)

    def forward(self, x: Tensor, x_tilde: Tensor, order: Tensor) -> Tensor:
        """The sum of the bounds; `order` shuffles x against x̃."""
        together = self._scores(x, x_tilde).mean(1)
        apart = torch.logsumexp(self._scores(x[order], x_tilde), dim=1) - math.log(len(x))
        return (together - apart).sum()

    def _scores(self, x: Tensor, x_tilde: Tensor) -> Tensor:
        pairs = torch.stack([x.T, x_tilde.T], dim=1)  # [d, 2, rows]
        return self.rest(self.first(pairs))[:, 0]
