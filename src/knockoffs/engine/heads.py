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

    `smallest_scale` keeps a component from collapsing onto one value, where the likelihood has no bound.
    """

    components: int
    smallest_scale: float = 1e-3

    @property
    def outputs(self) -> int:
        return 3 * self.components

    def __call__(self, raw: Tensor) -> GaussianMixture:
        logits, means, log_scales = raw.split(self.components, dim=-1)
        return GaussianMixture(
            torch.log_softmax(logits, dim=-1),
            means,
            log_scales.clamp(min=math.log(self.smallest_scale)),
        )
