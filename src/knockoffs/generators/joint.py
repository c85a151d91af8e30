"""Stage 1: the density of a table's rows, as part of DDLK and as an estimator of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from knockoffs.arrays import Array
from knockoffs.checks import check_choice, check_count, check_fraction, check_number, check_widths
from knockoffs.engine.chunks import in_chunks
from knockoffs.engine.density import AutoregressiveDensity, Noise, Views
from knockoffs.engine.stages import Phase, fit_joint
from knockoffs.engine.starts import random_density, start_density
from knockoffs.engine.training import History, Report, Schedule
from knockoffs.engine.transforms import Scale, normal_scale, standard_scale
from knockoffs.generators.base import SavedModel
from knockoffs.generators.batches import DeviceName, draw_noise, split_rows, torch_device
from knockoffs.generators.conditionals import FeatureConditional, TableConditionals
from knockoffs.generators.linear import Estimator, fit_factor, fit_shrunk, fit_sparse
from knockoffs.generators.network_sizes import training_memory
from knockoffs.generators.saved_networks import (
    network_arrays,
    restore_density,
    restore_history,
    restore_scale,
    scale_arrays,
)
from knockoffs.generators.starts import (
    MIN_CLUSTER,
    ClusteredGaussian,
    cluster_rows,
    fit_clustered,
    joint_conditionals,
)
from knockoffs.generators.table_model import TableModel
from knockoffs.memory import FLOAT64, require_memory
from knockoffs.progress import progress_bars
from knockoffs.randomness import RandomState, random_generator, torch_generator
from knockoffs.schema import Kind

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

    def check(self, stage: str = "") -> None:
        """Raise an error for settings out of range; `stage` is the prefix of the stage's own arguments."""
        check_count("components", self.components)
        check_widths("hidden", self.hidden)
        check_choice("start", self.start, get_args(Start))
        check_number(f"{stage}learning_rate", self.learning_rate, least=0, least_allowed=False)
        check_count(f"{stage}epochs", self.schedule.epochs, least=0)
        check_count("batch_size", self.schedule.batch_size)
        check_count("patience", self.schedule.patience)
        check_number("averaging", self.schedule.averaging, least=0, below=1)

    def phases(self) -> list[Phase]:
        """From a linear start first one network for all columns, then each its own; else the latter alone."""
        if self.start == "random":
            return [Phase("networks", False, self.learning_rate, self.schedule)]
        return [
            Phase("shared network", True, self.learning_rate, self.schedule),
            Phase("own networks", False, self.learning_rate / 3, self.schedule),
        ]


def starts_memory(settings: NetworkSettings, scale: ScaleName, rows: int, columns: int) -> float:
    """Estimate the bytes of all candidates of `best_starts`, which are in memory together."""
    if settings.start == "random" and scale != "auto":
        return 0.0
    scales = 2 if scale == "auto" else 1
    # A matrix of columns by columns for each estimator; for each number of clusters one per cluster and two more.
    matrices = len(ESTIMATORS) + sum(clusters + 2 for clusters in range(2, most_clusters(settings, rows) + 1))
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
    """A fitted q_joint, the scale it lives on, and the linear model it began as (None if it began at random)."""

    scale: Scale
    density: AutoregressiveDensity
    linear: ClusteredGaussian | None
    history: list[History]

    def to_scale(self, x: Array) -> tuple[Tensor, Tensor]:
        """The rows on the model's scale (in its precision, on its device), and the sum of log-derivatives."""
        z, log_slope = self.scale.forward(torch.as_tensor(x))
        return z.to(self.density.weight), log_slope.sum(1)

    def from_scale(self, z: Tensor) -> Array:
        """Drawn rows in the units of the data."""
        return torch.maximum(self.scale.inverse(z.cpu().double()), self.scale.lowest).numpy()

    def log_prob(self, x: Array) -> Array:
        """log q(x) per row, in the units of x."""
        z, log_slope = self.to_scale(x)
        return in_chunks(self.density.log_prob, z).cpu().double().add(log_slope).numpy()


class _Candidate(NamedTuple):
    scores: Array  # log-likelihood of each held-out row, on the data's scale
    scale: Scale
    linear: ClusteredGaussian

    @property
    def score(self) -> float:
        return float(self.scores.mean())


