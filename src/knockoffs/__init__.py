"""Which features matter, with a bounded share of false answers: model-X knockoffs."""

from importlib.metadata import version

from knockoffs.checks import KnockoffWarning
from knockoffs.filtering import fdp, knockoff_evalues, knockoff_select, knockoff_threshold, power
from knockoffs.generators.ddlk import DDLK
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.generators.joint import JointDensity
from knockoffs.generators.registry import load_generator
from knockoffs.report import write_report
from knockoffs.selection import Selection
from knockoffs.selector import KnockoffSelector
from knockoffs.statistics import HoldoutStatistic, ImportanceStatistic, LassoStatistic, MidpointStatistic

__version__ = version("knockoffs")
__all__ = [
    "DDLK",
    "GaussianKnockoffs",
    "HoldoutStatistic",
    "ImportanceStatistic",
    "JointDensity",
    "KnockoffSelector",
    "KnockoffWarning",
    "LassoStatistic",
    "MidpointStatistic",
    "Selection",
    "fdp",
    "knockoff_evalues",
    "knockoff_select",
    "knockoff_threshold",
    "load_generator",
    "power",
    "write_report",
]
