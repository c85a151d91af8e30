"""Check a generator on rows that it has not seen, where it is to be fitted on all of them: by a twin."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.utils import _safe_indexing

from knockoffs.checks import KnockoffWarning
from knockoffs.diagnostics.certificate import Certificate
from knockoffs.diagnostics.check import check_swap

CHECKED_SHARE = 0.3
LEAST_ROWS = 100


def certify(generator: Any, X: Any, *, ready: bool, groups: Any, seed: int, progress: bool) -> Certificate | None:
    """Fit a generator that is not `ready` on a random part of X and check it on the rest.

    This twin learns from fewer rows than the generator that is used, so it is if anything the worse of the two.
    One that is ready is checked on all rows. None where rows are too few.
    """
    rows = len(X)
    if rows < LEAST_ROWS:
        return None
    if ready:
        subject = f"the generator as passed, on all {rows} rows; too kind if it was fitted on these"
        return check_swap(generator, X, random_state=seed, progress=progress, subject=subject)
    kind = ShuffleSplit if groups is None else GroupShuffleSplit
    splitter = kind(1, test_size=CHECKED_SHARE, random_state=seed)
    fitted, seen = next(splitter.split(range(rows), groups=groups))
    with warnings.catch_warnings():  # the generator itself has said them
        warnings.simplefilter("ignore", KnockoffWarning)
        twin = generator.fit(_safe_indexing(X, fitted))
    subject = f"{type(twin).__name__} fitted on {len(fitted)} of the rows, checked on the other {len(seen)}"
    return check_swap(twin, _safe_indexing(X, seen), random_state=seed, progress=progress, subject=subject)


def certify_pair(X: Any, X_tilde: Any, *, seed: int, progress: bool) -> Certificate | None:
    """Check knockoffs that a function has made; None where rows are too few."""
    if len(X) < LEAST_ROWS:
        return None
    subject = f"knockoffs of a function, on all {len(X)} rows; too kind if it was fitted on these"
    return check_swap((X, X_tilde), random_state=seed, progress=progress, subject=subject)
