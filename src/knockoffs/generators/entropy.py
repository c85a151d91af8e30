"""`DDLK(entropy="auto")`: a path over the weight λ of the conditional entropy, and the choice on held-out rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from knockoffs.checks import check_number
from knockoffs.engine.chunks import in_chunks
from knockoffs.engine.density import AutoregressiveDensity, Noise
from knockoffs.engine.losses import swap_loss
from knockoffs.engine.stages import Phase
from knockoffs.engine.training import History, Schedule, TrainingDivergedError
from knockoffs.generators.batches import draw_noise, unit_coins

Entropy = float | Literal["auto"]

FIRST = 0.01  # fitted in full; steps begin there, or at their neighbour's weights
BELOW, ABOVE = (0.001, 0.0), (0.03, 0.1, 0.3)  # in the order in which they are tried
# Common noise makes differences significant that no filter would feel: so many nats a column count as none.
_NEGLIGIBLE = 1e-4
_DRAWS = 8  # of knockoffs and swaps for each held-out row, the same for every λ


def check_entropy(value: Any) -> None:
    if not isinstance(value, str):
        check_number("entropy", value, least=0)
    elif value != "auto":
        raise ValueError(f"entropy={value!r} is not valid: pass a number at least 0, or 'auto'.")


@dataclass(frozen=True, slots=True)
class EntropyStep:
    """One λ of the path, and its figures on the held-out rows.

    `excess` is how far its swap divergence lies above the lowest of the path, `standard_error` that of the
    excess (the rows, knockoff noise and swaps are the same for every λ, so differences are known better than
    the divergences themselves). `admissible` are those whose excess is within one standard error (one and not two:
    few held-out rows show little, and what they do not show must not pass for valid) or negligible. More
    `conditional_entropy` means knockoffs freer of their originals, hence power.
    """

    entropy: float  # λ
    divergence: float  # nats, by the model's own q_joint
    excess: float  # nats
    standard_error: float  # nats
    conditional_entropy: float  # of x̃ given x, nats a column, on the model's scale
    admissible: bool
    chosen: bool = False


class Figures(NamedTuple):
    """What held-out rows say of a q_knockoff."""

    divergence: Tensor  # of each row, nats
    conditional_entropy: float  # nats a column
    columns: int


class EntropyPath(NamedTuple):
    """The steps by growing λ, why one was chosen, and the histories of the fits after the first."""

    steps: list[EntropyStep]
    reason: str
    history: list[History]

    @property
    def chosen(self) -> float:
        return next(step.entropy for step in self.steps if step.chosen)


class _Trial(NamedTuple):
    entropy: float
    figures: Figures
    weights: dict[str, Tensor]


def held_out_figures(
    q_joint: AutoregressiveDensity, q_knockoff: AutoregressiveDensity, x: Tensor, unit: Tensor, *, seed: int
) -> Figures:
    """Swap divergence and conditional entropy on rows x; with one seed all models get the same noise and swaps.

    The columns of a `unit` are swapped together.
    """

    def both(x: Tensor, mask: Tensor, *noise: Tensor) -> Tensor:
        x_tilde = q_knockoff.sample(Noise(*noise), x)
        return torch.stack([swap_loss(q_joint, q_knockoff, x, x_tilde, mask), -q_knockoff.log_prob(x_tilde, x)], 1)

    total = torch.zeros(len(x), 2, dtype=torch.float64)
    for draw in np.random.default_rng(seed).spawn(_DRAWS):
        noise = draw_noise(draw, len(x), q_knockoff)
        mask = unit_coins(draw, len(x), unit).to(x)
        total += in_chunks(both, x, mask, *noise).cpu()
    divergence, information = (total / _DRAWS).unbind(1)
    return Figures(divergence, information.mean().item() / x.shape[1], x.shape[1])


def step_phase(phases: Sequence[Phase], history: Sequence[History], entropy: float) -> Phase:
    """A short run for one step of the path, given the phases of the full fit and how long they went on.

    It is a first phase again: networks that move alike follow λ as well as networks that each go their own way,
    and do not learn the errors of q_joint while they do. At most five steps are made, so a quarter of the epochs
    each keeps the whole path below two and a half fits.
    """
    trained = sum(len(h.held_out) - 1 for h in history)
    first = phases[0]
    schedule = Schedule(
        min(first.schedule.epochs, max(1, trained // 4)),
        first.schedule.batch_size,
        (first.schedule.patience + 1) // 2,
        first.schedule.averaging,
    )
    return Phase(f"λ = {entropy:g}", first.shared, first.learning_rate, schedule)


def walk_entropies(
    model: nn.Module, refit: Callable[[float], list[History]], judge: Callable[[], Figures]
) -> EntropyPath:
    """Walk from a model fitted in full at λ = `FIRST`, and leave it with the weights of the chosen λ.

    `refit(λ)` trains the model from where it is, `judge()` returns its held-out figures. `FIRST` itself gets a
    step too: else its neighbours would look better for no reason but their longer training. Downwards the walk
    ends where validity no longer improves, and upwards where it is lost; where validity needs less than `FIRST`,
    more is not tried.
    """
    full = _weights(model)
    trials: list[_Trial] = []
    history: list[History] = []

    def attempt(entropy: float, start: dict[str, Tensor]) -> bool:
        model.load_state_dict(start)
        try:
            history.extend(refit(entropy))
        except TrainingDivergedError:  # this λ will not do; those so far will
            return False
        trials.append(_Trial(entropy, judge(), _weights(model)))
        return True

    if not attempt(FIRST, full):
        model.load_state_dict(full)
        trials.append(_Trial(FIRST, judge(), full))
    for entropy in BELOW:  # so near to each other that all can begin at the full fit, with equal chances
        before = trials[-1].entropy
        if not attempt(entropy, full) or _step(trials, before).admissible:
            break
    if _step(trials, FIRST).admissible:
        for entropy in ABOVE:
            start = full if entropy == ABOVE[0] else trials[-1].weights
            if not attempt(entropy, start) or not _step(trials, entropy).admissible:
                break
    steps = _chosen(_steps(trials))
    path = EntropyPath(steps, _reason(steps), history)
    model.load_state_dict(next(trial.weights for trial in trials if trial.entropy == path.chosen))
    return path


def _weights(model: nn.Module) -> dict[str, Tensor]:
    return copy.deepcopy(model.state_dict())


def _steps(trials: Sequence[_Trial]) -> list[EntropyStep]:
    """The figures of every trial against the most valid one, by growing λ."""
    best = min(trials, key=lambda trial: trial.figures.divergence.mean().item()).figures.divergence
    steps = []
    for entropy, figures, _ in sorted(trials, key=lambda trial: trial.entropy):
        difference = figures.divergence - best
        excess, error = difference.mean().item(), difference.std(correction=0).item() / len(difference) ** 0.5
        steps.append(
            EntropyStep(
                entropy,
                figures.divergence.mean().item(),
                excess,
                error,
                figures.conditional_entropy,
                admissible=excess <= max(error, _NEGLIGIBLE * figures.columns),
            )
        )
    return steps


def _step(trials: Sequence[_Trial], entropy: float) -> EntropyStep:
    return next(step for step in _steps(trials) if step.entropy == entropy)


def _chosen(steps: Sequence[EntropyStep]) -> list[EntropyStep]:
    """The admissible step with most conditional entropy; of equal ones that which is closest to the full fit."""
    admissible = [step for step in steps if step.admissible]
    best = max(admissible, key=lambda step: (step.conditional_entropy, -abs(step.entropy - FIRST)))
    return [replace(step, chosen=step is best) for step in steps]


def _reason(steps: Sequence[EntropyStep]) -> str:
    """The choice in one sentence, with its numbers."""
    chosen = next(step for step in steps if step.chosen)
    lowest = min(steps, key=lambda step: step.divergence)
    tried = ", ".join(f"{step.entropy:g}" for step in steps)
    excess = (
        "is the lowest"
        if chosen.excess == 0
        else f"is {chosen.excess:.3f} ± {chosen.standard_error:.3f} above the lowest, at λ = {lowest.entropy:g}"
    )
    reason = (
        f"Of λ = {tried}, λ = {chosen.entropy:g} gives the knockoffs freest of their originals (conditional "
        f"entropy {chosen.conditional_entropy:.3f} nats a column) among those whose held-out swap divergence is "
        f"within one standard error of the lowest, or as good as: its {chosen.divergence:.3f} nats {excess}"
    )
    lost = next((s for s in steps if s.entropy > chosen.entropy and not s.admissible), None)
    if lost is not None:
        reason += f"; at λ = {lost.entropy:g} it is {lost.excess:.3f} ± {lost.standard_error:.3f} above"
    return f"{reason}."
