"""What the demo shows: the selected pixels over the mean image of every digit, and as text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from knockoffs.runtime.arrays import Array, Flags

SIDE = 8  # pixels of an image, across and down
FRAME = "#c8442f"


def place(name: str) -> tuple[int, int]:
    """Return row and column of a pixel, by its name in scikit-learn's table.

    >>> place("pixel_2_5")
    (2, 5)
    """
    found = re.fullmatch(r"pixel_(\d+)_(\d+)", name)
    if found is None:
        raise ValueError(f"{name!r} is no pixel: names are such as 'pixel_2_5'.")
    return int(found[1]), int(found[2])


def pixel_flags(names: Iterable[str]) -> Flags:
    """Return an image that is true at the named pixels."""
    return _image(dict.fromkeys(names, 1.0)) > 0


def as_text(selected: Flags, used: Flags) -> str:
    """Return the image as text: a square for a selected pixel,
    a dot for one that was used and not selected.

    >>> print(as_text(np.array([[True, False]]), np.array([[True, True]])))
      ■ ·
    """
    marks = np.where(selected, "■", np.where(used, "·", " "))
    return "\n".join(f"  {' '.join(row)}".rstrip() for row in marks)


def as_png(pixels: pd.DataFrame, digits: pd.Series, selected: Flags) -> bytes:
    """Return a picture with the mean image of every digit and frames around the selected pixels."""
    classes = sorted(digits.unique())
    columns = min(5, len(classes))
    rows = -(-len(classes) // columns)
    figure = Figure(figsize=(1.9 * columns, 2.05 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, digit in zip(panels, classes, strict=False):
        axes.imshow(_image(pixels[digits == digit].mean()), cmap="Blues")
        for row, column in np.argwhere(selected):
            axes.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=FRAME, linewidth=2)
            )
        axes.set_title(str(digit), fontsize=11)
    for axes in panels:
        axes.set_axis_off()
    figure.suptitle(
        f"{selected.sum()} selected pixels (framed) over the mean image of every digit", fontsize=12
    )
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    return file.getvalue()


def _image(values: pd.Series | dict[str, float]) -> Array:
    image = np.zeros((SIDE, SIDE))
    for name, value in values.items():
        image[place(str(name))] = value
    return image
