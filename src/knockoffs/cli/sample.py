"""`knockoffs sample`: a knockoff table."""

from __future__ import annotations

import click

from knockoffs.cli.common import (
    generator_options,
    groups_option,
    kind_option,
    make_generator,
    model_file,
    read_features,
    read_kinds,
    refuse_kinds,
    run_options,
    table_options,
    take_groups,
)
from knockoffs.cli.paths import check_paths, named
from knockoffs.cli.terminal import require_standard_output, say, shows_progress
from knockoffs.interrupts import interrupts_end_the_process
from knockoffs.outputs import is_stream


@click.command()
@table_options
@click.option(
    "--out", required=True, help="File for the knockoffs (.csv, .tsv, .parquet, also .gz), or - for CSV here."
)
@generator_options
@groups_option
@kind_option
@run_options
def sample(
    file: str,
    drop: tuple[str, ...],
    delimiter: str | None,
    na_values: tuple[str, ...],
    out: str,
    generator: str,
    save_model: str | None,
    groups: str | None,
    kinds: tuple[str, ...],
    seed: int,
    quiet: bool,
) -> None:
    """Write knockoffs of the rows of FILE: a table like it.

    FILE is CSV, TSV or Parquet, also compressed; `-` reads standard input. Leave the response out with --drop: it
    must not take part. A model file as --generator draws from that model without a fit. With --groups knockoffs
    are drawn for whole groups of rows; the column itself is left out.
    """
    with interrupts_end_the_process():  # what takes seconds to import is imported when the work begins
        from knockoffs.files import csv_text, table_format, write_frame

    if out == "-":
        require_standard_output("--out -")
    else:
        table_format(out)  # refuses other formats before the work
    outputs = named(out=None if out == "-" else out, save_model=save_model)
    check_paths(named(FILE=file, generator=model_file(generator)), outputs)
    if model_file(generator) is not None:
        refuse_kinds(kinds, generator)
    X, labels = take_groups(read_features(file, delimiter, drop, na_values), groups)
    asked = read_kinds(kinds, X)
    with interrupts_end_the_process():
        from knockoffs.generators.hierarchical import HierarchicalKnockoffs, draw_knockoffs, knows_groups

    model = make_generator(generator)
    if not model.__sklearn_is_fitted__():
        if "progress" in model.get_params():
            model.set_params(progress=shows_progress(quiet))
        if labels is None:
            model.set_params(random_state=seed).fit(X, kinds=asked)
        else:
            model = HierarchicalKnockoffs(model).set_params(random_state=seed).fit(X, groups=labels, kinds=asked)
    elif labels is not None and not knows_groups(model):
        raise ValueError(f"--groups {groups!r}: the model {generator!r} was fitted without groups. Fit a new one.")
    knockoffs = draw_knockoffs(model, X, groups=labels, random_state=seed)
    if save_model is not None:
        model.save(save_model)
    if out == "-":
        click.echo(csv_text(knockoffs), nl=False)
    else:
        write_frame(knockoffs, out)
        if not quiet and not is_stream(out):  # whoever reads the stream expects the table alone
            say(f"Knockoffs: {out}")
