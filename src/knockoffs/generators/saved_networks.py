"""Networks and training histories in model files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from knockoffs.density.density import AutoregressiveDensity
from knockoffs.density.training import History
from knockoffs.generators.network_sizes import Network, without_weights
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
    make: Callable[[], Network], name: str, arrays: Arrays, *, hidden_layers: int, device: torch.device
) -> Network:
    """Make a network and give it the weights that `network_arrays` wrote.

    It is made without memory for its weights, and their shapes are compared with those in the file first: whatever
    sizes a damaged header asks for, nothing larger than the file is allocated.
    """
    if hidden_layers > len(arrays):
        raise ValueError(f"the network {name!r} has {hidden_layers} hidden layers, but only {len(arrays)} arrays")
    network = without_weights(make)
    weights = {
        key: torch.as_tensor(take_array(arrays, f"{name}.{key}", tuple(value.shape))).to(value.dtype)
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
        raise ValueError(f"the network {name!r} is not for {features} columns and {context} columns of context")
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
