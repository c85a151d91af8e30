"""Tables from and to files: CSV, TSV and Parquet, also compressed, also standard input."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from knockoffs.runtime.cautions import caution
from knockoffs.runtime.outputs import write_atomically
from knockoffs.runtime.randomness import RandomState, random_generator
from knockoffs.schema.words import counted, listing
from knockoffs.table.file_formats import (
    TableFileError,
    are_codes,
    check_lines,
    exact_numbers,
    expanded,
    require_different,
    require_memory_for,
    with_exact_text,
)
from knockoffs.table.parquet import ParquetTable
from knockoffs.table.problems import are_marks

PANDAS_NAMELESS = "Unnamed: 0"  # what pandas calls a first column without a name
PARQUET = b"PAR1"  # the first bytes of such a file
DELIMITERS = (",", "\t", ";", "|")
OTHER_FORMATS = {
    **dict.fromkeys(
        (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), "a spreadsheet program"
    ),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "R"),
    **dict.fromkeys((".sav", ".por"), "SPSS"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "SAS"),
    ".dta": "Stata",
    ".json": "JSON",
    ".html": "HTML",
}
NOT_READ: dict[type[OSError], str] = {
    FileNotFoundError: "does not exist. Check the path.",
    IsADirectoryError: "is a folder. Pass one file in it.",
    PermissionError: "may not be read. Ask for the permission to read it.",
}
DECIMAL_COMMA = re.compile(r"[-+]?\d+(?:,\d+)?(?:[eE][-+]?\d+)?")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+")
# Spreadsheets take a cell that begins with one of these for a formula, and may carry it out
# (https://owasp.org/www-community/attacks/CSV_Injection).
FORMULA_MARKS = tuple("=+-@\t\r\n＝＋－＠")
# Before version 3.1 pandas rounds the last digit of numbers in text files unless it is told not to.
_ROUNDS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
_EXACT_NUMBERS: dict[str, Any] = {"float_precision": "round_trip"} if _ROUNDS else {}


def read_frame(
    path: str,
    *,
    delimiter: str | None = None,
    max_rows: int | None = None,
    random_state: RandomState = None,
    numbers: Collection[str] = (),
) -> pd.DataFrame:
    """The table in a file, in a folder of Parquet files, or in standard input for `-`.

    Compression and Parquet are known by content, the delimiter of text by its first line unless it
    is given. A first column without a name, or with the one that pandas gives it, holds row names.
    Codes with leading zeros in text files, such as 035, are text, but for the columns that are said
    to be `numbers`. Of a table with more than `max_rows` rows so many are drawn at random, in their
    order, and a caution says so; in a folder the others are never in memory.
    """
    name = "standard input" if path == "-" else path
    source = (
        ParquetTable(path) if _holds_parquet(path) else _from_file(path, name, delimiter, numbers)
    )
    frame, rows = _some_rows(source, name, max_rows, random_state)
    if len(frame) < rows:
        caution(
            f"{name} has {rows:,} rows, of which {len(frame):,} are looked at, drawn at random. "
            f"Raise max_rows= "
            "(--max-rows at the command line) for more."
        )
    if frame.empty:
        shape = f"{counted(frame.shape[0], 'row')} and {counted(frame.shape[1], 'column')}"
        raise TableFileError(f"{name} has {shape}. Pass a table with data.")
    frame.columns = frame.columns.map(str)
    return frame


def _holds_parquet(path: str) -> bool:
    """Return whether the path is a folder, or a Parquet file that need not be in memory as a
    whole.
    """
    if not os.path.isfile(path):
        return path != "-" and os.path.isdir(path)
    # what cannot be read is named where the content is
    with suppress(OSError), open(path, "rb") as file:
        return file.read(len(PARQUET)) == PARQUET
    return False


def _some_rows(
    source: ParquetTable | pd.DataFrame, name: str, most: int | None, random_state: RandomState
) -> tuple[pd.DataFrame, int]:
    """Rows of the table, drawn at random where there are more than `most`,
    and how many there are.
    """
    if isinstance(source, ParquetTable):
        require_memory_for(
            source.rows if most is None else min(source.rows, most), len(source.columns), name
        )
        return source.read(most, random_state=random_state), source.rows
    if most is None or len(source) <= most:
        return source, len(source)
    chosen = np.sort(random_generator(random_state).choice(len(source), most, replace=False))
    return source.iloc[chosen], len(source)


def _from_file(
    path: str, name: str, delimiter: str | None, numbers: Collection[str]
) -> ParquetTable | pd.DataFrame:
    content = _content(path, name)
    if (kind := OTHER_FORMATS.get(Path(path).suffix.lower())) is not None:
        raise TableFileError(
            f"{name} is a file of {kind}. Save the table as CSV in UTF-8, or as Parquet."
        )
    content = expanded(content, name)
    if content.startswith(PARQUET):
        return ParquetTable.from_bytes(content, name)
    return _from_text(content, name, delimiter, numbers)


def without_mark(
    frame: pd.DataFrame, mark: str, columns: Sequence[str], *, numbers: Collection[str] = ()
) -> pd.DataFrame:
    """Return the table with missing cells in place of a mark such as "?" or "-999" in some columns.

    A mark that is a number also stands for that number written in another way. A column whose other
    cells are all numbers becomes a column of numbers; codes such as 035 are none, but for the
    columns that are said to be `numbers`.
    """
    point = (
        mark.replace(",", ".")
        if DECIMAL_COMMA.fullmatch(mark) and not THOUSANDS.fullmatch(mark)
        else mark
    )
    number = pd.to_numeric(point, errors="coerce")
    cleaned = frame.copy(deep=False)
    for name in columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            is_mark = (column == number).fillna(False)
        else:
            is_mark = column.notna() & (column.astype(str).str.strip() == mark.strip())
        if is_mark.any():
            rest = column.mask(is_mark.to_numpy(dtype=bool))
            cleaned[name] = _as_numbers(rest, may_be_codes=name not in numbers)
    return cleaned


def _as_numbers(column: pd.Series[Any], *, may_be_codes: bool) -> pd.Series[Any]:
    """The column as numbers where its text holds nothing else, and no codes such as 035."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_unused_categories()
    if may_be_codes and are_codes(column):
        return column
    try:
        return (
            column
            if pd.api.types.is_numeric_dtype(column)
            else exact_numbers(column, pd.to_numeric(column))
        )
    except (ValueError, TypeError):
        return column


