r"""The distilled statistic: does a feature explain what all the others leave of y?

With residuals r of y that know nothing of feature j, and shapes φ of its cells without their means
over the copies, $b = \sum_i r_i φ(x_{ij})$ has mean 0 and variance $\sum_i r_i^2 \operatorname{var}
φ$ under redraws. Three tests of b are combined: of the value (a line), of all shapes (any curve),
and of the largest product of the value with another feature (an effect that depends on another
feature). The statistic is the largest of their three log-probabilities with weights, so a line
loses next to nothing by the presence of the others. These are normal approximations, which matter
for power alone: the p-value comes from redraws of the same statistic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import chi2
from torch import Tensor

from knockoffs.pvalues.copies import Copies
from knockoffs.runtime.arrays import Array, Indices

WEIGHTS = {"line": 0.75, "curve": 0.15, "product": 0.10}
PRODUCT_SHAPES = 2  # levels of a nominal feature that are multiplied by other features
WORK = 2**24  # numbers of a batch of redraws that are in memory together
LEAST = 1e-12


class Effect(NamedTuple):
    """How y changes with a feature while all others stay as they are.

    `slope` and its standard `error` are per standard deviation of the feature: in standard
    deviations of a quantity y, or of the share of rows with the second of two classes; nan for
    features without an order and for more classes. `strength` is the share of what the other
    features leave of y that the feature explains, by any curve.
    """

    slope: float
    error: float
    strength: float


class Distilled:
    """The statistic of one feature, for its own cells and for redraws."""

    def __init__(
        self, copies: Copies, residuals: Array, others: Array, place: Indices | None
    ) -> None:
        centred = copies.centred
        device = centred.device
        self._ordered, self._place = (
            copies.ordered,
            None if place is None else torch.as_tensor(place).to(device),
        )
        if self._place is not None:  # rows that repeat another one are redrawn with it
            centred = centred[self._place]
        own, other = torch.as_tensor(residuals).to(device), torch.as_tensor(others).to(device)
        inner = torch.einsum("ikt,iks->its", centred, centred) / centred.shape[1]
        squares = own.square()
        self._whitening = [
            _inverse_root(each)
            for each in torch.einsum("ic,its->cts", squares, inner).cpu().numpy()
        ]
        self._rank = sum(root.shape[1] for root in self._whitening)
        self._lines = 1 if copies.ordered else 0
        factors = min(centred.shape[2], 1 if copies.ordered else PRODUCT_SHAPES)
        self._products = residuals.shape[1] * others.shape[1] * factors
        self._residuals = own.float()
        # residuals times other features, [rows, outputs x others], in units of their standard
        # deviation
        self._weights = [
            (own[:, :, None] * other[:, None] / _deviations(squares, other, inner[:, t, t]))
            .flatten(1)
            .float()
            for t in range(factors)
        ]
        self._shapes = centred.float().reshape(-1, centred.shape[2])
        self._copies = centred.shape[1]
        self._first = torch.arange(len(residuals), device=device) * self._copies
        self._inner, self._squares = inner.cpu().numpy(), squares.cpu().numpy()

    @property
    def empty(self) -> bool:
        """Return whether no row has a copy that differs from its cell."""
        return self._rank == 0

    def observed(self) -> float:
        return float(self._statistics(self._first[None])[0])

    def redraw(self, count: int, generator: torch.Generator) -> Array:
        """Statistics of redraws."""
        rows = len(self._first) if self._place is None else int(self._place.max()) + 1
        size = max(1, WORK // (len(self._first) * self._shapes.shape[1]))
        found = []
        for start in range(0, count, size):
            shape = (min(size, count - start), rows)
            chosen = torch.randint(
                self._copies, shape, generator=generator, device=self._first.device
            )
            if self._place is not None:
                chosen = chosen[:, self._place]
            found.append(self._statistics(self._first + chosen))
        return np.concatenate(found)

    def effect(self) -> Effect:
        b = self._sums(self._shapes[self._first][None])[0]
        curve = sum(
            float(((root.T @ own) ** 2).sum())
            for root, own in zip(self._whitening, b.T, strict=True)
        )
        strength = max(0.0, curve - self._rank) / len(self._first)
        if not self._ordered or b.shape[1] > 1:
            return Effect(np.nan, np.nan, strength)
        variance = max(float(self._inner[:, 0, 0].sum()), LEAST)
        error = np.sqrt(float((self._squares[:, 0] * self._inner[:, 0, 0]).sum())) / variance
        return Effect(float(b[0, 0]) / variance, error, strength)

    def _sums(self, cells: Tensor) -> Array:
        """b of redraws, `[redraws, shapes, outputs]`."""
        return torch.einsum("mit,ic->mtc", cells, self._residuals).double().cpu().numpy()

    def _statistics(self, chosen: Tensor) -> Array:
        """The statistic for chosen copies of each row, `[redraws, rows]`."""
        cells = self._shapes[chosen]
        b = self._sums(cells)
        found = []
        curve = sum(((b[:, :, c] @ root) ** 2).sum(1) for c, root in enumerate(self._whitening))
        found.append(-chi2.logsf(curve, self._rank) + np.log(WEIGHTS["curve"]))
        if self._lines:
            line = sum((b[:, 0, c] ** 2) / self._variance(c) for c in range(b.shape[2]))
            found.append(-chi2.logsf(line, b.shape[2]) + np.log(WEIGHTS["line"]))
        if self._products:
            tops = [
                (cells[:, :, t] @ weight).square().amax(1) for t, weight in enumerate(self._weights)
            ]
            largest = torch.stack(tops).amax(0).double().cpu().numpy()
            found.append(
                -chi2.logsf(largest, 1) - np.log(self._products) + np.log(WEIGHTS["product"])
            )
        return np.max(found, axis=0)

    def _variance(self, output: int) -> float:
        return max(float((self._squares[:, output] * self._inner[:, 0, 0]).sum()), LEAST)


def _deviations(squares: Tensor, others: Tensor, variance: Tensor) -> Tensor:
    """Standard deviations under redraws of products with other features, `[outputs, others]`."""
    return ((squares * variance[:, None]).T @ others.square()).clamp(min=LEAST).sqrt()


def _inverse_root(matrix: Array) -> Array:
    """R with R Rᵀ the inverse of the matrix, on the space in which it is not all but zero."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-6 * max(float(values.max(initial=0.0)), LEAST)
    return vectors[:, kept] / np.sqrt(values[kept])
