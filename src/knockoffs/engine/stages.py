"""The two stages of DDLK: fit q_joint by maximum likelihood, then q_knockoff against the worst swap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from knockoffs.engine.chunks import in_chunks
from knockoffs.engine.density import AutoregressiveDensity, Noise
from knockoffs.engine.losses import negative_log_likelihood, swap_loss
from knockoffs.engine.starts import network_weights, share_gradients
from knockoffs.engine.swaps import Swaps, UniformSwaps
from knockoffs.engine.training import History, Report, Schedule, train

# Projections that begin at good linear predictors move more slowly than the networks behind them.
_PROJECTION_RATE = 0.3


@dataclass(frozen=True, slots=True)
class Phase:
    """One run of training; in a shared phase all columns' networks learn as one, projections held fixed."""

    name: str
    shared: bool
    learning_rate: float
    schedule: Schedule


def fit_joint(
    q_joint: AutoregressiveDensity,
    x: Tensor,
    held_out: Tensor,
    *,
    phases: Sequence[Phase],
    generator: torch.Generator,
    report: Report | None = None,
) -> list[History]:
    r"""Stage 1: $\theta = \arg\max_\theta \frac1N \sum_i \log \hat q_\text{joint}(x^{(i)}; \theta)$."""
    histories = []
    for phase in phases:
        optimiser = _optimiser(q_joint, phase)

        def step(batch: Tensor, share: float, phase: Phase = phase, optimiser: _Adam = optimiser) -> float:
            loss = negative_log_likelihood(q_joint, x[batch]).mean()
            optimiser.zero_grad()
            loss.backward()
            if phase.shared:
                share_gradients(q_joint)
            optimiser.step()
            return loss.item()

        def validate() -> float:
            return in_chunks(lambda rows: negative_log_likelihood(q_joint, rows), held_out).mean().item()

        stage = f"q_joint ({phase.name})"
        histories.append(train(q_joint, stage, len(x), step, validate, phase.schedule, generator, report))
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
    report: Report | None = None,
) -> list[History]:
    r"""Stage 2: $\min_\phi \max_\beta$ of the swap loss (`losses.swap_loss`), q_joint held fixed."""
    q_joint.requires_grad_(False)
    held_out_noise, held_out_mask = _fixed_noise_and_swap(held_out, swaps.unit, generator)
    histories = []
    for phase in phases:
        optimiser = _optimiser(q_knockoff, phase)
        adversary = _Ascent(swaps, swap_learning_rate)

        def step(
            batch: Tensor,
            share: float,
            phase: Phase = phase,
            optimiser: _Adam = optimiser,
            adversary: _Ascent = adversary,
        ) -> float:
            rows = x[batch]
            x_tilde = q_knockoff.rsample(_noise_like(rows, generator), rows)
            mask = swaps(len(rows), generator=generator, temperature=_temperature(share))
            loss = swap_loss(q_joint, q_knockoff, rows, x_tilde, mask, entropy).mean()
            optimiser.zero_grad()
            adversary.zero_grad()
            loss.backward()
            if phase.shared:
                share_gradients(q_knockoff)
            optimiser.step()  # min over φ
            adversary.step()  # max over β
            return loss.item()

        def held_out_losses(rows: Tensor, mask: Tensor, *noise: Tensor) -> Tensor:
            x_tilde = q_knockoff.sample(Noise(*noise), rows)
            return swap_loss(q_joint, q_knockoff, rows, x_tilde, mask, entropy)

        def validate(losses: Callable[..., Tensor] = held_out_losses) -> float:
            return in_chunks(losses, held_out, held_out_mask, *held_out_noise).mean().item()

        stage = f"q_knockoff ({phase.name})"
        histories.append(train(q_knockoff, stage, len(x), step, validate, phase.schedule, generator, report))
    return histories


_Adam = torch.optim.Adam


def _optimiser(density: AutoregressiveDensity, phase: Phase) -> _Adam:
    groups = [{"params": network_weights(density), "lr": phase.learning_rate}]
    if not phase.shared:
        rate = phase.learning_rate * (_PROJECTION_RATE if density.first is not None else 1.0)
        groups.append({"params": [density.weight, density.bias], "lr": rate})
    return _Adam(groups)


class _Ascent:
    """Gradient ascent on the swap logits; nothing to do for swaps without parameters."""

    def __init__(self, swaps: nn.Module, learning_rate: float) -> None:
        parameters = list(swaps.parameters())
        self._optimiser = _Adam(parameters, lr=learning_rate, maximize=True) if parameters else None

    def zero_grad(self) -> None:
        if self._optimiser is not None:
            self._optimiser.zero_grad()

    def step(self) -> None:
        if self._optimiser is not None:
            self._optimiser.step()


def _temperature(share: float) -> float:
    """From 1 down to 0.5: first a smooth landscape for β, then a relaxation close to the binary swap."""
    return 1 - 0.5 * share


def _noise_like(x: Tensor, generator: torch.Generator) -> Noise:
    return Noise.draw(len(x), x.shape[1], generator=generator, dtype=x.dtype)


def _fixed_noise_and_swap(x: Tensor, unit: Tensor, generator: torch.Generator) -> tuple[Noise, Tensor]:
    """The same for every epoch, so that held-out losses differ by the model alone."""
    return _noise_like(x, generator), UniformSwaps(unit)(len(x), generator=generator)
