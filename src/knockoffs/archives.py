"""Compressed files: what is in them, within a limit, since a small archive can hold more than any memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from typing import Any

import pyarrow as pa

from knockoffs.table_files import TableFileError, megabytes

# An archive may expand to 64 MiB, or to 100 times its own size where that is more. Tables of numbers shrink 2 to
# 30 times; what shrinks much more is rarely a table, and may fill the memory.
EXPANDED_ALWAYS = 2**26
EXPANDED_TIMES = 100


def expanded(content: bytes, name: str) -> bytes:
    """Return what an archive holds (gzip, bzip2, xz, zstd, or one file in a zip), or the content as it is.

    An archive that holds more than 64 MiB and more than 100 times its own size is refused; unpack it by hand and
    pass the file in it to lift the limit.
    """
    try:
        if content.startswith(b"PK\x03\x04"):
            return _only_member(content, name)
        stream = _opened(content)
        return content if stream is None else _read_all(stream, len(content), name)
    except TableFileError:
        raise
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise TableFileError(f"{name} is a damaged or truncated archive ({error}). Copy it again.") from None


def _opened(content: bytes) -> Any:
    """Return a decompressing stream, chosen by the first bytes; None where the content is not compressed."""
    file = io.BytesIO(content)
    if content.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if content.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if content.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(file)
    if content.startswith(b"\x28\xb5\x2f\xfd"):
        return pa.CompressedInputStream(pa.BufferReader(content), "zstd")
    return None


def _only_member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [member for member in archive.namelist() if not member.endswith("/")]
        if len(members) != 1:
            raise TableFileError(f"{name} holds {len(members)} files. Unpack it and pass one of them.")
        return _read_all(archive.open(members[0]), len(content), name)


def _read_all(stream: Any, compressed: int, name: str) -> bytes:
    """Read to the end in pieces, so that a stream that holds too much is left in time."""
    limit, parts, size = max(EXPANDED_ALWAYS, EXPANDED_TIMES * compressed), [], 0
    with stream:
        while part := stream.read(2**20):
            size += len(part)
            if size > limit:
                raise TableFileError(
                    f"{name} has {megabytes(compressed)} and holds more than {megabytes(limit)}, the most that is "
                    f"unpacked here ({EXPANDED_TIMES} times its size, or {megabytes(EXPANDED_ALWAYS)} where that "
                    "is more). If you trust it, unpack it and pass the file in it."
                )
            parts.append(part)
    return b"".join(parts)
