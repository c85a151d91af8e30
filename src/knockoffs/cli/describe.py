"""`knockoffs describe`: how the columns of a table are read."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.table import Table

from knockoffs.cli.common import kind_option, read_features, read_kinds, table_options
from knockoffs.cli.terminal import console, require_standard_output, text
from knockoffs.interrupts import interrupts_end_the_process
from knockoffs.schema import Column, Schema
from knockoffs.words import listing

EXAMPLES = 4


@click.command()
@table_options
@kind_option
@click.option("--json", "as_json", is_flag=True, help="Print the description as JSON.")
def describe(
    file: str, drop: tuple[str, ...], delimiter: str | None, kinds: tuple[str, ...], as_json: bool
) -> None:
    """How each column of FILE is read: its kind, values and missing cells.

    FILE is CSV, TSV or Parquet, also compressed; `-` reads standard input. Where a column is not read as you mean
    it, such as categories that are coded by numbers, pass --kind COL=KIND here and to the other commands.
    """
    if as_json:
        require_standard_output("--json")
    X = read_features(file, delimiter, drop)
    with interrupts_end_the_process():  # what takes seconds to import is imported when the work begins
        from knockoffs.tables import infer_schema

    schema = infer_schema(X, kinds=read_kinds(kinds, X))
    if as_json:
        click.echo(json.dumps(_as_dict(schema, len(X)), indent=1))
    else:
        console().print(_schema_table(schema, len(X)))


def _as_dict(schema: Schema, rows: int) -> dict[str, Any]:
    columns = [
        {
            "feature": column.name,
            "kind": column.kind,
            "values": len(column.values) if column.discrete else None,
            "levels": None if column.levels is None else [str(label) for label in column.labels()],
            "missing": column.missing,
        }
        for column in schema
    ]
    return {"rows": rows, "columns": columns}


def _schema_table(schema: Schema, rows: int) -> Table:
    title = text(f"{rows:,} rows, {len(schema):,} columns", "table.title")
    table = Table(title=title, title_justify="left")
    for heading in ("feature", "kind", "values", "missing", "examples"):
        table.add_column(heading, justify="right" if heading in ("values", "missing") else "left", overflow="fold")
    for column in schema:
        values = f"{len(column.values):,}" if column.discrete else ""
        table.add_row(text(column.name), column.kind, values, _share(column.missing), text(_examples(column)))
    return table


def _share(missing: float) -> str:
    """A share in per cent; only what is nothing or all looks like it."""
    if missing in (0, 1):
        return "all" if missing else ""
    return f"{min(max(100 * missing, 0.1), 99.9):.1f} %"


def _examples(column: Column) -> str:
    """A few of the values that a column takes, as they stand in the table."""
    if column.levels is None:
        return listing([f"{value:.6g}" for value in column.values], EXAMPLES)
    return listing([str(label) for label in column.labels()], EXAMPLES)
