"""Figures of results: curves of FDP and power along the level, and the heat map over λ."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.experiments.summary import distance_from_nominal, means_of_rates
from knockoffs.runtime.figures import without_frame

CURVE = np.round(np.arange(0.02, 0.501, 0.02), 3)
COLOURS = {
    "ddlk": "#c8442f",
    "deep": "#20639b",
    "gan": "#8a5a00",
    "auto-encoding": "#7b4ab5",
    "gaussian": "#12806a",
    "oracle": "#1c2430",
}


def on_curve(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the rates at the levels along which curves are drawn."""
    return rates[rates["level"].isin(CURVE)]


def curves(rates: pd.DataFrame, variant: str, response: str) -> Figure:
    """Draw FDP (above) and power (below) along the level, a column for each statistic.

    Bands are one standard error wide.
    """
    chosen = (rates["variant"] == variant) & (rates["response"] == response)
    frame = means_of_rates(on_curve(rates[chosen]))
    statistics = list(dict.fromkeys(frame["statistic"]))
    figure = Figure(figsize=(3.2 * len(statistics), 5.6), layout="constrained")
    panels = figure.subplots(2, len(statistics), squeeze=False, sharex=True, sharey="row")
    for column, statistic in enumerate(statistics):
        own = frame[frame["statistic"] == statistic]
        panels[0][column].set_title(statistic, fontsize=10, parse_math=False)
        panels[1][column].set_xlabel("level q", fontsize=9)
        draw_means(panels[0][column], own, "fdp")
        draw_means(panels[1][column], own, "power")
    panels[0][0].set_ylabel("mean false discovery proportion", fontsize=9)
    panels[1][0].set_ylabel("power", fontsize=9)
    panels[0][0].legend(fontsize=7, frameon=False)
    return figure


def draw_means(axes: Axes, frame: pd.DataFrame, value: str) -> None:
    """Draw one line for each method along the level, and for the FDP what the level promises."""
    for method, found in frame.groupby("method", sort=False):
        colour = COLOURS.get(str(method))
        line = {"color": colour, "label": str(method), "linewidth": 1.5}
        (drawn,) = axes.plot(found["level"], found[value], **line)
        error = found[f"{value}_error"].fillna(0.0)
        low, high = found[value] - error, found[value] + error
        band = {"color": drawn.get_color(), "alpha": 0.15, "linewidth": 0}
        axes.fill_between(found["level"], low, high, **band)
    if value == "fdp":
        axes.plot([0, 0.5], [0, 0.5], color="0.6", linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.02)  # also for the FDP: what fails worst must be seen
    without_frame(axes)


def heat_map(rates: pd.DataFrame) -> Figure:
    """Draw how far the mean FDP is from the level, over λ (rows) and correlation (columns)."""
    table = distance_from_nominal(on_curve(rates))
    figure = Figure(
        figsize=(1.2 * table.shape[1] + 2, 0.6 * table.shape[0] + 1.5), layout="constrained"
    )
    axes = figure.subplots()
    image = axes.imshow(table.to_numpy(), cmap="viridis_r", aspect="auto")
    axes.set_xticks(range(table.shape[1]), [str(name) for name in table.columns])
    axes.set_yticks(range(table.shape[0]), [str(name) for name in table.index])
    middle = np.nanmean([np.nanmin(table), np.nanmax(table)])
    for (row, column), value in np.ndenumerate(table.to_numpy()):
        if np.isfinite(value):  # a cell without runs stays empty
            colour = "white" if float(value) > middle else "black"
            axes.text(
                column, row, f"{value:.3f}", ha="center", va="center", color=colour, fontsize=9
            )
    figure.colorbar(image, label="RMSE between nominal and mean FDP")
    return figure
