"""How tensor work runs: in chunks of rows, as CUDA graphs, in several processes.

Processes that share a fit call it with the same rows and the same seed, after
`torch.distributed.init_process_group`; gradients are summed over the processes, so that all have
the same weights after every step: those of one process, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, distributed

_CHUNK_CELLS = 2**18  # rows times columns; a chunk's activations then take some tens of megabytes


@torch.no_grad()
def in_chunks(function: Callable[..., Tensor], *tables: Tensor) -> Tensor:
    """`function` of the tables' rows, some at a time."""
    size = max(1, _CHUNK_CELLS // tables[0].shape[1])
    parts = zip(*(table.split(size) for table in tables), strict=True)
    return torch.cat([function(*part) for part in parts])


# row numbers of a mini-batch and the share that is over, to the loss
Step = Callable[[Tensor, Tensor], Tensor]

_Key = tuple[int, Hashable]  # rows of a batch, variant

_WARM_UP = 3  # plain steps before a capture, as torch asks for


class CapturedStep:
    """A step that is captured after some plain ones and replayed from then on.

    There is a graph for each size of a batch and each value of `variant()`: what a step does
    besides these must not change, and it must not wait for the device. The loss is overwritten by
    the next step.
    """

    def __init__(
        self, step: Step, variant: Callable[[], Hashable], generator: torch.Generator
    ) -> None:
        self._step, self._variant, self._generator = step, variant, generator
        self._side = torch.cuda.Stream(generator.device)
        self._plain: dict[_Key, int] = {}
        self._graphs: dict[_Key, _Graph] = {}

    def __call__(self, batch: Tensor, share: Tensor) -> Tensor:
        key = (len(batch), self._variant())
        if key not in self._graphs:
            done = self._plain.get(key, 0)
            if done < _WARM_UP:
                self._plain[key] = done + 1
                return self._aside(batch, share)
            self._graphs = {k: graph for k, graph in self._graphs.items() if k[1] == key[1]}
            self._graphs[key] = _Graph(self._step, batch, share, self._generator)
        return self._graphs[key](batch, share)

    def _aside(self, batch: Tensor, share: Tensor) -> Tensor:
        """A plain step on another stream than the usual one,
        so that a capture finds nothing pending.
        """
        self._side.wait_stream(torch.cuda.current_stream(self._generator.device))
        with torch.cuda.stream(self._side):
            loss = self._step(batch, share)
        torch.cuda.current_stream(self._generator.device).wait_stream(self._side)
        return loss


class _Graph:
    """One captured step, with places of its own for its inputs."""

    def __init__(
        self, step: Step, batch: Tensor, share: Tensor, generator: torch.Generator
    ) -> None:
        self._batch, self._share = batch.clone(), share.clone()
        self._graph = torch.cuda.CUDAGraph()
        self._graph.register_generator_state(generator)
        with torch.cuda.graph(self._graph):
            self._loss = step(self._batch, self._share)

    def __call__(self, batch: Tensor, share: Tensor) -> Tensor:
        self._batch.copy_(batch)
        self._share.copy_(share)
        self._graph.replay()
        return self._loss


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
