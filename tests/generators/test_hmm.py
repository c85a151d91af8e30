"""Hidden Markov model knockoffs: posteriors, densities and swaps by enumeration, EM,
tables of few values.
"""

from __future__ import annotations

from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from knockoffs import HMMKnockoffs, KnockoffWarning, load_generator
from knockoffs.generators.compared.hmm_model import (
    PSEUDO_COUNT,
    CategoricalEmissions,
    GaussianEmissions,
    HiddenMarkovModel,
    fit_hmm,
)
from knockoffs.generators.markov import draw_states

from .markov_law import markov_knockoff_log_prob


def laws(rng: np.random.Generator, *shape: int) -> np.ndarray:
    weight = rng.gamma(1.0, size=shape)
    return weight / weight.sum(-1, keepdims=True)


def categorical_model(states: int, values: int, places: int, seed: int = 0) -> HiddenMarkovModel:
    rng = np.random.default_rng(seed)
    return HiddenMarkovModel(
        laws(rng, states),
        laws(rng, places - 1, states, states),
        CategoricalEmissions(laws(rng, places, states, values)),
    )


def gaussian_model(
    states: int, places: int, seed: int = 0, apart: float = 3.0
) -> HiddenMarkovModel:
    rng = np.random.default_rng(seed)
    stay = 0.8 * np.eye(states) + 0.2 / states
    mean = apart * np.arange(states) + rng.normal(size=(places, states))
    return HiddenMarkovModel(
        laws(rng, states),
        np.repeat(stay[None], places - 1, axis=0),
        GaussianEmissions(mean, rng.uniform(0.5, 1.5, size=(places, states))),
    )


def rows_of(model: HiddenMarkovModel, rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    places = len(model.transitions) + 1
    z = np.empty((rows, places), dtype=np.intp)
    z[:, 0] = rng.choice(len(model.initial), size=rows, p=model.initial)
    for j in range(1, places):
        z[:, j] = draw_states(model.transitions[j - 1][z[:, j - 1]], rng.random(rows))
    return model.emissions.draw(z, rng)


def words(letters: int, places: int) -> np.ndarray:
    return np.array(list(product(range(letters), repeat=places)))


def brute_joint(model: HiddenMarkovModel, x: np.ndarray) -> np.ndarray:
    """P(x, z) for each row of x and each sequence of states."""
    z = words(len(model.initial), x.shape[1])
    prior = model.initial[z[:, 0]] * np.prod(
        [model.transitions[j][z[:, j], z[:, j + 1]] for j in range(x.shape[1] - 1)], axis=0
    )
    if isinstance(model.emissions, CategoricalEmissions):
        cells = [
            model.emissions.chance[j][z[:, j]][:, x[:, j].astype(int)] for j in range(x.shape[1])
        ]
    else:
        mean, deviation = model.emissions.mean, model.emissions.deviation
        cells = [
            norm.pdf(x[:, j], mean[j, z[:, j], None], deviation[j, z[:, j], None])
            for j in range(x.shape[1])
        ]
    return (prior[:, None] * np.prod(cells, axis=0)).T


# the model
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("states", "values", "places"), [(2, 2, 3), (2, 3, 3), (3, 2, 4)])
def test_the_categorical_density_is_the_sum_over_all_states_and_sums_to_one(
    states: int, values: int, places: int
) -> None:
    model = categorical_model(states, values, places)
    x = words(values, places).astype(np.float64)
    found = np.exp(model.log_prob(x))
    np.testing.assert_allclose(found, brute_joint(model, x).sum(1), rtol=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-12)


def test_the_gaussian_density_is_the_sum_over_all_states() -> None:
    model = gaussian_model(3, 4)
    x = rows_of(model, 50)
    np.testing.assert_allclose(np.exp(model.log_prob(x)), brute_joint(model, x).sum(1), rtol=1e-10)


def test_the_gaussian_density_integrates_to_one() -> None:
    model = gaussian_model(2, 2)
    axis = np.linspace(-9, 14, 461)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(model.log_prob(grid)).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(
        1, abs=1e-6
    )


def test_rows_far_from_all_states_keep_their_density() -> None:
    model = gaussian_model(2, 3)
    x = np.array([[1e4, -1e4, 0.0], [80.0, 80.0, 80.0]])
    emitted = norm.logpdf(x[:, :, None], model.emissions.mean, model.emissions.deviation)
    z = words(2, 3)
    prior = np.log(model.initial[z[:, 0]]) + sum(
        np.log(model.transitions[j][z[:, j], z[:, j + 1]]) for j in (0, 1)
    )
    expected = np.logaddexp.reduce(prior + sum(emitted[:, j, z[:, j]] for j in range(3)), axis=1)
    np.testing.assert_allclose(model.log_prob(x), expected, rtol=1e-9)


