"""`knockoffs select`: from a file to discoveries."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import click

from knockoffs.cli.common import (
    cautions_kept,
    check_cores,
    check_draws,
    condition_option,
    generator_options,
    groups_option,
    kind_option,
    make_generator,
    model_file,
    read_conditions,
    read_features,
    read_kinds,
    refuse_kinds,
    run_options,
    table_options,
)
from knockoffs.cli.part_names import STATISTIC_NAME_OR_AUTO
from knockoffs.cli.results import (
    check_paths,
    named,
    result_files,
    say_verdict,
    show_selection,
    write_results,
)
from knockoffs.cli.targets import (
    feature_groups_option,
    read_groups_file,
    refuse_copies,
    require_roles,
    split_columns,
    target_options,
    task_option,
)
from knockoffs.cli.terminal import EXIT_CODES, require_standard_output, say, shows_progress
from knockoffs.statistics.registry import STATISTICS

if TYPE_CHECKING:  # what takes seconds to import is imported when the work begins
    from knockoffs.targets.registry import TaskChoice


@click.command(epilog=EXIT_CODES)
@table_options
@target_options
@click.option(
    "--fdr",
    type=float,
    default=0.1,
    show_default=True,
    help="Share of false discoveries you accept.",
)
@generator_options
@click.option(
    "--statistic",
    type=STATISTIC_NAME_OR_AUTO,
    default=STATISTICS.default,
    show_default=True,
    help="How features are compared with knockoffs; auto chooses mixture or lasso by simulated "
    "responses.",
)
@click.option(
    "--draws", type=int, default=1, show_default=True, help="Knockoff draws to combine by e-values."
)
@click.option(
    "--certify/--no-certify",
    default=True,
    show_default=True,
    help="Check the knockoffs; without a check an old certificate.json in --out is removed.",
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Lower the level until simulated responses have no more false discoveries than --fdr (a "
    "heuristic).",
)
@click.option(
    "--offset",
    type=click.Choice(["0", "1"]),
    default="1",
    show_default=True,
    help="1 bounds the false discovery rate; 0 next to nothing with fewer than "
    "1 / fdr discoveries.",
)
@task_option
@groups_option
@kind_option
@condition_option
@feature_groups_option
@click.option(
    "--missing",
    type=click.Choice(["value", "complete"]),
    default="value",
    show_default=True,
    help="A missing cell is a value of its own, or is filled in by a draw given the rest of its "
    "row.",
)
@click.option("--n-jobs", type=int, help="Cores for the statistic and the check of the knockoffs.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    help="Folder for selection.csv, selection.json and certificate.json.",
)
@click.option(
    "--report", type=click.Path(dir_okay=False), help="Write the HTML report to this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the selection as JSON.")
@run_options
def select(
    file: str,
    drop: tuple[str, ...],
    delimiter: str | None,
    na_values: tuple[str, ...],
    max_rows: int,
    target: str,
    event: str | None,
    fdr: float,
    generator: str,
    save_model: str | None,
    statistic: str,
    draws: int,
    certify: bool,
    calibrate: bool,
    offset: str,
    task: TaskChoice,
    groups: str | None,
    kinds: tuple[str, ...],
    condition_on: tuple[str, ...],
    feature_groups: str | None,
    missing: Literal["value", "complete"],
    n_jobs: int | None,
    out: str | None,
    report: str | None,
    as_json: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Select the columns of FILE that tell something about the target that all the others do not.

    FILE is CSV, TSV or Parquet, also compressed; `-` reads standard input. Columns other than the
    target, --event, --groups and --drop are the features: numbers, yes or no, text and categories,
    also with missing cells; `knockoffs describe` shows how they are read. A model file as
    --generator draws with the seed that it was saved with, as in Python.
    """
    require_roles(target, event, groups, drop)
    check_draws(draws)
    check_cores(n_jobs)
    require_standard_output("--json", as_json)
    inputs = named(FILE=file, generator=model_file(generator), feature_groups=feature_groups)
    check_paths(inputs, result_files(out, report, save_model), new_folder=out)
    refuse_kinds(kinds, model_file(generator))
    feature_sets = read_groups_file(feature_groups)
    with cautions_kept() as about_reading:
        frame = read_features(
            file,
            delimiter,
            drop,
            na_values,
            max_rows,
            seed,
            target=target,
            event=event,
            kinds=kinds,
        )
        y, X, labels = split_columns(frame, target, event, groups, task)
    from knockoffs.selection.selector import KnockoffSelector

    asked = read_kinds(kinds, X)
    refuse_copies(X, y, target, task, asked)
    made, X = make_generator(generator, X)
    selector = KnockoffSelector(
        made,
        statistic,
        fdr=fdr,
        offset=int(offset),
        n_draws=draws,
        certify=certify,
        calibrate=calibrate,
        task=task,
        kinds=asked,
        missing=missing,
        condition_on=read_conditions(condition_on, X, target, event) or None,
        feature_groups=feature_sets,
        random_state=seed,
        n_jobs=n_jobs,
        progress=shows_progress(quiet),
    ).fit(X, y, groups=labels)
    selector.selection_ = replace(
        selector.selection_, cautions=(*about_reading, *selector.selection_.cautions)
    )
    written = write_results(selector, file, out, report, save_model)
    if as_json:
        click.echo(json.dumps(selector.selection_.to_dict(), indent=1))
    elif not quiet:
        show_selection(selector.selection_)
        say_verdict(selector)
        for line in written:
            say(line)
