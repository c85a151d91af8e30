"""`check_swap`: can these knockoffs be trusted?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from knockoffs.arrays import Array, Indices
from knockoffs.checks import check_choice, check_count, check_fraction
from knockoffs.diagnostics.certificate import Certificate
from knockoffs.diagnostics.divergence import has_densities, swap_divergence
from knockoffs.diagnostics.dry_run import LEVELS, simulate
from knockoffs.diagnostics.features import PerFeature, compare_features, near_duplicates
from knockoffs.diagnostics.findings import Findings
from knockoffs.diagnostics.joint import SwapTest, compare_swaps, covariance_errors
from knockoffs.diagnostics.pairs import Pairs
from knockoffs.diagnostics.randomisation import draw_signs
from knockoffs.engine.training import Report
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.generators.hierarchical import draw_knockoffs
from knockoffs.generators.hierarchy import group_means
from knockoffs.progress import progress_bars
from knockoffs.randomness import RandomState, random_generator
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.tables import group_labels, listing, read_table, require_same_order

MIN_ROWS = 20
FEATURE_ROWS, FEATURE_DRAWS = 10_000, 2_000  # the most rows that tests use, and random swaps for their p-values
SWAP_ROWS, SWAP_DRAWS = 2_000, 5_000


def check_swap(
    generator: Any,
    X: Any = None,
    *,
    groups: Any = None,
    dry_run: bool = False,
    statistic: Any = None,
    levels: Sequence[float] = LEVELS,
    replicates: int = 8,
    offset: int = 1,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
    subject: str = "",
) -> Certificate:
    """Compare rows and their knockoffs with the same rows after swaps, which exact knockoffs leave alike.

    The tests of validity are exact: where rows (or `groups` of rows) are independent of each other, exact
    knockoffs pass them in 99 % of the cases, whatever the number of rows. The verdict can still be "warn" for
    exact knockoffs that resemble their features so much that they cost power, or by a dry run. With fewer than 80
    rows there is no classifier among the tests, and only gross faults can be found.

    Parameters
    ----------
    generator : a fitted generator, any callable `f(X)` that returns knockoffs, or a pair `(X, X_tilde)`.
    X : rows that the generator was **not** fitted on (not with a pair). Of more than 2,000 a random part is used.
    groups : one label per row, for rows that belong together. Groups are then what is independent: the tests
        compare one row of each group, and the group's mean, with their knockoffs.
    dry_run : also simulate responses on X, select features with `statistic`, and count false discoveries.
    statistic, levels, replicates, offset : of the dry run: `HoldoutStatistic()` by default, levels q at which
        to select, simulated responses of each kind, offset of the filter.
    random_state : seed.
    n_jobs : cores for the dry run.
    progress : show progress bars.
    subject : what is checked, in words, for the certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import check_swap
    >>> X, X_tilde = np.random.default_rng(0).normal(size=(2, 500, 10))  # exact: the columns are independent
    >>> check_swap((X, X_tilde), random_state=0).verdict
    'pass'
    >>> check_swap((X, X_tilde**2), random_state=0).verdict
    'fail'
    """
    check_count("replicates", replicates)
    check_choice("offset", offset, (0, 1))
    for level in levels:
        check_fraction("levels", level)
    source = _source(generator, X, groups)
    rng = random_generator(random_state, stream=6)
    independent = len(source.x) if source.groups is None else int(source.groups.max()) + 1
    if independent < MIN_ROWS:
        what = "rows" if source.groups is None else "groups of rows"
        raise ValueError(
            f"check_swap: X has {independent} {what}; at least {MIN_ROWS} are needed to see anything."
        )
    x_tilde = source.draw(int(rng.integers(2**31)))
    copied = (source.x == x_tilde).all(0)
    with progress_bars(progress) as report:
        per_feature, tests, errors, alike = _compare(
            *_independent_pairs(source.x[:, ~copied], x_tilde[:, ~copied], source.groups, rng), rng, report
        )
        divergence = None
        if source.densities is not None:
            divergence = swap_divergence(source.densities, source.x, x_tilde, rng)
        rates = []
        if dry_run:
            rates = simulate(
                source.X,
                source.draw,
                HoldoutStatistic() if statistic is None else statistic,
                replicates=replicates,
                offset=offset,
                rng=rng,
                groups=source.groups,
                n_jobs=n_jobs,
                report=report,
            ).rates(levels)
    columns = np.flatnonzero(~copied)
    return Certificate(
        Findings(
            names=source.names,
            copied=copied,
            per_feature=_of_all_features(per_feature, columns, len(copied)),
            tests=tuple(tests),
            covariance_error=errors[0],
            cross_covariance_error=errors[1],
            near_duplicates=tuple((int(columns[j]), int(columns[k])) for j, k in alike),
            divergence=divergence,
            dry_run=tuple(rates),
            rows=len(source.x),
            feature_rows=min(independent, FEATURE_ROWS),
            swap_rows=min(independent, SWAP_ROWS),
            subject=subject or source.subject,
            learned=source.learned,
            share_of_fit=source.share_of_fit,
        )
    )


class _Source(NamedTuple):
    """Rows and where their knockoffs come from; `draw(seed)` gives knockoffs of all rows."""

    X: Any
    x: Array
    names: tuple[str, ...]
    draw: Callable[[int], Array]
    densities: Any
    learned: bool
    subject: str
    groups: Indices | None
    share_of_fit: float = math.nan


def _source(generator: Any, X: Any, groups: Any) -> _Source:
    if isinstance(generator, (tuple, list)):
        if len(generator) != 2 or X is not None:
            raise ValueError("check_swap: pass a generator and X, or one pair (X, X_tilde), and nothing else.")
        X, pair = generator[0], generator[1]
        x, names = read_table(X, who="check_swap")
        x_tilde = _knockoff_values(pair, X, x, names)
        labels = _labels(X, groups, len(x))
        return _Source(X, x, _names(names, x), lambda seed: x_tilde, None, False, "a pair of tables", labels)
    if X is None:
        raise ValueError("check_swap: X is missing. Pass rows that the generator was not fitted on.")
    is_table = hasattr(generator, "shape")  # two tables, which were to be a pair
    if isinstance(generator, type) or is_table or not (hasattr(generator, "sample") or callable(generator)):
        raise ValueError(
            f"check_swap: generator of type {type(generator).__name__} is not valid: pass a fitted generator, a "
            "function f(X), or one pair (X, X_tilde)."
        )
    x, names = read_table(X, who="check_swap")
    densities = _OnArrays(generator) if has_densities(generator) else None
    kind = type(generator).__name__ if hasattr(generator, "sample") else "a function"
    labels = _labels(X, groups, len(x))
    draw = partial(_draw, generator, X, x, groups)
    seen = generator.share_of_fit(X) if isinstance(generator, KnockoffGenerator) else math.nan
    return _Source(X, x, _names(names, x), draw, densities, True, kind, labels, seen)


def _labels(X: Any, groups: Any, rows: int) -> Indices | None:
    if groups is None:
        return None
    require_same_order(X, groups=groups, who="check_swap")
    return group_labels(groups, rows=rows, who="check_swap")


def _draw(generator: Any, X: Any, x: Array, groups: Any, seed: int) -> Array:
    return _knockoff_values(draw_knockoffs(generator, X, groups=groups, random_state=seed), X, x)


def _knockoff_values(table: Any, X: Any, x: Array, names: list[str] | None = None) -> Array:
    x_tilde, own_names = read_table(table, who="check_swap: the knockoffs")
    if x_tilde.shape != x.shape:
        raise ValueError(
            f"check_swap: X has shape {x.shape}, its knockoffs {x_tilde.shape}: one knockoff a cell is needed."
        )
    require_same_order(X, X_tilde=table, who="check_swap")
    if names is not None and own_names is not None and names != own_names:
        raise ValueError(
            f"check_swap: X has the columns {listing(names)}, its knockoffs {listing(own_names)}. Put them in "
            "one order."
        )
    return x_tilde


def _names(names: list[str] | None, x: Array) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(x.shape[1])) if names is None else tuple(map(str, names))


class _OnArrays:
    """A generator's densities as functions of arrays, also where it was fitted on a table with names."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self._names = getattr(generator, "feature_names_in_", None)
        self.swap_probability_ = getattr(generator, "swap_probability_", None)
        self.modelled_ = getattr(generator, "modelled_", None)

    def _table(self, x: Array) -> Any:
        return x if self._names is None else pd.DataFrame(x, columns=self._names)

    def joint_log_prob(self, x: Array) -> Array:
        return self._generator.joint_log_prob(self._table(x))

    def log_prob(self, x: Array, x_tilde: Array) -> Array:
        return self._generator.log_prob(self._table(x), self._table(x_tilde))


