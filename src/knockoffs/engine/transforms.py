"""Monotone per-column maps to a well-behaved scale and back, with their log-derivative.

Knockoffs commute with such maps: if z̃ is a knockoff of z = g(x), then g⁻¹(z̃) is one of x, whatever
the increasing g of each column. So the scale can be chosen for the model's convenience.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

BASES = ("identity", "softplus", "log")
_DECIDING_ROWS, _FITTED_ROWS = 5_000, 20_000


@dataclass(frozen=True, slots=True)
class Scale:
    """One increasing map per column: a base, an affine map, then a monotone rational-quadratic spline.

    Outside its knots the spline goes on as a straight line. The bases "softplus" and "log" stretch the positive
    half line to the whole line; below `floor` they too go on as a straight line, so that a later value at or
    below zero has a place.
    """

    base: Tensor  # [d] index into BASES
    unit: Tensor  # [d] positive: the base is applied to x / unit
    floor: Tensor  # [d] of x / unit
    centre: Tensor  # [d]
    spread: Tensor  # [d]
    knots: Tensor  # [d, k] on the standardised scale, increasing
    values: Tensor  # [d, k] the spline's values there, increasing
    slopes: Tensor  # [d, k] and its slopes, positive
    lowest: Tensor  # [d] the least value a draw may take: columns without negative values keep to that

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """z = g(x) and log g'(x), both `[rows, d]`."""
        based, log_base_slope = _apply_base(x / self.unit, self.base, self.floor)
        z, log_slope = _spline((based - self.centre) / self.spread, self.knots, self.values, self.slopes)
        return z, log_slope + log_base_slope - self.spread.log() - self.unit.log()

    def inverse(self, z: Tensor) -> Tensor:
        standardised = _inverse_spline(z, self.knots, self.values, self.slopes)
        return _invert_base(standardised * self.spread + self.centre, self.base, self.floor) * self.unit

    def tensors(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in self.__slots__}


def standard_scale(x: Tensor) -> Scale:
    """Mean 0 and standard deviation 1; the spline is the identity."""
    ones = torch.ones(x.shape[1], dtype=x.dtype)
    ends = torch.tensor([-1.0, 1.0], dtype=x.dtype).expand(x.shape[1], 2).contiguous()
    based = torch.zeros(x.shape[1], dtype=torch.long)
    return Scale(based, ones, ones, x.mean(0), x.std(0), ends, ends, torch.ones_like(ends), _lowest(x))


def normal_scale(x: Tensor, *, knot_counts: tuple[int, ...] = (2, 5, 9, 15), folds: int = 3) -> Scale:
    """Normal scores, smoothed: for each column the base and number of knots of best cross-validated likelihood.

    Rows are taken to be in random order: the first ones decide, and somewhat more of them give the knots.
    """
    bases = range(len(BASES))
    deciding, fitted = x[:_DECIDING_ROWS], x[:_FITTED_ROWS]
    scores = torch.cat([_cross_validated_scores(deciding, base, knot_counts, folds) for base in bases])
    candidates = [scale for base in bases for scale in _fit_normal_scores(fitted, base, knot_counts)]
    best = scores.argmax(0)
    padded = [_pad(scale, max(knot_counts)) for scale in candidates]
    column = torch.arange(x.shape[1])
    chosen = {name: torch.stack([p[name] for p in padded])[best, column] for name in padded[0]}
    return Scale(**(chosen | {"lowest": _lowest(x)}))


def _cross_validated_scores(x: Tensor, base: int, counts: tuple[int, ...], folds: int) -> Tensor:
    """Mean log-likelihood `[counts, d]` of the columns as standard normals on the new scale (up to a constant)."""
    scores = torch.full((len(counts), x.shape[1]), -torch.inf, dtype=x.dtype)
    allowed = x.amin(0) > 0 if base else ~_ends_at_zero(x)
    if not allowed.any():
        return scores
    fold = torch.arange(len(x)) % folds
    found = torch.zeros(len(counts), int(allowed.sum()), dtype=x.dtype)
    x = x[:, allowed]
    for k in range(folds):
        for i, scale in enumerate(_fit_normal_scores(x[fold != k], base, counts)):
            z, log_slope = scale.forward(x[fold == k])
            found[i] += (log_slope - 0.5 * z.square()).mean(0)
    scores[:, allowed] = found.nan_to_num(nan=-torch.inf)
    return scores


