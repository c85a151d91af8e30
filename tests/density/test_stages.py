"""Laws of the two stages, on small tables."""

import numpy as np
import pytest
import torch

from knockoffs.density.density import Noise
from knockoffs.density.stages import (
    Phase,
    fit_joint,
    fit_knockoff,
    negative_log_likelihood,
    smallest_gain,
    swap_loss,
)
from knockoffs.density.starts import (
    LinearConditionals,
    network_weights,
    random_density,
    start_density,
)
from knockoffs.density.swaps import GumbelSwaps, UniformSwaps
from knockoffs.density.training import Schedule
from knockoffs.generators.clusters import (
    ClusteredGaussian,
    joint_conditionals,
    knockoff_conditionals,
)
from knockoffs.generators.linear import LinearGaussian

D = 3


def phase(name="own networks", *, shared=False, learning_rate=5e-3, epochs=6, averaging=0.9):
    return Phase(
        name,
        shared,
        learning_rate,
        Schedule(epochs, batch_size=64, patience=epochs, averaging=averaging),
    )


TWO_PHASES = [phase("shared network", shared=True), phase(learning_rate=5e-4)]


def curved(rows, seed):
    """x_1 normal, x_2 a parabola of it, x_3 with a spread that follows x_1;
    mean 0 and deviation 1 each.
    """
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, rows))
    x = np.stack([a, (a**2 - 1) / 1.5 + 0.3 * b, c * np.exp(0.8 * a) / 1.9], axis=1)
    return torch.as_tensor(x, dtype=torch.float32)


def one_cluster(x):
    model = LinearGaussian.from_covariance(x.numpy().mean(0), np.cov(x.numpy().T))
    return ClusteredGaussian.single(model)


