"""Seeded damage to model files: flipped bits, truncations, edited headers and edited arrays.

With the checksum "kept" a file is damaged after it was written, as disks and networks damage files.
With the checksum "recomputed" the damage is hidden from it, as in a forged file, so that the checks
behind the checksum are tested.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from knockoffs.runtime.model_files import checksum

Checksum = Literal["kept", "recomputed"]
CHECKSUMS: tuple[Checksum, ...] = get_args(Checksum)
Arrays = dict[str, np.ndarray]
REPLACEMENTS = [
    *(None, True, False, 0, -1, 1, 2, 7, 14_000, 2**31, 2**63, 10**30, -(10**30)),
    *(0.5, -2.5, 1e300, math.nan, math.inf, -math.inf),
    *(
        "",
        "text",
        "auto",
        "\ud800",
        [],
        {},
        [1, 2, 3],
        [14_000, 14_000],
        [[]],
        [[1.0], [2.0]],
        {"a": 1},
        [None],
    ),
    *([10**30], ["a", "b"], [-3, -3], [0]),
]
NUMBERS = [0.0, -1.0, 1.0, 1e-300, 1e30, 1e300, -1e300, math.nan, math.inf, -math.inf]


class ModelFile(NamedTuple):
    """The parts of a model file: its metadata, the JSON header among them as an object,
    and its arrays.
    """

    metadata: dict[str, str]
    header: Any
    arrays: Arrays

    @classmethod
    def parse(cls, content: bytes) -> ModelFile:
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length])["__metadata__"]
        header = json.loads(metadata.pop("header"))
        return cls(metadata, header, load(content))

    def content(self, how: Checksum, header_text: str | None = None) -> bytes:
        metadata = self.metadata | {
            "header": json.dumps(self.header) if header_text is None else header_text
        }
        if how == "recomputed":
            metadata["checksum"] = checksum(metadata, self.arrays)
        return save(self.arrays, metadata=metadata)


def damaged_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content with one random damage to its bytes."""
    length = int.from_bytes(content[:8], "little")
    parts = [(0, 8), (8, 8 + length), (8 + length, len(content))]
    start, end = parts[rng.choice(3, p=[0.1, 0.45, 0.45])]
    place = int(rng.integers(start, end))
    damage = rng.choice(
        ["bit", "bit", "bit", "byte", "truncated", "extended", "zeros", "lost", "doubled"]
    )
    size = int(rng.integers(1, 40))
    match damage:
        case "bit":
            return _with_byte(content, place, content[place] ^ 1 << int(rng.integers(8)))
        case "byte":
            return _with_byte(content, place, int(rng.integers(256)))
        case "truncated":
            return content[:place]
        case "extended":
            return content + rng.bytes(size)
        case "zeros":
            return (content[:place] + bytes(size) + content[place + size :])[: len(content)]
        case "lost":
            return content[:place] + content[place + size :]
        case _:
            return content[:place] + content[place : place + size] + content[place:]


def _with_byte(content: bytes, place: int, byte: int) -> bytes:
    return content[:place] + bytes([byte]) + content[place + 1 :]


def damaged_header(model: ModelFile, how: Checksum, rng: np.random.Generator) -> bytes:
    """Return the file with one entry of its JSON header replaced, removed,
    repeated or changed a little.
    """
    header = json.loads(json.dumps(model.header))
    places = list(_places(header))
    # A name chosen first gives the few short entries the same weight as the many numbers of a
    # history.
    names = sorted({_name(place) for place in places})
    name = names[rng.integers(len(names))]
    among = [place for place in places if _name(place) == name]
    container, key = among[rng.integers(len(among))][-1]
    match rng.choice(
        ["replaced", "replaced", "replaced", "removed", "repeated", "nudged", "nested", "text"]
    ):
        case "removed":
            del container[key]
        case "repeated":
            value = container[key]
            container[key] = value + value if isinstance(value, (list, str)) else [value, value]
        case "nudged":
            value = container[key]
            container[key] = value + 1 if isinstance(value, (int, float)) else [value]
        case "nested":
            container[key] = "NESTED"
            deep = 100_000
            return model.content(
                how, json.dumps(header).replace('"NESTED"', "[" * deep + "]" * deep)
            )
        case "text":
            text = json.dumps(header)
            return model.content(how, text[: rng.integers(len(text))])
        case _:
            container[key] = REPLACEMENTS[rng.integers(len(REPLACEMENTS))]
    return model._replace(header=header).content(how)


def _places(node: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each entry of a JSON object, as pairs of a container and a key."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield (*above, (node, key))
        yield from _places(node[key], (*above, (node, key)))


def _name(place: tuple[Any, ...]) -> str:
    return ".".join(key if isinstance(key, str) else "*" for _, key in place)


def damaged_array(model: ModelFile, how: Checksum, rng: np.random.Generator) -> bytes:
    """Return the file with one array renamed, dropped, reshaped, of another type,
    or with another number in it.
    """
    arrays = dict(model.arrays)
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays.pop(name)
    match rng.choice(
        ["number", "number", "number", "renamed", "dropped", "form", "form", "type", "taken"]
    ):
        case "number":
            arrays[name] = _with_other_number(array, rng)
        case "renamed":
            arrays[f"{name}x" if rng.random() < 0.5 else name.rpartition(".")[2]] = array
        case "dropped":
            pass
        case "form":
            forms: list[Callable[[np.ndarray], np.ndarray]] = [
                *(lambda a: a.T, np.ravel, lambda a: a[None], lambda a: a[:-1], lambda a: a[:0]),
                *(
                    lambda a: np.concatenate([a, a]),
                    lambda a: a[..., :1],
                    lambda a: a.ravel()[:1].sum(),
                ),
            ]
            arrays[name] = forms[rng.integers(len(forms))](array)
        case "type":
            kinds = [np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, np.bool_]
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(kinds[rng.integers(len(kinds))])
        case _:  # another array of the model in its place
            others = sorted(arrays)
            arrays[name] = arrays[others[rng.integers(len(others))]]
    arrays = {key: np.ascontiguousarray(value) for key, value in arrays.items()}
    return model._replace(arrays=arrays).content(how)


def _with_other_number(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.size == 0:
        return np.zeros(1, dtype=array.dtype)
    flat = array.ravel().copy()
    place = rng.integers(len(flat))
    if array.dtype.kind == "f" and rng.random() < 0.7:
        with np.errstate(all="ignore"):
            flat[place] = NUMBERS[rng.integers(len(NUMBERS))]
    else:
        whole = flat.view(np.uint8)
        whole[rng.integers(len(whole))] ^= (
            1 << int(rng.integers(8)) if array.dtype.kind != "b" else 1
        )
    return flat.reshape(array.shape)


def mutations(content: bytes, how: Checksum, count: int, seed: int) -> Iterator[bytes]:
    """Yield `count` damaged versions of a model file, a third each of its bytes,
    its header and its arrays.
    """
    rng = np.random.default_rng([seed, CHECKSUMS.index(how)])
    model = ModelFile.parse(content)
    for number in range(count):
        match number % 3:
            case 0:
                damaged = damaged_bytes(content, rng)
                yield damaged if how == "kept" else _with_right_checksum(damaged)
            case 1:
                yield damaged_header(model, how, rng)
            case _:
                yield damaged_array(model, how, rng)


def _with_right_checksum(content: bytes) -> bytes:
    """Return a file whose checksum fits its damage, or as it is where too little is left of it."""
    try:
        return ModelFile.parse(content).content("recomputed")
    except (ValueError, KeyError, TypeError, OverflowError, SafetensorError):
        return content
