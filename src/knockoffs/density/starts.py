"""Densities that begin as mixtures of linear-Gaussian conditionals instead of random networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from knockoffs.density.density import AutoregressiveDensity, Views
from knockoffs.density.distributions import GaussianMixture

# The components of one cluster are spread this far (in standard deviations) about its mean, so that
# training can move them apart; with binomial weights their sum is still Gaussian to about 1e-5 nats
# (1e-3 where a cluster has but two).
_SPREAD = 0.6


@dataclass(frozen=True, slots=True)
class LinearConditionals:
    r"""K linear-Gaussian conditionals per column, $y_j \mid \text{inputs} \sim \mathcal N(b_{kj}
    \cdot \text{inputs} + a_{kj}, s_{kj}^2)$, and linear logits for the choice among them.

    Inputs are `[context, y]`; coefficients on inputs that column j may not see must be 0.
    `seen` are the projections that the networks get as inputs.
    """

    slope: Tensor  # [K, d, inputs]
    intercept: Tensor  # [K, d]
    scale: Tensor  # [K, d]
    logit_slope: Tensor  # [K, d, inputs]
    logit_intercept: Tensor  # [K, d]
    seen_slope: Tensor  # [V, d, inputs]
    seen_intercept: Tensor  # [V, d]

    def log_prob(self, y: Tensor, context: Tensor | None = None) -> Tensor:
        """log q(y | context) per row, in the precision of `y`."""
        inputs = y if context is None else torch.cat([context, y], dim=1)
        mean, logit = (
            torch.einsum("kji,ni->nkj", slope.to(y), inputs) + intercept.to(y)
            for slope, intercept in (
                (self.slope, self.intercept),
                (self.logit_slope, self.logit_intercept),
            )
        )
        parts = GaussianMixture(
            torch.log_softmax(logit, dim=1).transpose(1, 2),
            mean.transpose(1, 2),
            self.scale.to(y).log().T.expand(len(y), -1, -1),
        )
        return parts.log_prob(y).sum(1)


@torch.no_grad()
def start_density(
    start: LinearConditionals, *, components: int, hidden: Sequence[int], generator: torch.Generator
) -> AutoregressiveDensity:
    """A density equal to `start`, whose networks are alike and silent but ready to learn.

    Up to `components` mixture components are shared out evenly among the clusters.
    """
    clusters, features, inputs = start.slope.shape
    per_cluster = max(1, components // clusters)
    count = clusters * per_cluster
    density = AutoregressiveDensity(
        features,
        components=count,
        hidden=hidden,
        generator=generator,
        context=inputs - features,
        views=Views(len(start.seen_slope), 2 * clusters),
    )
    unit = start.scale.unsqueeze(-1)
    slopes = torch.cat([start.seen_slope, start.logit_slope, start.slope / unit])
    intercepts = torch.cat(
        [start.seen_intercept, start.logit_intercept, start.intercept / start.scale]
    )
    density.weight.copy_(slopes.transpose(0, 1))
    density.bias.copy_(intercepts.T.unsqueeze(-1))
    to_components = torch.eye(clusters).repeat_interleave(per_cluster, dim=1)
    density.routes.zero_()
    density.routes[:clusters, :count] = to_components
    density.routes[clusters:, count : 2 * count] = to_components
    density.unit.copy_(start.scale.T.repeat_interleave(per_cluster, dim=1).unsqueeze(-1))
    _make_alike(density, _one_gaussian(per_cluster), clusters, generator)
    return density


def _one_gaussian(parts: int) -> Tensor:
    """Log weights, means and log scales `[3, parts]` of a mixture close to the standard normal."""
    weights = torch.tensor([math.comb(parts - 1, i) for i in range(parts)]) / 2.0 ** (parts - 1)
    means = torch.linspace(-_SPREAD, _SPREAD, parts) if parts > 1 else torch.zeros(1)
    variance = 1 - (weights * means.square()).sum()
    return torch.stack([weights.log(), means, 0.5 * variance.log().expand(parts)])


def _make_alike(
    density: AutoregressiveDensity, parts: Tensor, clusters: int, generator: torch.Generator
) -> None:
    """The same random weights in every column's network,
    and last layers that say `parts` for any input.
    """
    first = density.first
    assert first is not None
    # Kinks of the first layer spread over inputs of standard-normal size.
    fan_in = first.weight.shape[2]
    first.weight.copy_(torch.randn(first.weight.shape[1:], generator=generator) / math.sqrt(fan_in))
    first.bias.copy_(torch.randn(first.bias.shape[1:], generator=generator))
    for layer in density.mlp.layers:
        layer.weight.copy_(layer.weight[:1].expand_as(layer.weight).clone())
        layer.bias.copy_(layer.bias[:1].expand_as(layer.bias).clone())
    last = density.mlp.layers[-1]
    last.weight.zero_()
    last.bias.copy_(parts.repeat(1, clusters).flatten().unsqueeze(-1).expand_as(last.bias))


def network_weights(density: AutoregressiveDensity) -> list[nn.Parameter]:
    """The weights behind the projections: of one shape in every column, so they can be shared."""
    first = density.first
    return [*(first.parameters() if first is not None else ()), *density.mlp.parameters()]


@torch.no_grad()
def random_density(
    low: Tensor,
    high: Tensor,
    *,
    components: int,
    hidden: Sequence[int],
    generator: torch.Generator,
    context: int = 0,
) -> AutoregressiveDensity:
    """The paper's network and beginning: random weights,
    modes evenly spaced over each column's support.
    """
    density = AutoregressiveDensity(
        len(low), components=components, hidden=hidden, generator=generator, context=context
    )
    steps = (torch.arange(components) + 0.5) / components
    means = low[:, None] + (high - low)[:, None] * steps
    # Random weights from the inputs to the log scales would feed back through the columns and
    # explode.
    density.weight[:, hidden[0] :] = 0.0
    last = density.mlp.layers[-1]
    last.weight.mul_(0.01)
    last.bias.zero_()
    last.bias[:, components : 2 * components, 0] = means
    last.bias[:, 2 * components :, 0] = ((high - low) / components).log()[:, None]
    return density
