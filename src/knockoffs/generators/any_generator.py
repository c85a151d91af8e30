"""What is known of a generator, whoever has written it: the one place that looks at objects of
others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from knockoffs.generators.base import KnockoffGenerator
from knockoffs.runtime.randomness import RandomState
from knockoffs.schema.schema import Units
from knockoffs.table.table import Table


@dataclass(frozen=True)
class GeneratorOfOthers:
    """What a `KnockoffGenerator` declares, for a function or an object with `sample` that is
    none.
    """

    part: Any
    knows_groups: bool = False
    reads_tables: bool = False
    exchangeable: bool = True
    cost: float = 12.0
    stages: int = 4
    fitted_schema: None = None
    swap_probability_: None = None

    @property
    def has_densities(self) -> bool:
        """Whether it says how probable its pairs [x, x̃] are."""
        return hasattr(self.part, "swap_pairs")

    @property
    def phases_of_fit(self) -> Sequence[Any]:
        """The losses of every phase of its fit."""
        return getattr(self.part, "history_", ())

    @property
    def random_state(self) -> RandomState:
        """The seed that it has."""
        return getattr(self.part, "random_state", None)

    def of_rows(self) -> Any:
        """Return the generator of single rows, which it is."""
        return self.part

    def share_of_fit(self, X: Any) -> float:
        """Return nan: it is not known which rows it was fitted on."""
        return math.nan

    def require_swaps_of(self, units: Units) -> None:
        """Accept all groups of features: it is not known which ones it was fitted with."""

    def __sklearn_is_fitted__(self) -> bool:
        return _is_fitted(self.part)


def declared_by(generator: Any) -> KnockoffGenerator | GeneratorOfOthers:
    """Return what a generator declares of itself, or what holds for those that declare nothing."""
    inner = unfrozen(generator)
    return inner if isinstance(inner, KnockoffGenerator) else GeneratorOfOthers(inner)


def is_generator(part: Any) -> bool:
    """Return whether knockoffs are drawn by `sample`, also by classes of others,
    and not by calling a function.
    """
    return hasattr(part, "sample") and not isinstance(part, type)


def unfrozen(generator: Any) -> Any:
    """Return the generator inside of a `FrozenEstimator`, and anything else as it is."""
    return generator.estimator if isinstance(generator, FrozenEstimator) else generator


def is_ready(generator: Any) -> bool:
    """Return whether the generator is used as it is: a function, or fitted already."""
    return (
        not is_generator(generator)
        or isinstance(generator, FrozenEstimator)
        or _is_fitted(generator)
    )


def name_of(generator: Any) -> str:
    """Return what a generator is, in words."""
    inner = unfrozen(generator)
    return type(inner).__name__ if is_generator(inner) else "a function"


def table_for(generator: Any, table: Table) -> Any:
    """Return the table as the generator or function takes it."""
    return table if declared_by(generator).reads_tables else table.to_native()


def fit_generator(generator: Any, X: Any, groups: Any) -> Any:
    """Fit a generator to a table; one that knows groups of rows gets them."""
    if declared_by(generator).knows_groups:
        return generator.fit(X, groups=groups)
    return generator.fit(X)


def draw_knockoffs(generator: Any, X: Any, *, groups: Any, **settings: Any) -> Any:
    """Draw knockoffs of X from a generator, or from a function `f(X)`, which has no settings."""
    if not is_generator(generator):
        return generator(X)
    if declared_by(generator).knows_groups:
        settings["groups"] = groups
    return generator.sample(X, **settings)


def with_defaults(estimator: Any, **settings: Any) -> Any:
    """Set those settings that the estimator has and its owner left open."""
    params = estimator.get_params(deep=False)
    left_open = {
        k: v
        for k, v in settings.items()
        if k in params and (params[k] is None or params[k] is False or params[k] == "auto")
    }
    return estimator.set_params(**left_open)


def _is_fitted(generator: Any) -> bool:
    try:
        check_is_fitted(generator)
    except (NotFittedError, TypeError):
        return False
    return True
