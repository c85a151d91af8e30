"""From w of every run to false discoveries, power and selected features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.experiments.experiment import Experiment
from knockoffs.filtering.filter import fdp, knockoff_select, power
from knockoffs.runtime.arrays import Flags, Indices

RUN = ["variant", "response", "method", "replicate", "statistic"]


def has_truth(results: pd.DataFrame) -> bool:
    """Return whether it is known which features matter."""
    return bool(results["relevant"].notna().any())


def rates(results: pd.DataFrame, levels: Sequence[float]) -> pd.DataFrame:
    """FDP, power and number of discoveries of each run at each level; discoveries count by unit.

    Where no truth is known, FDP and power are nan.
    """
    rows = []
    for key, found in _each_run(results):
        unit, w = pd.factorize(found["unit"])[0], found["w"].to_numpy()
        known = bool(found["relevant"].notna().all())
        relevant = _of_units(found["relevant"].fillna(False).to_numpy(dtype=bool), unit)
        for level in levels:
            selected = _of_units(knockoff_select(w, level), unit)
            rows.append(
                key
                | {
                    "level": level,
                    "fdp": fdp(selected, relevant) if known else np.nan,
                    "power": power(selected, relevant) if known and relevant.any() else np.nan,
                    "selected": int(selected.sum()),
                }
            )
    return pd.DataFrame(rows)


def _of_units(flags: Flags, unit: Indices) -> Flags:
    """A unit has what any of its features has."""
    return np.bincount(unit, weights=flags) > 0


def means(results: pd.DataFrame, levels: Sequence[float]) -> pd.DataFrame:
    """Return means over replicates with standard errors, from w of every run."""
    return means_of_rates(rates(results, levels))


def means_of_rates(found: pd.DataFrame) -> pd.DataFrame:
    """Return means over replicates with standard errors, from the rates of every run."""
    by = ["variant", "response", "statistic", "method", "level"]
    groups = found.groupby(by, sort=False)
    frame = groups.agg(
        replicates=("fdp", "size"),
        fdp=("fdp", "mean"),
        fdp_error=("fdp", _standard_error),
        power=("power", "mean"),
        power_error=("power", _standard_error),
        selected=("selected", "mean"),
    )
    return frame.reset_index()


def with_error(value: float, error: float, digits: int = 3) -> str:
    """Return a mean ± its standard error, as text; one run has no error."""
    return f"{value:.{digits}f}" if np.isnan(error) else f"{value:.{digits}f} ± {error:.{digits}f}"


def marked_selections(
    experiment: Experiment, results: pd.DataFrame
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield, per statistic, features, remarks on them,
    and the share of replicates that select them, by method.
    """
    for statistic, found in results.groupby("statistic", sort=False):
        frame = selections(found, experiment.levels[0]).reset_index()
        frame.insert(1, "remark", frame["feature"].map(lambda name: experiment.marks.get(name, "")))
        yield str(statistic), frame


def selections(results: pd.DataFrame, level: float) -> pd.DataFrame:
    """Share of replicates that select each feature with one statistic; rows are features,
    columns methods.
    """
    rows = []
    for key, found in _each_run(results):
        chosen = knockoff_select(found["w"], level)
        rows += [
            key | {"feature": name, "share": float(s)}
            for name, s in zip(found["feature"], chosen, strict=True)
        ]
    frame = pd.DataFrame(rows)
    table = frame.pivot_table(index="feature", columns="method", values="share", sort=False)
    return table.loc[table.mean(axis=1).sort_values(ascending=False, kind="stable").index]


def distance_from_nominal(found: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's heat map from the rates of every run.

    The root mean square over levels of mean FDP minus level, by method and variant.
    """
    frame = means_of_rates(found)
    frame["square"] = (frame["fdp"] - frame["level"]) ** 2
    table = frame.pivot_table(index="method", columns="variant", values="square", sort=False)
    return table.map(np.sqrt)


def _each_run(results: pd.DataFrame) -> Iterator[tuple[dict[str, object], pd.DataFrame]]:
    for key, found in results.groupby(RUN, sort=False):
        yield dict(zip(RUN, key, strict=True)), found


def _standard_error(values: pd.Series) -> float:
    return (
        float(values.std(ddof=1) / np.sqrt(values.count())) if values.count() > 1 else float("nan")
    )
