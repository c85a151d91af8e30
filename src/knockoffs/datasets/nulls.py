"""Columns that are known to tell nothing."""

from __future__ import annotations

from typing import Any

import pandas as pd

from knockoffs.runtime.randomness import RandomState, random_generator

NULL = "null "


def add_null_columns(X: pd.DataFrame, random_state: RandomState = None) -> pd.DataFrame:
    """Return X, and beside it a copy of X whose rows are shuffled as wholes.

    The copies (named "null …") depend on each other as the features do, and on nothing else: selecting one is
    certainly a false discovery.

    Parameters
    ----------
    X : DataFrame
        The features.
    random_state : int, numpy Generator or None, default=None
        Seed of the shuffle.

    Returns
    -------
    DataFrame
        Twice as many columns.

    Examples
    --------
    >>> add_null_columns(pd.DataFrame({"age": [30, 40], "dose": [1, 2]}), random_state=0).columns.tolist()
    ['age', 'dose', 'null age', 'null dose']
    """
    order = random_generator(random_state, stream=5).permutation(len(X))
    copies = X.iloc[order].set_axis([f"{NULL}{name}" for name in X.columns], axis=1).set_axis(X.index)
    return pd.concat([X, copies], axis=1)


def is_null(name: Any) -> bool:
    """Return whether a column is one that `add_null_columns` added, by its name."""
    return str(name).startswith(NULL)
