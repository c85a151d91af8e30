"""Two devices to compare: the GPU, and the CPU beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

LEAST_CORRELATION = 0.95
ROUNDING = 1e-3  # in standard deviations of a column
# share of cells: where rounding decides which component a draw comes from, others follow
MOST_OTHERWISE = 0.01

needs_gpu = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="torch sees no CUDA device here"
)


Work = Callable[[], NDArray[Any]]


@contextmanager
def without_gpu() -> Iterator[None]:
    """Let `device="auto"` be the CPU."""
    with mock.patch("torch.cuda.is_available", return_value=False):
        yield


class Comparison(NamedTuple):
    """What the GPU gave, again where that may differ, and what the CPU gave;
    the seconds of a run on each.
    """

    on_gpu: NDArray[Any]
    again: NDArray[Any]
    on_cpu: NDArray[Any]
    seconds: tuple[float, float]

    @classmethod
    def of(cls, work: Work, *, twice: bool) -> Comparison:
        begun = time.perf_counter()
        on_gpu = work()
        seconds = time.perf_counter() - begun
        again = work() if twice else on_gpu
        begun = time.perf_counter()
        with without_gpu():
            on_cpu = work()
        return cls(on_gpu, again, on_cpu, (seconds, time.perf_counter() - begun))

    @property
    def correlation(self) -> float:
        return float(np.corrcoef(self.on_gpu, self.on_cpu)[0, 1])

    def __str__(self) -> str:
        return f"{self.correlation:8.4f}{self.seconds[0]:8.1f}{self.seconds[1]:8.1f}"


def assert_equal_up_to_rounding(first: NDArray[Any], second: NDArray[Any]) -> None:
    """Nearly all cells are equal but for single precision."""
    scale = np.nanstd(second, axis=0, keepdims=True) + 1e-12
    near = np.isclose(first / scale, second / scale, rtol=0, atol=ROUNDING, equal_nan=True)
    assert (~near).mean() <= MOST_OTHERWISE
