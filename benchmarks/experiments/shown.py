"""What the runs of an experiment gave: tables at the terminal, and figures."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.experiments.agreement import agreement, compare_predictions, scatter
from benchmarks.experiments.experiment import Experiment
from benchmarks.experiments.store import Store
from benchmarks.experiments.summary import has_truth, marked_selections, means, rates, with_error
from knockoffs.cli.terminal import console, say, text
from knockoffs.runtime.checks import check_choice
from knockoffs.runtime.outputs import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show_results(experiment: Experiment, store: Store) -> pd.DataFrame:
    """Print all results of an experiment that are there, and return them."""
    results = store.read(experiment)
    if results.empty:
        raise ValueError(
            f"{str(store.folder)!r} has no results of {experiment.name}: make some with "
            f"'python -m benchmarks run {experiment.name} --out {store.folder}'."
        )
    terminal = console()
    terminal.print(text(f"{experiment.title}. {experiment.note}".strip(), style="bold"))
    if experiment.predicts is not None:
        _show_predictions(experiment, store, results)
    else:
        for table in _tables(experiment, results):
            terminal.print(table)
    devices = store.devices(experiment)
    if len(devices) > 1:  # one method on both: the same but for rounding
        say(
            f"Networks were trained on "
            f"{' and '.join(f'{name} ({n} runs)' for name, n in devices.items())}."
        )
    return results


def _show_predictions(experiment: Experiment, store: Store, results: pd.DataFrame) -> None:
    """Print predicted beside realised false discoveries of every combination,
    and how well they agree.
    """
    level = experiment.predicts or 0.0
    compared = compare_predictions(results, store.predicted(experiment), level)
    table = Table(
        title=text(f"False discovery proportion at q = {level:g}", "table.title"),
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    names = ("data", "method", "statistic", "predicted", "realised ± s.e.", "pass", "warn", "fail")
    for name in names:
        table.add_column(name, justify="left" if name in names[:3] else "right", no_wrap=True)
    for row in compared.to_dict(orient="records"):
        parts = [text(row[name]) for name in ("variant", "method", "statistic")]
        verdicts = (str(row[verdict]) for verdict in names[5:])
        table.add_row(
            *parts, f"{row['predicted']:.3f}", with_error(row["realised"], row["error"]), *verdicts
        )
    console().print(table)
    for what, found in (("Together", compared), *compared.groupby("statistic", sort=False)):
        figures = agreement(found, level)
        say(
            f"{what}: {figures.combinations} combinations, rank correlation "
            f"{figures.rank_correlation:.2f}, slope "
            f"{figures.slope:.2f}, AUROC for realised > 1.5 q {figures.auroc:.2f}, exact "
            f"knockoffs passed "
            f"{figures.exact_passed:.0%}."
        )


def _tables(experiment: Experiment, results: pd.DataFrame) -> Iterator[Table]:
    if not has_truth(results):
        for statistic, frame in marked_selections(experiment, results):
            yield _selection_table(experiment, frame, statistic)
        return
    frame = means(results, experiment.levels)
    for (variant, response, statistic), found in frame.groupby(
        ["variant", "response", "statistic"], sort=False
    ):
        yield _rates_table(found, f"{variant}, {response}, {statistic}", experiment.levels)


def summary(experiment: Experiment, results: pd.DataFrame) -> pd.DataFrame:
    """Means over replicates, or where no truth is known shares of selections."""
    if has_truth(results):
        return means(results, experiment.levels)
    parts = [frame.assign(statistic=name) for name, frame in marked_selections(experiment, results)]
    return pd.concat(parts, ignore_index=True)


def _rates_table(frame: pd.DataFrame, what: str, levels: Sequence[float]) -> Table:
    """Two lines a method, so that the table fits into 80 columns: false discoveries, then power."""
    table = Table(
        title=text(f"{what}: FDP ± s.e., below it power ± s.e.", "table.title"),
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("method", no_wrap=True)
    for heading in ("runs", *(f"q = {level:g}" for level in levels)):
        table.add_column(heading, justify="right", no_wrap=True)
    for method, found in frame.groupby("method", sort=False):
        rows = found.to_dict(orient="records")
        for name, runs, value in (
            (str(method), str(rows[0]["replicates"]), "fdp"),
            ("  power", "", "power"),
        ):
            cells = (with_error(row[value], row[f"{value}_error"]).replace(" ", "") for row in rows)
            table.add_row(text(name), runs, *cells)
    return table


def _selection_table(experiment: Experiment, frame: pd.DataFrame, statistic: str) -> Table:
    """Which features each method selects with a statistic; no truth is known."""
    title = f"{statistic}: share of replicates that select a feature at {experiment.levels[0]:g}"
    table = Table(title=text(title, "table.title"), title_justify="left", box=SIMPLE_HEAD)
    for name in frame.columns[:2]:
        table.add_column(text(name), overflow="fold")
    for name in frame.columns[2:]:
        table.add_column(text(name), justify="right", overflow="fold")
    for feature, remark, *shares in frame.itertuples(index=False):
        if max(shares) > 0:
            table.add_row(
                text(feature), str(remark), *(f"{share:.0%}" if share else "" for share in shares)
            )
    return table


def draw_curves(
    experiment: Experiment,
    store: Store,
    results: pd.DataFrame,
    path: str,
    variant: str | None,
    response: str | None,
) -> None:
    """Draw curves of false discoveries and power, or what suits the experiment better,
    to a file.
    """
    from benchmarks.experiments.figures import CURVE, curves, heat_map

    if not has_truth(results):
        raise ValueError(
            f"--figure: nobody knows which features of {experiment.name} matter, so there are no "
            f"curves. Use "
            f"--table, or 'python -m benchmarks draw {experiment.name}'."
        )
    if experiment.name == "lambda" or experiment.predicts is not None:
        if variant is not None or response is not None:
            raise ValueError(
                "--variant and --response: the figure shows all of them; leave both out."
            )
        level = experiment.predicts
        if level is None:
            save_figure(heat_map(rates(results, CURVE.tolist())), path)
        else:
            save_figure(
                scatter(compare_predictions(results, store.predicted(experiment), level), level),
                path,
            )
        return
    chosen, left = [], results
    for option, asked in (("variant", variant), ("response", response)):
        known = list(dict.fromkeys(left[option]))
        if asked is not None:
            check_choice(f"--{option}", asked, known)
        chosen.append(asked or known[0])
        left = left[left[option] == chosen[-1]]
    save_figure(curves(rates(left, CURVE.tolist()), *chosen), path)


def figure_format(path: str) -> str:
    """Return the format of a figure by its suffix; refuse those that cannot be drawn."""
    kind = Path(path).suffix.lstrip(".") or "png"
    check_choice("the figure's suffix", kind, ("png", "svg", "pdf"))
    return kind


def save_figure(figure: Figure, path: str) -> None:
    """Write a figure, complete or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=figure_format(path), dpi=110)
    write_atomically(path, buffer.getvalue())