def test_rows_far_from_the_states_that_a_model_allows_keep_their_density() -> None:
    """The state that explains a cell best is impossible there;
    the possible one is 60 deviations away.
    """
    chance = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    mean = np.array([[0.0, 60.0]] * 3)
    model = HiddenMarkovModel(
        np.array([1.0, 0.0]), chance, GaussianEmissions(mean, np.ones((3, 2)))
    )
    x = np.array([[60.0, 0.0, 0.0]])
    assert model.log_prob(x)[0] == pytest.approx(norm.logpdf(x).sum(), rel=1e-9)
    np.testing.assert_array_equal(model.draw_states(x, np.full((1, 3), 0.5)), [[0, 0, 0]])


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_states_are_drawn_from_their_posterior(kind: str) -> None:
    model = categorical_model(2, 3, 3) if kind == "categorical" else gaussian_model(2, 3, apart=1.0)
    x, z, count = rows_of(model, 6, seed=3), words(2, 3), 20_000
    joint = brute_joint(model, x)
    for row, weight in zip(x, joint, strict=True):
        expected = weight / weight.sum()
        uniform = np.random.default_rng(1).random((count, 3))
        drawn = model.draw_states(np.repeat(row[None], count, axis=0), uniform)
        found = np.bincount(drawn @ [4, 2, 1], minlength=len(z)) / count
        assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / count)).all()


def test_emissions_are_drawn_from_their_law() -> None:
    rng, rows = np.random.default_rng(0), 40_000
    model = categorical_model(2, 3, 2)
    gaussian = gaussian_model(2, 2)
    for state in (0, 1):
        states = np.full((rows, 2), state)
        codes = model.emissions.draw(states, rng)
        drawn = gaussian.emissions.draw(states, rng)
        for j in (0, 1):
            chance = model.emissions.chance[j, state]
            found = np.bincount(codes[:, j].astype(int), minlength=3) / rows
            assert (np.abs(found - chance) < 5 * np.sqrt(chance * (1 - chance) / rows)).all()
            mean, deviation = (
                gaussian.emissions.mean[j, state],
                gaussian.emissions.deviation[j, state],
            )
            assert abs(drawn[:, j].mean() - mean) < 5 * deviation / np.sqrt(rows)
            assert abs(drawn[:, j].std() / deviation - 1) < 5 / np.sqrt(2 * rows)


# the swap property
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_no_swap_changes_the_joint_law_of_rows_and_knockoffs(values: int, seed: int) -> None:
    """P(x, x̃) = Σ P(x, z) P(z̃ | z) P(x̃ | z̃), all of it from the parts that HMMKnockoffs is made
    of.
    """
    places, states = 3, 2
    model = categorical_model(states, values, places, seed)
    z, x = words(states, places), words(values, places).astype(np.float64)
    with_states = brute_joint(model, x)  # [x, z]
    chain_law = np.stack(
        [
            np.exp(
                markov_knockoff_log_prob(
                    model.initial, model.transitions, np.repeat(row[None], len(z), 0), z
                )
            )
            for row in z
        ]
    )  # [z, z̃]
    # [z̃, x̃]
    emitted = np.stack(
        [np.exp(model.emissions.log_prob(x)[:, range(places), row].sum(1)) for row in z]
    )
    joint = (with_states @ chain_law @ emitted).reshape((values,) * (2 * places))
    assert joint.sum() == pytest.approx(1, abs=1e-12)
    for swapped in chain.from_iterable(
        combinations(range(places), size) for size in range(places + 1)
    ):
        axes = np.arange(2 * places)
        for j in swapped:
            axes[[j, j + places]] = j + places, j
        np.testing.assert_allclose(
            joint.transpose(axes), joint, atol=1e-13, err_msg=f"swap of {swapped}"
        )


def joint_frequencies(x: np.ndarray, x_tilde: np.ndarray, values: int) -> np.ndarray:
    both = np.hstack([x, x_tilde]).astype(int)
    code = both @ values ** np.arange(both.shape[1])
    counts = np.bincount(code, minlength=values ** both.shape[1]).astype(float)
    return counts.reshape((values,) * both.shape[1]).T  # axis j is column j


