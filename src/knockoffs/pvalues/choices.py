"""Settings of a randomisation test: what is allowed, what they stand for,
and what is said of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from knockoffs.pvalues.corrections import NAMES, Correction, level_alone
from knockoffs.pvalues.one_feature import Variant
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.cautions import caution
from knockoffs.schema.words import column_name, counted, listing
from knockoffs.statistics.models import NAMED
from knockoffs.table.table import Table

STATISTICS: dict[Variant, tuple[str, ...]] = {
    "distilled": ("linear", "boosting"),
    "holdout": NAMED,
}


def check_density(density: Any) -> None:
    """Refuse a density that nothing can be drawn from."""
    known = (
        hasattr(density, "conditionals") or hasattr(density, "joint_density") or callable(density)
    )
    if isinstance(density, type) or not (density is None or known):
        raise ValueError(
            f"density={density!r} is not valid: pass a JointDensity, a DDLK, a function that "
            f"draws a feature "
            "given the others, or None."
        )


def check_statistic(variant: Variant, statistic: Any) -> None:
    """Refuse a statistic that the variant cannot use."""
    names = STATISTICS[variant]
    if isinstance(statistic, str):
        fine = statistic in names
    else:
        fine = statistic is None or (hasattr(statistic, "fit") and not isinstance(statistic, type))
    if not fine:
        raise ValueError(
            f"statistic={statistic!r} is not valid for variant={variant!r}: pass "
            f"{', '.join(map(repr, names))}, an estimator, or None."
        )


def residual_model(statistic: Any) -> Callable[[int], Any] | None:
    """Return what makes a model of y given other features from a seed;
    None for ridge regression alone.
    """
    if isinstance(statistic, str) and statistic == "linear":
        return None
    if statistic is None or isinstance(statistic, str):
        return lambda seed: HistGradientBoostingRegressor(
            max_iter=60, max_leaf_nodes=8, max_bins=63, early_stopping=False, random_state=seed
        )
    return lambda seed: clone(statistic)


def warn_of_copies(table: Table, copies: Flags) -> None:
    """Warn of features that cannot be tested."""
    if copies.any():
        which = listing([column_name(table.names, j) for j in np.flatnonzero(copies)])
        caution(
            f"{which}: constant, duplicates, or determined by other columns. Given all others "
            f"such a feature "
            "has one value and cannot be tested: its p-value is 1. Drop it, or what determines it."
        )


def warn_of_resolution(resamples: int, level: float, correction: Correction, tests: int) -> None:
    """Warn where no p-value can be small enough for a discovery that is the only one."""
    least = 1 / (1 + resamples)
    needed = level_alone(level, correction, tests)
    if least > needed:
        caution(
            f"resamples={resamples} gives p-values of {least:.2g} at least, and a single "
            f"discovery among {tests} "
            f"features needs {needed:.2g}. Pass resamples={int(np.ceil(1 / needed))} or more."
        )


def explain_tests(selected: Flags, pvalues: Array, level: float, correction: Correction) -> str:
    """Return one sentence: how many discoveries there are, or how close the nearest is."""
    how = f"at level {level:g} ({NAMES[correction]})"
    if selected.any():
        are = "is a discovery" if selected.sum() == 1 else "are discoveries"
        return f"{selected.sum()} of {counted(len(pvalues), 'tested feature')} {are} {how}."
    tested = counted(len(pvalues), "tested feature")
    return f"None of {tested} is a discovery {how}; the smallest p is {pvalues.min():.2g}."
