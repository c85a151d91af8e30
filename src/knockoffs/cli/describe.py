"""`knockoffs describe`: how the columns of a table are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from rich.table import Table

from knockoffs.cli.common import kind_option, read_features, read_kinds, table_options
from knockoffs.cli.results import titled_table
from knockoffs.cli.terminal import console, require_standard_output, text
from knockoffs.runtime.cautions import caution
from knockoffs.schema.schema import Column, Schema
from knockoffs.schema.words import counted, listing

EXAMPLES = 4


@click.command()
@table_options
@kind_option
@click.option("--json", "as_json", is_flag=True, help="Print the description as JSON.")
def describe(
    file: str,
    drop: tuple[str, ...],
    delimiter: str | None,
    na_values: tuple[str, ...],
    max_rows: int,
    kinds: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show how each column of FILE is read: its kind, values and missing cells.

    FILE is CSV, TSV or Parquet, also compressed; `-` reads standard input. Where a column is not
    read as you mean it, such as categories that are coded by numbers, pass --kind COL=KIND here and
    to the other commands. Columns that cannot be used are named with the remedy, and so are those
    that may not mean what they say: spellings of one level, marks of missing cells, identifiers.
    """
    require_standard_output("--json", as_json)
    X = read_features(file, delimiter, drop, na_values, max_rows, kinds=kinds)
    from knockoffs.table.doubts import doubts
    from knockoffs.table.problems import UnusableColumnsError
    from knockoffs.table.table import read_table

    asked = read_kinds(kinds, X)
    problem, unusable = None, []
    try:
        table = read_table(X, who=file, kinds=asked)
    except UnusableColumnsError as error:
        if as_json or len(error.columns) in (0, X.shape[1]):
            raise
        problem, unusable = error, [X.columns[j] for j in error.columns]
        usable = {name: kind for name, kind in (asked or {}).items() if name not in unusable}
        table = read_table(X.drop(columns=unusable), who=file, kinds=usable)
    if as_json:
        click.echo(json.dumps(_as_dict(table.schema, len(X)), indent=1))
    else:
        console().print(_schema_table(table.schema, len(X), unusable))
    doubtful = doubts(table)
    if doubtful is not None:
        caution(doubtful)
    if problem is not None:
        raise problem


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


def _schema_table(schema: Schema, rows: int, unusable: Sequence[str]) -> Table:
    title = text(
        f"{counted(rows, 'row')}, {counted(len(schema) + len(unusable), 'column')}", "table.title"
    )
    shown = [
        (
            text(column.name),
            column.holds.words(column.values, column.levels),
            f"{len(column.values):,}" if column.discrete else "",
            _share(column.missing),
            text(_examples(column)),
        )
        for column in schema
    ]
    shown += [(text(name), "cannot be used", "", "", "") for name in unusable]
    table = titled_table(
        title,
        ("feature", "kind", "values", "missing", "examples"),
        shown,
        left=("feature", "kind", "examples"),
        overflow="fold",
    )
    said = dict.fromkeys(column.holds.explanation for column in schema)
    table.caption = text(" ".join(filter(None, said))) if any(said) else None
    return table


def _share(missing: float) -> str:
    """A share in per cent; only what is nothing or all looks like it."""
    if missing in (0, 1):
        return "all" if missing else ""
    return f"{min(max(100 * missing, 0.1), 99.9):.1f} %"


def _examples(column: Column) -> str:
    """A few of the values that a column takes, as they stand in the table."""
    if column.levels is None:
        shown = [f"{value:.6g}" for value in column.values]
        return (
            ", ".join(shown)
            if len(shown) <= EXAMPLES
            else f"{', '.join(shown[: EXAMPLES - 1])} … {shown[-1]}"
        )
    return listing([str(label) for label in column.labels()], EXAMPLES)
