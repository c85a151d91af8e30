"""d small networks as one: stacked weights, evaluated by batched matrix products.

Activations lie as `[networks, units, rows]`, rows last: products with few units and many rows, and
sums over a few units, then run along contiguous memory, several times faster on a CPU than with
units last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class StackedLinear(nn.Module):
    """`count` linear layers side by side, from `[count, fan_in, rows]` to `[count, fan_out,
    rows]`.
    """

    def __init__(
        self, count: int, fan_in: int, fan_out: int, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        bound = 1 / math.sqrt(fan_in)
        shape = (count, fan_out, fan_in)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(
            torch.empty(count, fan_out, 1).uniform_(-bound, bound, generator=generator)
        )

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, self.weight, inputs)

    def some(self, inputs: Tensor, networks: Tensor) -> Tensor:
        """The outputs of some of the layers, by their numbers, for inputs of these alone."""
        return torch.baddbmm(self.bias[networks], self.weight[networks], inputs)


class StackedMLP(nn.Module):
    """`count` networks from the first hidden layer's pre-activations on.

    The layer before them is the density's business, since it mixes all columns.
    """

    def __init__(
        self, count: int, hidden: Sequence[int], outputs: int, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        widths = [*hidden, outputs]
        self.layers = [
            StackedLinear(count, fan_in, fan_out, generator=generator)
            for fan_in, fan_out in pairwise(widths)
        ]
        for number, layer in enumerate(self.layers):
            self.add_module(str(number), layer)

    def forward(self, first: Tensor) -> Tensor:
        out = first
        for layer in self.layers:
            out = layer(torch.relu(out))
        return out
