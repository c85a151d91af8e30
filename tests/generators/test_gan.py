"""KnockoffGAN: what its training achieves on easy laws, what it keeps, bad settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from knockoffs import KnockoffGAN
from knockoffs.datasets import AutoregressiveGaussian

D = 5
LAW = AutoregressiveGaussian(D, rho=0.5)
X = LAW.sample(800, random_state=0)
X.flags.writeable = False


@pytest.fixture(scope="module")
def trained() -> KnockoffGAN:
    return KnockoffGAN(random_state=0).fit(X)


@pytest.fixture(scope="module")
def pairs(trained: KnockoffGAN) -> tuple[np.ndarray, np.ndarray]:
    x = LAW.sample(10_000, random_state=1)
    return x, trained.sample(x)


def test_training_makes_the_full_swap_less_visible(trained: KnockoffGAN) -> None:
    (history,) = trained.history_
    # the last weights are kept: a game has no best ones
    assert history.best_epoch == len(history.held_out) - 1
    assert history.held_out[-1] < 0.5 * history.held_out[0]


def test_knockoffs_have_roughly_the_margins_of_their_columns(
    pairs: tuple[np.ndarray, np.ndarray],
) -> None:
    _, x_tilde = pairs
    assert np.abs(x_tilde.mean(0)).max() < 0.4
    assert ((x_tilde.std(0) > 0.6) & (x_tilde.std(0) < 1.5)).all()


def test_knockoffs_depend_on_each_other_more_as_columns_do_than_permuted_ones(
    pairs: tuple[np.ndarray, np.ndarray],
) -> None:
    x, x_tilde = pairs
    found, expected = (np.corrcoef(t.T) for t in (x_tilde, x))
    assert np.abs(found - expected).mean() < np.abs(np.eye(D) - expected).mean()


def test_swaps_of_one_column_change_covariances_less_than_with_rows_of_other_people(
    pairs: tuple[np.ndarray, np.ndarray],
) -> None:
    """cov(x_i, x̃_j) = cov(x_i, x_j) for knockoffs; with permuted rows it is 0.
    The full swap does not see it.
    """
    x, x_tilde = pairs
    off = ~np.eye(D, dtype=bool)

    def change(knockoffs: np.ndarray) -> float:
        joint = np.cov(np.hstack([x, knockoffs]).T)
        return float(np.sqrt(((joint[:D, :D] - joint[:D, D:])[off] ** 2).mean()))

    assert change(x_tilde) < change(np.random.default_rng(0).permutation(x))


def test_knockoffs_are_no_copies(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    x, x_tilde = pairs
    assert max(np.corrcoef(x[:, j], x_tilde[:, j])[0, 1] for j in range(D)) < 0.85


def test_the_dependence_term_moves_knockoffs_away_from_their_features() -> None:
    def copies(decorrelation: float) -> float:
        generator = KnockoffGAN(
            epochs=40, decorrelation=decorrelation, learning_rate=3e-3, random_state=0
        ).fit(X)
        drawn = generator.sample(X)
        return float(np.mean([abs(np.corrcoef(X[:, j], drawn[:, j])[0, 1]) for j in range(D)]))

    assert copies(10.0) < copies(0.0)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "marginal": ({"marginal": -1}, "marginal=-1 is not valid.*at least 0"),
    "decorrelation": ({"decorrelation": -0.5}, "decorrelation=-0.5 is not valid"),
    "all told": ({"hint": 1.0}, "hint=1.0 is not valid.*below 1"),
    "negative hint": ({"hint": -0.1}, "hint=-0.1 is not valid"),
    "no opponents": ({"opponent_steps": 0}, "opponent_steps=0 is not valid"),
    "no width": ({"hidden": 0}, "hidden=0 is not valid"),
    "widths": ({"hidden": (8, 8)}, r"hidden=\(8, 8\) is not valid.*whole number"),
}


@pytest.mark.parametrize(("settings", "said"), BAD.values(), ids=BAD.keys())
def test_bad_settings_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        KnockoffGAN(**settings).fit(X)
