"""Deep Knockoffs, and what all generators that are one trained network promise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from knockoffs import (
    AutoEncodingKnockoffs,
    DeepKnockoffs,
    JointDensity,
    KnockoffGAN,
    KnockoffWarning,
    load_generator,
)
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.density.training import TrainingDivergedError
from knockoffs.generators.compared.neural import NeuralGenerator
from knockoffs.generators.gaussian import knockoff_gaps
from knockoffs.generators.registry import GENERATORS
from knockoffs.runtime.model_files import ModelFileError, write_model

D = 5
LAW = AutoregressiveGaussian(D, rho=0.5)
X = LAW.sample(700, random_state=0)
X.flags.writeable = False
NAMED = pd.DataFrame(X, columns=list("abcde"))
OFFSET, UNIT = np.array([5.0, -3.0, 0.0, 1e3, 0.0]), np.array([1.0, 50.0, 1.0, 0.1, 1.0])

Make = Callable[..., NeuralGenerator]

SMALL = {
    "DeepKnockoffs": (DeepKnockoffs, {"hidden": (8,), "epochs": 15}),
    "KnockoffGAN": (KnockoffGAN, {"hidden": 8, "epochs": 10}),
    "AutoEncodingKnockoffs": (
        AutoEncodingKnockoffs,
        {"latent": 2, "hidden": (8,), "epochs": 10, "learning_rate": 1e-2},
    ),
}


@pytest.fixture(params=SMALL.values(), ids=SMALL.keys())
def make(request: pytest.FixtureRequest) -> Make:
    kind, settings = request.param
    return lambda **changes: kind(**(settings | {"random_state": 0} | changes))


# Deep Knockoffs
# -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained() -> DeepKnockoffs:
    """In units of their own, which must not matter."""
    return DeepKnockoffs(decorrelation=1.0, epochs=250, random_state=0).fit(OFFSET + UNIT * X)


@pytest.fixture(scope="module")
def pairs(trained: DeepKnockoffs) -> tuple[np.ndarray, np.ndarray]:
    """Fresh rows and their knockoffs, in standard units."""
    x = LAW.sample(20_000, random_state=1)
    return x, (trained.sample(OFFSET + UNIT * x) - OFFSET) / UNIT


def test_training_lowers_the_held_out_loss(trained: DeepKnockoffs) -> None:
    (history,) = trained.history_
    assert history.best_epoch > 50
    assert history.held_out[history.best_epoch] == min(history.held_out)
    assert history.held_out[history.best_epoch] < 0.3 * history.held_out[0]


def asymmetry(x: np.ndarray, x_tilde: np.ndarray) -> float:
    """Largest change of the covariances of [x, x̃] under swaps."""
    joint = np.cov(np.hstack([x, x_tilde]).T)
    own, other, between = joint[:D, :D], joint[D:, D:], joint[:D, D:]
    off = (own - between)[~np.eye(D, dtype=bool)]
    return max(np.abs(own - other).max(), np.abs(off).max())


def test_covariances_agree_better_than_those_of_permuted_rows_or_columns(
    pairs: tuple[np.ndarray, np.ndarray],
) -> None:
    x, x_tilde = pairs
    rng = np.random.default_rng(0)
    rows = x[rng.permutation(len(x))]
    columns = np.column_stack([rng.permutation(column) for column in x.T])
    found = asymmetry(x, x_tilde)
    assert found < 0.3
    assert found < 0.5 * min(asymmetry(x, rows), asymmetry(x, columns))


def test_knockoffs_have_the_means_and_deviations_of_their_columns(
    pairs: tuple[np.ndarray, np.ndarray],
) -> None:
    _, x_tilde = pairs
    assert np.abs(x_tilde.mean(0)).max() < 0.15
    assert np.abs(x_tilde.std(0) - 1).max() < 0.15


def test_correlations_with_the_features_are_near_those_of_sdp_knockoffs(
    pairs: tuple[np.ndarray, np.ndarray],
) -> None:
    x, x_tilde = pairs
    found = [np.corrcoef(x[:, j], x_tilde[:, j])[0, 1] for j in range(D)]
    target = 1 - knockoff_gaps(LAW.covariance, "sdp")
    assert np.abs(found - target).max() < 0.2
    assert np.abs(found - target).mean() < 0.12


def test_without_decorrelation_knockoffs_stay_closer_to_their_features(
    pairs: tuple[np.ndarray, np.ndarray],
) -> None:
    x, x_tilde = pairs
    other = DeepKnockoffs(decorrelation=0.0, epochs=100, random_state=0).fit(X).sample(x)
    near, far = (
        np.mean([np.corrcoef(x[:, j], t[:, j])[0, 1] for j in range(D)]) for t in (other, x_tilde)
    )
    assert near > far + 0.1


def test_the_target_is_one_minus_the_gaps_of_sdp() -> None:
    x = torch.as_tensor((X - X.mean(0)) / X.std(0))
    found = DeepKnockoffs()._target_correlation(x).numpy()
    expected = 1 - knockoff_gaps(np.corrcoef(X.T), "sdp")
    np.testing.assert_allclose(found, expected, atol=0.01)


# what all of them promise
# ---------------------------------------------------------------------------------------


class Constant(torch.nn.Module):
    """A sampler that answers nearly the same whatever it is asked; the last column follows x."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.noise = features
        self.level = torch.nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.level[:-1] + 0.05 * noise[:, :-1], x[:, -1:]], 1)


