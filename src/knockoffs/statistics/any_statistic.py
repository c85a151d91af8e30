"""What is known of a statistic, whoever has written it: the one place that looks at objects of
others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from knockoffs.runtime.randomness import RandomState
from knockoffs.statistics.base import Statistic
from knockoffs.statistics.quick import QuickStatistic, ridge_coefficients
from knockoffs.statistics.registry import AUTO
from knockoffs.targets.registry import TaskChoice


@dataclass(frozen=True)
class StatisticOfOthers:
    """What a `Statistic` declares, for a function or an object with `compute` that is none."""

    part: Any
    cost: float = 1.0
    alternative: str = "mixture"
    predicts: bool = False

    @property
    def exact(self) -> bool | None:
        """Whether the flip-sign property holds; None where nothing is said of it."""
        return getattr(self.part, "exact", None)

    @property
    def task(self) -> TaskChoice:
        """The task that it is made for."""
        return getattr(self.part, "task", "auto")

    @property
    def random_state(self) -> RandomState:
        """The seed that it has."""
        return getattr(self.part, "random_state", None)

    def check_settings(self) -> None:
        """Accept all settings, of which nothing is known."""

    def stand_in(self) -> QuickStatistic:
        """Return a ridge regression."""
        return ridge_coefficients


def declared_by(statistic: Any) -> Statistic | StatisticOfOthers:
    """Return what a statistic declares of itself, or what holds for those that declare nothing."""
    return statistic if isinstance(statistic, Statistic) else StatisticOfOthers(statistic)


def is_statistic(part: Any) -> bool:
    """Return whether w is found by `compute`, also by classes of others,
    and not by calling a function.
    """
    return hasattr(part, "compute") and not isinstance(part, type)


def is_auto(statistic: Any) -> bool:
    """Return whether the statistic is to be chosen."""
    return isinstance(statistic, str) and statistic == AUTO
