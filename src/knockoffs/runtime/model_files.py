"""Model files: tensors in safetensors with a JSON header and a checksum; no pickle,
nothing half-written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from knockoffs.runtime.outputs import write_atomically

FORMAT = "knockoffs"
VERSION = 3


class ModelFileError(ValueError):
    """A model file that cannot be used: truncated, damaged, of another program,
    or of another version.
    """


def write_model(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write a model file; a reader sees the old file or the new, never a part."""
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "kind": kind,
        "header": json.dumps(header, default=_plain),
    }
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    metadata["checksum"] = checksum(metadata, contiguous)
    write_atomically(path, save(contiguous, metadata=metadata))


def checksum(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of all metadata but the checksum itself, and of all arrays, names,
    types and shapes.
    """
    names = sorted(arrays)
    described = {
        "metadata": {key: value for key, value in metadata.items() if key != "checksum"},
        "arrays": [[name, arrays[name].dtype.name, arrays[name].shape] for name in names],
    }
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in names:
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def model_kind(path: str | os.PathLike[str]) -> str:
    """The kind of the model in a file that `write_model` wrote."""
    return _open_model(path, None)[0]


def read_model(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a model of this kind."""
    return _open_model(path, kind)[1:]


def take_array(
    arrays: dict[str, NDArray[Any]],
    name: str,
    shape: tuple[int | None, ...],
    kinds: str = "f",
    *,
    finite: bool = True,
) -> NDArray[Any]:
    """Remove an array from `arrays` and return it, if it has this shape and one of these kinds of
    numpy types.

    None in `shape` allows any size above 0. Floating-point numbers must be finite unless `finite`
    is False.
    """
    if name not in arrays:
        raise ValueError(f"the array {name!r} is missing")
    array = arrays.pop(name)
    sizes = zip(array.shape, shape, strict=False)
    fits = array.ndim == len(shape) and all(
        own > 0 if size is None else own == size for own, size in sizes
    )
    if not fits or array.dtype.kind not in kinds:
        raise ValueError(
            f"the array {name!r} has type {array.dtype} and shape {array.shape}, not the shape "
            f"{shape} and "
            f"a type of the kinds {kinds!r}"
        )
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"the array {name!r} has entries that are not finite")
    return array


@contextmanager
def refuse_damaged(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn every error that the content of a model file leads to into a ModelFileError.

    Every kind of error, because a damaged file can be wrong in more ways than can be listed.
    """
    try:
        # Numbers that overflow are as wrong as a missing array, and numpy would only warn of them.
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except (ModelFileError, OSError):
        raise
    except SafetensorError as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is not a complete knockoffs model file ({error}). "
            "It may be cut off or of another program; save the model again."
        ) from error
    except Exception as error:
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise ModelFileError(
            f"{os.fspath(path)!r} does not hold a usable model ({reason}). It may be damaged: "
            f"copy it "
            "again from where it was saved, or save the model again."
        ) from error


def _open_model(
    path: str | os.PathLike[str], kind: str | None
) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Kind, header and arrays; of any kind where `kind` is None."""
    file_name = os.fspath(path)
    if not Path(path).is_file():
        raise ModelFileError(f"{file_name!r} is not a file. Pass the path that .save() wrote.")
    with refuse_damaged(path), safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
        version, found = metadata.get("version"), metadata.get("kind", "")
        if metadata.get("format") != FORMAT:
            raise ModelFileError(
                f"{file_name!r} is a safetensors file of another program, not of knockoffs."
            )
        if version != str(VERSION):
            raise ModelFileError(
                f"{file_name!r} has format version {version}, and this knockoffs reads version "
                f"{VERSION} alone. "
                "Install the knockoffs that wrote the file, or fit and save the model again."
            )
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no iterator)
        if metadata.get("checksum") != checksum(metadata, arrays):
            raise ModelFileError(
                f"{file_name!r} is damaged: its content does not agree with its checksum. Copy it "
                f"again from "
                "where it was saved, or save the model again."
            )
        if kind not in (None, found):
            raise ModelFileError(
                f"{file_name!r} holds a {found} model, not {kind}: use {found}.load."
            )
        return found, json.loads(metadata["header"]), arrays


def _plain(value: Any) -> Any:
    """Numbers of numpy as numbers of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"{value!r} cannot be written to a model file, which holds text, numbers, booleans and "
        f"arrays. If it is "
        "the name of a column, rename the column to text; if it is a category, convert the column "
        "by .astype(str)."
    )
