"""Hostile command lines: each ends in one line or in a result; no input is changed,
nothing is half-written.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from knockoffs import GaussianKnockoffs

from .conftest import Invoke, contents

SELECT = (
    "select",
    "d.csv",
    "--target",
    "y",
    "--generator",
    "gaussian",
    "--statistic",
    "lasso",
    "--no-certify",
)
SAMPLE = ("sample", "d.csv", "--drop", "y", "--generator", "gaussian")
CHECK = ("check", "d.csv", "--drop", "y")
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
Attack = Callable[..., str]


def small_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 5)), columns=list("abcde"))
    return X.assign(y=X["a"] - X["b"] + rng.normal(size=60))


@pytest.fixture(scope="session")
def model_content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "model"
    GaussianKnockoffs(random_state=0).fit(small_table().drop(columns="y")).save(path)
    return path.read_bytes()


@pytest.fixture
def attack(invoke: Invoke, tmp_path: Path, model_content: bytes) -> Attack:
    """Runs a command among files that must survive it, and returns what it says;
    `fails` is the exit code.
    """
    table = small_table()
    table.to_csv("d.csv", index=False)
    table.to_parquet("d.parquet")
    table.drop(columns="y").iloc[::-1].to_csv("k.csv", index=False)
    Path("model").write_bytes(model_content)

    def run(
        *arguments: object,
        fails: int | None = 1,
        may_write: tuple[str, ...] = (),
        stdin: bytes = b"",
    ) -> str:
        before = contents(tmp_path)
        result = invoke(*arguments, stdin=stdin)
        said = result.stderr if result.exit_code else result.output
        assert result.exit_code in ((0, 1, 2) if fails is None else (fails,)), result.output
        assert "Traceback" not in result.output
        assert not STEERING.search(result.stderr), result.stderr
        if result.exit_code == 1:
            assert [line for line in said.splitlines() if line.startswith("Error: ")][1:] == [], (
                said
            )
        after = contents(tmp_path)
        changed = {str(path.relative_to(tmp_path)) for path in after.keys() | before.keys()}
        changed = {
            name for name in changed if after.get(tmp_path / name) != before.get(tmp_path / name)
        }
        if fails is None:
            assert not changed & set(before)
        else:
            assert changed == set(may_write)
        assert not [*tmp_path.rglob("*.part")]
        return " ".join(said.split())

    return run


# paths


def links() -> None:
    Path("sub").mkdir()
    Path("link.csv").symlink_to("d.csv")
    Path("chain.csv").symlink_to("link.csv")
    os.link("d.csv", "hard.csv")
    Path("selection.csv").write_bytes(Path("d.csv").read_bytes())


OVERWRITES = {
    "the same name": (*SAMPLE, "--out", "d.csv"),
    "another spelling": (*SAMPLE, "--out", "sub/../d.csv"),
    "an absolute path": (*SAMPLE, "--out", "{here}/d.csv"),
    "a link to the input": (*SAMPLE, "--out", "link.csv"),
    "links in a chain": (*SAMPLE, "--out", "chain.csv"),
    "the file that the input links to": ("sample", "link.csv", *SAMPLE[2:], "--out", "d.csv"),
    "a hard link": (*SAMPLE, "--out", "hard.csv"),
    "a report": (*SELECT, "--report", "d.csv"),
    "a saved model": (*SELECT, "--save-model", "d.csv"),
    "a result in the folder of the input": ("select", "selection.csv", *SELECT[2:], "--out", "."),
    "the model that is read": (
        *SAMPLE,
        "--generator",
        "model",
        "--out",
        "o.csv",
        "--save-model",
        "model",
    ),
    "the model that is read, by select": (*SELECT, "--generator", "model", "--report", "model"),
    "a certificate over the table": (*CHECK, "--model", "model", "--out", "d.csv"),
    "a certificate over the model": (*CHECK, "--model", "model", "--out", "model"),
    "a certificate over the knockoffs": (*CHECK, "--knockoffs", "k.csv", "--out", "./k.csv"),
}


@pytest.mark.parametrize("arguments", OVERWRITES.values(), ids=OVERWRITES.keys())
def test_an_input_is_never_overwritten(attack: Attack, arguments: tuple[str, ...]) -> None:
    links()
    said = attack(*(a.replace("{here}", os.getcwd()) for a in arguments))
    assert re.search(
        r"(--\S+) '.*' is the same file as (FILE|--\S+) '.*'.*Pass another path to \1\.", said
    ), said


INSIDE = {
    "knockoffs": ("sample", "folder", *SAMPLE[2:], "--out", "folder/k.parquet"),
    "below it": ("sample", "folder", *SAMPLE[2:], "--out", "folder/sub/k.parquet"),
    "by a link": ("sample", "folder", *SAMPLE[2:], "--out", "link/k.parquet"),
    "from a link": ("sample", "link", *SAMPLE[2:], "--out", "folder/k.parquet"),
    "a model": ("sample", "folder", *SAMPLE[2:], "--out", "k.parquet", "--save-model", "folder/m"),
    "a new folder of results": ("select", "folder", *SELECT[2:], "--out", "folder/results"),
    "a report": ("select", "folder", *SELECT[2:], "--report", "folder/r.html"),
    "a certificate": ("check", "folder", *CHECK[2:], "--model", "model", "--out", "folder/c.json"),
    "beside knockoffs in a folder": (*CHECK, "--knockoffs", "folder", "--out", "folder/c.json"),
}


@pytest.mark.parametrize("arguments", INSIDE.values(), ids=INSIDE.keys())
def test_no_result_is_written_into_a_folder_that_is_a_table(
    attack: Attack, arguments: tuple[str, ...]
) -> None:
    """The next run would take it for rows of the table."""
    Path("folder", "sub").mkdir(parents=True)
    Path("link").symlink_to("folder")
    small_table().to_parquet("folder/1.parquet")
    said = attack(*arguments)
    assert re.search(
        r"(--\S+) '.*' is in the folder (FILE|--\S+) '(folder|link)'.*"
        r"Pass a path elsewhere to \1\.",
        said,
    )


CLASHES = {
    "report and model": (*SELECT, "--report", "r", "--save-model", "r"),
    "report and table": (*SELECT, "--out", "o", "--report", "o/selection.csv"),
    "model and JSON": (*SELECT, "--out", "o", "--save-model", "o/../o/selection.json"),
    "report and certificate": (*SELECT, "--out", "o", "--report", "o/certificate.json"),
    "knockoffs and model": (*SAMPLE, "--out", "o.csv", "--save-model", "sub/../o.csv"),
    "by a link that leads nowhere yet": (*SAMPLE, "--out", "o.csv", "--save-model", "later"),
}


@pytest.mark.parametrize("arguments", CLASHES.values(), ids=CLASHES.keys())
def test_two_results_never_share_a_file(attack: Attack, arguments: tuple[str, ...]) -> None:
    Path("sub").mkdir()
    Path("later").symlink_to("o.csv")
    said = attack(*arguments)
    assert re.search(
        r"--\S+ '.*' and (--\S+) '.*' are the same file.*Pass another path to \1\.", said
    ), said


def test_a_file_that_looks_like_a_probe_is_left_alone(attack: Attack) -> None:
    Path(".o.csv.probe").write_text("mine")
    attack(*SAMPLE, "--out", "o.csv", fails=0, may_write=("o.csv",))
    assert Path(".o.csv.probe").read_text() == "mine"


def test_links_and_devices_as_outputs(attack: Attack) -> None:
    Path("later").symlink_to("o.csv")
    attack(*SAMPLE, "--out", "later", fails=0, may_write=("o.csv", "later"))
    assert Path("later").is_symlink()
    assert attack(*SAMPLE, "--out", os.devnull, "--save-model", os.devnull, fails=0) == ""
    attack(*SELECT, "--report", os.devnull, "--save-model", os.devnull, "--quiet", fails=0)
    assert not Path(os.devnull).is_file()
    Path("circle").symlink_to("circle")
    assert "'circle' cannot be written (Too many levels" in attack(*SAMPLE, "--out", "circle")


def test_an_old_certificate_does_not_stay_beside_a_new_selection(attack: Attack) -> None:
    Path("o").mkdir()
    Path("o/certificate.json").write_text("{}")
    files = {"o/selection.csv", "o/selection.json", "o/certificate.json"}
    said = attack(*SELECT, "--out", "o", fails=0, may_write=tuple(files))
    assert "Selection: o/selection.csv and selection.json" in said
    assert "certificate.json" not in said
    assert sorted(os.listdir("o")) == ["selection.csv", "selection.json"]


# files that are no tables


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def zstandard(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def parquet(frame: pd.DataFrame, **metadata: Any) -> bytes:
    """Parquet whose part of the metadata that is for pandas is replaced."""
    table, sink = pa.Table.from_pandas(frame), pa.BufferOutputStream()
    described = json.loads(table.schema.metadata[b"pandas"]) | metadata
    table = table.replace_schema_metadata({b"pandas": json.dumps(described).encode()})
    pq.write_table(table, sink, write_page_checksum=True)
    return sink.getvalue().to_pybytes()


def flipped(content: bytes, *places: int) -> bytes:
    changed = bytearray(content)
    for place in places:
        changed[place] ^= 0xFF
    return bytes(changed)


TEXT = small_table().to_csv(index=False).encode()
WIDE = ",".join([*(f"c{j}" for j in range(100_000)), "c7"]).encode()
BAD_FILES: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "blanks": lambda: b" \n\t \n",
    "zero bytes": lambda: bytes(1000),
    "zero bytes in text": lambda: TEXT.replace(b",", b"\x00", 9),
    "half a gzip": lambda: gzip.compress(TEXT)[:-200],
    "a gzip of nothing": lambda: gzip.compress(b""),
    "a damaged gzip": lambda: flipped(gzip.compress(TEXT), 40, 90, 300),
    "a gzip with something behind it": lambda: gzip.compress(TEXT) + b"more",
    "a head of gzip": lambda: b"\x1f\x8b",
    "a damaged bzip2": lambda: flipped(bz2.compress(TEXT), 30, 60),
    "a damaged xz": lambda: flipped(lzma.compress(TEXT), 30, 60),
    "a damaged zstd": lambda: flipped(zstandard(TEXT), 30, 60),
    "half a zstd": lambda: zstandard(TEXT)[:100],
    "an empty zip": lambda: zipped({}) + b"PK\x03\x04",
    "a zip of two": lambda: zipped({"a": TEXT, "b": TEXT}),
    "half a zip": lambda: zipped({"a": TEXT})[:-60],
    "a damaged zip": lambda: flipped(zipped({"a": TEXT}), 50, 100),
    "a zip with a password": lambda: zipped({"a": TEXT}).replace(
        b"\x14\x00\x00\x00", b"\x14\x00\x01\x00"
    ),
    "a zip of an unknown method": lambda: zipped({"a": TEXT}).replace(b"\x08\x00", b"\x63\x00"),
    "zeros in a gzip": lambda: gzip.compress(bytes(1_000)),
    "half a Parquet": lambda: parquet(small_table())[:-500],
    "a head of Parquet": lambda: b"PAR1",
    "a damaged end of Parquet": lambda: flipped(parquet(small_table()), -40, -60, -80),
    "a damaged page of Parquet": lambda: flipped(parquet(small_table()), 30, 31, 60),
    "metadata of no columns": lambda: parquet(small_table(), columns=None),
    "metadata of wrong columns": lambda: parquet(small_table(), columns=[{"name": 7}]),
    "metadata of another index": lambda: parquet(small_table(), index_columns=["none"]),
    "metadata of a wrong index": lambda: parquet(
        small_table(), index_columns=[{"kind": "range", "start": "a"}]
    ),
    "metadata of wrong names": lambda: parquet(
        small_table(), column_indexes=[{"pandas_type": "?"}]
    ),
    "lists in Parquet": lambda: parquet(pd.DataFrame({"a": [[1, 2]] * 60, "y": range(60)})),
    "bytes in Parquet": lambda: parquet(pd.DataFrame({"a": [b"\x1b[2J"] * 60, "y": range(60)})),
    "Parquet without columns": lambda: parquet(pd.DataFrame(index=range(5))),
    "Latin-1": lambda: "\xe9t\xe9,y\n1,2\n".encode("latin-1"),
    "UTF-16, cut off": lambda: TEXT.decode().encode("utf-16")[:-1],
    "UTF-32": lambda: TEXT.decode().encode("utf-32"),
    "a single column": lambda: b"a\n1\n2\n",
    "a name twice among 100,000": lambda: WIDE + b"\n" + b",".join([b"1"] * 100_001),
    "an open quote": lambda: b'a,"y\n1,2\n3,4\n',
    "more cells than names": lambda: b"a,y\n1,2,3,4\n",
    "a very long cell": lambda: b"a,y\n1," + b"2" * 500_000 + b"\n",
    "JSON": lambda: json.dumps(small_table().to_dict("list")).encode(),
    "HTML": lambda: small_table().to_html().encode(),
    "pickle": lambda: pickle.dumps({"a": [1]}),
    "escape sequences": lambda: b"a\x1b[2J,y\x07\rb,\xe2\x80\xaec\n" + b"\x1b]0;t\x07,1,2\n" * 20,
}


@pytest.mark.parametrize("make", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_is_no_table_is_refused(attack: Attack, make: Callable[[], bytes]) -> None:
    Path("bad").write_bytes(make())
    for arguments in (SELECT, (*SAMPLE, "--out", "o.csv"), (*CHECK, "--model", "model")):
        attack(arguments[0], "bad", *arguments[2:])
    attack(*CHECK, "--knockoffs", "bad")


@pytest.mark.parametrize(
    "file", ["none", ".", "/dev/zero", "/dev/null", "circle", "model", "d.csv/d.csv", ""]
)
def test_a_path_without_a_table_is_refused(attack: Attack, file: str) -> None:
    Path("circle").symlink_to("circle")
    Path("below").mkdir()
    # so that "." holds tables that are not alike
    pd.DataFrame({"w": [1.0]}).to_parquet("below/other.parquet")
    attack("select", file, *SELECT[2:])
    attack(*CHECK, "--knockoffs", file)
    if file != "model":
        attack(*CHECK, "--model", file)
        attack(*SAMPLE, "--generator", file, "--out", "o.csv")


@pytest.mark.parametrize("place", [0, 8, 60, 300, -9])
@pytest.mark.parametrize("change", ["flip", "cut", "repeat"])
def test_a_damaged_model_is_no_traceback(attack: Attack, change: str, place: int) -> None:
    whole = Path("model").read_bytes()
    changed = {
        "flip": flipped(whole, place),
        "cut": whole[:place],
        "repeat": whole[:place] + whole,
    }[change]
    Path("bad").write_bytes(changed)
    attack(*SAMPLE, "--generator", "bad", "--out", os.devnull, fails=None)
    attack(*CHECK, "--model", "bad", fails=None)


# names


def test_names_do_not_steer_the_terminal(attack: Attack) -> None:
    """Neither in tables nor in errors, warnings, or advice."""
    frame = small_table().rename(columns={"a": "a\x1b[2J\x07", "b": "\u202eb", "c": "c\r\x9b1A"})
    frame.to_parquet("odd.parquet")
    frame.to_csv("odd.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    said = attack("select", "odd.csv", *SELECT[2:], "--fdr", "0.5", fails=0)
    assert r"a\x1b[2J\x07" in said
    assert r"\u202eb" in said
    assert not STEERING.search(said)
    attack("select", "odd.csv", "--target", "nothing\x1b[2J")
    attack(
        "sample",
        "odd.parquet",
        *SAMPLE[2:],
        "--out",
        "odd-k.csv",
        fails=0,
        may_write=("odd-k.csv",),
    )
    assert pd.read_csv("odd-k.csv").columns.tolist() == frame.columns[:-1].tolist()
    said = attack("check", "odd.parquet", "--drop", "y", "--knockoffs", "odd-k.csv", fails=0)
    assert not STEERING.search(said)
    frame.assign(**{"\x1b[31mid": np.arange(60)[::-1] + 1000}).to_parquet("odd.parquet")
    assert r"\x1b[31mid" in attack("select", "odd.parquet", *SELECT[2:], "--quiet", fails=0)


def test_formulas_are_escaped_in_results_and_kept_in_knockoffs(attack: Attack) -> None:
    """Results are opened in spreadsheets; knockoffs must have the names of the table to be compared
    with it.
    """
    names = ["=1+1", "+a", "-b", "@c", "\td", "y"]
    small_table().set_axis(names, axis=1).to_csv("odd.csv", index=False)
    files = ("o/selection.csv", "o/selection.json")
    attack("select", "odd.csv", *SELECT[2:], "--out", "o", fails=0, may_write=files)
    assert set(pd.read_csv("o/selection.csv")["feature"]) == {f"'{name}" for name in names[:-1]}
    exact = json.loads(Path("o/selection.json").read_text(encoding="utf-8"))
    assert [feature["feature"] for feature in exact["features"]] == names[:-1]
    attack(
        "sample", "odd.csv", *SAMPLE[2:], "--out", "odd-k.csv", fails=0, may_write=("odd-k.csv",)
    )
    assert pd.read_csv("odd-k.csv").columns.tolist() == names[:-1]
    attack("check", "odd.csv", "--drop", "y", "--knockoffs", "odd-k.csv", fails=0)


@pytest.mark.parametrize(
    "name", ["\udcff", "a\x00b", "a" * 100_000, "'", '"', "\\", "[/red]", "{0}", "%s", "$(id)"]
)
def test_odd_names_in_options(attack: Attack, name: str) -> None:
    attack(*SELECT[:3], name, *SELECT[4:])
    attack(*SELECT, "--groups", name)
    attack(*SELECT, "--drop", name)
    attack(*SAMPLE, "--generator", name, "--out", "o.csv")


# options


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            (*SELECT, "--draws", 10**22),
            r"--draws=10{22} is not valid: pass a whole number from 1 to 10000",
        ),
        (
            (*SELECT, "--n-jobs", 10**22),
            r"--n-jobs=10{22} is not valid: pass a whole number from 1 to 1024",
        ),
        ((*CHECK, "--model", "model", "--n-jobs", 10**22), r"--n-jobs=10{22} is not valid"),
        (("demo", "--draws", 10**22), r"--draws=10{22} is not valid"),
        ((*SELECT, "--fdr", "1e-400"), r"fdr=0\.0 is not valid"),
        ((*SELECT, "--fdr", "inf"), r"fdr=inf is not valid"),
        ((*SELECT, "--groups", "y"), r"--groups 'y' is given to --target as well"),
        ((*SELECT, "--groups", "a", "--drop", "a"), r"--drop 'a' is given to --groups as well"),
        ((*SELECT, "--drop", "y"), r"--drop 'y' is given to --target as well"),
        ((*SELECT, "--delimiter", ""), r"delimiter"),
        ((*SELECT, "--delimiter", "\n"), r"."),
        ((*SELECT, "--delimiter", '"'), r"."),
        ((*SELECT, "--delimiter", "\x00"), r"."),
        ((*SELECT, "--report", "r\x00.html"), r"null"),
        ((*SELECT, "--report", "r" * 5000), r"File name too long"),
        ((*SELECT, "--out", "d.csv/o"), r"d\.csv.* is not a folder"),
        ((*SELECT, "--out", "/dev/null/o"), r"."),
    ],
    ids=lambda value: " ".join(map(str, value))[-60:] if isinstance(value, tuple) else "",
)
def test_settings_out_of_range(attack: Attack, arguments: tuple[Any, ...], said: str) -> None:
    assert re.search(said, attack(*arguments)), said


def test_a_large_seed_is_a_seed(attack: Attack) -> None:
    attack(*SELECT, "--seed", 10**30, "--quiet", fails=0)
    attack(*SAMPLE, "--seed", 10**30, "--out", os.devnull, fails=0)


# errors that nobody expected


@pytest.mark.parametrize(
    "error",
    [
        AttributeError("x"),
        IndexError(),
        KeyError("x\x1b[2J"),
        RuntimeError("a\nb"),
        RecursionError("deep"),
    ],
)
def test_an_unexpected_error_is_one_line_that_asks_for_a_report(
    attack: Attack, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **settings: object) -> None:
        raise error

    monkeypatch.setattr(GaussianKnockoffs, "fit", fail)
    said = attack(*SAMPLE, "--out", "o.csv", fails=70)
    assert said.startswith(f"Error: the program failed where it should not: {type(error).__name__}")
    assert "test_attacks.py, line" in said
    assert "Please report this line" in said
    assert "--debug" in said


def test_debug_shows_the_traceback(
    invoke: Invoke, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **settings: object) -> None:
        raise IndexError("out of range")

    monkeypatch.setattr(GaussianKnockoffs, "fit", fail)
    result = invoke("--debug", *SAMPLE, "--out", "o.csv")
    assert result.exit_code == 70
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert "IndexError: out of range" in result.stderr
    assert (
        "Traceback"
        not in invoke("--debug", *SAMPLE, "--out", os.devnull, "--generator", "hmm?").stdout
    )


@pytest.mark.parametrize(
    "allocate", [lambda: np.empty(2**59), lambda: torch.empty(2**58)], ids=["numpy", "torch"]
)
def test_too_little_memory_is_said(
    attack: Attack, monkeypatch: pytest.MonkeyPatch, allocate: Callable[[], object]
) -> None:
    monkeypatch.setattr(GaussianKnockoffs, "fit", lambda *_, **settings: allocate())
    assert re.search(
        r"not enough memory \(.*allocate .*\)\. Pass fewer rows", attack(*SAMPLE, "--out", "o.csv")
    )
