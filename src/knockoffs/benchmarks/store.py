"""Results on disk: one Parquet file a run, complete or absent, and the time it took beside it."""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from knockoffs.benchmarks.experiment import Experiment, Run
from knockoffs.outputs import write_atomically

REVISION = 3  # raise it when a method or statistic changes, so that old and new results are not mixed


class Result(NamedTuple):
    """w of every feature by every statistic, seconds spent on each part, and the device that networks ran on."""

    table: pd.DataFrame
    seconds: dict[str, float]
    device: str = "cpu"


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, run: Run) -> Path:
        return self.folder.joinpath(*map(_clean, run[:3]), f"{run.replicate:03d}.parquet")

    def has(self, run: Run) -> bool:
        return self.path(run).is_file()

    def prepare(self, experiment: Experiment) -> None:
        """Make the folder, and find out before the work that it can be written and holds nothing else."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder):
            pass
        expected = _made(experiment.statistics)
        for run in self.done(experiment):
            made = self._beside(run)["made"]
            if made != expected:
                raise ValueError(
                    f"{str(self.folder)!r} holds a run {run} that was made with {made}, not with {expected}. Pass "
                    "another folder, or remove this one."
                )

    def write(self, run: Run, result: Result) -> None:
        """The table last: a run counts as done once it is there."""
        path = self.path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = {
            "made": _made(result.table["statistic"].unique()),
            "device": result.device,
            "seconds": result.seconds,
        }
        write_atomically(path.with_suffix(".json"), json.dumps(beside, indent=1).encode())
        buffer = io.BytesIO()
        result.table.to_parquet(buffer, index=False)
        write_atomically(path, buffer.getvalue())

    def read(self, experiment: Experiment) -> pd.DataFrame:
        """All runs of an experiment that are there, in their order; times are left out, since they vary."""
        tables = [
            self._table(run).assign(variant=run.variant, method=run.method, replicate=run.replicate)
            for run in self.done(experiment)
        ]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def seconds(self, experiment: Experiment) -> pd.DataFrame:
        """Time of each part of each run."""
        rows = []
        for run in self.done(experiment):
            spent = self._beside(run)["seconds"]
            rows += [{**run._asdict(), "part": part, "seconds": value} for part, value in spent.items()]
        return pd.DataFrame(rows)

    def done(self, experiment: Experiment) -> list[Run]:
        """The runs that are there, also of methods that the experiment does not name."""
        files = [p for p in (self.folder / _clean(experiment.name)).glob("*/*/*.parquet") if p.stem.isdigit()]
        named = {_clean(method) for method in experiment.methods}
        others = sorted({p.parent.name for p in files} - named)
        most = 1 + max((int(p.stem) for p in files), default=-1)
        runs = experiment.runs(methods=[*experiment.methods, *others], replicates=most)
        return [run for run in runs if self.has(run)]

    def _table(self, run: Run) -> pd.DataFrame:
        with _readable(self.path(run)) as path:
            return pd.read_parquet(path)

    def _beside(self, run: Run) -> dict[str, Any]:
        with _readable(self.path(run).with_suffix(".json")) as path:
            found = json.loads(path.read_text(encoding="utf-8"))
            return {part: found[part] for part in ("made", "seconds")}


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    try:
        yield path
    except (OSError, ValueError, KeyError, TypeError) as error:  # pyarrow's errors are among these
        raise ValueError(
            f"{str(path)!r} is damaged ({error}). Remove {path.stem}.json and {path.stem}.parquet there and run "
            "again: only that run is made anew."
        ) from error


def _clean(name: str) -> str:
    """As a name of a folder on any system."""
    return re.sub(r"[^\w.+-]", "_", name)


def _made(statistics: Iterable[str]) -> dict[str, Any]:
    """What results must have in common to be put together."""
    return {"knockoffs": version("knockoffs"), "revision": REVISION, "statistics": list(statistics)}
