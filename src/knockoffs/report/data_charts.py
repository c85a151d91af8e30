"""Pictures of features beside their knockoffs: histograms, shares of levels, and pairs of features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from knockoffs.report.axes import MARGIN_BOTTOM, MARGIN_TOP, Axis, Chart, value_range, with_axes

LEVEL_ROW = 22  # pixels for one level, with a bar for the data and one for the knockoffs


def marginal_chart(marginal: dict[str, Any]) -> Chart:
    """Data (filled) and knockoffs (outline) of one feature."""
    edges, data, knockoffs = marginal["edges"], marginal["data"], marginal["knockoffs"]
    chart = Chart(marginal["feature"], 210, 170, missing=_missing(marginal))
    x = Axis(edges[0], edges[-1], 14, chart.width - 12, log=marginal["log"])
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
    return replace(chart, x_ticks=x.ticks(2), marks=marks)


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
    return replace(chart, marks=[{"kind": "levels", "rows": rows, "bars": bars}])


def _missing(marginal: dict[str, Any]) -> dict[str, str]:
    shares = marginal["missing"]
    return {side: f"{100 * share:.1f} %" for side, share in shares.items()} if any(shares.values()) else {}


def pair_chart(pair: dict[str, Any]) -> Chart:
    """Two features against each other, data and knockoffs."""
    chart = Chart("", 280, 240, pair["first"], pair["second"])
    ends = [value_range([*pair["data"][k], *pair["knockoffs"][k]]) for k in (0, 1)]
    x = Axis(*ends[0], chart.left, chart.right, log=pair["log"][0])
    y = Axis(*ends[1], chart.bottom, chart.top, log=pair["log"][1])
    marks = [
        {"kind": "cloud", "style": name, "points": [(x(a), y(b)) for a, b in zip(*pair[name], strict=True)]}
        for name in ("data", "knockoffs")
    ]
    return with_axes(chart, x, y, marks)
