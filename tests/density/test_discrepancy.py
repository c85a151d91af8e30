"""Discrepancies between samples: kernels by their formula, unbiasedness, moments, gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from knockoffs.generators.compared.noise_networks import (
    BANDWIDTHS,
    correlation_loss,
    covariances,
    mean_discrepancy,
    rbf_mixture,
    second_order_loss,
)

pytestmark = pytest.mark.usefixtures("double_precision")


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("widest", [1.0, 8.0, 128.0])
# from 26 rows on, torch computes distances by another formula
@pytest.mark.parametrize("rows", [5, 40])
def test_the_kernel_is_the_mean_of_gaussians_whose_widths_halve(rows: int, widest: float) -> None:
    x, y = normal(rows, 3).numpy(), 2 * normal(rows + 2, 3, seed=1).numpy()
    squared = ((x[:, None] - y[None]) ** 2).sum(2)
    widths = widest / 2.0 ** np.arange(BANDWIDTHS)
    expected = np.mean([np.exp(-squared / (2 * width**2)) for width in widths], axis=0)
    np.testing.assert_allclose(
        rbf_mixture(torch.as_tensor(x), torch.as_tensor(y), widest), expected, atol=1e-10
    )


def test_the_kernel_is_positive_definite_and_one_on_the_diagonal() -> None:
    x = normal(30, 4)
    kernel = rbf_mixture(x, x, 16.0)
    torch.testing.assert_close(kernel.diagonal(), torch.ones(30), atol=1e-7, rtol=0)
    assert torch.linalg.eigvalsh(kernel)[0] > -1e-8


def direct_discrepancy(x: np.ndarray, y: np.ndarray, widest: float) -> float:
    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        widths = widest / 2.0 ** np.arange(BANDWIDTHS)
        return float(np.mean(np.exp(-((a - b) ** 2).sum() / (2 * widths**2))))

    n = len(x)
    within = sum(
        kernel(t[i], t[j]) for t in (x, y) for i in range(n) for j in range(n) if i != j
    ) / (n * (n - 1))
    return within - 2 * sum(kernel(a, b) for a in x for b in y) / n**2


def test_the_mean_discrepancy_is_its_formula() -> None:
    x, y = normal(9, 2), normal(9, 2, seed=1) + 0.5
    found = mean_discrepancy(x, y, widest=4.0).item()
    assert found == pytest.approx(direct_discrepancy(x.numpy(), y.numpy(), 4.0), abs=1e-9)
    assert found == pytest.approx(mean_discrepancy(y, x, widest=4.0).item(), abs=1e-12)


def discrepancies(shift: float, scale: float, rows: int = 20, draws: int = 800) -> np.ndarray:
    x, y = normal(draws, rows, 2), shift + scale * normal(draws, rows, 2, seed=1)
    return np.array([mean_discrepancy(a, b, widest=8.0).item() for a, b in zip(x, y, strict=True)])


def test_the_mean_discrepancy_is_zero_on_average_for_one_law_and_negative_half_of_the_time() -> (
    None
):
    found = discrepancies(0.0, 1.0)
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(len(found))
    assert 0.3 < (found < 0).mean() < 0.8


@pytest.mark.parametrize(("shift", "scale"), [(0.7, 1.0), (0.0, 2.0)])
def test_the_mean_discrepancy_is_unbiased_for_two_laws(shift: float, scale: float) -> None:
    """Its mean is the integral, which is known: the kernel's mean over two normal rows,
    width by width.
    """
    widths = 8.0 / 2.0 ** np.arange(BANDWIDTHS)

    def mean_kernel(distance: float, variance: float) -> float:
        """E k(a, b) for a - b normal with this mean in each of 2 columns, and this variance."""
        wide = widths**2 + variance
        return float(np.mean(widths**2 / wide * np.exp(-(distance**2) / wide)))

    expected = (
        mean_kernel(0, 2) + mean_kernel(0, 2 * scale**2) - 2 * mean_kernel(shift, 1 + scale**2)
    )
    found = discrepancies(shift, scale)
    assert expected > 0.01
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(len(found))


def test_covariances_of_rows() -> None:
    x, x_tilde = normal(50, 3) + 4, normal(50, 3, seed=1) - 2
    joint = np.cov(np.hstack([x, x_tilde]).T, bias=True)
    own, other, between = covariances(x, x_tilde)
    np.testing.assert_allclose(own, joint[:3, :3])
    np.testing.assert_allclose(other, joint[3:, 3:])
    np.testing.assert_allclose(between, joint[:3, 3:])


def exact_pairs(
    covariance: np.ndarray, gaps: np.ndarray, rows: int = 40
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows whose mean and covariance are exactly those of knockoffs."""
    d = len(covariance)
    joint = np.block(
        [[covariance, covariance - np.diag(gaps)], [covariance - np.diag(gaps), covariance]]
    )
    noise = np.random.default_rng(0).normal(size=(rows, 2 * d))
    noise -= noise.mean(0)
    white = noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise.T, bias=True))).T
    both = torch.as_tensor(white @ np.linalg.cholesky(joint).T)
    return both[:, :d], both[:, d:]


