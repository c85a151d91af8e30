"""All statistics by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from knockoffs.runtime.registry import Registry

if TYPE_CHECKING:  # help reads the names, and does not wait for what statistics need
    from knockoffs.statistics.base import Statistic as Base

AUTO = "auto"  # a statistic that is chosen by simulated responses
_ROOM = "knockoffs.statistics"
STATISTICS = Registry(
    "statistic",
    {
        "mixture": f"{_ROOM}.holdout:HoldoutStatistic",
        "holdout": f"{_ROOM}.holdout:HoldoutStatistic",
        "midpoint": f"{_ROOM}.midpoint:MidpointStatistic",
        "boosting": f"{_ROOM}.holdout:HoldoutStatistic",
        "linear+boosting": f"{_ROOM}.holdout:HoldoutStatistic",
        "lightgbm": f"{_ROOM}.holdout:HoldoutStatistic",
        "lasso": f"{_ROOM}.lasso:LassoStatistic",
        "importance": f"{_ROOM}.importance:ImportanceStatistic",
        "sum": f"{_ROOM}.sum:SumStatistic",
    },
    default="mixture",
    reserved=AUTO,
)
Statistic = TypeVar("Statistic", bound="type[Base]")


def register_statistic(statistic: Statistic) -> Statistic:
    """Make a statistic of your own known by its name, everywhere that names of statistics stand.

    Parameters
    ----------
    statistic : class
        A subclass of `knockoffs.statistics.base.Statistic` that declares its `name`.

    Returns
    -------
    class
        The class itself, so that this may stand as a decorator above it.

    Examples
    --------
    >>> import numpy as np
    >>> from knockoffs import KnockoffSelector, LassoStatistic, register_statistic
    >>> @register_statistic
    ... class RoughLasso(LassoStatistic):
    ...     name = "rough-lasso"
    ...
    ...     def __init__(self, *, random_state=None):
    ...         super().__init__(cv=2, random_state=random_state)
    >>> KnockoffSelector("gaussian", "rough-lasso").statistic
    'rough-lasso'
    """
    return STATISTICS.register(statistic)
