"""Ridge regression, with the penalty that predicts held-out rows best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

# per row, of standardised columns
PENALTIES = torch.logspace(-6, 1, 15, dtype=torch.float64).tolist()


class Line(NamedTuple):
    """Straight lines: slopes `[outputs, features]`, intercepts `[outputs]`."""

    slope: Tensor
    intercept: Tensor


class Ridge(NamedTuple):
    """The lines, their mean squared error on held-out rows, summed over outputs,
    and the penalty per row.
    """

    line: Line
    loss: float
    penalty: float


class _Rows(NamedTuple):
    """Rows to fit, about their means, and rows to judge by."""

    x: Tensor
    y: Tensor
    centre: Tensor
    level: Tensor
    kept_x: Tensor
    kept_y: Tensor

    @classmethod
    def of(cls, x: Tensor, y: Tensor, held_out: Tensor) -> _Rows:
        x, y = x.double(), y.double()
        centre, level = x[~held_out].mean(0), y[~held_out].mean(0)
        return cls(
            x[~held_out] - centre, y[~held_out] - level, centre, level, x[held_out], y[held_out]
        )

    @property
    def wide(self) -> bool:
        return self.x.shape[1] > self.x.shape[0]

    def gram(self) -> Tensor:
        """The smaller of the two Gram matrices."""
        return self.x @ self.x.T if self.wide else self.x.T @ self.x

    def ridge(self, solved: Tensor, penalty: float) -> Ridge:
        """The lines of coefficients for the columns, or for the rows where these are fewer."""
        slope = (self.x.T @ solved if self.wide else solved).T
        intercept = self.level - slope @ self.centre
        loss = (self.kept_y - self.kept_x @ slope.T - intercept).square().sum(1).mean().item()
        return Ridge(Line(slope, intercept), loss, penalty)


def fit_ridge(x: Tensor, y: Tensor, held_out: Tensor) -> Ridge:
    """Lines from the columns of x to those of y `[rows, outputs]`;
    the rows flagged `held_out` choose the penalty.

    One eigendecomposition serves all penalties.
    """
    rows = _Rows.of(x, y, held_out)
    values, vectors = torch.linalg.eigh(rows.gram())
    along = vectors.T @ (rows.y if rows.wide else rows.x.T @ rows.y)
    found = (
        rows.ridge(
            vectors @ (along / (values.clamp(min=0) + penalty * len(rows.x)).unsqueeze(1)), penalty
        )
        for penalty in PENALTIES
    )
    return min(found, key=lambda ridge: ridge.loss)


def fit_ridge_at(x: Tensor, y: Tensor, held_out: Tensor, penalty: float) -> Ridge:
    """Fit the lines as `fit_ridge` does, but at a penalty that is given instead of chosen."""
    rows = _Rows.of(x, y, held_out)
    gram = rows.gram()
    gram.diagonal().add_(penalty * len(rows.x))
    solved = torch.cholesky_solve(
        rows.y if rows.wide else rows.x.T @ rows.y, torch.linalg.cholesky(gram)
    )
    return rows.ridge(solved, penalty)


def fit_ridges(
    tables: Iterable[Tensor], y: Tensor, held_out: Tensor
) -> Iterator[tuple[Tensor, Ridge]]:
    """Several tables that are much alike and the lines of each;
    the first chooses the penalty for all.
    """
    penalty = None
    for x in tables:
        ridge = (
            fit_ridge(x, y, held_out) if penalty is None else fit_ridge_at(x, y, held_out, penalty)
        )
        penalty = ridge.penalty
        yield x, ridge
