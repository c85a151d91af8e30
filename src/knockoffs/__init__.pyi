"""The public names and their places: for type checkers, and at run time for `__init__.py`."""

from knockoffs.check import Certificate as Certificate, check_swap as check_swap
from knockoffs.filtering.filter import (
    combine_draws as combine_draws,
    fdp as fdp,
    knockoff_evalues as knockoff_evalues,
    knockoff_select as knockoff_select,
    knockoff_threshold as knockoff_threshold,
    power as power,
    select_by_evalues as select_by_evalues,
    smallest_levels as smallest_levels,
)
from knockoffs.filtering.guarantees import (
    fdp_bound as fdp_bound,
    fdp_bounds as fdp_bounds,
    kfwer_select as kfwer_select,
    pfer_select as pfer_select,
)
from knockoffs.generators.compared.autoencoder import AutoEncodingKnockoffs as AutoEncodingKnockoffs
from knockoffs.generators.compared.deep import DeepKnockoffs as DeepKnockoffs
from knockoffs.generators.compared.gan import KnockoffGAN as KnockoffGAN
from knockoffs.generators.compared.hmm import HMMKnockoffs as HMMKnockoffs
from knockoffs.generators.completion import complete_table as complete_table
from knockoffs.generators.ddlk import DDLK as DDLK
from knockoffs.generators.gaussian import GaussianKnockoffs as GaussianKnockoffs
from knockoffs.generators.gaussian_mixture import (
    GaussianMixtureKnockoffs as GaussianMixtureKnockoffs,
)
from knockoffs.generators.hierarchical import HierarchicalKnockoffs as HierarchicalKnockoffs
from knockoffs.generators.joint import JointDensity as JointDensity
from knockoffs.generators.loading import load_generator as load_generator
from knockoffs.generators.registry import register_generator as register_generator
from knockoffs.pvalues import (
    RandomizationResult as RandomizationResult,
    RandomizationTest as RandomizationTest,
)
from knockoffs.report import write_report as write_report
from knockoffs.report.page import write_test_report as write_test_report
from knockoffs.runtime.cautions import KnockoffWarning as KnockoffWarning
from knockoffs.schema.schema import Column as Column, Schema as Schema
from knockoffs.selection.result import Selection as Selection
from knockoffs.selection.selector import KnockoffSelector as KnockoffSelector
from knockoffs.statistics.holdout import HoldoutStatistic as HoldoutStatistic
from knockoffs.statistics.importance import ImportanceStatistic as ImportanceStatistic
from knockoffs.statistics.lasso import LassoStatistic as LassoStatistic
from knockoffs.statistics.midpoint import MidpointStatistic as MidpointStatistic
from knockoffs.statistics.registry import register_statistic as register_statistic
from knockoffs.statistics.sum import SumStatistic as SumStatistic
from knockoffs.table.table import infer_schema as infer_schema

__version__: str
