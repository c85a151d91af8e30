"""The picture of the README and of the first page: `python docs/picture.py` draws it anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from knockoffs import KnockoffSelector
from knockoffs.datasets import make_patients
from knockoffs.runtime.figures import DATA, KNOCKOFF


def picture() -> Figure:
    """w of every feature of the README's example, with the truth and the threshold."""
    X, y, relevant = make_patients(rows=800, random_state=0)
    selector = KnockoffSelector(fdr=0.1, random_state=0).fit(X, y)
    w, order = selector.w_, np.argsort(-selector.w_)
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    axes = figure.subplots()
    colours = np.where(relevant[order], DATA, KNOCKOFF)
    places = np.arange(len(w))
    axes.vlines(places, 0, w[order], color=colours, linewidth=2)
    axes.scatter(places, w[order], color=colours, s=40, zorder=3)
    threshold, most = selector.threshold_, float(w.max())
    axes.axhspan(threshold, 1.12 * most, color=DATA, alpha=0.07, linewidth=0)
    axes.axhline(threshold, color="0.3", linestyle="--", linewidth=1)
    axes.axhline(0, color="0.6", linewidth=1)
    selected = selector.get_support()
    said = (
        f"{selected.sum()} selected, {(selected & ~relevant).sum()} of them false (a tenth was "
        f"accepted)"
    )
    axes.text(len(w) - 0.5, 1.05 * most, said, ha="right", va="top", fontsize=12)
    axes.text(
        len(w) - 0.5,
        0.93 * most,
        "blue: relevant in truth",
        color=DATA,
        ha="right",
        va="top",
        fontsize=11,
    )
    axes.text(
        len(w) - 0.5,
        0.83 * most,
        "red: irrelevant in truth",
        color=KNOCKOFF,
        ha="right",
        va="top",
        fontsize=11,
    )
    axes.set_xticks(places, X.columns[order], rotation=60, ha="right", fontsize=9)
    axes.set_ylabel("w: evidence beyond its knockoff")
    axes.set_ylim(min(-0.08 * most, 1.1 * w.min()), 1.12 * most)
    axes.set_xlim(-0.8, len(w) - 0.2)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    return figure


if __name__ == "__main__":
    picture().savefig(Path(__file__).parent / "_static" / "first.png", dpi=110)
