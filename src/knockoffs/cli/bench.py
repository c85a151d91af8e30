"""`knockoffs bench`: the paper's experiments, resumable."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pandas as pd
from joblib.externals.loky.process_executor import TerminatedWorkerError
from rich.box import SIMPLE_HEAD
from rich.table import Table

from knockoffs.benchmarks.agreement import agreement, compare_predictions, scatter
from knockoffs.benchmarks.catalogue import EXPERIMENTS, METHODS
from knockoffs.benchmarks.experiment import Experiment
from knockoffs.benchmarks.runner import RunFailedError, draw_knockoffs, first_study, run_experiment
from knockoffs.benchmarks.store import Store
from knockoffs.benchmarks.summary import has_truth, marked_selections, means, with_error
from knockoffs.checks import check_choice, check_count
from knockoffs.cli.common import MOST_REPLICATES, check_cores
from knockoffs.cli.paths import check_paths, named
from knockoffs.cli.terminal import console, say, shows_progress, text
from knockoffs.files import write_frame
from knockoffs.generators.batches import torch_device
from knockoffs.outputs import write_atomically
from knockoffs.progress import progress_bars
from knockoffs.tables import read_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUT = "results"


_data = click.option(
    "--data",
    envvar="KNOCKOFFS_DATA",
    type=click.Path(file_okay=False),
    help="Folder of real data sets; by default the environment's KNOCKOFFS_DATA.",
)


@click.group()
def bench() -> None:
    """Run the paper's experiments, and show what they gave."""


@bench.command("list")
def list_experiments() -> None:
    """Name every experiment."""
    table = Table()
    for heading in ("name", "what", "runs"):
        table.add_column(heading, overflow="fold")
    for experiment in EXPERIMENTS.values():
        table.add_row(experiment.name, experiment.title, str(sum(1 for _ in experiment.runs())))
    console().print(table)


@bench.command()
@click.argument("name")
@click.option("--methods", help="Only these, with commas between them.")
@click.option("--reps", type=int, help="Replicates; by default those of the experiment.")
@click.option(
    "--first-rep",
    type=click.IntRange(0, MOST_REPLICATES),
    default=0,
    show_default=True,
    help="Number of the first replicate; others have other data.",
)
@click.option("--n-jobs", type=int, help="Cores.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run on the dask cluster whose scheduler listens there; start its workers with --nthreads 1.",
)
@click.option(
    "--device", default="cpu", show_default=True, help="Where generators are trained: cpu, cuda or auto."
)
@click.option("--out", default=OUT, show_default=True, type=click.Path(file_okay=False), help="Folder of results.")
@_data
@click.option("--quiet", is_flag=True, help="No progress bars and no table.")
def run(
    name: str,
    methods: str | None,
    reps: int | None,
    first_rep: int,
    n_jobs: int | None,
    scheduler: str | None,
    device: str,
    out: str,
    data: str | None,
    quiet: bool,
) -> None:
    """Make the runs of the experiment NAME that the folder of results lacks.

    Every run is written when it ends, complete or not at all: stop at any time and start again to go on.
    """
    experiment = _experiment(name)
    exact = any(variant.oracle for variant in experiment.variants)
    chosen = None if methods is None else _methods(methods, exact=exact)
    if reps is not None:
        check_count("--reps", reps, most=MOST_REPLICATES)
    _check_cores(n_jobs, scheduler)
    torch_device(device)
    store = Store(out)
    try:
        with progress_bars(shows_progress(quiet)) as report:
            made = run_experiment(
                experiment,
                store,
                methods=chosen,
                replicates=reps,
                first=first_rep,
                data=data,
                n_jobs=n_jobs,
                scheduler=scheduler,
                device=device,
                report=report,
            )
    except RunFailedError as error:
        raise ValueError(str(error)) from error
    except TerminatedWorkerError as error:
        raise ValueError(
            "a worker process was killed, perhaps for want of memory. Run again with fewer --n-jobs: what is "
            "done is kept."
        ) from error
    if not quiet:
        say(f"{made} runs made; results in {Path(out) / name}")
        _show(experiment, store)


