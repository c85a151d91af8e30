"""Compressed files: what is in them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib

import pyarrow as pa

from knockoffs.table.table_files import TableFileError

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
