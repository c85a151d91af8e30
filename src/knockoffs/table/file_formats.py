"""What a file must be to hold a table: its compression, its lines, and errors where it is none."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa

from knockoffs.runtime.cautions import caution
from knockoffs.runtime.memory import FLOAT64, memory_limit
from knockoffs.schema.words import counted, listing

ZIP = b"PK\x03\x04"
DAMAGED = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError)


def expanded(content: bytes, name: str) -> bytes:
    """Return what an archive holds (gzip, bzip2, xz, zstd, or one file in a zip), or the content as it is."""
    try:
        return _only_member(content, name) if content.startswith(ZIP) else _decompressed(content)
    except TableFileError:
        raise
    except DAMAGED as error:
        raise TableFileError(f"{name} is a damaged or truncated archive ({error}). Copy it again.") from None


def _decompressed(content: bytes) -> bytes:
    """Decompress by the way that the first bytes name."""
    if content.startswith(b"\x1f\x8b"):
        return gzip.decompress(content)
    if content.startswith(b"BZh"):
        return bz2.decompress(content)
    if content.startswith(b"\xfd7zXZ\x00"):
        return lzma.decompress(content)
    if content.startswith(b"\x28\xb5\x2f\xfd"):
        return pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    return content


def _only_member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [member for member in archive.namelist() if not member.endswith("/")]
        if len(members) != 1:
            raise TableFileError(f"{name} holds {len(members)} files. Unpack it and pass one of them.")
        return archive.read(members[0])


class TableFileError(ValueError):
    """A file that holds no usable table; the message says why and what to do."""


def require_memory_for(rows: int, columns: int, name: str) -> None:
    """Refuse a table that this machine cannot hold: a few bytes of Parquet stand for any number of equal cells."""
    limit, needed = memory_limit(), FLOAT64 * rows * columns
    if limit is not None and needed > limit:
        raise TableFileError(
            f"{name} has {rows:,} rows and {columns:,} columns, which need {megabytes(needed)} as numbers; this "
            f"machine has {megabytes(limit)} of memory. Pass fewer rows or columns, or use a larger machine."
        )


def require_different(names: Sequence[str], name: str) -> None:
    """Refuse columns that have the same name."""
    twice = sorted(repr(cell) for cell, count in Counter(names).items() if count > 1)
    if twice:
        raise TableFileError(
            f"{name} has several columns named {listing(twice)}. Give each its own name, in the first line."
        )


def megabytes(size: int) -> str:
    """Return a number of bytes as text, in megabytes."""
    return f"{size / 1e6:,.1f} MB"


def reason(error: BaseException) -> str:
    """Return the first line of what an error of another library says."""
    return (str(error).splitlines() or [""])[0] or type(error).__name__


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
