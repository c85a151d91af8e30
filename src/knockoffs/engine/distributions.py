"""Univariate Gaussian mixtures, batched over any leading shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


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
        """The draw that belongs to this noise: `uniform` picks the component, `normal` the place in it."""
        cumulative = self.log_weights.exp().cumsum(-1)[..., :-1]
        component = (uniform.unsqueeze(-1) > cumulative).sum(-1, keepdim=True)
        mean = self.means.gather(-1, component).squeeze(-1)
        scale = self.log_scales.gather(-1, component).squeeze(-1).exp()
        return mean + scale * normal

    def reparameterise(self, value: Tensor) -> Tensor:
        r"""A tensor whose gradient is that of a sample at `value` in the mixture's parameters.

        Implicit reparameterisation: with the noise $F(z)$ held fixed,
        $\nabla_\phi z = -\nabla_\phi F(z) / q(z)$. The three derivatives have a closed form, so the
        result is simply linear in the parameters, with these derivatives as constant coefficients.
        Its value is meaningless; only its gradient is of use.
        """
        with torch.no_grad():
            by_logit, by_mean, by_log_scale = self._sample_derivatives(value)
        return (by_logit * self.log_weights + by_mean * self.means + by_log_scale * self.log_scales).sum(-1)

    def _standardise(self, value: Tensor) -> Tensor:
        return (value.unsqueeze(-1) - self.means) * torch.exp(-self.log_scales)

    def _log_terms(self, standardised: Tensor) -> Tensor:
        return self.log_weights - 0.5 * standardised.square() - self.log_scales - _LOG_SQRT_2PI

    def _sample_derivatives(self, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        t = self._standardise(value)
        log_terms = self._log_terms(t)
        log_q = torch.logsumexp(log_terms, dim=-1, keepdim=True)
        by_mean = torch.exp(log_terms - log_q)
        by_log_scale = by_mean * t * self.log_scales.exp()
        # d z / d log pi_k = -pi_k Phi(t_k) / q; below the median Phi, above it Phi - 1, which has the
        # same gradient in a normalised mixture (the weights sum to 1) and does not cancel in the tail.
        lower = (self.cdf(value) < 0.5).unsqueeze(-1)
        log_area = torch.special.log_ndtr(torch.where(lower, t, -t))
        area = torch.exp(self.log_weights + log_area - log_q)
        by_logit = torch.where(lower, -area, area)
        return by_logit, by_mean, by_log_scale
