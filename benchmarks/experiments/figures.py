"""Figures of results: curves of FDP and power along the level, and the heat map over λ."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.summary import distance_from_nominal, means

CURVE = np.round(np.arange(0.02, 0.501, 0.02), 3)
COLOURS = {
    "ddlk": "#c8442f",
    "deep": "#20639b",
    "gan": "#8a5a00",
    "auto-encoding": "#7b4ab5",
    "gaussian": "#12806a",
    "oracle": "#1c2430",
}


def curves(results: pd.DataFrame, variant: str, response: str) -> Figure:
    """FDP (above) and power (below) along the level, a column for each statistic, bands of one standard error."""
    chosen = (results["variant"] == variant) & (results["response"] == response)
    frame = means(results[chosen], CURVE.tolist())
    statistics = list(dict.fromkeys(frame["statistic"]))
    figure = Figure(figsize=(3.2 * len(statistics), 5.6), layout="constrained")
    panels = figure.subplots(2, len(statistics), squeeze=False, sharex=True, sharey="row")
    for column, statistic in enumerate(statistics):
        for row, (value, label) in enumerate((("fdp", "mean false discovery proportion"), ("power", "power"))):
            axes = panels[row][column]
            for method, found in frame[frame["statistic"] == statistic].groupby("method", sort=False):
                colour = COLOURS.get(str(method))
                (line,) = axes.plot(found["level"], found[value], color=colour, label=str(method), linewidth=1.5)
                error = found[f"{value}_error"].fillna(0.0)
                low, high = found[value] - error, found[value] + error
                axes.fill_between(found["level"], low, high, color=line.get_color(), alpha=0.15, linewidth=0)
            if value == "fdp":
                axes.plot([0, 0.5], [0, 0.5], color="0.6", linestyle="--", linewidth=1)
                axes.set_title(statistic, fontsize=10, parse_math=False)
            axes.set_ylim(0, 1.02)  # also for the FDP: what fails worst must be seen
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(labelsize=8)
            if column == 0:
                axes.set_ylabel(label, fontsize=9)
            if value == "power":
                axes.set_xlabel("level q", fontsize=9)
    panels[0][0].legend(fontsize=7, frameon=False)
    return figure


def heat_map(results: pd.DataFrame) -> Figure:
    """How far the mean FDP is from the level, over λ (rows) and correlation (columns)."""
    table = distance_from_nominal(results, CURVE.tolist())
    figure = Figure(figsize=(1.2 * table.shape[1] + 2, 0.6 * table.shape[0] + 1.5), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(table.to_numpy(), cmap="viridis_r", aspect="auto")
    axes.set_xticks(range(table.shape[1]), [str(name) for name in table.columns])
    axes.set_yticks(range(table.shape[0]), [str(name) for name in table.index])
    middle = np.nanmean([np.nanmin(table), np.nanmax(table)])
    for (row, column), value in np.ndenumerate(table.to_numpy()):
        if np.isfinite(value):  # a cell without runs stays empty
            colour = "white" if float(value) > middle else "black"
            axes.text(column, row, f"{value:.3f}", ha="center", va="center", color=colour, fontsize=9)
    figure.colorbar(image, label="RMSE between nominal and mean FDP")
    return figure
