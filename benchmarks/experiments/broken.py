"""Knockoffs that are wrong on purpose, to see whether that is found out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.table.table import read_table


class PermutedColumns(BaseEstimator):
    """Each column in an order of its own: the right distribution of each feature,
    and no dependence at all.
    """

    def __init__(self, random_state: RandomState = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def sample(self, X: Any, *, random_state: RandomState = None) -> Any:
        rng = random_generator(self.random_state if random_state is None else random_state)
        table = read_table(X, who="PermutedColumns")
        columns = [rng.permutation(column) for column in table.codes.T]
        return table.with_codes(np.stack(columns, axis=1)).to_native()


class ShuffledRows(PermutedColumns):
    """Other rows: features depend on each other as they should,
    but not on other features' knockoffs.
    """

    def sample(self, X: Any, *, random_state: RandomState = None) -> Any:
        rng = random_generator(self.random_state if random_state is None else random_state)
        table = read_table(X, who="ShuffledRows")
        return table.with_codes(table.codes[rng.permutation(len(table))]).to_native()
