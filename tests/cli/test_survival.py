"""`knockoffs select` and `knockoffs test` of a time and an event, from a file to the answer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from knockoffs import KnockoffSelector

from .conftest import FEATURES, RELEVANT, Invoke

FAST = (
    "--generator",
    "gaussian",
    "--statistic",
    "lasso",
    "--target",
    "days",
    "--fdr",
    "0.2",
    "--no-certify",
)


@pytest.fixture(scope="module")
def patients() -> pd.DataFrame:
    """Rows whose time depends on twelve of twenty features, half of them censored."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, len(FEATURES))), columns=FEATURES)
    death, end = rng.exponential(np.exp(-X[RELEVANT].sum(axis=1))), rng.exponential(size=200)
    return X.assign(days=np.minimum(death, end), died=(death <= end).astype(int))


@pytest.fixture
def survival_file(tmp_path: Path, patients: pd.DataFrame) -> Path:
    path = tmp_path / "patients.csv"
    patients.assign(status=np.where(patients["died"] == 1, "dead", "alive")).to_csv(
        path, index=False
    )
    return path


def test_a_file_to_an_answer_as_in_python(
    invoke: Invoke, survival_file: Path, patients: pd.DataFrame
) -> None:
    result = invoke(
        "select",
        survival_file,
        *FAST,
        "--event",
        "died",
        "--drop",
        "status",
        "--out",
        "out",
        "--json",
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found == json.loads(Path("out/selection.json").read_text())
    assert [f["feature"] for f in found["features"]] == FEATURES
    assert found["settings"]["task"] == "survival"
    assert found["settings"]["target"] == "time to died"
    assert set(found["discoveries"]) <= {
        *RELEVANT,
        "f12",
        "f13",
        "f14",
        "f15",
        "f16",
        "f17",
        "f18",
        "f19",
    }
    assert len(set(found["discoveries"]) & set(RELEVANT)) >= 10
    selector = KnockoffSelector("gaussian", "lasso", fdr=0.2, certify=False, random_state=0)
    by_hand = selector.fit(patients[FEATURES], patients[["died", "days"]]).selection_
    assert [f["w"] for f in found["features"]] == by_hand.w.tolist()
    named = invoke(
        "select", survival_file, *FAST, "--event", "status=dead", "--drop", "died", "--json"
    )
    again = json.loads(named.stdout)
    assert [f["w"] for f in again["features"]] == by_hand.w.tolist()
    assert again["settings"]["target"] == "time to status=dead"


def test_rows_without_time_or_event_are_left_out(invoke: Invoke, patients: pd.DataFrame) -> None:
    """Beside gaps whole numbers come from a file as 1.0 and 2.0;
    --event may name them as they were written.
    """
    late, lost = np.arange(200) % 20 == 3, np.arange(200) % 25 == 4
    status = (patients["died"] + 1).mask(lost)
    patients.assign(days=patients["days"].mask(late), died=status).to_csv("gaps.csv", index=False)
    result = invoke("select", "gaps.csv", *FAST, "--event", "died=2", "--json")
    assert result.exit_code == 0, result.stderr
    assert "the target 'days' is missing in 10 of 200 rows, which are left out" in result.stderr
    assert "--event 'died' is missing in 8 of 190 rows, which are left out" in result.stderr
    selector = KnockoffSelector("gaussian", "lasso", fdr=0.2, certify=False, random_state=0)
    known = patients[~late & ~lost]
    by_hand = selector.fit(known[FEATURES], known[["died", "days"]]).selection_
    assert [f["w"] for f in json.loads(result.stdout)["features"]] == by_hand.w.tolist()


def test_p_values(invoke: Invoke, survival_file: Path) -> None:
    drop = [word for name in FEATURES[14:] for word in ("--drop", name)]
    result = invoke(
        *("test", survival_file, "--target", "days", "--event", "died", "--drop", "status", *drop),
        *("--resamples", "300", "--json"),
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["settings"]["task"] == "survival"
    assert len(set(found["discoveries"]) & set(RELEVANT)) >= 6
    assert all(f["effect"] > 0 for f in found["features"] if f["feature"] in found["discoveries"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--event", "status"),
            "holds 'alive', 'dead', not true and false or 1 and 0. Say which value",
        ),
        (("--event", "status=gone"), "no cell of 'status' holds 'gone'"),
        (("--event", "dead"), "is not a column of the table"),
        (("--event", "days"), "--event 'days' is given to --target as well"),
        (("--event", "died", "--drop", "died"), "--drop 'died' is given to --event as well"),
        (("--event", "died", "--task", "regression"), "Leave --task or --event out"),
        (("--task", "survival"), "--task survival needs --event"),
        (
            ("--event", "died"),
            "the features hold a copy of the target 'days': 'status'. Leave it out with --drop",
        ),
        (("--event", "died", "--drop", "status", "--condition-on", "died"), "'died' is the target"),
    ],
)
def test_bad_events_are_one_line(
    invoke: Invoke, survival_file: Path, options: tuple[str, ...], said: str
) -> None:
    for command in ("select", "test"):
        result = invoke(command, survival_file, "--target", "days", *options)
        assert result.exit_code == 1
        assert said in " ".join(result.stderr.split())
