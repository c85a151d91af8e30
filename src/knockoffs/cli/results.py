"""Results of a selection: its files and what the terminal says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from knockoffs.cli.paths import Named, named
from knockoffs.cli.terminal import console, say, text
from knockoffs.runtime.outputs import write_atomically
from knockoffs.schema.words import listing

if TYPE_CHECKING:  # these take seconds to import
    from knockoffs.selection.result import Selection
    from knockoffs.selection.selector import KnockoffSelector

SHOWN = 30
TABLE, JSON, CERTIFICATE = "selection.csv", "selection.json", "certificate.json"


def result_files(out: str | None, report: str | None, model: str | None) -> list[Named]:
    """Return all files that a selection may write, each with its option."""
    others = named(report=report, save_model=model)
    if out is None:
        return others
    return [*(Named("--out", str(Path(out, name))) for name in (TABLE, JSON, CERTIFICATE)), *others]


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
    from knockoffs.table.files import write_frame

    selection, certificate = selector.selection_, selector.certificate_
    folder.mkdir(parents=True, exist_ok=True)
    write_frame(selection.to_frame(), folder / TABLE, escape_formulas=True)
    write_atomically(folder / JSON, json.dumps(selection.to_dict(), indent=1).encode())
    if certificate is None:
        (folder / CERTIFICATE).unlink(missing_ok=True)
        return [str(folder / TABLE), JSON]
    write_atomically(folder / CERTIFICATE, json.dumps(certificate.to_dict(), indent=1).encode())
    return [str(folder / TABLE), JSON, CERTIFICATE]


def show_selection(selection: Selection) -> None:
    """Print the discoveries as a table, or why there are none."""
    terminal = console()
    frame = selection.to_frame()
    found = frame[frame["selected"]]
    shown = found if len(found) else frame[:5]
    title = "Discoveries" if len(found) else f"None selected; the largest {selection.ranked_by}"
    table = Table(caption_justify="left")
    several = selection.n_draws > 1
    table.add_column("feature", overflow="fold")
    if selection.feature_groups:
        table.add_column("columns", overflow="fold")
    for heading in (selection.ranked_by, "e-value", *(["frequency"] if several else [])):
        table.add_column(heading, justify="right")
    table.add_column("effect", overflow="fold")
    said = {effect.feature: effect.said for effect in selection.effects}
    for row in shown[:SHOWN].itertuples():
        w = getattr(row, selection.ranked_by)
        numbers = [f"{w:.4g}", f"{row.evalue:.3g}", *([f"{row.frequency:.0%}"] if several else [])]
        columns = [text(_columns(selection, str(row.feature)))] if selection.feature_groups else []
        table.add_row(text(row.feature), *columns, *numbers, text(said.get(str(row.feature), "")))
    if len(shown) > SHOWN:
        table.caption = f"and {len(shown) - SHOWN} more"
    terminal.print(text(title, "table.title"))
    terminal.print(table)
    if said:
        terminal.print(text(selection.effects.about_intervals))
    terminal.print(text(selection.explanation))
    for step in selection.advice:
        terminal.print(text(f"→ {step}"))


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
            for sentence in found.reasons[1:]:
                say(f"  {sentence}")
            for sentence in found.advice:
                say(f"  → {sentence}")


def say_where(written: dict[str, list[str]]) -> None:
    """Print the files that were written."""
    for what in ("Selection", "Report", "Model"):
        if what in written:
            *others, last = written[what]
            say(f"{what}: {', '.join(others)} and {last}" if others else f"{what}: {last}")
