"""What a file must be to hold a table: its compression, its lines, and cells that stay exact.

Codes such as 035 stay text, and whole numbers of many digits keep these.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from knockoffs.runtime.arrays import LARGEST_WHOLE
from knockoffs.runtime.cautions import caution
from knockoffs.runtime.memory import FLOAT64, memory_limit
from knockoffs.schema.words import counted, listing
from knockoffs.table.problems import too_many_levels

ZIP = b"PK\x03\x04"
DECOMPRESSED_BY: dict[bytes, Callable[[bytes], bytes]] = {  # by the first bytes
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
    b"\x28\xb5\x2f\xfd": lambda content: pa.CompressedInputStream(
        pa.BufferReader(content), "zstd"
    ).read(),
}
DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
    RuntimeError,
)
_ZERO_FIRST = re.compile(r"(?<![\w.])0\d")
_DIGITS = re.compile(r"[0-9]{3,}")  # months, hours and ages of two digits are quantities
_WHOLE = re.compile(r"[-+]?[0-9]+")


def expanded(content: bytes, name: str) -> bytes:
    """Return what an archive holds (gzip, bzip2, xz, zstd, or one file in a zip),
    or the content as it is.
    """
    try:
        if content.startswith(ZIP):
            return _only_member(content, name)
        ways = (way for first, way in DECOMPRESSED_BY.items() if content.startswith(first))
        return next(ways, bytes)(content)
    except TableFileError:
        raise
    except DAMAGED as error:
        raise TableFileError(
            f"{name} is a damaged or truncated archive ({error}). Copy it again."
        ) from None


def _only_member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [member for member in archive.namelist() if not member.endswith("/")]
        if len(members) != 1:
            raise TableFileError(
                f"{name} holds {len(members)} files. Unpack it and pass one of them."
            )
        return archive.read(members[0])


class TableFileError(ValueError):
    """A file that holds no usable table; the message says why and what to do."""


def require_memory_for(rows: int, columns: int, name: str) -> None:
    """Refuse a table that this machine cannot hold: a few bytes of Parquet stand for any number of
    equal cells.
    """
    limit, needed = memory_limit(), FLOAT64 * rows * columns
    if limit is not None and needed > limit:
        raise TableFileError(
            f"{name} has {rows:,} rows and {columns:,} columns, which need {megabytes(needed)} as "
            f"numbers; this "
            f"machine has {megabytes(limit)} of memory. Pass fewer rows or columns, or use a "
            f"larger machine."
        )


def require_different(names: Sequence[str], name: str) -> None:
    """Refuse columns that have the same name."""
    twice = sorted(repr(cell) for cell, count in Counter(names).items() if count > 1)
    if twice:
        raise TableFileError(
            f"{name} has several columns named {listing(twice)}. Give each its own name, in the "
            f"first line."
        )


def megabytes(size: int) -> str:
    """Return a number of bytes as text, in megabytes."""
    return f"{size / 1e6:,.1f} MB"


def reason(error: BaseException) -> str:
    """Return the first line of what an error of another library says."""
    return (str(error).splitlines() or [""])[0] or type(error).__name__


def check_lines(text: str, delimiter: str, names: int, name: str) -> None:
    """Refuse stray quotes and a last line with fewer cells than names that nothing ends;
    tell of joined lines.
    """
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
            f"{name} ends within line {_line_of(text, len(text))}, which has {cells} of {names} "
            f"cells. Copy the "
            "file again, or end the line where it is complete."
        )
    if _line_ends(plain) < _line_ends(text):
        _tell_of_joined_lines(text, plain, in_quotes, name)


def _refuse_stray_quote(
    text: str, in_quotes: re.Pattern[str], after: re.Pattern[str], name: str
) -> None:
    for cell in in_quotes.finditer(text):
        if not after.match(text, cell.end()):
            raise TableFileError(
                f"{name}: the quotes around a cell begin on line {_line_of(text, cell.start())} "
                f"and end on line "
                f"{_line_of(text, cell.end())}, where more text follows. Remove the stray quote, "
                f"or write a quote "
                "within a cell twice."
            )


def _tell_of_joined_lines(text: str, plain: str, in_quotes: re.Pattern[str], name: str) -> None:
    joined = list(_joining_cells(text, in_quotes))
    if not joined:
        return
    lines, rows = (
        sum(map(bool, map(str.strip, re.split(r"\r\n?|\n", part)))) - 1 for part in (text, plain)
    )
    start, end = (_line_of(text, place) for place in joined[0].span())
    others = f" ({counted(len(joined), 'cell')} in all)" if len(joined) > 1 else ""
    caution(
        f"{name} has {lines:,} lines below the names, but {rows:,} rows: quotes join lines "
        f"{start} to {end} to "
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


def are_codes(column: pd.Series[Any]) -> bool:
    """Return whether a column of text holds codes: some begin with a zero,
    and all are of one length.

    They have three digits or more. More different ones than categories can have are numbers that a
    program has padded, or identifiers.
    """
    if pd.api.types.is_numeric_dtype(column):
        return False
    texts = column.dropna().astype(str).drop_duplicates()
    return (
        bool(texts.str.startswith("0").any())
        and bool(texts.map(_DIGITS.fullmatch).notna().all())
        and texts.str.len().nunique() == 1
        and not too_many_levels(len(texts), int(column.notna().sum()))
    )


def with_exact_text(
    frame: pd.DataFrame,
    text: str,
    read: Callable[..., pd.DataFrame],
    *,
    numbers: Collection[str] = (),
) -> pd.DataFrame:
    """Return the table of a text file with what pandas has not read exactly.

    Codes that it has read as numbers are text, and whole numbers that it has read as floats are
    exact.

    Parameters
    ----------
    frame : DataFrame
        The table as pandas reads it.
    text : str
        The content of the file.
    read : callable
        What reads it, as `pandas.read_csv`.
    numbers : collection of str, default=()
        Columns that hold no codes.
    """
    may_be_codes = {*frame.columns} - {*numbers} if _ZERO_FIRST.search(text) else set()
    whole = {name for name in may_be_codes if _whole(frame[name])}
    inexact = [
        j for j, name in enumerate(frame.columns) if name in whole or _may_be_rounded(frame[name])
    ]
    texts = read(io.StringIO(text), usecols=inexact, dtype=str) if inexact else frame[[]]
    for name in texts.columns:
        codes = name in whole and are_codes(texts[name])
        frame[name] = texts[name] if codes else exact_numbers(texts[name], frame[name])
    return frame


def _whole(column: pd.Series[Any]) -> bool:
    if pd.api.types.is_integer_dtype(column):
        return True
    present = column.dropna() if pd.api.types.is_float_dtype(column) else column[:0]
    return len(present) > 0 and bool(np.isfinite(present).all()) and bool((present % 1 == 0).all())


def as_numbers(frame: pd.DataFrame, columns: Collection[str]) -> pd.DataFrame:
    """Return the table with the codes of some columns as numbers:
    7 where another table has it instead of 007.
    """
    found = [name for name in columns if name in frame.columns and are_codes(frame[name])]
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in found})


def as_text(frame: pd.DataFrame, columns: Collection[str]) -> pd.DataFrame:
    """Return the table with whole numbers of some columns as text:
    401 where another table has 035 beside it.
    """
    whole = [name for name in columns if name in frame.columns and _whole(frame[name])]
    return frame.assign(
        **{name: frame[name].astype("Int64").astype("string").astype(object) for name in whole}
    )


def exact_numbers(texts: pd.Series[Any], numbers: pd.Series[Any]) -> pd.Series[Any]:
    """Return the numbers of a column of text, as integers where they are whole and floats have
    rounded them.

    Those that no integer type holds stay text, as pandas leaves them.
    """
    if not _may_be_rounded(numbers):
        return numbers
    present = texts.notna()
    cells = texts[present].astype(str).str.strip()
    if not all(map(_WHOLE.fullmatch, cells)):
        return numbers
    whole = [int(cell) for cell in cells]
    if all(int(float(value)) == value for value in whole):
        return numbers
    if max(map(abs, whole)) > np.iinfo(np.int64).max:
        return texts
    # not by assignment to a column, where pandas rounds as well
    exact = np.zeros(len(texts), dtype=np.int64)
    exact[present] = whole
    return pd.Series(
        pd.arrays.IntegerArray(exact, ~present.to_numpy()), index=texts.index, name=texts.name
    )


def _may_be_rounded(numbers: pd.Series[Any]) -> bool:
    return pd.api.types.is_float_dtype(numbers) and bool((np.abs(numbers) > LARGEST_WHOLE).any())