def fit_joint_model(
    x: Array,
    held_out: Array,
    *,
    settings: NetworkSettings,
    scale: ScaleName,
    device: torch.device,
    rng: np.random.Generator,
    report: Report | None,
) -> JointModel:
    """Choose scale and start by held-out likelihood, then train."""
    train = partial(_train, x, held_out, settings=settings, device=device, rng=rng, report=report)
    if settings.start == "random" and scale != "auto":
        return train(next(_scales(x, scale)), None)
    single, clustered = best_starts(x, held_out, scale=scale, clusters=settings.components, rng=rng)
    model = train(single.scale, None if settings.start == "random" else single.linear)
    if settings.start == "linear" and clustered is not None:
        gain = clustered.scores - model.log_prob(held_out)
        # Knockoffs keep to the cluster of their row, which costs power: more than luck must speak for clusters.
        if gain.mean() > 2 * gain.std() / len(gain) ** 0.5:
            model = train(clustered.scale, clustered.linear)
    return model


def best_starts(
    x: Array, held_out: Array, *, scale: ScaleName, clusters: int, rng: np.random.Generator
) -> tuple[_Candidate, _Candidate | None]:
    """The best linear model without clusters, and the best one with clusters where there is any.

    The two are told apart only later: a trained network can make up for curvature, for which clusters are
    a poor stand-in, so the second must beat the first after the first is trained.
    """
    scales = list(_scales(x, scale))
    singles = [_candidate(x, held_out, s, 1, estimator, rng) for s in scales for estimator in ESTIMATORS]
    single = max((c for c in singles if c is not None), key=lambda c: c.score)
    several = [
        _candidate(x, held_out, s, count, fit_sparse, rng) for s in scales for count in range(2, clusters + 1)
    ]
    return single, max((c for c in several if c is not None), key=lambda c: c.score, default=None)


def _scales(x: Array, name: ScaleName) -> Iterator[Scale]:
    if name in ("auto", "standard"):
        yield standard_scale(torch.as_tensor(x))
    if name in ("auto", "normal"):
        yield normal_scale(torch.as_tensor(x))


def _candidate(
    x: Array, held_out: Array, scale: Scale, clusters: int, estimator: Estimator, rng: np.random.Generator
) -> _Candidate | None:
    z = scale.forward(torch.as_tensor(x))[0].numpy()
    z_held_out, log_slope = scale.forward(torch.as_tensor(held_out))
    labels = cluster_rows(z, clusters, seed=int(rng.integers(2**31)))
    if labels is None:
        return None
    linear = fit_clustered(z, labels, estimator)
    log_prob = joint_conditionals(linear).log_prob(z_held_out)
    return _Candidate((log_prob + log_slope.sum(1)).numpy(), scale, linear)


def _train(
    x: Array,
    held_out: Array,
    scale: Scale,
    linear: ClusteredGaussian | None,
    *,
    settings: NetworkSettings,
    device: torch.device,
    rng: np.random.Generator,
    report: Report | None,
) -> JointModel:
    z, z_held_out = (scale.forward(torch.as_tensor(t))[0].to(torch.get_default_dtype()) for t in (x, held_out))
    options: dict[str, Any] = {
        "components": settings.components,
        "hidden": settings.hidden,
        "generator": torch_generator(rng, torch.device("cpu")),
    }
    if linear is None:
        density = random_density(z.amin(0), z.amax(0), **options)
    else:
        density = start_density(joint_conditionals(linear), **options)
    density.to(device)
    history = fit_joint(
        density,
        z.to(device),
        z_held_out.to(device),
        phases=settings.phases(),
        generator=torch_generator(rng, device),
        report=report,
    )
    return JointModel(scale, density, linear, history)


