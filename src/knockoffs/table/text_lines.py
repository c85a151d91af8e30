"""Lines of a text file beside its rows: quotes that join lines, and a file that ends within a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knockoffs.runtime.cautions import caution
from knockoffs.schema.words import counted
from knockoffs.table.table_files import TableFileError


def check_lines(text: str, delimiter: str, names: int, name: str) -> None:
    """Refuse stray quotes and a last line with fewer cells than names that nothing ends; tell of joined lines."""
    ends = rf"{re.escape(delimiter)}\r\n"
    begin = rf'"(?<![^{ends}]")'  # a quote elsewhere in a cell is a character
    in_quotes = re.compile(rf'{begin}[^"]*+(?:""[^"]*+)*+"')
    after_quotes = re.compile(rf"[ \t]*(?:[{ends}]|\Z)")
    plain = in_quotes.sub('""', text) if '"' in text else text
    if re.search(rf'{begin}"(?!{after_quotes.pattern})', plain):
        _refuse_stray_quote(text, in_quotes, after_quotes, name)
    last = re.split(r"[\r\n]", plain[max(plain.rfind("\n"), plain.rfind("\r"), 0) :])[-1]
    cells = last.count(delimiter) + 1
    if last.strip() and cells < names:
        raise TableFileError(
            f"{name} ends within line {_line_of(text, len(text))}, which has {cells} of {names} cells. Copy the "
            "file again, or end the line where it is complete."
        )
    if _line_ends(plain) < _line_ends(text):
        _tell_of_joined_lines(text, plain, in_quotes, name)


def _refuse_stray_quote(text: str, in_quotes: re.Pattern[str], after: re.Pattern[str], name: str) -> None:
    for cell in in_quotes.finditer(text):
        if not after.match(text, cell.end()):
            raise TableFileError(
                f"{name}: the quotes around a cell begin on line {_line_of(text, cell.start())} and end on line "
                f"{_line_of(text, cell.end())}, where more text follows. Remove the stray quote, or write a quote "
                "within a cell twice."
            )


def _tell_of_joined_lines(text: str, plain: str, in_quotes: re.Pattern[str], name: str) -> None:
    joined = list(_joining_cells(text, in_quotes))
    if not joined:
        return
    lines, rows = (sum(map(bool, map(str.strip, re.split(r"\r\n?|\n", part)))) - 1 for part in (text, plain))
    start, end = (_line_of(text, place) for place in joined[0].span())
    others = f" ({counted(len(joined), 'cell')} in all)" if len(joined) > 1 else ""
    caution(
        f"{name} has {lines:,} lines below the names, but {rows:,} rows: quotes join lines {start} to {end} to "
        f"one row{others}. Remove these quotes if they are stray."
    )


def _joining_cells(text: str, in_quotes: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Cells below the names that hold line ends."""
    below, read = False, 0
    for cell in in_quotes.finditer(text):
        below = below or _line_ends(text[read : cell.start()].lstrip("\r\n")) > 0
        read = cell.end()
        if below and _line_ends(cell[0]):
            yield cell


def _line_of(text: str, place: int) -> int:
    return 1 + _line_ends(text[:place])


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")
