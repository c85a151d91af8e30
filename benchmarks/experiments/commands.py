"""The commands of `python -m benchmarks`: list, run, results, draw, keep, page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from knockoffs.cli.common import MOST_REPLICATES, check_cores
from knockoffs.cli.results import check_folder, check_paths, named
from knockoffs.cli.terminal import console, plain_errors, say, shows_progress
from knockoffs.runtime.checks import check_choice, check_count

if TYPE_CHECKING:  # what takes seconds to import is imported when the work begins
    from benchmarks.experiments.experiment import Experiment
    from benchmarks.experiments.store import Store

OUT = "results"

_data = click.option(
    "--data",
    envvar="KNOCKOFFS_DATA",
    type=click.Path(file_okay=False),
    help="Folder of real data sets; by default the environment's KNOCKOFFS_DATA.",
)


class _Commands(click.Group):
    """Commands whose errors and warnings are put in plain words, as those of `knockoffs` are."""

    def invoke(self, ctx: click.Context) -> Any:
        with plain_errors():
            return super().invoke(ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:  # `plain_errors` looks for --debug
    """Run the experiments of the paper, and show their results."""


@main.command("list")
def list_experiments() -> None:
    """Name every experiment."""
    from benchmarks.experiments.catalogue import EXPERIMENTS

    table = Table()
    for heading in ("name", "what", "runs"):
        table.add_column(heading, overflow="fold")
    for experiment in EXPERIMENTS.values():
        table.add_row(experiment.name, experiment.title, str(sum(1 for _ in experiment.runs())))
    console().print(table)


@main.command()
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
    help="Run on the dask cluster whose scheduler listens there; start its workers with "
    "--nthreads 1.",
)
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="Where generators are trained: cpu, cuda or auto.",
)
@click.option(
    "--out",
    default=OUT,
    show_default=True,
    type=click.Path(file_okay=False),
    help="Folder of results.",
)
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

    Every run is written when it ends, complete or not at all: stop at any time and start again to
    go on.
    """
    check_folder("--out", out)  # before the imports and the data, which take seconds
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    from benchmarks.experiments.runner import RunFailedError, run_experiment
    from benchmarks.experiments.shown import show_results
    from benchmarks.experiments.store import Store
    from knockoffs.density.devices import torch_device
    from knockoffs.runtime.progress import progress_bars

    experiment = _experiment(name)
    exact = any(variant.oracle for variant in experiment.variants)
    chosen = None if methods is None else _methods(methods, exact=exact)
    if reps is not None:
        check_count("--reps", reps, most=MOST_REPLICATES)
    _check_cores(n_jobs, scheduler)
    torch_device(device)
    store = Store(out)
    try:
        with progress_bars(shows_progress(quiet)):
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
            )
    except RunFailedError as error:
        raise ValueError(str(error)) from error
    except TerminatedWorkerError as error:
        raise ValueError(
            "a worker process was killed, perhaps for want of memory. Run again with fewer "
            "--n-jobs: what is "
            "done is kept."
        ) from error
    if not quiet:
        say(f"{made} runs made; results in {Path(out) / name}")
        show_results(experiment, store)


@main.command()
@click.argument("name")
@click.argument("figure", type=click.Path(dir_okay=False))
@click.option(
    "--column", "columns", multiple=True, help="Once for marginals, twice for a joint density."
)
@click.option("--methods", help="Only these, with commas between them.")
@click.option("--variant", help="By default the first.")
@_data
def draw(
    name: str,
    figure: str,
    columns: tuple[str, ...],
    methods: str | None,
    variant: str | None,
    data: str | None,
) -> None:
    """Fit the methods of the experiment NAME to its first replicate,
    and draw their knockoffs to FIGURE (.png).

    By default the joint density of the first two columns.
    """
    from benchmarks.experiments.pictures import compare_marginals, compare_methods
    from benchmarks.experiments.runner import draw_knockoffs, first_study
    from benchmarks.experiments.shown import figure_format, save_figure
    from knockoffs.table.table import read_table

    experiment = _experiment(name)
    check_paths([], named(FIGURE=figure))
    figure_format(figure)
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
    drawn = draw_knockoffs(
        experiment, chosen.name, study, [m for m in asked if m != "oracle" or chosen.oracle]
    )
    rows = read_table(study.X, who=name)
    tables = {"data": rows.codes} | {
        method: read_table(table, who=method).with_levels(rows.levels).codes
        for method, table in drawn.items()
    }
    compare = compare_marginals if len(index) == 1 else compare_methods
    save_figure(compare(tables, *index), figure)


