"""A variational auto-encoder whose reconstructions are knockoffs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from knockoffs.generators.compared.noise_networks import mlp


class Autoencoder(nn.Module):
    r"""Posterior $q(z \mid x) = \mathcal N(\mu_z(x), \sigma_z(x)^2)$, likelihood $p(x \mid z)$ likewise."""

    def __init__(self, features: int, latent: int, hidden: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.latent = latent
        self.noise = latent + features
        encoder, decoder = [features, *hidden, latent], [latent, *hidden, features]
        self.z_mean, self.z_log_deviation = (mlp(encoder, nn.ReLU, generator) for _ in range(2))
        self.x_mean, self.x_log_deviation = (mlp(decoder, nn.ReLU, generator) for _ in range(2))

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """x̃: z from the posterior given x, then a row from the likelihood given z."""
        z = self.z_mean(x) + _bounded(self.z_log_deviation(x)).exp() * noise[:, : self.latent]
        return self.x_mean(z) + _bounded(self.x_log_deviation(z)).exp() * noise[:, self.latent :]

    def negative_elbo(self, x: Tensor, noise: Tensor) -> Tensor:
        """Minus the evidence lower bound of each row, with one draw of z."""
        mean, log_deviation = self.z_mean(x), _bounded(self.z_log_deviation(x))
        z = mean + log_deviation.exp() * noise[:, : self.latent]
        divergence = 0.5 * (mean.square() + (2 * log_deviation).exp() - 1).sum(1) - log_deviation.sum(1)
        location, log_scale = self.x_mean(z), _bounded(self.x_log_deviation(z))
        error = 0.5 * ((x - location) * (-log_scale).exp()).square() + log_scale + 0.5 * math.log(2 * math.pi)
        return error.sum(1) + divergence


def _bounded(log_deviation: Tensor) -> Tensor:
    """Rows far from the data would overflow; standardised data are far from these bounds."""
    return log_deviation.clamp(-10, 10)
