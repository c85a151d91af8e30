"""Which features matter, with a bounded share of false answers: model-X knockoffs."""

# Names are imported when they are first used, so that `import knockoffs` does not wait for torch, nor the command
# line, which must answer an interrupt at once.

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knockoffs.check import Certificate, check_swap
    from knockoffs.filtering.filter import (
        combine_draws,
        fdp,
        knockoff_evalues,
        knockoff_select,
        knockoff_threshold,
        power,
        select_by_evalues,
        smallest_levels,
    )
    from knockoffs.filtering.guarantees import fdp_bound, fdp_bounds, kfwer_select, pfer_select
    from knockoffs.generators.compared.autoencoder import AutoEncodingKnockoffs
    from knockoffs.generators.compared.deep import DeepKnockoffs
    from knockoffs.generators.compared.gan import KnockoffGAN
    from knockoffs.generators.compared.hmm import HMMKnockoffs
    from knockoffs.generators.completion import complete_table
    from knockoffs.generators.ddlk import DDLK
    from knockoffs.generators.gaussian import GaussianKnockoffs
    from knockoffs.generators.gaussian_mixture import GaussianMixtureKnockoffs
    from knockoffs.generators.hierarchical import HierarchicalKnockoffs
    from knockoffs.generators.joint import JointDensity
    from knockoffs.generators.loading import load_generator
    from knockoffs.pvalues import RandomizationResult, RandomizationTest
    from knockoffs.report import write_report
    from knockoffs.report.page import write_test_report
    from knockoffs.runtime.cautions import KnockoffWarning
    from knockoffs.schema.schema import Column, Schema
    from knockoffs.selection.result import Selection
    from knockoffs.selection.selector import KnockoffSelector
    from knockoffs.statistics import (
        HoldoutStatistic,
        ImportanceStatistic,
        LassoStatistic,
        MidpointStatistic,
        SumStatistic,
    )
    from knockoffs.table.table import infer_schema

    __version__: str

_MODULES = {
    "AutoEncodingKnockoffs": "knockoffs.generators.compared.autoencoder",
    "Certificate": "knockoffs.check",
    "Column": "knockoffs.schema.schema",
    "DDLK": "knockoffs.generators.ddlk",
    "DeepKnockoffs": "knockoffs.generators.compared.deep",
    "GaussianKnockoffs": "knockoffs.generators.gaussian",
    "GaussianMixtureKnockoffs": "knockoffs.generators.gaussian_mixture",
    "HMMKnockoffs": "knockoffs.generators.compared.hmm",
    "HierarchicalKnockoffs": "knockoffs.generators.hierarchical",
    "HoldoutStatistic": "knockoffs.statistics",
    "ImportanceStatistic": "knockoffs.statistics",
    "JointDensity": "knockoffs.generators.joint",
    "KnockoffGAN": "knockoffs.generators.compared.gan",
    "KnockoffSelector": "knockoffs.selection.selector",
    "KnockoffWarning": "knockoffs.runtime.cautions",
    "LassoStatistic": "knockoffs.statistics",
    "MidpointStatistic": "knockoffs.statistics",
    "RandomizationResult": "knockoffs.pvalues",
    "RandomizationTest": "knockoffs.pvalues",
    "Schema": "knockoffs.schema.schema",
    "Selection": "knockoffs.selection.result",
    "SumStatistic": "knockoffs.statistics",
    "check_swap": "knockoffs.check",
    "combine_draws": "knockoffs.filtering.filter",
    "fdp": "knockoffs.filtering.filter",
    "fdp_bound": "knockoffs.filtering.guarantees",
    "fdp_bounds": "knockoffs.filtering.guarantees",
    "complete_table": "knockoffs.generators.completion",
    "infer_schema": "knockoffs.table.table",
    "kfwer_select": "knockoffs.filtering.guarantees",
    "knockoff_evalues": "knockoffs.filtering.filter",
    "knockoff_select": "knockoffs.filtering.filter",
    "knockoff_threshold": "knockoffs.filtering.filter",
    "load_generator": "knockoffs.generators.loading",
    "pfer_select": "knockoffs.filtering.guarantees",
    "power": "knockoffs.filtering.filter",
    "select_by_evalues": "knockoffs.filtering.filter",
    "smallest_levels": "knockoffs.filtering.filter",
    "write_report": "knockoffs.report",
    "write_test_report": "knockoffs.report.page",
}
__all__ = [
    "DDLK",
    "AutoEncodingKnockoffs",
    "Certificate",
    "Column",
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
    "RandomizationResult",
    "RandomizationTest",
    "Schema",
    "Selection",
    "SumStatistic",
    "check_swap",
    "combine_draws",
    "complete_table",
    "fdp",
    "fdp_bound",
    "fdp_bounds",
    "infer_schema",
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
    "write_test_report",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("knockoffs.runtime.versions").installed_version("knockoffs")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
