"""Results on disk: one Parquet file a run, complete or absent, and the time it took beside it."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from knockoffs.benchmarks.experiment import Experiment, Run
from knockoffs.persistence import write_atomically


class Result(NamedTuple):
    """w of every feature by every statistic, and seconds spent on each part."""

    table: pd.DataFrame
    seconds: dict[str, float]


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, run: Run) -> Path:
        parts = (re.sub(r"[^\w.+-]", "_", str(part)) for part in run[:3])
        return self.folder.joinpath(*parts, f"{run.replicate:03d}.parquet")

    def has(self, run: Run) -> bool:
        return self.path(run).is_file()

    def write(self, run: Run, result: Result) -> None:
        """The table last: a run counts as done once it is there."""
        path = self.path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path.with_suffix(".json"), json.dumps(result.seconds, indent=1).encode())
        buffer = io.BytesIO()
        result.table.to_parquet(buffer, index=False)
        write_atomically(path, buffer.getvalue())

    def read(self, experiment: Experiment) -> pd.DataFrame:
        """All runs of an experiment that are there, in their order; times are left out, since they vary."""
        tables = [
            pd.read_parquet(self.path(run)).assign(variant=run.variant, method=run.method, replicate=run.replicate)
            for run in self._done(experiment)
        ]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def seconds(self, experiment: Experiment) -> pd.DataFrame:
        """Time of each part of each run."""
        rows = []
        for run in self._done(experiment):
            spent = json.loads(self.path(run).with_suffix(".json").read_text(encoding="utf-8"))
            rows += [{**run._asdict(), "part": part, "seconds": value} for part, value in spent.items()]
        return pd.DataFrame(rows)

    def _done(self, experiment: Experiment) -> list[Run]:
        most = 1 + max((int(p.stem) for p in (self.folder / experiment.name).glob("*/*/*.parquet")), default=-1)
        return [run for run in experiment.runs(replicates=most) if self.has(run)]
