"""The density of a table's rows, stage 1 of DDLK, as an estimator of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Self

import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from knockoffs.density.density import Noise
from knockoffs.density.devices import DeviceName, torch_device
from knockoffs.density.hardware import in_chunks
from knockoffs.generators.conditionals import FeatureConditional, TableConditionals
from knockoffs.generators.joint_model import (
    JointModel,
    NetworkModel,
    ScaleName,
    Start,
    fit_joint_model,
    joint_memory,
)
from knockoffs.generators.rows import (
    FitRows,
    draw_noise,
)
from knockoffs.generators.saved_networks import network_arrays, restore_density, restore_history
from knockoffs.generators.table_model import TableModel
from knockoffs.kinds.scales import restore_scale, scale_arrays
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.checks import check_count
from knockoffs.runtime.memory import require_memory
from knockoffs.runtime.parallel import suited_threads
from knockoffs.runtime.progress import progress_bars
from knockoffs.runtime.randomness import RandomState, random_generator


class JointDensity(NetworkModel):
    """The density of a table's rows: stage 1 of DDLK as an estimator.

    It scores and samples rows, and knows each feature's distribution given all the others
    (`conditional`), which is what a randomisation test needs. Settings that are not listed here are
    those of `DDLK`.

    Parameters
    ----------
    learning_rate : float, default=6e-3
        `joint_learning_rate` of `DDLK`.
    epochs : int, default=60
        `joint_epochs` of `DDLK`.

    Examples
    --------
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
        epochs: int = 60,
        batch_size: int = 64,
        epoch_steps: int | None = 32,
        patience: int = 6,
        averaging: float = 0.97,
        validation_fraction: float = 0.15,
        max_rows: int | None = 50_000,
        device: DeviceName = "auto",
        random_state: RandomState = None,
        progress: bool = False,
    ) -> None:
        super().__init__(
            components=components,
            hidden=hidden,
            start=start,
            scale=scale,
            batch_size=batch_size,
            epoch_steps=epoch_steps,
            patience=patience,
            averaging=averaging,
            validation_fraction=validation_fraction,
            max_rows=max_rows,
            device=device,
            random_state=random_state,
            progress=progress,
        )
        self.learning_rate = learning_rate
        self.epochs = epochs

    def fit(self, X: Any, y: Any = None, *, kinds: Mapping[Any, str] | None = None) -> Self:
        """Learn the density of the rows of X. `y` is ignored; `kinds` as in `infer_schema`."""
        table, rng = self._begin_fit(X, kinds)
        memory = partial(joint_memory, self._settings(self.learning_rate, self.epochs), self.scale)
        require_memory(type(self).__name__, *table.shape, memory)
        self._describe(table, rng)
        rows = FitRows.split(self._encode_for_fit(table.codes, rng), self.validation_fraction, rng)
        # Gradients are needed, even if the caller has switched them off.
        with suited_threads(X), torch.inference_mode(mode=False), progress_bars(self.progress):
            self.model_ = fit_joint_model(
                rows,
                settings=self._settings(self.learning_rate, self.epochs, rows.several_draws),
                scale=self.scale,
                device=torch_device(self.device),
                rng=rng,
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
        rng = random_generator(
            self.random_state if random_state is None else random_state, stream=1
        )
        return TableConditionals(
            self.model_.scale, self.model_.density, self.encoding_, table.codes, rng
        )

    def conditional(
        self, X: Any, feature: int, *, random_state: RandomState = None
    ) -> FeatureConditional:
        """Return the distribution of one feature, by its number, given all the others,
        for the rows of X.
        """
        check_is_fitted(self)
        check_count("feature", feature, least=0, most=self.n_features_in_ - 1)
        return self.conditionals(X, random_state=random_state).of(feature)

    def joint_density(self) -> Self:
        """Return the density of rows, which this is."""
        return self

    def with_model_of(self, other: TableModel, model: JointModel) -> Self:
        """Take over a fitted model of rows, and how `other` sees the table that it was fitted
        on.
        """
        self.schema_, self.fingerprints_ = other.schema_, other.fingerprints_
        # a density knows no groups of features
        self.encoding_ = replace(other.encoding_, swapped=None)
        self.n_features_in_, self._names = other.n_features_in_, other._names
        if (names := other.names_of_fit) is not None:
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
        rng = random_generator(
            self.random_state if random_state is None else random_state, stream=1
        )
        density = self.model_.density
        z = in_chunks(
            lambda *noise: density.sample(Noise(*noise)), *draw_noise(rng, n_samples, density)
        )
        core = self.model_.from_scale(z)
        self._require_finite_draws(core)
        return self.encoding_.decode(core)

    def _check_settings(self) -> None:
        self._settings(self.learning_rate, self.epochs).check()
        super()._check_settings()

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        model = self.model_
        header = {
            "network": model.density.shape(),
            "history": [asdict(phase) for phase in self.history_],
        }
        return header, scale_arrays(model.scale) | network_arrays("joint", model.density)

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        columns = self._modelled_count
        device = torch_device(self.device)
        density = restore_density(
            header["network"], "joint", arrays, features=columns, context=0, device=device
        )
        self.history_ = restore_history(header["history"])
        scale = restore_scale(arrays, columns).converted(torch.as_tensor)
        self.model_ = JointModel(scale, density, None, self.history_)