def test_knockoffs_of_the_true_categorical_model_are_swap_symmetric() -> None:
    """Counts of a cell and of its swap have equal means:
    their standardised difference is a normal number.
    """
    rows, places, values = 60_000, 3, 2
    model = categorical_model(2, values, places, seed=4)
    x = rows_of(model, rows)
    generator = HMMKnockoffs(emissions="categorical", model=model, random_state=0).fit(x)
    counts = joint_frequencies(x, generator.sample(x), values)
    expected = np.exp(model.log_prob(words(values, places).astype(float))) * rows
    knockoffs = counts.reshape(values**places, -1).sum(0)
    assert (np.abs(knockoffs - expected) < 5 * np.sqrt(expected)).all()
    for swapped in ([0], [1], [2], [0, 2], [0, 1, 2]):
        axes = np.arange(2 * places)
        for j in swapped:
            axes[[j, j + places]] = j + places, j
        other = counts.transpose(axes)
        assert (np.abs(counts - other) <= 4.5 * np.sqrt(np.maximum(counts + other, 1))).all(), (
            swapped
        )


def test_knockoffs_of_the_true_gaussian_model_have_the_moments_of_their_rows() -> None:
    rows, places = 40_000, 4
    model = gaussian_model(3, places)
    x = rows_of(model, rows)
    x_tilde = HMMKnockoffs(model=model, random_state=0).fit(x).sample(x)
    scale = x.std(0)
    u, u_tilde = (x - x.mean(0)) / scale, (x_tilde - x.mean(0)) / scale
    # Functions of a pair of columns, before and after swaps: paired differences have mean 0.
    for i in range(places):
        for difference in (
            u[:, i] - u_tilde[:, i],
            u[:, i] ** 2 - u_tilde[:, i] ** 2,
            u[:, i] ** 3 - u_tilde[:, i] ** 3,
        ):
            assert abs(difference.mean()) < 4.5 * difference.std() / np.sqrt(rows)
        for j in range(i):
            for other in (
                u_tilde[:, i] * u_tilde[:, j],
                u[:, i] * u_tilde[:, j],
                u_tilde[:, i] * u[:, j],
            ):
                difference = u[:, i] * u[:, j] - other
                assert abs(difference.mean()) < 4.5 * difference.std() / np.sqrt(rows), (i, j)


# EM
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
@pytest.mark.parametrize("seed", range(3))
def test_em_never_loses_likelihood_and_gains_on_its_start(kind: str, seed: int) -> None:
    true = categorical_model(2, 3, 6, seed) if kind == "categorical" else gaussian_model(2, 6, seed)
    x = rows_of(true, 800, seed)
    values = 3 if kind == "categorical" else None
    model, path = fit_hmm(x, 2, values, iterations=60, rng=np.random.default_rng(0), tol=1e-7)
    # Pseudo-counts pull towards even laws, by about their number over that of the rows.
    assert (np.diff(path) > -20 * PSEUDO_COUNT / len(x)).all()
    assert path[-1] > path[0]
    assert model.log_prob(x).mean() >= path[-1] - 20 * PSEUDO_COUNT / len(x)
    # Twenty or so parameters fit the noise of these rows, too: in-sample EM ends no lower than the
    # truth.
    assert path[-1] > true.log_prob(x).mean() - 0.02


def test_em_finds_states_that_are_far_apart() -> None:
    true = gaussian_model(2, 6, apart=8.0)
    x = rows_of(true, 2000)
    model, _ = fit_hmm(x, 2, None, iterations=60, rng=np.random.default_rng(0))
    np.testing.assert_allclose(model.emissions.mean, true.emissions.mean, atol=0.2)
    np.testing.assert_allclose(model.emissions.deviation, true.emissions.deviation, rtol=0.15)
    np.testing.assert_allclose(model.transitions, true.transitions, atol=0.06)
    np.testing.assert_allclose(model.initial, true.initial, atol=0.05)
    fresh = rows_of(true, 4000, seed=9)
    assert model.log_prob(fresh).mean() == pytest.approx(true.log_prob(fresh).mean(), abs=0.03)


def test_one_state_is_independent_columns() -> None:
    x = np.random.default_rng(0).normal([1.0, -2.0, 5.0], [1.0, 3.0, 0.2], size=(300, 3))
    model, _ = fit_hmm(x, 1, None, iterations=5, rng=np.random.default_rng(0))
    np.testing.assert_allclose(model.emissions.mean[:, 0], x.mean(0))
    np.testing.assert_allclose(model.emissions.deviation[:, 0], x.std(0), rtol=1e-6)
    np.testing.assert_allclose(
        model.log_prob(x), norm.logpdf(x, x.mean(0), x.std(0)).sum(1), rtol=1e-6
    )


