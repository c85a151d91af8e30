"""Heads: from the raw numbers a network puts out for a column to that column's distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from knockoffs.density.distributions import Derivatives, GaussianMixture


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

    def gradient(self, raw: Tensor, derivatives: Derivatives, unit: Tensor) -> Tensor:
        """Derivatives in the mixtures' parameters to those in the raw outputs, `[..., outputs, rows]`."""
        by_log_weight, by_mean, by_log_scale = (part.movedim(0, -1) for part in derivatives)
        logits, _, log_scales = raw.split(self.components, dim=-2)
        by_logit = by_log_weight - logits.softmax(-2) * by_log_weight.sum(-2, keepdim=True)
        free = log_scales >= math.log(self.smallest_scale)
        return torch.cat([by_logit, by_mean * unit, by_log_scale * free], dim=-2)
