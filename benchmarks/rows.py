"""`make rows`: many rows in a folder of Parquet files, from the fit to the statistic,
in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.speed import rows_of
from knockoffs import DDLK, HoldoutStatistic, knockoff_select
from knockoffs.generators.base import ROWS_AT_A_TIME
from knockoffs.table.parquet import ParquetTable, write_batches

PIECE = 50_000  # rows of a file
RELEVANT = 10
TARGET = "y"
MOST_ROWS = 50_000  # of the fit


class Part(NamedTuple):
    """What a part of the work took; the peak is that of all parts so far."""

    name: str
    wall: float
    cpu: float
    peak: float
    result: str


def write_folder(folder: Path, rows: int, columns: int) -> None:
    """Write rows with common factors and log-normal columns, and a response, a file at a time."""
    for number, start in enumerate(range(0, rows, PIECE), start=1):
        x = rows_of("factors", min(PIECE, rows - start), columns, seed=number)
        frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(columns)])
        noise = np.random.default_rng([1, number]).standard_normal(len(x))
        frame[TARGET] = x[:, :RELEVANT] @ np.linspace(0.2, 1, RELEVANT) + noise
        frame.to_parquet(folder / f"{number:04d}.parquet", index=False)


def measure(folder: Path, knockoffs: Path) -> list[Part]:
    """Measure each part of the work in this process:
    each begins where the one before has written its result.
    """
    torch.set_num_threads(1)
    features = [name for name in ParquetTable(folder).columns if name != TARGET]
    table = ParquetTable(folder, columns=features)
    model = DDLK(device="cpu", random_state=0)

    def fit() -> str:
        model.fit(table.read(MOST_ROWS, random_state=0))
        return f"{min(table.rows, MOST_ROWS):,} rows"

    def sample() -> str:
        drawn = model.sample_batches(table.batches(ROWS_AT_A_TIME))
        return f"{write_batches(drawn, knockoffs):,} rows"

    def statistic() -> str:
        y = ParquetTable(folder, columns=[TARGET]).read()[TARGET]
        x_tilde = ParquetTable(knockoffs).read()
        statistic = HoldoutStatistic(device="cpu", random_state=0)
        selected = knockoff_select(statistic.compute(table.read(), x_tilde, y), 0.1)
        return f"{selected[:RELEVANT].sum()} of {RELEVANT} found, {selected[RELEVANT:].sum()} false"

    return [timed(work) for work in (fit, sample, statistic)]


def timed(work: Callable[[], str]) -> Part:
    wall, begun = time.perf_counter(), time.process_time()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Part(
        work.__name__, time.perf_counter() - wall, time.process_time() - begun, peak, result
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        folder = arguments.measure
        print(json.dumps(measure(folder / "rows", folder / "knockoffs.parquet")))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "rows"
        folder.mkdir()
        write_folder(folder, arguments.rows, arguments.columns)
        command = [sys.executable, "-m", "benchmarks.rows", "--measure", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    parts = [Part(*part) for part in json.loads(done.stdout.splitlines()[-1])]
    table = Table(title=f"{arguments.rows:,} rows, {arguments.columns} columns")
    for heading in ("part", "wall seconds", "CPU seconds", "peak GiB so far", "result"):
        table.add_column(heading, justify="right")
    for part in parts:
        table.add_row(
            part.name, f"{part.wall:.1f}", f"{part.cpu:.1f}", f"{part.peak:.2f}", part.result
        )
    wall, cpu = sum(part.wall for part in parts), sum(part.cpu for part in parts)
    table.add_row("all", f"{wall:.1f}", f"{cpu:.1f}", f"{parts[-1].peak:.2f}", "")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
