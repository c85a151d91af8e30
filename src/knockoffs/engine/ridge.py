"""Ridge regression, with the penalty that predicts held-out rows best."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

PENALTIES = torch.logspace(-6, 1, 15, dtype=torch.float64)  # for each row, of standardised columns


class Line(NamedTuple):
    """Straight lines: slopes `[outputs, features]`, intercepts `[outputs]`."""

    slope: Tensor
    intercept: Tensor


class Ridge(NamedTuple):
    """The lines, and their mean squared error on held-out rows, summed over outputs."""

    line: Line
    loss: float


def fit_ridge(x: Tensor, y: Tensor, held_out: Tensor) -> Ridge:
    """Lines from the columns of x to those of y `[rows, outputs]`; the rows flagged `held_out` choose the penalty.

    One eigendecomposition, of the smaller of the two Gram matrices, serves all penalties.
    """
    x, y = x.double(), y.double()
    fitted, kept = ~held_out, held_out
    centre, level = x[fitted].mean(0), y[fitted].mean(0)
    a, b = x[fitted] - centre, y[fitted] - level
    wide = a.shape[1] > a.shape[0]
    values, vectors = torch.linalg.eigh(a @ a.T if wide else a.T @ a)
    along = vectors.T @ (b if wide else a.T @ b)
    best: Ridge | None = None
    for penalty in PENALTIES * len(a):
        solved = vectors @ (along / (values.clamp(min=0) + penalty).unsqueeze(1))
        slope = (a.T @ solved if wide else solved).T
        loss = (y[kept] - level - (x[kept] - centre) @ slope.T).square().sum(1).mean().item()
        if best is None or loss < best.loss:
            best = Ridge(Line(slope, level - slope @ centre), loss)
    assert best is not None
    return best
