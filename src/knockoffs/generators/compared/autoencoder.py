"""Auto-Encoding Knockoffs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from knockoffs.density.devices import DeviceName
from knockoffs.density.training import Adam, History, Schedule, train
from knockoffs.generators.compared.neural import NeuralGenerator
from knockoffs.generators.compared.noise_networks import mlp
from knockoffs.runtime.checks import check_count, check_widths
from knockoffs.runtime.randomness import RandomState, torch_generator

LATENT = tuple(range(10, 201, 10))
COARSE = (10, 50, 100, 150, 200)


class AutoEncodingKnockoffs(NeuralGenerator):
    """Auto-Encoding Knockoffs (Liu and Zheng 2018), by the settings of the DDLK paper's appendix.

    A variational auto-encoder with Gaussian posterior and likelihood; x̃ is drawn through both. The
    latent dimension is the one of 10, 20, …, 200 with the best held-out evidence bound, searched
    from coarse to fine in short fits.

    Parameters
    ----------
    latent : int or "auto", default="auto"
        Dimension of the latent variable; "auto" searches for it.
    hidden : tuple of int, default=(400, 500)
        Widths of the hidden layers of each of the four networks.
    search_epochs : int, default=30
        Epochs of each short fit of the search.
    learning_rate : float, default=1e-4
        Step size of the optimiser.
    epochs : int, default=150
        The most passes over the rows.
    batch_size : int, default=64
        Rows of a mini-batch.
    patience : int, default=10
        Epochs without progress on held-out rows after which training ends.
    averaging : float, default=0.0
        Decay of the running mean of the weights; 0 keeps the last weights.
    validation_fraction : float, default=0.15
        Share of the rows that are held out.
    device : str, torch.device or None, default="auto"
        "cpu", "cuda", "cuda:N" or "auto": CUDA where there is such a device, and the CPU otherwise.
    random_state : int, numpy Generator or None, default=None
        Seed; the same seed gives the same knockoffs on the same machine.
    progress : bool, default=False
        Show progress bars.

    Attributes
    ----------
    latent_ : int
        The latent dimension used.
    search_ : list of pairs
        Held-out loss of each latent dimension that was tried.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import AutoEncodingKnockoffs
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = AutoEncodingKnockoffs(latent=2, hidden=(8,), epochs=1, random_state=0).fit(X)
    >>> model.sample(X).shape
    (60, 3)
    """

    _extra_types: ClassVar = {"latent_": int, "search_": list[list[int | float]]}

    name = "auto-encoding"

    def __init__(
        self,
        *,
        latent: int | Literal["auto"] = "auto",
        hidden: tuple[int, ...] = (400, 500),
        learning_rate: float = 1e-4,
        epochs: int = 150,
        search_epochs: int = 30,
        batch_size: int = 64,
        patience: int = 10,
        averaging: float = 0.0,
        validation_fraction: float = 0.15,
        device: DeviceName = "auto",
        random_state: RandomState = None,
        progress: bool = False,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            epochs=epochs,
            batch_size=batch_size,
            averaging=averaging,
            validation_fraction=validation_fraction,
            device=device,
            random_state=random_state,
            progress=progress,
        )
        self.latent = latent
        self.hidden = hidden
        self.search_epochs = search_epochs
        self.patience = patience

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.latent != "auto":
            check_count("latent", self.latent)
        check_widths("hidden", self.hidden)
        check_count("patience", self.patience)
        check_count("search_epochs", self.search_epochs)

    def _network(self, features: int, generator: torch.Generator) -> Autoencoder:
        return Autoencoder(features, self.latent_, self.hidden, generator)

    def _trained_networks(self, columns: int) -> list[Callable[[], nn.Module]]:
        # the largest that may be tried
        latent = LATENT[-1] if self.latent == "auto" else int(self.latent)
        return [partial(Autoencoder, columns, latent, self.hidden, torch.Generator())]

    def _prepare(self, x: Tensor, held_out: Tensor, rng: np.random.Generator) -> None:
        self.search_: list[list[float]] = []
        if self.latent != "auto":
            self.latent_ = int(self.latent)
            return
        seed = int(rng.integers(2**31))
        found: dict[int, float] = {}

        def loss_of(latent: int) -> float:
            if latent not in found:
                # the same for all, so that only the dimension differs
                trial = np.random.default_rng(seed)
                self.latent_ = latent
                network = self._network(x.shape[1], torch_generator(trial, torch.device("cpu"))).to(
                    x.device
                )
                history = self._fit_network(
                    network, x, held_out, trial, self.search_epochs, f"search, {latent} latent"
                )
                found[latent] = history.held_out[history.best_epoch]
            return found[latent]

        best = min(COARSE, key=loss_of)
        for step in (20, 10):
            best = min((k for k in (best - step, best, best + step) if k in LATENT), key=loss_of)
        self.latent_ = best
        self.search_ = [[k, found[k]] for k in sorted(found)]

    def _train(
        self, network: Any, x: Tensor, held_out: Tensor, rng: np.random.Generator
    ) -> list[History]:
        return [self._fit_network(network, x, held_out, rng, self.epochs, "auto-encoder")]

    def _fit_network(
        self,
        network: Autoencoder,
        x: Tensor,
        held_out: Tensor,
        rng: np.random.Generator,
        epochs: int,
        stage: str,
    ) -> History:
        generator = torch_generator(rng, x.device)
        optimiser = Adam(network.parameters(), self.learning_rate)

        def step(batch: Tensor, share: Tensor) -> float:
            noise = torch.randn(len(batch), network.noise, generator=generator, device=x.device)
            loss = network.negative_elbo(x[batch], noise).mean()
            optimiser.minimise(loss)
            return loss.item()

        kept = torch.randn(len(held_out), network.noise, generator=generator, device=x.device)

        @torch.no_grad()
        def validate() -> float:
            return network.negative_elbo(held_out, kept).mean().item()

        schedule = Schedule(epochs, self.batch_size, self.patience, self.averaging)
        return train(network, stage, len(x), step, validate, schedule, generator)


class Autoencoder(nn.Module):
    r"""Posterior $q(z \mid x) = \mathcal N(\mu_z(x), \sigma_z(x)^2)$,
    likelihood $p(x \mid z)$ likewise.
    """

    def __init__(
        self, features: int, latent: int, hidden: Sequence[int], generator: torch.Generator
    ) -> None:
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
        divergence = 0.5 * (mean.square() + (2 * log_deviation).exp() - 1).sum(
            1
        ) - log_deviation.sum(1)
        location, log_scale = self.x_mean(z), _bounded(self.x_log_deviation(z))
        error = (
            0.5 * ((x - location) * (-log_scale).exp()).square()
            + log_scale
            + 0.5 * math.log(2 * math.pi)
        )
        return error.sum(1) + divergence


def _bounded(log_deviation: Tensor) -> Tensor:
    """Rows far from the data would overflow; standardised data are far from these bounds."""
    return log_deviation.clamp(-10, 10)