def _fit_normal_scores(x: Tensor, base: int, counts: tuple[int, ...]) -> list[Scale]:
    """Maps of one base to normal scores, one for each number of knots; two knots stand for no bend at all."""
    which = torch.full((x.shape[1],), base)
    unit = x.abs().median(0).values.clamp(min=torch.finfo(x.dtype).tiny) if base else torch.ones_like(x[0])
    lowest = _lowest(x)
    floor = (x / unit).amin(0).clamp(min=torch.finfo(x.dtype).tiny) * torch.where(_ends_at_zero(x), 1e-3, 0.5)
    based, _ = _apply_base(x / unit, which, floor)
    centre, spread = based.mean(0), based.std(0)
    in_order = ((based - centre) / spread).sort(0).values
    reach = min(2.6, -_normal_quantile(min(0.3, 4.0 / len(x))))  # the outer knots leave about four rows outside
    scales = []
    for count in counts:
        values = torch.linspace(-reach, reach, count, dtype=x.dtype)
        if count == 2:
            knots = torch.tensor([-1.0, 1.0], dtype=x.dtype).expand(x.shape[1], 2).contiguous()
            values, slopes = knots, torch.ones_like(knots)
        else:
            smallest_gap = 1e-3  # ties would make a cliff
            knots = _quantiles(in_order, torch.special.ndtr(values)).T.contiguous()
            knots = knots + smallest_gap * torch.arange(count, dtype=x.dtype)
            values = values.expand_as(knots).contiguous()
            slopes = _monotone_slopes(knots, values)
        scales.append(Scale(which, unit, floor, centre, spread, knots, values, slopes, lowest))
    return scales


def _quantiles(in_order: Tensor, probability: Tensor) -> Tensor:
    """Return quantiles of sorted columns, with linear interpolation (torch.quantile takes no large tables)."""
    place = probability * (len(in_order) - 1)
    below = place.floor().long().clamp(max=len(in_order) - 2)
    return torch.lerp(in_order[below], in_order[below + 1], (place - below).unsqueeze(1))


def _lowest(x: Tensor) -> Tensor:
    smallest = x.amin(0)
    return torch.where(smallest < 0, -torch.inf, smallest * torch.where(_ends_at_zero(x), 1e-4, 0.5))


def _ends_at_zero(x: Tensor) -> Tensor:
    """Columns that come close to zero without reaching it: their support ends there."""
    return (x.amin(0) > 0) & (x.amin(0) < 0.01 * x.median(0).values)


def _normal_quantile(probability: float) -> float:
    return torch.special.ndtri(torch.tensor(probability, dtype=torch.float64)).item()


def _monotone_slopes(knots: Tensor, values: Tensor) -> Tensor:
    """Weighted harmonic means of the neighbouring secants (Fritsch and Butland); at the ends, see `_end_slope`."""
    gap = knots.diff(dim=1)
    secant = values.diff(dim=1) / gap
    left, right = gap[:, :-1], gap[:, 1:]
    weight_left, weight_right = left + 2 * right, 2 * left + right
    inner = (weight_left + weight_right) / (weight_left / secant[:, :-1] + weight_right / secant[:, 1:])
    first, last = _end_slope(knots, values, secant, 0), _end_slope(knots, values, secant, -1)
    return torch.cat([first, inner, last], dim=1)


def _end_slope(knots: Tensor, values: Tensor, secant: Tensor, end: int) -> Tensor:
    """The slope beyond an end: that of the last piece, but no steeper than that whole half of the curve.

    Where a column ends abruptly the last piece is steep, and a new value just beyond it would be sent far away.
    """
    middle = knots.shape[1] // 2
    half = (values[:, end] - values[:, middle]) / (knots[:, end] - knots[:, middle])
    return torch.minimum(secant[:, end], half).unsqueeze(1)


def _pad(scale: Scale, width: int) -> dict[str, Tensor]:
    """The same spline with `width` knots: the tail is a straight line, so knots on it change nothing."""
    missing = width - scale.knots.shape[1]
    step = torch.arange(1, missing + 1, dtype=scale.knots.dtype)
    last_slope = scale.slopes[:, -1:]
    tensors = scale.tensors()
    tensors["knots"] = torch.cat([scale.knots, scale.knots[:, -1:] + step / last_slope], dim=1)
    tensors["values"] = torch.cat([scale.values, scale.values[:, -1:] + step], dim=1)
    tensors["slopes"] = torch.cat([scale.slopes, last_slope.expand(-1, missing)], dim=1)
    return tensors


