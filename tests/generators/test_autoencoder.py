"""Auto-Encoding Knockoffs: the search for the latent dimension, training, files, bad settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knockoffs import AutoEncodingKnockoffs
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.density.training import History
from knockoffs.generators.compared.autoencoder import COARSE, LATENT

D = 6
rng = np.random.default_rng(0)
LOADINGS = rng.normal(size=(2, D))
X = rng.normal(size=(600, 2)) @ LOADINGS + 0.4 * rng.normal(size=(600, D))  # two factors
X.flags.writeable = False


@pytest.fixture(scope="module")
def trained() -> AutoEncodingKnockoffs:
    return AutoEncodingKnockoffs(
        latent=2, hidden=(32,), learning_rate=5e-3, epochs=60, random_state=0
    ).fit(X)


def test_training_lowers_the_held_out_loss(trained: AutoEncodingKnockoffs) -> None:
    (history,) = trained.history_
    assert history.held_out[history.best_epoch] == min(history.held_out)
    assert min(history.held_out) < history.held_out[0] - 2
    assert trained.latent_ == 2
    assert trained.search_ == []


def test_the_held_out_loss_is_no_less_than_the_entropy_of_the_rows(
    trained: AutoEncodingKnockoffs,
) -> None:
    """The bound is above minus the log-density, whose mean is that of the true Gaussian law in
    these units.
    """
    covariance = LOADINGS.T @ LOADINGS + 0.16 * np.eye(D)
    deviation = trained.deviation_
    _, log_det = np.linalg.slogdet(2 * np.pi * np.e * covariance / np.outer(deviation, deviation))
    found = min(trained.history_[0].held_out)
    assert found > log_det / 2 - 1.0  # 90 held-out rows know the mean to within ± 0.2 or so
    assert found < log_det / 2 + 2.5


def test_knockoffs_keep_the_factors(trained: AutoEncodingKnockoffs) -> None:
    fresh = np.random.default_rng(1)
    x = fresh.normal(size=(10_000, 2)) @ LOADINGS + 0.4 * fresh.normal(size=(10_000, D))
    drawn = trained.sample(x)
    joint = np.corrcoef(np.hstack([x, drawn]).T)
    off = ~np.eye(D, dtype=bool)
    assert np.abs(joint[D:, D:] - joint[:D, :D])[off].max() < 0.2
    assert np.abs(joint[:D, D:] - joint[:D, :D])[off].max() < 0.25


# the search
# --------------------------------------------------------------------------------------------------


def searched(
    monkeypatch: pytest.MonkeyPatch, loss_of: Any
) -> tuple[AutoEncodingKnockoffs, list[int]]:
    """A search over a loss that is made up; also the dimensions in the order tried,
    the final fit last.
    """
    tried: list[int] = []

    def fit_network(self: Any, network: Any, *_: Any) -> History:
        tried.append(network.latent)
        return History("made up", [0.0, 0.0], [1e9, loss_of(network.latent)], 1)

    monkeypatch.setattr(AutoEncodingKnockoffs, "_fit_network", fit_network)
    return AutoEncodingKnockoffs(hidden=(4,), random_state=0).fit(X), tried


@pytest.mark.parametrize("best", LATENT)
def test_the_search_finds_the_dip_of_a_smooth_loss_in_few_fits(
    monkeypatch: pytest.MonkeyPatch, best: int
) -> None:
    generator, tried = searched(monkeypatch, lambda latent: abs(latent - best))
    assert abs(generator.latent_ - best) <= 10
    assert generator.latent_ == min(generator.search_, key=lambda pair: pair[1])[0]
    assert tried[-1] == generator.latent_
    assert len(tried) - 1 == len(set(tried[:-1])) == len(generator.search_) <= 9
    assert set(tried) <= set(LATENT)


def test_the_best_of_all_tried_is_taken_whatever_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(size=201)
        generator, _ = searched(monkeypatch, lambda latent, noise=noise: float(noise[latent]))
        assert generator.latent_ == min(generator.search_, key=lambda pair: pair[1])[0]
        assert [k for k, _ in generator.search_] == sorted(k for k, _ in generator.search_)
        assert set(COARSE) <= {k for k, _ in generator.search_}


def test_a_real_search_survives_files(tmp_path: Path) -> None:
    generator = AutoEncodingKnockoffs(
        hidden=(16,), learning_rate=1e-2, search_epochs=2, epochs=4, random_state=0
    ).fit(X)
    assert generator.latent_ == min(generator.search_, key=lambda pair: pair[1])[0]
    assert len(COARSE) < len(generator.search_) < 10
    generator.save(tmp_path / "model")
    loaded = AutoEncodingKnockoffs.load(tmp_path / "model")
    assert loaded.latent == "auto"
    assert loaded.latent_ == generator.latent_
    assert loaded.search_ == generator.search_
    assert [h.held_out for h in loaded.history_] == [h.held_out for h in generator.history_]
    np.testing.assert_array_equal(loaded.sample(X), generator.sample(X))


def test_a_second_fit_forgets_the_search() -> None:
    generator = AutoEncodingKnockoffs(
        hidden=(8,), learning_rate=1e-2, search_epochs=1, epochs=3, random_state=0
    ).fit(X)
    assert generator.search_
    generator.set_params(latent=3).fit(X)
    assert generator.search_ == []
    assert generator.latent_ == 3


def test_rows_of_other_columns_do_not_change_the_noise_of_the_search() -> None:
    """All trials share their seed, so two searches agree to the bit."""
    x = AutoregressiveGaussian(4).sample(200, random_state=0)
    first, second = (
        AutoEncodingKnockoffs(
            hidden=(8,), learning_rate=1e-2, search_epochs=1, epochs=3, random_state=4
        ).fit(x)
        for _ in range(2)
    )
    assert first.search_ == second.search_


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "latent": ({"latent": 0}, "latent=0 is not valid.*at least 1"),
    "latent in words": ({"latent": "best"}, "latent='best' is not valid"),
    "hidden": ({"hidden": ()}, r"hidden=\(\) is not valid.*layer widths"),
    "search": ({"search_epochs": 0}, "search_epochs=0 is not valid"),
    "patience": ({"patience": 0}, "patience=0 is not valid"),
}


@pytest.mark.parametrize(("settings", "said"), BAD.values(), ids=BAD.keys())
def test_bad_settings_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AutoEncodingKnockoffs(**settings).fit(X)
