"""Autoregressive densities: all d conditionals q(y_j | context, y_<j) evaluated at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from knockoffs.density.distributions import GaussianMixture, MixtureHead
from knockoffs.density.gradients import (
    FURTHEST,
    Draw,
    LogProb,
    Masked,
    Stack,
    solve_in_blocks,
    solve_in_rounds,
)
from knockoffs.density.in_order import sample_in_order
from knockoffs.density.nn import StackedLinear, StackedMLP


class Noise(NamedTuple):
    """The randomness of one draw: for each row and column a uniform and a standard normal
    number.
    """

    uniform: Tensor
    normal: Tensor

    @classmethod
    def draw(
        cls, rows: int, features: int, *, generator: torch.Generator, dtype: torch.dtype
    ) -> Noise:
        options: dict[str, Any] = {
            "generator": generator,
            "device": generator.device,
            "dtype": dtype,
        }
        return cls(torch.rand(rows, features, **options), torch.randn(rows, features, **options))


class Views(NamedTuple):
    """How many projections of the inputs a network gets to see,
    and how many go straight to its outputs.
    """

    seen: int
    skipped: int


class AutoregressiveDensity(nn.Module):
    r"""$q(y \mid c) = \prod_j q(y_j \mid c, y_{<j})$ with one small network per column.

    `forward(y, context)` returns the d conditional distributions. Without context this is the
    paper's q_joint, with context x it is q_knockoff. Network j meets its inputs $[c, y_{<j}]$ in a
    masked linear layer that all networks compute in one matrix product. In the paper's network
    (`views=None`) that layer is the first hidden layer and the residual skip. With `views` it is a
    few projections of the inputs (linear predictors, say, see `starts`): some are the network's
    only inputs, the others are added to the raw outputs along fixed `routes`. That leaves far fewer
    weights to learn.
    """

    mask: Tensor
    routes: Tensor
    unit: Tensor

    def __init__(
        self,
        features: int,
        *,
        components: int,
        hidden: Sequence[int],
        generator: torch.Generator,
        context: int = 0,
        views: Views | None = None,
    ) -> None:
        super().__init__()
        self.features, self.context = features, context
        # of a draw by all columns at once: as many as the last such draw took
        self.rounds = features
        self.head = MixtureHead(int(components), smallest_scale=1e-3 if views is None else 0.05)
        outputs = self.head.outputs
        self.split = Views(hidden[0], outputs) if views is None else views
        fan_in = context + features
        bound = fan_in**-0.5
        shape = (features, sum(self.split), fan_in)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(torch.zeros(features, sum(self.split), 1))
        self.first = (
            None
            if views is None
            else StackedLinear(features, views.seen, hidden[0], generator=generator)
        )
        self.mlp = StackedMLP(features, hidden, outputs, generator=generator)
        self.register_buffer("mask", torch.ones(features, 1, fan_in))
        self.register_buffer("routes", torch.zeros(self.split.skipped, outputs))
        self.register_buffer("unit", torch.ones(features, components, 1))
        # shapes alone have no values to set, and torch would load its compiler for it
        if not self.mask.is_meta:
            self.mask[:, 0, context:].tril_(-1)  # [network j, input i]: i < j
            self.routes.fill_diagonal_(1.0)
            self.forget_masked()

    @torch.no_grad()
    def forget_masked(self) -> None:
        """Set the weights on inputs that a network may not see to 0, as they must always be."""
        self.weight.mul_(self.mask)

    def shape(self) -> dict[str, Any]:
        """What `of_shape` needs to build a density of the same shape."""
        layers = [layer.weight.shape[2] for layer in self.mlp.layers]
        return {
            "features": self.features,
            "components": self.head.components,
            "hidden": layers,
            "context": self.context,
            "views": None if self.first is None else list(self.split),
        }

    @classmethod
    def of_shape(cls, shape: dict[str, Any]) -> AutoregressiveDensity:
        views = None if shape["views"] is None else Views(*shape["views"])
        return cls(**(shape | {"views": views}), generator=torch.Generator())

    def forward(self, y: Tensor, context: Tensor | None = None) -> GaussianMixture:
        return self._distribution(self._project(y, context))

    def log_prob(self, y: Tensor, context: Tensor | None = None) -> Tensor:
        """log q(y | context), one number per row."""
        if not torch.is_grad_enabled():
            return self(y, context).log_prob(y).sum(-1)
        return LogProb.apply(self._stack(), self._project(y, context), y, *self._weights()).sum(-1)

    def log_prob_after(self, y: Tensor, first: int, candidates: Tensor, after: Tensor) -> Tensor:
        r"""$\log q(y_k \mid y_{<k})$ of columns k in `after`,
        where columns of y from `first` on have new values.

        `candidates` holds these values, `[rows, candidates, columns]`; the result is `[rows,
        candidates, after]`. As only few columns change, the projections are moved, not computed
        anew. There is no context.
        """
        rows, count, width = candidates.shape
        projected = self._through(y, self.weight[after], self.bias[after]).unsqueeze(-1)
        moved = candidates - y[:, None, first : first + width]
        for column in range(width):
            projected = (
                projected + self.weight[after, :, first + column, None, None] * moved[:, :, column]
            )
        mixture = self._some(projected.flatten(2), after)
        return mixture.log_prob(y[:, after].repeat_interleave(count, 0)).view(
            rows, count, len(after)
        )

    def depending(self, first: int, width: int) -> Tensor:
        """Numbers of the later columns whose conditional depends on `width` columns,
        from `first` on.
        """
        end = first + width
        return end + self.weight[end:, :, first:end].ne(0).any(2).any(1).nonzero().squeeze(1)

    def conditional_of(self, column: int, y: Tensor) -> GaussianMixture:
        """The conditional of one column given those before it in y, by its network alone;
        without context.
        """
        one = torch.tensor([column], device=y.device)
        return self._some(self._through(y, self.weight[one], self.bias[one]), one)

    def rsample_with_log_prob(
        self, noise: Noise, context: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """A draw y and log q(y | context), one number per row,
        both with their exact gradient in the parameters.

        Nothing is backpropagated through d steps: the draw itself needs no graph. All conditionals
        are then evaluated at it once: see `gradients.Draw`.
        """
        y = (
            self._sample_as_before(noise, context)
            if noise.normal.is_cuda
            else self.sample(noise, context)
        )
        solve = partial(solve_in_rounds, rounds=self.rounds) if y.is_cuda else solve_in_blocks
        onto = self.weight.detach()[:, :, self.context :]
        drawn, log_prob = Draw.apply(
            self._stack(), solve, onto, y, self._project(y, context), *self._weights()
        )
        return drawn, log_prob.sum(-1)

    @torch.no_grad()
    def sample(
        self, noise: Noise, context: Tensor | None = None, *, tolerance: float = 0.0
    ) -> Tensor:
        """A draw for this noise, one row for each row of the noise (and of the context).

        On a GPU it may be off by about the `tolerance`, which takes fewer rounds.
        """
        if noise.normal.is_cuda:
            return self._sample_in_rounds(noise, context, tolerance)
        return self._sample_in_order(noise, context)

    def _sample_in_order(self, noise: Noise, context: Tensor | None) -> Tensor:
        """Column after column: d steps, each the work of one network."""
        onto, from_context = (
            self.weight[:, :, self.context :],
            self._project_context(context, len(noise.normal)),
        )
        uniform, normal = (part.T.contiguous() for part in noise)
        weights = [weight.detach() for weight in self._weights()]
        y = sample_in_order(self._stack(), onto.detach(), from_context, weights, uniform, normal)
        return y.T.contiguous()

    def _sample_in_rounds(
        self, noise: Noise, context: Tensor | None, tolerance: float = 0.0, check_every: int = 8
    ) -> Tensor:
        """All columns at once, again and again, until nothing changes by more than the tolerance.

        Round k leaves the first k columns exact, so d rounds always suffice; usually far fewer do.
        Launches of d small kernels, which bind a GPU in the loop above, become a few large ones.
        """
        y, draw = torch.zeros_like(noise.normal), self._round(noise, context)
        for done in range(1, self.features + 1):
            previous, y = y, draw(y)
            self.rounds = done
            if done % check_every == 0 and (y - previous).abs().amax() <= tolerance:
                break
        return y

    @torch.no_grad()
    def _sample_as_before(self, noise: Noise, context: Tensor | None) -> Tensor:
        """Draw in as many rounds as the last draw took, without a look whether they suffice:
        for training.
        """
        y, draw = torch.zeros_like(noise.normal), self._round(noise, context)
        for _ in range(self.rounds):
            y = draw(y)
        return y

    def _round(self, noise: Noise, context: Tensor | None) -> Callable[[Tensor], Tensor]:
        """Return what draws all columns from those of the last round;
        the context is projected but once.
        """
        from_context = self._project_context(context, len(noise.normal))
        onto = self.weight[:, :, self.context :].flatten(0, 1)

        def draw(y: Tensor) -> Tensor:
            projected = from_context + (onto @ y.T).view(from_context.shape)
            return self._distribution(projected).pick(*noise)

        return draw

    def _stack(self) -> Stack:
        return Stack(self.split.seen, self.first is not None, self.routes, self.head, self.unit)

    def _weights(self) -> list[Tensor]:
        """Weights and biases of the networks, layer by layer."""
        layers = [*(() if self.first is None else (self.first,)), *self.mlp.layers]
        return [weight for layer in layers for weight in (layer.weight, layer.bias)]

    def _project(self, y: Tensor, context: Tensor | None) -> Tensor:
        inputs = y if context is None else torch.cat([context, y], dim=1)
        return self._through(inputs, Masked.apply(self.weight, self.mask), self.bias)

    def _project_context(self, context: Tensor | None, rows: int) -> Tensor:
        if context is None:
            return self.bias.expand(-1, -1, rows)
        return self._through(context, self.weight[:, :, : self.context], self.bias)

    def _through(self, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Inputs `[rows, fan_in]` to projections `[features, projections, rows]`."""
        flat = weight.flatten(0, 1) @ inputs.T
        return flat.view(*weight.shape[:2], len(inputs)) + bias

    def _distribution(self, projected: Tensor) -> GaussianMixture:
        return self.head(self._stack().run(projected, self._weights())[0], self.unit)

    def _some(self, projected: Tensor, networks: Tensor) -> GaussianMixture:
        """The conditionals of some networks, by their numbers, from their projections."""
        seen, skipped = projected.split(self.split, dim=1)
        out = (
            seen
            if self.first is None
            else self.first.some(seen.clamp(-FURTHEST, FURTHEST), networks)
        )
        for layer in self.mlp.layers:
            out = layer.some(torch.relu(out), networks)
        return self.head(out + self.routes.T @ skipped, self.unit[networks])
