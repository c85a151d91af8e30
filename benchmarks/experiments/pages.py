"""Pages of the site that are made from the results that are kept: tables, figures,
and where they come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.catalogue import EXPERIMENTS
from benchmarks.experiments.experiment import Experiment
from benchmarks.experiments.figures import COLOURS, curves, draw_means, heat_map, on_curve
from benchmarks.experiments.kept import (
    FITS,
    FOLDER,
    HOURS,
    STATISTICS,
    TIMES,
    kept,
    kept_table,
    sources_in_words,
)
from benchmarks.experiments.summary import (
    distance_from_nominal,
    marked_selections,
    means_of_rates,
    with_error,
)
from knockoffs.runtime.figures import without_frame
from knockoffs.runtime.outputs import write_atomically

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks"
DEFAULT = "mixture"  # the statistic of the figures for readers
_ORDER = {name: place for place, name in enumerate(("mixture", "holdout", "midpoint", "lasso"))}


class Panel(NamedTuple):
    """One panel of the figures for readers."""

    title: str
    experiment: str
    variant: str
    response: str


PANELS = (
    Panel("Gaussian rows", "gaussian", "rho-0.6", "10/√N"),
    Panel("three clusters", "mixture", "three-clusters", "10/√N"),
    Panel("genes, normal scores", "gene", "normal-scores", "Liang"),
    Panel("genes, standardised", "gene", "standardised", "Liang"),
)


def write_pages(folder: Path = FOLDER, docs: Path = DOCS) -> None:
    """Fill in the pages, and draw the figures beside them."""
    for name, parts in (("paper.md", paper_parts(folder)), ("index.md", reader_parts(folder))):
        page = (docs / name).read_text(encoding="utf-8")
        for place, text in parts.items():
            page = filled_in(page, place, text)
        write_atomically(docs / name, page.encode())
    for name, figure in figures(folder).items():
        figure.savefig(docs / name, dpi=90)


def filled_in(page: str, place: str, text: str) -> str:
    """Return the page with what stands between `<!-- place -->` and `<!-- end -->` replaced."""
    pattern = re.compile(rf"(<!-- {re.escape(place)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(
            f"the page has no place <!-- {place} --> ... <!-- end -->; add it where the text goes."
        )
    return pattern.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)


def paper_parts(folder: Path = FOLDER) -> dict[str, str]:
    """Return the tables of every experiment, and what the runs cost, in Markdown."""
    parts = {}
    for experiment in EXPERIMENTS.values():
        results = kept(experiment.name, folder)
        if len(results):
            parts[experiment.name] = "\n\n".join(sections(experiment, results))
    return parts | {"costs": "\n\n".join(costs(kept_table(TIMES, folder)))}


def reader_parts(folder: Path = FOLDER) -> dict[str, str]:
    """Return the figures of the page for readers, each with commit and hardware under it."""
    names = list(dict.fromkeys(panel.experiment for panel in PANELS))
    timed = list(dict.fromkeys(_fits(folder)["experiment"]))
    return {
        "fdp": _figure("False discovery proportion along the level", "fdp.png", names, folder),
        "power": _figure("Power along the level", "power.png", names, folder),
        "time": _figure("Seconds of fit and draw of each method", "time.png", timed, folder),
    }


def _figure(title: str, file: str, experiments: Sequence[str], folder: Path) -> str:
    sources = (f"* {line}" for line in sources_in_words(experiments, folder))
    return "\n".join((f"![{title}]({file})", "", "Where it was measured:", "", *sources))


def figures(folder: Path = FOLDER) -> dict[str, Figure]:
    """Return every figure of the pages by the name of its file."""
    found = {
        "fdp.png": along_the_level("fdp", folder),
        "power.png": along_the_level("power", folder),
    }
    found["time.png"] = seconds_of_methods(folder)
    for experiment in EXPERIMENTS.values():
        results = kept(experiment.name, folder)
        if experiment.name == "lambda" and len(results):
            found["lambda.png"] = heat_map(results)
        elif "level" in results:
            for (variant, response), own in results.groupby(["variant", "response"], sort=False):
                if own["replicate"].nunique() >= 20:
                    name = _file_name(experiment, str(variant), str(response))
                    found[name] = curves(results, str(variant), str(response))
    return found


def along_the_level(value: str, folder: Path = FOLDER) -> Figure:
    """Draw FDP or power along the level with the default statistic, a panel for each data set."""
    figure = Figure(figsize=(9.6, 2.9), layout="constrained")
    axes_of = figure.subplots(1, len(PANELS), sharex=True, sharey=True)
    for axes, panel in zip(axes_of, PANELS, strict=True):
        results = kept(panel.experiment, folder)
        chosen = results[
            (results["variant"] == panel.variant)
            & (results["response"] == panel.response)
            & (results["statistic"] == DEFAULT)
        ]
        draw_means(axes, means_of_rates(on_curve(chosen)), value)
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel("level q", fontsize=9)
    axes_of[0].set_ylabel({"fdp": "mean FDP", "power": "power"}[value], fontsize=9)
    axes_of[0].legend(fontsize=7, frameon=False)
    return figure


def seconds_of_methods(folder: Path = FOLDER) -> Figure:
    """Draw the median seconds of fit and draw of each method, a row for each experiment."""
    frame = _fits(folder)
    experiments = list(dict.fromkeys(frame["experiment"]))
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    axes = figure.subplots()
    for method, own in frame[frame["name"].isin(COLOURS)].groupby("name", sort=False):
        rows = [experiments.index(name) for name in own["experiment"]]
        axes.plot(
            own["value"], rows, "o", color=COLOURS[str(method)], label=str(method), markersize=6
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(experiments)), experiments)
    axes.invert_yaxis()
    axes.set_xlabel("seconds of fit and draw (median over runs)", fontsize=9)
    axes.legend(fontsize=7, frameon=False)
    without_frame(axes)
    return figure


def _fits(folder: Path) -> pd.DataFrame:
    """Return the times of methods that are compared, but for exact knockoffs,
    which nothing is fitted for.
    """
    table = kept_table(TIMES, folder)
    compared = [name for name in COLOURS if name != "oracle"]
    return table[(table["what"] == FITS) & table["name"].isin(compared)]


def sections(experiment: Experiment, results: pd.DataFrame) -> Iterator[str]:
    """Yield the tables of an experiment in Markdown, with the figures beside the page."""
    if "level" not in results:  # nobody knows which features matter
        yield from _selected(experiment, results)
    elif experiment.name == "lambda":
        table = distance_from_nominal(on_curve(results))
        yield markdown(table.map("{:.3f}".format).reset_index())
        yield "![distance from nominal](lambda.png)"
    else:
        yield from _rates(experiment, results)


def _selected(experiment: Experiment, results: pd.DataFrame) -> Iterator[str]:
    for statistic, frame in marked_selections(experiment, results):
        methods = frame.columns[2:]
        chosen = frame[frame[methods].max(axis=1) > 0]
        shares = chosen[methods].map(lambda share: f"{share:.0%}" if share else "")
        yield f"**{statistic}**"
        yield markdown(pd.concat([chosen[["feature", "remark"]], shares], axis=1))


def _rates(experiment: Experiment, results: pd.DataFrame) -> Iterator[str]:
    frame = means_of_rates(results[results["level"].isin(experiment.levels)])
    for (variant, response), found in frame.groupby(["variant", "response"], sort=False):
        yield f"**{variant}, {response}**"
        yield markdown(rates_table(found, truth=experiment.name != "hiv"))
        if found["replicates"].max() >= 20:
            yield f"![FDP and power]({_file_name(experiment, str(variant), str(response))})"


def _file_name(experiment: Experiment, variant: str, response: str) -> str:
    return (
        re.sub(r"\W+", "-", f"{experiment.name}-{variant}-{response}").strip("-").lower() + ".png"
    )


def rates_table(frame: pd.DataFrame, *, truth: bool) -> pd.DataFrame:
    """Return one row per statistic and method, and one column per level.

    The FDP is in bold where it is above the level by over two standard errors, but not without a
    `truth`: what is outside a panel need not be false.
    """
    rows = []
    for (statistic, method), found in frame.groupby(["statistic", "method"], sort=False):
        row = {"statistic": statistic, "method": method, "runs": found["replicates"].iloc[0]}
        for at in found.to_dict("records"):
            share = with_error(at["fdp"], at["fdp_error"])
            if truth and at["fdp"] > at["level"] + 2 * at["fdp_error"]:
                share = f"**{share}**"
            row[f"q = {at['level']:g}"] = f"{share} / {with_error(at['power'], at['power_error'])}"
        rows.append(row)
    return pd.DataFrame(rows).sort_values(
        "statistic", kind="stable", key=lambda s: s.map(_ORDER.get)
    )


def costs(times: pd.DataFrame) -> Iterator[str]:
    """Yield the median seconds of each method and statistic,
    and the core-hours of each experiment.
    """
    for title, what in (("fit and draw", FITS), ("a statistic", STATISTICS)):
        table = times[times["what"] == what].pivot_table(
            index="experiment", columns="name", values="value", sort=False
        )
        yield f"Median seconds of {title}:"
        yield markdown(table.map(lambda s: "" if pd.isna(s) else f"{s:.1f}").reset_index())
    hours = times[times["what"] == HOURS].set_index("experiment")["value"]
    parts = ", ".join(f"`{name}` {spent:.2f}" for name, spent in hours.items())
    yield f"Core-hours: {parts}; in all **{hours.sum():.1f}**."


def markdown(frame: pd.DataFrame) -> str:
    """Return a table with text in its cells."""
    cells = [list(map(str, row)) for row in (frame.columns, *frame.itertuples(index=False))]
    cells.insert(1, ["---"] * len(frame.columns))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
