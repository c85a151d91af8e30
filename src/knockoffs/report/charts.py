"""Pictures of a summary: where things go, in pixels. The template turns them into SVG."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from knockoffs.effects.bins import standard_errors
from knockoffs.report.axes import (
    MARGIN_BOTTOM,
    MARGIN_TOP,
    Axis,
    Chart,
    framed,
    value_range,
    with_axes,
)
from knockoffs.report.summary import suits_log

MOST_FREQUENCIES = 30
WIDTH = 440  # two stand beside each other, and one fills a phone
NAMES = 190  # pixels for the names of features


def draw(summary: dict[str, Any]) -> dict[str, list[Any]]:
    """All pictures, by the section they belong to; those of effects as a list for each feature."""
    return {
        "effects": [
            effect_charts(e, summary["settings"]["target"]) for e in summary["effects"]["each"]
        ],
        "statistics": [statistics_chart(summary)],
        "fdp": [fdp_chart(summary)],
        "frequencies": frequency_charts(summary),
        "dry_run": dry_run_charts(summary),
        "marginals": [
            (levels_chart if "levels" in m else marginal_chart)(m) for m in summary["marginals"]
        ],
        "pairs": [pair_chart(p) for p in summary["pairs"]],
        "training": [training_chart(t) for t in summary["training"] if len(t["held_out"]) > 1],
    }


def statistics_chart(summary: dict[str, Any]) -> Chart:
    """w of every feature, in order, against the threshold."""
    features = sorted(summary["features"], key=lambda f: -f["w"])
    threshold = summary["thresholds"][0] if len(summary["thresholds"]) == 1 else None
    ws = [f["w"] for f in features]
    w = "w" if summary["settings"]["n_draws"] == 1 else "mean w"
    empty = Chart(f"{w} of every feature, largest first", WIDTH, 320, "rank", w)
    ends = min(0.0, *ws, -(threshold or 0)), max(0.0, *ws, threshold or 0)
    chart, x, y = framed(empty, (0, len(ws) + 1), ends)
    points = [
        {
            "x": x(rank),
            "y": y(f["w"]),
            "selected": f["selected"],
            "label": f"{f['feature']}: {w} = {f['w']:.4g}",
        }
        for rank, f in enumerate(features, start=1)
    ]
    levels = {"zero": 0.0} | (
        {} if threshold is None else {"threshold": threshold, "mirror": -threshold}
    )
    marks = [
        {"kind": "level", "y": y(w), "label": "", "style": style} for style, w in levels.items()
    ]
    dots = {"kind": "dots", "points": points, "radius": 4 if len(ws) <= 150 else 2.5}
    return with_axes(chart, x, y, [*marks, dots], counts=True)


def fdp_chart(summary: dict[str, Any]) -> Chart:
    """The filter's estimate of false ones along the number selected, against the level."""
    curves, level = summary["curves"], summary["settings"]["draw_level"]
    longest = max((max(c["selected"]) for c in curves if c["selected"]), default=1)
    empty = Chart(
        "Estimated share of false discoveries", WIDTH, 320, "features selected", "estimate"
    )
    chart, x, y = framed(empty, (0, longest), (0, 1))
    marks: list[dict[str, Any]] = [
        {"kind": "level", "y": y(level), "label": f"level {level:g}", "style": "threshold"}
    ]
    style = "data" if len(curves) == 1 else "data faint"
    marks += [_line(x, y, zip(c["selected"], c["estimate"], strict=True), style) for c in curves]
    return with_axes(chart, x, y, marks, counts=True)


def frequency_charts(summary: dict[str, Any]) -> list[Chart]:
    """Chart the share of draws that select each feature, where there are several draws."""
    features = sorted(summary["features"], key=lambda f: (-f["frequency"], -f["w"]))
    shown = [f for f in features if f["frequency"] > 0][:MOST_FREQUENCIES]
    if summary["settings"]["n_draws"] == 1 or not shown:
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