@pytest.mark.parametrize("shift", [1e6, 1e8, 1.7e9])
def test_where_a_column_lies_does_not_matter_to_em(shift: float) -> None:
    """Such as seconds since 1970: far from 0 by many deviations, which squares would lose."""
    x = rows_of(gaussian_model(2, 4, apart=4.0), 400)
    fits = [
        fit_hmm(t, 2, None, iterations=20, rng=np.random.default_rng(0)) for t in (x, (x + shift))
    ]
    (model, path), (moved, moved_path) = fits
    np.testing.assert_allclose(moved.emissions.deviation, model.emissions.deviation, rtol=1e-3)
    np.testing.assert_allclose(moved.emissions.mean - shift, model.emissions.mean, atol=1e-3)
    assert moved_path[-1] == pytest.approx(path[-1], abs=1e-3)


def test_the_log_likelihood_reported_is_that_of_the_model() -> None:
    x = rows_of(gaussian_model(2, 5, apart=6.0), 300)
    generator = HMMKnockoffs(states=2, iterations=200, random_state=0).fit(x)
    assert len(generator.log_likelihood_) < 200  # EM came to rest
    assert generator.model_.log_prob(x).mean() == pytest.approx(
        generator.log_likelihood_[-1], abs=1e-9
    )


# the generator
# --------------------------------------------------------------------------------------------------

MODEL = categorical_model(2, 3, 4, seed=2)
CODES = rows_of(MODEL, 400)
GENOTYPES = pd.DataFrame(CODES.astype(int), columns=["rs1", "rs2", "rs3", "rs4"])


def test_categorical_tables_need_no_warning_and_keep_their_values() -> None:
    """Warnings are errors in the tests, so that it is silent is tested as well."""
    levels = np.array([-1, 4, 10])
    table = pd.DataFrame(levels[GENOTYPES.to_numpy()], columns=GENOTYPES.columns)
    generator = HMMKnockoffs(states=2, emissions="categorical", iterations=20, random_state=0).fit(
        table
    )
    drawn = generator.sample(table)
    assert set(np.unique(drawn)) == set(levels)
    plain = HMMKnockoffs(states=2, emissions="categorical", iterations=20, random_state=0).fit(
        GENOTYPES
    )
    np.testing.assert_array_equal(levels[plain.sample(GENOTYPES).to_numpy()], drawn.to_numpy())


def test_gaussian_emissions_are_those_of_latents_where_columns_have_few_values() -> None:
    drawn = HMMKnockoffs(states=2, iterations=2, random_state=0).fit(GENOTYPES).sample(GENOTYPES)
    assert set(np.unique(drawn)) <= set(np.unique(GENOTYPES))


def test_values_that_a_column_lacks_are_never_drawn_for_it() -> None:
    table = GENOTYPES.copy()
    table["rs2"] = table["rs2"].clip(upper=1)
    generator = HMMKnockoffs(states=2, emissions="categorical", iterations=10, random_state=0).fit(
        table
    )
    drawn = generator.sample(pd.concat([table] * 10))
    assert set(drawn["rs2"]) == {0, 1}
    assert set(drawn["rs1"]) == {0, 1, 2}


def test_a_fitted_categorical_model_draws_the_margins_of_the_table() -> None:
    x = rows_of(MODEL, 3000, seed=1)
    drawn = HMMKnockoffs(states=2, emissions="categorical", random_state=0).fit(x).sample(x)
    for j in range(4):
        found, expected = (
            np.bincount(t[:, j].astype(int), minlength=3) / len(x) for t in (drawn, x)
        )
        assert (np.abs(found - expected) < 0.04).all()


def test_too_many_values_for_categorical_emissions() -> None:
    whole = GENOTYPES.assign(rs3=np.arange(len(GENOTYPES)) % 51)
    continuous = GENOTYPES.assign(rs3=np.random.default_rng(0).normal(size=len(GENOTYPES)))
    for table in (whole, continuous):
        with pytest.raises(
            ValueError, match=r"column 'rs3' has more than 50 values.*Pass emissions=.gaussian."
        ):
            HMMKnockoffs(emissions="categorical").fit(table)
    fine = GENOTYPES.assign(rs3=np.arange(len(GENOTYPES)) % 50)
    HMMKnockoffs(2, "categorical", iterations=2, random_state=0).fit(fine)


@pytest.mark.parametrize("value", [-1, 1.5, 3, 99])
def test_values_that_the_fit_did_not_see(value: float) -> None:
    generator = HMMKnockoffs(2, "categorical", iterations=2, random_state=0).fit(
        GENOTYPES.astype(float)
    )
    table = GENOTYPES.astype(float)
    table.loc[3, "rs4"] = value
    with pytest.warns(
        KnockoffWarning,
        match=r"column 'rs4' \(1: .*\): cells with a value that the fit has not seen",
    ):
        knockoffs = generator.sample(table)
    assert knockoffs.loc[3, "rs4"] == value
    assert knockoffs.drop(index=3)["rs4"].isin(GENOTYPES["rs4"]).all()


