"""What columns are for: the target, and what is wrong with it; and groups of features."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from knockoffs.cli.common import not_numbers, options, require_column, take_groups
from knockoffs.runtime.cautions import caution
from knockoffs.schema.words import listing
from knockoffs.targets.registry import AUTO, TARGETS, TaskChoice, task_names

if TYPE_CHECKING:  # what takes seconds to import is imported when the work begins
    import pandas as pd


class _Task(click.ParamType):
    """One of the kinds of targets, as they are when the command runs."""

    name = "task"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return click.Choice(task_names()).get_metavar(param, ctx)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> TaskChoice:
        return click.Choice(task_names()).convert(value, param, ctx)


task_option = click.option(
    "--task", type=_Task(), default=AUTO, show_default=True, help="What the target is."
)
target_options = options(
    click.option("--target", required=True, metavar="COL", help="The column to explain."),
    click.option(
        "--event",
        metavar="COL[=VALUE]",
        help="The target is a time, and this column says whether the event was seen (true, 1 or "
        "VALUE) or the row "
        "is censored; it is no feature.",
    ),
)


def require_roles(target: str, event: str | None, groups: str | None, drop: Sequence[str]) -> None:
    """Refuse a column that is to be two things at once."""
    roles = {target: "--target"}
    events = [] if event is None else [event.rpartition("=")[0] or event]
    others = {
        "--event": events,
        "--groups": [] if groups is None else [groups],
        "--drop": dict.fromkeys(drop),
    }
    for option, columns in others.items():
        for column in columns:
            if column in roles:
                raise ValueError(
                    f"{option} {column!r} is given to {roles[column]} as well. Name another "
                    f"column, or leave "
                    "one of the two options out."
                )
            roles[column] = option


def split_columns(
    frame: pd.DataFrame, target: str, event: str | None, groups: str | None, task: TaskChoice
) -> tuple[Any, Any, Any]:
    """Target, features and groups, or an error that says what is wrong with them.

    With an event the target is a data frame of two columns, times and whether the event was seen.
    Rows in which the target is missing are left out.
    """
    require_column(frame, "--target", target)
    if event is None and task != AUTO and TARGETS[task].timed:
        raise ValueError(
            f"--task {task} needs --event, the column that says whether the event was seen."
        )
    if event is not None and task != AUTO and not TARGETS[task].timed:
        raise ValueError(
            f"--event {event!r} makes the target a time, not a {task} one. Leave --task or "
            f"--event out."
        )
    _require_quantity_or_classes(frame[target], target, task)
    frame = _with_known(frame, target, f"the target {target!r}")
    y, used = frame[target], [target]
    if event is not None:
        # No text stands for the event where the option names a column alone.
        column, _, value = (event, "", "") if event in frame.columns else event.rpartition("=")
        require_column(frame, "--event", column or event)
        frame = _with_known(frame, column, f"--event {column!r}")
        y, used = (
            _with_events(frame[target], _events(frame[column], value, event), target, event),
            [target, column],
        )
    X, labels = take_groups(frame, groups)
    return y, X.drop(columns=used), labels


def refuse_copies(
    X: pd.DataFrame, y: Any, target: str, task: TaskChoice, kinds: Mapping[str, str] | None
) -> None:
    """Refuse features that are the target under another name, and tables that cannot be read."""
    from knockoffs.check.hazards import copies_of_target
    from knockoffs.table.table import read_table
    from knockoffs.targets.inputs import read_target

    read = read_target(y, task, rows=len(y), who=f"the target {target!r}")
    table = read_table(X, who="the features", kinds=kinds)
    nominal = np.array([column.holds.of_levels for column in table.schema], dtype=bool)
    copies = sorted(
        {int(j) for values in read.as_given for j in copies_of_target(table.codes, values, nominal)}
    )
    if copies:
        named = listing([repr(X.columns[j]) for j in copies])
        raise ValueError(
            f"the features hold a copy of the target {target!r}: {named}. Leave it out with --drop."
        )


def _with_known(frame: pd.DataFrame, column: str, what: str) -> pd.DataFrame:
    """The rows in which a part of the target is known."""
    missing = frame[column].isna()
    if missing.all():
        raise ValueError(f"{what} has no values at all. Pass another column.")
    if not missing.any():
        return frame
    caution(
        f"{what} is missing in {missing.sum():,} of {len(frame):,} rows, which are left out: the "
        f"answer is about "
        "rows in which it is known."
    )
    return frame[~missing]


def _require_quantity_or_classes(y: pd.Series, target: str, task: TaskChoice) -> None:
    if task != AUTO and TARGETS[task].categorical:
        return
    wrong = not_numbers(y)
    if wrong.any() and wrong.mean() < 0.5:  # names of classes would be the rule, not the exception
        row = int(wrong.argmax())
        raise ValueError(
            f"the target {target!r} holds {str(y.iloc[row])!r} in row {row + 1} among numbers. "
            f"Correct it, "
            "or pass --na-value where it stands for a missing cell, or --task classification."
        )


def _events(cells: pd.Series, value: str, event: str) -> pd.Series:
    """Return which rows have the event."""
    column = str(cells.name)
    if value:
        from knockoffs.table.files import without_mark

        # 2 also stands for 2.0
        seen = without_mark(cells.to_frame(), value, [column])[column].isna()
        if not seen.any():
            held = listing([repr(own) for own in cells.astype(str).unique().tolist()], 5)
            raise ValueError(
                f"--event {event!r}: no cell of {column!r} holds {value!r}. It holds {held}."
            )
        return seen
    if not cells.isin([0, 1]).all():
        held = listing([repr(own) for own in cells.unique().tolist()], 5)
        raise ValueError(
            f"--event {column!r} holds {held}, not true and false or 1 and 0. Say which value "
            f"stands for the "
            f"event: --event {column}=VALUE."
        )
    return cells.astype(bool)


def _with_events(time: pd.Series, seen: pd.Series, target: str, event: str) -> pd.DataFrame:
    import pandas as pd

    if not_numbers(time).any() or pd.api.types.is_bool_dtype(time):
        raise ValueError(
            f"the target {target!r} holds no numbers. With --event it has to be a time, such as "
            f"days."
        )
    return pd.DataFrame({target: time, event: seen})


HEADINGS = ("column", "group")
DELIMITERS = (",", "\t", ";")
HOW = (
    "write column,group in the first line, and one column of the table with its group in each "
    "of the others"
)

feature_groups_option = click.option(
    "--feature-groups",
    "feature_groups",
    metavar="FILE",
    help="Columns that get one answer together: a CSV file with the headings column,group, or a "
    "JSON file of "
    "group names to lists of columns. Columns that are not in it are features of their own.",
)


def read_groups_file(path: str | None) -> dict[str, list[str]] | None:
    """Return the columns of each group that a file names; None without a file."""
    if path is None:
        return None
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"--feature-groups {path!r} is no text in UTF-8. Save it as CSV in UTF-8."
        ) from None
    except OSError as error:
        raise ValueError(
            f"--feature-groups {path!r} cannot be read ({error.strerror}). Pass a file."
        ) from None
    groups = _from_json(text, path) if path.lower().endswith(".json") else _from_csv(text, path)
    if not groups:
        raise ValueError(
            f"--feature-groups {path!r} names no group. {HOW.capitalize()}, or leave it out."
        )
    return groups


def refuse_feature_groups(path: str | None, model: str | None) -> None:
    """Refuse --feature-groups beside a model file that draws knockoffs:
    it has learned those of its fit.
    """
    if path is not None and model is not None:
        raise ValueError(
            f"--feature-groups {path!r}: the model {model!r} draws knockoffs of the groups of its "
            f"fit. "
            "Leave --feature-groups out, or fit a new model."
        )


def _from_json(text: str, path: str) -> dict[str, list[str]]:
    try:
        found: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"--feature-groups {path!r} is no JSON ({error}). Correct it, or pass CSV."
        ) from None
    fine = isinstance(found, dict) and all(isinstance(columns, list) for columns in found.values())
    if not fine or not all(
        isinstance(column, str) for columns in found.values() for column in columns
    ):
        raise ValueError(
            f"--feature-groups {path!r} is not valid: write group names with lists of columns, "
            f"such as "
            '{"liver": ["alt", "ast"]}.'
        )
    return found


def _from_csv(text: str, path: str) -> dict[str, list[str]]:
    """Groups by rows of a column and its group; a column whose group is empty is in none."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return {}
    delimiter = max(DELIMITERS, key=lines[0].count)
    header, *rows = [
        [cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)
    ]
    if sorted(header) != sorted(HEADINGS):
        raise ValueError(
            f"--feature-groups {path!r} has the headings "
            f"{listing([repr(name) for name in header])}; {HOW}."
        )
    bad = next(
        (number for number, row in enumerate(rows, start=2) if len(row) != len(HEADINGS)), None
    )
    if bad is not None:
        raise ValueError(
            f"--feature-groups {path!r}: line {bad} does not have two cells, a column and its "
            f"group."
        )
    groups: dict[str, list[str]] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        if cells["group"]:
            groups.setdefault(cells["group"], []).append(cells["column"])
    return groups
