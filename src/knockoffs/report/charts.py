"""Pictures of a summary: where things go, in pixels. The template turns them into SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 66, 16, 26, 36
MOST_FREQUENCIES = 30
LEVEL_ROW = 22  # pixels for one level, with a bar for the data and one for the knockoffs
LETTER = 11  # pixels that a wide letter takes


@dataclass(frozen=True)
class Chart:
    """A picture: frame, ticks, and marks (dicts with a `kind` that the template knows).

    `missing` are the shares of missing cells of the data and of the knockoffs, where a cell is missing.
    """

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
    def left(self) -> int:
        return MARGIN_LEFT

    @property
    def right(self) -> int:
        return self.width - MARGIN_RIGHT

    @property
    def top(self) -> int:
        return MARGIN_TOP

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

    def __call__(self, value: float) -> float:
        span = self.high - self.low or 1.0
        return round(self.start + (value - self.low) / span * (self.end - self.start), 1)

    def ticks(self, count: int = 5) -> list[tuple[float, str]]:
        """Round numbers with enough digits to differ, and as many as fit beside each other."""
        values = nice_numbers(self.low, self.high, count)
        most, step = max(map(abs, values), default=0.0), min(map(float.__sub__, values[1:], values), default=1.0)
        digits = max(6, math.ceil(math.log10(most / step)) + 2) if most > 0 else 6
        ticks = [(self(value), f"{value:.{digits}g}") for value in values]
        if self.end < self.start or len(ticks) < 2:  # upright
            return ticks
        widest = LETTER * max(len(label) for _, label in ticks) + 8
        return ticks[:: max(1, math.ceil(widest / (ticks[1][0] - ticks[0][0])))]

    def whole_ticks(self) -> list[tuple[float, str]]:
        """Return the ticks at whole numbers, for axes of counts."""
        return [(place, label) for place, label in self.ticks() if float(label).is_integer()]


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
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def draw(summary: dict[str, Any]) -> dict[str, list[Chart]]:
    """All pictures, by the section they belong to."""
    return {
        "statistics": [statistics_chart(summary)],
        "fdp": [fdp_chart(summary)],
        "frequencies": frequency_charts(summary),
        "dry_run": dry_run_charts(summary),
        "marginals": [(levels_chart if "levels" in m else marginal_chart)(m) for m in summary["marginals"]],
        "pairs": [pair_chart(p) for p in summary["pairs"]],
        "training": [training_chart(t) for t in summary["training"] if len(t["held_out"]) > 1],
    }


def statistics_chart(summary: dict[str, Any]) -> Chart:
    """w of every feature, in order, against the threshold."""
    features = sorted(summary["features"], key=lambda f: -f["w"])
    threshold = summary["thresholds"][0] if len(summary["thresholds"]) == 1 else None
    ws = [f["w"] for f in features]
    chart = Chart("w of every feature, largest first", 880, 320, "rank", "w")
    x = Axis(0, len(ws) + 1, chart.left, chart.right)
    y = Axis(min(0.0, *ws, -(threshold or 0)), max(0.0, *ws, threshold or 0), chart.bottom, chart.top)
    radius = 4 if len(ws) <= 150 else 2.5
    points = [
        {
            "x": x(rank),
            "y": y(f["w"]),
            "selected": f["selected"],
            "label": f"{f['feature']}: w = {f['w']:.4g}",
        }
        for rank, f in enumerate(features, start=1)
    ]
    marks: list[dict[str, Any]] = [{"kind": "level", "y": y(0), "label": "", "style": "zero"}]
    if threshold is not None:
        marks.append({"kind": "level", "y": y(threshold), "label": "", "style": "threshold"})
        marks.append({"kind": "level", "y": y(-threshold), "label": "", "style": "mirror"})
    marks.append({"kind": "dots", "points": points, "radius": radius})
    return _with_axes(chart, x, y, marks, counts=True)


def fdp_chart(summary: dict[str, Any]) -> Chart:
    """The filter's estimate of false ones along the number selected, against the level."""
    curves, level = summary["curves"], summary["settings"]["draw_level"]
    longest = max((max(c["selected"]) for c in curves if c["selected"]), default=1)
    chart = Chart("Estimated share of false discoveries", 880, 260, "features selected", "estimate")
    x, y = Axis(0, longest, chart.left, chart.right), Axis(0, 1, chart.bottom, chart.top)
    marks: list[dict[str, Any]] = [
        {"kind": "level", "y": y(level), "label": f"level {level:g}", "style": "threshold"}
    ]
    for curve in curves:
        points = [(x(k), y(e)) for k, e in zip(curve["selected"], curve["estimate"], strict=True)]
        marks.append({"kind": "line", "points": points, "style": "data" if len(curves) == 1 else "data faint"})
    return _with_axes(chart, x, y, marks, counts=True)


