"""Groups of features at the command line: a small file that says which columns get one answer together."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import click

from knockoffs.schema.words import listing

HEADINGS = ("column", "group")
DELIMITERS = (",", "\t", ";")
HOW = "write column,group in the first line, and one column of the table with its group in each of the others"

feature_groups_option = click.option(
    "--feature-groups",
    "feature_groups",
    metavar="FILE",
    help="Columns that get one answer together: a CSV file with the headings column,group, or a JSON file of "
    "group names to lists of columns. Columns that are not in it are features of their own.",
)


def read_groups_file(path: str | None) -> dict[str, list[str]] | None:
    """Return the columns of each group that a file names; None without a file."""
    if path is None:
        return None
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"--feature-groups {path!r} is no text in UTF-8. Save it as CSV in UTF-8.") from None
    except OSError as error:
        raise ValueError(f"--feature-groups {path!r} cannot be read ({error.strerror}). Pass a file.") from None
    groups = _from_json(text, path) if path.lower().endswith(".json") else _from_csv(text, path)
    if not groups:
        raise ValueError(f"--feature-groups {path!r} names no group. {HOW.capitalize()}, or leave it out.")
    return groups


def refuse_feature_groups(path: str | None, model: str) -> None:
    """Refuse --feature-groups beside a model file that draws knockoffs: it has learned those of its fit."""
    if path is not None:
        raise ValueError(
            f"--feature-groups {path!r}: the model {model!r} draws knockoffs of the groups of its fit. "
            "Leave --feature-groups out, or fit a new model."
        )


def _from_json(text: str, path: str) -> dict[str, list[str]]:
    try:
        found: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--feature-groups {path!r} is no JSON ({error}). Correct it, or pass CSV.") from None
    fine = isinstance(found, dict) and all(isinstance(columns, list) for columns in found.values())
    if not fine or not all(isinstance(column, str) for columns in found.values() for column in columns):
        raise ValueError(
            f"--feature-groups {path!r} is not valid: write group names with lists of columns, such as "
            '{"liver": ["alt", "ast"]}.'
        )
    return found


def _from_csv(text: str, path: str) -> dict[str, list[str]]:
    """Groups by rows of a column and its group; a column whose group is empty is in none."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return {}
    delimiter = max(DELIMITERS, key=lines[0].count)
    header, *rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    if sorted(header) != sorted(HEADINGS):
        raise ValueError(
            f"--feature-groups {path!r} has the headings {listing([repr(name) for name in header])}; {HOW}."
        )
    bad = next((number for number, row in enumerate(rows, start=2) if len(row) != len(HEADINGS)), None)
    if bad is not None:
        raise ValueError(f"--feature-groups {path!r}: line {bad} does not have two cells, a column and its group.")
    groups: dict[str, list[str]] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        if cells["group"]:
            groups.setdefault(cells["group"], []).append(cells["column"])
    return groups
