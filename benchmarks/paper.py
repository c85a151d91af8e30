"""`make paper RESULTS=FOLDER`: tables and figures of docs/benchmarks/paper.md from runs of `knockoffs bench`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.catalogue import EXPERIMENTS
from benchmarks.experiments.experiment import Experiment
from benchmarks.experiments.figures import CURVE, curves, heat_map
from benchmarks.experiments.store import Store
from benchmarks.experiments.summary import (
    distance_from_nominal,
    has_truth,
    marked_selections,
    means,
    rates,
    with_error,
)
from knockoffs.runtime.outputs import write_atomically

PAGE = Path("docs/benchmarks/paper.md")
BESIDE = Path("docs/benchmarks")
UNDATED = {"method": "gzip", "mtime": 0}  # the same bytes for the same results


def markdown(frame: pd.DataFrame) -> str:
    """A table with text in its cells."""
    cells = [list(map(str, row)) for row in (frame.columns, *frame.itertuples(index=False))]
    cells.insert(1, ["---"] * len(frame.columns))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def rates_table(frame: pd.DataFrame, *, truth: bool) -> pd.DataFrame:
    """A row a statistic and method, a column a level; in bold where the FDP is above the level by over 2 s.e.

    Not in bold without a `truth`: what is outside a panel need not be false.
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
    return pd.DataFrame(rows).sort_values("statistic", kind="stable", key=lambda s: s.map(_ORDER.get))


_ORDER = {name: place for place, name in enumerate(("mixture", "holdout", "midpoint", "lasso"))}


def sections(experiment: Experiment, results: pd.DataFrame) -> Iterator[str]:
    """Tables of an experiment in Markdown, figures beside the page."""
    if not has_truth(results):
        for statistic, frame in marked_selections(experiment, results):
            methods = frame.columns[2:]
            chosen = frame[frame[methods].max(axis=1) > 0]
            shares = chosen[methods].map(lambda share: f"{share:.0%}" if share else "")
            yield f"**{statistic}**"
            yield markdown(pd.concat([chosen[["feature", "remark"]], shares], axis=1))
        return
    if experiment.name == "lambda":
        table = distance_from_nominal(results, CURVE.tolist())
        yield markdown(table.map("{:.3f}".format).reset_index())
        save(heat_map(results), "lambda.png")
        yield "![distance from nominal](lambda.png)"
        return
    frame = means(results, experiment.levels)
    for (variant, response), found in frame.groupby(["variant", "response"], sort=False):
        yield f"**{variant}, {response}**"
        yield markdown(rates_table(found, truth=experiment.name != "hiv"))
        if found["replicates"].max() >= 20:
            name = re.sub(r"\W+", "-", f"{experiment.name}-{variant}-{response}").strip("-").lower() + ".png"
            save(curves(results, str(variant), str(response)), name)
            yield f"![FDP and power]({name})"


def tidy(experiment: Experiment, results: pd.DataFrame) -> pd.DataFrame:
    """What the tables and figures are made from: rates of each run at each level, or where no truth is known w."""
    if not has_truth(results):
        return results.drop(columns=["relevant", "unit"])
    return rates(results, sorted({*experiment.levels, *CURVE.tolist()}))


def save(figure: Figure, name: str) -> None:
    figure.savefig(BESIDE / name, dpi=90)


def costs(store: Store) -> Iterator[str]:
    """Median seconds of each method, and core-hours of each experiment."""
    frames = [store.seconds(experiment) for experiment in EXPERIMENTS.values()]
    frame = pd.concat(f for f in frames if not f.empty)
    fits = frame[frame["part"] == "knockoffs"]
    table = fits.pivot_table(index="experiment", columns="method", values="seconds", aggfunc="median", sort=False)
    yield "Median seconds of fit and draw:"
    yield markdown(table.map(lambda s: "" if pd.isna(s) else f"{s:.1f}").reset_index())
    statistics = frame[frame["part"] != "knockoffs"]
    of = statistics["part"].str.split(" of ").str[0]
    table = statistics.pivot_table(index="experiment", columns=of, values="seconds", aggfunc="median", sort=False)
    yield "Median seconds of a statistic:"
    yield markdown(table.map(lambda s: "" if pd.isna(s) else f"{s:.1f}").reset_index())
    hours = frame.groupby("experiment", sort=False)["seconds"].sum() / 3600
    parts = ", ".join(f"`{name}` {spent:.2f}" for name, spent in hours.items())
    yield f"Core-hours: {parts}; in all **{hours.sum():.1f}**."


def filled_in(page: str, name: str, text: str) -> str:
    """The page with what stands between `<!-- name -->` and `<!-- end -->` replaced."""
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE} has no place <!-- {name} --> ... <!-- end -->.")
    return pattern.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="the folder of `knockoffs bench run --out`")
    store = Store(parser.parse_args().results)
    if not any(store.done(experiment) for experiment in EXPERIMENTS.values()):
        raise SystemExit(f"{str(store.folder)!r} has no results: make some with 'knockoffs bench run'.")
    BESIDE.mkdir(exist_ok=True)
    page = PAGE.read_text(encoding="utf-8")
    for experiment in EXPERIMENTS.values():
        results = store.read(experiment)
        if results.empty or experiment.name == "smoke":
            continue
        tidy(experiment, results).to_csv(BESIDE / f"{experiment.name}.csv.gz", index=False, compression=UNDATED)
        page = filled_in(page, experiment.name, "\n\n".join(sections(experiment, results)))
    page = filled_in(page, "costs", "\n\n".join(costs(store)))
    write_atomically(PAGE, page.encode())


if __name__ == "__main__":
    main()