def linear_start(x, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return start_density(
        joint_conditionals(one_cluster(x)), components=3, hidden=(16, 16), generator=generator
    )


def random_start(x, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return random_density(x.amin(0), x.amax(0), components=3, hidden=(16, 16), generator=generator)


@torch.no_grad()
def mean_nll(density, x):
    return negative_log_likelihood(density, x).mean().item()


def fit_curved(make, phases, seed=0):
    x, held_out = curved(1000, 0), curved(500, 1)
    density = make(x)
    history = fit_joint(
        density, x, held_out, phases=phases, generator=torch.Generator().manual_seed(seed)
    )
    return density, history


def test_fit_joint_learns_curvature_from_a_linear_start():
    start = linear_start(curved(1000, 0))
    density, history = fit_curved(linear_start, TWO_PHASES)
    new = curved(2000, 2)
    assert mean_nll(density, new) < mean_nll(start, new) - 0.3
    for phase_history in history:
        assert phase_history.held_out[phase_history.best_epoch] == min(phase_history.held_out)
    assert history[0].held_out[0] == pytest.approx(mean_nll(start, curved(500, 1)), abs=1e-5)
    # The second phase begins where the first ended, and the density carries the best weights of the
    # second.
    assert history[1].held_out[0] == pytest.approx(min(history[0].held_out), abs=1e-6)
    assert mean_nll(density, curved(500, 1)) == pytest.approx(min(history[1].held_out), abs=1e-6)


def test_fit_joint_learns_from_a_random_start():
    start = random_start(curved(1000, 0))
    density, _ = fit_curved(random_start, [phase(learning_rate=1e-2, averaging=0.0)])
    new = curved(2000, 2)
    assert mean_nll(density, new) < mean_nll(start, new) - 0.3
    # Better than the best Gaussian, which cannot follow a curve.
    assert mean_nll(density, new) < mean_nll(linear_start(curved(1000, 0)), new)


def test_shared_phase_keeps_networks_alike_and_projections_fixed():
    start = linear_start(curved(1000, 0))
    density, _ = fit_curved(linear_start, TWO_PHASES[:1])
    assert torch.equal(density.weight, start.weight)
    assert torch.equal(density.bias, start.bias)
    for weight, before in zip(network_weights(density), network_weights(start), strict=True):
        assert torch.equal(weight, weight[:1].expand_as(weight))
        assert not torch.equal(weight, before)


def test_own_phase_frees_networks_and_projections():
    start = linear_start(curved(1000, 0))
    density, _ = fit_curved(linear_start, TWO_PHASES)
    assert not torch.equal(density.weight, start.weight)
    for weight in network_weights(density):
        assert not torch.equal(weight, weight[:1].expand_as(weight))


def same_bits(first, second):
    return all(
        torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True)
    )


@pytest.mark.parametrize("make", [linear_start, random_start])
def test_same_seed_same_joint_density(make):
    phases = (
        [phase(epochs=2)]
        if make is random_start
        else [phase(shared=True, epochs=2), phase(epochs=2)]
    )
    before = torch.random.get_rng_state()
    (first, history), (second, again), (other, _) = (
        fit_curved(make, phases, seed=seed) for seed in (0, 0, 1)
    )
    assert torch.equal(before, torch.random.get_rng_state())
    assert same_bits(first, second)
    assert not same_bits(first, other)
    assert [h.held_out for h in history] == [h.held_out for h in again]


CORRELATION = 0.6 ** np.abs(np.subtract.outer(np.arange(D), np.arange(D)))


def correlated(rows, seed):
    x = np.random.default_rng(seed).multivariate_normal(np.zeros(D), CORRELATION, size=rows)
    return torch.as_tensor(x, dtype=torch.float32)


def true_model():
    model = LinearGaussian.from_covariance(np.zeros(D), CORRELATION)
    return ClusteredGaussian.single(model)


def true_joint():
    generator = torch.Generator().manual_seed(0)
    return start_density(
        joint_conditionals(true_model()), components=1, hidden=(4,), generator=generator
    )


def exact_start(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return start_density(
        knockoff_conditionals(true_model()), components=2, hidden=(16, 16), generator=generator
    )


def wrong_start(seed=0, *, slope=0.5, scale=0.7):
    """Knockoffs with `slope` times the exact mean and `scale` times the exact width;
    the views are exact.
    """
    exact = knockoff_conditionals(true_model())
    wrong = LinearConditionals(
        slope * exact.slope,
        exact.intercept,
        scale * exact.scale,
        exact.logit_slope,
        exact.logit_intercept,
        exact.seen_slope,
        exact.seen_intercept,
    )
    generator = torch.Generator().manual_seed(seed)
    return start_density(wrong, components=2, hidden=(16, 16), generator=generator)


@torch.no_grad()
def divergence(q_knockoff, rows=4000, seed=7):
    """Under the true density, on new rows, by new draws and fair coins; and its standard error."""
    generator = torch.Generator().manual_seed(seed)
    x = correlated(rows, seed)
    x_tilde = q_knockoff.sample(Noise.draw(rows, D, generator=generator, dtype=x.dtype), x)
    loss = swap_loss(
        true_joint(), q_knockoff, x, x_tilde, UniformSwaps(D)(rows, generator=generator)
    )
    return loss.mean().item(), loss.std().item() / rows**0.5


def fit_correlated(q_knockoff, phases, *, swaps=None, entropy=0.0, seed=0):
    q_joint, swaps = true_joint(), GumbelSwaps(D) if swaps is None else swaps
    history = fit_knockoff(
        q_joint,
        q_knockoff,
        swaps,
        correlated(800, 0),
        correlated(400, 1),
        entropy=entropy,
        swap_learning_rate=1e-2,
        phases=phases,
        generator=torch.Generator().manual_seed(seed),
    )
    assert same_bits(q_joint, true_joint())  # held fixed
    return history


@pytest.mark.parametrize("swaps", [GumbelSwaps, UniformSwaps])
def test_fit_knockoff_lowers_the_divergence_of_a_wrong_start(swaps):
    q_knockoff = wrong_start()
    before, _ = divergence(q_knockoff)
    assert before > 0.3  # else there would be nothing to show
    history = fit_correlated(
        q_knockoff, [phase(shared=True), phase(learning_rate=2e-3)], swaps=swaps(D)
    )
    after, standard_error = divergence(q_knockoff)
    assert after < 0.5 * before
    assert after > -4 * standard_error  # a divergence
    for phase_history in history:
        assert phase_history.held_out[phase_history.best_epoch] == min(phase_history.held_out)


def test_shared_phase_of_stage_two_keeps_networks_alike_and_projections_fixed():
    start, q_knockoff = wrong_start(), wrong_start()
    fit_correlated(q_knockoff, [phase(shared=True, epochs=2)])
    assert torch.equal(q_knockoff.weight, start.weight)
    assert torch.equal(q_knockoff.bias, start.bias)
    for weight, before in zip(network_weights(q_knockoff), network_weights(start), strict=True):
        assert torch.equal(weight, weight[:1].expand_as(weight))
        assert not torch.equal(weight, before)


def test_swaps_climb_towards_the_broken_coordinate():
    """The last knockoff, on which no other depends, is too narrow; q_knockoff does not learn."""
    q_knockoff, swaps = wrong_start(slope=1.0, scale=torch.tensor([1.0, 1.0, 0.3])), GumbelSwaps(D)
    fit_correlated(q_knockoff, [phase(learning_rate=0.0, epochs=4)], swaps=swaps)
    assert swaps.probability()[2] > 0.55
    assert swaps.probability()[2] > swaps.probability()[:2].max()


def test_fit_knockoff_keeps_exact_knockoffs_good():
    q_knockoff = exact_start()
    fit_correlated(q_knockoff, [phase(shared=True, epochs=3), phase(learning_rate=5e-4, epochs=3)])
    after, _ = divergence(q_knockoff)
    assert abs(after) < 0.02


def test_more_entropy_gives_knockoffs_of_higher_entropy():
    def entropy_after(weight):
        q_knockoff = exact_start()
        fit_correlated(q_knockoff, [phase(epochs=4, learning_rate=5e-3)], entropy=weight)
        generator = torch.Generator().manual_seed(9)
        x = correlated(4000, 9)
        with torch.no_grad():
            x_tilde = q_knockoff.sample(Noise.draw(4000, D, generator=generator, dtype=x.dtype), x)
            return -q_knockoff.log_prob(x_tilde, x).mean().item()

    assert entropy_after(0.5) > entropy_after(0.0) + 0.1


def test_same_seed_same_knockoff_density():
    def fit(seed):
        q_knockoff, swaps = wrong_start(), GumbelSwaps(D)
        history = fit_correlated(
            q_knockoff, [phase(shared=True, epochs=2), phase(epochs=1)], swaps=swaps, seed=seed
        )
        return q_knockoff, swaps, [h.held_out for h in history]

    before = torch.random.get_rng_state()
    first, second, other = fit(0), fit(0), fit(1)
    assert torch.equal(before, torch.random.get_rng_state())
    assert same_bits(first[0], second[0])
    assert same_bits(first[1], second[1])
    assert first[2] == second[2]
    assert not same_bits(first[0], other[0])
    assert not torch.equal(first[1].logits, torch.zeros(D))


def test_a_gain_that_columns_share_is_small_for_each_of_them():
    assert smallest_gain(10) == smallest_gain(100) < smallest_gain(1000) == 10 * smallest_gain(100)
