"""Swaps of coordinates between x and x̃, and three ways to choose which."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def swap(x: Tensor, x_tilde: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """[u, ũ] = [x, x̃] with the coordinates where `mask` is 1 exchanged; differentiable in all three."""
    difference = mask * (x_tilde - x)
    return x + difference, x_tilde - difference


class UniformSwaps(nn.Module):
    """Each coordinate of each row is swapped by the toss of a fair coin (the ablation of the paper)."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, rows: int, *, generator: torch.Generator, temperature: float = 1.0) -> Tensor:
        coins = torch.rand(rows, self.features, generator=generator, device=generator.device)
        return (coins < 0.5).to(torch.get_default_dtype())

    def probability(self) -> Tensor:
        return torch.full((self.features,), 0.5)


class WorstSwaps(nn.Module):
    r"""Swaps drawn with probability $p_j = \sigma(\beta_j)$, β climbing towards the worst-case swap.

    The gradient in β is that of the loss along the mask, in equal parts from where the coordinate was swapped and
    where it was not. Their mean is the difference between the two losses up to third order, whereas the plain
    straight-through gradient (`GumbelSwaps`) weighs the two ends by how often they occur: a coordinate with exact
    knockoffs, for which they cancel, then runs off to "always" or "never".
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(features))

    def forward(self, rows: int, *, generator: torch.Generator, temperature: float = 1.0) -> Tensor:
        probability = self.probability()
        # Every coordinate is now and then swapped and now and then not, whatever β says.
        drawn = probability.detach().clamp(0.1, 0.9)
        uniform = torch.rand(rows, len(drawn), generator=generator, device=drawn.device, dtype=drawn.dtype)
        hard = (uniform < drawn).to(drawn.dtype)
        frequency = torch.where(hard == 1, drawn, 1 - drawn)
        return hard + (probability - probability.detach()) / (2 * frequency)

    def probability(self) -> Tensor:
        """How likely each coordinate is to be swapped."""
        return torch.sigmoid(self.logits)


class GumbelSwaps(nn.Module):
    r"""The paper's swaps $H \sim q_{\text{gumbel}}(\beta)$, drawn per row and coordinate.

    The mask is binary; its gradient is that of the Gumbel-Softmax relaxation at the given temperature
    (straight-through), so that β can climb towards the worst-case swap.
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(features))

    def forward(self, rows: int, *, generator: torch.Generator, temperature: float = 1.0) -> Tensor:
        uniform = torch.rand(
            rows, len(self.logits), generator=generator, device=self.logits.device, dtype=self.logits.dtype
        )
        # The difference of two Gumbel variables is logistic, so two classes need one noise variable.
        noise = torch.logit(uniform, eps=1e-6)
        soft = torch.sigmoid((self.logits + noise) / temperature)
        hard = (soft > 0.5).to(soft.dtype)
        return hard + (soft - soft.detach())

    def probability(self) -> Tensor:
        return torch.sigmoid(self.logits)


Swaps = UniformSwaps | WorstSwaps | GumbelSwaps
SWAPS: dict[str, type[Swaps]] = {"worst": WorstSwaps, "gumbel": GumbelSwaps, "uniform": UniformSwaps}
