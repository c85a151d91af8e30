"""Gradients of densities, written out, which takes fewer operations than automatic differentiation
makes of them.

The networks of all columns are stacked, their one number per column and row (a log-density, a draw)
has known derivatives in their raw outputs, and numbers of different columns and rows do not meet
before the projections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from knockoffs.density.distributions import MixtureAt, MixtureHead

# Networks that see projections see them no further out than this (in standard deviations of the
# columns), so that a row far from all others meets the answer for the last known place, not a
# network's extrapolation.
FURTHEST = 5.0

Solve = Callable[[Tensor, Tensor, Tensor], Tensor]  # gradients, slopes, weights


class Stack(NamedTuple):
    """What lies behind the projections, without their weights:
    the same for every row and every step.
    """

    # the first projections, which the networks see; the others go to the raw outputs along the
    # routes
    seen: int
    clamped: bool  # the networks see projections, not the first hidden layer itself
    routes: Tensor
    head: MixtureHead
    unit: Tensor

    def run(self, projected: Tensor, weights: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Raw outputs `[features, outputs, rows]`, and the inputs of each layer;
        weights and biases alternate.
        """
        seen, skipped = projected[:, : self.seen], projected[:, self.seen :]
        inputs = [seen.clamp(-FURTHEST, FURTHEST) if self.clamped else seen.relu()]
        layers = list(zip(weights[::2], weights[1::2], strict=True))
        for weight, bias in layers[:-1]:
            inputs.append(torch.baddbmm(bias, weight, inputs[-1]).relu_())
        weight, bias = layers[-1]
        return torch.baddbmm(bias, weight, inputs[-1]).add_(self.routes.T @ skipped), inputs

    def at(self, raw: Tensor, value: Tensor) -> MixtureAt:
        return self.head(raw, self.unit).at(value)

    def back(
        self,
        gradient: Tensor,
        projected: Tensor,
        inputs: Sequence[Tensor],
        weights: Sequence[Tensor],
    ) -> tuple[Tensor, list[Tensor]]:
        """From a gradient in the raw outputs to that in the projections,
        and those in what each layer puts out.
        """
        outputs, skipped = [gradient], self.routes @ gradient
        for weight, seen in zip(reversed(weights[2::2]), reversed(inputs[1:]), strict=True):
            outputs.append(_through_relu(torch.bmm(weight.mT, outputs[-1]), seen))
        by_seen = torch.bmm(weights[0].mT, outputs[-1])
        silent = projected[:, : self.seen].abs() > FURTHEST if self.clamped else inputs[0] == 0
        return torch.cat([by_seen.masked_fill_(silent, 0), skipped], dim=1), outputs[::-1]


