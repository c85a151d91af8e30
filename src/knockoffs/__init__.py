"""Which features matter, with a bounded share of false answers: model-X knockoffs."""

from importlib.metadata import version

from knockoffs.cautions import KnockoffWarning
from knockoffs.diagnostics import Certificate, check_swap
from knockoffs.filtering import fdp, knockoff_evalues, knockoff_select, knockoff_threshold, power
from knockoffs.generators.autoencoder import AutoEncodingKnockoffs
from knockoffs.generators.ddlk import DDLK
from knockoffs.generators.deep import DeepKnockoffs
from knockoffs.generators.gan import KnockoffGAN
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.generators.gaussian_mixture import GaussianMixtureKnockoffs
from knockoffs.generators.hierarchical import HierarchicalKnockoffs
from knockoffs.generators.hmm import HMMKnockoffs
from knockoffs.generators.joint import JointDensity
from knockoffs.generators.loading import load_generator
from knockoffs.report import write_report
from knockoffs.selection import Selection
from knockoffs.selector import KnockoffSelector
from knockoffs.statistics import HoldoutStatistic, ImportanceStatistic, LassoStatistic, MidpointStatistic

__version__ = version("knockoffs")
__all__ = [
    "DDLK",
    "AutoEncodingKnockoffs",
    "Certificate",
    "DeepKnockoffs",
    "GaussianKnockoffs",
    "GaussianMixtureKnockoffs",
    "HMMKnockoffs",
    "HierarchicalKnockoffs",
    "HoldoutStatistic",
    "ImportanceStatistic",
    "JointDensity",
    "KnockoffGAN",
    "KnockoffSelector",
    "KnockoffWarning",
    "LassoStatistic",
    "MidpointStatistic",
    "Selection",
    "check_swap",
    "fdp",
    "knockoff_evalues",
    "knockoff_select",
    "knockoff_threshold",
    "load_generator",
    "power",
    "write_report",
]