def _line(x: Axis, y: Axis, points: Iterable[tuple[float, float]], style: str) -> dict[str, Any]:
    """A line through points in units of the data."""
    return {"kind": "line", "points": [(x(a), y(b)) for a, b in points], "style": style}


def dry_run_charts(summary: dict[str, Any]) -> list[Chart]:
    """False discoveries and power along the level, a line for each kind of simulated response."""
    rates = (summary["certificate"] or {}).get("dry_run")
    if not rates:
        return []
    most = max(r["level"] for r in rates)
    charts = []
    for name, title, highest in (("fdp", "false discoveries", 2 * most), ("power", "power", 1.0)):
        top = min(1.0, max(highest, *(r[name] for r in rates)))
        chart, x, y = framed(Chart("", 420, 240, "level", title), (0, most), (0, top))
        marks: list[dict[str, Any]] = []
        if name == "fdp":
            marks.append(_line(x, y, [(0, 0), (most, most)], "threshold"))
        for response in dict.fromkeys(r["response"] for r in rates):
            points = [(r["level"], r[name]) for r in rates if r["response"] == response]
            marks.append(_line(x, y, points, "data" if response == "linear" else "knockoffs"))
        charts.append(with_axes(chart, x, y, marks))
    return charts


def training_chart(phase: dict[str, Any]) -> Chart:
    """Losses along epochs; the first, of an untrained model,
    may be far off and is left out of the range.
    """
    values = [v for v in (*phase["train"][1:], *phase["held_out"]) if v is not None] or [0.0]
    epochs = (0, max(1, len(phase["held_out"]) - 1))
    chart, x, y = framed(
        Chart(phase["stage"], 280, 190, "epoch", "loss"), epochs, value_range(values)
    )
    marks: list[dict[str, Any]] = [{"kind": "rule", "x": x(phase["best"]), "style": "mirror"}]
    for name, style in (("train", "faint data"), ("held_out", "knockoffs")):
        points = [
            (k, v) for k, v in enumerate(phase[name]) if v is not None and y.low <= v <= y.high
        ]
        marks.append(_line(x, y, points, style))
    return with_axes(chart, x, y, marks)


LEVEL_ROW = 22  # pixels for one level, with a bar for the data and one for the knockoffs


def marginal_chart(marginal: dict[str, Any]) -> Chart:
    """Data (filled) and knockoffs (outline) of one feature."""
    edges, data, knockoffs = marginal["edges"], marginal["data"], marginal["knockoffs"]
    chart = Chart(marginal["feature"], 210, 170, missing=_missing(marginal))
    x = Axis(edges[0], edges[-1], 14, chart.width - 12, log=marginal["log"])
    y = Axis(0, max(1, *data, *knockoffs), chart.bottom, chart.top)
    bars = [
        {
            "x": x(a),
            "y": y(n),
            "width": round(x(b) - x(a), 1),
            "height": round(chart.bottom - y(n), 1),
        }
        for a, b, n in zip(edges[:-1], edges[1:], data, strict=True)
    ]
    steps = [(x(end), y(n)) for k, n in enumerate(knockoffs) for end in (edges[k], edges[k + 1])]
    outline = [(x(edges[0]), y(0)), *steps, (x(edges[-1]), y(0))]
    marks = [
        {"kind": "histogram", "bars": bars},
        {"kind": "line", "points": outline, "style": "knockoffs"},
    ]
    return replace(chart, x_ticks=x.ticks(2), marks=marks)


def levels_chart(marginal: dict[str, Any]) -> Chart:
    """Shares of the levels of one feature, those of the data above those of the knockoffs."""
    labels, start = marginal["levels"], 104
    height = MARGIN_TOP + MARGIN_BOTTOM + LEVEL_ROW * max(1, len(labels))
    chart = Chart(marginal["feature"], 280, height, missing=_missing(marginal))
    shares = {
        side: [n / max(1, sum(marginal[side])) for n in marginal[side]]
        for side in ("data", "knockoffs")
    }
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
    return (
        {side: f"{100 * share:.1f} %" for side, share in shares.items()}
        if any(shares.values())
        else {}
    )


