"""Knockoff statistics: one number w per feature,
large where it tells more of y than its knockoff does.
"""

from knockoffs.statistics.base import Statistic
from knockoffs.statistics.holdout import HoldoutStatistic
from knockoffs.statistics.importance import ImportanceStatistic
from knockoffs.statistics.lasso import LassoStatistic
from knockoffs.statistics.midpoint import MidpointStatistic
from knockoffs.statistics.sum import SumStatistic

__all__ = [
    "HoldoutStatistic",
    "ImportanceStatistic",
    "LassoStatistic",
    "MidpointStatistic",
    "Statistic",
    "SumStatistic",
]