class JointDensity(SavedModel):
    """The density of a table's rows: stage 1 of DDLK as an estimator.

    It scores and samples rows, and knows each feature's distribution given all the others (`conditional`), which
    is what a randomisation test needs. Parameters are those of `DDLK` for its first stage.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> density = JointDensity(epochs=1, random_state=0).fit(X)
    >>> density.score_samples(X).shape, density.sample(5).shape
    ((200,), (5, 3))
    """

    _draw_word, _use_word = "redraw", "tested"

    def __init__(
        self,
        *,
        components: int = 5,
        hidden: tuple[int, ...] = (50,),
        start: Start = "linear",
        scale: ScaleName = "auto",
        learning_rate: float = 6e-3,
        epochs: int = 30,
        batch_size: int = 64,
        patience: int = 4,
        averaging: float = 0.97,
        validation_fraction: float = 0.15,
        device: DeviceName = "auto",
        random_state: RandomState = None,
        progress: bool = False,
    ) -> None:
        self.components = components
        self.hidden = hidden
        self.start = start
        self.scale = scale
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.patience = patience
        self.averaging = averaging
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None, *, kinds: Mapping[Any, Kind] | None = None) -> Self:
        """Learn the density of the rows of X. `y` is ignored; `kinds` as in `infer_schema`."""
        self._check_settings()
        settings = self._settings()
        self._fitted = False
        rng = random_generator(self.random_state)
        table = self._read_for_fit(X, kinds)
        memory = partial(joint_memory, settings, self.scale)
        require_memory(type(self).__name__, *table.shape, memory)
        self._describe(table, rng)
        x, held_out = split_rows(self.encoding_.encode(table.codes, rng), self.validation_fraction, rng)
        # Gradients are needed, even if the caller has switched them off.
        with torch.inference_mode(mode=False), progress_bars(self.progress) as report:
            self.model_ = fit_joint_model(
                x,
                held_out,
                settings=settings,
                scale=self.scale,
                device=torch_device(self.device),
                rng=rng,
                report=report,
            )
        self.history_ = self.model_.history
        self._fitted = True
        return self

    def conditionals(self, X: Any, *, random_state: RandomState = None) -> TableConditionals:
        """Return the distributions of all features given all the others, for the rows of X.

        Latents of discrete values and missing cells are drawn once, with the seed `random_state`.
        """
        table = self._read(X)
        self._warn_of_unseen(table)
        rng = random_generator(self.random_state if random_state is None else random_state, stream=1)
        return TableConditionals(self.model_.scale, self.model_.density, self.encoding_, table.codes, rng)

    def conditional(self, X: Any, feature: int, *, random_state: RandomState = None) -> FeatureConditional:
        """Return the distribution of one feature, by its number, given all the others, for the rows of X."""
        check_is_fitted(self)
        check_count("feature", feature, least=0, most=self.n_features_in_ - 1)
        return self.conditionals(X, random_state=random_state).of(feature)

    def with_model_of(self, other: TableModel, model: JointModel) -> Self:
        """Take over a fitted model of rows, and how `other` sees the table that it was fitted on."""
        self.schema_, self.encoding_, self.fingerprints_ = other.schema_, other.encoding_, other.fingerprints_
        self.n_features_in_, self._names = other.n_features_in_, other._names
        if (names := getattr(other, "feature_names_in_", None)) is not None:
            self.feature_names_in_ = names
        self.model_, self.history_ = model, model.history
        self._fitted = True
        return self

    def score_samples(self, X: Any) -> Array:
        """log q(x) of each row, in the units of X."""
        z = self._middles(X)
        return self.model_.log_prob(z)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None) -> Array:
        """New rows, as an array with the columns of the fit."""
        check_is_fitted(self)
        check_count("n_samples", n_samples)
        rng = random_generator(self.random_state if random_state is None else random_state, stream=1)
        density = self.model_.density
        z = in_chunks(lambda *noise: density.sample(Noise(*noise)), *draw_noise(rng, n_samples, density))
        core = self.model_.from_scale(z)
        self._require_finite_draws(core)
        return self.encoding_.decode(core)

    def _check_settings(self) -> None:
        self._settings().check()
        check_choice("scale", self.scale, get_args(ScaleName))
        check_fraction("validation_fraction", self.validation_fraction)
        torch_device(self.device)

    def _settings(self) -> NetworkSettings:
        schedule = Schedule(self.epochs, self.batch_size, self.patience, self.averaging)
        return NetworkSettings(self.components, self.hidden, self.start, self.learning_rate, schedule)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        model = self.model_
        header = {"network": model.density.shape(), "history": [asdict(phase) for phase in self.history_]}
        return header, scale_arrays(model.scale) | network_arrays("joint", model.density)

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        columns = self._modelled_count
        device = torch_device(self.device)
        density = restore_density(header["network"], "joint", arrays, features=columns, context=0, device=device)
        self.history_ = restore_history(header["history"])
        self.model_ = JointModel(restore_scale(arrays, columns), density, None, self.history_)
