"""Many rows, some at a time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_CHUNK_CELLS = 2**18  # rows times columns; a chunk's activations then take some tens of megabytes


@torch.no_grad()
def in_chunks(function: Callable[..., Tensor], *tables: Tensor) -> Tensor:
    """`function` of the tables' rows, some at a time."""
    size = max(1, _CHUNK_CELLS // tables[0].shape[1])
    parts = zip(*(table.split(size) for table in tables), strict=True)
    return torch.cat([function(*part) for part in parts])
