"""`knockoffs select`: from a file to discoveries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from knockoffs.cli.common import (
    generator_options,
    make_generator,
    not_numbers,
    plain_errors,
    read_features,
    require_column,
    require_numbers,
    require_writable,
    run_options,
    show_progress,
    table_options,
)
from knockoffs.files import write_frame
from knockoffs.hazards import copies_of_target
from knockoffs.outputs import write_atomically
from knockoffs.report import write_report
from knockoffs.selection import Selection
from knockoffs.selector import KnockoffSelector
from knockoffs.statistics.base import TaskChoice, read_target
from knockoffs.statistics.registry import STATISTICS
from knockoffs.tables import listing

SHOWN = 30


@click.command()
@table_options
@click.option("--target", required=True, metavar="COL", help="The column to explain.")
@click.option("--fdr", type=float, default=0.1, show_default=True, help="Share of false discoveries you accept.")
@generator_options
@click.option(
    "--statistic",
    type=click.Choice(list(STATISTICS)),
    default="mixture",
    show_default=True,
    help="How w is found.",
)
@click.option("--draws", type=int, default=1, show_default=True, help="Knockoff draws to combine by e-values.")
@click.option("--certify/--no-certify", default=True, show_default=True, help="Check the knockoffs.")
@click.option("--calibrate", is_flag=True, help="Lower the level by a dry run (a heuristic; takes minutes).")
@click.option("--offset", type=click.Choice(["0", "1"]), default="1", show_default=True, help="1 bounds the FDR.")
@click.option(
    "--task",
    type=click.Choice(get_args(TaskChoice)),
    default="auto",
    show_default=True,
    help="What the target is.",
)
@click.option("--groups", metavar="COL", help="Rows with the same value here (a patient) stay together in splits.")
@click.option("--n-jobs", type=int, help="Cores for the models of a statistic.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    help="Folder for selection.csv, selection.json and certificate.json.",
)
@click.option("--report", type=click.Path(dir_okay=False), help="Write the HTML report to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the selection as JSON.")
@run_options
def select(
    file: str,
    drop: tuple[str, ...],
    delimiter: str | None,
    target: str,
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
    n_jobs: int | None,
    out: str | None,
    report: str | None,
    as_json: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Which columns of FILE tell something about the target that all the others do not.

    FILE is CSV, TSV or Parquet, also compressed; `-` reads standard input. Columns other than the target, --groups
    and --drop are the features, and must be numbers.

    Exit codes: 0 done, also where nothing was found; 1 the data or a setting will not do; 2 wrong usage;
    130 interrupted.
    """
    with plain_errors():
        table = None if out is None else str(Path(out) / "selection.csv")
        require_writable(table, report, save_model, new_folder=out)
        frame = read_features(file, delimiter, drop)
        X, y, labels = _parts(frame, target, groups, task)
        selector = KnockoffSelector(
            make_generator(generator, seed),
            STATISTICS[statistic](),
            fdr=fdr,
            offset=int(offset),
            n_draws=draws,
            certify=certify,
            calibrate=calibrate,
            task=task,
            random_state=seed,
            n_jobs=n_jobs,
            progress=show_progress(quiet),
        ).fit(X, y, groups=labels)
        write_results(selector, out, report, save_model)
        if as_json:
            click.echo(json.dumps(selector.selection_.to_dict(), indent=1))
        elif not quiet:
            show_selection(selector.selection_)
            say_verdict(selector)
            say_where(out, report, save_model)


def _parts(frame: pd.DataFrame, target: str, groups: str | None, task: TaskChoice) -> tuple[Any, Any, Any]:
    """Features, target and groups, or an error that says what is wrong with them."""
    require_column(frame, "--target", target)
    y = frame[target]
    missing = int(y.isna().sum())
    if missing == len(y):
        raise ValueError(f"the target {target!r} has no values at all. Pass another column.")
    if missing:
        raise ValueError(f"the target {target!r} lacks {missing} of {len(y)} values. Drop those rows.")
    wrong = not_numbers(y)
    if (
        task != "classification" and wrong.any() and wrong.mean() < 0.5
    ):  # names of classes would be the rule, not the exception
        row = int(wrong.argmax())
        raise ValueError(
            f"the target {target!r} holds {str(y.iloc[row])!r} in row {row + 1} among numbers. Correct it, or "
            "pass --task classification."
        )
    labels = None
    if groups is not None:
        require_column(frame, "--groups", groups)
        labels = frame[groups]
        if labels.isna().any():
            raise ValueError(
                f"--groups {groups!r} lacks {labels.isna().sum()} values. Fill them in or drop the rows."
            )
    X = frame.drop(columns=[target, *([groups] if groups else [])])
    require_numbers(X)
    _, values = read_target(y, task, rows=len(y), who=f"the target {target!r}")
    numbers = np.nan_to_num(X.to_numpy(dtype=float, na_value=0.0), posinf=0.0, neginf=0.0)  # refused later
    copies = copies_of_target(numbers, values)
    if len(copies):
        named = listing([repr(X.columns[j]) for j in copies])
        raise ValueError(f"the features hold a copy of the target {target!r}: {named}. Leave it out with --drop.")
    return X, y, labels


def write_results(selector: KnockoffSelector, out: str | None, report: str | None, model: str | None) -> None:
    """Each file is complete or absent."""
    selection = selector.selection_
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
        write_frame(selection.to_frame(), Path(out) / "selection.csv")
        write_atomically(Path(out) / "selection.json", json.dumps(selection.to_dict(), indent=1).encode())
        if selector.certificate_ is not None:
            certificate = json.dumps(selector.certificate_.to_dict(), indent=1).encode()
            write_atomically(Path(out) / "certificate.json", certificate)
    if model is not None:
        selector.generator_.save(model)
    if report is not None:
        write_report(selector, report)


def show_selection(selection: Selection) -> None:
    """The discoveries as a table, or why there are none."""
    console = Console()
    frame = selection.to_frame()
    found = frame[frame["selected"]]
    shown = found if len(found) else frame[:5]
    title = "Discoveries" if len(found) else "None selected; the largest w"
    table = Table(title=title, title_justify="left", caption_justify="left")
    several = selection.n_draws > 1
    table.add_column("feature", overflow="fold")
    for heading in ("w", "e-value", *(["frequency"] if several else [])):
        table.add_column(heading, justify="right")
    for row in shown[:SHOWN].itertuples():
        numbers = [f"{row.w:.4g}", f"{row.evalue:.3g}", *([f"{row.frequency:.0%}"] if several else [])]
        table.add_row(Text(str(row.feature)), *numbers)
    if len(shown) > SHOWN:
        table.caption = f"and {len(shown) - SHOWN} more"
    console.print(table)
    console.print(Text(selection.explanation))


def say_verdict(selector: KnockoffSelector) -> None:
    """What the check of the knockoffs came to; a warning has said more where it is not a pass."""
    if selector.certificate_ is not None:
        found = selector.certificate_
        click.echo(f"Check of the knockoffs: {found.verdict} ({found.found.subject}).")


def say_where(out: str | None, report: str | None, model: str | None) -> None:
    places = {
        "Selection": None
        if out is None
        else f"{Path(out) / 'selection.csv'}, selection.json and certificate.json",
        "Report": report,
        "Model": model,
    }
    for what, place in places.items():
        if place is not None:
            click.echo(f"{what}: {place}")
