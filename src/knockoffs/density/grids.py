"""One-dimensional densities, one per row, that are known up to a constant and expensive to
evaluate.

The expensive part of each log-density is evaluated at few nodes and is a smooth function of its
place: between nodes it is a cubic that is exact for parabolas, hence for Gaussian likelihoods of
any width. A cheap part may be added where the integral is taken, on a much finer grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_OVERSHOOT = 1.0  # nats by which a cubic may exceed the larger of its two ends
_STEEPEST = 300.0  # nats below the largest density at which all else counts as equal
_ROUNDS = 3  # in which nodes are added
_NEAR = 1e-3  # standard deviations of the column below which two nodes count as one
_FINE = 6  # points of the fine grid per cell between nodes


@dataclass(frozen=True, slots=True)
class GridDensity:
    """Densities whose logarithms are straight lines between the points of a grid; all are `[rows,
    points]`.

    Straight lines of the densities themselves would put mass into wide cells beside narrow peaks.
    """

    points: Tensor
    log_density: Tensor  # normalised
    cumulative: Tensor  # probability below each point

    @classmethod
    def of(cls, points: Tensor, log_values: Tensor) -> GridDensity:
        """Normalise densities that are known up to a constant."""
        top = log_values.amax(1, keepdim=True)
        log_height = (log_values - top).clamp(min=-_STEEPEST)
        fall = log_height.diff(dim=1).abs().clamp(min=1e-9)
        larger = torch.maximum(log_height[:, 1:], log_height[:, :-1]).exp()
        cells = larger * -torch.expm1(-fall) / fall * points.diff(dim=1)
        mass = cells.sum(1, keepdim=True)
        cumulative = torch.cat([torch.zeros_like(mass), cells.cumsum(1) / mass], dim=1)
        return cls(points, log_height - mass.log(), cumulative)

    def quantile(self, probability: Tensor) -> Tensor:
        """Places of these probabilities, `[rows, any]`."""
        cell, share = _locate(self.cumulative, probability)
        rise = self._rise(cell)
        place = torch.log1p(share * torch.expm1(rise)) / rise
        return self.points.gather(1, cell) + place.clamp(0, 1) * self.points.diff(dim=1).gather(
            1, cell
        )

    def cdf(self, place: Tensor) -> Tensor:
        """Probabilities below these places, `[rows, any]`."""
        cell, share = _locate(self.points, place)
        rise = self._rise(cell)
        below = torch.expm1(share * rise) / torch.expm1(rise)
        return self.cumulative.gather(1, cell) + below * self.cumulative.diff(dim=1).gather(1, cell)

    def log_prob(self, place: Tensor) -> Tensor:
        """Log-densities at these places, `[rows, any]`; minus infinity outside of the grid."""
        inside = (place >= self.points[:, :1]) & (place <= self.points[:, -1:])
        cell, share = _locate(self.points, place)
        log_density = self.log_density.gather(1, cell) + share * self.log_density.diff(
            dim=1
        ).gather(1, cell)
        return torch.where(inside, log_density, -torch.inf)

    def _rise(self, cell: Tensor) -> Tensor:
        """How much the logarithm rises in these cells; never exactly 0."""
        rise = self.log_density.diff(dim=1).gather(1, cell)
        return torch.where(rise.abs() < 1e-9, 1e-9, rise)

    def effective_nodes(self, nodes: Tensor) -> Tensor:
        """Return the effective number of cells between nodes that share the probability,
        per row.
        """
        mass = self.cdf(nodes).diff(dim=1)
        return 1 / mass.square().sum(1)


def refined_density(
    expensive: Callable[[Tensor], Tensor],
    cheap: Callable[[Tensor], Tensor],
    nodes: Tensor,
    more: int,
) -> tuple[GridDensity, Tensor]:
    """The densities whose logarithms are the sum of two parts,
    and the nodes at which the first was evaluated.

    After a first look at `nodes`, `[rows, nodes]`, each of three rounds adds `more` of them: some
    at quantiles of what is known so far, the others evenly over half as much again, should that be
    too narrow.
    """
    values = expensive(nodes)
    points, smooth = _fine(nodes, values)
    found = GridDensity.of(points, smooth + cheap(points))
    scores = torch.special.ndtr(torch.linspace(-3.0, 3.0, more - more // 2).to(nodes)).expand(
        len(nodes), -1
    )
    ends = torch.tensor([1e-4, 1 - 1e-4]).to(nodes).expand(len(nodes), -1).contiguous()
    even = torch.linspace(-0.25, 1.25, more // 2).to(nodes)
    for _ in range(_ROUNDS):
        low, high = found.quantile(ends).split(1, dim=1)
        spread = (low + (high - low) * even).clamp(nodes[:, :1], nodes[:, -1:])
        added = torch.cat([found.quantile(scores.contiguous()), spread], dim=1)
        nodes, order = torch.cat([nodes, added], dim=1).sort(dim=1)
        values = torch.cat([values, expensive(added)], dim=1).gather(1, order)
        points, smooth = _fine(nodes, values)
        found = GridDensity.of(points, smooth + cheap(points))
    return found, nodes


def _fine(nodes: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """A finer grid, and cubics through the values at its points."""
    gap = nodes.diff(dim=1).clamp(min=1e-12)
    secant = _secants(values, gap)
    # The slope of the parabola through a node and its neighbours.
    inner = (gap[:, 1:] * secant[:, :-1] + gap[:, :-1] * secant[:, 1:]) / (gap[:, 1:] + gap[:, :-1])
    slope = torch.cat(
        [2 * secant[:, :1] - inner[:, :1], inner, 2 * secant[:, -1:] - inner[:, -1:]], dim=1
    )
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


def _secants(values: Tensor, gap: Tensor) -> Tensor:
    """Slopes from node to node; nodes that nearly coincide count as one.

    Between these the values differ by their rounding errors alone, so the slope there is that of
    the parabola through them and the next ones that are apart.
    """
    secant, number = values.diff(dim=1) / gap, torch.arange(gap.shape[1], device=gap.device)
    near = gap < _NEAR
    left = torch.where(near, 0, number).cummax(1).values
    right = torch.where(near, gap.shape[1] - 1, number).flip(1).cummin(1).values.flip(1)
    beside = [
        (secant.gather(1, cell), gap.gather(1, cell), near.gather(1, cell))
        for cell in (left, right)
    ]
    (left_slope, left_gap, left_near), (right_slope, right_gap, right_near) = beside
    between = (right_gap * left_slope + left_gap * right_slope) / (left_gap + right_gap)
    between = torch.where(left_near, right_slope, torch.where(right_near, left_slope, between))
    return torch.where(near, between, secant)


def _locate(x: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """Return, per number, its cell between increasing x, row by row,
    and the share of the cell below it.
    """
    right = torch.searchsorted(x, at.contiguous()).clamp(1, x.shape[1] - 1)
    low, high = x.gather(1, right - 1), x.gather(1, right)
    return right - 1, ((at - low) / (high - low).clamp(min=1e-300)).clamp(0, 1)
