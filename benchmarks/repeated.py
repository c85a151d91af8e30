"""Measurements that are repeated: jobs that are made once and kept as they come,
and means with standard errors.

A program defines its jobs; this module runs, stores and tabulates them. Every job is kept as one
line of JSON with the commit and the hardware: a later call with the same --out goes on where an
earlier one was stopped.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch  # noqa: F401 (before `one_thread`, which holds what is loaded to one thread)
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from benchmarks.experiments.origin import origin_here
from benchmarks.experiments.summary import with_error
from knockoffs import fdp, knockoff_select, power
from knockoffs.runtime.arrays import Array, Flags
from knockoffs.runtime.parallel import one_thread

Row = dict[str, Any]
ABOVE = "! above the level by more than two standard errors"


class Job(NamedTuple):
    """A function that measures something, and plain values that it is called with."""

    work: Callable[..., list[Row]]
    arguments: tuple[Any, ...]

    @property
    def key(self) -> str:
        """The words that distinguish it from all others."""
        return json.dumps([self.work.__name__, *self.arguments], default=str)


def add_options(parser: argparse.ArgumentParser, repeats: str, default: int) -> None:
    """Add the options that all programs share; `repeats` is the option that says how often to
    repeat.
    """
    parser.add_argument(
        repeats, dest="repeats", type=int, default=default, help="how often each line is repeated"
    )
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument(
        "--out",
        type=Path,
        help="file of results, written as they come; what it has is not made again",
    )
    parser.add_argument("--show", action="store_true", help="only show what is there")


def seeds_of(arguments: argparse.Namespace) -> range:
    return range(arguments.first_seed, arguments.first_seed + arguments.repeats)


def measured(jobs: Iterable[Job], arguments: argparse.Namespace) -> pd.DataFrame:
    """Return the rows of all jobs in their order;
    those that are written down are not made again.
    """
    jobs = list(jobs)
    done = _read(arguments.out)
    todo = [] if arguments.show else [job for job in jobs if job.key not in done]
    work = (delayed(_attempt)(job) for job in todo)
    for key, rows in Parallel(arguments.n_jobs, return_as="generator_unordered")(work):
        done[key] = rows
        if arguments.out is not None:
            _append(arguments.out, key, rows)
    rows = [row for job in jobs for row in done.get(job.key, [])]
    if jobs and not rows:
        raise SystemExit(
            f"{arguments.out} has none of these results: leave out --show to make them."
        )
    return pd.DataFrame(rows)


def _attempt(job: Job) -> tuple[str, list[Row]]:
    """Do the work on one thread, without warnings of what is compared on purpose."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = job.work(*job.arguments)
    return job.key, json.loads(json.dumps(rows, default=lambda value: value.item()))


def _read(path: Path | None) -> dict[str, list[Row]]:
    """Return what is written down; a last line that was cut off is left out, and so made again."""
    text = path.read_text(encoding="utf-8") if path is not None and path.is_file() else ""
    whole = [line for line in text.splitlines(keepends=True) if line.endswith("}\n")]
    return {line["job"]: line["rows"] for line in map(json.loads, whole)}


def _append(path: Path, key: str, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {"job": key, **origin_here("cpu")._asdict(), "rows": rows}
    cut_off = path.is_file() and path.read_bytes()[-1:] not in (b"\n", b"")
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" * cut_off + json.dumps(line) + "\n")


def rates_at(w: Array, relevant: Flags, levels: Sequence[float]) -> Iterator[Row]:
    """Yield FDP and power of what the filter selects at each level."""
    for level in levels:
        selected = knockoff_select(w, level)
        yield {"level": level, "FDP": fdp(selected, relevant), "power": power(selected, relevant)}


def means(frame: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Return means, standard errors (`s.e. of …`) and numbers of the values,
    in the order of the frame.
    """
    groups = frame.groupby(list(by), sort=False)
    found = groups[list(values)].mean()
    for value in values:
        found[f"s.e. of {value}"] = groups[value].sem()
    found["number"] = groups.size()
    return found.reset_index()


def means_as_text(
    frame: pd.DataFrame, by: Sequence[str], values: Sequence[str], digits: int = 3
) -> pd.DataFrame:
    """Return means ± standard errors as text."""
    found = means(frame, by, values)
    for value in values:
        pairs = zip(found[value], found[f"s.e. of {value}"], strict=True)
        found[value] = [with_error(mean, error, digits=digits) for mean, error in pairs]
    return found[[*by, *values, "number"]]


def marked(mean: float, error: float, level: float) -> str:
    """Write a mean ± its standard error, marked where it is above the level by more than two of
    these.
    """
    return with_error(mean, error) + (" !" if mean > level + 2 * error else "")


def rates_table(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return FDP ± s.e. and power as text, a column for each level and a row for each of the
    rest.
    """
    found = means(frame, [*by, "level"], ["FDP", "power"])
    cells = [
        f"{marked(row['FDP'], row['s.e. of FDP'], row['level'])} / {row['power']:.2f}"
        for row in found.to_dict("records")
    ]
    table = wide(found.assign(cell=cells), by, "level", "cell")
    return table.rename(
        columns=lambda name: f"FDP / power at {name:g}" if isinstance(name, float) else name
    )


def wide(frame: pd.DataFrame, by: Sequence[str], column: str, cell: str) -> pd.DataFrame:
    """Return a frame with a column of cells for each value of one column; rows keep their order."""
    order = frame[list(by)].drop_duplicates()
    columns = {
        name: own.set_index(list(by))[cell] for name, own in frame.groupby(column, sort=False)
    }
    found = pd.DataFrame(columns)
    return order.merge(found.reset_index(), on=list(by), how="left").fillna("")


def show(title: str, frame: pd.DataFrame, names: int = 1, note: str = "", width: int = 180) -> None:
    """Print a table whose first columns are `names`, and on the left."""
    table = Table(title=title, title_justify="left", caption=note or None, caption_justify="left")
    for place, name in enumerate(frame.columns):
        table.add_column(str(name), justify="left" if place < names else "right")
    for row in frame.itertuples(index=False):
        table.add_row(
            *(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row)
        )
    Console(width=width).print(table)
