"""Several processes that fit one model together: each takes its part of every mini-batch.

All of them call `fit` with the same rows and the same seed after `torch.distributed.init_process_group`; gradients
are summed over the processes, so that all have the same weights after every step: those of one process, up to
rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, distributed


class World(NamedTuple):
    """The number of this process, and how many there are."""

    rank: int
    size: int

    @classmethod
    def current(cls) -> World:
        if distributed.is_available() and distributed.is_initialized():
            return cls(distributed.get_rank(), distributed.get_world_size())
        return cls(0, 1)

    def part(self, rows: int) -> slice:
        """The rows of a mini-batch that belong to this process."""
        return slice(self.rank * rows // self.size, (self.rank + 1) * rows // self.size)

    @torch.no_grad()
    def sum(self, values: Iterable[Tensor | None]) -> None:
        """Replace the values of this process by their sums over all processes."""
        if self.size > 1:
            for value in values:
                if value is not None:
                    distributed.all_reduce(value)

    def sum_gradients(self, weights: Iterable[Tensor]) -> None:
        self.sum(weight.grad for weight in weights)
