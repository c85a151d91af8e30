"""Files are complete or as they were; links, devices and pipes stay what they are."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs.runtime.outputs import is_stream, write_atomically
from knockoffs.table.files import write_frame
from knockoffs.table.parquet import write_batches


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("absolute", [True, False])
def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path: Path, absolute: bool) -> None:
    real = tmp_path / "real"
    real.mkdir()
    target = real / "table.csv"
    target.write_bytes(b"old")
    link = tmp_path / "link.csv"
    link.symlink_to(target if absolute else Path("real", "table.csv"))
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert (target.read_bytes(), names(real), names(tmp_path)) == (
        b"new",
        ["table.csv"],
        ["link.csv", "real"],
    )


def test_a_link_to_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("later")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later").read_bytes() == b"new"


def test_a_circle_of_links_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="a"):
        write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()
    assert names(tmp_path) == ["a", "b"]


def test_the_other_name_of_a_file_keeps_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "first").write_bytes(b"old")
    os.link(tmp_path / "first", tmp_path / "second")
    write_atomically(tmp_path / "second", b"new")
    assert [(tmp_path / name).read_bytes() for name in ("first", "second")] == [b"old", b"new"]


def test_a_folder_that_is_missing_is_named_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in ("nowhere", "file"):
        with pytest.raises(
            FileNotFoundError, match=f"{folder}/page.html' cannot be written: .*{folder}' is not a"
        ):
            write_atomically(tmp_path / folder / "page.html", b"new")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Pass the name of a file in it"):
        write_atomically(tmp_path, b"new")
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("length", [200, 255])
def test_the_longest_name_that_the_system_takes(tmp_path: Path, length: int) -> None:
    write_atomically(tmp_path / ("n" * length), b"new")
    assert names(tmp_path) == ["n" * length]


def test_a_named_pipe_is_written_through(tmp_path: Path) -> None:
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    content = os.urandom(300_000)  # more than a pipe holds at once
    write_atomically(pipe, content)
    reader.join(timeout=10)
    assert received == [content]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_a_device_is_written_through() -> None:
    write_atomically(os.devnull, b"lost")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_an_error_of_a_device_names_it() -> None:
    with pytest.raises(OSError, match="/dev/full"):
        write_atomically("/dev/full", b"content")


PRINTS_AROUND = """
import os, sys
from knockoffs.runtime.outputs import write_atomically
print("before", flush=False)
write_atomically(sys.argv[1], b"content\\n")
print("after")
"""


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="the system has no /dev/stdout")
def test_standard_output_in_a_file_is_continued_and_not_replaced(tmp_path: Path) -> None:
    """What the file held before an append is kept."""
    log = tmp_path / "log"
    log.write_bytes(b"old\n")
    for path in ("/dev/stdout", "/dev/fd/1"):
        with log.open("ab") as file:
            subprocess.run([sys.executable, "-c", PRINTS_AROUND, path], stdout=file, check=True)
    assert log.read_bytes() == b"old\n" + 2 * b"before\ncontent\nafter\n"


def test_what_is_a_stream(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    assert [
        is_stream(tmp_path / name) for name in ("file", "pipe", "missing", ".", "file/below")
    ] == [
        *(False, True, False, False, False),
    ]
    assert all(map(is_stream, (os.devnull, "/dev/stdout", "/dev/fd/1")))


@pytest.fixture
def small_disk() -> Iterator[None]:
    """Files cannot grow beyond 2,000 bytes, as on a disk that is almost full."""
    resource = pytest.importorskip("resource", reason="the system has no limits of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


WIDE = pd.DataFrame(np.random.default_rng(0).normal(size=(2_000, 3)), columns=list("abc"))
WRITERS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: write_frame(WIDE, path.with_suffix(".csv")),
    "Parquet": lambda path: write_frame(WIDE, path.with_suffix(".parquet")),
    "Parquet in parts": lambda path: write_batches([WIDE, WIDE], path.with_suffix(".parquet")),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_a_full_disk_names_the_file_and_leaves_nothing(
    tmp_path: Path, small_disk: None, write: Callable[[Path], object]
) -> None:
    with pytest.raises(OSError, match=r"/table\.(csv|parquet)'$") as raised:
        write(tmp_path / "table")
    assert str(raised.value.filename).startswith(str(tmp_path / "table"))
    assert names(tmp_path) == []


def test_an_error_of_the_source_is_not_one_of_the_file(tmp_path: Path) -> None:
    def source() -> Iterator[pd.DataFrame]:
        yield WIDE
        (tmp_path / "not there").read_bytes()

    with pytest.raises(FileNotFoundError, match="not there"):
        write_batches(source(), tmp_path / "table.parquet")