def _apply_base(x: Tensor, base: Tensor, floor: Tensor) -> tuple[Tensor, Tensor]:
    """The base map and its log-derivative; log(eˣ - 1) is the inverse of softplus."""
    if not base.any():
        return x, torch.zeros_like(x)
    positive = torch.maximum(x, floor)
    log_x = positive.log()
    softplus = positive + torch.log(-torch.expm1(-positive))
    curved = torch.where(base == BASES.index("log"), log_x, softplus)
    log_slope = torch.where(base == BASES.index("log"), -log_x, positive - softplus)
    curved = curved + (x - positive) * log_slope.exp()
    return torch.where(base == 0, x, curved), torch.where(base == 0, 0.0, log_slope)


def _invert_base(based: Tensor, base: Tensor, floor: Tensor) -> Tensor:
    if not base.any():
        return based
    at_floor, log_slope = _apply_base(floor, base, floor)
    curved = torch.maximum(based, at_floor)
    most = 0.99 * math.log(torch.finfo(based.dtype).max)
    log_inverse = curved.clamp(max=most).exp()
    softplus_inverse = functional.softplus(curved, threshold=30.0)
    positive = torch.where(base == BASES.index("log"), log_inverse, softplus_inverse)
    return torch.where(base == 0, based, positive + (based - curved) / log_slope.exp())


def _bin(edges: Tensor, points: Tensor) -> Tensor:
    """Return, per point, its interval between edges, clipped to the inner ones; `[d, rows]`."""
    return (torch.searchsorted(edges, points, right=True) - 1).clamp(0, edges.shape[1] - 2)


def _spline(x: Tensor, knots: Tensor, values: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor]:
    if torch.equal(knots, values) and (slopes == 1).all():  # the identity needs no search
        return x, torch.zeros_like(x)
    points = x.T.contiguous()
    k = _bin(knots, points)
    (x0, y0, d0), (x1, y1, d1) = ([t.gather(1, end) for t in (knots, values, slopes)] for end in (k, k + 1))
    width, height = x1 - x0, y1 - y0
    secant = height / width
    t = ((points - x0) / width).clamp(0, 1)
    curve = secant + (d0 + d1 - 2 * secant) * t * (1 - t)
    y = y0 + height * (secant * t.square() + d0 * t * (1 - t)) / curve
    slope = secant.square() * (d1 * t.square() + 2 * secant * t * (1 - t) + d0 * (1 - t).square())
    log_slope = slope.log() - 2 * curve.log()
    beyond = points - points.clamp(knots[:, :1], knots[:, -1:])
    tail_slope = torch.where(beyond > 0, slopes[:, -1:], slopes[:, :1])
    y = torch.where(beyond == 0, y, torch.where(beyond > 0, values[:, -1:], values[:, :1]) + tail_slope * beyond)
    return y.T, torch.where(beyond == 0, log_slope, tail_slope.log()).T


def _inverse_spline(y: Tensor, knots: Tensor, values: Tensor, slopes: Tensor) -> Tensor:
    if torch.equal(knots, values) and (slopes == 1).all():
        return y
    points = y.T.contiguous()
    k = _bin(values, points)
    (x0, y0, d0), (x1, y1, d1) = ([t.gather(1, end) for t in (knots, values, slopes)] for end in (k, k + 1))
    width, height = x1 - x0, y1 - y0
    secant = height / width
    rise = (points - y0).clamp(min=0).minimum(height)
    bend = d0 + d1 - 2 * secant
    a = height * (secant - d0) + rise * bend
    b = height * d0 - rise * bend
    c = -secant * rise
    t = 2 * c / (-b - (b.square() - 4 * a * c).clamp(min=0).sqrt())
    x = x0 + t * width
    beyond = points - points.clamp(values[:, :1], values[:, -1:])
    edge = torch.where(beyond > 0, knots[:, -1:], knots[:, :1])
    tail_slope = torch.where(beyond > 0, slopes[:, -1:], slopes[:, :1])
    return torch.where(beyond == 0, x, edge + beyond / tail_slope).T