@bench.command()
@click.argument("name")
@click.argument("figure", type=click.Path(dir_okay=False))
@click.option("--column", "columns", multiple=True, help="Once for marginals, twice for a joint density.")
@click.option("--methods", help="Only these, with commas between them.")
@click.option("--variant", help="By default the first.")
@_data
def draw(
    name: str, figure: str, columns: tuple[str, ...], methods: str | None, variant: str | None, data: str | None
) -> None:
    """Fit the methods of the experiment NAME to its first replicate, and draw their knockoffs to FIGURE (.png).

    By default the joint density of the first two columns.
    """
    from knockoffs.plots import compare_marginals, compare_methods

    experiment = _experiment(name)
    check_paths([], named(FIGURE=figure))
    _format(figure)
    variants = [v.name for v in experiment.variants]
    if variant is not None:
        check_choice("--variant", variant, variants)
    chosen = experiment.variant(variant or variants[0])
    asked = experiment.methods if methods is None else _methods(methods, exact=chosen.oracle)
    if len(columns) > 2:
        raise ValueError(f"--column was given {len(columns)} times: pass it once or twice.")
    study = first_study(experiment, chosen.name, data)
    names = [str(column) for column in study.X.columns]
    for column in columns:
        check_choice("--column", column, names)
    index = [names.index(column) for column in columns or names[:2]]
    drawn = draw_knockoffs(experiment, chosen.name, study, [m for m in asked if m != "oracle" or chosen.oracle])
    rows = read_table(study.X, who=name)
    tables = {"data": rows.codes} | {
        method: read_table(table, who=method).with_levels(rows.levels).codes for method, table in drawn.items()
    }
    compare = compare_marginals if len(index) == 1 else compare_methods
    _save(compare(tables, *index), figure)


@bench.command()
@click.argument("name")
@click.option("--out", default=OUT, show_default=True, type=click.Path(file_okay=False), help="Folder of results.")
@click.option("--table", type=click.Path(dir_okay=False), help="Write the means to this file (.csv or .parquet).")
@click.option(
    "--figure", type=click.Path(dir_okay=False), help="Draw curves, or the heat map, to this file (.png)."
)
@click.option("--variant", help="Of the figure; by default the first.")
@click.option("--response", help="Of the figure; by default the first.")
def show(
    name: str, out: str, table: str | None, figure: str | None, variant: str | None, response: str | None
) -> None:
    """Show what the runs of the experiment NAME gave so far."""
    experiment, store = _experiment(name), Store(out)
    check_paths([], named(table=table, figure=figure))
    _refuse_results_as_outputs(store, experiment, table, figure)
    if figure is None and (variant is not None or response is not None):
        raise ValueError("--variant and --response choose the curves of a figure: pass --figure FILE too.")
    results = _show(experiment, store)
    if table is not None:
        write_frame(_summary(experiment, results), table, escape_formulas=True)
    if figure is not None:
        _draw(experiment, store, results, figure, variant, response)


def _refuse_results_as_outputs(store: Store, experiment: Experiment, *outputs: str | None) -> None:
    folder = store.experiment_folder(experiment).resolve()
    for path in outputs:
        if path is not None and Path(path).resolve().is_relative_to(folder):
            raise ValueError(
                f"{path!r} is among the results of {experiment.name}. Pass a path outside {str(folder)!r}."
            )


def _check_cores(n_jobs: int | None, scheduler: str | None) -> None:
    check_cores(n_jobs)
    if n_jobs == 0:
        raise ValueError("--n-jobs 0 is not valid: pass a number of cores, or -1 for all of them.")
    if n_jobs is not None and scheduler is not None:
        raise ValueError(
            "--n-jobs counts cores of this machine and --scheduler names a cluster: pass one of them."
        )


