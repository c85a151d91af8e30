"""Laws of the swap loss: what exact and broken Gaussian knockoffs must make of it."""

import numpy as np
import pytest
import torch

from knockoffs.density.stages import swap_loss
from knockoffs.density.starts import LinearConditionals, start_density
from knockoffs.density.swaps import UniformSwaps
from knockoffs.generators.clusters import (
    ClusteredGaussian,
    joint_conditionals,
    knockoff_conditionals,
)
from knockoffs.generators.gaussian import knockoff_gaps
from knockoffs.generators.linear import LinearGaussian

D = 4
MEAN = np.array([0.5, -1.0, 0.0, 2.0])
SCALE = np.array([1.0, 0.5, 2.0, 1.0])
COVARIANCE = 0.7 ** np.abs(np.subtract.outer(np.arange(D), np.arange(D))) * np.outer(SCALE, SCALE)
ROWS = 20_000

pytestmark = pytest.mark.usefixtures("double_precision")


def as_density(start):
    density = start_density(
        start, components=1, hidden=(4,), generator=torch.Generator().manual_seed(0)
    )
    return density.requires_grad_(False)


def true_joint():
    model = LinearGaussian.from_covariance(MEAN, COVARIANCE)
    return as_density(joint_conditionals(ClusteredGaussian.single(model)))


def exact_knockoffs():
    model = LinearGaussian.from_covariance(MEAN, COVARIANCE)
    return as_density(knockoff_conditionals(ClusteredGaussian.single(model)))


def knockoffs_of(mean, covariance):
    """The density of x̃ given x where [x, x̃] is Gaussian with this mean and covariance."""
    both = LinearGaussian.from_covariance(mean, covariance)
    slope = torch.as_tensor(both.slope[None, D:])
    intercept, scale = (
        torch.as_tensor(part[None, D:]) for part in (both.intercept, np.sqrt(both.variance))
    )
    nothing, zero = torch.zeros(1, D, 2 * D), torch.zeros(1, D)
    return as_density(LinearConditionals(slope, intercept, scale, nothing, zero, nothing, zero))


def exact_moments():
    gap = np.diag(knockoff_gaps(COVARIANCE))
    covariance = np.block([[COVARIANCE, COVARIANCE - gap], [COVARIANCE - gap, COVARIANCE]])
    return np.tile(MEAN, 2), covariance


def independent_copies():
    mean, covariance = exact_moments()
    covariance[:D, D:] = covariance[D:, :D] = 0
    return mean, covariance


def permuted_column(column=2):
    """Rows of one column of x̃ in random order: its law is kept,
    its dependence on all else is lost.
    """
    mean, covariance = exact_moments()
    variance = covariance[D + column, D + column]
    covariance[D + column] = covariance[:, D + column] = 0
    covariance[D + column, D + column] = variance
    return mean, covariance


def shifted_column(column=2):
    mean, covariance = exact_moments()
    mean[D + column] += 0.5
    return mean, covariance


def divergence_of_swap(mean, covariance, coordinates):
    """KL(N(m, G) ‖ N(Pm, PGPᵀ)) for the exchange P of these coordinates."""
    order = np.arange(2 * D)
    for j in coordinates:
        order[[j, D + j]] = D + j, j
    other_mean, other = mean[order], covariance[np.ix_(order, order)]
    difference = other_mean - mean
    quadratic = difference @ np.linalg.solve(other, difference)
    return 0.5 * (np.trace(np.linalg.solve(other, covariance)) + quadratic - 2 * D)


def draw(mean, covariance, rows=ROWS, seed=0):
    both = np.random.default_rng(seed).multivariate_normal(mean, covariance, size=rows)
    return torch.as_tensor(both[:, :D]), torch.as_tensor(both[:, D:])


def mask_of(coordinates, rows=ROWS):
    mask = torch.zeros(rows, D)
    mask[:, coordinates] = 1
    return mask


