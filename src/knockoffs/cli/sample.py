"""`knockoffs sample`: a knockoff table."""

from __future__ import annotations

import click

from knockoffs.cli.common import (
    generator_options,
    make_generator,
    plain_errors,
    read_features,
    require_numbers,
    require_writable,
    run_options,
    show_progress,
    table_options,
)
from knockoffs.files import csv_text, table_format, write_frame


@click.command()
@table_options
@click.option(
    "--out", required=True, help="File for the knockoffs (.csv, .tsv, .parquet, also .gz), or - for CSV here."
)
@generator_options
@run_options
def sample(
    file: str,
    drop: tuple[str, ...],
    delimiter: str | None,
    out: str,
    generator: str,
    save_model: str | None,
    seed: int,
    quiet: bool,
) -> None:
    """Write knockoffs of the rows of FILE: a table like it.

    FILE is CSV, TSV or Parquet, also compressed; `-` reads standard input. Leave the response out with --drop: it
    must not take part. A model file as --generator draws from that model without a fit.
    """
    with plain_errors():
        if out != "-":
            table_format(out)  # refuses other formats before the work
        require_writable(None if out == "-" else out, save_model)
        X = read_features(file, delimiter, drop)
        require_numbers(X)
        model = make_generator(generator, seed)
        if not model.__sklearn_is_fitted__():
            if "progress" in model.get_params():
                model.set_params(progress=show_progress(quiet))
            model.fit(X)
        knockoffs = model.sample(X, random_state=seed)
        if save_model is not None:
            model.save(save_model)
        if out == "-":
            click.echo(csv_text(knockoffs), nl=False)
        else:
            write_frame(knockoffs, out)
            if not quiet:
                click.echo(f"Knockoffs: {out}")
