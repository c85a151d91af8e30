"""Networks and training histories in model files, and how large networks are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from torch import nn

from knockoffs.density.density import AutoregressiveDensity
from knockoffs.density.training import History
from knockoffs.runtime.memory import FLOAT32
from knockoffs.runtime.model_files import take_array
from knockoffs.runtime.typed_json import as_record, as_type

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class DensityShape:
    """The entries of `AutoregressiveDensity.shape()`."""

    features: int
    components: int
    hidden: list[int]
    context: int
    views: list[int] | None


def network_arrays(name: str, network: nn.Module) -> Arrays:
    """Return the weights of a network under names that begin with `name`."""
    return {f"{name}.{key}": value.cpu().numpy() for key, value in network.state_dict().items()}


def restore_network(
    make: Callable[[], Network],
    name: str,
    arrays: Arrays,
    *,
    hidden_layers: int,
    device: torch.device,
) -> Network:
    """Make a network and give it the weights that `network_arrays` wrote.

    It is made without memory for its weights, and their shapes are compared with those in the file
    first: whatever sizes a damaged header asks for, nothing larger than the file is allocated.
    """
    if hidden_layers > len(arrays):
        raise ValueError(
            f"the network {name!r} has {hidden_layers} hidden layers, but only {len(arrays)} arrays"
        )
    network = without_weights(make)
    weights = {
        key: torch.as_tensor(take_array(arrays, f"{name}.{key}", tuple(value.shape))).to(
            value.dtype
        )
        for key, value in network.state_dict().items()
    }
    network.load_state_dict(weights, assign=True)
    return network.to(device)


def restore_density(
    shape: Any, name: str, arrays: Arrays, *, features: int, context: int, device: torch.device
) -> AutoregressiveDensity:
    """Make a density of the shape in a header, with the weights of a model file."""
    known = as_record(DensityShape, shape)
    if (known.features, known.context) != (features, context):
        raise ValueError(
            f"the network {name!r} is not for {features} columns and {context} columns of context"
        )
    density = restore_network(
        lambda: AutoregressiveDensity.of_shape(asdict(known)),
        name,
        arrays,
        hidden_layers=len(known.hidden),
        device=device,
    )
    density.forget_masked()
    return density


def restore_history(header: Any) -> list[History]:
    """Make the histories of a fit's stages from their entries in a header."""
    return [as_record(History, entry) for entry in as_type(list[Any], header, "history")]


Network = TypeVar("Network", bound=nn.Module)
# The weights, their gradients, two moments of Adam, the running mean, the best so far, and two
# while a loss is computed (masked weights and their gradients, or the weights that the running mean
# replaces).
_COPIES = 8


def without_weights(make: Callable[[], Network]) -> Network:
    """Make a network that has shapes alone: its weights take no memory and have no values."""
    with torch.device("meta"):
        return make()


def training_memory(*makers: Callable[[], nn.Module]) -> float:
    """Estimate the bytes that these networks take in training, without their activations."""
    weights = (weight for make in makers for weight in without_weights(make).state_dict().values())
    return _COPIES * FLOAT32 * sum(weight.numel() for weight in weights)
