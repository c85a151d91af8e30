"""Tables from and to files: CSV, TSV and Parquet, also compressed, also standard input."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import sys
import zipfile
import zlib
from pathlib import Path

import pandas as pd
import pyarrow as pa

from knockoffs.persistence import write_atomically
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
    suffixes = Path(path).suffixes
    compressed = suffixes[-1:] == [".gz"]
    kind = (suffixes[:-1] if compressed else suffixes)[-1:] or [".csv"]
    if kind[0] not in (".csv", ".tsv", ".parquet"):
        raise TableFileError(
            f"{os.fspath(path)!r}: pass a name that ends in .csv, .tsv or .parquet (or one with .gz)."
        )
    named = not isinstance(frame.index, pd.RangeIndex)
    if kind[0] == ".parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer)
        content = buffer.getvalue()
    else:
        content = frame.to_csv(index=named, sep="\t" if kind[0] == ".tsv" else ",").encode()
    write_atomically(path, gzip.compress(content, mtime=0) if compressed else content)


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
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
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
        return pd.read_parquet(io.BytesIO(content))
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
    first = text.lstrip("\r\n").splitlines()[0]
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda mark: len(_cells(first, mark)))
    header = _cells(first, delimiter)
    if len(header) == 1:
        raise TableFileError(
            f"{name} has a single column, {first[:40]!r}, when split at {delimiter!r}. Pass the right delimiter."
        )
    twice = sorted({repr(cell) for cell in header if header.count(cell) > 1})
    if twice:
        raise TableFileError(f"{name} has several columns named {listing(twice)}. Give each its own name.")
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=delimiter, index_col=0 if header[0] == "" else None, low_memory=False
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise TableFileError(f"{name} is not a table split at {delimiter!r}: {reason}.") from None
    if header[0] != "" and not isinstance(frame.index, pd.RangeIndex):  # pandas would shift the columns
        raise TableFileError(
            f"{name} has lines with more cells than its first line has names ({len(header)}). Name every column; "
            "a column of row names may have an empty name."
        )
    return frame


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])