def pair_chart(pair: dict[str, Any]) -> Chart:
    """Two features against each other, data and knockoffs."""
    first, second = (value_range([*pair["data"][k], *pair["knockoffs"][k]]) for k in (0, 1))
    empty = Chart("", 280, 240, pair["first"], pair["second"])
    chart, x, y = framed(empty, first, second, log=pair["log"])
    marks = [
        {
            "kind": "cloud",
            "style": name,
            "points": [(x(a), y(b)) for a, b in zip(*pair[name], strict=True)],
        }
        for name in ("data", "knockoffs")
    ]
    return with_axes(chart, x, y, marks)


APART = 46  # pixels for missing cells, to the right of a curve
EFFECT_ROW = 24
LABELS = 120  # pixels for the names of levels
EFFECT_WIDTH = 290
EXCESS = "events above expectation"  # of the rows of a survival target
DASHES = ("solid", "dashed", "dotted", "dashes-and-dots")  # of the parts of the rows


def effect_charts(effect: dict[str, Any], target: str | None) -> list[Chart]:
    """One picture for a quantity or two classes, else one for each class that is described."""
    picture = _curve if any(place is not None for place in effect["places"]) else _bars
    if effect["survival"]:
        return [picture(effect, effect["curves"][0], EXCESS), _survival(effect)]
    return [
        picture(
            effect,
            curve,
            (target or "target") if curve["of"] is None else f"share of {curve['of']}",
        )
        for curve in effect["curves"]
    ]


def _ends(curve: dict[str, Any], reach: float) -> tuple[float, float]:
    """The range that holds zero, the means with their intervals, and the knockoff's means."""
    known = [(m, e) for m, e in zip(curve["mean"], curve["error"], strict=True) if m is not None]
    values = [0.0, *(m + sign * reach * e for m, e in known for sign in (-1, 1))]
    return value_range([*values, *(m for m in curve["knockoff"] if m is not None)])


def _curve(effect: dict[str, Any], curve: dict[str, Any], title: str) -> Chart:
    chart, reach = (
        Chart(title, EFFECT_WIDTH, 200, effect["feature"]),
        standard_errors(effect["level"]),
    )
    placed = [
        k for k, p in enumerate(effect["places"]) if p is not None and curve["mean"][k] is not None
    ]
    apart = [
        k for k, p in enumerate(effect["places"]) if p is None and curve["mean"][k] is not None
    ]
    places = [effect["places"][k] for k in placed] or [0.0]
    end = chart.right - APART * bool(apart)
    x = Axis(*value_range(places), chart.left, end, log=suits_log(places))
    y = Axis(*_ends(curve, reach), chart.bottom, chart.top)
    means = [(x(effect["places"][k]), curve["mean"][k], curve["error"][k]) for k in placed]
    band = [(at, y(m + reach * e)) for at, m, e in means] + [
        (at, y(m - reach * e)) for at, m, e in means[::-1]
    ]
    knockoff = [
        (x(effect["places"][k]), y(curve["knockoff"][k]))
        for k in placed
        if curve["knockoff"][k] is not None
    ]
    marks: list[dict[str, Any]] = [
        {"kind": "level", "y": y(0), "label": "", "style": "zero"},
        {"kind": "band", "points": band},
        {"kind": "line", "points": knockoff, "style": "knockoffs"},
        {"kind": "line", "points": [(at, y(m)) for at, m, _ in means], "style": "data"},
        {"kind": "cloud", "style": "data", "points": [(at, y(m)) for at, m, _ in means]},
    ]
    for k in apart:
        at, mean, error = chart.right - 22, curve["mean"][k], curve["error"][k]
        marks.append(
            {
                "kind": "whiskers",
                "lines": [(at, y(mean - reach * error), at, y(mean + reach * error))],
            }
        )
        marks.append({"kind": "cloud", "style": "data", "points": [(at, y(mean))]})
        if curve["knockoff"][k] is not None:
            marks.append(
                {"kind": "cloud", "style": "knockoffs", "points": [(at, y(curve["knockoff"][k]))]}
            )
    drawn = with_axes(chart, x, y, marks)
    # beside "missing"
    spaced = [(at, label) for at, label in drawn.x_ticks if at + 4 * len(label) <= end + 4]
    return replace(drawn, x_ticks=spaced + [(chart.right - 22, "missing") for _ in apart])


