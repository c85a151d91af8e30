"""Figures of results, for notebooks and papers; imported when one is asked for,
since matplotlib takes a while.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from knockoffs.runtime.arrays import Array, Flags

DATA, KNOCKOFF, SELECTED, OTHER = "#20639b", "#d1495b", "#12806a", "#8893a1"
COLUMNS = 4


def statistics_figure(
    names: Sequence[str],
    w: Array,
    selected: Flags,
    threshold: float,
    *,
    kept: Sequence[str] = (),
    most: int = 30,
    label: str = "w",
) -> Figure:
    """Draw the largest w by name, selected ones in green, and the threshold;
    kept ones are hatched.
    """
    order = np.argsort(-w, kind="stable")[:most][::-1]
    figure = Figure(figsize=(6.4, 0.8 + 0.24 * len(order)), layout="constrained")
    axes = figure.subplots()
    colours = [SELECTED if selected[j] else OTHER for j in order]
    hatches = ["///" if names[j] in kept else "" for j in order]
    axes.barh(np.arange(len(order)), w[order], color=colours, hatch=hatches)
    axes.set_yticks(np.arange(len(order)), [names[j] for j in order], parse_math=False)
    axes.axvline(0, color="black", linewidth=0.8)
    if np.isfinite(threshold):
        axes.axvline(
            threshold,
            color=SELECTED,
            linestyle="--",
            linewidth=1,
            label=f"threshold {threshold:.3g}",
        )
        axes.legend(frameon=False, loc="lower right")
    more = f", the {len(order)} largest of {len(w)}" if len(w) > len(order) else ""
    axes.set_xlabel(f"{label}{more}")
    without_frame(axes)
    return figure


def effects_figure(effects: Sequence[Any], target: str) -> Figure:
    """Draw a panel for each effect (and class): adjusted means with their intervals,
    and those of the knockoff.
    """
    panels = [(effect, curve) for effect in effects for curve in effect.curves]
    columns = max(1, min(COLUMNS, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    figure = Figure(figsize=(2.7 * columns, 2.3 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (effect, curve) in zip(grid, panels, strict=False):
        _effect(axes, effect, curve)
        about = "events above expectation" if effect.survival else target
        axes.set_title(
            about if curve.of is None else f"share of {curve.of}", fontsize=9, parse_math=False
        )
        axes.set_xlabel(effect.feature, parse_math=False)
        without_frame(axes)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    return figure


def _effect(axes: Axes, effect: Any, curve: Any) -> None:
    mean, error, knockoff, places = (  # None becomes nan
        np.array(values, dtype=float)
        for values in (curve.mean, curve.error, curve.knockoff, effect.places)
    )
    axes.axhline(0, color="black", linewidth=0.6)
    placed = ~np.isnan(places)
    if placed.any():
        axes.fill_between(
            places[placed],
            (mean - effect.reach * error)[placed],
            (mean + effect.reach * error)[placed],
            color=DATA,
            alpha=0.2,
            linewidth=0,
        )
        axes.plot(places[placed], knockoff[placed], color=KNOCKOFF, linewidth=1)
        axes.plot(places[placed], mean[placed], color=DATA, marker=".")
        return
    at = np.arange(len(mean))
    axes.bar(at - 0.2, mean, width=0.4, yerr=effect.reach * error, color=DATA, alpha=0.7)
    axes.bar(at + 0.2, knockoff, width=0.4, color=KNOCKOFF, alpha=0.7)
    axes.set_xticks(at, effect.bins, rotation=45, ha="right", fontsize=7, parse_math=False)


def certificate_figure(
    tests: Sequence[Any], names: Sequence[str], distances: Array, title: str, *, most: int = 20
) -> Figure:
    """Draw how well tests distinguish rows from swapped rows, and the features that differ most."""
    order = [
        j for j in np.argsort(-np.nan_to_num(distances), kind="stable") if np.isfinite(distances[j])
    ][:most]
    figure = Figure(figsize=(9, 1.2 + 0.24 * max(len(order), len(tests), 4)), layout="constrained")
    left, right = figure.subplots(1, 2)
    for place, test in enumerate(tests):
        left.plot([test.told_apart], [place], "o", color=DATA)
        if np.isfinite(test.low):
            left.plot([test.low, test.high], [place, place], color=DATA, linewidth=1)
    left.axvline(0.5, color="black", linewidth=0.8)
    left.set_yticks(np.arange(len(tests)), [f"{test.test}, {test.swap} swap" for test in tests])
    left.set_xlabel("rows distinguished from swapped rows (0.5: not at all)")
    right.barh(np.arange(len(order)), distances[order][::-1], color=KNOCKOFF)
    right.set_yticks(np.arange(len(order)), [names[j] for j in order[::-1]], parse_math=False)
    right.set_xlabel("distance of a feature from its knockoff (Kolmogorov-Smirnov)")
    figure.suptitle(title, fontsize=10)
    for axes in (left, right):
        without_frame(axes)
    return figure


def without_frame(axes: Axes, labels: int = 8) -> None:
    """Leave out the lines above and to the right, and write the ticks in this size."""
    axes.tick_params(labelsize=labels)
    axes.spines[["top", "right"]].set_visible(False)
