"""Runs: named, seeded by their names, balanced."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.experiments.catalogue import EXPERIMENTS, METHODS, STATISTICS
from benchmarks.experiments.experiment import Experiment, Run, seed_of
from benchmarks.experiments.runner import execute
from benchmarks.experiments.store import Store
from knockoffs import GaussianKnockoffs

RUNS = [run for experiment in EXPERIMENTS.values() for run in experiment.runs()]
SYNTHETIC = ("smoke", "gaussian", "mixture", "lambda", "copula")
# names that Windows does not allow
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def test_a_seed_is_the_hash_of_the_names() -> None:
    """The same on every machine and in every process: Python's own hash of a text is not."""
    for names in (("gaussian", "rho-0.6", "ddlk", 7), ("été", 0), ("√",)):
        digest = hashlib.sha256("/".join(map(str, names)).encode()).hexdigest()
        assert seed_of(*names) == int(digest[:8], 16) // 2
    assert seed_of("gaussian", 3) == 2099571267
    run = Run("gaussian", "rho-0.6", "ddlk", 7)
    assert run.seed == seed_of(*run)
    assert EXPERIMENTS["gaussian"].data_seed(run) == seed_of("gaussian", "rho-0.6", 7)


def drawn(run: Run) -> str:
    """What variants have in common that are made of the same rows."""
    return EXPERIMENTS[run.experiment].variant(run.variant).draw


def test_all_runs_have_different_seeds_and_files() -> None:
    seeds = {run.seed for run in RUNS}
    assert len(RUNS) == len(seeds) == len(set(RUNS))
    data = {(run.experiment, drawn(run) or run.variant, run.replicate) for run in RUNS}
    data_seeds = {EXPERIMENTS[run.experiment].data_seed(run) for run in RUNS}
    assert len(data_seeds) == len(data)
    assert not data_seeds & seeds
    # some file systems know no case
    paths = {str(Store("results").path(run)).lower() for run in RUNS}
    assert len(paths) == len(RUNS)


def test_files_have_names_that_every_system_allows() -> None:
    for part in {part for run in RUNS for part in Store("results").path(run).parts}:
        assert re.fullmatch(r"[A-Za-z0-9_.+-]*[A-Za-z0-9_+-]", part), part
        assert not RESERVED.fullmatch(part)
    odd = Run("a/b", "c:d*?", "é ü\\", 1234)
    path = Store("results").path(odd)
    assert len(path.parts) == 5
    assert path.name == "1234.parquet"
    assert not set('<>:"/\\|?* ') & set("".join(path.parts[1:]))


def test_methods_share_the_data_of_a_replicate_and_no_seed() -> None:
    data_seeds = defaultdict(set)
    for run in RUNS:
        data_seeds[run.experiment, run.variant, run.replicate].add(
            EXPERIMENTS[run.experiment].data_seed(run)
        )
    assert {len(seeds) for seeds in data_seeds.values()} == {1}


def test_all_methods_of_a_replicate_are_fitted_to_the_same_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, tuple[int, pd.DataFrame]] = {}

    def recorder(name: str) -> Any:
        class Recorder(GaussianKnockoffs):
            def fit(self, X: pd.DataFrame) -> Any:
                seen[name] = (self.random_state, X.copy())
                return super().fit(X)

        return lambda seed: Recorder(random_state=seed)

    for name in ("gaussian", "ddlk"):
        monkeypatch.setitem(METHODS, name, recorder(name))
    first, second = (execute(Run("smoke", "small", name, 4)).table for name in ("gaussian", "ddlk"))
    pd.testing.assert_frame_equal(seen["gaussian"][1], seen["ddlk"][1])
    assert seen["gaussian"][0] != seen["ddlk"][0]
    pd.testing.assert_series_equal(first["relevant"], second["relevant"])
    assert not first["w"].equals(second["w"])
    other = execute(Run("smoke", "small", "gaussian", 5)).table
    assert not other["relevant"].equals(first["relevant"])


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_study_is_made_of_its_seed_alone(name: str) -> None:
    for variant in EXPERIMENTS[name].variants[:2]:
        one, same, other = (variant.make(seed, None) for seed in (5, 5, 6))
        pd.testing.assert_frame_equal(one.X, same.X)
        assert not one.X.equals(other.X)
        for response, target in one.responses.items():
            np.testing.assert_array_equal(target.y, same.responses[response].y)
            np.testing.assert_array_equal(target.relevant, same.responses[response].relevant)
            assert target.relevant.sum() == 20
        if one.oracle is not None:
            np.testing.assert_array_equal(one.oracle(1), same.oracle(1))
            assert not np.array_equal(one.oracle(1), one.oracle(2))


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_variant_that_says_so_has_exact_knockoffs(name: str) -> None:
    for variant in EXPERIMENTS[name].variants:
        study = variant.make(0, None)
        assert not variant.oracle or study.oracle is not None


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_everything_an_experiment_names_is_there(experiment: Experiment) -> None:
    assert EXPERIMENTS[experiment.name] is experiment
    assert set(experiment.methods) <= {*METHODS, "oracle"}
    assert set(experiment.statistics) <= set(STATISTICS)
    assert all(0 < level < 1 for level in experiment.levels)
    assert len({variant.name for variant in experiment.variants}) == len(experiment.variants)
    for method in set(experiment.methods) - {"oracle"}:
        assert METHODS[method](17).random_state == 17
    for variant in experiment.variants:
        assert experiment.variant(variant.name) is variant


def test_runs_come_replicate_by_replicate() -> None:
    for experiment in EXPERIMENTS.values():
        replicates = [run.replicate for run in experiment.runs()]
        assert replicates == sorted(replicates)
        assert set(replicates) == set(range(experiment.replicates))
    smoke = EXPERIMENTS["smoke"]
    assert [str(run) for run in smoke.runs(replicates=2)] == [
        "smoke/small/gaussian/000",
        "smoke/small/oracle/000",
        "smoke/small/gaussian/001",
        "smoke/small/oracle/001",
    ]
    assert {run.method for run in smoke.runs(methods=["hmm"])} == {"hmm"}


def test_more_replicates_begin_with_the_same_runs() -> None:
    experiment = EXPERIMENTS["copula"]
    few, more = (list(experiment.runs(replicates=count)) for count in (2, 4))
    assert more[: len(few)] == few


def test_the_oracle_runs_where_there_is_one() -> None:
    copula = EXPERIMENTS["copula"]
    with_oracle = {run.variant for run in copula.runs(replicates=1) if run.method == "oracle"}
    assert with_oracle == {variant.name for variant in copula.variants if variant.oracle}
    assert all(name.startswith("clayton") for name in with_oracle)
    assert not [run for run in EXPERIMENTS["gene"].runs() if run.method == "oracle"]
    with pytest.raises(ValueError, match="no exact knockoffs of copula joe-gamma-200"):
        execute(Run("copula", "joe-gamma-200", "oracle", 0))


def test_an_experiment_is_data() -> None:
    with pytest.raises(FrozenInstanceError):
        EXPERIMENTS["smoke"].replicates = 3
    assert hash(EXPERIMENTS["smoke"]) == hash(EXPERIMENTS["smoke"])
    assert Path(str(Run("a", "b", "c", 3))).parts == ("a", "b", "c", "003")