def _independent_pairs(
    x: Array, x_tilde: Array, groups: Indices | None, rng: np.random.Generator
) -> tuple[Array, Array, Indices]:
    """Rows that are independent of each other, with their knockoffs, and the feature of each column.

    Of groups these are one row, drawn at random, and beside it the group's mean, where the two differ: knockoffs
    that are right row by row may be too little alike within a group, which shows in its mean.
    """
    features = np.arange(x.shape[1])
    if groups is None or x.shape[1] == 0:
        return x, x_tilde, features
    chosen = one_of_each_group(np.arange(len(x)), groups, rng)
    mean, mean_tilde = group_means(x, groups)[1], group_means(x_tilde, groups)[1]
    differs = ((x[chosen] != mean) | (x_tilde[chosen] != mean_tilde)).any(0)
    return (
        np.hstack([x[chosen], mean[:, differs]]),
        np.hstack([x_tilde[chosen], mean_tilde[:, differs]]),
        np.concatenate([features, features[differs]]),
    )


def one_of_each_group(rows: Indices, groups: Indices, rng: np.random.Generator) -> Indices:
    """One row at random of each group, in the order of the groups."""
    shuffled = rng.permutation(rows)
    _, first = np.unique(groups[shuffled], return_index=True)
    return shuffled[first]


