"""What the commands share: options, tables, one-line errors and warnings."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from knockoffs.arrays import Flags
from knockoffs.cautions import KnockoffWarning
from knockoffs.engine.training import TrainingDivergedError
from knockoffs.files import read_frame
from knockoffs.generators.base import KnockoffGenerator
from knockoffs.generators.loading import load_generator
from knockoffs.generators.registry import GENERATORS
from knockoffs.tables import listing

INTERRUPTED = 130


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
        "--drop", multiple=True, metavar="COL", help="Leave this column out; may be given several times."
    ),
    click.option("--delimiter", help="What separates the cells of a text file; found out by default."),
)
run_options = options(
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all randomness."
    ),
    click.option("--quiet", is_flag=True, help="No progress bars and no table."),
)
generator_options = options(
    click.option(
        "--generator",
        default="ddlk",
        show_default=True,
        metavar="|".join([*GENERATORS, "FILE"]),
        help="How knockoffs are made, or a model file.",
    ),
    click.option("--save-model", type=click.Path(dir_okay=False), help="Write the fitted generator to this file."),
)


@contextmanager
def plain_errors() -> Iterator[None]:
    """One line that names the problem and the remedy, instead of a traceback; warnings are shown likewise."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", KnockoffWarning)
        warnings.showwarning = _show_warning
        try:
            yield
        except KeyboardInterrupt:
            click.echo("Interrupted. Files that were not complete yet have not been written.", err=True)
            sys.exit(INTERRUPTED)
        except (ValueError, TypeError, OSError, ImportError, TrainingDivergedError) as error:
            raise click.ClickException(" ".join(str(error).split())) from error


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    kind = "Warning" if issubclass(category, KnockoffWarning) else category.__name__
    click.echo(f"{kind}: {' '.join(str(message).split())}", err=True)


def show_progress(quiet: bool) -> bool:
    return not quiet and sys.stderr.isatty()


def make_generator(name: str, seed: int) -> KnockoffGenerator:
    """A generator by name, or a fitted one from a model file; both draw with this seed."""
    if name in GENERATORS:
        return GENERATORS[name](random_state=seed)
    if not Path(name).exists():
        raise ValueError(
            f"--generator {name!r} is not valid: pass {', '.join(GENERATORS)}, or the path of a model file that "
            "--save-model wrote."
        )
    return load_generator(name).set_params(random_state=seed)


def read_features(file: str, delimiter: str | None, drop: Sequence[str]) -> pd.DataFrame:
    """The table without the columns to drop."""
    frame = read_frame(file, delimiter=delimiter)
    for column in drop:
        require_column(frame, "--drop", column)
    return frame.drop(columns=list(drop))


def require_column(frame: pd.DataFrame, option: str, column: str) -> None:
    if column in frame.columns:
        return
    lower = {name.lower(): name for name in frame.columns}
    near = [lower[name] for name in difflib.get_close_matches(column.lower(), lower, n=3)]
    known = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are {listing([*frame.columns])}."
    raise ValueError(f"{option} {column!r} is not a column of the table. {known}")


def require_numbers(frame: pd.DataFrame) -> None:
    """An error that quotes the first cell that is not a number."""
    for name in frame.columns:
        wrong = not_numbers(frame[name])
        if wrong.any():
            row = int(wrong.argmax())
            others = f" (and {wrong.sum() - 1} more such cells)" if wrong.sum() > 1 else ""
            raise ValueError(
                f"column {name!r} holds {str(frame[name].iloc[row])!r} in row {row + 1}{others}, which is not a "
                f"number. Correct it, encode the column as numbers, or leave it out with --drop {name!r}."
            )


def not_numbers(column: pd.Series) -> Flags:
    """Which cells hold something that is neither missing nor a number."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return np.zeros(len(column), dtype=bool)
    return (column.notna() & pd.to_numeric(column.astype(str), errors="coerce").isna()).to_numpy(dtype=bool)


def require_writable(*paths: str | None, new_folder: str | None = None) -> None:
    """Find out before the work that the results can be written; `new_folder` will be made by then."""
    for path in paths:
        if path is None:
            continue
        if Path(path).is_dir():
            raise ValueError(f"{path!r} is a folder. Pass the name of a file in it.")
        folder = Path(path).absolute().parent
        if new_folder is not None and folder == Path(new_folder).absolute():
            folder = next(p for p in (folder, *folder.parents) if p.exists())
        if not folder.is_dir():
            raise ValueError(f"{path!r} cannot be written: {str(folder)!r} is not a folder. Make it first.")
        probe = folder / f".{Path(path).name}.probe"
        try:
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise ValueError(f"{path!r} cannot be written ({error.strerror}). Pass another path.") from None
