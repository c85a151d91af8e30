"""Heads: from the raw numbers a network puts out for a column to that column's distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from knockoffs.engine.distributions import GaussianMixture


@dataclass(frozen=True, slots=True)
class MixtureHead:
    """Raw outputs `[logits | means | log scales]` to a Gaussian mixture of `components` parts.

    Means and scales come in multiples of a `unit` of each component's own. `smallest_scale`, such a multiple too,
    keeps a component from collapsing onto one value, where the likelihood has no bound.
    """

    components: int
    smallest_scale: float

    @property
    def outputs(self) -> int:
        return 3 * self.components

    def __call__(self, raw: Tensor, unit: Tensor) -> GaussianMixture:
        """Raw outputs `[..., outputs, rows]` and units `[..., components, 1]` to mixtures of `[rows, ...]`."""
        logits, means, log_scales = raw.split(self.components, dim=-2)
        parameters = (
            torch.log_softmax(logits, dim=-2),
            means * unit,
            log_scales.clamp(min=math.log(self.smallest_scale)) + unit.log(),
        )
        # Views alone: the memory keeps rows last, which the mixture's sums over components profit from.
        return GaussianMixture(*(parameter.movedim(-1, 0) for parameter in parameters))

    def pick(self, raw: Tensor, unit: Tensor, uniform: Tensor, normal: Tensor, *, out: Tensor) -> None:
        """Write one column's draws from raw outputs `[outputs, rows]`: `__call__` and `pick` in fewer steps."""
        count = self.components
        component = (uniform > raw[:count].softmax(0).cumsum_(0)[:-1]).sum(0, keepdim=True)
        own = unit.gather(0, component)
        mean = raw[count : 2 * count].gather(0, component).mul_(own)
        scale = raw[2 * count :].gather(0, component).clamp_(min=math.log(self.smallest_scale)).exp_().mul_(own)
        torch.addcmul(mean[0], scale[0], normal, out=out)
