"""One training loop for every model: batches, averaging, early stopping, best weights, history."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

Report = Callable[[str, int, int, float | None], None]  # stage, steps done, steps at most, held-out loss


class TrainingDivergedError(RuntimeError):
    """The loss stopped being a finite number."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how to train; `averaging` is the decay of the running mean of the weights (0 = none)."""

    epochs: int
    batch_size: int
    patience: int
    averaging: float = 0.0
    keep_last: bool = False  # the last weights instead of the best on held-out rows, for games without a loss


@dataclass(slots=True)
class History:
    """Losses of one stage, epoch by epoch; epoch 0 is the start, before any step."""

    stage: str
    train: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    best_epoch: int = 0


def train(
    model: nn.Module,
    stage: str,
    rows: int,
    step: Callable[[Tensor, float], float],
    validate: Callable[[], float],
    schedule: Schedule,
    generator: torch.Generator,
    report: Report | None = None,
) -> History:
    """Train `model` in place and leave it with the weights of lowest held-out loss, the start included.

    With `keep_last` it keeps the last ones instead.

    `step(batch, share)` takes the row numbers of one mini-batch and the share of training that is over,
    updates the weights and returns the loss; `validate()` returns the held-out loss of the model as it is.
    """
    history = History(stage)
    averaged = _RunningMean(model, schedule.averaging)
    best = averaged.copy()
    history.train.append(math.nan)
    history.held_out.append(_finite(validate(), stage, epoch=0))
    for epoch in range(1, schedule.epochs + 1):
        share = (epoch - 1) / schedule.epochs
        losses = []
        for batch in _batches(rows, schedule.batch_size, generator):
            losses.append(step(batch, share))
            averaged.update()
        history.train.append(_finite(sum(losses) / len(losses), stage, epoch))
        with averaged.in_place():
            history.held_out.append(_finite(validate(), stage, epoch))
        if schedule.keep_last or history.held_out[-1] < history.held_out[history.best_epoch]:
            history.best_epoch = epoch
            best = averaged.copy()
        if report is not None:
            report(stage, epoch, schedule.epochs, history.held_out[-1])
        if epoch - history.best_epoch >= schedule.patience:
            break
    _assign(list(model.parameters()), best)
    return history


def _batches(rows: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Shuffled row numbers in batches of about `size`, none of them a small remainder."""
    order = torch.randperm(rows, generator=generator, device=generator.device)
    return iter(order.tensor_split(max(1, round(rows / size))))


def _finite(loss: float, stage: str, epoch: int) -> float:
    if not math.isfinite(loss):
        raise TrainingDivergedError(
            f"stage {stage!r}: the loss became {loss} in epoch {epoch}. Lower its learning rate, or look for "
            "columns with extreme values (a few cells far from all others) and transform or drop them."
        )
    return loss


class _RunningMean:
    """Exponential running mean of a model's weights; with decay 0 it is the weights themselves."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._weights: list[Tensor] = list(model.parameters())
        self._decay = decay
        self._mean = [w.detach().clone() for w in self._weights]

    @torch.no_grad()
    def update(self) -> None:
        for mean, weight in zip(self._mean, self._weights, strict=True):
            mean.lerp_(weight, 1 - self._decay)

    def copy(self) -> list[Tensor]:
        return [m.clone() for m in self._mean]

    def in_place(self) -> _Swapped:
        return _Swapped(self._weights, self._mean)


class _Swapped:
    """Context in which a model carries other weights."""

    def __init__(self, weights: Sequence[Tensor], others: Sequence[Tensor]) -> None:
        self._weights, self._others = weights, others
        self._kept: list[Tensor] = []

    def __enter__(self) -> None:
        self._kept = [w.detach().clone() for w in self._weights]
        _assign(self._weights, self._others)

    def __exit__(self, *_: object) -> None:
        _assign(self._weights, self._kept)


@torch.no_grad()
def _assign(weights: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for weight, value in zip(weights, values, strict=True):
        weight.copy_(value)
