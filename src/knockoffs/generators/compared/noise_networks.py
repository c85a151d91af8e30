"""Networks from x and noise to x̃, and distances between samples: kernels and moments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from knockoffs.density.swaps import swap


def dense(fan_in: int, fan_out: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer whose weights come from `generator`, not from the global one."""
    # made without its weights, which would come from the global generator
    with torch.device("meta"):
        layer = nn.Linear(fan_in, fan_out)
    bound = 1 / math.sqrt(fan_in)
    layer.weight = nn.Parameter(
        torch.empty(fan_out, fan_in).uniform_(-bound, bound, generator=generator)
    )
    layer.bias = nn.Parameter(torch.empty(fan_out).uniform_(-bound, bound, generator=generator))
    return layer


def mlp(
    widths: Sequence[int], activation: type[nn.Module], generator: torch.Generator
) -> nn.Sequential:
    """Linear layers of these widths with the activation between them."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layers += [dense(fan_in, fan_out, generator), activation()]
    return nn.Sequential(*layers[:-1])


class NoiseNetwork(nn.Module):
    """x̃ = f(x, noise), with `noise` normal numbers per row."""

    def __init__(
        self,
        features: int,
        noise: int,
        hidden: Sequence[int],
        activation: type[nn.Module],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.noise = noise
        self.body = mlp([features + noise, *hidden, features], activation, generator)
        self.skip = dense(features + noise, features, generator)

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        inputs = torch.cat([x, noise], dim=1)
        return self.skip(inputs) + self.body(inputs)


BANDWIDTHS = 8  # 1, 2, 4, …, 128, as in Deep Knockoffs


def rbf_mixture(x: Tensor, y: Tensor, widest: float) -> Tensor:
    r"""Mean over bandwidths ξ of $\exp(-\|x_i - y_j\|^2 / 2\xi^2)$,
    where ξ halves from `widest` on.
    """
    kernel = torch.exp(-torch.cdist(x, y).square() / (2 * widest**2))
    total = kernel
    for _ in range(BANDWIDTHS - 1):
        kernel = kernel.square().square()  # half the bandwidth is the fourth power
        total = total + kernel
    return total / BANDWIDTHS


def mean_discrepancy(x: Tensor, y: Tensor, widest: float = 128.0) -> Tensor:
    """Maximum mean discrepancy (squared, unbiased) between two samples with as many rows each."""
    rows = len(x)
    within = sum(
        (kernel.sum() - kernel.diagonal().sum()) / (rows * (rows - 1))
        for kernel in (rbf_mixture(x, x, widest), rbf_mixture(y, y, widest))
    )
    return torch.as_tensor(within) - 2 * rbf_mixture(x, y, widest).mean()


def kernel_swap_loss(x: Tensor, x_tilde: Tensor, coins: Tensor) -> Tensor:
    """Mean discrepancies between half of the rows and the others with all, and with some,
    columns swapped.
    """
    half = len(x) // 2
    first = torch.cat([x[:half], x_tilde[:half]], 1)
    rest, rest_tilde = x[half : 2 * half], x_tilde[half : 2 * half]
    full_swap = torch.cat([rest_tilde, rest], 1)
    some_swap = torch.cat(swap(rest, rest_tilde, coins.expand_as(rest)), 1)
    return mean_discrepancy(first, full_swap) + mean_discrepancy(first, some_swap)


def covariances(x: Tensor, x_tilde: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """cov(x), cov(x̃) and cov(x, x̃) of the rows at hand."""
    centred, centred_tilde = x - x.mean(0), x_tilde - x_tilde.mean(0)
    rows = len(x)
    return (
        centred.T @ centred / rows,
        centred_tilde.T @ centred_tilde / rows,
        centred.T @ centred_tilde / rows,
    )


def second_order_loss(x: Tensor, x_tilde: Tensor) -> Tensor:
    """Squared differences of means, of covariances, and of cov(x, x̃) off its diagonal,
    each as a share.
    """
    own, other, between = covariances(x, x_tilde)
    size = own.square().sum()
    off_diagonal = own - between
    off_diagonal = off_diagonal - torch.diag(off_diagonal.diagonal())
    means = (x.mean(0) - x_tilde.mean(0)).square().mean()
    return means + ((own - other).square().sum() + off_diagonal.square().sum()) / size


def correlation_loss(x: Tensor, x_tilde: Tensor, target: Tensor) -> Tensor:
    """Squared distance of each corr(x_j, x̃_j) from its target, summed;
    columns of x have variance one.
    """
    return (covariances(x, x_tilde)[2].diagonal() - target).square().sum()
