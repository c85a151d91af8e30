"""Markov chain knockoffs: the laws hold exactly, by enumeration of all chains."""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np
import pytest

from knockoffs.generators.markov import draw_states, markov_knockoffs

from .markov_law import markov_knockoff_log_prob

CASES = [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4)]  # states, places


def random_chain(
    states: int, places: int, seed: int, zeros: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Initial law and transitions, different at each place;
    about a share `zeros` of them impossible.
    """
    rng = np.random.default_rng(seed)

    def law(*shape: int) -> np.ndarray:
        weight = rng.gamma(0.7, size=shape) * (rng.random(shape) >= zeros)
        # At least one state remains possible.
        weight[..., 0] += (weight.sum(-1) == 0).astype(float)
        return weight / weight.sum(-1, keepdims=True)

    return law(states), law(places - 1, states, states)


def all_words(states: int, places: int) -> np.ndarray:
    return np.array(list(product(range(states), repeat=places)))


def chain_prob(initial: np.ndarray, transitions: np.ndarray, z: np.ndarray) -> np.ndarray:
    steps = [transitions[j][z[:, j], z[:, j + 1]] for j in range(z.shape[1] - 1)]
    return initial[z[:, 0]] * np.prod(steps, axis=0)


def joint_table(initial: np.ndarray, transitions: np.ndarray, places: int) -> np.ndarray:
    """P(z, z̃) as an array with an axis for each place of z and then of z̃."""
    states = len(initial)
    words = all_words(states, places)
    prior = chain_prob(initial, transitions, words)
    joint = np.zeros((len(words), len(words)))
    for i in np.flatnonzero(prior > 0):
        z = np.repeat(words[i : i + 1], len(words), axis=0)
        joint[i] = prior[i] * np.exp(markov_knockoff_log_prob(initial, transitions, z, words))
    return joint.reshape((states,) * (2 * places))


def subsets(places: int) -> list[tuple[int, ...]]:
    return list(
        chain.from_iterable(combinations(range(places), size) for size in range(places + 1))
    )


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("states", "places"), CASES)
def test_no_swap_changes_the_joint_law(states: int, places: int, seed: int, zeros: float) -> None:
    initial, transitions = random_chain(states, places, seed, zeros)
    joint = joint_table(initial, transitions, places)
    for swapped in subsets(places):
        axes = np.arange(2 * places)
        for j in swapped:
            axes[[j, j + places]] = j + places, j
        np.testing.assert_allclose(
            joint.transpose(axes), joint, atol=1e-13, err_msg=f"swap of {swapped}"
        )


@pytest.mark.parametrize("zeros", [0.0, 0.5])
@pytest.mark.parametrize(("states", "places"), CASES)
def test_the_law_given_a_chain_sums_to_one(states: int, places: int, zeros: float) -> None:
    initial, transitions = random_chain(states, places, seed=4, zeros=zeros)
    joint = joint_table(initial, transitions, places)
    given = joint.reshape(states**places, -1).sum(1)
    prior = chain_prob(initial, transitions, all_words(states, places))
    np.testing.assert_allclose(given, prior, atol=1e-13)
    assert given.sum() == pytest.approx(1, abs=1e-12)


def test_knockoffs_have_the_law_of_the_chain_and_are_no_copies() -> None:
    initial, transitions = random_chain(3, 4, seed=1)
    joint = joint_table(initial, transitions, 4).reshape(81, 81)
    np.testing.assert_allclose(joint.sum(0), joint.sum(1), atol=1e-13)
    assert np.trace(joint) < 0.6  # P(z̃ = z)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize(("states", "places"), [(2, 3), (3, 3)])
def test_draws_have_the_probabilities_that_the_law_says(
    states: int, places: int, zeros: float
) -> None:
    initial, transitions = random_chain(states, places, seed=2, zeros=zeros)
    words = all_words(states, places)
    possible = words[chain_prob(initial, transitions, words) > 0]
    rows = 20_000
    for number, word in enumerate(possible[:6]):
        z = np.repeat(word[None], rows, axis=0)
        uniform = np.random.default_rng(number).random(z.shape)
        drawn = markov_knockoffs(initial, transitions, z, uniform)
        found = np.bincount(drawn @ states ** np.arange(places)[::-1], minlength=len(words)) / rows
        expected = np.exp(
            markov_knockoff_log_prob(
                initial, transitions, np.repeat(word[None], len(words), axis=0), words
            )
        )
        error = np.sqrt(expected * (1 - expected) / rows)
        assert (np.abs(found - expected) <= 5 * error + 1e-12).all(), word


def test_independent_places_give_independent_knockoffs() -> None:
    """Where neighbours tell nothing of each other,
    z̃ is a fresh draw of the chain whatever z is.
    """
    laws = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
    transitions = np.repeat(laws[1:, None], 3, axis=1)
    words = all_words(3, 3)
    expected = chain_prob(laws[0], transitions, words)
    for word in words[::5]:
        given = markov_knockoff_log_prob(
            laws[0], transitions, np.repeat(word[None], 27, axis=0), words
        )
        np.testing.assert_allclose(np.exp(given), expected, atol=1e-14)


def test_a_chain_that_cannot_do_otherwise_is_copied() -> None:
    """Identity transitions: all places are equal, so any z̃ but a copy breaks a swap."""
    transitions = np.repeat(np.eye(3)[None], 4, axis=0)
    z = np.repeat(np.arange(3)[:, None], 5, axis=1)
    drawn = markov_knockoffs(
        np.full(3, 1 / 3), transitions, z, np.random.default_rng(0).random(z.shape)
    )
    np.testing.assert_array_equal(drawn, z)


def test_long_chains_keep_their_digits() -> None:
    """The swap property of single places in a chain of 400, with transitions down to 1e-12."""
    rng = np.random.default_rng(0)
    states, places = 4, 400
    weight = 10.0 ** rng.uniform(-12, 0, size=(places - 1, states, states))
    transitions = weight / weight.sum(2, keepdims=True)
    initial = np.full(states, 1 / states)
    z = np.zeros((50, places), dtype=np.intp)
    for j in range(1, places):
        z[:, j] = draw_states(transitions[j - 1][z[:, j - 1]], rng.random(50))
    z_tilde = markov_knockoffs(initial, transitions, z, rng.random(z.shape))

    def log_joint(z: np.ndarray, z_tilde: np.ndarray) -> np.ndarray:
        steps = [np.log(transitions[j][z[:, j], z[:, j + 1]]) for j in range(places - 1)]
        prior = np.log(initial[z[:, 0]]) + np.sum(steps, axis=0)
        return prior + markov_knockoff_log_prob(initial, transitions, z, z_tilde)

    before = log_joint(z, z_tilde)
    assert np.isfinite(before).all()
    for swapped in (
        slice(0, 1),
        slice(200, 201),
        slice(399, 400),
        slice(0, places, 2),
        slice(None),
    ):
        u, u_tilde = z.copy(), z_tilde.copy()
        u[:, swapped], u_tilde[:, swapped] = z_tilde[:, swapped], z[:, swapped]
        np.testing.assert_allclose(log_joint(u, u_tilde), before, rtol=1e-9)


def test_a_rows_knockoff_depends_on_that_row_only() -> None:
    initial, transitions = random_chain(3, 4, seed=5)
    rng = np.random.default_rng(1)
    z, uniform = rng.integers(3, size=(40, 4)), rng.random((40, 4))
    whole = markov_knockoffs(initial, transitions, z, uniform)
    np.testing.assert_array_equal(
        markov_knockoffs(initial, transitions, z[7:9], uniform[7:9]), whole[7:9]
    )


def test_states_are_drawn_by_inversion() -> None:
    """Evenly spaced numbers hit each state as often as its chance says, to within one."""
    chance = np.array([0.15, 0.0, 0.5, 0.35])
    points = 2000
    uniform = (np.arange(points) + 0.5) / points
    drawn = draw_states(np.repeat(chance[None], points, axis=0), uniform)
    np.testing.assert_allclose(np.bincount(drawn, minlength=4), points * chance, atol=1.5)


def test_states_without_a_chance_are_never_drawn() -> None:
    """Not even by the smallest and the largest random numbers there are."""
    for chance in ([0.0, 0.5, 0.5], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]):
        for uniform in (0.0, 0.5, np.nextafter(1.0, 0.0)):
            state = draw_states(np.array([chance]), np.array([uniform]))[0]
            assert chance[state] > 0, (chance, uniform)
