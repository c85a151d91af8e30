"""`knockoffs check`: how many discoveries with these knockoffs are false,
and where do they differ?
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from knockoffs.cli.common import (
    as_in_fit,
    check_cores,
    groups_option,
    kind_option,
    read_features,
    read_kinds,
    refuse_kinds,
    run_options,
    table_options,
    take_groups,
)
from knockoffs.cli.part_names import STATISTIC_NAME
from knockoffs.cli.results import check_paths, named, titled_table, write_json
from knockoffs.cli.targets import feature_groups_option, read_groups_file
from knockoffs.cli.terminal import console, require_standard_output, shows_progress, text
from knockoffs.schema.words import counted, listing
from knockoffs.statistics.registry import STATISTICS

if TYPE_CHECKING:  # what takes seconds to import is imported when the work begins
    import pandas as pd

    from knockoffs.check import Certificate

NOT_PASSED = 3
SHOWN = 10


@click.command()
@table_options
@click.option(
    "--model", metavar="FILE", help="The generator, a model file that --save-model wrote."
)
@click.option(
    "--knockoffs",
    metavar="FILE",
    help="Instead of a model: knockoffs of the rows of FILE, a table like it.",
)
@groups_option
@kind_option
@feature_groups_option
@click.option(
    "--fdr", type=float, default=0.1, show_default=True, help="Level at which knockoffs are judged."
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Also select for some simulated responses with the statistic itself (minutes).",
)
@click.option(
    "--statistic",
    type=STATISTIC_NAME,
    default=STATISTICS.default,
    show_default=True,
    help="What is to be used with the knockoffs.",
)
@click.option("--n-jobs", type=int, help="Cores for the simulated responses and the dry run.")
@click.option(
    "--out", type=click.Path(dir_okay=False), help="Write the certificate to this JSON file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the certificate as JSON.")
@click.option("--strict", is_flag=True, help=f"Exit with {NOT_PASSED} unless the verdict is pass.")
@run_options
def check(
    file: str,
    drop: tuple[str, ...],
    delimiter: str | None,
    na_values: tuple[str, ...],
    max_rows: int,
    model: str | None,
    knockoffs: str | None,
    groups: str | None,
    kinds: tuple[str, ...],
    feature_groups: str | None,
    fdr: float,
    dry_run: bool,
    statistic: str,
    n_jobs: int | None,
    out: str | None,
    as_json: bool,
    strict: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Say how many discoveries with knockoffs of FILE to expect to be false: pass, warn or fail.

    FILE holds rows to select features on, or rows that the model was not fitted on; leave the
    response out with --drop. Responses are simulated on the rows. Swapping features with their
    knockoffs changes nothing where these are exact, so tests say where they differ.
    """
    check_cores(n_jobs)
    require_standard_output("--json", as_json)
    check_paths(
        named(FILE=file, model=model, knockoffs=knockoffs, feature_groups=feature_groups),
        named(out=out),
    )
    feature_sets = read_groups_file(feature_groups)
    frame = read_features(file, delimiter, drop, na_values, max_rows, seed, kinds=kinds)
    X, labels = take_groups(frame, groups)
    from knockoffs.check import check_swap

    found = check_swap(
        *_subject(X, delimiter, na_values, max_rows, seed, model, knockoffs, kinds),
        groups=labels,
        feature_groups=feature_sets,
        fdr=fdr,
        dry_run=dry_run,
        statistic=STATISTICS[statistic](),
        random_state=seed,
        n_jobs=n_jobs,
        progress=shows_progress(quiet),
    )
    if out is not None:
        write_json(out, found)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=1))
    elif not quiet:
        show_certificate(found)
    if strict and found.verdict != "pass":
        sys.exit(NOT_PASSED)


