"""`knockoffs sample`: a knockoff table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

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
    with_gaps,
)
from knockoffs.cli.results import check_paths, named
from knockoffs.cli.targets import feature_groups_option, read_groups_file, refuse_feature_groups
from knockoffs.cli.terminal import require_standard_output, say, shows_progress
from knockoffs.runtime.outputs import is_stream

if TYPE_CHECKING:
    from knockoffs.generators.base import KnockoffGenerator


@click.command()
@table_options
@click.option(
    "--out",
    required=True,
    help="File for the knockoffs (.csv, .tsv, .parquet, also .gz), or - for CSV here.",
)
@generator_options
@groups_option
@kind_option
@feature_groups_option
@run_options
def sample(
    file: str,
    drop: tuple[str, ...],
    delimiter: str | None,
    na_values: tuple[str, ...],
    max_rows: int,
    out: str,
    generator: str,
    save_model: str | None,
    groups: str | None,
    kinds: tuple[str, ...],
    feature_groups: str | None,
    seed: int,
    quiet: bool,
) -> None:
    """Write knockoffs of the rows of FILE: a table like it.

    FILE is CSV, TSV or Parquet, also compressed; `-` reads standard input. Leave the response out
    with --drop: it must not take part. A model file as --generator draws from that model without a
    fit, with the seed that it was saved with unless --seed gives another. With --groups knockoffs
    are drawn for whole groups of rows; the column itself is left out.

    FILE may also be a folder of Parquet files, of any size: the fit looks at --max-rows rows, and
    knockoffs of all rows are written some at a time.
    """
    from knockoffs.table.files import csv_text, table_format, write_frame

    if out == "-":
        require_standard_output("--out -")
    else:
        table_format(out)  # refuses other formats before the work
    if Path(file).is_dir():
        _require_streamable(out, groups)
    outputs = named(out=None if out == "-" else out, save_model=save_model)
    saved = model_file(generator)
    check_paths(named(FILE=file, generator=saved, feature_groups=feature_groups), outputs)
    refuse_kinds(kinds, saved)
    refuse_feature_groups(feature_groups, saved)
    feature_sets = read_groups_file(feature_groups)
    frame = read_features(file, delimiter, drop, na_values, max_rows, seed, kinds=kinds)
    X, labels = take_groups(frame, groups)
    asked = read_kinds(kinds, X)
    from knockoffs.generators.any_generator import draw_knockoffs
    from knockoffs.generators.hierarchical import HierarchicalKnockoffs

    model, X = make_generator(generator, X)
    own = saved is not None and model.random_state is not None
    by_default = click.get_current_context().get_parameter_source("seed") is ParameterSource.DEFAULT
    for_draws = None if own and by_default else seed
    if not model.__sklearn_is_fitted__():
        if "progress" in model.get_params():
            model.set_params(progress=shows_progress(quiet))
        if labels is None:
            model.set_params(random_state=seed).fit(X, kinds=asked, feature_groups=feature_sets)
        else:
            model = HierarchicalKnockoffs(model).set_params(random_state=seed)
            model.fit(X, groups=labels, kinds=asked, feature_groups=feature_sets)
    elif labels is not None and not model.knows_groups:
        raise ValueError(
            f"--groups {groups!r}: the model {generator!r} was fitted without groups. Fit a new "
            f"one."
        )
    if Path(file).is_dir():
        _stream(model, file, [*X.columns], na_values, out, for_draws)
    else:
        knockoffs = draw_knockoffs(model, X, groups=labels, random_state=for_draws)
        if out == "-":
            click.echo(csv_text(knockoffs), nl=False)
        else:
            write_frame(knockoffs, out)
    if save_model is not None:
        model.save(save_model)
    # whoever reads the stream expects the table alone
    if not quiet and out != "-" and not is_stream(out):
        say(f"Knockoffs: {out}")


def _require_streamable(out: str, groups: str | None) -> None:
    if not out.endswith(".parquet"):
        raise ValueError(
            f"--out {out!r}: knockoffs of a folder are written as Parquet. Pass a name in .parquet."
        )
    if groups is not None:
        raise ValueError(
            f"--groups {groups!r}: rows of a group are drawn together, which a folder that is "
            f"read some rows at "
            "a time does not allow. Pass one file."
        )


def _stream(
    model: KnockoffGenerator,
    folder: str,
    columns: list[str],
    na_values: Sequence[str],
    out: str,
    seed: int | None,
) -> None:
    """Write the knockoffs of all rows in a folder of Parquet files, some rows at a time."""
    from knockoffs.generators.base import ROWS_AT_A_TIME
    from knockoffs.table.parquet import ParquetTable, write_batches

    if model.knows_groups:
        raise ValueError(
            f"{type(model).__name__} draws groups of rows together, which a folder that is read "
            f"some rows at "
            "a time does not allow. Pass one file."
        )
    table = ParquetTable(folder, columns=columns)
    batches = (with_gaps(rows, na_values) for rows in table.batches(ROWS_AT_A_TIME))
    write_batches(model.sample_batches(batches, random_state=seed), out, schema=table.schema)
