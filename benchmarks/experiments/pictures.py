"""Pictures of knockoffs beside the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.neighbors import KernelDensity, NearestNeighbors

from knockoffs.runtime.arrays import Array
from knockoffs.runtime.figures import DATA, KNOCKOFF, without_frame


def compare_methods(tables: Mapping[str, Array], first: int, second: int) -> Figure:
    """The joint density of two columns, a panel for each table; the first is the data,
    outlined in every panel.

    The figure of the paper that shows which methods miss modes, and which smear them.
    """
    figure, panels = _panels(len(tables), shared="both")
    data = next(iter(tables.values()))
    for number, (axes, (name, table)) in enumerate(zip(panels, tables.items(), strict=False)):
        colour = KNOCKOFF if number else DATA
        axes.scatter(table[:, first], table[:, second], s=4, alpha=0.5, color=colour, linewidths=0)
        axes.set_title(name, fontsize=9, parse_math=False)
        if number:
            _outline(axes, data[:, first], data[:, second])
    return figure


def compare_marginals(tables: Mapping[str, Array], column: int) -> Figure:
    """One column's distribution, a panel for each table of knockoffs beside the data,
    which come first.
    """
    (_, data), *knockoffs = tables.items()
    figure, panels = _panels(len(knockoffs), shared="x")
    for axes, (name, table) in zip(panels, knockoffs, strict=False):
        _marginal(axes, data[:, column], table[:, column], name)
    panels[0].legend(fontsize=7, frameon=False)
    return figure


def _panels(count: int, *, shared: Literal["both", "x"]) -> tuple[Figure, Sequence[Axes]]:
    columns = max(1, min(4, count))
    rows = max(1, -(-count // columns))
    figure = Figure(figsize=(2.6 * columns, 2.6 * rows), layout="constrained")
    panels = figure.subplots(
        rows, columns, squeeze=False, sharex=True, sharey=shared == "both"
    ).ravel()
    for axes in panels:
        without_frame(axes, labels=7)
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure, list(panels)


def _outline(axes: Axes, x: Array, y: Array) -> None:
    """Lines within which 50 and 90 % of the points lie,
    by a kernel estimate as fine as the points are dense.
    """
    points = np.stack([x, y], axis=1)
    points = points[~np.isnan(points).any(axis=1)]
    points = points[:: max(1, len(points) // 2000)]
    scale = points.std(0) if len(points) else np.zeros(2)
    # all on one line
    if len(points) < 30 or (scale == 0).any() or abs(np.corrcoef(points.T)[0, 1]) > 1 - 1e-12:
        return
    neighbours = NearestNeighbors(n_neighbors=20).fit(points / scale)
    width = float(np.median(neighbours.kneighbors()[0][:, -1]))
    if width == 0:  # few different values
        return
    density = KernelDensity(bandwidth=width).fit(points / scale)
    levels = np.quantile(density.score_samples(points / scale), [0.1, 0.5])
    grid = np.meshgrid(*(np.linspace(t.min(), t.max(), 120) for t in points.T))
    height = density.score_samples(np.stack([g.ravel() for g in grid], axis=1) / scale).reshape(
        grid[0].shape
    )
    axes.contour(*grid, height, levels=np.unique(levels), colors=DATA, linewidths=0.8)


def _marginal(axes: Axes, x: Array, x_tilde: Array, name: str) -> None:
    # missing cells have no place in it
    x, x_tilde = (cells[~np.isnan(cells)] for cells in (x, x_tilde))
    edges = np.histogram_bin_edges(np.concatenate([x, x_tilde]), bins=30).tolist()
    axes.hist(x, edges, color=DATA, alpha=0.35, label="data")
    axes.hist(x_tilde, edges, histtype="step", color=KNOCKOFF, linewidth=1.5, label="knockoffs")
    axes.set_title(name, fontsize=9, parse_math=False)  # a name is text, whatever its signs
    axes.set_yticks([])
