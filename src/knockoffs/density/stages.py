"""The two stages of DDLK and their losses: likelihood,
then swap divergence with an entropy term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from knockoffs.density.density import AutoregressiveDensity, Noise
from knockoffs.density.hardware import World, in_chunks
from knockoffs.density.starts import network_weights
from knockoffs.density.swaps import Swaps, UniformSwaps, swap
from knockoffs.density.training import SMALLEST_GAIN, Adam, History, Schedule, train


def negative_log_likelihood(q_joint: AutoregressiveDensity, x: Tensor) -> Tensor:
    r"""$-\log \hat q_\text{joint}(x)$ per row."""
    return -q_joint.log_prob(x)


def swap_loss(
    q_joint: AutoregressiveDensity,
    q_knockoff: AutoregressiveDensity,
    x: Tensor,
    x_tilde: Tensor,
    mask: Tensor,
    entropy: float = 0.0,
    *,
    joint: Tensor | None = None,
    knockoff: Tensor | None = None,
) -> Tensor:
    r"""The integrand of the DDLK objective, per row, for the swap H that `mask` stands for.

    $\log \frac{\hat q_\text{joint}(x)\, \hat q_\text{knockoff}(\tilde x \mid x)^{1+\lambda}} {\hat
    q_\text{joint}(u)\, \hat q_\text{knockoff}(\tilde u \mid u)}$ with $[u, \tilde u] = [x, \tilde
    x]_{\text{swap}(H)}$ and λ = `entropy`. With λ = 0 its mean over draws is the Kullback-Leibler
    divergence implied by the swap property: 0 for exact knockoffs. `joint` and `knockoff` are $\log
    \hat q_\text{joint}(x)$ and $\log \hat q_\text{knockoff}(\tilde x \mid x)$ where they are known
    already.
    """
    u, u_tilde = swap(x, x_tilde, mask)
    joint = q_joint.log_prob(x) if joint is None else joint
    knockoff = q_knockoff.log_prob(x_tilde, x) if knockoff is None else knockoff
    swapped_joint, swapped_knockoff = q_joint.log_prob(u), q_knockoff.log_prob(u_tilde, u)
    return joint + (1 + entropy) * knockoff - swapped_joint - swapped_knockoff


# Projections that begin at good linear predictors move more slowly than the networks behind them.
_PROJECTION_RATE = 0.3
_GAIN_PER_COLUMN = 1e-4  # nats
JOINT = "q_joint"  # how the names of stage 1's phases begin
# of draws while q_knockoff learns, on a scale where columns have standard deviation 1
_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Phase:
    """One run of training; in a shared phase all columns' networks learn as one,
    projections held fixed.
    """

    name: str
    shared: bool
    learning_rate: float
    schedule: Schedule
    follows_gains: bool = False  # only where something was gained before it


def smallest_gain(columns: int) -> float:
    """Return how many nats per row are worth an epoch: those of many columns add up,
    which helps none of them.
    """
    return max(SMALLEST_GAIN, _GAIN_PER_COLUMN * columns)


def fit_joint(
    q_joint: AutoregressiveDensity,
    x: Tensor,
    held_out: Tensor,
    *,
    phases: Sequence[Phase],
    generator: torch.Generator,
) -> list[History]:
    r"""Stage 1: $\theta = \arg\max_\theta \frac1N \sum_i \log \hat q_\text{joint}(x^{(i)};
    \theta)$.
    """
    world, histories = World.current(), []
    for phase in phases:
        optimiser = _optimiser(q_joint, phase, world)

        def step(batch: Tensor, share: Tensor, optimiser: _Optimiser = optimiser) -> Tensor:
            loss = negative_log_likelihood(q_joint, x[batch[world.part(len(batch))]]).sum() / len(
                batch
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            return _over_all(loss, world)

        def validate() -> Tensor:
            return in_chunks(lambda rows: negative_log_likelihood(q_joint, rows), held_out)

        stage = f"{JOINT} ({phase.name})"
        histories.append(
            train(
                q_joint,
                stage,
                len(x),
                step,
                validate,
                phase.schedule,
                generator,
                variant=lambda: None,
                gained=sum(history.gain for history in histories),
                smallest_gain=smallest_gain(x.shape[1]),
            )
        )
    return histories


def fit_knockoff(
    q_joint: AutoregressiveDensity,
    q_knockoff: AutoregressiveDensity,
    swaps: Swaps,
    x: Tensor,
    held_out: Tensor,
    *,
    entropy: float,
    swap_learning_rate: float,
    phases: Sequence[Phase],
    generator: torch.Generator,
    before: Sequence[History] = (),
) -> list[History]:
    r"""Stage 2: $\min_\phi \max_\beta$ of the swap loss (`losses.swap_loss`), q_joint held fixed.

    Where neither the phases `before` this stage nor a shared phase of it have gained anything, own
    networks, of which each has but one column to learn from, are left as they are.
    """
    q_joint.requires_grad_(False)
    joint = in_chunks(q_joint.log_prob, x)  # does not change while q_knockoff learns
    held_out_noise, held_out_mask = _fixed_noise_and_swap(held_out, swaps.unit, generator)
    world, smallest, histories = World.current(), smallest_gain(x.shape[1]), []
    for phase in phases:
        if phase.follows_gains and all(
            history.gain <= smallest for history in (*before, *histories)
        ):
            continue
        optimiser = _optimiser(q_knockoff, phase, world)
        adversary = Adam(swaps.parameters(), swap_learning_rate, maximize=True)

        def step(
            batch: Tensor,
            share: Tensor,
            optimiser: _Optimiser = optimiser,
            adversary: Adam = adversary,
        ) -> Tensor:
            # noise is drawn for all rows: the same for any number of processes
            own = world.part(len(batch))
            rows = x[batch[own]]
            noise = Noise.draw(len(batch), x.shape[1], generator=generator, dtype=x.dtype)
            mask = swaps(len(batch), generator=generator, temperature=_temperature(share))[own]
            x_tilde, knockoff = q_knockoff.rsample_with_log_prob(
                Noise(noise.uniform[own], noise.normal[own]), rows
            )
            losses = swap_loss(
                q_joint,
                q_knockoff,
                rows,
                x_tilde,
                mask,
                entropy,
                joint=joint[batch[own]],
                knockoff=knockoff,
            )
            loss = losses.sum() / len(batch)
            optimiser.zero_grad()
            adversary.zero_grad()
            loss.backward()
            optimiser.step()  # min over φ
            world.sum_gradients(swaps.parameters())
            adversary.step()  # max over β
            return _over_all(loss, world)

        def held_out_losses(rows: Tensor, mask: Tensor, *noise: Tensor) -> Tensor:
            x_tilde = q_knockoff.sample(Noise(*noise), rows, tolerance=_TOLERANCE)
            return swap_loss(q_joint, q_knockoff, rows, x_tilde, mask, entropy)

        def validate(losses: Callable[..., Tensor] = held_out_losses) -> Tensor:
            return in_chunks(losses, held_out, held_out_mask, *held_out_noise)

        stage = f"q_knockoff ({phase.name})"
        histories.append(
            train(
                q_knockoff,
                stage,
                len(x),
                step,
                validate,
                phase.schedule,
                generator,
                variant=lambda: q_knockoff.rounds,
                gained=sum(history.gain for history in histories),
                smallest_gain=smallest,
            )
        )
    return histories


class _SharedNetwork:
    """Adam on one network for all columns, projections held fixed.

    One network learned from all columns has d times the data, which finds what they have in common
    (curvature, skew, changing spread) without fitting the noise of each.
    """

    def __init__(self, density: AutoregressiveDensity, learning_rate: float, world: World) -> None:
        self._world, self._copies = world, network_weights(density)
        self._weights = [weight.detach()[:1].clone() for weight in self._copies]
        self._adam = Adam(self._weights, learning_rate)

    def zero_grad(self) -> None:
        for copies in self._copies:
            copies.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for weight, copies in zip(self._weights, self._copies, strict=True):
            weight.grad = None if copies.grad is None else copies.grad.mean(0, keepdim=True)
        self._world.sum_gradients(self._weights)
        self._adam.step()
        for weight, copies in zip(self._weights, self._copies, strict=True):
            copies.copy_(weight)


class _OwnNetworks:
    """Adam on each column's network and, more slowly,
    on the projections where these began as good predictors.
    """

    def __init__(self, density: AutoregressiveDensity, learning_rate: float, world: World) -> None:
        self._world, self._weights = world, list(density.parameters())
        slower = _PROJECTION_RATE if density.first is not None else 1.0
        self._networks = Adam(network_weights(density), learning_rate)
        self._projections = Adam([density.weight, density.bias], learning_rate * slower)

    def zero_grad(self) -> None:
        self._networks.zero_grad()
        self._projections.zero_grad()

    def step(self) -> None:
        self._world.sum_gradients(self._weights)
        self._networks.step()
        self._projections.step()


_Optimiser = _SharedNetwork | _OwnNetworks


def _optimiser(density: AutoregressiveDensity, phase: Phase, world: World) -> _Optimiser:
    for weight in (density.weight, density.bias):
        weight.requires_grad_(not phase.shared)
    return (_SharedNetwork if phase.shared else _OwnNetworks)(density, phase.learning_rate, world)


def _over_all(loss: Tensor, world: World) -> Tensor:
    """The loss of the whole batch from those of its parts."""
    loss = loss.detach()
    world.sum([loss])
    return loss


def _temperature(share: Tensor) -> Tensor:
    """From 1 down to 0.5: first a smooth landscape for β,
    then a relaxation close to the binary swap.
    """
    return 1 - 0.5 * share


def _fixed_noise_and_swap(
    x: Tensor, unit: Tensor, generator: torch.Generator
) -> tuple[Noise, Tensor]:
    """The same for every epoch, so that held-out losses differ by the model alone."""
    noise = Noise.draw(len(x), x.shape[1], generator=generator, dtype=x.dtype)
    return noise, UniformSwaps(unit)(len(x), generator=generator)