def _experiment(name: str) -> Experiment:
    check_choice("NAME", name, tuple(EXPERIMENTS))
    return EXPERIMENTS[name]


def _methods(text: str, *, exact: bool) -> list[str]:
    """Methods that are named with commas between them; `exact` where exact knockoffs are known."""
    methods = [method.strip() for method in text.split(",")]
    for method in methods:
        check_choice("--methods", method, (*METHODS, *(["oracle"] if exact else [])))
    return methods


def _show(experiment: Experiment, store: Store) -> pd.DataFrame:
    results = store.read(experiment)
    if results.empty:
        raise ValueError(
            f"{str(store.folder)!r} has no results of {experiment.name}: make some with "
            f"'knockoffs bench run {experiment.name} --out {store.folder}'."
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
        say(f"Networks were trained on {' and '.join(f'{name} ({n} runs)' for name, n in devices.items())}.")
    return results


def _show_predictions(experiment: Experiment, store: Store, results: pd.DataFrame) -> None:
    """Print predicted beside realised false discoveries of every combination, and how well they agree."""
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
        table.add_row(*parts, f"{row['predicted']:.3f}", with_error(row["realised"], row["error"]), *verdicts)
    console().print(table)
    for what, found in (("Together", compared), *compared.groupby("statistic", sort=False)):
        figures = agreement(found, level)
        say(
            f"{what}: {figures.combinations} combinations, rank correlation {figures.rank_correlation:.2f}, slope "
            f"{figures.slope:.2f}, AUROC for realised > 1.5 q {figures.auroc:.2f}, exact knockoffs passed "
            f"{figures.exact_passed:.0%}."
        )


def _tables(experiment: Experiment, results: pd.DataFrame) -> Iterator[Table]:
    if not has_truth(results):
        for statistic, frame in marked_selections(experiment, results):
            yield _selection_table(experiment, frame, statistic)
        return
    frame = means(results, experiment.levels)
    for (variant, response, statistic), found in frame.groupby(["variant", "response", "statistic"], sort=False):
        yield _rates_table(found, f"{variant}, {response}, {statistic}", experiment.levels)


def _summary(experiment: Experiment, results: pd.DataFrame) -> pd.DataFrame:
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
        for name, runs, value in ((str(method), str(rows[0]["replicates"]), "fdp"), ("  power", "", "power")):
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
            table.add_row(text(feature), str(remark), *(f"{share:.0%}" if share else "" for share in shares))
    return table


def _draw(
    experiment: Experiment,
    store: Store,
    results: pd.DataFrame,
    path: str,
    variant: str | None,
    response: str | None,
) -> None:
    from knockoffs.benchmarks.figures import curves, heat_map

    if not has_truth(results):
        raise ValueError(
            f"--figure: nobody knows which features of {experiment.name} matter, so there are no curves. Use "
            f"--table, or 'knockoffs bench draw {experiment.name}'."
        )
    if experiment.name == "lambda" or experiment.predicts is not None:
        if variant is not None or response is not None:
            raise ValueError("--variant and --response: the figure shows all of them; leave both out.")
        level = experiment.predicts
        if level is None:
            _save(heat_map(results), path)
        else:
            _save(scatter(compare_predictions(results, store.predicted(experiment), level), level), path)
        return
    chosen, left = [], results
    for option, asked in (("variant", variant), ("response", response)):
        known = list(dict.fromkeys(left[option]))
        if asked is not None:
            check_choice(f"--{option}", asked, known)
        chosen.append(asked or known[0])
        left = left[left[option] == chosen[-1]]
    _save(curves(results, *chosen), path)


def _format(path: str) -> str:
    kind = Path(path).suffix.lstrip(".") or "png"
    check_choice("the figure's suffix", kind, ("png", "svg", "pdf"))
    return kind


def _save(figure: Figure, path: str) -> None:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=_format(path), dpi=110)
    write_atomically(path, buffer.getvalue())
