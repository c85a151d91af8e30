"""A kind of target that the package does not know: ordered classes, by a cumulative logit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, logit

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.targets.base import Target
from knockoffs.targets.either import Either, log_sigmoid
from knockoffs.targets.vectors import name_of, read_vector

END = 40.0  # a threshold that nothing is beyond


@dataclass(frozen=True, eq=False, kw_only=True)
class Ordered(Target):
    r"""$P(y \le k) = \sigma(c_k - \eta)$, with thresholds c that give the shares of y at η = 0."""

    codes: Array
    thresholds: Array

    task: ClassVar[str] = "ordered"
    curvature: ClassVar[float] = 0.5
    strength_unit: ClassVar[str] = ", in steps of the scale"

    @classmethod
    def of(cls, codes: Array, name: str | None = None) -> Self:
        below = np.cumsum(np.bincount(codes.astype(int))) / len(codes)
        thresholds = np.concatenate([[-END], logit(below[:-1]), [END]])
        return cls(codes, name, codes=codes, thresholds=thresholds)

    @classmethod
    def read(cls, y: Any, *, rows: int, who: str) -> Self:
        codes = np.unique(read_vector(y, rows, who), return_inverse=True)[1]
        return cls.of(codes.astype(np.float64), name_of(y))

    @classmethod
    def example(cls) -> Self:
        return cls.of(np.array([0.0, 1.0, 2.0]))

    def rows(self, index: Indices) -> Self:
        return replace(super().rows(index), codes=self.codes[index])

    @property
    def observed(self) -> Array:
        """The thresholds below and above the class."""
        number = self.codes.astype(int)
        return np.stack([self.thresholds[number], self.thresholds[number + 1]], axis=1)

    def start(self) -> Array:
        return np.zeros(1)

    def log_density(self, observed: Either, eta: Either) -> Either:
        own = eta[..., 0, :]
        return log_sigmoid(observed[:, 1] - own) + log_sigmoid(own - observed[:, 0])

    def score(self, eta: Array) -> Array:
        return expit(self.observed[:, :1] - eta) - expit(eta - self.observed[:, 1:])

    def information(self, eta: Array) -> Array:
        p = expit(eta - self.observed)
        return (p * (1 - p)).sum(1)[:, None, None]

    def simulate(self, eta: Array, rng: np.random.Generator) -> Self:
        latent = eta[:, 0] + logit(rng.uniform(size=len(eta)))
        codes = np.searchsorted(self.thresholds[1:-1], latent).astype(np.float64)
        return replace(self, values=codes, codes=codes, given=None)

    @property
    def described(self) -> str:
        return f"{len(self.thresholds) - 1} ordered classes"
