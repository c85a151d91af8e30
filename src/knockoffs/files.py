"""Tables from and to files: CSV, TSV and Parquet, also compressed, also standard input."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from knockoffs.outputs import write_atomically
from knockoffs.tables import listing

DELIMITERS = (",", "\t", ";", "|")


class TableFileError(ValueError):
    """A file that holds no usable table; the message says why and what to do."""


def read_frame(path: str, *, delimiter: str | None = None) -> pd.DataFrame:
    """The table in a file, or in standard input for `-`.

    Compression and Parquet are known by content, the delimiter of text by its first line unless it is given. A
    first column without a name holds row names.
    """
    name = "standard input" if path == "-" else path
    content = _decompressed(_content(path, name), name)
    if not content.strip():
        raise TableFileError(f"{name} is empty. Pass a table with column names in its first line.")
    frame = _from_parquet(content, name) if content.startswith(b"PAR1") else _from_text(content, name, delimiter)
    if frame.empty:
        raise TableFileError(
            f"{name} has {frame.shape[0]} rows and {frame.shape[1]} columns. Pass a table with data."
        )
    frame.columns = frame.columns.map(str)
    return frame


def write_frame(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write as CSV, TSV or Parquet by the suffix, gzipped for `.gz`; the file is complete or as it was."""
    kind, gzipped = table_format(path)
    if kind == ".parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer)
        content = buffer.getvalue()
    else:
        content = csv_text(frame, "\t" if kind == ".tsv" else ",").encode()
    write_atomically(path, gzip.compress(content, mtime=0) if gzipped else content)


def csv_text(frame: pd.DataFrame, delimiter: str = ",") -> str:
    """The table as text, with its row names where it has any."""
    return frame.to_csv(index=not isinstance(frame.index, pd.RangeIndex), sep=delimiter)


def table_format(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """The suffix of the format in which a file of this name is written, and whether it is gzipped."""
    suffixes = Path(path).suffixes
    gzipped = suffixes[-1:] == [".gz"]
    kind = ((suffixes[:-1] if gzipped else suffixes)[-1:] or [".csv"])[0]
    if kind not in (".csv", ".tsv", ".parquet"):
        raise TableFileError(
            f"{os.fspath(path)!r}: pass a name that ends in .csv, .tsv or .parquet (or one with .gz)."
        )
    return kind, gzipped


def _content(path: str, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise TableFileError(f"{name} does not exist. Check the path.") from None
    except IsADirectoryError:
        raise TableFileError(f"{name} is a folder. Pass one file in it.") from None
    except PermissionError:
        raise TableFileError(f"{name} may not be read. Ask for the permission to read it.") from None
    except OSError as error:
        raise TableFileError(f"{name} cannot be read: {error.strerror}.") from None


def _decompressed(content: bytes, name: str) -> bytes:
    try:
        if content.startswith(b"\x1f\x8b"):
            return gzip.decompress(content)
        if content.startswith(b"BZh"):
            return bz2.decompress(content)
        if content.startswith(b"\xfd7zXZ\x00"):
            return lzma.decompress(content)
        if content.startswith(b"\x28\xb5\x2f\xfd"):
            return pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
        if content.startswith(b"PK\x03\x04"):
            return _only_member(content, name)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        if isinstance(error, TableFileError):
            raise
        raise TableFileError(f"{name} is a damaged or truncated archive ({error}). Copy it again.") from None
    return content


def _only_member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [member for member in archive.namelist() if not member.endswith("/")]
        if len(members) != 1:
            raise TableFileError(f"{name} holds {len(members)} files. Unpack it and pass one of them.")
        return archive.read(members[0])


def _from_parquet(content: bytes, name: str) -> pd.DataFrame:
    try:
        _require_different(pq.read_schema(io.BytesIO(content)).names, name)
        return pd.read_parquet(io.BytesIO(content))
    except TableFileError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise TableFileError(
            f"{name} is not a complete Parquet file ({reason}). Write or copy it again."
        ) from None


def _from_text(content: bytes, name: str, delimiter: str | None) -> pd.DataFrame:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableFileError(
            f"{name} is not text in UTF-8 (byte {content[error.start]:#04x} at position {error.start}). Save it "
            "as UTF-8, or as Parquet."
        ) from None
    if not text.strip():
        raise TableFileError(f"{name} is empty. Pass a table with column names in its first line.")
    text = text.lstrip("\r\n")
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda mark: _fit(text, mark))
    header = next(_records(text, delimiter), [])
    if len(header) <= 1:
        first = text.splitlines()[0]
        raise TableFileError(
            f"{name} has a single column, {first[:40]!r}, when split at {delimiter!r}. Pass the right delimiter."
        )
    _require_different(header, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(io.StringIO(text), sep=delimiter, index_col=False, low_memory=False)
    except pd.errors.ParserWarning:
        raise TableFileError(
            f"{name} has lines with more cells than its first line has names ({len(header)}). Name every column; "
            "a column of row names may have an empty name."
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise TableFileError(f"{name} is not a table split at {delimiter!r}: {reason}.") from None
    return frame.set_index(frame.columns[0]).rename_axis(None) if header[0] == "" else frame


def _require_different(names: list[str], name: str) -> None:
    if len(set(names)) < len(names):
        twice = sorted({repr(cell) for cell in names if names.count(cell) > 1})
        raise TableFileError(f"{name} has several columns named {listing(twice)}. Give each its own name.")


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    except csv.Error:  # a cell beyond csv's limit: not the delimiter
        return


def _fit(text: str, mark: str) -> tuple[bool, int]:
    """Whether the first lines have as many cells as names, and how many names there are."""
    counts = [len(record) for record in islice(_records(text, mark), 5) if record] or [1]
    return len(counts) > 1 and counts[0] > 1 and set(counts) == {counts[0]}, counts[0]
