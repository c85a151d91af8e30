"""Stage 1: choose a scale and a start for q_joint on held-out rows, then train it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from knockoffs.density.density import AutoregressiveDensity, Views
from knockoffs.density.devices import DeviceName, torch_device
from knockoffs.density.hardware import in_chunks
from knockoffs.density.stages import Phase, fit_joint
from knockoffs.density.starts import random_density, start_density
from knockoffs.density.training import History, Schedule
from knockoffs.generators.clusters import (
    MIN_CLUSTER,
    ClusteredGaussian,
    cluster_rows,
    fit_clustered,
    joint_conditionals,
)
from knockoffs.generators.linear import (
    Estimator,
    LinearGaussian,
    Moments,
    fit_factor,
    fit_shrunk,
    fit_sparse,
)
from knockoffs.generators.rows import FitRows, check_most_rows, draw_rows, some_rows
from knockoffs.generators.saved_model import SavedModel
from knockoffs.generators.saved_networks import training_memory
from knockoffs.generators.views import silence_views, view_joint
from knockoffs.kinds.scales import Scale, normal_scale, standard_scale
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.checks import (
    check_choice,
    check_count,
    check_fraction,
    check_number,
    check_widths,
)
from knockoffs.runtime.memory import FLOAT64
from knockoffs.runtime.randomness import RandomState, torch_generator

Start = Literal["linear", "random"]
ScaleName = Literal["auto", "standard", "normal"]

ESTIMATORS: tuple[Estimator, ...] = (
    fit_sparse,
    partial(fit_sparse, gamma=0.0),
    fit_shrunk,
    *(partial(fit_factor, factors=factors) for factors in (1, 2, 5, 10, 20)),
)


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """What both stages of DDLK need to know of their networks and training."""

    components: int
    hidden: tuple[int, ...]
    start: Start
    learning_rate: float
    schedule: Schedule
    several_draws: bool = False  # of the latents of each row: see `fit_rows` and `views`

    def check(self, stage: str = "") -> None:
        """Raise an error for settings out of range;
        `stage` is the prefix of the stage's own arguments.
        """
        check_count("components", self.components)
        check_widths("hidden", self.hidden)
        check_choice("start", self.start, get_args(Start))
        check_number(f"{stage}learning_rate", self.learning_rate, least=0, least_allowed=False)
        check_count(f"{stage}epochs", self.schedule.epochs, least=0)
        check_count("batch_size", self.schedule.batch_size)
        if self.schedule.epoch_steps is not None:
            check_count("epoch_steps", self.schedule.epoch_steps)
        check_count("patience", self.schedule.patience)
        check_number("averaging", self.schedule.averaging, least=0, below=1)

    def with_longer_epochs(self) -> NetworkSettings:
        """Larger batches and steps, longer epochs and averages,
        for many rows from which much is to be learned.
        """
        given = self.schedule
        longer = replace(
            given,
            batch_size=_LARGER * given.batch_size,
            epoch_steps=None if given.epoch_steps is None else _LARGER * given.epoch_steps,
            averaging=given.averaging ** (1 / _LONGER),
        )
        return replace(self, learning_rate=_LARGER * self.learning_rate, schedule=longer)

    def phases(self) -> list[Phase]:
        """From a linear start first one network for all columns, then each its own;
        else the latter alone.
        """
        if self.start == "random":
            return [Phase("networks", False, self.learning_rate, self.schedule)]
        return [
            Phase(
                "shared network",
                True,
                self.learning_rate,
                replace(
                    self.schedule,
                    patience=math.ceil(self.schedule.patience / 2),
                    first_patience=_SHARED_FIRST_PATIENCE,
                ),
            ),
            # Networks of single columns first get worse, then better, on tables that profit most
            # from them.
            Phase(
                "own networks",
                False,
                self.learning_rate * self._own_rate,
                self.schedule,
                follows_gains=True,
            ),
        ]

    @property
    def _own_rate(self) -> float:
        """Own networks go slowly, since each soon knows its rows by heart,
        but for rows with several draws.
        """
        return 1.0 if self.several_draws else 1 / 3


_LARGER, _LONGER = 2, 3  # batches, epochs and steps; averages
# One network for all columns learns from d times the data, and shows soon whether there is anything
# to learn.
_SHARED_FIRST_PATIENCE = 2
# Standard errors by which held-out losses must fall for more of the same to be worth its time. The
# paper's networks, which begin at random, go on after any gain.
_LEAST_GAIN: dict[Start, float] = {"linear": 1.0, "random": 0.0}


class NetworkModel(SavedModel):
    """What DDLK and JointDensity share: settings of networks,
    and the rows that these learn from.
    """

    def __init__(
        self,
        *,
        components: int,
        hidden: tuple[int, ...],
        start: Start,
        scale: ScaleName,
        batch_size: int,
        epoch_steps: int | None,
        patience: int,
        averaging: float,
        validation_fraction: float,
        max_rows: int | None,
        device: DeviceName,
        random_state: RandomState,
        progress: bool,
    ) -> None:
        self.components = components
        self.hidden = hidden
        self.start = start
        self.scale = scale
        self.batch_size = batch_size
        self.epoch_steps = epoch_steps
        self.patience = patience
        self.averaging = averaging
        self.validation_fraction = validation_fraction
        self.max_rows = max_rows
        self.device = device
        self.random_state = random_state
        self.progress = progress

    @abstractmethod
    def joint_density(self) -> Any:
        """Return the density of rows as a `JointDensity`."""

    def _settings(
        self, learning_rate: float, epochs: int, several_draws: bool = False
    ) -> NetworkSettings:
        schedule = Schedule(
            epochs,
            self.batch_size,
            self.patience,
            self.averaging,
            epoch_steps=self.epoch_steps,
            least_gain=_LEAST_GAIN.get(self.start, 0.0),
        )
        return NetworkSettings(
            self.components, self.hidden, self.start, learning_rate, schedule, several_draws
        )

    def _check_settings(self) -> None:
        check_choice("scale", self.scale, get_args(ScaleName))
        check_fraction("validation_fraction", self.validation_fraction)
        check_most_rows(self.max_rows)
        torch_device(self.device)

    def _encode_for_fit(self, codes: Array, rng: np.random.Generator) -> Array:
        some = some_rows(codes, self.max_rows, rng)
        return draw_rows(self.encoding_, some, rng, once=self.start == "random")


def starts_memory(settings: NetworkSettings, scale: ScaleName, rows: int, columns: int) -> float:
    """Estimate the bytes of all candidates of `best_starts`, which are in memory together."""
    if settings.start == "random" and scale != "auto":
        return 0.0
    scales = 2 if scale == "auto" else 1
    # A matrix of columns by columns for each estimator; for each number of clusters one per cluster
    # and two more.
    matrices = len(ESTIMATORS) + sum(
        clusters + 2 for clusters in range(2, most_clusters(settings, rows) + 1)
    )
    return FLOAT64 * (10 + scales * matrices) * columns**2


def joint_memory(settings: NetworkSettings, scale: ScaleName, rows: int, columns: int) -> float:
    """Estimate the bytes that stage 1 takes on a CPU."""
    trained = training_memory(density_maker(settings, columns, context=0, seen=2))
    return max(starts_memory(settings, scale, rows, columns), trained)


def most_clusters(settings: NetworkSettings, rows: int) -> int:
    """Return the largest number of clusters that so many rows allow."""
    return max(1, min(int(settings.components), rows // (2 * MIN_CLUSTER)))


def density_maker(
    settings: NetworkSettings, columns: int, *, context: int, seen: int
) -> Callable[[], AutoregressiveDensity]:
    """Return what makes a network of the shape that a fit trains, for one cluster."""
    views = None if settings.start == "random" else Views(seen, 2)
    return partial(
        AutoregressiveDensity,
        columns,
        components=settings.components,
        hidden=settings.hidden,
        generator=torch.Generator(),
        context=context,
        views=views,
    )


@dataclass(frozen=True, slots=True)
class JointModel:
    """A fitted q_joint, the scale it lives on, and the linear model it began as (None if it began
    at random).
    """

    scale: Scale[Tensor]
    density: AutoregressiveDensity
    linear: ClusteredGaussian | None
    history: list[History]

    def to_scale(self, x: Array) -> tuple[Tensor, Tensor]:
        """The rows on the model's scale (in its precision, on its device),
        and the sum of log-derivatives.
        """
        z, log_slope = self.scale.forward(torch.as_tensor(x))
        return z.to(self.density.weight), log_slope.sum(1)

    def from_scale(self, z: Tensor) -> Array:
        """Drawn rows in the units of the data."""
        return self.scale.inverse_of_draws(z.cpu().double()).numpy()

    def log_prob(self, x: Array) -> Array:
        """log q(x) per row, in the units of x."""
        z, log_slope = self.to_scale(x)
        return in_chunks(self.density.log_prob, z).cpu().double().add(log_slope).numpy()


class _Candidate(NamedTuple):
    scores: Array  # log-likelihood of each held-out row, on the data's scale
    scale: Scale[Tensor]
    linear: ClusteredGaussian

    @property
    def score(self) -> float:
        return float(self.scores.mean())


def fit_joint_model(
    rows: FitRows,
    *,
    settings: NetworkSettings,
    scale: ScaleName,
    device: torch.device,
    rng: np.random.Generator,
) -> JointModel:
    """Choose scale and start by held-out likelihood, then train."""
    x, held_out = rows.x, rows.held_out
    train = partial(_train, rows.drawn, held_out, settings=settings, device=device, rng=rng)
    if settings.start == "random" and scale != "auto":
        return train(next(_scales(x, scale)), None)
    single, clustered = best_starts(x, held_out, scale=scale, clusters=settings.components, rng=rng)
    model = train(single.scale, None if settings.start == "random" else single.linear)
    if settings.start == "linear" and clustered is not None:
        gain = clustered.scores - model.log_prob(held_out)
        # Knockoffs keep to the cluster of their row, which costs power: more than luck must speak
        # for clusters.
        if gain.mean() > 2 * gain.std() / len(gain) ** 0.5:
            model = train(clustered.scale, clustered.linear)
    return model


def best_starts(
    x: Array, held_out: Array, *, scale: ScaleName, clusters: int, rng: np.random.Generator
) -> tuple[_Candidate, _Candidate | None]:
    """The best linear model without clusters, and the best one with clusters where there is any.

    The two are told apart only later: a trained network can make up for curvature, for which
    clusters are a poor stand-in, so the second must beat the first after the first is trained.
    """
    views = [_Scaled.of(x, held_out, s) for s in _scales(x, scale)]
    singles = [list(_singles(view)) for view in views]
    single = max((c for found in singles for c in found), key=lambda c: c.score)
    several = [
        c
        for view, found in zip(views, singles, strict=True)
        for c in _clustered(view, found[0].linear.overall, single.score, clusters, rng)
    ]
    return single, max(several, key=lambda c: c.score, default=None)


def _scales(x: Array, name: ScaleName) -> Iterator[Scale[Tensor]]:
    if name in ("auto", "standard"):
        yield standard_scale(torch.as_tensor(x))
    if name in ("auto", "normal"):
        yield normal_scale(torch.as_tensor(x))


@dataclass(frozen=True, slots=True)
class _Scaled:
    """Training and held-out rows on a scale, and the sum of log-derivatives of each held-out
    row.
    """

    scale: Scale[Tensor]
    x: Array
    held_out: Tensor
    log_slope: Tensor

    @classmethod
    def of(cls, x: Array, held_out: Array, scale: Scale[Tensor]) -> _Scaled:
        z, log_slope = scale.forward(torch.as_tensor(held_out))
        return cls(scale, scale.forward(torch.as_tensor(x))[0].numpy(), z, log_slope.sum(1))

    def candidate(self, linear: ClusteredGaussian) -> _Candidate:
        log_prob = joint_conditionals(linear).log_prob(self.held_out)
        return _Candidate((log_prob + self.log_slope).numpy(), self.scale, linear)


def _singles(rows: _Scaled) -> Iterator[_Candidate]:
    moments = Moments.of(rows.x)
    for estimator in ESTIMATORS:
        linear = estimator(moments)
        scores = linear.log_prob(rows.held_out.numpy()) + rows.log_slope.numpy()
        yield _Candidate(scores, rows.scale, ClusteredGaussian.single(linear))


def _clustered(
    rows: _Scaled, overall: LinearGaussian, to_beat: float, most: int, rng: np.random.Generator
) -> Iterator[_Candidate]:
    """Models of 2, 3, ... clusters that beat the best before them, until two in a row do not."""
    in_vain = 0
    for count in range(2, most + 1):
        labels = cluster_rows(rows.x, count, seed=int(rng.integers(2**31)))
        if labels is not None:
            found = rows.candidate(fit_clustered(rows.x, labels, fit_sparse, overall))
            if found.score > to_beat:
                to_beat, in_vain = found.score, 0
                yield found
                continue
        in_vain += 1
        if in_vain == 2:
            return


def _train(
    x: Array,
    held_out: Array,
    scale: Scale[Tensor],
    linear: ClusteredGaussian | None,
    *,
    settings: NetworkSettings,
    device: torch.device,
    rng: np.random.Generator,
) -> JointModel:
    z, z_held_out = (
        scale.forward(torch.as_tensor(t))[0].to(torch.get_default_dtype()) for t in (x, held_out)
    )
    options: dict[str, Any] = {
        "components": settings.components,
        "hidden": settings.hidden,
        "generator": torch_generator(rng, torch.device("cpu")),
    }
    if linear is None:
        density = random_density(z.amin(0), z.amax(0), **options)
    else:
        plain = joint_conditionals(linear)
        start = view_joint(plain, linear, z) if settings.several_draws else plain
        density = silence_views(start_density(start, **options), plain)
    density.to(device)
    history = fit_joint(
        density,
        z.to(device),
        z_held_out.to(device),
        phases=settings.phases(),
        generator=torch_generator(rng, device),
    )
    return JointModel(scale, density, linear, history)
