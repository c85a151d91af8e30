"""The statistic of several knockoff draws, by an object or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.runtime.parallel import in_parallel, worker_count
from knockoffs.runtime.progress import part_of_work, report_stage
from knockoffs.statistics.any_statistic import declared_by, is_statistic
from knockoffs.statistics.base import Statistic
from knockoffs.table.table import Table
from knockoffs.targets.base import Target

MOST_PREDICTIONS = 50_000_000  # numbers that are kept to describe effects


class Draws(NamedTuple):
    """The statistic of each draw, and what its models say of the first.

    Attributes
    ----------
    ws : array of shape (draws, features)
        The statistic w; a group of features has one.
    others : array of shape (rows, features, outputs) or None
        What the models of the first draw predict from all features but one; None where there are no
        such models.
    """

    ws: Array
    others: Array | None


def compute_draws(
    statistic: Any,
    X: Any,
    table: Table,
    knockoffs: Sequence[Table],
    y: Any,
    target: Target,
    *,
    groups: Indices | None,
) -> Draws:
    """Compute w of each draw; a function is given X and y themselves, which `table` and `target`
    hold as they were read.

    Several draws share the cores; those of a single draw are left to its statistic.
    """
    shared, draws = (statistic, X, table, y, target, groups), len(knockoffs)
    if draws == 1 or worker_count() == 1 or not _is_seeded(statistic):
        found = _one_by_one(partial(_of_a_draw, *shared), knockoffs)
    else:
        found = in_parallel(_of_a_draw, enumerate(knockoffs), shared=shared)
    ws, others, features = [], None, len(table.units)
    for draw, (w, own) in enumerate(found):
        if w.shape != (features,) or not np.isfinite(w).all():
            raise ValueError(
                f"statistic returned w of shape {w.shape}: return one finite number for each of "
                f"the {features} "
                "features (a group of features is one)."
            )
        ws.append(w)
        others = own if draw == 0 else others
        with _named(draw, draws):
            report_stage("statistic", 1, 1)
    return Draws(np.stack(ws), others)


def _one_by_one(
    compute: Callable[[int, Table], tuple[Array, Array | None]], knockoffs: Sequence[Table]
) -> Iterator[tuple[Array, Array | None]]:
    for draw, own in enumerate(knockoffs):
        with _named(draw, len(knockoffs)):
            result = compute(draw, own)
        yield result


def _named(draw: int, draws: int) -> AbstractContextManager[None]:
    """Let stages of the work within name the draw, where there are several."""
    return nullcontext() if draws == 1 else part_of_work(f"draw {draw + 1} of {draws}")


def _is_seeded(statistic: Any) -> bool:
    """Return whether draws do not depend on each other:
    functions and random generators may have a state.
    """
    seed = declared_by(statistic).random_state
    return is_statistic(statistic) and (seed is None or isinstance(seed, (int, np.integer)))


def _of_a_draw(
    statistic: Any,
    X: Any,
    table: Table,
    y: Any,
    target: Target,
    groups: Indices | None,
    draw: int,
    knockoffs: Table,
) -> tuple[Array, Array | None]:
    """Return w, and what all features but one predict, which the first draw alone is asked for."""
    if not is_statistic(statistic):
        return np.asarray(statistic(X, knockoffs.to_native(), y), dtype=np.float64), None
    few = len(table) * len(table.units) <= MOST_PREDICTIONS
    if not isinstance(statistic, Statistic):
        return statistic.compute(table, knockoffs, y, groups=groups), None
    predict = draw == 0 and few and statistic.predicts
    return statistic.compute_read(table, knockoffs, target, groups, predict=predict)
