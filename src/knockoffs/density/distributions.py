"""Univariate Gaussian mixtures, batched over any leading shape, and the heads that make them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_FAR = 5.0  # standard deviations from which on areas come from their asymptotics


@dataclass(frozen=True, slots=True)
class GaussianMixture:
    r"""Mixtures $q(z) = \sum_k \pi_k \mathcal N(z; \mu_k, \sigma_k^2)$, one per leading index.

    The last axis of each parameter runs over the components; values have the leading shape.
    """

    log_weights: Tensor  # normalised: logsumexp over the last axis is 0
    means: Tensor
    log_scales: Tensor

    def log_prob(self, value: Tensor) -> Tensor:
        return torch.logsumexp(self._log_terms(self._standardise(value)), dim=-1)

    def cdf(self, value: Tensor) -> Tensor:
        weights = self.log_weights.exp()
        return (weights * torch.special.ndtr(self._standardise(value))).sum(-1)

    def pick(self, uniform: Tensor, normal: Tensor) -> Tensor:
        """The draw that belongs to this noise: `uniform` picks the component,
        `normal` the place in it.
        """
        cumulative = self.log_weights.exp().cumsum(-1)[..., :-1]
        component = (uniform.unsqueeze(-1) > cumulative).sum(-1, keepdim=True)
        mean = self.means.gather(-1, component).squeeze(-1)
        scale = self.log_scales.gather(-1, component).squeeze(-1).exp()
        return mean + scale * normal

    def at(self, value: Tensor) -> MixtureAt:
        """The mixture at a value, with the derivatives there."""
        inverse = torch.exp(-self.log_scales)
        t = (value.unsqueeze(-1) - self.means).mul_(inverse)
        log_terms = self._log_terms(t)
        largest = log_terms.amax(-1, keepdim=True)
        parts = log_terms.sub_(largest).exp_()
        total = parts.sum(-1, keepdim=True)
        log_prob = largest.add_(total.log())
        return MixtureAt(self.log_weights, inverse, t, parts.div_(total), log_prob.squeeze(-1))

    def _standardise(self, value: Tensor) -> Tensor:
        return (value.unsqueeze(-1) - self.means) * torch.exp(-self.log_scales)

    def _log_terms(self, standardised: Tensor) -> Tensor:
        return self.log_weights - 0.5 * standardised.square() - self.log_scales - _LOG_SQRT_2PI


@dataclass(frozen=True, slots=True)
class MixtureAt:
    """Mixtures at one value each: what the derivatives there are made of."""

    log_weights: Tensor
    inverse_scales: Tensor
    standardised: Tensor  # the value in units of each component
    responsibilities: Tensor  # of the components for the value; they sum to 1
    log_prob: Tensor

    def of_log_prob(self) -> Derivatives:
        """Derivatives of log q(z) in the parameters;
        that in z is minus the sum of those in the means.
        """
        by_mean = self.responsibilities * self.standardised
        by_log_scale = (by_mean * self.standardised).sub_(self.responsibilities)
        return Derivatives(self.responsibilities, by_mean.mul_(self.inverse_scales), by_log_scale)

    def of_sample(self) -> Derivatives:
        r"""Derivatives of a sample that came to lie here.

        Implicit reparameterisation: with the noise $F(z)$ held fixed,
        $\nabla_\phi z = -\nabla_\phi F(z) / q(z)$.
        """
        t, by_mean = self.standardised, self.responsibilities
        by_log_scale = by_mean * t / self.inverse_scales
        # d z / d log pi_k = -pi_k Phi(t_k) / q; in the lower half Phi, in the upper one Phi - 1,
        # which has the same gradient in a normalised mixture (the weights sum to 1) and does not
        # cancel in the tail.
        lower = (by_mean * t).sum(-1, keepdim=True) < 0
        w = torch.where(lower, t, -t)
        # Far out Phi / phi, which does not underflow, takes the place of Phi.
        near = torch.special.ndtr(w).mul_(torch.exp(self.log_weights - self.log_prob.unsqueeze(-1)))
        far = by_mean / (self.inverse_scales * _inverse_mills_ratio(w))
        area = torch.where(w < -_FAR, far, near)
        return Derivatives(torch.where(lower, -area, area), by_mean, by_log_scale)


def _inverse_mills_ratio(w: Tensor) -> Tensor:
    """phi(w) / Phi(w) for w far below 0, by its continued fraction; a finite number elsewhere."""
    a = w.neg().clamp_(min=_FAR)
    found = a
    for term in range(10, 0, -1):
        found = a + term / found
    return found


class Derivatives(NamedTuple):
    """Derivatives of one number per mixture in the parameters of the mixture."""

    by_log_weight: Tensor
    by_mean: Tensor
    by_log_scale: Tensor


@dataclass(frozen=True, slots=True)
class MixtureHead:
    """Raw outputs `[logits | means | log scales]` to a Gaussian mixture of `components` parts.

    Means and scales come in multiples of a `unit` of each component's own. `smallest_scale`, such a
    multiple too, keeps a component from collapsing onto one value, where the likelihood has no
    bound.
    """

    components: int
    smallest_scale: float

    @property
    def outputs(self) -> int:
        return 3 * self.components

    def __call__(self, raw: Tensor, unit: Tensor) -> GaussianMixture:
        """Raw outputs `[..., outputs, rows]` and units `[..., components,
        1]` to mixtures of `[rows, ...]`.
        """
        logits, means, log_scales = raw.split(self.components, dim=-2)
        parameters = (
            torch.log_softmax(logits, dim=-2),
            means * unit,
            log_scales.clamp(min=math.log(self.smallest_scale)) + unit.log(),
        )
        # Views alone: the memory keeps rows last, which the mixture's sums over components profit
        # from.
        return GaussianMixture(*(parameter.movedim(-1, 0) for parameter in parameters))

    def gradient(self, raw: Tensor, derivatives: Derivatives, unit: Tensor) -> Tensor:
        """Derivatives in the mixtures' parameters to those in the raw outputs, `[..., outputs,
        rows]`.
        """
        by_log_weight, by_mean, by_log_scale = (part.movedim(0, -1) for part in derivatives)
        logits, _, log_scales = raw.split(self.components, dim=-2)
        by_logit = by_log_weight - logits.softmax(-2) * by_log_weight.sum(-2, keepdim=True)
        free = log_scales >= math.log(self.smallest_scale)
        return torch.cat([by_logit, by_mean * unit, by_log_scale * free], dim=-2)