def write_frame(
    frame: pd.DataFrame, path: str | os.PathLike[str], *, escape_formulas: bool = False
) -> None:
    """Write as CSV, TSV or Parquet by the suffix, gzipped for `.gz`;
    the file is complete or as it was.

    With `escape_formulas`, texts in CSV and TSV that a spreadsheet would take for a formula get an
    apostrophe in front: right for results that people open, wrong for tables that are read again
    under the same names.
    """
    kind, gzipped = table_format(path)
    if escape_formulas and kind != ".parquet":
        frame = without_formulas(frame)
    delimiter = "\t" if kind == ".tsv" else ","
    content = frame.to_parquet() if kind == ".parquet" else csv_text(frame, delimiter).encode()
    write_atomically(path, gzip.compress(content, mtime=0) if gzipped else content)


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with an apostrophe before each text that a spreadsheet would take for a
    formula.
    """
    escaped = frame.rename(columns=_escaped)
    texts = [name for name in escaped.columns if not pd.api.types.is_numeric_dtype(escaped[name])]
    return escaped.assign(**{name: escaped[name].map(_escaped) for name in texts})


def _escaped(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_MARKS) else value


def csv_text(frame: pd.DataFrame, delimiter: str = ",") -> str:
    """The table as text, with its row names where it has any."""
    write = partial(
        frame.to_csv,
        index=not isinstance(frame.index, pd.RangeIndex),
        sep=delimiter,
        lineterminator="\n",
    )
    text = write()
    # Python before 3.13 does not quote a text for its carriage return, which would then end the
    # line.
    return write(quoting=csv.QUOTE_NONNUMERIC) if "\r" in text else text


def table_format(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """The suffix of the format in which a file of this name is written,
    and whether it is gzipped.
    """
    suffixes = Path(path).suffixes
    gzipped = suffixes[-1:] == [".gz"]
    kind = ((suffixes[:-1] if gzipped else suffixes)[-1:] or [".csv"])[0]
    if kind not in (".csv", ".tsv", ".parquet"):
        raise TableFileError(
            f"{os.fspath(path)!r}: pass a name that ends in .csv, .tsv or .parquet (or one with "
            f".gz)."
        )
    return kind, gzipped


def _content(path: str, name: str) -> bytes:
    try:
        if path == "-" and sys.stdin is None:
            raise TableFileError(
                "standard input is closed. Send a table to it, or pass the name of a file."
            )
        if path != "-" and _is_endless(path):
            raise TableFileError(
                f"{name} is a device. Pass a file, a pipe, or - for standard input."
            )
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        problem = NOT_READ.get(type(error), f"cannot be read: {error.strerror}.")
        raise TableFileError(f"{name} {problem}") from None


def _is_endless(path: str) -> bool:
    """Return whether the path is a device such as /dev/zero, which has no end;
    a terminal has one.
    """
    if Path(path).is_char_device():
        with open(path, "rb", buffering=0) as device:
            return not device.isatty()
    return Path(path).is_block_device()


def _from_text(
    content: bytes, name: str, delimiter: str | None, numbers: Collection[str]
) -> pd.DataFrame:
    # as spreadsheets write Unicode text
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableFileError(
            f"{name} is not text in UTF-{16 if wide else 8} (byte {content[error.start]:#04x} at "
            f"position "
            f"{error.start}). Save it as UTF-8, or as Parquet."
        ) from None
    if not text.strip():
        raise TableFileError(f"{name} is empty. Pass a table with column names in its first line.")
    lines, text = text, text.lstrip("\r\n")
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda mark: _fit(text, mark))
    header = next(_records(text, delimiter), [])
    if len(header) <= 1:
        first = text.splitlines()[0]
        raise TableFileError(
            f"{name} has a single column, {first[:40]!r}, when split at {delimiter!r}. Pass the "
            f"right delimiter, "
            "or remove lines above the one that holds the names of the columns."
        )
    require_different([cell for cell in header if cell.strip()], name)
    check_lines(lines, delimiter, 1 + max(j for j, cell in enumerate(header) if cell.strip()), name)
    if _holds_data(header):
        caution(
            f"{name} has numbers in its first line, which is read as the names of the columns. "
            f"Add a line of "
            "names above it if it is a row of the table."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            read = partial(
                pd.read_csv, sep=delimiter, index_col=False, low_memory=False, **_EXACT_NUMBERS
            )
            frame = read(io.StringIO(text))
            if delimiter != "," and _has_decimal_commas(frame):
                frame = _with_points(read(io.StringIO(text), decimal=","))
            frame = with_exact_text(frame, text, read, numbers=numbers)
    except pd.errors.ParserWarning:
        raise TableFileError(
            f"{name} has lines with more cells than its first line has names ({len(header)}). "
            f"Name every column; "
            "a column of row names may have an empty name."
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise TableFileError(
            f"{name} is not a table split at {delimiter!r}: {reason}. Correct that line, or pass "
            f"the right "
            "delimiter."
        ) from None
    return _with_named_columns(frame, header, name)


def _with_named_columns(frame: pd.DataFrame, header: list[str], name: str) -> pd.DataFrame:
    """The table without columns that have no name: the first holds row names,
    and others must be empty.
    """
    unnamed = [j for j, cell in enumerate(header) if not cell.strip() and j > 0]
    holding = [str(j + 1) for j in unnamed if frame.iloc[:, j].notna().any()]
    if holding:
        raise TableFileError(
            f"{name} has columns without a name (number {listing(holding)}). Name them in the "
            f"first line."
        )
    kept = frame.drop(columns=frame.columns[unnamed])
    if header[0] not in ("", PANDAS_NAMELESS):
        return kept
    return kept.set_index(kept.columns[0]).rename_axis(header[0] or None)


def _holds_data(header: list[str]) -> bool:
    """Return whether all names are numbers, and not all of them whole as those that number columns
    are.
    """
    numbers = pd.to_numeric(
        pd.Series([cell for cell in header if cell.strip()], dtype=object), errors="coerce"
    )
    return bool(numbers.notna().all() and (numbers % 1 != 0).any())


def _has_decimal_commas(frame: pd.DataFrame) -> bool:
    """Return whether numbers are written as 1,5, and the comma marks no thousands.

    A column holds nothing else; or marks of missing cells beside such numbers, where no column has
    points.
    """
    has_points = any(
        pd.api.types.is_float_dtype(frame[name]) and bool((frame[name] % 1 > 0).any())
        for name in frame.columns
    )
    found = [
        text
        for name in frame.columns
        for text in _with_commas(frame[name], beside_marks=not has_points)
    ]
    return any(not THOUSANDS.fullmatch(text) for text in found)


def _with_points(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with points in numbers beside marks of missing cells,
    where pandas leaves the commas.

    These columns then hold what they would in a file with decimal points: see `without_mark`.
    """
    for name in frame.columns:
        points = {
            text: text.replace(",", ".") for text in _with_commas(frame[name], beside_marks=True)
        }
        if points:
            frame[name] = frame[name].map(
                lambda cell, points=points: points.get(str(cell).strip(), cell)
            )
    return frame


def _with_commas(column: pd.Series[Any], *, beside_marks: bool) -> list[str]:
    """The different texts with a comma in a column of numbers,
    or of numbers beside marks of missing cells.
    """
    if pd.api.types.is_numeric_dtype(column):
        return []
    texts = column.dropna().astype(str).str.strip().unique().tolist()
    odd = [text for text in texts if not DECIMAL_COMMA.fullmatch(text)]
    if odd and not (beside_marks and are_marks(odd, len(texts))):
        return []
    return [text for text in texts if "," in text and text not in odd]


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    except csv.Error:  # a cell beyond csv's limit: not the delimiter
        return


def _fit(text: str, mark: str) -> tuple[bool, int]:
    """Return whether the first lines have as many cells as names, and how many names there are."""
    counts = [len(record) for record in islice(_records(text, mark), 5) if record] or [1]
    return len(counts) > 1 and counts[0] > 1 and set(counts) == {counts[0]}, counts[0]
