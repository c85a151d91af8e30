"""One training loop for every model: batches, averaging, early stopping, best weights; and Adam."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from knockoffs.density.hardware import CapturedStep
from knockoffs.runtime.progress import report_stage

Losses = Tensor | float


class TrainingDivergedError(RuntimeError):
    """The loss stopped being a finite number."""


# A gain is worth its time if it is this share of all that was gained so far, and as large as this,
# in nats.
_WORTHWHILE = 0.01
SMALLEST_GAIN = 0.01


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how to train.

    Parameters
    ----------
    epochs, batch_size : int
        The most epochs, and about how many rows a mini-batch has.
    patience : int
        Epochs without progress after which training ends.
    first_patience : int or None
        The same as long as there was no progress at all; None for `patience`.
    averaging : float
        Decay of the running mean of the weights; 0 for none.
    keep_last : bool
        Keep the last weights instead of the best on held-out rows, for games without a loss.
    epoch_steps : int or None
        Steps after which an epoch ends at the latest, so that work does not grow with the rows; the
        next epoch goes on with the rows that are left. None for whole passes.
    least_gain : float
        A held-out loss that is lower by less than so many standard errors of the difference, by
        less than a hundredth of what was gained before or by less than the smallest gain that
        counts, is no progress; 0 takes any gain for progress.
    """

    epochs: int
    batch_size: int
    patience: int
    averaging: float = 0.0
    keep_last: bool = False
    epoch_steps: int | None = None
    least_gain: float = 0.0
    first_patience: int | None = None


@dataclass(slots=True)
class History:
    """Losses of one stage, epoch by epoch; epoch 0 is the start, before any step."""

    stage: str
    train: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    best_epoch: int = 0

    @property
    def gain(self) -> float:
        """By how much training has lowered the held-out loss."""
        return self.held_out[0] - self.held_out[self.best_epoch]


def train(
    model: nn.Module,
    stage: str,
    rows: int,
    step: Callable[[Tensor, Tensor], Losses],
    validate: Callable[[], Losses],
    schedule: Schedule,
    generator: torch.Generator,
    *,
    variant: Callable[[], Hashable] | None = None,
    gained: float = 0.0,
    smallest_gain: float = SMALLEST_GAIN,
) -> History:
    """Train `model` in place and leave it with the weights of lowest held-out loss,
    the start included.

    With `keep_last` it keeps the last ones instead.

    `step(batch, share)` takes the row numbers of one mini-batch and the share of training that is
    over, updates the weights and returns the loss; `validate()` returns the held-out losses of the
    model as it is, row by row or their mean. Where `variant` is given and the generator is a GPU's,
    steps are replayed from CUDA graphs; see `graphs.CapturedStep` for what they must then keep to.
    `gained` is by how much phases before this one have lowered the same loss: beside much that was
    gained, little more is not worth its time. `smallest_gain` is what counts as one, in nats.
    """
    history = History(stage)
    averaged = _RunningMean(model, schedule.averaging)
    best = averaged.copy()
    progress = _Progress(schedule, validate(), gained, smallest_gain)
    history.train.append(math.nan)
    history.held_out.append(_finite(progress.loss, stage, epoch=0))

    def advance(batch: Tensor, share: Tensor) -> Tensor:
        loss = torch.as_tensor(step(batch, share))
        averaged.update()
        return loss

    if variant is not None and generator.device.type == "cuda":
        advance = CapturedStep(advance, variant, generator)
    batches = _batches(rows, schedule.batch_size, generator)
    steps = min(_batch_count(rows, schedule.batch_size), schedule.epoch_steps or rows)
    for epoch in range(1, schedule.epochs + 1):
        share = torch.tensor((epoch - 1) / schedule.epochs, device=generator.device)
        total = torch.zeros((), dtype=torch.float64, device=generator.device)
        for batch in islice(batches, steps):
            total += advance(batch, share)
        history.train.append(_finite(total.item() / steps, stage, epoch))
        with averaged.in_place():
            progress.look(validate())
        history.held_out.append(_finite(progress.loss, stage, epoch))
        if schedule.keep_last or history.held_out[-1] < history.held_out[history.best_epoch]:
            history.best_epoch = epoch
            best = averaged.copy()
        report_stage(stage, epoch, schedule.epochs, history.held_out[-1])
        if progress.is_over and not schedule.keep_last:
            break
    _assign(list(model.parameters()), best)
    return history