def _subject(
    X: pd.DataFrame,
    delimiter: str | None,
    na_values: Sequence[str],
    max_rows: int,
    seed: int,
    model: str | None,
    knockoffs: str | None,
    kinds: Sequence[str],
) -> tuple[Any, ...]:
    """The arguments of `check_swap`; of two tables with as many rows the same ones are drawn by the
    seed.
    """
    from knockoffs.generators.loading import load_generator
    from knockoffs.table.file_formats import are_codes, as_text
    from knockoffs.table.read_cells import of_one_type
    from knockoffs.table.table import read_table

    if (model is None) == (knockoffs is None):
        raise ValueError(
            "pass either --model FILE, to draw knockoffs, or --knockoffs FILE, which holds them."
        )
    if model is not None:
        refuse_kinds(kinds, model)
        loaded = load_generator(model)
        X = as_in_fit(loaded, X, "--model", model)
        return loaded, X
    table = read_features(
        str(knockoffs), delimiter, (), na_values, max_rows, seed, kinds=kinds, warn_of_absent=False
    )
    absent = [name for name in X.columns if name not in table.columns]
    if absent:
        which = f"the column{'s' if len(absent) > 1 else ''} {listing([*map(repr, absent)])}"
        raise ValueError(
            f"--knockoffs {knockoffs!r} lacks {which}. Leave out with --drop what is no feature."
        )
    asked = read_kinds(kinds, X)
    codes = [name for name in X.columns if are_codes(X[name]) or are_codes(table[name])]
    # one of them may hold none that begins with 0
    X, drawn = as_text(X, codes), as_text(table[X.columns], codes)
    x = read_table(X, who="the table", kinds=asked)
    x_tilde = read_table(drawn, who=f"--knockoffs {knockoffs!r}", kinds=asked)
    for j, (name, levels, others) in enumerate(
        zip(X.columns, x.levels, x_tilde.levels, strict=True)
    ):
        if not of_one_type(levels, x.codes[:, j], others, x_tilde.codes[:, j]):
            which = ("numbers", "text") if levels is None else ("text", "numbers")
            raise ValueError(
                f"column {name!r} holds {which[0]}, its knockoffs {which[1]}. Correct one of them."
            )
    return ((X, drawn) if asked is None else (x, x_tilde),)


def show_certificate(certificate: Certificate) -> None:
    """Verdict, reasons and advice; the tests; the features that differ most."""
    terminal, found = console(), certificate.found
    title = f"{certificate.verdict.upper()}  ({found.subject}, {counted(found.rows, 'row')})"
    terminal.print(text(title, style="bold"))
    for sentence in (*certificate.reasons, *(f"→ {advice}" for advice in certificate.advice)):
        terminal.print(text(f"  {sentence}"))
    terminal.print(_tests_table(certificate))
    terminal.print(_features_table(certificate))
    if found.divergence is not None and found.divergence.telling:
        total, error = found.divergence.total, found.divergence.total_error
        terminal.print(
            text(
                f"Swap divergence by the model's own densities: {total:.3f} ± {error:.3f} nats "
                f"per row."
            )
        )
        worst = ", ".join(f"{name} ({chance:.2f})" for name, chance in certificate.worst_swap())
        terminal.print(text(f"The learned worst-case swap takes most often: {worst}"))
    if found.dry_run:
        terminal.print(_dry_run_table(certificate))


def _tests_table(certificate: Certificate) -> Table:
    rows = [
        (
            test.test,
            test.swap,
            f"{test.told_apart:.3f}",
            "" if test.test != "classifier" else f"{test.low:.3f} to {test.high:.3f}",
            f"{test.p_value:.3g}",
        )
        for test in certificate.found.tests
    ]
    return titled_table(
        "Rows against swapped rows (0.5: cannot be told apart)",
        ("test", "swap", "told apart", "95 % interval", "p"),
        rows,
        left=("test", "swap"),
    )


def _features_table(certificate: Certificate) -> Table:
    rows = []
    for row in certificate.to_frame()[:SHOWN].itertuples():
        numbers = (row.shift, row.shift_p, row.ks, row.ks_p, row.correlation, row.freedom)
        rows.append(
            [text(row.feature), *("copy" if row.copied else f"{number:.3g}" for number in numbers)]
        )
    return titled_table(
        "The features that differ most from their knockoffs",
        ("feature", "z", "p", "KS", "p of KS", "correlation", "freedom"),
        rows,
        left=["feature"],
        overflow="fold",
    )


def _dry_run_table(certificate: Certificate) -> Table:
    rows = [
        (
            rate.response,
            f"{rate.level:g}",
            f"{rate.fdp:.2f} ± {rate.fdp_error:.2f}",
            f"{rate.power:.2f} ± {rate.power_error:.2f}",
        )
        for rate in certificate.found.dry_run
    ]
    return titled_table(
        "Dry run: simulated responses of these rows (mean ± s.e.)",
        ("response", "level", "false discoveries", "power"),
        rows,
        left=["response"],
    )
