"""`DDLK(entropy="auto")`: the λ that is chosen is the one that the recorded figures speak for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from knockoffs import DDLK
from knockoffs.datasets import AutoregressiveGaussian
from knockoffs.engine.stages import Phase
from knockoffs.engine.training import History, Schedule, TrainingDivergedError
from knockoffs.generators.entropy import (
    ABOVE,
    BELOW,
    FIRST,
    EntropyPath,
    EntropyStep,
    Figures,
    held_out_figures,
    step_phase,
    walk_entropies,
)

Make = Callable[..., DDLK]


# -- the walk, with divergences that are known -----------------------------------------------------------------


class Fake(nn.Module):
    """A model that knows nothing but the λ of its last fit."""

    def __init__(self) -> None:
        super().__init__()
        self.fitted_at = nn.Parameter(torch.tensor(FIRST, dtype=torch.float64))


def walk(
    divergence: Mapping[float, float], *, noise: float = 0.1, entropy: Callable[[float], float] = float
) -> tuple[EntropyPath, Fake, list[tuple[float, float]]]:
    """Walk over λ with these divergences (NaN: its training diverges); also which fit began at which."""
    model, rows, moves = Fake(), 400, []
    noise_of_rows = torch.randn(rows, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def refit(weight: float) -> list[History]:
        moves.append((model.fitted_at.item(), weight))
        with torch.no_grad():
            model.fitted_at.fill_(weight)
        if np.isnan(divergence[weight]):
            raise TrainingDivergedError("no number")
        return [History(f"λ = {weight:g}")]

    def judge() -> Figures:
        at = model.fitted_at.item()
        # An even function of the rows' noise: the mean over rows is the divergence, the spread grows with λ.
        own = (noise_of_rows - noise_of_rows.mean()) * noise * at / FIRST
        return Figures(divergence[at] + 10 * noise_of_rows + own, entropy(at), columns=10)

    return walk_entropies(model, refit, judge), model, moves


FLAT = dict.fromkeys((*BELOW, FIRST, *ABOVE), 0.0)


def chosen(path: EntropyPath) -> EntropyStep:
    (step,) = [step for step in path.steps if step.chosen]
    return step


def test_where_validity_is_the_same_everywhere_the_most_power_wins() -> None:
    path, model, moves = walk(FLAT)
    assert chosen(path).entropy == model.fitted_at.item() == ABOVE[-1]
    # each begins at its neighbour; what is below does not help, so only one is tried
    assert moves == [(FIRST, FIRST), (FIRST, 0.001), (FIRST, 0.03), (0.03, 0.1), (0.1, 0.3)]
    assert [history.stage for history in path.history] == [f"λ = {entropy:g}" for _, entropy in moves]


def test_the_walk_goes_up_no_further_than_validity_goes() -> None:
    path, model, _ = walk(FLAT | {0.1: 1.0, 0.3: 0.0})
    assert [step.entropy for step in path.steps] == [0.001, 0.01, 0.03, 0.1]
    assert chosen(path).entropy == model.fitted_at.item() == 0.03
    assert not path.steps[-1].admissible


def test_where_less_entropy_is_more_valid_the_walk_goes_down_only() -> None:
    path, model, moves = walk({0.0: 0.0, 0.001: 1.0, FIRST: 2.0, 0.03: 0.0, 0.1: 0.0, 0.3: 0.0})
    assert moves == [(FIRST, FIRST), (FIRST, 0.001), (FIRST, 0.0)]
    assert chosen(path).entropy == model.fitted_at.item() == 0.0


def test_differences_are_paired_by_row() -> None:
    """What rows have in common (here a hundred times larger) does not hide what λ does."""
    path, _, _ = walk(FLAT | {0.03: 0.03})
    step = path.steps[-1]
    assert step.entropy == 0.03
    assert step.excess == pytest.approx(0.03, abs=1e-9)
    assert step.standard_error < 0.02
    assert not step.admissible


def test_a_difference_within_one_standard_error_is_let_pass() -> None:
    for excess, expected in ((0.005, 0.03), (0.02, 0.01)):
        path, _, _ = walk(FLAT | {0.03: excess, 0.1: 9.0}, noise=0.1)  # standard error about 0.01
        assert chosen(path).entropy == expected


def test_a_negligible_difference_is_let_pass_however_certain() -> None:
    """Of 10 columns, 0.001 nats."""
    for excess, expected in ((0.0009, 0.03), (0.0011, 0.01)):
        path, _, _ = walk(FLAT | {0.03: excess, 0.1: 9.0}, noise=0.0)
        assert chosen(path).entropy == expected


def test_a_fit_that_diverges_ends_the_walk_and_spoils_nothing() -> None:
    path, model, _ = walk(FLAT | {0.1: np.nan})
    assert chosen(path).entropy == model.fitted_at.item() == 0.03
    path, model, _ = walk(FLAT | {0.001: np.nan, 0.03: np.nan})
    assert [step.entropy for step in path.steps] == [FIRST]
    assert chosen(path).entropy == model.fitted_at.item() == FIRST


def test_of_equal_knockoffs_the_fully_fitted_are_kept() -> None:
    path, model, _ = walk(FLAT, noise=0.0, entropy=lambda _: 1.0)
    assert chosen(path).entropy == model.fitted_at.item() == FIRST


def test_the_reason_has_the_numbers_of_the_choice() -> None:
    path, _, _ = walk(FLAT | {0.1: 0.9})
    for part in ("λ = 0.001, 0.01, 0.03, 0.1", "λ = 0.03 gives", "at λ = 0.1 it is 0.900 ±"):
        assert part in path.reason
    assert path.reason.endswith(".")


@pytest.mark.parametrize("epochs", [2, 3, 4, 10, 60])
def test_all_steps_together_take_no_more_than_a_fit_and_a_half(epochs: int) -> None:
    schedule = Schedule(epochs=60, batch_size=64, patience=4, averaging=0.9)
    phases = [Phase("shared", True, 1e-2, schedule), Phase("own", False, 1e-3, schedule)]
    history = [History("one", held_out=[0.0] * (epochs + 1)), History("two", held_out=[0.0] * (epochs + 1))]
    most = 1 + max(len(BELOW), 1 + len(ABOVE))
    step = step_phase(phases, history, 0.03)
    assert (step.name, step.shared, step.learning_rate) == ("λ = 0.03", True, 1e-2)
    assert step.schedule.epochs >= 1
    assert most * step.schedule.epochs <= 1.5 * 2 * epochs


# -- fits ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return AutoregressiveGaussian(features=5, rho=0.6).sample(400, random_state=1)


@pytest.fixture(scope="module")
def automatic(rows: np.ndarray) -> DDLK:
    return DDLK(entropy="auto", hidden=(8,), knockoff_epochs=6, random_state=0).fit(rows)


def obeys_its_rule(model: DDLK) -> bool:
    path = model.entropy_path_
    admissible = [step for step in path if step.excess <= max(step.standard_error, 1e-4 * model.n_features_in_)]
    (winner,) = [step for step in path if step.chosen]
    return (
        model.entropy_ == winner.entropy
        and admissible == [step for step in path if step.admissible]
        and winner in admissible
        and winner.conditional_entropy == max(step.conditional_entropy for step in admissible)
        and min(step.excess for step in path) == 0
    )


def test_the_chosen_entropy_is_the_one_the_recorded_path_speaks_for(automatic: DDLK) -> None:
    entropies = [step.entropy for step in automatic.entropy_path_]
    assert len(entropies) >= 3
    assert entropies == sorted(entropies)
    assert set(entropies) <= {FIRST, *BELOW, *ABOVE}
    assert obeys_its_rule(automatic)
    assert f"λ = {automatic.entropy_:g} gives" in automatic.entropy_reason_


def test_history_tells_of_the_path(automatic: DDLK) -> None:
    told = [history.stage for history in automatic.history_ if "λ" in history.stage]
    entropies = [step.entropy for step in automatic.entropy_path_]
    assert sorted(told) == sorted(f"q_knockoff (λ = {entropy:g})" for entropy in entropies)
    full = [
        history
        for history in automatic.history_
        if history.stage.startswith("q_knockoff") and history.stage not in told
    ]
    longest = max(1, sum(len(history.held_out) - 1 for history in full) // 4)
    assert all(len(h.held_out) - 1 <= longest for h in automatic.history_ if h.stage in told)


def test_the_model_is_the_one_whose_figures_were_recorded(automatic: DDLK, rows: np.ndarray) -> None:
    """New noise on other rows of the same law agrees with the conditional entropy of the chosen step."""
    x = AutoregressiveGaussian(features=5, rho=0.6).sample(4000, random_state=2)
    z, _ = automatic._joint.to_scale(x)
    figures = held_out_figures(automatic._joint.density, automatic._knockoff, z, torch.arange(5), seed=3)
    (winner,) = [step for step in automatic.entropy_path_ if step.chosen]
    assert figures.conditional_entropy == pytest.approx(winner.conditional_entropy, abs=0.03)


def test_the_path_begins_as_the_fit_with_that_entropy(automatic: DDLK, rows: np.ndarray) -> None:
    fixed = DDLK(entropy=FIRST, hidden=(8,), knockoff_epochs=6, random_state=0).fit(rows)
    for history, begun in zip(fixed.history_, automatic.history_, strict=False):
        np.testing.assert_equal(asdict(history), asdict(begun))
    assert (fixed.entropy_, fixed.entropy_path_) == (FIRST, [])
    assert f"{FIRST:g}" in fixed.entropy_reason_


def test_same_seed_same_bits(automatic: DDLK, rows: np.ndarray) -> None:
    again = DDLK(entropy="auto", hidden=(8,), knockoff_epochs=6, random_state=0).fit(rows)
    assert again.entropy_path_ == automatic.entropy_path_
    assert again.entropy_reason_ == automatic.entropy_reason_
    np.testing.assert_array_equal(again.swap_probability_, automatic.swap_probability_)
    np.testing.assert_array_equal(again.sample(rows), automatic.sample(rows))


def test_model_files_keep_the_path(automatic: DDLK, rows: np.ndarray, tmp_path: Path) -> None:
    automatic.save(tmp_path / "model")
    loaded = DDLK.load(tmp_path / "model")
    assert loaded.entropy == "auto"
    assert loaded.entropy_ == automatic.entropy_
    assert loaded.entropy_path_ == automatic.entropy_path_
    assert loaded.entropy_reason_ == automatic.entropy_reason_
    np.testing.assert_array_equal(loaded.sample(rows), automatic.sample(rows))


def test_files_from_before_the_path_are_read(
    fast_ddlk: Make, rows: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, state = fast_ddlk(entropy=0.2).fit(rows), DDLK._state

    def old_state(model: DDLK) -> tuple[dict, dict]:
        header, arrays = state(model)
        return {k: v for k, v in header.items() if not k.startswith("entropy")}, arrays

    monkeypatch.setattr(DDLK, "_state", old_state)
    model.save(tmp_path / "old")
    loaded = DDLK.load(tmp_path / "old")
    assert (loaded.entropy_, loaded.entropy_path_) == (0.2, [])


def test_the_papers_settings_choose_too(rows: np.ndarray) -> None:
    model = DDLK.paper(entropy="auto", joint_epochs=3, knockoff_epochs=6, random_state=0).fit(rows[:200])
    assert obeys_its_rule(model)
    assert np.isfinite(model.sample(rows)).all()
    assert json.dumps([asdict(step) for step in model.entropy_path_])


def test_without_training_all_is_one(fast_ddlk: Make, rows: np.ndarray) -> None:
    model = fast_ddlk(entropy="auto", knockoff_epochs=0).fit(rows)
    assert model.entropy_ == FIRST
    np.testing.assert_array_equal(model.sample(rows), fast_ddlk(knockoff_epochs=0).fit(rows).sample(rows))


def test_a_single_held_out_row_is_enough_to_go_on(fast_ddlk: Make, rows: np.ndarray) -> None:
    assert obeys_its_rule(fast_ddlk(entropy="auto", validation_fraction=0.001).fit(rows))


def test_more_weight_gives_more_conditional_entropy(rows: np.ndarray) -> None:
    x = AutoregressiveGaussian(features=5, rho=0.6).sample(2000, random_state=2)
    found = []
    for entropy in (0.0, 0.1, 0.3):
        model = DDLK(entropy=entropy, hidden=(8,), knockoff_epochs=10, random_state=0).fit(rows)
        found.append(-model.log_prob(x, model.sample(x)).mean())
    assert found[0] < found[1] < found[2]
    assert found[2] > found[0] + 0.2


@pytest.mark.parametrize("entropy", ["foo", "Auto", "", "0.1"])
def test_words_other_than_auto_are_refused(rows: np.ndarray, entropy: Any) -> None:
    with pytest.raises(
        ValueError, match=rf"entropy='{entropy}' is not valid: pass a number at least 0, or 'auto'"
    ):
        DDLK(entropy=entropy).fit(rows)


@pytest.mark.parametrize("entropy", [-0.1, np.nan, None, True, [0.1]])
def test_what_is_no_weight_is_refused(rows: np.ndarray, entropy: Any) -> None:
    with pytest.raises(ValueError, match=r"entropy=.* is not valid: pass a number at least 0"):
        DDLK(entropy=entropy).fit(rows)
