"""What the commands share: options, generators and tables.

Help and wrong usage need not wait for torch: names of parts come from the registries, which import
a part when it is asked for, and names of settings are written down here. A test holds these against
the types that they stand for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from knockoffs.cli.part_names import GeneratorName
from knockoffs.generators.registry import GENERATORS
from knockoffs.runtime.arrays import Flags
from knockoffs.runtime.cautions import caution, collect_cautions
from knockoffs.runtime.checks import check_choice, check_count, check_jobs
from knockoffs.schema.kinds import KINDS, kind_choices
from knockoffs.schema.words import counted, listing

if TYPE_CHECKING:
    import pandas as pd

    from knockoffs.generators.base import KnockoffGenerator
    from knockoffs.generators.table_model import TableModel

VARIANTS = ("distilled", "holdout")  # of the randomisation test
CORRECTIONS = ("bh", "by", "holm", "none")


MOST_DRAWS = 10_000
MOST_REPLICATES = 100_000
MOST_CORES = 1_024


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


table_options = options(
    click.argument("file"),
    click.option(
        "--drop",
        multiple=True,
        metavar="COL",
        help="Leave this column out; may be given several times.",
    ),
    click.option(
        "--delimiter",
        help="What separates the cells of a text file, such as ; or \\t; found out by default.",
    ),
    click.option(
        "--na-value",
        "na_values",
        multiple=True,
        metavar="[COL=]VALUE",
        help="A text or number that stands for a missing cell, in all columns or in one, such as "
        "? or age=-999; "
        "may be given several times.",
    ),
    click.option(
        "--max-rows",
        type=click.IntRange(min=1),
        default=1_000_000,
        show_default=True,
        help="Of a table with more rows so many are drawn at random.",
    ),
)
groups_option = click.option(
    "--groups",
    metavar="COL",
    help="Rows with the same value here (a patient) belong together; it is no feature.",
)
_KINDS = kind_choices()
kind_option = click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="COL=KIND",
    help=f"What a column holds, where its values do not tell: {', '.join(_KINDS[:-1])} or "
    f"{_KINDS[-1]}; may be "
    "given several times.",
)
condition_option = click.option(
    "--condition-on",
    "condition_on",
    multiple=True,
    metavar="COL[,COL]",
    help="Columns that are always taken into account and never tested, such as age,sex; may be "
    "repeated.",
)
run_options = options(
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of all randomness, as random_state in Python.",
    ),
    click.option("--quiet", is_flag=True, help="No progress bars and no table."),
)
generator_options = options(
    click.option(
        "--generator",
        type=GeneratorName(),
        default=GENERATORS.default,
        show_default=True,
        help="How knockoffs are made, or a model file.",
    ),
    click.option(
        "--save-model",
        type=click.Path(dir_okay=False),
        help="Write the fitted generator to this file.",
    ),
)


def make_generator(name: str, X: pd.DataFrame) -> tuple[KnockoffGenerator, pd.DataFrame]:
    """Return a generator by name, or a fitted one from a model file, and features as it takes them.

    A fitted one has the seed that it was saved with.
    """
    if name not in GENERATORS and not Path(name).exists():
        raise ValueError(
            f"--generator {name!r} is not valid: pass {', '.join(GENERATORS)}, or the path of a "
            f"model file that "
            "--save-model wrote."
        )
    from knockoffs.generators.loading import load_generator

    if name in GENERATORS:
        return GENERATORS[name](), X
    model = load_generator(name)
    return model, as_in_fit(model, X, "--generator", name)


def model_file(generator: str) -> str | None:
    """Return the path of the model file that --generator names;
    None where it is a generator's name.
    """
    return None if generator in GENERATORS else generator


def check_draws(draws: int) -> None:
    """Refuse numbers of draws that no machine could carry out."""
    check_count("--draws", draws, most=MOST_DRAWS)


def check_cores(n_jobs: int | None) -> None:
    """Refuse 0, and numbers of cores that would start as many processes."""
    check_jobs("--n-jobs", n_jobs, most=MOST_CORES)


@contextmanager
def cautions_kept() -> Iterator[list[str]]:
    """Show the cautions about what is read, also where it ends in an error,
    and keep them for the result.
    """
    cautions: list[str] = []
    try:
        with collect_cautions() as cautions:
            yield cautions
    finally:
        for message in cautions:
            caution(message)


def read_features(
    file: str,
    delimiter: str | None,
    drop: Sequence[str],
    na_values: Sequence[str],
    max_rows: int | None,
    seed: int = 0,
    *,
    target: str | None = None,
    event: str | None = None,
    kinds: Sequence[str] = (),
    warn_of_absent: bool = True,
) -> pd.DataFrame:
    """The table without the columns to drop, and with missing cells where --na-value says so.

    A value that no cell has may be a slip.
    """
    from knockoffs.table.files import read_frame

    # 05 is a count there
    of_target = filter(None, (target, event, event and event.rpartition("=")[0]))
    given = [pair.rpartition("=") for pair in kinds]
    numbers = [
        *of_target,
        *(name for name, _, kind in given if kind in KINDS and KINDS[kind].of_numbers),
    ]
    frame = read_frame(
        file,
        delimiter=_one_character(delimiter),
        max_rows=max_rows,
        random_state=seed,
        numbers=numbers,
    )
    frame = with_gaps(frame, na_values, warn_of_absent=warn_of_absent, numbers=numbers)
    # row names are no feature anyway
    dropped = [column for column in drop if column != frame.index.name]
    for column in dropped:
        require_column(frame, "--drop", column)
    return frame.drop(columns=dropped)


def _one_character(delimiter: str | None) -> str | None:
    r"""Return what --delimiter says; \t, as shells hand it on, is a tab."""
    mark = "\t" if delimiter == r"\t" else delimiter
    if mark is not None and (len(mark) != 1 or mark in '"\r\n\0'):
        raise ValueError(
            f"--delimiter {mark!r} is not valid: pass one character, such as ; or \\t (a tab), or "
            f"leave it out to "
            "have it found out."
        )
    return mark


def with_gaps(
    frame: pd.DataFrame,
    na_values: Sequence[str],
    *,
    warn_of_absent: bool = False,
    numbers: Sequence[str] = (),
) -> pd.DataFrame:
    """The table with missing cells where --na-value says so."""
    from knockoffs.table.files import without_mark

    for value in na_values:
        name, equals, mark = value.rpartition("=")  # a name may hold the sign as well
        in_one = bool(equals) and name in frame.columns
        columns = [name] if in_one else [*frame.columns]
        cleaned = without_mark(frame, mark if in_one else value, columns, numbers=numbers)
        if warn_of_absent and cleaned.equals(frame):
            caution(
                f"--na-value {value!r}: no cell holds it. Pass VALUE, or COL=VALUE for one column."
            )
        frame = cleaned
    return frame


def take_groups(frame: pd.DataFrame, column: str | None) -> tuple[pd.DataFrame, pd.Series | None]:
    """The table without the column that --groups names, and that column."""
    if column is None:
        return frame, None
    require_column(frame, "--groups", column)
    labels = frame[column]
    if labels.isna().any():
        gaps = counted(labels.isna().sum(), "value")
        raise ValueError(f"--groups {column!r} lacks {gaps}. Fill them in or drop the rows.")
    return frame.drop(columns=[column]), labels


def read_conditions(
    condition_on: Sequence[str], X: pd.DataFrame, *targets: str | None
) -> list[str]:
    """Return the columns that --condition-on names;
    one whose name holds a comma is taken as a whole.
    """
    found: list[str] = []
    for given in condition_on:
        for column in [given] if given in X.columns else given.split(","):
            name = column if column in X.columns else column.strip()
            if name in targets:
                raise ValueError(f"--condition-on {name!r} is the target. Name other columns.")
            require_column(X, "--condition-on", name)
            found.append(name)
    return found


def require_column(frame: pd.DataFrame, option: str, column: str) -> None:
    """Refuse a name that is no column of the table, with those that look like it."""
    if column in frame.columns:
        return
    lower = {name.lower(): name for name in frame.columns}
    near = [lower[name] for name in difflib.get_close_matches(column.lower(), lower, n=3)]
    known = (
        f"Did you mean {' or '.join(map(repr, near))}?"
        if near
        else f"There are {listing([*frame.columns])}."
    )
    raise ValueError(f"{option} {column!r} is not a column of the table. {known}")


def as_in_fit(model: TableModel, frame: pd.DataFrame, option: str, path: str) -> pd.DataFrame:
    """Return features as the model of a file takes them;
    refuse columns that are not those of its fit.

    Codes such as 401 are text where those of the fit, such as 035, were, and 007 is a number where
    the fit had numbers.
    """
    from knockoffs.table.file_formats import as_numbers, as_text

    # there are none of a model of an array
    known = [*(frame.columns if model.names_of_fit is None else model.names_of_fit)]
    seen = set(known)
    new = [repr(name) for name in frame.columns if name not in seen]
    absent = [repr(name) for name in known if name not in frame.columns]
    if new or absent:
        said = (
            f" It has not seen {listing(new)}: leave out with --drop what is no feature."
            if new
            else ""
        )
        said += (
            f" The features lack {listing(absent)}: pass a table that has them." if absent else ""
        )
        raise ValueError(
            f"{option} {path!r}: the model was fitted on other columns.{said} Or fit a new model."
        )
    if known != [*frame.columns]:
        raise ValueError(
            f"{option} {path!r}: the columns are in another order than those that the model was "
            f"fitted on. "
            f"Put them in its order: {listing([*map(repr, known)])}."
        )
    levels = [(column.name, column.levels) for column in model.schema_]
    frame = as_numbers(frame, [name for name, own in levels if own is None])
    return as_text(
        frame, [name for name, own in levels if own and all(isinstance(text, str) for text in own)]
    )


def read_kinds(pairs: Sequence[str], frame: pd.DataFrame) -> dict[str, str] | None:
    """Return the kinds of columns that --kind gives; None where it gives none."""
    kinds: dict[str, str] = {}
    for pair in pairs:
        name, equals, kind = pair.rpartition("=")  # a name may hold the sign as well
        if not equals:
            raise ValueError(
                f"--kind {pair!r} is not valid: pass COL=KIND, such as --kind ward=nominal."
            )
        require_column(frame, "--kind", name)
        check_choice(f"--kind {name}", kind, kind_choices())
        if kinds.setdefault(name, kind) != kind:
            raise ValueError(
                f"--kind {name!r} is given as {kinds[name]!r} and as {kind!r}. Pass one of them."
            )
    return kinds or None


def refuse_kinds(pairs: Sequence[str], model: str | None) -> None:
    """Refuse --kind beside a model file: a fitted model knows what its columns hold."""
    if pairs and model is not None:
        raise ValueError(
            f"--kind {pairs[0]!r}: the model {model!r} has learned what its columns hold. Leave "
            f"--kind out, or "
            "fit a new model."
        )


def not_numbers(column: pd.Series) -> Flags:
    """Which cells hold something that is neither missing nor a number."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return np.zeros(len(column), dtype=bool)
    return (column.notna() & pd.to_numeric(column.astype(str), errors="coerce").isna()).to_numpy(
        dtype=bool
    )
