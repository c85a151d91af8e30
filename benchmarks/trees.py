"""Trees of files to compare: the working tree, and commits beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parents[1]
WORKING_TREE = "."
ONE_CORE = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}


class NoCommitError(Exception):
    """The repository does not have this commit."""


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """Yield a folder with `src` as it is in a commit; "." is the working tree itself."""
    if commit == WORKING_TREE:
        yield HERE
        return
    with tempfile.TemporaryDirectory() as folder:
        _unpack(commit, folder)
        yield Path(folder)


def run_in(tree: Path, command: Sequence[str]) -> str:
    """Return what Python prints with the package of that tree, on one core;
    its errors go to the terminal.
    """
    path = os.pathsep.join([str(tree / "src"), str(HERE)])  # HERE for the programs of this folder
    done = subprocess.run(
        [sys.executable, *command],
        env=os.environ | ONE_CORE | {"PYTHONPATH": path},
        cwd=HERE,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def _unpack(commit: str, folder: str) -> None:
    archive = subprocess.run(
        ["git", "-C", str(HERE), "archive", commit, "src"], capture_output=True, check=False
    )
    if archive.returncode != 0:
        raise NoCommitError(f"There is no commit {commit} here: {archive.stderr.decode().strip()}")
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