@main.command()
@click.argument("name")
@click.option(
    "--out",
    default=OUT,
    show_default=True,
    type=click.Path(file_okay=False),
    help="Folder of results.",
)
@click.option(
    "--table",
    type=click.Path(dir_okay=False),
    help="Write the means to this file (.csv or .parquet).",
)
@click.option(
    "--figure",
    type=click.Path(dir_okay=False),
    help="Draw curves, or the heat map, to this file (.png).",
)
@click.option("--variant", help="Of the figure; by default the first.")
@click.option("--response", help="Of the figure; by default the first.")
def results(
    name: str,
    out: str,
    table: str | None,
    figure: str | None,
    variant: str | None,
    response: str | None,
) -> None:
    """Show what the runs of the experiment NAME gave so far."""
    from benchmarks.experiments.shown import draw_curves, show_results, summary
    from benchmarks.experiments.store import Store
    from knockoffs.table.files import write_frame

    experiment, store = _experiment(name), Store(out)
    check_paths([], named(table=table, figure=figure))
    _refuse_results_as_outputs(store, experiment, table, figure)
    if figure is None and (variant is not None or response is not None):
        raise ValueError(
            "--variant and --response choose the curves of a figure: pass --figure FILE too."
        )
    found = show_results(experiment, store)
    if table is not None:
        write_frame(summary(experiment, found), table, escape_formulas=True)
    if figure is not None:
        draw_curves(experiment, store, found, figure, variant, response)


@main.command("keep")
@click.option(
    "--out",
    default=OUT,
    show_default=True,
    type=click.Path(file_okay=False),
    help="Folder of results.",
)
def keep_results(out: str) -> None:
    """Put what the pages need of all runs into benchmarks/results, with commit and hardware."""
    from benchmarks.experiments.kept import FOLDER, keep
    from benchmarks.experiments.store import Store

    names = keep(Store(out))
    if not names:
        raise ValueError(f"{out!r} has no results: make some with 'python -m benchmarks run'.")
    say(f"Kept in {FOLDER}: {', '.join(names)}.")


@main.command()
def page() -> None:
    """Make the pages and figures of docs/benchmarks from benchmarks/results."""
    from benchmarks.experiments.pages import DOCS, write_pages

    write_pages()
    say(f"Written in {DOCS}: paper.md, index.md and their figures.")


def _refuse_results_as_outputs(store: Store, experiment: Experiment, *outputs: str | None) -> None:
    folder = store.experiment_folder(experiment).resolve()
    for path in outputs:
        if path is not None and Path(path).resolve().is_relative_to(folder):
            raise ValueError(
                f"{path!r} is among the results of {experiment.name}. Pass a path outside "
                f"{str(folder)!r}."
            )


def _check_cores(n_jobs: int | None, scheduler: str | None) -> None:
    check_cores(n_jobs)
    if n_jobs is not None and scheduler is not None:
        raise ValueError(
            "--n-jobs counts cores of this machine and --scheduler names a cluster: pass one of "
            "them."
        )


def _experiment(name: str) -> Experiment:
    from benchmarks.experiments.catalogue import EXPERIMENTS

    check_choice("NAME", name, tuple(EXPERIMENTS))
    return EXPERIMENTS[name]


def _methods(text: str, *, exact: bool) -> list[str]:
    """Methods that are named with commas between them; `exact` where exact knockoffs are known."""
    from benchmarks.experiments.catalogue import METHODS

    methods = [method.strip() for method in text.split(",")]
    for method in methods:
        check_choice("--methods", method, (*METHODS, *(["oracle"] if exact else [])))
    return methods
