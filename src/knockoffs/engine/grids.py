"""One-dimensional densities, one per row, that are known up to a constant and expensive to evaluate.

The expensive part of each log-density is evaluated at few nodes and is a smooth function of its place: between
nodes it is a cubic that is exact for parabolas, hence for Gaussian likelihoods of any width. A cheap part may be
added where the integral is taken, on a much finer grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_OVERSHOOT = 1.0  # nats by which a cubic may exceed the larger of its two ends
_FINE = 6  # points of the fine grid per cell between nodes


@dataclass(frozen=True, slots=True)
class GridDensity:
    """Densities that are straight lines between the points of a grid; points and values are `[rows, points]`."""

    points: Tensor
    log_density: Tensor  # normalised
    cumulative: Tensor  # probability below each point

    @classmethod
    def of(cls, points: Tensor, log_values: Tensor) -> GridDensity:
        """Normalise densities that are known up to a constant."""
        top = log_values.amax(1, keepdim=True)
        height = (log_values - top).exp()
        cells = (height[:, 1:] + height[:, :-1]) / 2 * points.diff(dim=1)
        mass = cells.sum(1, keepdim=True)
        cumulative = torch.cat([torch.zeros_like(mass), cells.cumsum(1) / mass], dim=1)
        return cls(points, log_values - top - mass.log(), cumulative)

    def quantile(self, probability: Tensor) -> Tensor:
        """Places of these probabilities, `[rows, any]`."""
        return _interpolate(self.cumulative, self.points, probability)

    def cdf(self, place: Tensor) -> Tensor:
        """Probabilities below these places, `[rows, any]`."""
        return _interpolate(self.points, self.cumulative, place)

    def log_prob(self, place: Tensor) -> Tensor:
        """Log-densities at these places, `[rows, any]`; minus infinity outside of the grid."""
        inside = (place >= self.points[:, :1]) & (place <= self.points[:, -1:])
        return torch.where(inside, _interpolate(self.points, self.log_density, place), -torch.inf)

    def effective_nodes(self, nodes: Tensor) -> Tensor:
        """Return the effective number of cells between nodes that share the probability, per row."""
        mass = self.cdf(nodes).diff(dim=1)
        return 1 / mass.square().sum(1)


def refined_density(
    expensive: Callable[[Tensor], Tensor], cheap: Callable[[Tensor], Tensor], nodes: Tensor, more: int
) -> tuple[GridDensity, Tensor]:
    """The densities whose logarithms are the sum of two parts, and the nodes at which the first was evaluated.

    After a first look at `nodes`, `[rows, nodes]`, `more` are placed at quantiles of what this look gave.
    """
    values = expensive(nodes)
    points, smooth = _fine(nodes, values)
    first = GridDensity.of(points, smooth + cheap(points))
    share = (torch.arange(more, dtype=nodes.dtype, device=nodes.device) + 0.5) / more
    # Equally spaced normal scores reach into the tails.
    share = (
        torch.special.ndtr(torch.linspace(-3.7, 3.7, more, dtype=nodes.dtype, device=nodes.device)) / 2 + share / 2
    )
    added = first.quantile(share.expand(len(nodes), -1).contiguous())
    nodes, order = torch.cat([nodes, added], dim=1).sort(dim=1)
    values = torch.cat([values, expensive(added)], dim=1).gather(1, order)
    points, smooth = _fine(nodes, values)
    return GridDensity.of(points, smooth + cheap(points)), nodes


def _fine(nodes: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """A finer grid, and cubics through the values at its points."""
    gap = nodes.diff(dim=1).clamp(min=1e-12)
    secant = values.diff(dim=1) / gap
    # The slope of the parabola through a node and its neighbours.
    inner = (gap[:, 1:] * secant[:, :-1] + gap[:, :-1] * secant[:, 1:]) / (gap[:, 1:] + gap[:, :-1])
    slope = torch.cat([2 * secant[:, :1] - inner[:, :1], inner, 2 * secant[:, -1:] - inner[:, -1:]], dim=1)
    t = torch.arange(_FINE, dtype=nodes.dtype, device=nodes.device) / _FINE
    left, right = values[:, :-1, None], values[:, 1:, None]
    bend_left = (slope[:, :-1] - secant).unsqueeze(-1) * gap.unsqueeze(-1)
    bend_right = (slope[:, 1:] - secant).unsqueeze(-1) * gap.unsqueeze(-1)
    cubic = left + (right - left) * t + t * (1 - t) * ((1 - t) * bend_left - t * bend_right)
    cubic = torch.minimum(cubic, torch.maximum(left, right) + _OVERSHOOT)
    points = nodes[:, :-1, None] + gap.unsqueeze(-1) * t
    return (
        torch.cat([points.flatten(1), nodes[:, -1:]], dim=1),
        torch.cat([cubic.flatten(1), values[:, -1:]], dim=1),
    )


def _interpolate(x: Tensor, y: Tensor, at: Tensor) -> Tensor:
    """Straight lines through increasing x, row by row; constant outside."""
    right = torch.searchsorted(x, at.contiguous()).clamp(1, x.shape[1] - 1)
    x0, x1, y0, y1 = (t.gather(1, k) for t, k in ((x, right - 1), (x, right), (y, right - 1), (y, right)))
    share = ((at - x0) / (x1 - x0).clamp(min=1e-300)).clamp(0, 1)
    return y0 + share * (y1 - y0)
