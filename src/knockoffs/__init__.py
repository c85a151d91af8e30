"""Which features matter, with a bounded share of false answers: model-X knockoffs."""

from importlib.metadata import version

from knockoffs.cautions import KnockoffWarning
from knockoffs.diagnostics import Certificate, check_swap
from knockoffs.filtering import (
    combine_draws,
    fdp,
    knockoff_evalues,
    knockoff_select,
    knockoff_threshold,
    power,
    select_by_evalues,
    smallest_levels,
)
from knockoffs.generators.autoencoder import AutoEncodingKnockoffs
from knockoffs.generators.ddlk import DDLK
from knockoffs.generators.deep import DeepKnockoffs
from knockoffs.generators.gan import KnockoffGAN
from knockoffs.generators.gaussian import GaussianKnockoffs
from knockoffs.generators.gaussian_mixture import GaussianMixtureKnockoffs
from knockoffs.generators.hmm import HMMKnockoffs
from knockoffs.generators.joint import JointDensity
from knockoffs.generators.registry import load_generator
from knockoffs.guarantees import fdp_bound, fdp_bounds, kfwer_select, pfer_select
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
    "combine_draws",
    "fdp",
    "fdp_bound",
    "fdp_bounds",
    "kfwer_select",
    "knockoff_evalues",
    "knockoff_select",
    "knockoff_threshold",
    "load_generator",
    "pfer_select",
    "power",
    "select_by_evalues",
    "smallest_levels",
    "write_report",
]
