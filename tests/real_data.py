"""Where the real data sets are, for tests that need them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from knockoffs.datasets.real import VARIABLE

DATA = Path(os.environ.get(VARIABLE) or Path(__file__).parents[2] / "shared" / "data")


def folder_with(name: str) -> Path:
    """The folder that holds this data set; without it the test is skipped,
    since the data are not ours to ship.
    """
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not here: set {VARIABLE} to a folder that holds it")
    return DATA
