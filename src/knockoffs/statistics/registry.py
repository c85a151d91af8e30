"""All statistics by name."""

from __future__ import annotations

from collections.abc import Callable

from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.importance import ImportanceStatistic
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.statistics.midpoint import MidpointStatistic
from knockoffs.statistics.sum import SumStatistic

STATISTICS: dict[str, Callable[[], Statistic]] = {
    "mixture": HoldoutStatistic,
    "holdout": lambda: HoldoutStatistic(mixture=0, folds=2),
    "midpoint": MidpointStatistic,
    "boosting": lambda: HoldoutStatistic("boosting"),
    "linear+boosting": lambda: HoldoutStatistic("linear+boosting"),
    "lightgbm": lambda: HoldoutStatistic("lightgbm"),
    "lasso": LassoStatistic,
    "importance": ImportanceStatistic,
    "sum": SumStatistic,
}
