"""d small networks as one: stacked weights, evaluated by batched matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

EVERY = slice(None)


class StackedLinear(nn.Module):
    """`count` linear layers side by side: inputs `[count, rows, fan_in]`, weights `[count, fan_in, fan_out]`."""

    def __init__(self, count: int, fan_in: int, fan_out: int, *, generator: torch.Generator) -> None:
        super().__init__()
        bound = 1 / math.sqrt(fan_in)
        shape = (count, fan_in, fan_out)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(torch.empty(count, 1, fan_out).uniform_(-bound, bound, generator=generator))

    def forward(self, inputs: Tensor, columns: slice = EVERY) -> Tensor:
        return torch.baddbmm(self.bias[columns], inputs, self.weight[columns])


class StackedMLP(nn.Module):
    """`count` networks from the first hidden layer's pre-activations on.

    The layer before them is the density's business, since it mixes all columns.
    """

    def __init__(self, count: int, hidden: Sequence[int], outputs: int, *, generator: torch.Generator) -> None:
        super().__init__()
        widths = [*hidden, outputs]
        self.layers = [
            StackedLinear(count, fan_in, fan_out, generator=generator) for fan_in, fan_out in pairwise(widths)
        ]
        for number, layer in enumerate(self.layers):
            self.add_module(str(number), layer)

    def forward(self, first: Tensor, columns: slice = EVERY) -> Tensor:
        activation = torch.relu(first)
        for layer in self.layers[:-1]:
            activation = torch.relu(layer(activation, columns))
        return self.layers[-1](activation, columns)
