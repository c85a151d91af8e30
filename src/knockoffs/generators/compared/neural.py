"""Generators that are one network from x and noise to x̃: devices, scaling, model files,
signs of collapse.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from knockoffs.density.devices import DeviceName, torch_device
from knockoffs.density.hardware import in_chunks
from knockoffs.density.training import History
from knockoffs.generators.base import RowwiseGenerator
from knockoffs.generators.rows import split_rows
from knockoffs.generators.saved_networks import (
    network_arrays,
    restore_history,
    restore_network,
    training_memory,
)
from knockoffs.runtime.arrays import Array
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.checks import check_count, check_fraction, check_number
from knockoffs.runtime.memory import FLOAT64
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.progress import progress_bars
from knockoffs.runtime.randomness import RandomState, torch_generator
from knockoffs.runtime.typed_json import as_type
from knockoffs.schema.words import listing

COLLAPSED, EXPLODED = 0.2, 5.0  # times a column's standard deviation


class NeuralGenerator(RowwiseGenerator):
    """Subclasses write `_network` (the sampler, unfitted) and `_train` (which fits it in place)."""

    needs_torch = True
    _fewest_held_out = 1
    # Attributes that a model file must hold for `_network` to be made again, and their types.
    _extra_types: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        *,
        learning_rate: float,
        epochs: int,
        batch_size: int,
        averaging: float,
        validation_fraction: float,
        device: DeviceName,
        random_state: RandomState,
        progress: bool,
    ) -> None:
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.averaging = averaging
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.progress = progress

    @abstractmethod
    def _network(self, features: int, generator: torch.Generator) -> Any: ...

    @abstractmethod
    def _train(
        self,
        network: Any,
        x: Tensor,
        held_out: Tensor,
        rng: np.random.Generator,
    ) -> list[History]: ...

    def _prepare(self, x: Tensor, held_out: Tensor, rng: np.random.Generator) -> None:
        """What must be known before the network can be made."""

    def _check_settings(self) -> None:
        check_number("learning_rate", self.learning_rate, least=0, least_allowed=False)
        check_count("epochs", self.epochs)
        check_count("batch_size", self.batch_size, least=2)
        check_number("averaging", self.averaging, least=0, below=1)
        check_fraction("validation_fraction", self.validation_fraction)
        torch_device(self.device)

    def _trained_networks(self, columns: int) -> list[Callable[[], nn.Module]]:
        """Return what makes the networks that are in memory together during training."""
        return [partial(self._network, columns, torch.Generator())]

    def _fit_memory(self, rows: int, columns: int) -> float:
        in_training = training_memory(*self._trained_networks(columns))
        if torch_device(self.device).type != "cpu":
            in_training = 0  # it is not in the memory of the machine
        return in_training + FLOAT64 * 4 * rows * columns

    def _fit(self, core: Array, rng: np.random.Generator) -> None:
        device = torch_device(self.device)
        train, held_out = split_rows(core, self.validation_fraction, rng)
        if len(held_out) < self._fewest_held_out:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out {len(held_out)} of "
                f"{len(core)} rows; "
                f"at least {self._fewest_held_out} are needed. Raise it or collect more rows."
            )
        self.mean_, self.deviation_ = train.mean(0), train.std(0)
        x, x_held_out = self._standardised(train), self._standardised(held_out)
        with progress_bars(self.progress):
            self._prepare(x, x_held_out, rng)
            self._sampler = self._network(
                core.shape[1], torch_generator(rng, torch.device("cpu"))
            ).to(device)
            self.history_ = self._train(self._sampler, x, x_held_out, rng)
        self._sampler.eval()
        self._warn_of_failure(core, rng)

    def _standardised(self, core: Array) -> Tensor:
        standardised = torch.as_tensor((core - self.mean_) / self.deviation_)
        return standardised.float().to(torch_device(self.device))

    def _sample(self, core: Array, rng: np.random.Generator) -> Array:
        x = self._standardised(core)
        noise = torch.as_tensor(rng.standard_normal((len(x), self._sampler.noise))).to(x)
        with torch.no_grad():
            drawn = in_chunks(self._sampler, x, noise)
        return drawn.cpu().double().numpy() * self.deviation_ + self.mean_

    def _warn_of_failure(self, core: Array, rng: np.random.Generator) -> None:
        spread = self._sample(core, rng).std(0) / core.std(0)
        collapsed = np.flatnonzero(spread < COLLAPSED)
        if len(collapsed):
            which = listing([self._name_of_internal(j) for j in collapsed])
            problem = (
                f"{which}: the knockoffs collapsed to less than {COLLAPSED:g} of the spread of "
                f"the data "
                f"(smallest share {spread.min():.2g})"
            )
        elif (spread > EXPLODED).any():
            problem = (
                f"the knockoffs scatter over up to {spread.max():.2g} times the spread of the data"
            )
        elif self.history_[-1].best_epoch == 0:
            problem = "training did not improve on its random start on held-out rows"
        else:
            return
        caution(
            f"{problem}. Do not use them; lower learning_rate, train longer, or use another "
            f"generator. history_ "
            "holds the losses."
        )

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {"history": [asdict(h) for h in self.history_]}
        header |= {name: getattr(self, name) for name in self._extra_types}
        weights = network_arrays("network", self._sampler)
        return header, {"mean": self.mean_, "deviation": self.deviation_} | weights

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        columns = self._modelled_count
        self.mean_, self.deviation_ = (
            take_array(arrays, name, (columns,)) for name in ("mean", "deviation")
        )
        if self.deviation_.min() <= 0:
            raise ValueError("the array 'deviation' has standard deviations that are not above 0")
        self.history_ = restore_history(header["history"])
        for name, kind in self._extra_types.items():
            setattr(self, name, as_type(kind, header[name], name))
        # a tuple of widths; other values stand for few layers
        hidden = self.get_params(deep=False)["hidden"]
        self._sampler = restore_network(
            partial(self._network, columns, torch.Generator()),
            "network",
            arrays,
            hidden_layers=len(hidden) if isinstance(hidden, tuple) else 0,
            device=torch_device(self.device),
        )
        self._sampler.eval()
