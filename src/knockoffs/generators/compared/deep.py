"""Deep Knockoffs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from knockoffs.density.devices import DeviceName
from knockoffs.density.training import Adam, History, Schedule, train
from knockoffs.generators.compared.neural import NeuralGenerator
from knockoffs.generators.compared.noise_networks import (
    NoiseNetwork,
    correlation_loss,
    kernel_swap_loss,
    second_order_loss,
)
from knockoffs.generators.gaussian import gaussian_memory, knockoff_gaps
from knockoffs.runtime.checks import check_count, check_number, check_widths
from knockoffs.runtime.memory import FLOAT32
from knockoffs.runtime.randomness import RandomState, torch_generator


class DeepKnockoffs(NeuralGenerator):
    """Deep Knockoffs: a network of x and noise, trained to make moments agree.

    The loss is the maximum mean discrepancy between [x, x̃] and its full swap and a random swap (a
    mixture of Gaussian kernels), plus differences of means and covariances under the swap, plus the
    distance of each corr(x_j, x̃_j) from its least possible value (that of SDP knockoffs).

    Parameters
    ----------
    discrepancy : float, default=1.0
        Weight of the maximum mean discrepancy (γ of the paper).
    second_order : float, default=1.0
        Weight of the differences of means and covariances (λ of the paper).
    decorrelation : float, default=0.1
        Weight of the distance from the least possible correlations (δ of the paper).
    hidden : tuple of int or None, default=None
        Widths of the hidden layers; None for one as wide as the table.
    learning_rate : float, default=3e-3
        Step size of the optimiser.
    epochs : int, default=400
        The most passes over the rows.
    batch_size : int, default=2048
        Rows of a mini-batch.
    patience : int, default=60
        Epochs without progress on held-out rows after which training ends.
    averaging : float, default=0.98
        Decay of the running mean of the weights; 0 keeps the last weights.
    validation_fraction : float, default=0.15
        Share of the rows that are held out.
    device : str, torch.device or None, default="auto"
        "cpu", "cuda", "cuda:N" or "auto": CUDA where there is such a device, and the CPU otherwise.
    random_state : int, numpy Generator or None, default=None
        Seed; the same seed gives the same knockoffs on the same machine.
    progress : bool, default=False
        Show progress bars.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import DeepKnockoffs
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = DeepKnockoffs(epochs=1, random_state=0).fit(X)
    >>> model.sample(X).shape
    (60, 3)
    """

    _fewest_held_out = 4  # two halves of two rows

    name = "deep"

    def __init__(
        self,
        *,
        discrepancy: float = 1.0,
        second_order: float = 1.0,
        decorrelation: float = 0.1,
        hidden: tuple[int, ...] | None = None,
        learning_rate: float = 3e-3,
        epochs: int = 400,
        batch_size: int = 2048,
        patience: int = 60,
        averaging: float = 0.98,
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
        self.discrepancy = discrepancy
        self.second_order = second_order
        self.decorrelation = decorrelation
        self.hidden = hidden
        self.patience = patience

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("discrepancy", "second_order", "decorrelation"):
            check_number(name, getattr(self, name), least=0)
        check_count("patience", self.patience)
        check_count("batch_size", self.batch_size, least=5)
        if self.hidden is not None:
            check_widths("hidden", self.hidden)

    def _network(self, features: int, generator: torch.Generator) -> NoiseNetwork:
        hidden = (features,) if self.hidden is None else self.hidden
        return NoiseNetwork(features, features, hidden, nn.PReLU, generator)

    def _fit_memory(self, rows: int, columns: int) -> float:
        batch = min(self.batch_size, rows)
        # six kernels of eight bandwidths each, and their gradients
        kernels = FLOAT32 * 6 * 16 * (batch // 2) ** 2
        covariances = FLOAT32 * 16 * columns**2
        return (
            super()._fit_memory(rows, columns)
            + gaussian_memory(rows, columns)
            + kernels
            + covariances
        )

    def _train(
        self,
        network: NoiseNetwork,
        x: Tensor,
        held_out: Tensor,
        rng: np.random.Generator,
    ) -> list[History]:
        target = self._target_correlation(x)
        generator = torch_generator(rng, x.device)
        optimiser = Adam(network.parameters(), self.learning_rate)

        def step(batch: Tensor, share: Tensor) -> float:
            rows = x[batch]
            noise = torch.randn(len(rows), network.noise, generator=generator, device=x.device)
            loss = self._loss(rows, network(rows, noise), target, _coins(x, generator))
            optimiser.minimise(loss)
            return loss.item()

        kept_noise = torch.randn(len(held_out), network.noise, generator=generator, device=x.device)
        kept_coins = _coins(x, generator)

        @torch.no_grad()
        def validate() -> float:
            return self._loss(held_out, network(held_out, kept_noise), target, kept_coins).item()

        schedule = Schedule(self.epochs, self.batch_size, self.patience, self.averaging)
        return [train(network, "deep knockoffs", len(x), step, validate, schedule, generator)]

    def _loss(self, x: Tensor, x_tilde: Tensor, target: Tensor, coins: Tensor) -> Tensor:
        return (
            self.discrepancy * kernel_swap_loss(x, x_tilde, coins)
            + self.second_order * second_order_loss(x, x_tilde)
            + self.decorrelation * correlation_loss(x, x_tilde, target)
        )

    def _target_correlation(self, x: Tensor) -> Tensor:
        """1 - s_j, the least correlation that a second-order knockoff may have with its feature."""
        covariance = np.atleast_2d(np.cov(x.cpu().double().numpy().T))
        ridge = 1e-3 * np.eye(len(covariance))
        gaps: Any = knockoff_gaps(covariance + ridge, "sdp")
        return torch.as_tensor(1 - np.minimum(gaps, 1)).to(x)


def _coins(x: Tensor, generator: torch.Generator) -> Tensor:
    """One random swap for a whole batch."""
    return (torch.rand(x.shape[1], generator=generator, device=x.device) < 0.5).to(x)
