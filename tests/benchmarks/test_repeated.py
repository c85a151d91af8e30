"""Repeated measurements: made once, kept as they come, and put together by hand's arithmetic."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.repeated import (
    Job,
    Row,
    add_options,
    marked,
    means,
    means_as_text,
    measured,
    rates_at,
    rates_table,
    seeds_of,
    wide,
)
from knockoffs import fdp, knockoff_select, power

LEVELS = (0.1, 0.3)


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, "--runs", 3)
    return parser.parse_args(words)


def draw(name: str, seed: int) -> list[Row]:
    value = np.random.default_rng(seed).normal()
    return [{"name": name, "seed": seed, "value": value, "large": value > 0}]


def refuse(name: str, seed: int) -> list[Row]:
    raise AssertionError("made again")


JOBS = [Job(draw, (name, seed)) for name in ("b", "a") for seed in range(3)]


def test_rows_come_in_the_order_of_the_jobs() -> None:
    found = measured(JOBS, options())
    assert found["name"].tolist() == ["b"] * 3 + ["a"] * 3
    expected = [np.random.default_rng(seed).normal() for seed in range(3)]
    assert found["value"].tolist() == expected * 2  # to the last bit
    other = measured(reversed(JOBS), options("--n-jobs", "2"))
    pd.testing.assert_frame_equal(found, other.iloc[::-1].reset_index(drop=True))


def test_what_is_written_down_is_not_made_again(tmp_path: Path) -> None:
    file = tmp_path / "below" / "runs.jsonl"
    first = measured(JOBS[:4], options("--out", str(file)))
    written = file.read_bytes()
    assert len(written.splitlines()) == 4
    refuse.__name__ = "draw"
    again = measured([Job(refuse, job.arguments) for job in JOBS[:4]], options("--out", str(file)))
    pd.testing.assert_frame_equal(first, again)
    whole = measured(JOBS, options("--out", str(file)))
    pd.testing.assert_frame_equal(whole, measured(JOBS, options()))
    assert file.read_bytes().startswith(written)
    assert len(file.read_bytes().splitlines()) == 6


@pytest.mark.parametrize("left", [1, 30])
def test_a_line_that_was_cut_off_is_made_again(tmp_path: Path, left: int) -> None:
    file = tmp_path / "runs.jsonl"
    whole = measured(JOBS, options("--out", str(file)))
    file.write_bytes(file.read_bytes()[:-left])
    for _ in range(2):
        pd.testing.assert_frame_equal(measured(JOBS, options("--out", str(file))), whole)
    assert len(file.read_bytes().splitlines()) == 7  # that one, and the rest of it


def test_showing_what_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has none of these results"):
        measured(JOBS, options("--out", str(tmp_path / "none"), "--show"))


def test_showing_makes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    measured(JOBS[:2], options("--out", str(file)))
    assert len(measured(JOBS, options("--out", str(file), "--show"))) == 2
    assert len(file.read_text(encoding="utf-8").splitlines()) == 2


def test_every_line_names_commit_and_hardware(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    measured(JOBS[:1], options("--out", str(file)))
    line = json.loads(file.read_text(encoding="utf-8"))
    assert line["commit"]
    assert "core" in line["hardware"]


def test_warnings_of_what_is_compared_are_not_shown() -> None:
    def warn(seed: int) -> list[Row]:
        warnings.warn("loud", UserWarning, stacklevel=1)
        return [{"seed": seed}]

    assert measured([Job(warn, (0,))], options())["seed"].tolist() == [0]


def test_seeds_follow_the_options() -> None:
    assert list(seeds_of(options("--runs", "2", "--first-seed", "5"))) == [5, 6]


# tables


def test_rates_are_those_of_the_filter() -> None:
    rng = np.random.default_rng(0)
    relevant = np.arange(40) < 12
    w = rng.normal(size=40) + 2 * relevant
    for row in rates_at(w, relevant, LEVELS):
        selected = knockoff_select(w, row["level"])
        assert (row["FDP"], row["power"]) == (fdp(selected, relevant), power(selected, relevant))


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        {"method": method, "level": level, "FDP": rng.random(), "power": rng.random()}
        for _ in range(4)
        for method in ("z first", "a second")
        for level in LEVELS
    ]
    return pd.DataFrame(rows)


def test_means_and_errors_are_those_by_hand(frame: pd.DataFrame) -> None:
    found = means(frame, ["method", "level"], ["FDP", "power"])
    assert found["method"].tolist() == ["z first"] * 2 + ["a second"] * 2
    for row in found.to_dict("records"):
        own = frame[(frame["method"] == row["method"]) & (frame["level"] == row["level"])]
        assert row["number"] == 4
        for value in ("FDP", "power"):
            assert row[value] == pytest.approx(np.mean(own[value]))
            assert row[f"s.e. of {value}"] == pytest.approx(np.std(own[value], ddof=1) / 2)


def test_values_that_do_not_exist_do_not_count() -> None:
    frame = pd.DataFrame({"name": "a", "value": [1.0, np.nan, 3.0]})
    (row,) = means(frame, ["name"], ["value"]).to_dict("records")
    assert (row["value"], row["s.e. of value"]) == (2.0, pytest.approx(1.0))


def test_the_table_of_rates_has_a_column_for_each_level(frame: pd.DataFrame) -> None:
    table = rates_table(frame, ["method"])
    assert list(table.columns) == ["method", "FDP / power at 0.1", "FDP / power at 0.3"]
    own = frame[(frame["method"] == "a second") & (frame["level"] == 0.3)]
    cell = table.set_index("method").loc["a second", "FDP / power at 0.3"]
    mark = " !" if own["FDP"].mean() > 0.3 + 2 * own["FDP"].sem() else ""
    assert (
        cell
        == f"{own['FDP'].mean():.3f} ± {own['FDP'].sem():.3f}{mark} / {own['power'].mean():.2f}"
    )


def test_what_exceeds_its_level_is_marked() -> None:
    assert marked(0.13, 0.01, level=0.1) == "0.130 ± 0.010 !"
    assert marked(0.11, 0.01, level=0.1) == "0.110 ± 0.010"
    assert marked(0.5, float("nan"), level=0.1) == "0.500"  # one run has no error


def test_a_wide_table_keeps_the_order_of_its_rows_and_leaves_gaps() -> None:
    frame = pd.DataFrame({"name": ["z", "z", "a"], "draws": [5, 1, 1], "cell": ["p", "q", "r"]})
    table = wide(frame, ["name"], "draws", "cell")
    assert table.columns.tolist() == ["name", 5, 1]
    assert table.to_numpy().tolist() == [["z", "p", "q"], ["a", "", "r"]]


def test_means_are_written_with_their_errors() -> None:
    frame = pd.DataFrame({"name": "a", "value": [1.0, 3.0]})
    assert means_as_text(frame, ["name"], ["value"], digits=1)["value"].tolist() == ["2.0 ± 1.0"]
