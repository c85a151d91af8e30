"""Networks from x and noise to x̃."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


def dense(fan_in: int, fan_out: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer whose weights come from `generator`, not from the global one."""
    with torch.device("meta"):  # made without its weights, which would come from the global generator
        layer = nn.Linear(fan_in, fan_out)
    bound = 1 / math.sqrt(fan_in)
    layer.weight = nn.Parameter(torch.empty(fan_out, fan_in).uniform_(-bound, bound, generator=generator))
    layer.bias = nn.Parameter(torch.empty(fan_out).uniform_(-bound, bound, generator=generator))
    return layer


def mlp(widths: Sequence[int], activation: type[nn.Module], generator: torch.Generator) -> nn.Sequential:
    """Linear layers of these widths with the activation between them."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layers += [dense(fan_in, fan_out, generator), activation()]
    return nn.Sequential(*layers[:-1])


class NoiseNetwork(nn.Module):
    """x̃ = f(x, noise), with `noise` normal numbers per row."""

    def __init__(
        self,
        features: int,
        noise: int,
        hidden: Sequence[int],
        activation: type[nn.Module],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.noise = noise
        self.body = mlp([features + noise, *hidden, features], activation, generator)
        self.skip = dense(features + noise, features, generator)

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        inputs = torch.cat([x, noise], dim=1)
        return self.skip(inputs) + self.body(inputs)
