"""Rows and devices: the split into training and held-out rows, chunks that fit in memory, noise for draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from knockoffs.arrays import Array
from knockoffs.engine.density import AutoregressiveDensity, Noise

_CHUNK_CELLS = 2**18  # rows times columns; a chunk's activations then take some tens of megabytes


def torch_device(name: str) -> torch.device:
    """`"auto"` (CUDA where there is one), `"cpu"`, `"cuda"` or `"cuda:N"`."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = name.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"device={name!r} is not valid: pass 'auto', 'cpu', 'cuda' or 'cuda:N'.")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device={name!r}, but this machine has no CUDA device that torch can use. "
            "Pass device='cpu', or 'auto' to use CUDA only where there is one."
        )
    return torch.device(name)


def split_rows(x: Array, held_out: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Training rows and held-out rows, at random."""
    order = rng.permutation(len(x))
    count = max(1, round(held_out * len(x)))
    return x[order[count:]], x[order[:count]]


@torch.no_grad()
def in_chunks(function: Callable[..., Tensor], *tables: Tensor) -> Tensor:
    """`function` of the tables' rows, some at a time."""
    size = max(1, _CHUNK_CELLS // tables[0].shape[1])
    parts = zip(*(table.split(size) for table in tables), strict=True)
    return torch.cat([function(*part) for part in parts])


def draw_noise(rng: np.random.Generator, rows: int, density: AutoregressiveDensity) -> Noise:
    """Noise made row after row on the CPU: the same for the first rows whatever their number and the device."""
    uniform, normal = rng.spawn(2)
    shape = (rows, density.features)
    return Noise(
        torch.as_tensor(uniform.random(shape)).to(density.weight),
        torch.as_tensor(normal.standard_normal(shape)).to(density.weight),
    )
