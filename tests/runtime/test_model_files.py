"""Model files: what was written comes back, and a file is either whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from knockoffs.runtime.model_files import (
    FORMAT,
    VERSION,
    ModelFileError,
    checksum,
    read_model,
    write_atomically,
    write_model,
)

HEADER = {
    "params": {"hidden": [8, 8], "name": "<b> é x̃", "entropy": 0.1, "seed": None},
    "loss": [1.5, -2.0],
}
ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4).T,  # not contiguous
    "flags": np.array([True, False, True]),
    "counts": np.array([2**40, -1]),
    "exact": np.array([0.1, 1e-300, 1e300]),
}


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    write_model(path, "Kind", HEADER, ARRAYS)
    return path


def test_what_was_written_comes_back_to_the_bit(model_file: Path) -> None:
    for path in (model_file, str(model_file)):
        header, arrays = read_model(path, "Kind")
        assert header == HEADER
        assert arrays.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(arrays[name], array)


def test_a_flipped_bit_of_the_arrays_or_the_header_is_found(model_file: Path) -> None:
    content = model_file.read_bytes()
    for place in (len(content) - 1, content.index(b"hidden") + 2):
        changed = bytearray(content)
        changed[place] ^= 1
        model_file.write_bytes(changed)
        with pytest.raises(
            ModelFileError, match=r"model\.safetensors' is damaged: .*checksum\. Copy it again"
        ):
            read_model(model_file, "Kind")


def test_the_checksum_covers_names_types_shapes_and_all_metadata() -> None:
    metadata = {"kind": "Kind", "header": "{}"}
    array = np.arange(6.0)
    sums = [
        checksum(metadata, {"a": array}),
        checksum(metadata, {"b": array}),
        checksum(metadata, {"a": array.reshape(2, 3)}),
        checksum(metadata, {"a": array.view(np.int64)}),
        checksum(metadata, {"a": array, "b": array[:0]}),
        checksum(metadata | {"kind": "Other"}, {"a": array}),
        checksum(metadata | {"more": ""}, {"a": array}),
    ]
    assert len(set(sums)) == len(sums)
    assert checksum(metadata | {"checksum": "any"}, {"a": array}) == sums[0]


def test_a_file_whose_checksum_was_removed_is_refused(tmp_path: Path) -> None:
    metadata = {"format": FORMAT, "version": str(VERSION), "kind": "Kind", "header": "{}"}
    save_file({"w": np.ones(3)}, tmp_path / "model", metadata=metadata)
    with pytest.raises(ModelFileError, match="checksum"):
        read_model(tmp_path / "model", "Kind")


def test_the_file_has_the_rights_of_any_new_file(model_file: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    assert model_file.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("keep", [0, 4, 8, 100, 0.5, -1])
def test_a_truncated_file_is_refused(model_file: Path, keep: float) -> None:
    content = model_file.read_bytes()
    model_file.write_bytes(content[: int(keep * len(content)) if keep == 0.5 else int(keep)])
    with pytest.raises(
        ModelFileError, match=r"model\.safetensors.*not a complete knockoffs model file.*save the"
    ):
        read_model(model_file, "Kind")


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a model, but long enough to look like the head of one")
    with pytest.raises(ModelFileError, match=r"notes\.txt.*not a complete knockoffs model file"):
        read_model(path, "Kind")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_a_safetensors_file_of_another_program_is_refused(
    tmp_path: Path, metadata: dict | None
) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"w": np.ones(3)}, path, metadata=metadata)
    with pytest.raises(
        ModelFileError, match=r"other\.safetensors.*of another program, not of knockoffs"
    ):
        read_model(path, "Kind")


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_another_version_of_the_format_is_refused(version: int, tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    metadata = {"format": FORMAT, "version": str(version), "kind": "Kind", "header": "{}"}
    save_file({"w": np.ones(3)}, path, metadata=metadata)
    with pytest.raises(
        ModelFileError, match=rf"version {version}, .* reads version {VERSION} alone\. Install"
    ):
        read_model(path, "Kind")


@pytest.mark.parametrize(
    "change",
    [{"version": None}, {"version": "one"}, {"kind": None}, {"header": None}, {"header": "{"}],
    ids=str,
)
def test_a_damaged_head_is_refused(tmp_path: Path, change: dict[str, str | None]) -> None:
    path = tmp_path / "damaged.safetensors"
    whole = {"format": FORMAT, "version": str(VERSION), "kind": "Kind", "header": "{}"}
    save_file(
        {"w": np.ones(3)},
        path,
        metadata={k: v for k, v in (whole | change).items() if v is not None},
    )
    with pytest.raises(ModelFileError, match=r"damaged\.safetensors"):
        read_model(path, "Kind")


def test_another_kind_of_model_says_how_to_load_it(model_file: Path) -> None:
    with pytest.raises(ModelFileError, match=r"holds a Kind model, not Other: use Kind\.load"):
        read_model(model_file, "Other")


@pytest.mark.parametrize("name", ["missing.safetensors", "."])
def test_a_missing_file_or_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        ModelFileError, match=r"is not a file\. Pass the path that \.save\(\) wrote"
    ):
        read_model(tmp_path / name, "Kind")


def test_writing_over_a_file_replaces_it_whole(model_file: Path) -> None:
    write_atomically(model_file, b"short")
    assert model_file.read_bytes() == b"short"
    assert os.listdir(model_file.parent) == [model_file.name]


@pytest.mark.parametrize("broken", ["replace", "fsync", "open"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    model_file: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    before = model_file.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="disk full"):
        write_model(model_file, "Kind", {}, {"w": np.zeros(1000)})
    assert model_file.read_bytes() == before
    assert os.listdir(model_file.parent) == [model_file.name]


def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "model", b"content")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_atomically(tmp_path / "nowhere" / "model", b"content")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", b"content")
    assert os.listdir(tmp_path) == ["folder"]
