"""Results on disk: one Parquet file per run, complete or absent, and the time it took beside it."""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.experiments.experiment import Experiment, Run
from benchmarks.experiments.origin import Origin
from knockoffs.runtime.outputs import write_atomically
from knockoffs.runtime.versions import installed_version

COLUMNS = ("response", "statistic", "feature", "unit", "w", "relevant")
# raise it when a method or statistic changes, so that old and new results are not mixed
REVISION = 5


class Result(NamedTuple):
    """What a run gave.

    Attributes
    ----------
    table : DataFrame
        w of every feature by every statistic.
    seconds : dict
        Seconds spent on each part.
    device : str
        What networks ran on.
    predicted : dict
        Per statistic, what was predicted of its false discoveries, where the experiment asks for
        that.
    origin : Origin
        The commit and the machine that it was computed with.
    """

    table: pd.DataFrame
    seconds: dict[str, float]
    device: str = "cpu"
    predicted: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    origin: Origin = Origin()


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, run: Run) -> Path:
        return self.folder.joinpath(*map(_clean, run[:3]), f"{run.replicate:03d}.parquet")

    def experiment_folder(self, experiment: Experiment) -> Path:
        """Return the folder that holds all runs of an experiment and nothing else."""
        return self.folder / _clean(experiment.name)

    def has(self, run: Run) -> bool:
        """Return whether the run is there as a whole:
        a table that was cut off when it was copied is none.
        """
        try:
            return pq.read_metadata(self.path(run)).num_rows > 0
        except (pa.ArrowException, OSError):
            return False

    def prepare(self, experiment: Experiment) -> None:
        """Make the folder, and find out before the work that it can be written and holds nothing
        else.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder):
            pass
        expected = _made(experiment.statistics)
        for run in self.done(experiment):
            made = self._beside(run)["made"]
            if made != expected:
                raise ValueError(
                    f"{str(self.folder)!r} holds a run {run} that was made with {made}, not with "
                    f"{expected}. Pass "
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
            "predicted": {name: dict(own) for name, own in result.predicted.items()},
            "origin": result.origin._asdict(),
        }
        write_atomically(path.with_suffix(".json"), json.dumps(beside, indent=1).encode())
        buffer = io.BytesIO()
        result.table.to_parquet(buffer, index=False)
        write_atomically(path, buffer.getvalue())

    def read(self, experiment: Experiment) -> pd.DataFrame:
        """All runs of an experiment that are there, in their order; times are left out,
        since they vary.

        Runs of different versions are refused: a mean over them would be the mean of nothing in
        particular.
        """
        runs = self.done(experiment)
        self._require_one_version(runs)
        tables = [
            self._table(run).assign(variant=run.variant, method=run.method, replicate=run.replicate)
            for run in runs
        ]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def seconds(self, experiment: Experiment) -> pd.DataFrame:
        """Time of each part of each run."""
        rows = []
        for run in self.done(experiment):
            spent = self._beside(run)["seconds"]
            rows += [
                {**run._asdict(), "part": part, "seconds": value} for part, value in spent.items()
            ]
        return pd.DataFrame(rows)

    def predicted(self, experiment: Experiment) -> pd.DataFrame:
        """What was predicted of false discoveries, one row per run and statistic."""
        rows = []
        for run in self.done(experiment):
            for statistic, figures in self._beside(run)["predicted"].items():
                rows.append({**run._asdict(), "statistic": statistic, **figures})
        return pd.DataFrame(rows)

    def devices(self, experiment: Experiment) -> dict[str, int]:
        """Number of runs whose networks were trained on each device, where a run says that."""
        runs = [run for run in self.done(experiment) if self._has_beside(run)]
        return dict(Counter(self._beside(run)["device"] for run in runs))

    def origins(self, experiment: Experiment) -> list[Origin]:
        """Return the commit and the hardware of each run, as far as they were recorded."""
        runs = self.done(experiment)
        return [
            Origin(**self._beside(run)["origin"]) if self._has_beside(run) else Origin()
            for run in runs
        ]

    def last_written(self, experiment: Experiment) -> float:
        """Return when the last run was written, in seconds since the epoch."""
        return max(self.path(run).stat().st_mtime for run in self.done(experiment))

    def done(self, experiment: Experiment) -> list[Run]:
        """The runs that are there, also of methods that the experiment does not name,
        replicate by replicate.

        Found by the files that are there, not by counting up to the largest number among them,
        which may be any.
        """
        variants = {_clean(variant.name): variant for variant in experiment.variants}
        methods = {_clean(method): method for method in experiment.methods}
        places: dict[Run, tuple[Any, ...]] = {}
        for path in self.experiment_folder(experiment).glob("*/*/*.parquet"):
            variant, method = variants.get(path.parts[-3]), path.parts[-2]
            if variant is None or not re.fullmatch("[0-9]+", path.stem):
                continue
            run = Run(experiment.name, variant.name, methods.get(method, method), int(path.stem))
            if (
                self.path(run) == path
                and path.is_file()
                and (run.method != "oracle" or variant.oracle)
            ):
                known = list(methods).index(method) if method in methods else len(methods)
                places[run] = (run.replicate, experiment.variants.index(variant), known, method)
        return sorted(places, key=places.__getitem__)

    def _require_one_version(self, runs: list[Run]) -> None:
        found: dict[str, list[Run]] = {}
        for run in runs:
            found.setdefault(self._version(run), []).append(run)
        if len(found) > 1:
            kinds = "; ".join(
                f"{len(group)} with {kind} (such as {group[0]})" for kind, group in found.items()
            )
            raise ValueError(
                f"{str(self.folder)!r} holds runs of different versions, which cannot be "
                f"averaged: {kinds}. Move "
                "the runs of all versions but one to another folder."
            )

    def _version(self, run: Run) -> str:
        """What a run was made with, in words; the file beside it may be missing where tables alone
        were copied.
        """
        if not self._has_beside(run):
            return "an unknown version"
        made = self._beside(run)["made"]
        return ", ".join(f"{part} {_in_words(value)}" for part, value in made.items())

    def _table(self, run: Run) -> pd.DataFrame:
        with _readable(self.path(run)) as path:
            table = pd.read_parquet(path)
            absent = [name for name in COLUMNS if name not in table.columns]
            if absent:
                raise ValueError(f"it lacks the column {absent[0]!r}")
            return table

    def _has_beside(self, run: Run) -> bool:
        return self.path(run).with_suffix(".json").exists()

    def _beside(self, run: Run) -> dict[str, Any]:
        with _readable(self.path(run).with_suffix(".json")) as path:
            found = json.loads(path.read_text(encoding="utf-8"))
            if not all(isinstance(found[part], dict) for part in ("made", "seconds")):
                raise ValueError("it does not say how and in which time the run was made")
            absent = {"device": "unknown", "predicted": {}, "origin": {}}
            return absent | {
                part: found[part] for part in ("made", "seconds", *absent) if part in found
            }


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    try:
        yield path
    # pyarrow and pandas raise errors of many types where a file is damaged
    except Exception as error:
        raise ValueError(
            f"{str(path)!r} is damaged ({error}). Remove {path.stem}.json and {path.stem}.parquet "
            f"there and run "
            "again: only that run is made anew."
        ) from error


def _clean(name: str) -> str:
    """Return the text as a folder's name that any system accepts."""
    return re.sub(r"[^\w.+-]", "_", name)


def _in_words(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


def _made(statistics: Iterable[str]) -> dict[str, Any]:
    """What results must have in common to be put together."""
    return {
        "knockoffs": installed_version("knockoffs"),
        "revision": REVISION,
        "statistics": list(statistics),
    }
