"""Pictures of knockoffs beside the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from knockoffs.arrays import Array

DATA, KNOCKOFF = "#20639b", "#d1495b"


def compare_knockoffs(x: Array, x_tilde: Array, names: Sequence[str], *, columns: int = 4) -> Figure:
    """Marginals of the first `columns` features, and below them each feature against the next: data and knockoffs.

    Good knockoffs have the data's marginals and the data's dependence.
    """
    columns = min(columns, x.shape[1] - 1)
    figure = Figure(figsize=(2.6 * columns, 5.2), layout="constrained")
    top, bottom = figure.subplots(2, columns, squeeze=False)
    for j in range(columns):
        _marginal(top[j], x[:, j], x_tilde[:, j], names[j])
        for table, colour, label in ((x, DATA, "data"), (x_tilde, KNOCKOFF, "knockoffs")):
            bottom[j].scatter(
                table[:, j], table[:, j + 1], s=4, alpha=0.5, color=colour, linewidths=0, label=label
            )
        bottom[j].set_xlabel(names[j], parse_math=False)
        bottom[j].set_ylabel(names[j + 1], parse_math=False)
    bottom[0].legend(markerscale=3, frameon=False)
    for axes in (*top, *bottom):
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def compare_methods(tables: Mapping[str, Array], first: int, second: int) -> Figure:
    """Two columns against each other, a panel for each table, the first of them the data."""
    columns = min(4, len(tables))
    rows = -(-len(tables) // columns)
    figure = Figure(figsize=(2.6 * columns, 2.6 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for number, (axes, (name, table)) in enumerate(zip(panels, tables.items(), strict=False)):
        colour = KNOCKOFF if number else DATA
        axes.scatter(table[:, first], table[:, second], s=4, alpha=0.5, color=colour, linewidths=0)
        axes.set_title(name, fontsize=9, parse_math=False)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(tables) :]:
        axes.set_visible(False)
    return figure


def _marginal(axes, x: Array, x_tilde: Array, name: str) -> None:
    edges = np.histogram_bin_edges(np.concatenate([x, x_tilde]), bins=30)
    axes.hist(x, edges, color=DATA, alpha=0.35, label="data")
    axes.hist(x_tilde, edges, histtype="step", color=KNOCKOFF, linewidth=1.5, label="knockoffs")
    axes.set_title(name, fontsize=9, parse_math=False)  # a name is text, whatever its signs
    axes.set_yticks([])