def uniform_mask(rows=ROWS):
    return UniformSwaps(D)(rows, generator=torch.Generator().manual_seed(1))


def test_exact_knockoffs_under_the_true_density_have_no_divergence():
    """Not only on average: the density of [x, x̃] is invariant, so the loss is 0 in every row."""
    x, x_tilde = draw(*exact_moments())
    loss = swap_loss(true_joint(), exact_knockoffs(), x, x_tilde, uniform_mask())
    assert loss.abs().max() < 1e-8
    # They are knockoffs that differ from x: their density is not that of a copy.
    assert (x - x_tilde).abs().mean(0).min() > 0.1


def test_exact_knockoffs_in_single_precision():
    x, x_tilde = draw(*exact_moments())
    densities = true_joint().float(), exact_knockoffs().float()
    loss = swap_loss(*densities, x.float(), x_tilde.float(), uniform_mask().float()).double()
    assert loss.mean().abs() < 1e-4
    assert loss.mean().abs() < 4 * loss.std() / ROWS**0.5 + 1e-6
    assert loss.abs().max() < 1e-3


@pytest.mark.parametrize("coordinates", [[0], [2], [1, 2], [0, 2, 3]])
@pytest.mark.parametrize("moments", [independent_copies, permuted_column, shifted_column])
def test_mean_for_broken_knockoffs_is_the_divergence_from_the_swap(moments, coordinates):
    mean, covariance = moments()
    x, x_tilde = draw(mean, covariance)
    loss = swap_loss(true_joint(), knockoffs_of(mean, covariance), x, x_tilde, mask_of(coordinates))
    expected = divergence_of_swap(mean, covariance, coordinates)
    standard_error = loss.std().item() / ROWS**0.5
    assert loss.mean().item() == pytest.approx(expected, abs=4 * standard_error + 1e-12)


@pytest.mark.parametrize("moments", [independent_copies, permuted_column, shifted_column])
def test_broken_knockoffs_have_a_clear_divergence_under_random_swaps(moments):
    mean, covariance = moments()
    x, x_tilde = draw(mean, covariance)
    loss = swap_loss(true_joint(), knockoffs_of(mean, covariance), x, x_tilde, uniform_mask())
    assert loss.mean() > 10 * loss.std() / ROWS**0.5
    assert loss.mean() > 0.05


@pytest.mark.parametrize("moments", [exact_moments, independent_copies, shifted_column])
def test_swapping_back_changes_the_sign(moments):
    mean, covariance = moments()
    q_joint, q_knockoff = true_joint(), knockoffs_of(mean, covariance)
    x, x_tilde = draw(mean, covariance, rows=50)
    mask = uniform_mask(50)
    u, u_tilde = torch.where(mask == 1, x_tilde, x), torch.where(mask == 1, x, x_tilde)
    there = swap_loss(q_joint, q_knockoff, x, x_tilde, mask)
    back = swap_loss(q_joint, q_knockoff, u, u_tilde, mask)
    torch.testing.assert_close(back, -there, rtol=1e-9, atol=1e-9)
    nothing = swap_loss(q_joint, q_knockoff, x, x_tilde, torch.zeros_like(mask))
    torch.testing.assert_close(nothing, torch.zeros(50), rtol=0, atol=1e-12)


@pytest.mark.parametrize("entropy", [0.01, 0.1, 2.0])
def test_entropy_term_is_the_log_density_of_the_knockoff(entropy):
    q_joint, q_knockoff = true_joint(), knockoffs_of(*independent_copies())
    x, x_tilde = draw(*independent_copies(), rows=50)
    mask = uniform_mask(50)
    without, with_entropy = (
        swap_loss(q_joint, q_knockoff, x, x_tilde, mask, e) for e in (0.0, entropy)
    )
    expected = entropy * q_knockoff.log_prob(x_tilde, x)
    assert expected.abs().min() > 0
    torch.testing.assert_close(with_entropy - without, expected, rtol=1e-9, atol=1e-9)
