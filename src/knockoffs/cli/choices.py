"""Names that options accept, written down here so that help and wrong usage need not wait for torch.

A test holds these against the registries and types that they stand for.
"""

from __future__ import annotations

GENERATORS = ("ddlk", "gaussian", "gaussian-mixture", "deep", "gan", "auto-encoding", "hmm")
STATISTICS = (
    "mixture",
    "holdout",
    "midpoint",
    "boosting",
    "linear+boosting",
    "lightgbm",
    "lasso",
    "importance",
    "sum",
)
AUTO = "auto"  # a statistic that is chosen by simulated responses
TASKS = ("auto", "regression", "classification", "survival")
VARIANTS = ("distilled", "holdout")  # of the randomisation test
CORRECTIONS = ("bh", "by", "holm", "none")