def _compare(
    x: Array, x_tilde: Array, feature: Indices, rng: np.random.Generator, report: Report | None
) -> tuple[PerFeature | None, list[SwapTest], tuple[float, float], list[tuple[int, int]]]:
    """Tests on the features that differ from their knockoffs."""
    if x.shape[1] == 0:
        return None, [], (0.0, 0.0), []
    order = rng.permutation(len(x))
    pairs = _some(x, x_tilde, feature, order[:FEATURE_ROWS])
    per_feature = compare_features(pairs, draw_signs(rng, FEATURE_DRAWS, pairs.rows))
    if len(order) > SWAP_ROWS:
        pairs = _some(x, x_tilde, feature, order[:SWAP_ROWS])
    tests = []
    for test in compare_swaps(pairs, draw_signs(rng, SWAP_DRAWS, pairs.rows), rng):
        tests.append(test)
        if report is not None:
            report("check of knockoffs", len(tests), 12, None)
    return per_feature, tests, covariance_errors(pairs), near_duplicates(pairs)


def _some(x: Array, x_tilde: Array, feature: Indices, rows: Indices) -> Pairs:
    return Pairs(x[rows], x_tilde[rows], feature)


def _of_all_features(found: PerFeature | None, columns: Any, features: int) -> PerFeature:
    """With nan for features whose knockoff is a copy, which is as alike as can be."""
    whole = {name: np.full(features, np.nan) for name in PerFeature._fields}
    if found is not None:
        for name, values in found._asdict().items():
            whole[name][columns] = values
    return PerFeature(**whole)