def frequency_charts(summary: dict[str, Any]) -> list[Chart]:
    """Chart the share of draws that select each feature, where there are several draws."""
    if summary["settings"]["n_draws"] == 1:
        return []
    features = sorted(summary["features"], key=lambda f: (-f["frequency"], -f["w"]))
    shown = [f for f in features if f["frequency"] > 0][:MOST_FREQUENCIES]
    if not shown:
        return []
    row = 18
    height = MARGIN_TOP + MARGIN_BOTTOM + row * len(shown)
    chart = Chart("Share of draws that select the feature", 880, height, "share of draws")
    x = Axis(0, 1, 220, chart.right - 40)
    bars = [
        {
            "x": 220,
            "y": MARGIN_TOP + row * k + 3,
            "width": round(x(f["frequency"]) - 220, 1),
            "height": row - 6,
            "label": f["feature"],
            "value": f"{f['frequency']:.0%}",
            "selected": f["selected"],
        }
        for k, f in enumerate(shown)
    ]
    return [Chart(**(vars(chart) | {"marks": [{"kind": "bars", "bars": bars}]}))]


def dry_run_charts(summary: dict[str, Any]) -> list[Chart]:
    """False discoveries and power along the level, a line for each kind of simulated response."""
    rates = (summary["certificate"] or {}).get("dry_run")
    if not rates:
        return []
    most = max(r["level"] for r in rates)
    charts = []
    for name, title, highest in (("fdp", "false discoveries", 2 * most), ("power", "power", 1.0)):
        chart = Chart("", 420, 240, "level", title)
        x = Axis(0, most, chart.left, chart.right)
        y = Axis(0, min(1.0, max(highest, *(r[name] for r in rates))), chart.bottom, chart.top)
        marks: list[dict[str, Any]] = []
        if name == "fdp":
            marks.append({"kind": "line", "points": [(x(0), y(0)), (x(most), y(most))], "style": "threshold"})
        for response in dict.fromkeys(r["response"] for r in rates):
            points = [(x(r["level"]), y(r[name])) for r in rates if r["response"] == response]
            style = "data" if response == "linear" else "knockoffs"
            marks.append({"kind": "line", "points": points, "style": style})
        charts.append(_with_axes(chart, x, y, marks))
    return charts


def marginal_chart(marginal: dict[str, Any]) -> Chart:
    """Data (filled) and knockoffs (outline) of one feature."""
    edges, data, knockoffs = marginal["edges"], marginal["data"], marginal["knockoffs"]
    chart = Chart(marginal["feature"], 210, 170, missing=_missing(marginal))
    x = Axis(edges[0], edges[-1], 14, chart.width - 12)
    y = Axis(0, max(1, *data, *knockoffs), chart.bottom, chart.top)
    bars = [
        {"x": x(a), "y": y(n), "width": round(x(b) - x(a), 1), "height": round(chart.bottom - y(n), 1)}
        for a, b, n in zip(edges[:-1], edges[1:], data, strict=True)
    ]
    outline = [(x(edges[0]), y(0))]
    for a, b, n in zip(edges[:-1], edges[1:], knockoffs, strict=True):
        outline += [(x(a), y(n)), (x(b), y(n))]
    outline.append((x(edges[-1]), y(0)))
    marks = [{"kind": "histogram", "bars": bars}, {"kind": "line", "points": outline, "style": "knockoffs"}]
    return Chart(**(vars(chart) | {"x_ticks": x.ticks(2), "marks": marks}))


