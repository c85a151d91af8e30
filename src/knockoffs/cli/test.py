"""`knockoffs test`: from a file to p-values."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from knockoffs.cli.common import (
    CORRECTIONS,
    VARIANTS,
    as_in_fit,
    cautions_kept,
    check_cores,
    condition_option,
    kind_option,
    read_conditions,
    read_features,
    read_kinds,
    refuse_kinds,
    run_options,
    table_options,
)
from knockoffs.cli.results import (
    check_paths,
    named,
    result_files,
    show_found,
    source_name,
    write_result,
    written_files,
)
from knockoffs.cli.targets import (
    refuse_copies,
    require_roles,
    split_columns,
    target_options,
    task_option,
)
from knockoffs.cli.terminal import EXIT_CODES, require_standard_output, say, shows_progress, text

if TYPE_CHECKING:  # what takes seconds to import is imported when the work begins
    from knockoffs.generators.ddlk import DDLK
    from knockoffs.generators.joint import JointDensity
    from knockoffs.pvalues import RandomizationResult
    from knockoffs.pvalues.corrections import Correction
    from knockoffs.pvalues.one_feature import Variant
    from knockoffs.targets.registry import TaskChoice

TABLE, JSON = "tests.csv", "tests.json"
MOST_RESAMPLES = 10_000_000


@click.command("test", epilog=EXIT_CODES)
@table_options
@target_options
@condition_option
@click.option(
    "--level",
    type=float,
    default=0.1,
    show_default=True,
    help="The bound; --correction says on what.",
)
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default="bh",
    show_default=True,
    help="bh: share of false discoveries, if p-values depend on each other positively or not at "
    "all; by: the "
    "same, however they depend; holm: probability of any; none: of each test.",
)
@click.option(
    "--variant",
    type=click.Choice(VARIANTS),
    default="distilled",
    show_default=True,
    help="How the target is explained: by residuals, or by predictions.",
)
@click.option(
    "--resamples",
    type=int,
    default=5000,
    show_default=True,
    help="Most redraws per feature, and part of the rows with holdout.",
)
@click.option(
    "--density",
    metavar="FILE",
    help="Model file of a JointDensity or a DDLK; fitted anew by default.",
)
@click.option(
    "--save-model", type=click.Path(dir_okay=False), help="Write the fitted density to this file."
)
@task_option
@kind_option
@click.option("--n-jobs", type=int, help="Cores for the tests.")
@click.option("--out", type=click.Path(file_okay=False), help=f"Folder for {TABLE} and {JSON}.")
@click.option(
    "--report", type=click.Path(dir_okay=False), help="Write the HTML report to this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@run_options
def test(
    file: str,
    drop: tuple[str, ...],
    delimiter: str | None,
    na_values: tuple[str, ...],
    max_rows: int,
    target: str,
    event: str | None,
    condition_on: tuple[str, ...],
    level: float,
    correction: Correction,
    variant: Variant,
    resamples: int,
    density: str | None,
    save_model: str | None,
    task: TaskChoice,
    kinds: tuple[str, ...],
    n_jobs: int | None,
    out: str | None,
    report: str | None,
    as_json: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Give a p-value for each column of FILE: does y depend on it, given all the others?

    FILE is CSV, TSV or Parquet, also compressed; `-` reads standard input. Columns other than the
    target, --event, --condition-on and --drop are tested: numbers, yes or no, text and categories,
    also with missing cells. With few columns a test finds what `knockoffs select` cannot report,
    since knockoffs need some 1 / fdr discoveries.
    """
    require_roles(target, event, None, drop)
    check_cores(n_jobs)
    if resamples > MOST_RESAMPLES:
        raise ValueError(f"--resamples {resamples} is not valid: pass at most {MOST_RESAMPLES:,}.")
    require_standard_output("--json", as_json)
    files = result_files(out, report, save_model, (TABLE, JSON))
    check_paths(named(FILE=file, density=density), files, new_folder=out)
    refuse_kinds(kinds, density)
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
        y, X, _ = split_columns(frame, target, event, None, task)
    from knockoffs.generators.joint import JointDensity
    from knockoffs.pvalues import RandomizationTest
    from knockoffs.report.page import write_test_report

    asked = read_kinds(kinds, X)
    given = read_conditions(condition_on, X, target, event)
    refuse_copies(X, y, target, task, asked)
    model = JointDensity() if density is None else _density(density)
    if density is not None:
        X = as_in_fit(model, X, "--density", density)
    test = RandomizationTest(
        model,
        variant=variant,
        resamples=resamples,
        correction=correction,
        level=level,
        condition_on=given,
        task=task,
        kinds=asked,
        random_state=seed,
        n_jobs=n_jobs,
        progress=shows_progress(quiet),
    ).fit(X, y)
    test.result_ = replace(test.result_, cautions=(*about_reading, *test.result_.cautions))
    written = written_files(
        out,
        report,
        save_model,
        folder=partial(_write_tests, test.result_),
        page=partial(write_test_report, test, source_name=source_name(file)),
        save=test.density_.save,
    )
    if as_json:
        click.echo(json.dumps(test.result_.to_dict(), indent=1))
    elif not quiet:
        _show(test.result_)
        for line in written:
            say(line)


def _density(path: str) -> JointDensity | DDLK:
    from knockoffs.generators.ddlk import DDLK
    from knockoffs.generators.joint import JointDensity
    from knockoffs.runtime.model_files import model_kind

    if not Path(path).exists():
        raise ValueError(
            f"--density {path!r} is not a file. Pass a model file of a JointDensity or a DDLK."
        )
    kind = model_kind(path)
    if kind not in (DDLK.__name__, JointDensity.__name__):
        raise ValueError(
            f"--density {path!r} holds a {kind} model. Pass a model file of a JointDensity or a "
            f"DDLK, or leave "
            "--density out to fit one."
        )
    return DDLK.load(path) if kind == DDLK.__name__ else JointDensity.load(path)


def _write_tests(result: RandomizationResult, folder: Path) -> str:
    write_result(result, folder, TABLE, JSON)
    return f"Tests: {folder / TABLE} and {JSON}"


def _show(result: RandomizationResult) -> None:
    """Print the discoveries as a table, or the smallest p-values."""
    import pandas as pd

    frame = result.to_frame()
    title = "Discoveries" if frame["selected"].any() else "No discovery; the smallest p-values"
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.add_column("feature", overflow="fold")
    for heading in ("p", "adjusted p", "effect", "strength"):
        table.add_column(heading, justify="right")

    def cells(row: Any) -> list[Text | str]:
        effect = "" if pd.isna(row.effect) else f"{row.effect:+.3f}"
        name = (
            f"{row.feature} ({row.effect_towards})"
            if getattr(row, "effect_towards", "")
            else row.feature
        )
        return [text(name), f"{row.p:.2g}", f"{row.adjusted_p:.2g}", effect, f"{row.strength:.1%}"]

    said = [result.effect_meaning, result.explanation, *(f"→ {step}" for step in result.advice)]
    show_found(frame, table, cells, said)
