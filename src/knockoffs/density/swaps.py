"""Swaps of coordinates between x and x̃, and three ways to choose which."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def swap(x: Tensor, x_tilde: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """[u, ũ] = [x, x̃] with the coordinates where `mask` is 1 exchanged;
    differentiable in all three.
    """
    difference = mask * (x_tilde - x)
    return x + difference, x_tilde - difference


class _UnitSwaps(nn.Module):
    """Swaps of units: columns that are always swapped together.
    An int stands for units of one column each.
    """

    unit: Tensor

    def __init__(self, unit: Tensor | int) -> None:
        super().__init__()
        unit = torch.arange(unit) if isinstance(unit, int) else unit
        self.register_buffer("unit", unit, persistent=False)
        self.features = int(unit.max()) + 1


class UniformSwaps(_UnitSwaps):
    """Each unit of each row is swapped by the toss of a fair coin (the ablation of the paper)."""

    def forward(
        self, rows: int, *, generator: torch.Generator, temperature: Tensor | float = 1.0
    ) -> Tensor:
        coins = torch.rand(rows, self.features, generator=generator, device=generator.device)
        return (coins < 0.5).to(torch.get_default_dtype())[:, self.unit]

    def probability(self) -> Tensor:
        return torch.full((self.features,), 0.5)


class _LearnedSwaps(_UnitSwaps):
    r"""Swaps that take each unit with a probability of its own, $p_j = \sigma(\beta_j)$."""

    def __init__(self, unit: Tensor | int) -> None:
        super().__init__(unit)
        self.logits = nn.Parameter(torch.zeros(self.features))

    def probability(self) -> Tensor:
        return torch.sigmoid(self.logits)


class WorstSwaps(_LearnedSwaps):
    r"""Swaps drawn with probability $p_j = \sigma(\beta_j)$,
    β climbing towards the worst-case swap.

    The gradient in β is that of the loss along the mask, in equal parts from where the coordinate
    was swapped and where it was not. Their mean is the difference between the two losses up to
    third order, whereas the plain straight-through gradient (`GumbelSwaps`) weighs the two ends by
    how often they occur: a coordinate with exact knockoffs, for which they cancel, then runs off to
    "always" or "never".
    """

    def forward(
        self, rows: int, *, generator: torch.Generator, temperature: Tensor | float = 1.0
    ) -> Tensor:
        probability = self.probability()
        # Every coordinate is now and then swapped and now and then not, whatever β says.
        drawn = probability.detach().clamp(0.1, 0.9)
        uniform = torch.rand(
            rows, len(drawn), generator=generator, device=drawn.device, dtype=drawn.dtype
        )
        hard = (uniform < drawn).to(drawn.dtype)
        frequency = torch.where(hard == 1, drawn, 1 - drawn)
        return (hard + (probability - probability.detach()) / (2 * frequency))[:, self.unit]


class GumbelSwaps(_LearnedSwaps):
    r"""The paper's swaps $H \sim q_{\text{gumbel}}(\beta)$, drawn per row and coordinate.

    The mask is binary; its gradient is that of the Gumbel-Softmax relaxation at the given
    temperature (straight-through), so that β can climb towards the worst-case swap.
    """

    def forward(
        self, rows: int, *, generator: torch.Generator, temperature: Tensor | float = 1.0
    ) -> Tensor:
        uniform = torch.rand(
            rows,
            len(self.logits),
            generator=generator,
            device=self.logits.device,
            dtype=self.logits.dtype,
        )
        # The difference of two Gumbel variables is logistic, so two classes need one noise
        # variable.
        noise = torch.logit(uniform, eps=1e-6)
        soft = torch.sigmoid((self.logits + noise) / temperature)
        hard = (soft > 0.5).to(soft.dtype)
        return (hard + (soft - soft.detach()))[:, self.unit]


Swaps = UniformSwaps | WorstSwaps | GumbelSwaps
SWAPS: dict[str, type[Swaps]] = {
    "worst": WorstSwaps,
    "gumbel": GumbelSwaps,
    "uniform": UniformSwaps,
}