BAD_MODELS: dict[str, tuple[HiddenMarkovModel, str]] = {
    "places": (categorical_model(2, 3, 3), "model has 3 places.*4 columns"),
    "kind": (gaussian_model(2, 4), "GaussianEmissions.*emissions='categorical'"),
    "more values than the table": (categorical_model(2, 4, 4), "model.*values"),
    "fewer values than the table": (categorical_model(2, 2, 4), "model.*values"),
}


@pytest.mark.parametrize(("model", "said"), BAD_MODELS.values(), ids=BAD_MODELS.keys())
def test_a_model_that_does_not_fit_the_table(model: HiddenMarkovModel, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HMMKnockoffs(emissions="categorical", model=model, random_state=0).fit(GENOTYPES).sample(
            GENOTYPES
        )


def test_rows_that_a_given_model_rules_out_are_named_rather_than_guessed() -> None:
    chance = np.repeat(np.array([[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]]), 4, axis=0)
    stuck = HiddenMarkovModel(
        np.array([0.5, 0.5]), np.stack([np.eye(2)] * 3), CategoricalEmissions(chance)
    )
    x = rows_of(stuck, 300)
    generator = HMMKnockoffs(emissions="categorical", model=stuck, random_state=0).fit(x)
    generator.sample(x)
    with pytest.raises(ValueError, match="model"):
        generator.sample(np.array([[0.0, 2.0, 0.0, 2.0]] * 3))


BAD_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "no states": ({"states": 0}, "states=0 is not valid.*at least 1"),
    "half a state": ({"states": 2.5}, "states=2.5 is not valid"),
    "no iterations": ({"iterations": 0}, "iterations=0 is not valid"),
    "emissions": (
        {"emissions": "poisson"},
        "emissions='poisson' is not valid.*'gaussian', 'categorical'",
    ),
}


@pytest.mark.parametrize(("settings", "said"), BAD_SETTINGS.values(), ids=BAD_SETTINGS.keys())
def test_bad_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HMMKnockoffs(**settings).fit(GENOTYPES)


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_a_given_model_survives_files(kind: str, tmp_path: Path) -> None:
    model = MODEL if kind == "categorical" else gaussian_model(2, 4)
    x = rows_of(model, 200)
    generator = HMMKnockoffs(emissions=kind, model=model, random_state=3).fit(x)
    expected = generator.sample(x, n_draws=2)
    generator.save(tmp_path / "first")
    loaded = HMMKnockoffs.load(tmp_path / "first")
    loaded.save(tmp_path / "second")
    for other in (loaded, load_generator(tmp_path / "second")):
        assert isinstance(other, HMMKnockoffs)
        np.testing.assert_array_equal(other.sample(x, n_draws=2), expected)
        for name, value in model.arrays().items():
            np.testing.assert_array_equal(other.model_.arrays()[name], value)
        assert type(other.model_.emissions) is type(model.emissions)


def test_a_fitted_model_survives_files(tmp_path: Path) -> None:
    generator = HMMKnockoffs(2, "categorical", iterations=6, random_state=3).fit(GENOTYPES)
    generator.save(tmp_path / "model")
    loaded = HMMKnockoffs.load(tmp_path / "model")
    assert loaded.log_likelihood_ == generator.log_likelihood_
    pd.testing.assert_frame_equal(loaded.sample(GENOTYPES), generator.sample(GENOTYPES))
    with pytest.warns(KnockoffWarning, match="has not seen"):
        loaded.sample(GENOTYPES.replace(2, 7))


def test_a_given_model_whose_probabilities_do_not_add_up_is_refused() -> None:
    model = gaussian_model(2, 4)
    x = rows_of(model, 60)
    assert isinstance(model.emissions, GaussianEmissions)
    flat = GaussianEmissions(model.emissions.mean, 0 * model.emissions.deviation)
    for wrong, said in (
        (
            HiddenMarkovModel(2 * model.initial, model.transitions, model.emissions),
            "probabilities in initial",
        ),
        (
            HiddenMarkovModel(model.initial, -model.transitions, model.emissions),
            "probabilities in transitions",
        ),
        (
            HiddenMarkovModel(model.initial, model.transitions, flat),
            r"emissions\.deviation must be above 0",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            HMMKnockoffs(model=wrong).fit(x)
