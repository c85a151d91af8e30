"""KnockoffGAN."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from knockoffs.density.devices import DeviceName
from knockoffs.density.nn import StackedLinear, StackedMLP
from knockoffs.density.swaps import swap
from knockoffs.density.training import Adam, History, Schedule, train
from knockoffs.generators.compared.neural import NeuralGenerator
from knockoffs.generators.compared.noise_networks import NoiseNetwork, kernel_swap_loss, mlp
from knockoffs.runtime.checks import check_count, check_number
from knockoffs.runtime.randomness import RandomState, torch_generator


class KnockoffGAN(NeuralGenerator):
    """KnockoffGAN (Jordon, Yoon and van der Schaar 2019): a generator against three opponents.

    A discriminator guesses which coordinates of [x, x̃] were swapped, with a hint; a Wasserstein
    critic distinguishes the distribution of x̃ from that of x; and d small networks measure how
    much x̃_j says about x_j, which the generator lowers for power. The last weights are kept (their
    running mean); `history_` holds how visible swaps are on held-out rows, by maximum mean
    discrepancy.

    Parameters
    ----------
    marginal : float, default=1.0
        Weight of the critic (λ of the paper).
    decorrelation : float, default=0.3
        Weight of the dependence between x_j and x̃_j (μ of the paper).
    hidden : int or None, default=None
        Width of the two hidden layers of every network; None for the number of columns, at least
        64.
    hint : float, default=0.5
        Share of coordinates whose swap the discriminator is told.
    opponent_steps : int, default=2
        Steps of the opponents for each step of the generator.
    learning_rate : float, default=3e-3
        Step size of the optimiser.
    epochs : int, default=150
        The most passes over the rows.
    batch_size : int, default=128
        Rows of a mini-batch.
    averaging : float, default=0.99
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
    >>> from knockoffs import KnockoffGAN
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = KnockoffGAN(hidden=8, epochs=1, random_state=0).fit(X)
    >>> model.sample(X).shape
    (60, 3)
    """

    _fewest_held_out = 4  # two halves of two rows

    name = "gan"

    def __init__(
        self,
        *,
        marginal: float = 1.0,
        decorrelation: float = 0.3,
        hidden: int | None = None,
        hint: float = 0.5,
        opponent_steps: int = 2,
        learning_rate: float = 3e-3,
        epochs: int = 150,
        batch_size: int = 128,
        averaging: float = 0.99,
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
        self.marginal = marginal
        self.decorrelation = decorrelation
        self.hidden = hidden
        self.hint = hint
        self.opponent_steps = opponent_steps

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("marginal", self.marginal, least=0)
        check_number("decorrelation", self.decorrelation, least=0)
        check_number("hint", self.hint, least=0, below=1)
        check_count("opponent_steps", self.opponent_steps)
        if self.hidden is not None:
            check_count("hidden", self.hidden)

    def _width(self, features: int) -> int:
        return max(64, features) if self.hidden is None else self.hidden

    def _network(self, features: int, generator: torch.Generator) -> NoiseNetwork:
        width = self._width(features)
        return NoiseNetwork(features, features, (width, width), nn.Tanh, generator)

    def _opponents(
        self, features: int, generator: torch.Generator
    ) -> tuple[SwapDiscriminator, Critic, DependenceBounds]:
        width = self._width(features)
        return (
            SwapDiscriminator(features, width, generator),
            Critic(features, width, generator),
            DependenceBounds(features, 10, generator),
        )

    def _trained_networks(self, columns: int) -> list[Callable[[], nn.Module]]:
        opponents = partial(self._opponents, columns, torch.Generator())
        return [*super()._trained_networks(columns), lambda: nn.ModuleList(opponents())]

    def _train(
        self, network: NoiseNetwork, x: Tensor, held_out: Tensor, rng: np.random.Generator
    ) -> list[History]:
        features = x.shape[1]
        start, generator = torch_generator(rng, torch.device("cpu")), torch_generator(rng, x.device)
        discriminator, critic, bounds = self._opponents(features, start)
        for opponent in (discriminator, critic, bounds):
            opponent.to(x.device)
        opponents = [*discriminator.parameters(), *critic.parameters(), *bounds.parameters()]
        optimiser = Adam(network.parameters(), self.learning_rate, betas=(0.5, 0.9))
        opponents_optimiser = Adam(opponents, self.learning_rate, betas=(0.5, 0.9))

        def uniform(*shape: int) -> Tensor:
            return torch.rand(shape, generator=generator, device=x.device)

        def draw(rows: Tensor) -> Tensor:
            return network(rows, torch.randn(rows.shape, generator=generator, device=x.device))

        def swap_is_seen(rows: Tensor, x_tilde: Tensor) -> Tensor:
            swapped = (uniform(*rows.shape) < 0.5).to(x)
            told = (uniform(*rows.shape) < self.hint).to(x)
            return discriminator.loss(*swap(rows, x_tilde, swapped), swapped, told)

        def dependence(rows: Tensor, x_tilde: Tensor) -> Tensor:
            order = torch.randperm(len(rows), generator=generator, device=x.device)
            return bounds(rows, x_tilde, order)

        def step(batch: Tensor, share: Tensor) -> float:
            rows = x[batch]
            for _ in range(self.opponent_steps):
                with torch.no_grad():
                    x_tilde = draw(rows)
                loss = (
                    swap_is_seen(rows, x_tilde)
                    + critic.loss(rows, x_tilde, generator)
                    - dependence(rows, x_tilde)
                )
                opponents_optimiser.minimise(loss)
            x_tilde = draw(rows)
            loss = (
                -swap_is_seen(rows, x_tilde)
                - self.marginal * critic(x_tilde)
                + self.decorrelation * dependence(rows, x_tilde)
            )
            optimiser.minimise(loss)
            return loss.item()

        kept = torch.randn(held_out.shape, generator=generator, device=x.device)
        kept_coins = (uniform(features) < 0.5).to(x)

        @torch.no_grad()
        def validate() -> float:
            return kernel_swap_loss(held_out, network(held_out, kept), kept_coins).item()

        schedule = Schedule(
            self.epochs, self.batch_size, self.epochs, self.averaging, keep_last=True
        )
        return [train(network, "adversarial", len(x), step, validate, schedule, generator)]


GRADIENT_PENALTY = 10.0


class SwapDiscriminator(nn.Module):
    """Tells of [u, ũ] which coordinates were swapped,
    given the truth for some of them as a hint.
    """

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.body = mlp([3 * features, hidden, hidden, features], nn.Tanh, generator)

    def loss(self, u: Tensor, u_tilde: Tensor, swapped: Tensor, told: Tensor) -> Tensor:
        """Cross-entropy over the coordinates that the hint leaves open."""
        hint = told * swapped + 0.5 * (1 - told)
        logits = self.body(torch.cat([u, u_tilde, hint], 1))
        losses = functional.binary_cross_entropy_with_logits(logits, swapped, reduction="none")
        return ((1 - told) * losses).sum(1).mean()


class Critic(nn.Module):
    """Wasserstein critic of the distribution of x̃ against that of x, with a gradient penalty."""

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.body = mlp([features, hidden, hidden, 1], nn.Tanh, generator)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x).mean()

    def loss(self, x: Tensor, x_tilde: Tensor, generator: torch.Generator) -> Tensor:
        share = torch.rand(len(x), 1, generator=generator, device=x.device)
        between = (share * x + (1 - share) * x_tilde).requires_grad_()
        (gradient,) = torch.autograd.grad(self.body(between).sum(), between, create_graph=True)
        penalty = (gradient.norm(dim=1) - 1).square().mean()
        return self(x_tilde) - self(x) + GRADIENT_PENALTY * penalty


class DependenceBounds(nn.Module):
    """d small networks, each a lower bound on the mutual information of x_j and x̃_j (Belghazi et
    al. 2018).
    """

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = StackedLinear(features, 2, hidden, generator=generator)
        self.rest = StackedMLP(features, [hidden], 1, generator=generator)

    def forward(self, x: Tensor, x_tilde: Tensor, order: Tensor) -> Tensor:
        """The sum of the bounds; `order` shuffles x against x̃."""
        together = self._scores(x, x_tilde).mean(1)
        apart = torch.logsumexp(self._scores(x[order], x_tilde), dim=1) - math.log(len(x))
        return (together - apart).sum()

    def _scores(self, x: Tensor, x_tilde: Tensor) -> Tensor:
        pairs = torch.stack([x.T, x_tilde.T], dim=1)  # [d, 2, rows]
        return self.rest(self.first(pairs))[:, 0]
