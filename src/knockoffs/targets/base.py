r"""What y is: a likelihood, and what follows from it.

A model gives η, `[rows, outputs]`; a target says how probable y is then, $\ell_i(\eta_i)$. The loss
of networks and lassos, the residuals of tests, simulated responses and effects follow from this, so
that a new kind of target is one file, and one line in the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from knockoffs.runtime.arrays import Array, Indices
from knockoffs.targets.either import Either
from knockoffs.targets.heavy import in_normal_scores, standard_residuals
from knockoffs.targets.standard_units import standardise
from knockoffs.targets.times import Times

PER = "per standard deviation of a feature, while all other features stay as they are"


class Given(NamedTuple):
    """Values in the units that they were given in,
    and what leads from standard units back to these.
    """

    values: Array
    centre: float
    deviation: float


class Tangent(NamedTuple):
    """The likelihood near the η of no features, where a straight line to y gives one to η.

    Attributes
    ----------
    explained : array of shape (rows, outputs)
        What straight lines are fitted to.
    centre : array of shape (outputs,)
        Its mean without features.
    level : array of shape (outputs,)
        The η of no features.
    information : array of shape (outputs,)
        How much a line changes by η.
    """

    explained: Array
    centre: Array
    level: Array
    information: Array


class Likelihood(ABC):
    """What straight lines are fitted by.

    `curvature` bounds minus the second derivatives of the log-likelihood by the outputs. Where a
    bound holds only near the η of no features (`local`), each step is checked. A `quadratic` one is
    minus half the squared error.
    """

    curvature: ClassVar[float] = 1.0
    local: ClassVar[bool] = False
    quadratic: ClassVar[bool] = False

    @property
    def outputs(self) -> int:
        """The number of columns of η."""
        return 1

    @abstractmethod
    def rows(self, index: Indices) -> Self:
        """Some of the rows."""

    @abstractmethod
    def start(self) -> Array:
        """Return the η of a model without features, `[outputs]`."""

    @abstractmethod
    def loss(self, eta: Array) -> float:
        """Return minus the mean log-likelihood of a row."""

    @abstractmethod
    def score(self, eta: Array) -> Array:
        """Return the derivative of the sum of the log-likelihood by η, `[rows, outputs]`."""

    def held_out_loss(self, eta: Array, seen: Self, train: Indices, test: Indices) -> float:
        """Return the loss of the rows `test` that a model has not seen; η is that of all rows,
        and `seen` are the rows `train`.
        """
        return self.rows(test).loss(eta[test])

    def steepest(self, z: Array) -> float:
        """Return a bound on how fast the gradient of the loss by coefficients of z changes."""
        return self.curvature * float(np.linalg.eigvalsh(z.T @ z / len(z))[-1])


@dataclass(frozen=True, eq=False)
class Target(Likelihood):
    """The response y.

    Subclasses say what `log_density`, `score`, `information` and `start` are, how y is read, and
    how a response is drawn; all else may be left as it is.

    Attributes
    ----------
    values : array of shape (rows,)
        What models without a likelihood of y see: a quantity, or the number of the class.
    name : str or None
        What y is called: the name of the series that was passed.
    given : Given or None
        The values in their own units, where they are in standard units.
    task : str
        The name by which users ask for this kind of target.
    categorical : bool
        Whether values are numbers of classes, which have no unit and are predicted by classifiers.
    directed : bool
        Whether a change has a direction, so that a test can say how large an effect is.
    timed : bool
        Whether y is read from two columns, of times and of events.
    along_a_feature, strength_unit : str
        What a report says of the effect of a feature, and of the unit of its strength.
    """

    values: Array
    name: str | None = None
    given: Given | None = None

    task: ClassVar[str]
    categorical: ClassVar[bool] = False
    timed: ClassVar[bool] = False
    along_a_feature: ClassVar[str] = (
        "How far {target} is above or below its mean along a feature, all other features of the "
        "table being equal."
    )
    strength_unit: ClassVar[str] = ", in units of the target's"

    @classmethod
    @abstractmethod
    def read(cls, y: Any, *, rows: int, who: str) -> Self:
        """Read y; error messages begin with `who` and say what to do."""

    @classmethod
    @abstractmethod
    def example(cls) -> Self:
        """Return a target on a usual footing, for checks of knockoffs without a y."""

    # the likelihood

    @property
    def observed(self) -> Array:
        """What the likelihood reads of y: a number per row, or several."""
        return self.values

    @abstractmethod
    def log_density(self, observed: Either, eta: Either) -> Either:
        """Return the log-likelihood of rows by η, `[..., outputs, rows]`, up to a constant;
        arrays or tensors.
        """

    @abstractmethod
    def information(self, eta: Array) -> Array:
        """Return minus the second derivatives of the log-likelihood,
        `[rows, outputs, outputs]`, or those to expect.
        """

    @abstractmethod
    def simulate(self, eta: Array, rng: np.random.Generator) -> Self:
        """Draw a response from the model with these η."""

    def loglik(self, eta: Array) -> Array:
        """Return the log-likelihood of each row."""
        return self.log_density(self.observed, eta.T)

    def loss(self, eta: Array) -> float:
        return float(-self.loglik(eta).mean())

    def steepest(self, z: Array) -> float:
        if not self.local:
            return super().steepest(z)
        weight = np.trace(self.information(self._at_start()), axis1=1, axis2=2)
        return max(float(np.linalg.eigvalsh(z.T @ (weight[:, None] * z) / len(z))[-1]), 1e-12)

    def of_lines(self) -> Likelihood:
        """Return the likelihood by which straight lines are fitted to y."""
        return self

    def predicted(self, eta: Either) -> Either:
        """Return what a model that gives η, `[..., outputs, rows]`, says of y: a mean, or η."""
        return eta

    def tangent(self, seen: Indices) -> Tangent:
        """Return what lines to η are found by; its level is that of the rows seen."""
        own = self.rows(seen)
        level = own.start()
        information = np.diagonal(own.information(own._at_start()), axis1=1, axis2=2).mean(0)
        explained = self.score(np.broadcast_to(level, (len(self), self.outputs)))
        return Tangent(explained, np.zeros(self.outputs), level, np.maximum(information, 1e-12))

    def _at_start(self) -> Array:
        return np.broadcast_to(self.start(), (len(self), self.outputs))

    # rows and units

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, index: Indices) -> Self:
        given = None if self.given is None else self.given._replace(values=self.given.values[index])
        return replace(self, values=self.values[index], given=given)

    def in_standard_units(self) -> Self:
        """Return the same with values of mean 0 and standard deviation 1, if they have a unit."""
        if self.categorical:
            return self
        (values,), centre, deviation = standardise(self.values)
        given = Given(self.values, float(centre), float(deviation))
        return replace(self, values=values, given=given)

    def imitated(self, response: Array, seed: int) -> Self:
        """Return a response as this kind of target, on the same footing.

        It has the values of y: the largest where the response is largest.
        """
        place = (rankdata(response, method="ordinal") - 0.5) / len(response)
        number = np.minimum((place * len(self)).astype(int), len(self) - 1)
        return self.rows(np.argsort(self.values, kind="stable")[number])

    # splits

    def strata(self, folds: int) -> Array | None:
        """Return what each fold should have its share of; None without."""
        return None

    def check(self, name: str, folds: int, *, grouped: bool) -> None:
        """Refuse y of which there is too little for so many folds; `name` is the parameter."""

    # tests and effects

    @property
    def directed(self) -> bool:
        return True

    @property
    def times(self) -> Times | None:
        """The times of a target that has them."""
        return None

    @property
    def telling_rows(self) -> int:
        """The number of rows that tell of effects."""
        return len(self)

    def residual_outputs(self) -> Array:
        """Return the columns that a test takes for y, each with mean 0:
        in standard units, or normal scores for heavy tails.
        """
        return standard_residuals(self.values)

    def columns(self) -> Array:
        """Return what a regression explains, `[rows, columns]`."""
        return self.values[:, None]

    def shown(self, most: int) -> dict[int, str | None]:
        """Return which of the columns effects are described of, at most so many,
        and the class that each stands for.
        """
        return {0: None}

    # what is passed on, and said

    @property
    def as_given(self) -> tuple[Array, ...]:
        """The columns of y as numbers."""
        return (self.values,)

    def to_native(self) -> NDArray[Any]:
        """Return y as it can be passed to a statistic."""
        return self.values

    @property
    @abstractmethod
    def described(self) -> str:
        """What y is, in words."""

    @property
    def called(self) -> str:
        return self.name or "the target"

    def meaning_of_effects(self) -> str:
        """Say in a sentence what an effect is: how much of what changes with a feature,
        and which way is up.
        """
        if in_normal_scores(self.values):
            return (
                f"An effect says by how many standard deviations the normal scores of "
                f"{self.called} change {PER}. These are ranks on the scale of a normal "
                "distribution, which a few very large values do not decide."
            )
        return f"An effect says by how many standard deviations {self.called} changes {PER}."
