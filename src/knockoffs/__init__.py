"""Which features matter, with a bounded share of false answers: model-X knockoffs."""

# Names are imported when they are first used, so that `import knockoffs` does not wait for torch, nor the command
# line, which must answer an interrupt at once.

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knockoffs.cautions import KnockoffWarning
    from knockoffs.completion import complete_table
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
    from knockoffs.generators.hierarchical import HierarchicalKnockoffs
    from knockoffs.generators.hmm import HMMKnockoffs
    from knockoffs.generators.joint import JointDensity
    from knockoffs.generators.loading import load_generator
    from knockoffs.guarantees import fdp_bound, fdp_bounds, kfwer_select, pfer_select
    from knockoffs.randomization import RandomizationResult, RandomizationTest
    from knockoffs.report import write_report
    from knockoffs.report.tests import write_test_report
    from knockoffs.schema import Column, Schema
    from knockoffs.selection import Selection
    from knockoffs.selector import KnockoffSelector
    from knockoffs.statistics import (
        HoldoutStatistic,
        ImportanceStatistic,
        LassoStatistic,
        MidpointStatistic,
        SumStatistic,
    )
    from knockoffs.tables import infer_schema

    __version__: str

_MODULES = {
    "AutoEncodingKnockoffs": "knockoffs.generators.autoencoder",
    "Certificate": "knockoffs.diagnostics",
    "Column": "knockoffs.schema",
    "DDLK": "knockoffs.generators.ddlk",
    "DeepKnockoffs": "knockoffs.generators.deep",
    "GaussianKnockoffs": "knockoffs.generators.gaussian",
    "GaussianMixtureKnockoffs": "knockoffs.generators.gaussian_mixture",
    "HMMKnockoffs": "knockoffs.generators.hmm",
    "HierarchicalKnockoffs": "knockoffs.generators.hierarchical",
    "HoldoutStatistic": "knockoffs.statistics",
    "ImportanceStatistic": "knockoffs.statistics",
    "JointDensity": "knockoffs.generators.joint",
    "KnockoffGAN": "knockoffs.generators.gan",
    "KnockoffSelector": "knockoffs.selector",
    "KnockoffWarning": "knockoffs.cautions",
    "LassoStatistic": "knockoffs.statistics",
    "MidpointStatistic": "knockoffs.statistics",
    "RandomizationResult": "knockoffs.randomization",
    "RandomizationTest": "knockoffs.randomization",
    "Schema": "knockoffs.schema",
    "Selection": "knockoffs.selection",
    "SumStatistic": "knockoffs.statistics",
    "check_swap": "knockoffs.diagnostics",
    "combine_draws": "knockoffs.filtering",
    "fdp": "knockoffs.filtering",
    "fdp_bound": "knockoffs.guarantees",
    "fdp_bounds": "knockoffs.guarantees",
    "complete_table": "knockoffs.completion",
    "infer_schema": "knockoffs.tables",
    "kfwer_select": "knockoffs.guarantees",
    "knockoff_evalues": "knockoffs.filtering",
    "knockoff_select": "knockoffs.filtering",
    "knockoff_threshold": "knockoffs.filtering",
    "load_generator": "knockoffs.generators.loading",
    "pfer_select": "knockoffs.guarantees",
    "power": "knockoffs.filtering",
    "select_by_evalues": "knockoffs.filtering",
    "smallest_levels": "knockoffs.filtering",
    "write_report": "knockoffs.report",
    "write_test_report": "knockoffs.report.tests",
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
        return import_module("knockoffs.versions").installed_version("knockoffs")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
