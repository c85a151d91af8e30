"""Pictures of what features do: a curve with its band, or bars for levels, and the knockoff beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from knockoffs.effects.intervals import standard_errors
from knockoffs.report.axes import MARGIN_BOTTOM, MARGIN_TOP, Axis, Chart, value_range, with_axes
from knockoffs.report.feature_pictures import suits_log

APART = 46  # pixels for missing cells, to the right of a curve
LEVEL_ROW = 24
LABELS = 120  # pixels for the names of levels
WIDTH = 290
EXCESS = "events above expectation"  # of the rows of a survival target
DASHES = ("solid", "dashed", "dotted", "dashes-and-dots")  # of the parts of the rows


def effect_charts(effect: dict[str, Any], target: str | None) -> list[Chart]:
    """One picture for a quantity or two classes, else one for each class that is described."""
    picture = _curve if any(place is not None for place in effect["places"]) else _bars
    if effect["survival"]:
        return [picture(effect, effect["curves"][0], EXCESS), _survival(effect)]
    return [picture(effect, curve, _title(curve, target)) for curve in effect["curves"]]


def _title(curve: dict[str, Any], target: str | None) -> str:
    if curve["of"] is not None:
        return f"share of {curve['of']}"
    return target or "target"


def _ends(curve: dict[str, Any], reach: float) -> tuple[float, float]:
    """The range that holds zero, the means with their intervals, and the knockoff's means."""
    known = [(m, e) for m, e in zip(curve["mean"], curve["error"], strict=True) if m is not None]
    values = [0.0, *(m + sign * reach * e for m, e in known for sign in (-1, 1))]
    return value_range([*values, *(m for m in curve["knockoff"] if m is not None)])


def _curve(effect: dict[str, Any], curve: dict[str, Any], title: str) -> Chart:
    chart, reach = Chart(title, WIDTH, 200, effect["feature"]), standard_errors(effect["level"])
    placed = [k for k, p in enumerate(effect["places"]) if p is not None and curve["mean"][k] is not None]
    apart = [k for k, p in enumerate(effect["places"]) if p is None and curve["mean"][k] is not None]
    places = [effect["places"][k] for k in placed] or [0.0]
    end = chart.right - APART * bool(apart)
    x = Axis(*value_range(places), chart.left, end, log=suits_log(places))
    y = Axis(*_ends(curve, reach), chart.bottom, chart.top)
    means = [(x(effect["places"][k]), curve["mean"][k], curve["error"][k]) for k in placed]
    band = [(at, y(m + reach * e)) for at, m, e in means] + [(at, y(m - reach * e)) for at, m, e in means[::-1]]
    knockoff = [
        (x(effect["places"][k]), y(curve["knockoff"][k])) for k in placed if curve["knockoff"][k] is not None
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
        marks.append({"kind": "whiskers", "lines": [(at, y(mean - reach * error), at, y(mean + reach * error))]})
        marks.append({"kind": "cloud", "style": "data", "points": [(at, y(mean))]})
        if curve["knockoff"][k] is not None:
            marks.append({"kind": "cloud", "style": "knockoffs", "points": [(at, y(curve["knockoff"][k]))]})
    drawn = with_axes(chart, x, y, marks)
    return replace(drawn, x_ticks=_spaced(drawn.x_ticks, end) + [(chart.right - 22, "missing") for _ in apart])


def _survival(effect: dict[str, Any]) -> Chart:
    """The share without the event along time of each part of the rows, and of those with such a knockoff."""
    parts = effect["survival"]
    chart = Chart("share without the event", WIDTH, 200, "time")
    times = [0.0, *(part[side][-1] for part in parts for side in ("time", "knockoff_time"))]
    x, y = Axis(*value_range(times), chart.left, chart.right), Axis(0, 1, chart.bottom, chart.top)

    def line(times: list[float], shares: list[float], style: str) -> dict[str, Any]:
        """Shares change at a time, and stay until the next."""
        points, before = [(x(0.0), y(1.0))], 1.0
        for time, share in zip(times, shares, strict=True):
            points += [(x(time), y(before)), (x(time), y(share))]
            before = share
        return {"kind": "line", "points": points, "style": style}

    dashed = list(zip(parts, DASHES, strict=False))
    marks = [line(part["knockoff_time"], part["knockoff"], f"knockoffs thin {dash}") for part, dash in dashed]
    marks += [line(part["time"], part["share"], f"data {dash}") for part, dash in dashed]
    keys = [{"label": part["of"], "style": f"data {dash}"} for part, dash in dashed]
    marks.append({"kind": "keys", "x": chart.right, "y": chart.top + 10, "keys": keys})
    return with_axes(chart, x, y, marks)


def _spaced(ticks: list[tuple[float, str]], end: float) -> list[tuple[float, str]]:
    """Ticks that leave room for a label to the right of a shortened axis."""
    return [(at, label) for at, label in ticks if at + 4 * len(label) <= end + 4]


def _bars(effect: dict[str, Any], curve: dict[str, Any], title: str) -> Chart:
    shown, reach = (
        [k for k, mean in enumerate(curve["mean"]) if mean is not None],
        standard_errors(effect["level"]),
    )
    chart = Chart(title, WIDTH, MARGIN_TOP + MARGIN_BOTTOM + LEVEL_ROW * max(1, len(shown)), effect["feature"])
    x = Axis(*_ends(curve, reach), LABELS, chart.right)
    rows, bars, whiskers = [], [], []
    for place, k in enumerate(shown):
        top, mean, error = MARGIN_TOP + LEVEL_ROW * place, curve["mean"][k], curve["error"][k]
        label = effect["bins"][k]
        rows.append({"label": label, "x": LABELS - 6, "y": top + LEVEL_ROW / 2 + 3})
        bars.append(_bar(x, mean, top + 3, 11, "data", f"{label}: {mean:.3g} ± {reach * error:.2g}"))
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


def _bar(x: Axis, value: float, top: float, height: float, style: str, label: str) -> dict[str, Any]:
    start, end = sorted((x(0), x(value)))
    return {"x": start, "y": top, "width": round(end - start, 1), "height": height, "style": style, "label": label}
