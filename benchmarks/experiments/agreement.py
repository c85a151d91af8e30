"""Predicted against realised false discoveries:
is what the check of knockoffs expects what happens?
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from benchmarks.experiments.summary import rates
from knockoffs.check.verdict import TOO_MANY

COMBINATION = ["variant", "method", "statistic"]
COLOURS = {
    "ddlk": "#c8442f",
    "gaussian": "#12806a",
    "permuted": "#8a5a00",
    "shuffled": "#20639b",
    "oracle": "#1c2430",
}
MARKERS = {"mixture": "o", "lasso": "s"}


class Agreement(NamedTuple):
    """How well predictions agree with what happened, over combinations of data set,
    method and statistic.

    Attributes
    ----------
    combinations : int
        Their number.
    rank_correlation : float
        Spearman's, of predicted and realised false discovery proportion.
    slope : float
        That of a straight line from predicted to realised; 1 where predictions are as large as they
        should be.
    auroc : float
        How well the prediction tells realised proportions above 1.5 times the level from others;
        nan where there are none of one kind.
    exact_passed : float
        The share of exact knockoffs with the verdict "pass", over runs; nan where there are none.
    """

    combinations: int
    rank_correlation: float
    slope: float
    auroc: float
    exact_passed: float


def compare_predictions(
    results: pd.DataFrame, predicted: pd.DataFrame, level: float
) -> pd.DataFrame:
    """One row per combination: realised and predicted false discovery proportion,
    and the verdicts of its runs.
    """
    realised = rates(results, [level]).groupby(COMBINATION, sort=False)["fdp"]
    frame = pd.DataFrame(
        {"responses": realised.size(), "realised": realised.mean(), "error": realised.sem()}
    )
    expected = predicted.groupby(COMBINATION, sort=False)
    frame["predicted"] = expected[f"expected at {level:g}"].mean()
    for verdict in ("pass", "warn", "fail"):
        frame[verdict] = expected["verdict"].agg(
            lambda found, own=verdict: int((found == own).sum())
        )
    return frame.reset_index()


def agreement(compared: pd.DataFrame, level: float) -> Agreement:
    """Summarise `compare_predictions`."""
    predicted, realised = compared["predicted"], compared["realised"]
    above = realised > TOO_MANY * level
    exact = compared[compared["method"] == "oracle"]
    runs = exact[["pass", "warn", "fail"]].to_numpy().sum()
    return Agreement(
        len(compared),
        float(spearmanr(predicted, realised).statistic) if len(compared) > 1 else np.nan,
        float(np.polyfit(predicted, realised, 1)[0]) if len(compared) > 1 else np.nan,
        float(roc_auc_score(above, predicted)) if 0 < above.sum() < len(above) else np.nan,
        float(exact["pass"].sum() / runs) if runs else np.nan,
    )


def scatter(compared: pd.DataFrame, level: float) -> Figure:
    """Realised against predicted false discovery proportion, with one standard error."""
    figure = Figure(figsize=(5.6, 5.2), layout="constrained")
    axes = figure.subplots()
    reach = (compared["realised"] + compared["error"].fillna(0.0)).max()
    most = 1.05 * max(reach, compared["predicted"].max(), 2 * level)
    axes.plot([0, most], [0, most], color="0.6", linestyle="--", linewidth=1)
    axes.axvline(level, color="0.85", linewidth=1, zorder=0)
    axes.axhline(level, color="0.85", linewidth=1, zorder=0)
    for (method, statistic), found in compared.groupby(["method", "statistic"], sort=False):
        axes.errorbar(
            found["predicted"],
            found["realised"],
            yerr=found["error"],
            fmt=MARKERS.get(str(statistic), "D"),
            color=COLOURS.get(str(method), "0.4"),
            markersize=4.5,
            linewidth=0.8,
            label=f"{method}, {statistic}",
        )
    axes.set_xlabel(f"predicted false discovery proportion at q = {level:g}", fontsize=9)
    axes.set_ylabel("realised (mean over responses ± s.e.)", fontsize=9)
    axes.set_xlim(0, most)
    axes.set_ylim(0, most)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=7, frameon=False)
    return figure
