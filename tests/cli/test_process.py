"""The command line as a process: closed and broken streams, pipes, and signals at any moment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import FEATURES, Invoke, contents, start

SAMPLE = ("sample", "table.csv", "--drop", "y", "--generator", "gaussian")
TIMEOUT = 60

FORKED = """
# A folder per scenario, each in a child of one process that has paid for the imports;
# the exit codes are printed.
import os, signal, sys
from pathlib import Path
from knockoffs import __main__
import knockoffs.cli

# nohup ignores the first, and shells ignore the other in the background
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

def signalled(step, number):
    real = getattr(os, step)
    def interrupted(*arguments, **keywords):
        os.kill(os.getpid(), number)
        return real(*arguments, **keywords)
    setattr(os, step, interrupted)

def without_reader(*descriptors):
    reader, writer = os.pipe()
    os.close(reader)
    for descriptor in descriptors:
        os.dup2(writer, descriptor)

def without_output():
    os.close(1)
    sys.stdout = None

def code_of(run):
    # as Python ends, without the seconds that it takes to tidy up
    code = 0
    try:
        run()
    except SystemExit as end:
        code = end.code or 0
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        code = 120
    return code

table = str(Path(sys.argv[1]).resolve())
sample = ("sample", table, "--drop", "y", "--generator", "gaussian", "--out")
select = ("select", table, "--target", "y", "--generator", "gaussian", "--statistic", "lasso")
select = (*select, "--no-certify")
scenarios = {
    f"SIGTERM at {step}": (lambda step=step: signalled(step, signal.SIGTERM), (*sample, "k.csv"))
    for step in ("fdopen", "fsync", "replace")
}
scenarios |= {
    "SIGHUP": (lambda: signalled("fsync", signal.SIGHUP), (*sample, "k.csv")),
    "SIGINT": (lambda: signalled("fsync", signal.SIGINT), (*sample, "k.csv")),
    "SIGTERM in a report": (
        lambda: signalled("fsync", signal.SIGTERM), (*select, "--report", "r.html")
    ),
    "SIGTERM while ignored": (
        lambda: (signal.signal(signal.SIGTERM, signal.SIG_IGN), signalled("fsync", signal.SIGTERM)),
        (*sample, "k.csv"),
    ),
    "closed output": (without_output, (*sample, "-")),
    "closed output of JSON": (without_output, (*select, "--json")),
    "input by standard input": (
        lambda: os.dup2(os.open(table, os.O_RDONLY), 0), (sample[0], "-", *sample[2:], table)
    ),
    "no reader of a table": (lambda: without_reader(1), (*sample, "-")),
    "no reader of a device": (lambda: without_reader(1), (*sample, "/dev/stdout")),
    "no reader of JSON": (lambda: without_reader(1), (*select, "--json", "--out", "out")),
    "no reader of a selection": (lambda: without_reader(1), (*select, "--out", "out")),
    "no reader of an error": (lambda: without_reader(2), (*sample, "k.nothing")),
    "no reader of anything": (lambda: without_reader(1, 2), (*select, "--fdr", "0.01")),
}
knockoffs.cli.main([*select, "--quiet"], standalone_mode=False)  # imports what is imported late
for name, (prepare, arguments) in scenarios.items():
    folder = Path(name)
    folder.mkdir()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT), 2)
        prepare()
        sys.argv = ["knockoffs", *arguments]
        os._exit(code_of(__main__.run))
    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sep=": ", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_signals_and_readers_that_go_away_leave_nothing_behind(tmp_path: Path, file: Path) -> None:
    before = file.read_bytes()
    command = [sys.executable, "-c", FORKED, str(file)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 0, done.stderr
    codes = {
        name: int(code)
        for name, code in (line.rsplit(": ", 1) for line in done.stdout.splitlines())
    }
    expected = {
        "SIGTERM": 143,
        "SIGHUP": 129,
        "SIGINT": 130,
        "no reader": 141,
        "closed": 1,
        "input": 1,
    }
    for name, code in codes.items():
        kind = next(kind for kind in expected if name.startswith(kind))
        said = (tmp_path / name / "said").read_text(encoding="utf-8")
        # the code says what the line would
        special = {"SIGTERM while ignored": 0, "no reader of an error": 1}
        assert code == special.get(name, expected[kind]), (name, code, said)
        assert "Traceback" not in said, (name, said)
        assert "Exception ignored" not in said, (name, said)
    assert len(codes) == 16
    assert not [*tmp_path.rglob("*.part")]
    assert file.read_bytes() == before
    assert sorted(path.parent.name for path in tmp_path.rglob("k.csv")) == ["SIGTERM while ignored"]
    for name in ("closed output", "closed output of JSON"):
        assert (
            "prints to standard output, which is closed" in (tmp_path / name / "said").read_text()
        )
    said = (tmp_path / "input by standard input" / "said").read_text()
    assert re.search(r"--out '.*table\.csv' is the same file as FILE '-'", said), said
    for name in ("JSON", "a selection"):  # results are written before they are printed
        assert (tmp_path / f"no reader of {name}" / "out" / "selection.json").exists()


@pytest.mark.parametrize(
    ("redirections", "arguments", "code", "said"),
    [
        ("<&-", "sample - --out k.csv", 1, r"Error: standard input is closed\. Send a table.*\n"),
        ("<&- >&- 2>&-", "sample table.csv --drop y --generator gaussian --out k.csv", 0, ""),
    ],
    ids=["input", "all"],
)
def test_closed_streams(
    tmp_path: Path, file: Path, redirections: str, arguments: str, code: int, said: str
) -> None:
    before = file.read_bytes()
    command = ["sh", "-c", f'exec "$0" -m knockoffs {arguments} {redirections}', sys.executable]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == code, done.stderr
    assert re.fullmatch(said, done.stderr), done.stderr
    assert file.read_bytes() == before
    if code == 0:
        assert pd.read_csv(tmp_path / "k.csv").columns.tolist() == FEATURES
    else:
        assert contents(tmp_path) == {file: before}


def test_a_named_pipe_as_output(tmp_path: Path, file: Path, invoke: Invoke) -> None:
    """The pipe stays a pipe, and its reader gets the table whole."""
    os.mkfifo("pipe")
    with ThreadPoolExecutor(1) as reader:
        received = reader.submit(pd.read_csv, "pipe")
        result = invoke(*SAMPLE, "--out", "pipe")
        assert received.result(timeout=TIMEOUT).shape == (300, 20)
    assert (result.exit_code, result.output) == (0, "")
    assert Path("pipe").is_fifo()
    assert sorted(os.listdir()) == ["pipe", "table.csv"]


def test_a_damaged_page_ends_in_order(tmp_path: Path) -> None:
    """Threads that still read when Python ends must not hold memory of Python,
    which aborted the process.
    """
    rows = pa.table(
        dict(zip("abcdef", np.random.default_rng(0).normal(size=(6, 2000)), strict=True))
    )
    options = {"write_page_checksum": True, "compression": "none", "use_dictionary": False}
    pq.write_table(rows, tmp_path / "table.parquet", **options)
    content = bytearray((tmp_path / "table.parquet").read_bytes())
    content[len(content) // 3] ^= 0xFF
    (tmp_path / "table.parquet").write_bytes(content)
    for from_pipe in (False, True) * 2:
        file = "-" if from_pipe else "table.parquet"
        with (tmp_path / "table.parquet").open("rb") as table:
            process = start(
                "describe", file, cwd=tmp_path, stdin=table.fileno() if from_pipe else None
            )
            _, said = process.communicate(timeout=TIMEOUT)
        assert re.fullmatch(r"Error: .*: column 'c' cannot be read .*checksum.*\n", said.decode())
        assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_behind_standard_output_is_told(tmp_path: Path, file: Path) -> None:
    with open("/dev/full", "wb") as full:
        process = start("describe", file, cwd=tmp_path, stdout=full.fileno())
        _, said = process.communicate(timeout=TIMEOUT)
    assert re.search(
        r"^Error: standard output .*cannot be written \(No space left on device\)", said.decode()
    )
    assert process.returncode == 1
