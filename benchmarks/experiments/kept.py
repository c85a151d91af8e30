"""Results as files that the repository keeps: rates of every run, times,
and where they were computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from benchmarks.experiments.catalogue import EXPERIMENTS
from benchmarks.experiments.experiment import Experiment
from benchmarks.experiments.figures import CURVE
from benchmarks.experiments.origin import NOT_RECORDED, together
from benchmarks.experiments.store import Store
from benchmarks.experiments.summary import has_truth, rates

FOLDER = Path(__file__).parents[1] / "results"
TIMES, SOURCES = "times.csv", "sources.csv"
UNDATED = {"method": "gzip", "mtime": 0}  # the same bytes for the same results
FITS, STATISTICS, HOURS = "fit and draw, median seconds", "statistic, median seconds", "core-hours"


def keep(store: Store, folder: Path = FOLDER) -> list[str]:
    """Write what the pages are made from, and return the names of the experiments that have
    results.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for experiment in EXPERIMENTS.values():
        results = store.read(experiment)
        if results.empty or experiment.name == "smoke":
            continue
        path = folder / f"{experiment.name}.csv.gz"
        tidy(experiment, results).to_csv(path, index=False, compression=UNDATED)
        _replace(folder / TIMES, experiment.name, times(experiment, store))
        _replace(folder / SOURCES, experiment.name, source(experiment, store))
        names.append(experiment.name)
    return names


def kept(name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """Return what is kept of an experiment, an empty frame where there is nothing."""
    path = folder / f"{name}.csv.gz"
    found = pd.read_csv(path) if path.is_file() else pd.DataFrame()
    # levels are compared, and old versions of pandas read them with an error in the last bit
    return found.assign(level=found["level"].round(6)) if "level" in found else found


def kept_table(name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """Return the table of times or of sources; lines that begin with # are remarks."""
    path = folder / name
    return (
        pd.read_csv(path, comment="#", keep_default_na=False) if path.is_file() else pd.DataFrame()
    )


def tidy(experiment: Experiment, results: pd.DataFrame) -> pd.DataFrame:
    """Return rates of each run at each level, or w where nobody knows which features matter."""
    if not has_truth(results):
        return results.drop(columns=["relevant", "unit"])
    return rates(results, sorted({*experiment.levels, *CURVE.tolist()}))


def times(experiment: Experiment, store: Store) -> pd.DataFrame:
    """Return the median seconds of each method and statistic, and the core-hours of all runs."""
    spent = store.seconds(experiment)
    fits, others = (spent[(spent["part"] == "knockoffs") == own] for own in (True, False))
    of_methods = fits.groupby("method", sort=False)["seconds"].median()
    of_statistics = others.groupby(others["part"].str.split(" of ").str[0], sort=False)[
        "seconds"
    ].median()
    lines = [
        *((FITS, name, f"{seconds:.2f}") for name, seconds in of_methods.items()),
        *((STATISTICS, name, f"{seconds:.2f}") for name, seconds in of_statistics.items()),
        (HOURS, "", f"{spent['seconds'].sum() / 3600:.2f}"),
    ]
    frame = pd.DataFrame(lines, columns=["what", "name", "value"])
    frame.insert(0, "experiment", experiment.name)
    return frame


def source(experiment: Experiment, store: Store) -> pd.DataFrame:
    """Return where and when the runs were made, in one row."""
    origin = together(store.origins(experiment))
    made = datetime.fromtimestamp(store.last_written(experiment), UTC)
    row = {"experiment": experiment.name, "date": made.date().isoformat(), **origin._asdict()}
    return pd.DataFrame([row | {"remark": ""}])


def sources_in_words(names: Sequence[str], folder: Path = FOLDER) -> list[str]:
    """Return commit and hardware of what is kept, one line for all experiments that share them."""
    table = kept_table(SOURCES, folder)
    lines: dict[str, list[str]] = {}
    for name in names:
        found = table[table["experiment"] == name] if len(table) else table
        said = (
            _in_words(found.iloc[0])
            if len(found)
            else f"commit {NOT_RECORDED}; hardware {NOT_RECORDED}."
        )
        lines.setdefault(said, []).append(f"`{name}`")
    return [f"{', '.join(own)}: {said}" for said, own in lines.items()]


def _in_words(source: pd.Series) -> str:
    said = f"{source['date']}, commit {source['commit']}; {source['hardware']}."
    return f"{said} {source['remark']}".strip()


def _replace(path: Path, name: str, new: pd.DataFrame) -> None:
    """Put new rows of an experiment in the place of those that a table has; remarks stay."""
    remarks = [line for line in _lines(path) if line.startswith("#")]
    old = kept_table(path.name, path.parent)
    if len(old):
        new = pd.concat([old[old["experiment"] != name], new], ignore_index=True)
    text = "".join(f"{line}\n" for line in remarks) + new.to_csv(index=False, lineterminator="\n")
    path.write_text(text, encoding="utf-8")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
