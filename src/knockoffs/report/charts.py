"""Pictures of a summary: where things go, in pixels. The template turns them into SVG."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from knockoffs.report.axes import MARGIN_BOTTOM, MARGIN_TOP, Axis, Chart, value_range, with_axes
from knockoffs.report.data_charts import levels_chart, marginal_chart, pair_chart
from knockoffs.report.effect_charts import effect_charts

MOST_FREQUENCIES = 30
WIDTH = 440  # two stand beside each other, and one fills a phone
NAMES = 190  # pixels for the names of features


def draw(summary: dict[str, Any]) -> dict[str, list[Any]]:
    """All pictures, by the section they belong to; those of effects as a list for each feature."""
    return {
        "effects": [effect_charts(e, summary["settings"]["target"]) for e in summary["effects"]["each"]],
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
    w = "w" if summary["settings"]["n_draws"] == 1 else "mean w"
    chart = Chart(f"{w} of every feature, largest first", WIDTH, 320, "rank", w)
    x = Axis(0, len(ws) + 1, chart.left, chart.right)
    y = Axis(min(0.0, *ws, -(threshold or 0)), max(0.0, *ws, threshold or 0), chart.bottom, chart.top)
    radius = 4 if len(ws) <= 150 else 2.5
    points = [
        {
            "x": x(rank),
            "y": y(f["w"]),
            "selected": f["selected"],
            "label": f"{f['feature']}: {w} = {f['w']:.4g}",
        }
        for rank, f in enumerate(features, start=1)
    ]
    marks: list[dict[str, Any]] = [{"kind": "level", "y": y(0), "label": "", "style": "zero"}]
    if threshold is not None:
        marks.append({"kind": "level", "y": y(threshold), "label": "", "style": "threshold"})
        marks.append({"kind": "level", "y": y(-threshold), "label": "", "style": "mirror"})
    marks.append({"kind": "dots", "points": points, "radius": radius})
    return with_axes(chart, x, y, marks, counts=True)


def fdp_chart(summary: dict[str, Any]) -> Chart:
    """The filter's estimate of false ones along the number selected, against the level."""
    curves, level = summary["curves"], summary["settings"]["draw_level"]
    longest = max((max(c["selected"]) for c in curves if c["selected"]), default=1)
    chart = Chart("Estimated share of false discoveries", WIDTH, 320, "features selected", "estimate")
    x, y = Axis(0, longest, chart.left, chart.right), Axis(0, 1, chart.bottom, chart.top)
    marks: list[dict[str, Any]] = [
        {"kind": "level", "y": y(level), "label": f"level {level:g}", "style": "threshold"}
    ]
    for curve in curves:
        points = [(x(k), y(e)) for k, e in zip(curve["selected"], curve["estimate"], strict=True)]
        marks.append({"kind": "line", "points": points, "style": "data" if len(curves) == 1 else "data faint"})
    return with_axes(chart, x, y, marks, counts=True)


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
    chart = Chart("Share of draws that select the feature", WIDTH, height, "share of draws")
    x = Axis(0, 1, NAMES, chart.right - 40)
    bars = [
        {
            "x": NAMES,
            "y": MARGIN_TOP + row * k + 3,
            "width": round(x(f["frequency"]) - NAMES, 1),
            "height": row - 6,
            "label": f["feature"],
            "value": f"{f['frequency']:.0%}",
            "selected": f["selected"],
        }
        for k, f in enumerate(shown)
    ]
    return [replace(chart, marks=[{"kind": "bars", "bars": bars}])]


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
        charts.append(with_axes(chart, x, y, marks))
    return charts


def training_chart(phase: dict[str, Any]) -> Chart:
    """Losses along epochs; the first, of an untrained model, may be far off and is left out of the range."""
    chart = Chart(phase["stage"], 280, 190, "epoch", "loss")
    values = [v for v in (*phase["train"][1:], *phase["held_out"]) if v is not None] or [0.0]
    x = Axis(0, max(1, len(phase["held_out"]) - 1), chart.left, chart.right)
    y = Axis(*value_range(values), chart.bottom, chart.top)
    marks: list[dict[str, Any]] = [{"kind": "rule", "x": x(phase["best"]), "style": "mirror"}]
    for name, style in (("train", "faint data"), ("held_out", "knockoffs")):
        points = [(x(k), y(v)) for k, v in enumerate(phase[name]) if v is not None and y.low <= v <= y.high]
        marks.append({"kind": "line", "points": points, "style": style})
    return with_axes(chart, x, y, marks)
