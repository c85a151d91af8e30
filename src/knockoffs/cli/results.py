"""Results: their files and what the terminal says of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from knockoffs.cli.paths import Named, named
from knockoffs.cli.terminal import console, say, text
from knockoffs.runtime.outputs import write_atomically
from knockoffs.schema.words import listing

if TYPE_CHECKING:  # these take seconds to import
    import pandas as pd

    from knockoffs.pvalues import RandomizationResult
    from knockoffs.selection.result import Selection
    from knockoffs.selection.selector import KnockoffSelector

SHOWN = 30
TABLE, JSON, CERTIFICATE = "selection.csv", "selection.json", "certificate.json"


def result_files(
    out: str | None, report: str | None, model: str | None, names: Sequence[str] = (TABLE, JSON, CERTIFICATE)
) -> list[Named]:
    """Return all files that a command may write, by default a selection, each with its option."""
    in_folder = [] if out is None else [Named("--out", str(Path(out, name))) for name in names]
    return [*in_folder, *named(report=report, save_model=model)]


def write_result(result: Selection | RandomizationResult, folder: Path, table: str, summary: str) -> None:
    """Write the table and the plain values of a result into a folder, which is made where it is not there."""
    from knockoffs.table.files import write_frame

    folder.mkdir(parents=True, exist_ok=True)
    write_frame(result.to_frame(), folder / table, escape_formulas=True)
    write_json(folder / summary, result)


def write_json(path: Path | str, result: Any) -> None:
    """Write the plain values of a result."""
    write_atomically(path, json.dumps(result.to_dict(), indent=1).encode())


def write_results(
    selector: KnockoffSelector, file: str, out: str | None, report: str | None, model: str | None
) -> dict[str, list[str]]:
    """Write each file complete or not at all, and return what was written, by kind; `file` held the table.

    A certificate of an earlier selection in the folder is removed where there is no new one: it says nothing about
    this selection.
    """
    written: dict[str, list[str]] = {}
    if out is not None:
        written["Selection"] = _write_selection(selector, Path(out))
    if model is not None:
        selector.generator_.save(model)
        written["Model"] = [model]
    if report is not None:
        from knockoffs.report import write_report

        write_report(selector, report, source_name="standard input" if file == "-" else Path(file).name)
        written["Report"] = [report]
    return written


def _write_selection(selector: KnockoffSelector, folder: Path) -> list[str]:
    write_result(selector.selection_, folder, TABLE, JSON)
    if selector.certificate_ is None:
        (folder / CERTIFICATE).unlink(missing_ok=True)
        return [str(folder / TABLE), JSON]
    write_json(folder / CERTIFICATE, selector.certificate_)
    return [str(folder / TABLE), JSON, CERTIFICATE]


def show_found(
    frame: pd.DataFrame, table: Table, cells: Callable[[Any], Iterable[Text | str]], said: Iterable[str]
) -> None:
    """Print the features that were found, or the first few of all, and what is to be said of them."""
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
    if feature not in selection.feature_groups:
        return ""
    columns = selection.columns_of(feature)
    return f"{len(columns)}: {listing(list(columns))}"


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


def say_where(written: dict[str, list[str]]) -> None:
    """Print the files that were written."""
    for what in ("Selection", "Report", "Model"):
        if what in written:
            *others, last = written[what]
            say(f"{what}: {', '.join(others)} and {last}" if others else f"{what}: {last}")
