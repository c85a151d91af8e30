"""Draws on a CPU, column after column: in numpy, whose small steps cost a third of torch's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from knockoffs.density.gradients import FURTHEST, Stack

_Array = NDArray[Any]

_ROWS = 512  # drawn together: what a column's step works on then stays in the processor's cache


def sample_in_order(
    stack: Stack,
    onto: Tensor,
    from_context: Tensor,
    weights: Sequence[Tensor],
    uniform: Tensor,
    normal: Tensor,
) -> Tensor:
    """Draw for noise `[features, rows]`; `onto` are the weights of the columns in the projections
    of all.

    `from_context` is the rest of the projections; weights and biases of the layers alternate.
    """
    # Biases and routes become weights of inputs that are always 1, and of projections.
    layers = [torch.cat(pair, dim=2) for pair in zip(weights[::2], weights[1::2], strict=True)]
    layers[-1] = torch.cat([layers[-1], stack.routes.T.expand(len(onto), -1, -1)], dim=2)
    columns = _Columns(stack, onto.numpy(), [layer.numpy() for layer in layers])
    y = np.empty_like(normal.numpy())
    for start in range(0, normal.shape[1], _ROWS):
        rows = slice(start, start + _ROWS)
        parts = (
            part.numpy() for part in (from_context[:, :, rows], uniform[:, rows], normal[:, rows])
        )
        y[:, rows] = columns.draw(*parts)
    return torch.from_numpy(y)


class _Columns:
    """The networks of all columns, one of which draws at a time."""

    def __init__(self, stack: Stack, onto: _Array, layers: Sequence[_Array]) -> None:
        self._stack, self._onto, self._layers = stack, onto, layers
        self._unit = stack.unit[:, :, 0].numpy()

    # whoever gets the draws looks whether they are finite
    @np.errstate(over="ignore", invalid="ignore")
    def draw(self, from_context: _Array, uniform: _Array, normal: _Array) -> _Array:
        """Return draws `[features, rows]`. This loop is all overhead: keep it lean."""
        stack, count, rows = self._stack, self._stack.head.components, normal.shape[1]
        y = np.empty(normal.shape, dtype=normal.dtype)
        projected = np.empty((self._onto.shape[1], rows), dtype=y.dtype)
        inputs = [np.ones((layer.shape[2], rows), dtype=y.dtype) for layer in self._layers]
        hidden = [
            (layer, seen, following[: layer.shape[1]])
            for layer, seen, following in zip(
                self._layers[:-1], inputs[:-1], inputs[1:], strict=True
            )
        ]
        seen, skipped = inputs[0][: stack.seen], inputs[-1][len(inputs[-1]) - len(stack.routes) :]
        raw = np.empty((stack.head.outputs, rows), dtype=y.dtype)
        logits = raw[:count]
        means, log_scales = raw[count : 2 * count].reshape(-1), raw[2 * count :].reshape(-1)
        lowest, place = math.log(stack.head.smallest_scale), np.arange(rows)
        for j in range(len(y)):
            np.matmul(self._onto[j, :, :j], y[:j], out=projected)
            np.add(projected, from_context[j], out=projected)
            np.maximum(projected[: stack.seen], -FURTHEST if stack.clamped else 0, out=seen)
            if stack.clamped:
                np.minimum(seen, FURTHEST, out=seen)
            skipped[:] = projected[stack.seen :]
            for layer, before, after in hidden:
                np.matmul(layer[j], before, out=after)
                np.maximum(after, 0, out=after)
            np.matmul(self._layers[-1][j], inputs[-1], out=raw)
            np.subtract(logits, logits.max(0), out=logits)
            cumulative = np.exp(logits, out=logits).cumsum(0)
            component = (uniform[j] * cumulative[-1] > cumulative[:-1]).sum(0)
            own = self._unit[j][component]
            component *= rows
            component += place
            drawn = np.maximum(log_scales[component], lowest)
            np.exp(drawn, out=drawn)
            drawn *= normal[j]
            drawn += means[component]
            np.multiply(drawn, own, out=y[j])
        return y
