"""How large networks are, from their shapes alone, and how much memory their training takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from knockoffs.runtime.memory import FLOAT32

Network = TypeVar("Network", bound=nn.Module)
# The weights, their gradients, two moments of Adam, the running mean, the best so far, and two while a loss is
# computed (masked weights and their gradients, or the weights that the running mean replaces).
_COPIES = 8


def without_weights(make: Callable[[], Network]) -> Network:
    """Make a network that has shapes alone: its weights take no memory and have no values."""
    with torch.device("meta"):
        return make()


def network_memory(*makers: Callable[[], nn.Module]) -> float:
    """Return the bytes that the weights of these networks take."""
    return FLOAT32 * sum(value.numel() for make in makers for value in without_weights(make).state_dict().values())


def training_memory(*makers: Callable[[], nn.Module]) -> float:
    """Estimate the bytes that these networks take in training, without their activations."""
    return _COPIES * network_memory(*makers)
