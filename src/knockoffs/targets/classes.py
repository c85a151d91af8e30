"""Classes, whose probabilities are the softmax of η."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.schema.words import counted, listing
from knockoffs.targets.base import PER, Likelihood, Tangent, Target
from knockoffs.targets.either import Either, log_probability, softmax
from knockoffs.targets.quantity import MOST_CLASSES
from knockoffs.targets.vectors import name_of, read_vector

SAID_CLASSES = 4
MOST_DIFFERENT = 0.5  # classes per row


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes(Target):
    """The number of a class, from 0 on.

    Attributes
    ----------
    classes : tuple of str
        The classes as they stand in y, in the order of their numbers.
    """

    classes: tuple[str, ...]

    task: ClassVar[str] = "classification"
    categorical: ClassVar[bool] = True
    curvature: ClassVar[float] = 0.5
    along_a_feature: ClassVar[str] = (
        "How far the share of a class of {target} is above or below its mean along a feature, all "
        "other features of the table being equal (a point is one hundredth)."
    )
    strength_unit: ClassVar[str] = " (shares of a class)"

    @classmethod
    def read(cls, y: Any, *, rows: int, who: str) -> Self:
        vector = read_vector(y, rows, who)
        codes, found = _codes(vector, who), np.unique(vector).tolist()
        labels = tuple(f"{c:g}" if isinstance(c, float) else str(c) for c in found)
        return cls(codes, name_of(y), classes=labels)

    @classmethod
    def numbered(cls, values: Array) -> Self:
        """Return classes that are called by their numbers."""
        return cls(values, classes=tuple(map(str, range(int(values.max()) + 1))))

    @classmethod
    def example(cls) -> Self:
        """Two classes of equal size."""
        return cls.numbered(np.array([0.0, 1.0]))

    @property
    def outputs(self) -> int:
        return len(self.classes)

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the rows of each class."""
        return tuple(np.bincount(self.values.astype(int)) / len(self))

    def start(self) -> Array:
        return np.log(self.columns().mean(0))

    def log_density(self, observed: Either, eta: Either) -> Either:
        return log_probability(eta, observed)

    def score(self, eta: Array) -> Array:
        return self.columns() - softmax(eta.T).T

    def information(self, eta: Array) -> Array:
        p = softmax(eta.T).T
        return p[:, :, None] * (np.eye(self.outputs) - p[:, None, :])

    def simulate(self, eta: Array, rng: np.random.Generator) -> Self:
        below = np.cumsum(softmax(eta.T).T, axis=1)[:, :-1] < rng.random((len(eta), 1))
        return replace(self, values=below.sum(1).astype(np.float64))

    def imitated(self, response: Array, seed: int) -> Self:
        """Return the response cut into classes with the same shares of the rows."""
        shares = self.shares
        cuts = np.quantile(response, np.minimum(np.cumsum(shares)[:-1], 1.0))
        codes = np.searchsorted(cuts, response).astype(np.float64)
        return replace(self, values=codes)

    def of_lines(self) -> Likelihood:
        """Return the likelihood of the log odds alone, where there are two classes."""
        return LogOdds(self.values[:, None]) if self.outputs == 2 else self

    def predicted(self, eta: Either) -> Either:
        """Return the probabilities."""
        return softmax(eta)

    def tangent(self, seen: Indices) -> Tangent:
        """p_k + δ_k has about the logit log p_k + δ_k / p_k, where δ is small."""
        explained = self.columns()
        share = np.maximum(explained[seen].mean(0), 0.5 / len(self))
        return Tangent(explained, share, np.log(share), share)

    def strata(self, folds: int) -> Array | None:
        return self.values

    def check(self, name: str, folds: int, *, grouped: bool) -> None:
        if grouped:
            return
        counts = np.bincount(self.values.astype(int))
        rare = np.flatnonzero(counts < folds)
        if len(rare):
            said = [
                f"{self.classes[k]!r} has {counted(counts[k], 'row')}"
                for k in rare[np.argsort(counts[rare])]
            ]
            called = "" if self.name is None else f" ({self.name!r})"
            raise ValueError(
                f"{name}={folds} needs as many rows of each class of y{called}, but "
                f"{listing(said)}. Join rare "
                'classes or drop their rows, pass task="regression" (--task regression) if y is a '
                f"quantity{or_fewer(name, int(counts.min()))}."
            )

    @property
    def directed(self) -> bool:
        return self.outputs == 2

    def residual_outputs(self) -> Array:
        """Return indicators of the classes, of two that of the second."""
        indicators = (self.values[:, None] == np.unique(self.values)).astype(np.float64)
        indicators = indicators[:, 1:] if indicators.shape[1] == 2 else indicators
        return indicators - indicators.mean(0)

    def columns(self) -> Array:
        """Return a column of 0 and 1 per class."""
        return (self.values[:, None] == np.arange(self.outputs)).astype(np.float64)

    def shown(self, most: int) -> dict[int, str | None]:
        """Return the second of two classes, and the most frequent of several."""
        if self.outputs == 2:
            return {1: self.classes[1]}
        frequent = np.argsort(-self.columns().mean(0), kind="stable")[:most]
        return {k: self.classes[k] for k in sorted(frequent.tolist())}

    @property
    def described(self) -> str:
        """What y is, in words.

        >>> Classes(np.array([0.0, 1.0, 1.0]), classes=("ill", "well")).described
        '2 classes: ill (1), well (2)'
        """
        counts = np.bincount(self.values.astype(int))
        said = [f"{name} ({count:,})" for name, count in zip(self.classes, counts, strict=True)]
        return f"{len(said)} classes: {listing(said, SAID_CLASSES)}"

    def meaning_of_effects(self) -> str:
        """Say in a sentence what an effect is.

        >>> outcome = Classes(np.array([0.0, 1.0]), "outcome", classes=("ill", "well"))
        >>> outcome.meaning_of_effects()[:74]
        "An effect says by how much the share of rows with outcome = 'well' changes"
        """
        if not self.directed:
            return (
                f"There are no effects: {self.called} has {self.outputs} classes, so that a change "
                "has no direction."
            )
        return (
            f"An effect says by how much the share of rows with {self.called} = "
            f"{self.classes[1]!r} changes {PER}."
        )