def _survival(effect: dict[str, Any]) -> Chart:
    """The share without the event along time of each part of the rows,
    and of those with such a knockoff.
    """
    parts = effect["survival"]
    times = [0.0, *(part[side][-1] for part in parts for side in ("time", "knockoff_time"))]
    empty = Chart("share without the event", EFFECT_WIDTH, 200, "time")
    chart, x, y = framed(empty, value_range(times), (0, 1))

    def line(times: list[float], shares: list[float], style: str) -> dict[str, Any]:
        """Shares change at a time, and stay until the next."""
        points = [(x(0.0), y(1.0))]
        for time, before, share in zip(times, [1.0, *shares], shares, strict=False):
            points += [(x(time), y(before)), (x(time), y(share))]
        return {"kind": "line", "points": points, "style": style}

    dashed = list(zip(parts, DASHES, strict=False))
    marks = [
        line(part["knockoff_time"], part["knockoff"], f"knockoffs thin {dash}")
        for part, dash in dashed
    ]
    marks += [line(part["time"], part["share"], f"data {dash}") for part, dash in dashed]
    keys = [{"label": part["of"], "style": f"data {dash}"} for part, dash in dashed]
    marks.append({"kind": "keys", "x": chart.right, "y": chart.top + 10, "keys": keys})
    return with_axes(chart, x, y, marks)


def _bars(effect: dict[str, Any], curve: dict[str, Any], title: str) -> Chart:
    shown = [k for k, mean in enumerate(curve["mean"]) if mean is not None]
    reach = standard_errors(effect["level"])
    chart = Chart(
        title,
        EFFECT_WIDTH,
        MARGIN_TOP + MARGIN_BOTTOM + EFFECT_ROW * max(1, len(shown)),
        effect["feature"],
    )
    x = Axis(*_ends(curve, reach), LABELS, chart.right)
    rows, bars, whiskers = [], [], []
    for place, k in enumerate(shown):
        top, mean, error = MARGIN_TOP + EFFECT_ROW * place, curve["mean"][k], curve["error"][k]
        label = effect["bins"][k]
        rows.append({"label": label, "x": LABELS - 6, "y": top + EFFECT_ROW / 2 + 3})
        bars.append(
            _bar(x, mean, top + 3, 11, "data", f"{label}: {mean:.3g} ± {reach * error:.2g}")
        )
        middle = top + 8.5
        whiskers.append((x(mean - reach * error), middle, x(mean + reach * error), middle))
        if curve["knockoff"][k] is not None:
            own = curve["knockoff"][k]
            bars.append(_bar(x, own, top + 15, 5, "knockoffs", f"{label}, knockoff: {own:.3g}"))
    marks = [
        {"kind": "rule", "x": x(0), "style": "zero"},
        {"kind": "levels", "rows": rows, "bars": bars},
        {"kind": "whiskers", "lines": whiskers},
    ]
    return replace(chart, x_ticks=x.ticks(3), marks=marks)


def _bar(
    x: Axis, value: float, top: float, height: float, style: str, label: str
) -> dict[str, Any]:
    start, end = sorted((x(0), x(value)))
    return {
        "x": start,
        "y": top,
        "width": round(end - start, 1),
        "height": height,
        "style": style,
        "label": label,
    }