def levels_chart(marginal: dict[str, Any]) -> Chart:
    """Shares of the levels of one feature, those of the data above those of the knockoffs."""
    labels, start = marginal["levels"], 104
    height = MARGIN_TOP + MARGIN_BOTTOM + LEVEL_ROW * max(1, len(labels))
    chart = Chart(marginal["feature"], 280, height, missing=_missing(marginal))
    shares = {side: [n / max(1, sum(marginal[side])) for n in marginal[side]] for side in ("data", "knockoffs")}
    x = Axis(0, max([1e-9, *shares["data"], *shares["knockoffs"]]), start, chart.width - 14)
    rows = [
        {"label": label, "x": start - 6, "y": MARGIN_TOP + LEVEL_ROW * k + LEVEL_ROW / 2 + 3}
        for k, label in enumerate(labels)
    ]
    bars = [
        {
            "x": start,
            "y": MARGIN_TOP + LEVEL_ROW * k + 2 + below * (LEVEL_ROW - 6) / 2,
            "width": round(x(shares[side][k]) - start, 1),
            "height": (LEVEL_ROW - 6) / 2,
            "style": side,
            "label": f"{label}: {shares[side][k]:.1%} of the {side}",
        }
        for k, label in enumerate(labels)
        for below, side in enumerate(("data", "knockoffs"))
    ]
    return Chart(**(vars(chart) | {"marks": [{"kind": "levels", "rows": rows, "bars": bars}]}))


def _missing(marginal: dict[str, Any]) -> dict[str, str]:
    shares = marginal["missing"]
    return {side: f"{100 * share:.1f} %" for side, share in shares.items()} if any(shares.values()) else {}


def pair_chart(pair: dict[str, Any]) -> Chart:
    """Two features against each other, data and knockoffs."""
    chart = Chart("", 280, 240, pair["first"], pair["second"])
    x = Axis(*_range([*pair["data"][0], *pair["knockoffs"][0]]), chart.left, chart.right)
    y = Axis(*_range([*pair["data"][1], *pair["knockoffs"][1]]), chart.bottom, chart.top)
    marks = [
        {"kind": "cloud", "style": name, "points": [(x(a), y(b)) for a, b in zip(*pair[name], strict=True)]}
        for name in ("data", "knockoffs")
    ]
    return _with_axes(chart, x, y, marks)


def training_chart(phase: dict[str, Any]) -> Chart:
    """Losses along epochs; the first, of an untrained model, may be far off and is left out of the range."""
    chart = Chart(phase["stage"], 280, 190, "epoch", "loss")
    values = [v for v in (*phase["train"][1:], *phase["held_out"]) if v is not None] or [0.0]
    x = Axis(0, max(1, len(phase["held_out"]) - 1), chart.left, chart.right)
    y = Axis(*_range(values), chart.bottom, chart.top)
    marks: list[dict[str, Any]] = [{"kind": "rule", "x": x(phase["best"]), "style": "mirror"}]
    for name, style in (("train", "faint data"), ("held_out", "knockoffs")):
        points = [(x(k), y(v)) for k, v in enumerate(phase[name]) if v is not None and y.low <= v <= y.high]
        marks.append({"kind": "line", "points": points, "style": style})
    return _with_axes(chart, x, y, marks)


def _with_axes(chart: Chart, x: Axis, y: Axis, marks: list[dict[str, Any]], *, counts: bool = False) -> Chart:
    x_ticks = x.whole_ticks() if counts else x.ticks(4)
    return Chart(**(vars(chart) | {"x_ticks": x_ticks, "y_ticks": y.ticks(), "marks": marks}))


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
