"""From w to rates: each equals what the filter, FDP and power give by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.experiments.experiment import Experiment
from benchmarks.experiments.summary import (
    distance_from_nominal,
    marked_selections,
    means,
    rates,
    selections,
)
from knockoffs.filtering.filter import fdp, knockoff_select, power

LEVELS = (0.1, 0.3, 0.5)
FEATURES = 40
RELEVANT = np.arange(FEATURES) < 10


def one_run(
    seed: int, *, units: list[str] | None = None, relevant: object = RELEVANT, **names: object
) -> pd.DataFrame:
    """w of a run; the relevant ones tend to be large."""
    features = [f"x{j}" for j in range(FEATURES)]
    w = np.random.default_rng(seed).normal(size=FEATURES) + 2.0 * RELEVANT
    named = {
        "variant": "v",
        "response": "r",
        "method": "m",
        "replicate": 0,
        "statistic": "s",
    } | names
    columns = {"feature": features, "unit": units or features, "w": w}
    return pd.DataFrame(named | columns | {"relevant": pd.array(relevant, dtype="boolean")})


@pytest.fixture(scope="module")
def results() -> pd.DataFrame:
    """Two methods, two variants, five replicates."""
    runs = [
        one_run(100 * k + 10 * v + replicate, method=method, variant=variant, replicate=replicate)
        for replicate in range(5)
        for v, variant in enumerate(("z first", "a second"))
        for k, method in enumerate(("ours", "a theirs"))
    ]
    return pd.concat(runs, ignore_index=True)


def by_hand(results: pd.DataFrame, level: float, **names: object) -> tuple[float, float, int]:
    found = results[
        np.logical_and.reduce([results[name] == value for name, value in names.items()])
    ]
    assert len(found) == FEATURES
    selected = knockoff_select(found["w"].to_numpy(), level)
    return fdp(selected, RELEVANT), power(selected, RELEVANT), int(selected.sum())


def test_rates_are_those_of_the_filter(results: pd.DataFrame) -> None:
    frame = rates(results, LEVELS)
    assert len(frame) == 20 * len(LEVELS)
    for row in frame.to_dict(orient="records"):
        names = {name: row[name] for name in ("variant", "method", "replicate")}
        assert (row["fdp"], row["power"], row["selected"]) == by_hand(
            results, row["level"], **names
        )
    assert frame["selected"].max() > 3
    assert frame["fdp"].max() > 0


def test_rates_do_not_depend_on_the_order_of_rows(results: pd.DataFrame) -> None:
    keys = ["variant", "method", "replicate", "level"]
    shuffled = rates(results.sample(frac=1, random_state=0), LEVELS)
    one, other = (
        frame.sort_values(keys, ignore_index=True) for frame in (rates(results, LEVELS), shuffled)
    )
    pd.testing.assert_frame_equal(one, other[one.columns])


def test_a_unit_counts_once() -> None:
    """Four mutations at each position: the filter sees mutations, a discovery is a position."""
    units = [f"P{j // 4}" for j in range(FEATURES)]
    relevant = np.arange(FEATURES) < 12  # three positions
    frame = one_run(3, units=units, relevant=relevant)
    w = np.full(FEATURES, -0.1)
    w[[0, 1, 2, 3, 4, 20]] = (9, 8, 7, 6, 5, 4)  # P0 four times, P1 once, P5
    found = rates(frame.assign(w=w), (0.2,)).iloc[0]
    assert found["selected"] == 3
    assert found["fdp"] == pytest.approx(1 / 3)
    assert found["power"] == pytest.approx(2 / 3)


def test_nothing_selected_is_no_false_discovery() -> None:
    found = rates(one_run(0).assign(w=-1.0), (0.2,)).iloc[0]
    assert (found["fdp"], found["power"], found["selected"]) == (0, 0, 0)


def test_power_is_unknown_where_nothing_is_relevant() -> None:
    found = rates(one_run(0, relevant=np.zeros(FEATURES, bool)).assign(w=1.0), (0.2,)).iloc[0]
    assert np.isnan(found["power"])
    assert found["fdp"] == 1


def test_without_a_truth_there_is_no_rate() -> None:
    """Of patients nobody knows which covariates matter: that is not an FDP of one."""
    found = rates(one_run(0, relevant=[None] * FEATURES).assign(w=1.0), (0.2,)).iloc[0]
    assert found["selected"] == FEATURES
    assert np.isnan(found["power"])
    assert np.isnan(found["fdp"])


def test_means_and_their_errors(results: pd.DataFrame) -> None:
    frame = means(results, LEVELS)
    assert len(frame) == 4 * len(LEVELS)
    for row in frame.to_dict(orient="records"):
        names = {name: row[name] for name in ("variant", "method")}
        each = np.array([by_hand(results, row["level"], replicate=r, **names) for r in range(5)])
        assert row["replicates"] == 5
        np.testing.assert_allclose([row["fdp"], row["power"], row["selected"]], each.mean(0))
        deviations = each - each.mean(0)
        errors = np.sqrt((deviations**2).sum(0) / 4 / 5)
        np.testing.assert_allclose([row["fdp_error"], row["power_error"]], errors[:2])
    assert frame["fdp_error"].max() > 0


def test_one_replicate_has_no_error() -> None:
    row = means(one_run(0), (0.3,)).iloc[0]
    assert row["replicates"] == 1
    assert np.isnan(row["fdp_error"])
    assert np.isnan(row["power_error"])


def test_errors_count_only_the_replicates_that_have_a_value() -> None:
    nothing = np.zeros(FEATURES, bool)
    runs = [one_run(k, replicate=k, relevant=nothing if k == 2 else RELEVANT) for k in range(3)]
    row = means(pd.concat(runs), (0.3,)).iloc[0]
    powers = [by_hand(run, 0.3, method="m")[1] for run in runs[:2]]
    assert powers[0] != powers[1]
    assert row["power"] == pytest.approx(np.mean(powers))
    assert row["power_error"] == pytest.approx(np.std(powers, ddof=1) / np.sqrt(2))


def test_methods_and_variants_keep_their_order(results: pd.DataFrame) -> None:
    frame = means(results, LEVELS)
    assert list(dict.fromkeys(frame["method"])) == ["ours", "a theirs"]
    assert list(dict.fromkeys(frame["variant"])) == ["z first", "a second"]
    table = distance_from_nominal(rates(results, LEVELS))
    assert list(table.index) == ["ours", "a theirs"]
    assert list(table.columns) == ["z first", "a second"]


def test_the_distance_from_nominal(results: pd.DataFrame) -> None:
    table = distance_from_nominal(rates(results, LEVELS))
    for method in ("ours", "a theirs"):
        for variant in ("z first", "a second"):
            names = {"method": method, "variant": variant}
            mean = [
                np.mean([by_hand(results, q, replicate=r, **names)[0] for r in range(5)])
                for q in LEVELS
            ]
            expected = np.sqrt(np.mean((np.array(mean) - LEVELS) ** 2))
            assert table.loc[method, variant] == pytest.approx(expected)


def test_selections_are_shares_of_replicates() -> None:
    runs = [
        one_run(10 * k + replicate, method=method, replicate=replicate)
        for replicate in range(4)
        for k, method in enumerate(("b", "a"))
    ]
    results = pd.concat(runs, ignore_index=True)
    table = selections(results, 0.3)
    assert list(table.columns) == ["b", "a"]
    assert sorted(table.index) == sorted(f"x{j}" for j in range(FEATURES))
    for k, column in enumerate(table.columns):
        chosen = np.mean(
            [knockoff_select(runs[2 * r + k]["w"].to_numpy(), 0.3) for r in range(4)], axis=0
        )
        np.testing.assert_allclose(table[column].loc[[f"x{j}" for j in range(FEATURES)]], chosen)
    order = table.mean(axis=1).to_numpy()
    assert (np.diff(order) <= 0).all()
    assert 0 < order[0] <= 1


def test_each_statistic_has_its_own_selections_with_remarks() -> None:
    runs = [one_run(k, statistic=statistic) for k, statistic in enumerate("st")]
    experiment = Experiment("own", "", (), (), ("s", "t"), levels=(0.3,), marks={"x2": "known"})
    found = dict(marked_selections(experiment, pd.concat(runs, ignore_index=True)))
    assert list(found) == ["s", "t"]
    for run, frame in zip(runs, found.values(), strict=True):
        pd.testing.assert_series_equal(
            frame.set_index("feature").iloc[:, 1],
            selections(run, 0.3).iloc[:, 0],
            check_names=False,
        )
        assert dict(zip(frame["feature"], frame["remark"], strict=True)) == {
            f"x{j}": "known" if j == 2 else "" for j in range(FEATURES)
        }