class _Progress:
    """Held-out losses, epoch by epoch, and whether there is still something to be gained.

    Progress is a gain beyond its noise over the losses at the time of the last progress.
    """

    def __init__(self, schedule: Schedule, losses: Losses, gained: float, smallest: float) -> None:
        self._schedule, self._gained, self._smallest = schedule, gained, smallest
        self._start = self._reference = self._losses = torch.as_tensor(losses)
        self._epoch = self._last = 0

    @property
    def loss(self) -> float:
        return self._losses.mean().item()

    @property
    def is_over(self) -> bool:
        patience = self._schedule.patience
        if self._last == 0 and self._schedule.first_patience is not None:
            patience = min(patience, self._schedule.first_patience)
        return self._epoch - self._last >= patience

    def look(self, losses: Losses) -> None:
        self._losses = torch.as_tensor(losses)
        self._epoch += 1
        gain = (self._reference - self._losses).double()
        if gain.mean() > self._least_gain(gain):
            self._reference, self._last = self._losses, self._epoch

    def _least_gain(self, gain: Tensor) -> float:
        if self._schedule.least_gain == 0 or gain.numel() < 2:
            return 0.0
        noise = (gain.var() / gain.numel()).sqrt().item()
        gained = self._gained + (self._start - self._reference).mean().item()
        return max(self._schedule.least_gain * noise, _WORTHWHILE * gained, self._smallest)


def _batch_count(rows: int, size: int) -> int:
    return max(1, round(rows / size))


def _batches(rows: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Shuffled row numbers in batches of about `size`, none of them a small remainder,
    pass after pass.
    """
    while True:
        order = torch.randperm(rows, generator=generator, device=generator.device)
        yield from order.tensor_split(_batch_count(rows, size))


def _finite(loss: float, stage: str, epoch: int) -> float:
    if not math.isfinite(loss):
        raise TrainingDivergedError(
            f"stage {stage!r}: the loss became {loss} in epoch {epoch}. Lower its learning rate, "
            f"or look for "
            "columns with extreme values (a few cells far from all others) and transform or drop "
            "them."
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

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the model carry the running mean within."""
        kept = [w.detach().clone() for w in self._weights]
        _assign(self._weights, self._mean)
        try:
            yield
        finally:
            _assign(self._weights, kept)


@torch.no_grad()
def _assign(weights: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for weight, value in zip(weights, values, strict=True):
        weight.copy_(value)


class Adam:
    """Steps of Adam on some weights, all with the same learning rate; `maximize` climbs instead."""

    def __init__(
        self,
        weights: Iterable[Tensor],
        learning_rate: float,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        maximize: bool = False,
    ) -> None:
        self._weights = list(weights)
        self._learning_rate, self._betas, self._maximize = learning_rate, betas, maximize
        self._mean = [torch.zeros_like(w) for w in self._weights]
        self._square = [torch.zeros_like(w) for w in self._weights]
        self._steps = [torch.zeros((), device=w.device) for w in self._weights]

    def minimise(self, loss: Tensor) -> None:
        """Take a step down the gradient of a loss."""
        self.zero_grad()
        loss.backward()
        self.step()

    def zero_grad(self) -> None:
        for weight in self._weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        used = [k for k, weight in enumerate(self._weights) if weight.grad is not None]
        if not used:
            return
        weights, mean, square, steps = (
            [values[k] for k in used]
            for values in (self._weights, self._mean, self._square, self._steps)
        )
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        adam(
            weights,
            gradients,
            mean,
            square,
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=self._betas[0],
            beta2=self._betas[1],
            lr=self._learning_rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=self._maximize,
        )