def test_a_collapse_is_warned_of_by_name(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(make())
    monkeypatch.setattr(kind, "_network", lambda self, features, generator: Constant(features))
    monkeypatch.setattr(kind, "_train", lambda *_: [])
    with pytest.warns(
        KnockoffWarning, match="column 'a'.*column 'd'.*collapsed to less than 0.2"
    ) as caught:
        make().fit(NAMED)
    (warning,) = caught
    assert warning.filename == __file__
    assert "'e'" not in str(warning.message)
    assert "history_" in str(warning.message)


def test_a_column_that_collapsed_beside_constant_ones_is_named_rightly(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(make())
    monkeypatch.setattr(kind, "_network", lambda self, features, generator: Constant(features))
    monkeypatch.setattr(kind, "_train", lambda *_: [])
    with pytest.warns(KnockoffWarning) as caught:
        make().fit(NAMED[["a", "b", "c"]].assign(b=1.0))
    (collapse,) = [str(w.message) for w in caught if "collapsed" in str(w.message)]
    assert collapse.startswith("column 'a': ")


@pytest.mark.parametrize("learning_rate", [1e2, 1e4, 1e8, 1e30])
def test_a_learning_rate_that_diverges_is_said(make: Make, learning_rate: float) -> None:
    """Whether by an error or by a warning, which is an error here:
    never knockoffs that look fine.
    """
    with pytest.raises((TrainingDivergedError, KnockoffWarning), match=r"learning rate|history_"):
        make(learning_rate=learning_rate).fit(X)


def test_a_loss_that_is_no_number_names_its_stage_and_the_remedy(make: Make) -> None:
    generator = make(learning_rate=1e30)
    with pytest.raises(
        TrainingDivergedError, match=r"stage '.+': the loss became .+ in epoch \d+\. Lower its"
    ):
        generator.fit(X)
    with pytest.raises(ValueError, match="not fitted"):
        generator.sample(X)


# so few epochs may be in vain
@pytest.mark.filterwarnings("ignore:.*history_:knockoffs.KnockoffWarning")
@pytest.mark.filterwarnings("ignore:X has only:knockoffs.KnockoffWarning")
@pytest.mark.parametrize("rows", [10, 14, 20, 30])
def test_few_rows_are_no_divergence(make: Make, rows: int) -> None:
    """Ten rows are the fewest that a table may have; an error must then say what lacks,
    not blame the rate.
    """
    try:
        drawn = make().fit(X[:rows]).sample(X[:rows])
    except ValueError as error:
        assert "rows" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(drawn).all()


# so few epochs may be in vain
@pytest.mark.filterwarnings("ignore:.*history_:knockoffs.KnockoffWarning")
@pytest.mark.parametrize("batch_size", [2, 3, 4, 5])
def test_a_batch_size_that_is_allowed_works(make: Make, batch_size: int) -> None:
    try:
        generator = make(batch_size=batch_size, epochs=1).fit(X[:60])
    except ValueError as error:
        assert f"batch_size={batch_size}" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(generator.sample(X[:60])).all()


# so few epochs may be in vain
@pytest.mark.filterwarnings("ignore:.*history_:knockoffs.KnockoffWarning")
def test_training_lowers_or_keeps_the_held_out_loss(make: Make) -> None:
    (history,) = make().fit(X).history_
    if history.stage == "adversarial":  # a game has no loss that falls: the last weights are kept
        assert history.best_epoch == len(history.held_out) - 1
    else:
        assert history.held_out[history.best_epoch] == min(history.held_out) <= history.held_out[0]
    assert len(history.train) == len(history.held_out) > 1


# so few epochs may be in vain
@pytest.mark.filterwarnings("ignore:.*history_:knockoffs.KnockoffWarning")
def test_histories_survive_files(make: Make, tmp_path: Path) -> None:
    generator = make(epochs=3).fit(X)
    generator.save(tmp_path / "model")
    loaded = type(generator).load(tmp_path / "model")
    assert [h.stage for h in loaded.history_] == [h.stage for h in generator.history_]
    for before, after in zip(generator.history_, loaded.history_, strict=True):
        assert after.held_out == before.held_out
        assert after.best_epoch == before.best_epoch
        np.testing.assert_array_equal(after.train, before.train)
    np.testing.assert_array_equal(loaded.sample(X), generator.sample(X))


# so few epochs may be in vain
@pytest.mark.filterwarnings("ignore:.*history_:knockoffs.KnockoffWarning")
def test_knockoffs_have_noise_of_their_own(make: Make) -> None:
    """x̃ is not a function of x: equal rows get knockoffs that spread."""
    generator = make().fit(X)
    drawn = generator.sample(np.repeat(X[:1], 500, axis=0))
    assert (drawn.std(0) > 0.05).all()


BAD_SHARED: dict[str, tuple[dict[str, Any], str]] = {
    "no rate": ({"learning_rate": 0.0}, "learning_rate=0.0 is not valid.*above 0"),
    "negative rate": ({"learning_rate": -1e-3}, "learning_rate=-0.001 is not valid"),
    "rate in words": ({"learning_rate": "fast"}, "learning_rate='fast' is not valid"),
    "no epochs": ({"epochs": 0}, "epochs=0 is not valid"),
    "one row": ({"batch_size": 1}, "batch_size=1 is not valid.*at least 2"),
    "all held out": ({"validation_fraction": 1.0}, "validation_fraction=1.0 is not valid"),
    "averaging": ({"averaging": 1.0}, "averaging=1.0 is not valid.*below 1"),
    "device": ({"device": "tpu"}, "device='tpu' is not valid"),
}


@pytest.mark.parametrize(("settings", "said"), BAD_SHARED.values(), ids=BAD_SHARED.keys())
def test_bad_settings_are_named(make: Make, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make(**settings).fit(X)


BAD_DEEP: dict[str, tuple[dict[str, Any], str]] = {
    "discrepancy": ({"discrepancy": -1}, "discrepancy=-1 is not valid.*at least 0"),
    "second order": ({"second_order": -1}, "second_order=-1 is not valid"),
    "decorrelation": ({"decorrelation": np.nan}, "decorrelation=nan is not valid"),
    "hidden": ({"hidden": (8, 0)}, r"hidden=\(8, 0\) is not valid.*layer widths"),
    "width": ({"hidden": 8}, "hidden=8 is not valid.*layer widths"),
    "patience": ({"patience": 0}, "patience=0 is not valid"),
}


@pytest.mark.parametrize(("settings", "said"), BAD_DEEP.values(), ids=BAD_DEEP.keys())
def test_bad_settings_of_deep_knockoffs_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DeepKnockoffs(**settings).fit(X)


# files of any kind
# ----------------------------------------------------------------------------------------------

QUICK: dict[str, dict[str, Any]] = {
    "ddlk": {"hidden": (4,), "joint_epochs": 1, "knockoff_epochs": 1},
    "deep": {"epochs": 2},
    "gan": {"epochs": 2},
    "auto-encoding": {"latent": 2, "hidden": (4,), "epochs": 2},
    "hmm": {"states": 2, "iterations": 2},
}


# so few epochs may be in vain
@pytest.mark.filterwarnings("ignore:.*history_:knockoffs.KnockoffWarning")
@pytest.mark.parametrize("name", GENERATORS)
def test_a_file_is_read_as_the_kind_that_wrote_it(name: str, tmp_path: Path) -> None:
    generator = GENERATORS[name](**QUICK.get(name, {}), random_state=0).fit(X[:200])
    generator.save(tmp_path / "model")
    loaded = load_generator(tmp_path / "model")
    assert type(loaded) is type(generator)
    np.testing.assert_array_equal(loaded.sample(X[:50]), generator.sample(X[:50]))


def test_files_of_other_models_are_refused_by_name(tmp_path: Path) -> None:
    write_model(tmp_path / "model", JointDensity.__name__, {}, {"nothing": np.zeros(1)})
    with pytest.raises(ModelFileError, match="JointDensity model, which is not a generator"):
        load_generator(tmp_path / "model")
    with pytest.raises(ModelFileError, match="is not a file"):
        load_generator(tmp_path / "absent")
