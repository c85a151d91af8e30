"""Model files: tensors in safetensors with a JSON header; no pickle, nothing half-written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from knockoffs.outputs import write_atomically

FORMAT = "knockoffs"
VERSION = 1


class ModelFileError(ValueError):
    """A model file that cannot be used: truncated, foreign, or of a newer version."""


def write_model(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file; a reader sees the old file or the new, never a part."""
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "kind": kind,
        "header": json.dumps(header, default=_plain),
    }
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_atomically(path, save(contiguous, metadata=metadata))


def model_kind(path: str | os.PathLike[str]) -> str:
    """The kind of the model in a file that `write_model` wrote."""
    return _open_model(path, None)[0]


def read_model(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a model of this kind."""
    _, header, arrays = _open_model(path, kind)
    return header, arrays


def _open_model(
    path: str | os.PathLike[str], kind: str | None
) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Kind, header and arrays; of any kind where `kind` is None."""
    if not Path(path).is_file():
        raise ModelFileError(f"{os.fspath(path)!r} is not a file. Pass the path that .save() wrote.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            _require_ours(path, metadata, kind)
            header = json.loads(metadata["header"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no iterator)
            return metadata["kind"], header, arrays
    except SafetensorError as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is not a complete knockoffs model file ({error}). "
            "It may be cut off or of another program; save the model again."
        ) from error
    except (KeyError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{os.fspath(path)!r} has a damaged header ({error!r}).") from error


def _require_ours(path: str | os.PathLike[str], metadata: Mapping[str, str], kind: str | None) -> None:
    if metadata.get("format") != FORMAT:
        raise ModelFileError(f"{os.fspath(path)!r} is a safetensors file of another program, not of knockoffs.")
    if int(metadata["version"]) > VERSION:
        raise ModelFileError(
            f"{os.fspath(path)!r} has format version {metadata['version']}, this knockoffs reads up to "
            f"{VERSION}. Upgrade knockoffs."
        )
    if kind is not None and metadata["kind"] != kind:
        raise ModelFileError(
            f"{os.fspath(path)!r} holds a {metadata['kind']} model, not {kind}: use {metadata['kind']}.load."
        )


def _plain(value: Any) -> Any:
    """Numbers of numpy as numbers of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a model file.")
