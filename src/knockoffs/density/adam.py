"""Adam without its class: `torch.optim.Adam` imports torch's compiler, two seconds that no fit profits from."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    """Steps of Adam on some weights, all with the same learning rate; `maximize` climbs instead."""

    def __init__(
        self,
        weights: Iterable[Tensor],
        learning_rate: float,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        maximize: bool = False,
    ) -> None:
        self._weights = list(weights)
        self._learning_rate, self._betas, self._maximize = learning_rate, betas, maximize
        self._mean = [torch.zeros_like(w) for w in self._weights]
        self._square = [torch.zeros_like(w) for w in self._weights]
        self._steps = [torch.zeros((), device=w.device) for w in self._weights]

    def zero_grad(self) -> None:
        for weight in self._weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        used = [k for k, weight in enumerate(self._weights) if weight.grad is not None]
        if not used:
            return
        weights, mean, square, steps = (
            [values[k] for k in used] for values in (self._weights, self._mean, self._square, self._steps)
        )
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        adam(
            weights,
            gradients,
            mean,
            square,
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=self._betas[0],
            beta2=self._betas[1],
            lr=self._learning_rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=self._maximize,
        )
