"""The plain way to write DDLK: one network per column, a loop over columns, the paper's schedule.

Kept as the yardstick of `make speed` and as an oracle: given the same weights it must agree with
the stacked engine (tests/test_reference.py). Every conditional is a module of its own; the sampler
goes column by column and backpropagates through all of its steps.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from knockoffs.density.density import AutoregressiveDensity, Noise
from knockoffs.density.distributions import GaussianMixture
from knockoffs.density.swaps import GumbelSwaps, swap


class Conditional(nn.Module):
    """q(y_j | inputs): three hidden layers of 50,
    a residual skip from the input to the last layer.
    """

    def __init__(self, inputs: int, components: int = 5, width: int = 50, depth: int = 3) -> None:
        super().__init__()
        outputs = 3 * components
        self.hidden = [nn.Linear(inputs if k == 0 else width, width) for k in range(depth)]
        for number, layer in enumerate(self.hidden):
            self.add_module(str(number), layer)
        self.last = nn.Linear(width, outputs)
        self.skip = nn.Linear(inputs, outputs, bias=False)

    def forward(self, inputs: Tensor) -> GaussianMixture:
        activation = inputs
        for layer in self.hidden:
            activation = torch.relu(layer(activation))
        logits, means, log_scales = (self.last(activation) + self.skip(inputs)).chunk(3, dim=-1)
        return GaussianMixture(
            torch.log_softmax(logits, -1), means, log_scales.clamp(min=-6.907755)
        )


class PlainDensity(nn.Module):
    """The product of the conditionals, one after the other."""

    def __init__(self, features: int, context: int = 0) -> None:
        super().__init__()
        with warnings.catch_warnings():
            # column 0 has no inputs
            warnings.filterwarnings("ignore", "Initializing zero-element tensors")
            self.conditionals = [Conditional(context + j) for j in range(features)]
        for number, conditional in enumerate(self.conditionals):
            self.add_module(str(number), conditional)

    def log_prob(self, y: Tensor, context: Tensor | None = None) -> Tensor:
        terms = [
            conditional(_inputs(context, y[:, :j])).log_prob(y[:, j])
            for j, conditional in enumerate(self.conditionals)
        ]
        return torch.stack(terms, dim=1).sum(1)

    def rsample(self, noise: Noise, context: Tensor | None = None) -> Tensor:
        columns: list[Tensor] = []
        for j, conditional in enumerate(self.conditionals):
            before = torch.stack(columns, dim=1) if columns else noise.normal[:, :0]
            mixture = conditional(_inputs(context, before))
            value = mixture.pick(noise.uniform[:, j], noise.normal[:, j]).detach()
            gradient = reparameterised(mixture, value)
            columns.append(value + (gradient - gradient.detach()))
        return torch.stack(columns, dim=1)

    @torch.no_grad()
    def copy_from(self, density: AutoregressiveDensity) -> None:
        """The weights of a stacked density of the paper's form (one without views)."""
        width = density.split.seen
        for j, conditional in enumerate(self.conditionals):
            seen = density.weight[j, :, : density.context + j]
            conditional.hidden[0].weight.copy_(seen[:width])
            conditional.hidden[0].bias.copy_(density.bias[j, :width, 0])
            conditional.skip.weight.copy_(seen[width:])
            for layer, stacked in zip(
                [*conditional.hidden[1:], conditional.last], density.mlp.layers, strict=True
            ):
                layer.weight.copy_(stacked.weight[j])
                layer.bias.copy_(stacked.bias[j, :, 0])
            conditional.last.bias.add_(density.bias[j, width:, 0])


def reparameterised(mixture: GaussianMixture, value: Tensor) -> Tensor:
    """A tensor whose gradient in the mixture's parameters is that of a sample at `value`;
    it has no other use.
    """
    with torch.no_grad():
        by_log_weight, by_mean, by_log_scale = mixture.at(value).of_sample()
    terms = (
        by_log_weight * mixture.log_weights
        + by_mean * mixture.means
        + by_log_scale * mixture.log_scales
    )
    return terms.sum(-1)


def swap_step(
    q_joint: PlainDensity,
    q_knockoff: PlainDensity,
    swaps: GumbelSwaps,
    x: Tensor,
    generator: torch.Generator,
) -> Tensor:
    """The loss of one step of stage 2 with λ = 0.1, ready for backward."""
    noise = Noise.draw(len(x), x.shape[1], generator=generator, dtype=x.dtype)
    x_tilde = q_knockoff.rsample(noise, x)
    u, u_tilde = swap(x, x_tilde, swaps(len(x), generator=generator))
    kept = q_joint.log_prob(x) + 1.1 * q_knockoff.log_prob(x_tilde, x)
    swapped = q_joint.log_prob(u) + q_knockoff.log_prob(u_tilde, u)
    return (kept - swapped).mean()


def _inputs(context: Tensor | None, before: Tensor) -> Tensor:
    return before if context is None else torch.cat([context, before], dim=1)
