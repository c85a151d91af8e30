r"""Counts, whose logarithm of the mean is η: $\ell_i = y_i \eta_i - \exp \eta_i$ (Poisson)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.targets.base import Target
from knockoffs.targets.classes import or_fewer
from knockoffs.targets.either import Either, exp
from knockoffs.targets.vectors import name_of, read_vector

LEAST_MEAN = 0.5  # events in all rows together that are counted where there are none


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts(Target):
    """How often something happened to each row.

    Attributes
    ----------
    counts : array of shape (rows,)
        The counts, also where `values` are in standard units.
    """

    counts: Array

    task: ClassVar[str] = "count"
    local: ClassVar[bool] = True

    @classmethod
    def of(cls, counts: Array, name: str | None = None) -> Self:
        """Return the target of some counts."""
        return cls(counts, name, counts=counts)

    @classmethod
    def read(cls, y: Any, *, rows: int, who: str) -> Self:
        return cls.of(_counts(read_vector(y, rows, who), who), name_of(y))

    @classmethod
    def example(cls) -> Self:
        """Counts with a mean of about 2."""
        return cls.of(np.random.default_rng(0).poisson(2.0, size=1000).astype(np.float64))

    def rows(self, index: Indices) -> Self:
        return replace(super().rows(index), counts=self.counts[index])

    @property
    def observed(self) -> Array:
        return self.counts

    def start(self) -> Array:
        mean = self.counts.mean(0, keepdims=True)
        return np.log(np.maximum(mean, LEAST_MEAN / len(self)))

    def log_density(self, observed: Either, eta: Either) -> Either:
        own = eta[..., 0, :]
        return observed * own - exp(own)

    def score(self, eta: Array) -> Array:
        return self.counts[:, None] - exp(eta)

    def information(self, eta: Array) -> Array:
        return exp(eta)[:, :, None]

    def simulate(self, eta: Array, rng: np.random.Generator) -> Self:
        counts = rng.poisson(exp(eta[:, 0])).astype(np.float64)
        return replace(self, values=counts, counts=counts, given=None)

    def check(self, name: str, folds: int, *, grouped: bool) -> None:
        above = int((self.counts > 0).sum())
        if above < folds:
            raise ValueError(
                f"{name}={folds} needs as many rows with a count above 0; there "
                f"{'is' if above == 1 else 'are'} {above}. Collect more{or_fewer(name, above)}."
            )

    @property
    def as_given(self) -> tuple[Array, ...]:
        return (self.counts,)

    def to_native(self) -> NDArray[Any]:
        return self.counts

    @property
    def described(self) -> str:
        """What y is, in words.

        >>> Counts.of(np.array([0.0, 0.0, 1.0, 7.0])).described
        'counts: 0 to 7, mean 2, 50% are 0'
        """
        counts = self.counts
        return (
            f"counts: {counts.min():.4g} to {counts.max():.4g}, mean {counts.mean():.4g}, "
            f"{(counts == 0).mean():.0%} are 0"
        )


def _counts(vector: NDArray[Any], who: str) -> Array:
    if vector.dtype.kind not in "biuf":
        raise ValueError(
            f"{who}: y of type {vector.dtype} does not hold numbers, as task='count' needs. Pass "
            "counts, or task='classification' (--task classification)."
        )
    counts = vector.astype(np.float64)
    wrong = counts[(counts < 0) | (counts != np.rint(counts))]
    if len(wrong):
        raise ValueError(
            f"{who}: y holds {wrong[0]:g}, which is no count. Pass whole numbers from 0 on, or "
            "task='regression' (--task regression)."
        )
    if np.ptp(counts) == 0:
        raise ValueError(
            f"{who}: y is constant ({counts[0]:g}). There is nothing to explain; pass rows with "
            "different counts."
        )
    return counts
