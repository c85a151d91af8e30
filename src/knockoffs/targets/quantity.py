"""A quantity: half the squared error is minus the log-likelihood, up to the variance of noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array
from knockoffs.targets.base import Target
from knockoffs.targets.either import Either
from knockoffs.targets.standard_units import varies
from knockoffs.targets.vectors import name_of, read_vector, refuse_other_numbers

MOST_CLASSES = 20
LEAST_OF_CLASS = 5  # rows, by which a model may learn a class and be tested
RARER = 10  # times than in even shares


@dataclass(frozen=True, eq=False)
class Quantity(Target):
    """A number; the variance of noise about it is not known."""

    task: ClassVar[str] = "regression"
    quadratic: ClassVar[bool] = True

    @classmethod
    def read(cls, y: Any, *, rows: int, who: str) -> Self:
        vector = read_vector(y, rows, who)
        refuse_other_numbers(vector, who)
        return cls(_numbers(vector, who), name_of(y))

    @classmethod
    def example(cls) -> Self:
        return cls(np.array([0.0, 1.0]))

    def start(self) -> Array:
        return self.values.mean(0, keepdims=True)

    def log_density(self, observed: Either, eta: Either) -> Either:
        return -0.5 * (eta[..., 0, :] - observed) ** 2

    def score(self, eta: Array) -> Array:
        return self.values[:, None] - eta

    def information(self, eta: Array) -> Array:
        return np.ones((len(eta), 1, 1))

    def simulate(self, eta: Array, rng: np.random.Generator) -> Self:
        return replace(self, values=eta[:, 0] + rng.standard_normal(len(eta)), given=None)

    def imitated(self, response: Array, seed: int) -> Self:
        """Return the response itself: statistics see it in standard units."""
        return replace(self, values=response, given=None)

    @property
    def described(self) -> str:
        """What y is, in words.

        >>> Quantity(np.array([1.0, 2.0, 9.0])).described
        'a quantity: 1 to 9, median 2'
        """
        low, middle, high = np.quantile(self.values, (0, 0.5, 1))
        return f"a quantity: {low:.4g} to {high:.4g}, median {middle:.4g}"


def is_quantity(vector: NDArray[Any]) -> bool:
    """Return whether y is a number, not a class: a fraction, over 20 different whole numbers,
    or a count.

    Counts become rare on the way up, while classes that are numbered are all frequent enough to be
    learned.
    """
    if vector.dtype.kind not in "iuf":
        return False
    values, counts = np.unique(vector, return_counts=True)
    rare = counts.min(initial=LEAST_OF_CLASS) < min(
        LEAST_OF_CLASS, len(vector) / (RARER * max(len(values), 1))
    )
    return (
        bool((vector != np.rint(vector)).any())
        or len(values) > MOST_CLASSES
        or bool(len(values) > 2 and rare)
    )


def _numbers(vector: NDArray[Any], who: str) -> Array:
    try:
        values = vector.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{who}: y of type {vector.dtype} does not hold numbers, as task='regression' needs. "
            "Pass numbers, or task='classification'."
        ) from None
    if not np.isfinite(values).all():
        raise ValueError(f"{who}: y has infinite values. Drop those rows from X and y.")
    if not varies(values.min(), values.max()):
        raise ValueError(
            f"{who}: y is constant ({values[0]:g}) up to rounding. There is nothing to explain."
        )
    return values
