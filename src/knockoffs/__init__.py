"""Which features matter, with a bounded share of false answers: model-X knockoffs."""

from importlib.metadata import version

from knockoffs.filtering import fdp, knockoff_evalues, knockoff_select, knockoff_threshold, power
from knockoffs.generators.base import KnockoffWarning
from knockoffs.generators.ddlk import DDLK
from knockoffs.generators.joint import JointDensity
from knockoffs.statistics import HoldoutStatistic, ImportanceStatistic, LassoStatistic

__version__ = version("knockoffs")
__all__ = [
    "DDLK",
    "HoldoutStatistic",
    "ImportanceStatistic",
    "JointDensity",
    "KnockoffWarning",
    "LassoStatistic",
    "fdp",
    "knockoff_evalues",
    "knockoff_select",
    "knockoff_threshold",
    "power",
]