COVARIANCE = 0.5 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
GAPS = np.array([0.9, 0.5, 0.3, 0.7])


def test_moments_that_no_swap_changes_have_no_second_order_loss() -> None:
    x, x_tilde = exact_pairs(COVARIANCE, GAPS)
    assert second_order_loss(x, x_tilde).item() == pytest.approx(0, abs=1e-20)
    assert second_order_loss(x, x).item() == 0  # a copy is symmetric too


BROKEN = {
    "mean": lambda x, t: (x, t + 0.1),
    "variance": lambda x, t: (x, t * torch.tensor([1.0, 1.2, 1.0, 1.0])),
    "order of columns": lambda x, t: (x, t[:, [1, 0, 2, 3]]),
    "order of rows": lambda x, t: (x, t.roll(7, 0)),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_moments_that_a_swap_changes_have_a_loss(broken) -> None:
    assert second_order_loss(*broken(*exact_pairs(COVARIANCE, GAPS))).item() > 5e-3


def test_second_order_loss_counts_each_part_as_a_share() -> None:
    x, x_tilde = exact_pairs(COVARIANCE, GAPS)
    shifted = second_order_loss(x, x_tilde + torch.tensor([0.2, 0.0, 0.0, 0.4])).item()
    assert shifted == pytest.approx((0.2**2 + 0.4**2) / 4)
    copies = torch.cat([x[:, :0], x * 1.5], 1)  # cov(x̃) = 2.25 Σ, cov(x, x̃) = 1.5 Σ
    size, off = (COVARIANCE**2).sum(), (COVARIANCE**2).sum() - 4
    assert second_order_loss(x, copies).item() == pytest.approx(
        (1.25**2 * size + 0.5**2 * off) / size
    )


def test_correlation_loss_is_the_squared_distance_from_the_target() -> None:
    x, x_tilde = exact_pairs(COVARIANCE, GAPS)
    target = torch.as_tensor(1 - GAPS)
    assert correlation_loss(x, x_tilde, target).item() == pytest.approx(0, abs=1e-20)
    off = torch.tensor([0.1, 0.0, -0.2, 0.0])
    assert correlation_loss(x, x_tilde, target + off).item() == pytest.approx(0.05)
    assert correlation_loss(x + 3, x_tilde - 5, target + off).item() == pytest.approx(0.05)


@pytest.mark.parametrize("rows", [6, 30])
@pytest.mark.parametrize("loss", ["discrepancy", "second order", "correlation"])
def test_gradients_match_finite_differences(loss: str, rows: int) -> None:
    x, x_tilde = normal(rows, 3), normal(rows, 3, seed=1)
    functions = {
        "discrepancy": lambda a, b: mean_discrepancy(a, b, widest=4.0),
        "second order": second_order_loss,
        "correlation": lambda a, b: correlation_loss(a, b, torch.tensor([0.1, 0.5, 0.2])),
    }
    inputs = (x.requires_grad_(), x_tilde.requires_grad_())
    assert torch.autograd.gradcheck(functions[loss], inputs, eps=1e-6, atol=1e-6)


def test_gradients_are_finite_where_rows_coincide() -> None:
    x = normal(6, 2).requires_grad_()
    y = torch.cat([x.detach()[:3], normal(3, 2, seed=2)])
    (gradient,) = torch.autograd.grad(mean_discrepancy(x, y), x)
    assert torch.isfinite(gradient).all()
