"""`--seed` at the command line is `random_state` in Python: the same answer to the bit."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from knockoffs import (
    GaussianKnockoffs,
    KnockoffSelector,
    KnockoffWarning,
    LassoStatistic,
    check_swap,
    load_generator,
)
from knockoffs.generators.registry import GENERATORS

from .conftest import FEATURES, Invoke

FAST = ("--target", "y", "--statistic", "lasso", "--fdr", "0.2", "--json")
GENERATOR_NAMES = ("gaussian", "gaussian-mixture", "hmm")  # those that are fitted in a moment


@pytest.fixture
def small(table: pd.DataFrame, invoke: Invoke) -> pd.DataFrame:
    frame = table[[*FEATURES[:8], "y"]][:150].round(1)
    frame.to_csv("small.csv", index=False)
    return frame


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", GENERATOR_NAMES)
def test_select(invoke: Invoke, small: pd.DataFrame, name: str, seed: int) -> None:
    said = json.loads(
        invoke("select", "small.csv", *FAST, "--generator", name, "--seed", seed).stdout
    )
    selector = KnockoffSelector(GENERATORS[name](), LassoStatistic(), fdr=0.2, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KnockoffWarning)  # compared as part of the selection
        selector.fit(small.drop(columns="y"), small["y"])
    assert said == selector.selection_.to_dict()


@pytest.mark.parametrize("seed", [0, 7])
def test_select_from_a_model_file(invoke: Invoke, small: pd.DataFrame, seed: int) -> None:
    """A fitted generator draws with the seed of its own, wherever it is used."""
    X, y = small.drop(columns="y"), small["y"]
    for own_seed in (3, np.random.default_rng(5)):  # the second leaves no seed to save
        GaussianKnockoffs(random_state=own_seed).fit(X).save("model")
        arguments = (
            "select",
            "small.csv",
            *FAST,
            "--generator",
            "model",
            "--seed",
            seed,
            "--draws",
            2,
        )
        said = json.loads(invoke(*arguments).stdout)
        selector = KnockoffSelector(
            load_generator("model"), LassoStatistic(), fdr=0.2, n_draws=2, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KnockoffWarning)
            selector.fit(X, y)
        assert said == selector.selection_.to_dict()


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", GENERATOR_NAMES)
def test_sample_and_check(invoke: Invoke, small: pd.DataFrame, name: str, seed: int) -> None:
    X = small.drop(columns="y")
    arguments = (
        "--drop",
        "y",
        "--generator",
        name,
        "--seed",
        seed,
        "--out",
        "k.parquet",
        "--save-model",
        "model",
    )
    assert invoke("sample", "small.csv", *arguments).exit_code == 0
    generator = GENERATORS[name](random_state=seed).fit(X)
    pd.testing.assert_frame_equal(
        pd.read_parquet("k.parquet"), generator.sample(X), check_exact=True
    )
    assert (
        invoke(
            "sample", "small.csv", *arguments[:2], "--generator", "model", *arguments[4:8]
        ).exit_code
        == 0
    )
    pd.testing.assert_frame_equal(
        pd.read_parquet("k.parquet"), generator.sample(X), check_exact=True
    )
    said = json.loads(
        invoke(
            "check", "small.csv", "--drop", "y", "--model", "model", "--seed", seed, "--json"
        ).stdout
    )
    assert said == check_swap(load_generator("model"), X, random_state=seed).to_dict()


def test_sample_from_a_model_file(invoke: Invoke, small: pd.DataFrame) -> None:
    """The seed that the model was saved with, unless another is given; 0 where none was saved."""
    X = small.drop(columns="y")
    arguments = ("sample", "small.csv", "--drop", "y", "--generator", "model", "--out", "k.parquet")
    for own_seed, given, used in (
        (3, (), 3),
        (3, ("--seed", 0), 0),
        (np.random.default_rng(5), (), 0),
    ):
        GaussianKnockoffs(random_state=own_seed).fit(X).save("model")
        assert invoke(*arguments, *given).exit_code == 0
        expected = load_generator("model").sample(X, random_state=used)
        pd.testing.assert_frame_equal(pd.read_parquet("k.parquet"), expected, check_exact=True)
