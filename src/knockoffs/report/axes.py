"""Frames and axes of pictures: from data values to pixels, with ticks that can be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 66, 16, 26, 36
LETTER = 11  # pixels that a wide letter takes


@dataclass(frozen=True)
class Chart:
    """A picture: frame, ticks, and marks (dicts with a `kind` that the template knows).

    `missing` are the shares of missing cells of the data and of the knockoffs, where a cell is
    missing.
    """

    left: ClassVar[int] = MARGIN_LEFT
    top: ClassVar[int] = MARGIN_TOP

    title: str
    width: int
    height: int
    x_label: str = ""
    y_label: str = ""
    missing: dict[str, str] = field(default_factory=dict)
    x_ticks: list[tuple[float, str]] = field(default_factory=list)
    y_ticks: list[tuple[float, str]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def right(self) -> int:
        return self.width - MARGIN_RIGHT

    @property
    def bottom(self) -> int:
        return self.height - MARGIN_BOTTOM


@dataclass(frozen=True)
class Axis:
    """Data values to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = (math.log10(v) for v in (low, high, value))
        return round(
            self.start + (value - low) / ((high - low) or 1.0) * (self.end - self.start), 1
        )

    def ticks(self, count: int = 5) -> list[tuple[float, str]]:
        """Round numbers with enough digits to differ, and as many as fit beside each other."""
        values = (
            log_numbers(self.low, self.high)
            if self.log
            else nice_numbers(self.low, self.high, count)
        )
        most, step = (
            max(map(abs, values), default=0.0),
            min(map(float.__sub__, values[1:], values), default=1.0),
        )
        digits = max(6, math.ceil(math.log10(most / step)) + 2) if most > 0 else 6
        ticks = [(self(value), f"{value:.{digits}g}") for value in values]
        if self.end < self.start or len(ticks) < 2:  # upright
            return ticks
        widest = LETTER * max(len(label) for _, label in ticks) + 8
        return ticks[:: max(1, math.ceil(widest / (ticks[1][0] - ticks[0][0])))]


def nice_numbers(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers from low to high.

    >>> nice_numbers(0, 1, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(raw))
    step = unit * min((1, 2, 5, 10), key=lambda m: abs(m * unit - raw))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # 10 of the step at any distance
    digits = 10 + max(0, math.ceil(math.log10(max(abs(low), abs(high)) / step)))
    return list(dict.fromkeys(float(f"{k * step:.{digits}g}") for k in range(first, last + 1)))


def log_numbers(low: float, high: float) -> list[float]:
    """Return powers of ten from low to high or, over fewer than two decades, 1,
    2 and 5 times these.

    >>> log_numbers(3, 40)
    [5.0, 10.0, 20.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if math.log10(high / low) < 2 else (1,)
    found = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
    return [value for value in found if low <= value <= high]


def framed(
    chart: Chart,
    x: tuple[float, float],
    y: tuple[float, float],
    log: Sequence[bool] = (False, False),
) -> tuple[Chart, Axis, Axis]:
    """Return the chart, with axes along its lower and its left edge for these ranges of values."""
    across = Axis(*x, chart.left, chart.right, log=log[0])
    return chart, across, Axis(*y, chart.bottom, chart.top, log=log[1])


def with_axes(
    chart: Chart, x: Axis, y: Axis, marks: list[dict[str, Any]], *, counts: bool = False
) -> Chart:
    """Return the chart with its marks, and ticks along both axes;
    whole numbers along one of counts.
    """
    x_ticks = [tick for tick in x.ticks() if float(tick[1]).is_integer()] if counts else x.ticks(4)
    return replace(chart, x_ticks=x_ticks, y_ticks=y.ticks(), marks=marks)


def value_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis for these values; those of a constant are made up."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
