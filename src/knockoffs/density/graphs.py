"""Steps of training as CUDA graphs: one launch for a whole step instead of hundreds, which bind small models."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import torch
from torch import Tensor

Step = Callable[[Tensor, Tensor], Tensor]  # row numbers of a mini-batch and the share that is over, to the loss

_Key = tuple[int, Hashable]  # rows of a batch, variant

_WARM_UP = 3  # plain steps before a capture, as torch asks for


class CapturedStep:
    """A step that is captured after some plain ones and replayed from then on.

    There is a graph for each size of a batch and each value of `variant()`: what a step does besides these must
    not change, and it must not wait for the device. The loss is overwritten by the next step.
    """

    def __init__(self, step: Step, variant: Callable[[], Hashable], generator: torch.Generator) -> None:
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
        """A plain step on another stream than the usual one, so that a capture finds nothing pending."""
        self._side.wait_stream(torch.cuda.current_stream(self._generator.device))
        with torch.cuda.stream(self._side):
            loss = self._step(batch, share)
        torch.cuda.current_stream(self._generator.device).wait_stream(self._side)
        return loss


class _Graph:
    """One captured step, with places of its own for its inputs."""

    def __init__(self, step: Step, batch: Tensor, share: Tensor, generator: torch.Generator) -> None:
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
