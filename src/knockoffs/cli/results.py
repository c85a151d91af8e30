"""Results: paths to write them to, their files, and what the terminal says of them.

Results can be written, no input is overwritten, and no two results share a file.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import OverflowMethod
from rich.table import Table
from rich.text import Text

from knockoffs.cli.terminal import console, say, text
from knockoffs.runtime.outputs import is_stream, write_atomically
from knockoffs.schema.words import listing

if TYPE_CHECKING:  # these take seconds to import
    import pandas as pd

    from knockoffs.pvalues import RandomizationResult
    from knockoffs.selection.result import Selection
    from knockoffs.selection.selector import KnockoffSelector

TABLES = ("FILE", "--knockoffs")  # inputs that may be folders of Parquet files
SHOWN = 30
TABLE, JSON, CERTIFICATE = "selection.csv", "selection.json", "certificate.json"


class Named(NamedTuple):
    """A path, and the option or argument of the command that names it."""

    option: str
    path: str

    def __str__(self) -> str:
        return f"{self.option} {self.path!r}"


def named(**paths: str | None) -> list[Named]:
    """Return the paths that were given, each with its option:
    `save_model` stands for `--save-model`.

    Arguments have names in capitals, as in the help.
    """
    return [
        Named(name if name.isupper() else f"--{name.replace('_', '-')}", path)
        for name, path in paths.items()
        if path is not None
    ]


def check_paths(
    inputs: Iterable[Named], outputs: Iterable[Named], *, new_folder: str | None = None
) -> None:
    """Find out before the work that all results can be written without loss;
    `new_folder` will be made by then.

    No result may be among the files of a folder that is a table.
    """
    outputs = list(outputs)
    for output in outputs:
        try:
            _require_writable(output.path, new_folder)
        except OSError as error:
            raise ValueError(
                f"{output.path!r} cannot be written ({error.strerror}). Pass another path."
            ) from error
    # a stream has nothing to overwrite
    files = [output for output in outputs if not is_stream(output.path)]
    for source, output in product(inputs, files):
        if _same_file(source.path, output.path):
            raise ValueError(
                f"{output} is the same file as {source}, which it would overwrite. Pass another "
                f"path to "
                f"{output.option}."
            )
        if source.option in TABLES and source.path != "-" and _is_within(output.path, source.path):
            raise ValueError(
                f"{output} is in the folder {source}, whose files are the table: the next run "
                f"would read it, "
                f"too. Pass a path elsewhere to {output.option}."
            )
    for first, second in combinations(files, 2):
        if _same_file(first.path, second.path):
            raise ValueError(
                f"{first} and {second} are the same file, so that one result would overwrite the "
                f"other. Pass "
                f"another path to {second.option}."
            )


def _is_within(path: str, folder: str) -> bool:
    """Return whether a path leads into a folder, also by symbolic links and by folders that are not
    there yet.
    """
    if not os.path.isdir(folder):
        return False
    return any(_same_file(folder, str(parent)) for parent in Path(os.path.realpath(path)).parents)


def _same_file(first: str, second: str) -> bool:
    """Return whether two paths lead to one file, also by other spellings,
    symbolic links and hard links.
    """
    try:
        if first == "-":
            return os.path.samestat(os.fstat(sys.stdin.fileno()), os.stat(second))
        return os.path.samefile(first, second)
    # one of them is not there yet, or standard input is no file
    except (OSError, ValueError, AttributeError):
        return first != "-" and os.path.realpath(first) == os.path.realpath(second)


def _require_writable(path: str, new_folder: str | None) -> None:
    """Raise an error where no file of this name can be written; no file is touched."""
    if Path(path).is_dir():
        raise ValueError(f"{path!r} is a folder. Pass the name of a file in it.")
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise ValueError(
                f"{path!r} cannot be written (closed, or no permission). Pass another path."
            )
        return
    folder = Path(os.path.realpath(path)).parent
    is_new = new_folder is not None and folder == Path(os.path.realpath(new_folder))
    _require_folder(path, folder, may_be_new=is_new)


def check_folder(option: str, path: str) -> None:
    """Find out before the work that files can be written to a folder,
    which may not be there yet.
    """
    try:
        _require_folder(path, Path(os.path.realpath(path)), may_be_new=True)
    except OSError as error:
        raise ValueError(
            f"{option} {path!r} cannot be written ({error.strerror}). Pass another folder."
        ) from error


def _require_folder(path: str, folder: Path, *, may_be_new: bool) -> None:
    if may_be_new:
        folder = next(place for place in (folder, *folder.parents) if place.exists())
    if not folder.is_dir():
        raise ValueError(
            f"{path!r} cannot be written: {str(folder)!r} is not a folder. Make it first."
        )
    with tempfile.TemporaryFile(dir=folder):
        pass


def result_files(
    out: str | None,
    report: str | None,
    model: str | None,
    names: Sequence[str] = (TABLE, JSON, CERTIFICATE),
) -> list[Named]:
    """Return all files that a command may write, by default a selection, each with its option."""
    in_folder = [] if out is None else [Named("--out", str(Path(out, name))) for name in names]
    return [*in_folder, *named(report=report, save_model=model)]


def write_result(
    result: Selection | RandomizationResult,
    folder: Path,
    table: str,
    summary: str,
) -> None:
    """Write the table and the plain values of a result into a folder, which may have to be made."""
    from knockoffs.table.files import write_frame

    folder.mkdir(parents=True, exist_ok=True)
    write_frame(result.to_frame(), folder / table, escape_formulas=True)
    write_json(folder / summary, result)


def write_json(path: Path | str, result: Any) -> None:
    """Write the plain values of a result."""
    write_atomically(path, json.dumps(result.to_dict(), indent=1).encode())


def written_files(
    out: str | None,
    report: str | None,
    model: str | None,
    *,
    folder: Callable[[Path], str],
    page: Callable[[str], None],
    save: Callable[[str], None],
) -> list[str]:
    """Write each file complete or not at all, and return lines that say what was written.

    `folder` writes the files of --out and says so, `page` the report, and `save` the model.
    """
    written = [] if out is None else [folder(Path(out))]
    if report is not None:
        page(report)
        written.append(f"Report: {report}")
    if model is not None:
        save(model)
        written.append(f"Model: {model}")
    return written


def source_name(file: str) -> str:
    """Return where a table came from, for the report."""
    return "standard input" if file == "-" else Path(file).name


def write_results(
    selector: KnockoffSelector, file: str, out: str | None, report: str | None, model: str | None
) -> list[str]:
    """Write the files of a selection from the table in `file`, and return lines that say so.

    A certificate of an earlier selection in the folder is removed where there is no new one: it
    says nothing about this selection.
    """
    from knockoffs.report import write_report

    return written_files(
        out,
        report,
        model,
        folder=partial(_write_selection, selector),
        page=partial(write_report, selector, source_name=source_name(file)),
        save=selector.generator_.save,
    )


def _write_selection(selector: KnockoffSelector, folder: Path) -> str:
    write_result(selector.selection_, folder, TABLE, JSON)
    if selector.certificate_ is None:
        (folder / CERTIFICATE).unlink(missing_ok=True)
        return f"Selection: {folder / TABLE} and {JSON}"
    write_json(folder / CERTIFICATE, selector.certificate_)
    return f"Selection: {folder / TABLE}, {JSON} and {CERTIFICATE}"


def titled_table(
    title: str | Text,
    headings: Sequence[str],
    rows: Iterable[Sequence[Text | str]],
    *,
    left: Sequence[str],
    overflow: OverflowMethod = "ellipsis",
) -> Table:
    """Return a table under a title; the columns `left` hold words, all others numbers."""
    table = Table(title=title, title_justify="left", caption_justify="left")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right", overflow=overflow)
    for row in rows:
        table.add_row(*row)
    return table


def show_found(
    frame: pd.DataFrame,
    table: Table,
    cells: Callable[[Any], Iterable[Text | str]],
    said: Iterable[str],
) -> None:
    """Print the features that were found, or the first few of all, and what is said of them."""
    shown = frame[frame["selected"]] if frame["selected"].any() else frame[:5]
    for row in shown[:SHOWN].itertuples():
        table.add_row(*cells(row))
    if len(shown) > SHOWN:
        table.caption = f"and {len(shown) - SHOWN} more"
    terminal = console()
    terminal.print(table)
    for sentence in said:
        terminal.print(text(sentence))


def show_selection(selection: Selection) -> None:
    """Print the discoveries as a table, or why there are none."""
    table = Table(caption_justify="left")
    several = selection.n_draws > 1
    for heading in ("feature", *(["columns"] if selection.feature_groups else [])):
        table.add_column(heading, overflow="fold")
    for heading in (selection.ranked_by, "e-value", *(["frequency"] if several else [])):
        table.add_column(heading, justify="right")
    table.add_column("effect", overflow="fold")
    effects = {effect.feature: effect.said for effect in selection.effects}

    def cells(row: Any) -> list[Text | str]:
        w = getattr(row, selection.ranked_by)
        numbers = [f"{w:.4g}", f"{row.evalue:.3g}", *([f"{row.frequency:.0%}"] if several else [])]
        columns = [text(_columns(selection, str(row.feature)))] if selection.feature_groups else []
        return [text(row.feature), *columns, *numbers, text(effects.get(str(row.feature), ""))]

    about = [selection.effects.about_intervals] if effects else []
    none = f"None selected; the largest {selection.ranked_by}"
    console().print(text("Discoveries" if selection.discoveries else none, "table.title"))
    said = [*about, selection.explanation, *(f"→ {step}" for step in selection.advice)]
    show_found(selection.to_frame(), table, cells, said)


def _columns(selection: Selection, feature: str) -> str:
    """The number of columns of a group and their names; nothing for a column by itself."""
    columns = selection.columns_of(feature) if feature in selection.feature_groups else ()
    return f"{len(columns)}: {listing(list(columns))}" if columns else ""


def say_verdict(selector: KnockoffSelector) -> None:
    """Print why the statistic was chosen, and what the check of the knockoffs came to.

    A warning has given the first reason where it is not a pass.
    """
    if selector.statistic_reason_ is not None:
        say(selector.statistic_reason_)
    if selector.certificate_ is not None:
        found = selector.certificate_
        say(f"Check of the knockoffs: {found.verdict}. {found.reasons[0]}")
        if found.verdict != "pass":
            for sentence in (*found.reasons[1:], *(f"→ {advice}" for advice in found.advice)):
                say(f"  {sentence}")
