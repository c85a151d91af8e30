"""Outputs: a regular file is complete or as it was; devices,
pipes and open descriptors are written through.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` so that whoever reads a regular file sees the old content or the new,
    never a part.

    A symbolic link stays a link: the file that it points to is replaced. Devices, named pipes and
    open descriptors (such as /dev/stdout) cannot be replaced without cutting off whoever reads
    them: they are written to directly.
    """
    descriptor = _descriptor(path)
    if descriptor is not None:
        _write_to_descriptor(descriptor, content)
    elif is_stream(path):
        with _errors_naming(path), open(path, "wb") as file:
            file.write(content)
    else:
        with replaced(path) as temporary:
            # Inside the `with`, so that a signal at any moment finds a way to the removal of the
            # file.
            handle = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
            )
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new path in the same folder for the content,
    which then takes the place of the file at `path`.

    Where the content is not complete, nothing is left of it. Errors of the system name `path`.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{str(target)!r} cannot be written: {str(target.parent)!r} is not a folder. Make it "
            f"first."
        )
    if target.is_dir():
        raise IsADirectoryError(f"{str(target)!r} is a folder. Pass the name of a file in it.")
    # Of a long name only the beginning, since file systems allow 255 bytes.
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        with _errors_naming(path, temporary):
            yield temporary
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _errors_naming(path: str | os.PathLike[str], temporary: Path | None = None) -> Iterator[None]:
    """Let errors of the system name the file that was to be written:
    one that a write raises names none.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, os.fspath(path), str(temporary)):
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether `path` names a device, a pipe or an open descriptor,
    which has no content to replace.
    """
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open descriptor that a path such as /dev/stdout or /dev/fd/3
    names.
    """
    place = os.path.abspath(path)
    found = _DESCRIPTOR.fullmatch(place)
    return _STREAMS.get(place) if found is None else int(found[1])


def _write_to_descriptor(descriptor: int, content: bytes) -> None:
    for stream in (sys.stdout, sys.stderr):  # what was printed before comes first
        if stream is not None:
            stream.flush()
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