def of_weights(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Gradients in the weights and biases of all layers, from those in what the layers put out."""
    found = []
    for gradient, seen in zip(outputs, inputs, strict=True):
        found += [torch.bmm(gradient, seen.mT), gradient.sum(-1, keepdim=True)]
    return found


class LogProb(torch.autograd.Function):
    """log q of each row and column, from projections, values and the networks' weights."""

    @staticmethod
    def forward(
        ctx: Any, stack: Stack, projected: Tensor, value: Tensor, *weights: Tensor
    ) -> Tensor:
        raw, inputs = stack.run(projected, weights)
        at = stack.at(raw, value)
        derivatives = at.of_log_prob()
        by_raw = stack.head.gradient(raw, derivatives, stack.unit)
        ctx.save_for_backward(by_raw, derivatives.by_mean.sum(-1), projected, *inputs, *weights)
        ctx.stack = stack
        return at.log_prob

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        by_raw, by_mean, projected, *rest = ctx.saved_tensors
        layers = len(rest) // 3
        inputs, weights = rest[:layers], rest[layers:]
        gradient = gradients[0].T
        by_projected, outputs = ctx.stack.back(
            by_raw * gradient.unsqueeze(1), projected, inputs, weights
        )
        by_weights = (
            of_weights(outputs, inputs) if any(ctx.needs_input_grad[3:]) else [None] * len(weights)
        )
        by_value = -by_mean * gradients[0] if ctx.needs_input_grad[2] else None
        return None, by_projected, by_value, *by_weights


class Draw(torch.autograd.Function):
    r"""The draw y and its log q, from projections at y (held fixed in them)
    and the networks' weights.

    With $s_j$ for the gradient of $y_j$ in its own mixture's parameters, which see only $y_{<j}$,
    the slopes $J = \partial s / \partial y$ are strictly lower triangular, and $\mathrm dy =
    J\,\mathrm dy + \mathrm ds$ turns a gradient g in y into v in s with $(I - J)^\top v = g$: one
    triangular solve per row, for which J, the product of slopes in the projections and their
    weights, is never formed.
    """

    @staticmethod
    def forward(
        ctx: Any,
        stack: Stack,
        solve: Solve,
        onto: Tensor,
        y: Tensor,
        projected: Tensor,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor]:
        raw, inputs = stack.run(projected, weights)
        at = stack.at(raw, y)
        of_log_prob = at.of_log_prob()
        by_raw = [
            stack.head.gradient(raw, part, stack.unit) for part in (of_log_prob, at.of_sample())
        ]
        slopes = [stack.back(part, projected, inputs, weights)[0] for part in by_raw]
        by_mean = of_log_prob.by_mean.sum(-1)
        ctx.save_for_backward(onto, by_mean, projected, *by_raw, *slopes, *inputs, *weights)
        ctx.stack, ctx.solve = stack, solve
        return y.clone(), at.log_prob

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (
            onto,
            by_mean,
            projected,
            log_prob_by_raw,
            draw_by_raw,
            log_prob_slopes,
            draw_slopes,
            *rest,
        ) = ctx.saved_tensors
        layers = len(rest) // 3
        inputs, weights = rest[:layers], rest[layers:]
        by_log_prob = gradients[1].T.unsqueeze(1)
        through_log_prob = log_prob_slopes * by_log_prob
        # A draw that moves takes its own log q along, and those of the columns that see it.
        by_y = (gradients[0] - by_mean * gradients[1]).T + onto.flatten(
            0, 1
        ).T @ through_log_prob.flatten(0, 1)
        v = ctx.solve(by_y, draw_slopes, onto).unsqueeze(1)
        by_raw = (draw_by_raw * v).addcmul_(log_prob_by_raw, by_log_prob)
        by_weights: list[Tensor] | list[None] = [None] * len(weights)
        if any(ctx.needs_input_grad[5:]):
            by_weights = of_weights(ctx.stack.back(by_raw, projected, inputs, weights)[1], inputs)
        return None, None, None, None, through_log_prob.addcmul_(draw_slopes, v), *by_weights


class Masked(torch.autograd.Function):
    """Weights that are 0 where a mask is: returned as they are, and with a gradient of 0 there,
    so they stay 0.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return gradients[0] * mask, None


_BLOCK = 16


def solve_in_blocks(gradient: Tensor, slopes: Tensor, weight: Tensor) -> Tensor:
    """Some columns after others, from the last to the first:
    each block passes its part on to those before it.
    """
    v = gradient.contiguous().clone()
    for end in range(len(v), 0, -_BLOCK):
        own = slice(max(0, end - _BLOCK), end)
        # [column of the block, row, another column of the block] to one strictly lower triangle per
        # row
        triangle = torch.bmm(slopes[own].mT, weight[own, :, own]).transpose(0, 1)
        solved = torch.linalg.solve_triangular(
            -triangle.mT, v[own].T.unsqueeze(-1), upper=True, unitriangular=True
        )
        v[own] = solved.squeeze(-1).T
        if own.start:
            onto = weight[own, :, : own.start].flatten(0, 1).T
            v[: own.start].addmm_(onto, (slopes[own] * v[own].unsqueeze(1)).flatten(0, 1))
    return v


def solve_in_rounds(gradient: Tensor, slopes: Tensor, weight: Tensor, rounds: int) -> Tensor:
    """All columns at once, again and again; as many rounds suffice as for the draw itself."""
    flat = weight.flatten(0, 1).T
    v = gradient
    for _ in range(rounds):
        v = gradient + flat @ (slopes * v.unsqueeze(1)).flatten(0, 1)
    return v


def _through_relu(gradient: Tensor, seen: Tensor) -> Tensor:
    """Set a gradient to 0, in place, where a hidden unit was silent."""
    return torch.ops.aten.threshold_backward.grad_input(gradient, seen, 0, grad_input=gradient)
