"""Paths of a command: results can be written, no input is overwritten, and no two results share a file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from knockoffs.runtime.outputs import is_stream

TABLES = ("FILE", "--knockoffs")  # inputs that may be folders of Parquet files


class Named(NamedTuple):
    """A path, and the option or argument of the command that names it."""

    option: str
    path: str

    def __str__(self) -> str:
        return f"{self.option} {self.path!r}"


def named(**paths: str | None) -> list[Named]:
    """Return the paths that were given, each with its option: `save_model` stands for `--save-model`.

    Arguments have names in capitals, as in the help.
    """
    return [
        Named(name if name.isupper() else f"--{name.replace('_', '-')}", path)
        for name, path in paths.items()
        if path is not None
    ]


def check_paths(inputs: Iterable[Named], outputs: Iterable[Named], *, new_folder: str | None = None) -> None:
    """Find out before the work that all results can be written without loss; `new_folder` will be made by then.

    No result may be among the files of a folder that is a table.
    """
    outputs = list(outputs)
    for output in outputs:
        try:
            _require_writable(output.path, new_folder)
        except OSError as error:
            message = f"{output.path!r} cannot be written ({error.strerror}). Pass another path."
            raise ValueError(message) from error
    files = [output for output in outputs if not is_stream(output.path)]  # a stream has nothing to overwrite
    _refuse_overwritten_inputs(list(inputs), files)
    for first, second in combinations(files, 2):
        if _same_file(first.path, second.path):
            raise ValueError(
                f"{first} and {second} are the same file, so that one result would overwrite the other. Pass "
                f"another path to {second.option}."
            )


def _refuse_overwritten_inputs(inputs: list[Named], outputs: list[Named]) -> None:
    for source in inputs:
        for output in outputs:
            if _same_file(source.path, output.path):
                raise ValueError(
                    f"{output} is the same file as {source}, which it would overwrite. Pass another path to "
                    f"{output.option}."
                )
            if source.option in TABLES and source.path != "-" and _is_within(output.path, source.path):
                raise ValueError(
                    f"{output} is in the folder {source}, whose files are the table: the next run would read it, "
                    f"too. Pass a path elsewhere to {output.option}."
                )


def _is_within(path: str, folder: str) -> bool:
    """Return whether a path leads into a folder, also by symbolic links and by folders that are not there yet."""
    if not os.path.isdir(folder):
        return False
    return any(_same_file(folder, str(parent)) for parent in Path(os.path.realpath(path)).parents)


def _same_file(first: str, second: str) -> bool:
    """Return whether two paths lead to one file, also by other spellings, symbolic links and hard links."""
    try:
        if first == "-":
            return os.path.samestat(os.fstat(sys.stdin.fileno()), os.stat(second))
        return os.path.samefile(first, second)
    except (OSError, ValueError, AttributeError):  # one of them is not there yet, or standard input is no file
        return first != "-" and os.path.realpath(first) == os.path.realpath(second)


def _require_writable(path: str, new_folder: str | None) -> None:
    """Raise an error where no file of this name can be written; no file is touched."""
    if Path(path).is_dir():
        raise ValueError(f"{path!r} is a folder. Pass the name of a file in it.")
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise ValueError(f"{path!r} cannot be written (closed, or no permission). Pass another path.")
        return
    folder = Path(os.path.realpath(path)).parent
    is_new = new_folder is not None and folder == Path(os.path.realpath(new_folder))
    _require_folder(path, folder, may_be_new=is_new)


def check_folder(option: str, path: str) -> None:
    """Find out before the work that files can be written to a folder, which may not be there yet."""
    try:
        _require_folder(path, Path(os.path.realpath(path)), may_be_new=True)
    except OSError as error:
        raise ValueError(
            f"{option} {path!r} cannot be written ({error.strerror}). Pass another folder."
        ) from error


def _require_folder(path: str, folder: Path, *, may_be_new: bool) -> None:
    if may_be_new:
        folder = next(place for place in (folder, *folder.parents) if place.exists())
    if not folder.is_dir():
        raise ValueError(f"{path!r} cannot be written: {str(folder)!r} is not a folder. Make it first.")
    with tempfile.TemporaryFile(dir=folder):
        pass
