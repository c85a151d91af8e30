"""What the effects of a test are about, and what to do where it finds nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import norm

from knockoffs.pvalues.corrections import Correction, level_alone
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.schema.schema import Schema
from knockoffs.schema.words import listing, rounded_up

NEAR = 0.3  # a p-value above this says nothing of the rows that would be needed
MOST_ROWS = 20  # times as many rows are no advice


def advice_after_tests(
    selected: Flags,
    pvalues: Array,
    adjusted: Array,
    names: Sequence[str],
    rows: int,
    level: float,
    correction: Correction,
) -> tuple[str, ...]:
    """Return what to do where none of some tested features, `names`, is a discovery;
    nothing otherwise.
    """
    if selected.any():
        return ()
    needed = level_alone(level, correction, len(pvalues))
    return (*_higher_level(adjusted, names), *_more_rows(pvalues, names, rows, needed))


def _higher_level(adjusted: Array, names: Sequence[str]) -> Iterator[str]:
    first = float(adjusted.min())
    if rounded_up(first) < 1:
        found = listing([names[j] for j in np.flatnonzero(adjusted == first).tolist()])
        yield (
            f"A higher level: level={rounded_up(first):g} is the smallest with a discovery, "
            f"{found}. Chosen after "
            "looking it bounds nothing, so treat these as suggestions, or choose it before new "
            "data."
        )


def _more_rows(pvalues: Array, names: Sequence[str], rows: int, needed: float) -> Iterator[str]:
    """How many rows would do for the smallest p:
    a standard score grows with the root of their number.
    """
    best = int(np.argmin(pvalues))
    if not needed < pvalues[best] < NEAR:
        return
    more = math.ceil(rows * (norm.isf(needed / 2) / norm.isf(pvalues[best] / 2)) ** 2)
    if more <= MOST_ROWS * rows:
        yield (
            f"More rows: {names[best]} has p = {pvalues[best]:.2g} with these {rows:,}, and would "
            f"be a discovery "
            f"by itself with p = {needed:.2g}. If it is as strong as it looks, that takes some "
            f"{two_digits(more):,} rows; the strongest of several tends to look stronger than it "
            f"is."
        )


def two_digits(number: int) -> int:
    """Round up to two digits.

    >>> two_digits(1234), two_digits(99)
    (1300, 99)
    """
    unit = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // unit) * unit


LEVELS = 2


def upper_levels(schema: Schema) -> tuple[str, ...]:
    """Return, per feature, the level towards which an effect points where there are two in words;
    else nothing.
    """
    labels = [column.labels() if column.levels is not None else () for column in schema]
    return tuple(str(own[1]) if len(own) == LEVELS else "" for own in labels)