class LogOdds(Likelihood):
    """The likelihood of 0 and 1, `[rows, 1]`, by the logarithm of the odds of 1."""

    curvature: ClassVar[float] = 0.25

    def __init__(self, y: Array) -> None:
        self.y = y

    def rows(self, index: Indices) -> Self:
        return type(self)(self.y[index])

    def start(self) -> Array:
        share = self.y.mean(0)
        return np.log(share / (1 - share))

    def loss(self, eta: Array) -> float:
        return float((np.logaddexp(0, eta) - self.y * eta).mean())

    def score(self, eta: Array) -> Array:
        return self.y - expit(eta)


def or_fewer(name: str, have: int) -> str:
    """Return a further remedy, which only Python has; two folds are the fewest."""
    return f", or pass {name}={have} in Python" if have >= 2 else ""


def _codes(vector: NDArray[Any], who: str) -> Array:
    try:
        classes, codes = np.unique(vector, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"{who}: y holds classes of several types, such as text and numbers. Pass classes of "
            f"one type, for "
            "example by y.astype(str)."
        ) from None
    if len(classes) > max(MOST_CLASSES, MOST_DIFFERENT * len(vector)):
        numbers = pd.to_numeric(pd.Series(classes), errors="coerce").notna().all()
        quantity = (
            "Pass task='regression' (--task regression)" if numbers else "Convert it to numbers"
        )
        raise ValueError(
            f"{who}: y has {len(classes)} classes in {len(vector)} rows, too few rows of each to "
            f"learn what they "
            f"differ in. {quantity} if it is a quantity, or join classes."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{who}: y has one class only ({classes.tolist()[0]!r}). Pass rows of at least two "
            f"classes."
        )
    return codes.astype(np.float64)
