"""The lasso of a quantity at the penalty that cross-validates best, along the exact paths of LARS."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.parallel import in_parallel

FIRST_STEPS = 256  # of a path; it is followed further while its best penalty may still lie ahead
BEHIND = 0.5  # share of a path, in steps, behind which its best penalty must lie
PENALTIES = 200
SMALLEST = 1e-6  # penalty, as a share of the largest


class _Path(NamedTuple):
    """Residuals of unseen rows along the path of a fold; between its penalties they are straight lines."""

    penalties: Array  # falling
    residuals: Array  # [rows, penalties]

    def losses(self, penalties: Array) -> Array:
        """The sum of squares of the residuals at other penalties, none of them beyond the end of the path."""
        if len(self.penalties) == 1:
            return np.full(len(penalties), (self.residuals**2).sum())
        after = np.clip(np.searchsorted(-self.penalties, -penalties), 1, len(self.penalties) - 1)
        before, gap = self.penalties[after - 1], self.penalties[after - 1] - self.penalties[after]
        share = np.clip((before - penalties) / np.maximum(gap, np.finfo(float).tiny), 0, 1)
        found = self.residuals[:, after - 1] * (1 - share) + self.residuals[:, after] * share
        return (found**2).sum(0)


def lars_lasso(x: Array, y: Array, cv: Sequence[tuple[Indices, Indices]], *, n_jobs: int | None = None) -> Array:
    """Return the coefficients of the lasso at the penalty with the smallest loss over the folds.

    A path is not followed to its end, where it has as many coefficients as there are columns or rows: it is
    followed until its fold's loss was smallest in the first half of the steps. With strongly correlated columns a
    grid of penalties that is set beforehand stops too early.
    """
    paths = list(in_parallel(_fold_path, cv, shared=(x, y), n_jobs=n_jobs))
    largest = max(path.penalties[0] for path in paths)
    if largest == 0:
        return np.zeros(x.shape[1])
    end = max(path.penalties[-1] for path in paths)
    penalties = np.geomspace(largest, max(end, SMALLEST * largest), PENALTIES)
    best = penalties[np.sum([path.losses(penalties) for path in paths], axis=0).argmin()]
    _, coefficients = _follow(x - x.mean(0), y - y.mean(), steps=_most_steps(x), least=float(best))
    return coefficients[:, -1]


def _fold_path(x: Array, y: Array, train: Indices, test: Indices) -> _Path:
    x_mean, y_mean = x[train].mean(0), y[train].mean()
    seen, target = x[train] - x_mean, y[train] - y_mean
    gram = seen.T @ seen if len(seen) > seen.shape[1] else None
    most = _most_steps(x)
    steps = min(FIRST_STEPS, most)
    while True:
        penalties, coefficients = _follow(seen, target, steps=steps, gram=gram)
        residuals = (y[test] - y_mean)[:, None] - (x[test] - x_mean) @ coefficients
        best = int((residuals**2).sum(0).argmin())
        if best < BEHIND * steps or len(penalties) < steps or steps == most:
            return _Path(penalties, residuals)
        steps = min(2 * steps, most)


def _most_steps(x: Array) -> int:
    return 2 * x.shape[1] + 100


def _follow(
    x: Array, y: Array, *, steps: int, gram: Array | None = None, least: float = 0.0
) -> tuple[Array, Array]:
    """Penalties, falling, and the coefficients `[columns, penalties]` at them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near-copies end a path early
        penalties, _, coefficients = lars_path(x, y, Gram=gram, max_iter=steps, alpha_min=least, method="lasso")
    return penalties, coefficients
