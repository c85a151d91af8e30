"""Monotone per-column maps to a well-behaved scale and back, with their log-derivative.

Knockoffs commute with such maps: if z̃ is a knockoff of z = g(x), then g⁻¹(z̃) is one of x,
whatever the increasing g of each column. So the scale can be chosen for the model's convenience.

Tables are arrays of numpy or tensors of torch, of double precision, and so is what comes out:
networks learn from tensors, other models need no torch. The mathematics is written once, for both:
they have most functions under the same names, in the module that `library_of` returns. Torch is not
imported: where there are tensors, it has been.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from knockoffs.runtime.model_files import take_array

if TYPE_CHECKING:
    from torch import Tensor

Numbers = TypeVar("Numbers", "NDArray[Any]", "Tensor")
Either = Any  # the same inside of functions that call those of either library


def library_of(x: Either) -> Any:
    """Return numpy for its arrays, and torch for its tensors."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def sort_columns(x: Either) -> Either:
    """Return each column in increasing order."""
    return np.sort(x, 0) if isinstance(x, np.ndarray) else library_of(x).msort(x)


def columns_first(x: Either) -> Either:
    """Return the transposed table, so that each column lies in one piece of memory."""
    return np.ascontiguousarray(x.T) if isinstance(x, np.ndarray) else x.T.contiguous()


def find_interval(edges: Either, points: Either) -> Either:
    """Return, per point, its interval between edges, clipped to the inner ones; `[d, rows]`."""
    xp = library_of(points)
    if xp is np:
        above = np.empty(points.shape, dtype=np.int64)
        for found, own, at in zip(above, edges, points, strict=True):
            found[:] = np.searchsorted(own, at, "right")
    else:
        above = xp.searchsorted(edges, points, right=True)
    return xp.clip(above - 1, 0, edges.shape[1] - 2)


def pick(x: Either, index: Either) -> Either:
    """Return the entries of each row of x by their numbers there."""
    return np.take_along_axis(x, index, 1) if isinstance(x, np.ndarray) else x.gather(1, index)


def interpolate(first: Either, second: Either, share: Either) -> Either:
    """Return what lies at this share of the way from the first to the second."""
    xp = library_of(first)
    return first + share * (second - first) if xp is np else xp.lerp(first, second, share)


def softplus(x: Either) -> Either:
    """Return log(1 + eˣ)."""
    xp = library_of(x)
    return np.logaddexp(0.0, x) if xp is np else xp.nn.functional.softplus(x, threshold=30.0)


def normal_cdf(x: Either) -> Either:
    """Return the probability that a standard normal number is below x."""
    xp = library_of(x)
    return ndtr(x) if xp is np else xp.special.ndtr(x)


def normal_quantile(probability: float, like: Either) -> float:
    """Return the inverse of `normal_cdf` by the library that `like` is of."""
    xp = library_of(like)
    if xp is np:
        return float(ndtri(probability))
    return xp.special.ndtri(xp.tensor(probability, dtype=xp.float64)).item()


BASES = ("identity", "softplus", "log")
_DECIDING_ROWS, _FITTED_ROWS = 5_000, 20_000


@dataclass(frozen=True, slots=True)
class Scale(Generic[Numbers]):
    """One increasing map per column: a base, an affine map,
    then a monotone rational-quadratic spline.

    Outside its knots the spline goes on as a straight line. The bases "softplus" and "log" stretch
    the positive half line to the whole line; below `floor` they too go on as a straight line, so
    that a later value at or below zero has a place.
    """

    base: Numbers  # [d] index into BASES
    unit: Numbers  # [d] positive: the base is applied to x / unit
    floor: Numbers  # [d] of x / unit
    centre: Numbers  # [d]
    spread: Numbers  # [d]
    knots: Numbers  # [d, k] on the standardised scale, increasing
    values: Numbers  # [d, k] the spline's values there, increasing
    slopes: Numbers  # [d, k] and its slopes, positive
    # [d] the least value a draw may take: columns without negative values keep to that
    lowest: Numbers

    @np.errstate(all="ignore")  # torch does not warn either
    def forward(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """z = g(x) and log g'(x), both `[rows, d]`."""
        xp = library_of(x)
        based, log_base_slope = _apply_base(x / self.unit, self.base, self.floor)
        z, log_slope = _spline(
            (based - self.centre) / self.spread, self.knots, self.values, self.slopes
        )
        return z, log_slope + log_base_slope - xp.log(self.spread) - xp.log(self.unit)

    @np.errstate(all="ignore")
    def inverse(self, z: Numbers) -> Numbers:
        """x, for which g(x) = z."""
        standardised = _inverse_spline(z, self.knots, self.values, self.slopes)
        return (
            _invert_base(standardised * self.spread + self.centre, self.base, self.floor)
            * self.unit
        )

    def inverse_of_draws(self, z: Numbers) -> Numbers:
        """x of draws, which keep to the least value that each column may take."""
        return library_of(z).maximum(self.inverse(z), self.lowest)

    def converted(self, convert: Callable[[Numbers], Any]) -> Scale[Any]:
        """Return the same scale with arrays of another library."""
        return Scale(**{name: convert(part) for name, part in self.tensors().items()})

    def tensors(self) -> dict[str, Numbers]:
        """The parts of the scale by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def standard_scale(x: Numbers) -> Scale[Numbers]:
    """Mean 0 and standard deviation 1; the spline is the identity."""
    xp = library_of(x)
    ones = xp.ones(x.shape[1], dtype=x.dtype)
    ends = _no_bend(x)
    based = xp.zeros(x.shape[1], dtype=xp.int64)
    deviation = xp.std(x, 0, correction=1)
    return Scale(
        based, ones, ones, x.mean(0), deviation, ends, ends, xp.ones_like(ends), _lowest(x)
    )


@np.errstate(all="ignore")  # maps that do not suit a column have no finite likelihood
def normal_scale(
    x: Numbers, *, knot_counts: tuple[int, ...] = (2, 5, 9, 15), folds: int = 3
) -> Scale[Numbers]:
    """Normal scores, smoothed: for each column the base and number of knots of best cross-validated
    likelihood.

    Rows are taken to be in random order: the first ones decide, and somewhat more of them give the
    knots.
    """
    xp, bases = library_of(x), range(len(BASES))
    deciding, fitted = x[:_DECIDING_ROWS], x[:_FITTED_ROWS]
    scores = xp.concat(
        [_cross_validated_scores(deciding, base, knot_counts, folds) for base in bases]
    )
    candidates = [
        scale for base in bases for scale in _fit_normal_scores(fitted, base, knot_counts)
    ]
    best = scores.argmax(0)
    padded = [_pad(scale, max(knot_counts)) for scale in candidates]
    column = xp.arange(x.shape[1])
    chosen = {name: xp.stack([p[name] for p in padded])[best, column] for name in padded[0]}
    return Scale(**(chosen | {"lowest": _lowest(x)}))


def _cross_validated_scores(x: Either, base: int, counts: tuple[int, ...], folds: int) -> Either:
    """Mean log-likelihood `[counts, d]` of the columns as standard normals on the new scale (up to
    a constant).
    """
    xp = library_of(x)
    scores = xp.full((len(counts), x.shape[1]), -math.inf, dtype=x.dtype)
    allowed = xp.amin(x, 0) > 0 if base else ~_ends_at_zero(x)
    if not allowed.any():
        return scores
    fold = xp.arange(len(x)) % folds
    found = xp.zeros((len(counts), int(allowed.sum())), dtype=x.dtype)
    x = x[:, allowed]
    for k in range(folds):
        for i, scale in enumerate(_fit_normal_scores(x[fold != k], base, counts)):
            z, log_slope = scale.forward(x[fold == k])
            found[i] += (log_slope - 0.5 * xp.square(z)).mean(0)
    scores[:, allowed] = xp.nan_to_num(found, nan=-math.inf)
    return scores


def _fit_normal_scores(x: Either, base: int, counts: tuple[int, ...]) -> list[Scale[Any]]:
    """Maps of one base to normal scores, one for each number of knots;
    two knots stand for no bend at all.
    """
    xp = library_of(x)
    tiny = xp.finfo(x.dtype).tiny
    which = xp.full((x.shape[1],), base)
    unit = xp.clip(_median(abs(x)), tiny, None) if base else xp.ones_like(x[0])
    lowest = _lowest(x)
    floor = xp.clip(xp.amin(x / unit, 0), tiny, None) * _share_of_smallest(x, 1e-3)
    based, _ = _apply_base(x / unit, which, floor)
    centre, spread = based.mean(0), xp.std(based, 0, correction=1)
    in_order = sort_columns((based - centre) / spread)
    # the outer knots leave about four rows outside
    reach = min(2.6, -normal_quantile(min(0.3, 4.0 / len(x)), x))
    scales = []
    for count in counts:
        if count == 2:
            knots = values = _no_bend(x)
            slopes = xp.ones_like(knots)
        else:
            smallest_gap = 1e-3  # ties would make a cliff
            values = xp.linspace(-reach, reach, count, dtype=x.dtype)
            knots = columns_first(_quantiles(in_order, normal_cdf(values)))
            knots = knots + smallest_gap * xp.arange(count, dtype=x.dtype)
            values = xp.tile(values, (len(knots), 1))
            slopes = _monotone_slopes(knots, values)
        scales.append(Scale(which, unit, floor, centre, spread, knots, values, slopes, lowest))
    return scales


def _no_bend(x: Either) -> Either:
    """Two knots for each column of x, which are their own values."""
    xp = library_of(x)
    return xp.tile(xp.asarray([-1.0, 1.0], dtype=x.dtype), (x.shape[1], 1))


def _quantiles(in_order: Either, probability: Either) -> Either:
    """Return quantiles of sorted columns, with linear interpolation (torch.quantile takes no large
    tables).
    """
    xp = library_of(in_order)
    place = probability * (len(in_order) - 1)
    below = xp.clip(xp.asarray(xp.floor(place), dtype=xp.int64), None, len(in_order) - 2)
    return interpolate(in_order[below], in_order[below + 1], (place - below)[:, None])


def _lowest(x: Either) -> Either:
    xp = library_of(x)
    smallest = xp.amin(x, 0)
    return xp.where(smallest < 0, -math.inf, smallest * _share_of_smallest(x, 1e-4))


def _share_of_smallest(x: Either, near_zero: float) -> Either:
    """`near_zero` for columns that end at zero and a half for others,
    in single precision in either library.
    """
    xp = library_of(x)
    return xp.where(_ends_at_zero(x), xp.asarray(near_zero, dtype=xp.float32), 0.5)


def _ends_at_zero(x: Either) -> Any:
    """Columns that come close to zero without reaching it: their support ends there."""
    smallest = library_of(x).amin(x, 0)
    return (smallest > 0) & (smallest < 0.01 * _median(x))


def _median(x: Either) -> Either:
    """The median of each column, the lower one of two."""
    return sort_columns(x)[(len(x) - 1) // 2]


def _monotone_slopes(knots: Either, values: Either) -> Either:
    """Weighted harmonic means of the neighbouring secants (Fritsch and Butland); at the ends,
    see `_end_slope`.
    """
    gap = knots[:, 1:] - knots[:, :-1]
    secant = (values[:, 1:] - values[:, :-1]) / gap
    left, right = gap[:, :-1], gap[:, 1:]
    weight_left, weight_right = left + 2 * right, 2 * left + right
    inner = (weight_left + weight_right) / (
        weight_left / secant[:, :-1] + weight_right / secant[:, 1:]
    )
    first, last = _end_slope(knots, values, secant, 0), _end_slope(knots, values, secant, -1)
    return library_of(knots).concat([first, inner, last], 1)


def _end_slope(knots: Either, values: Either, secant: Either, end: int) -> Either:
    """The slope beyond an end: that of the last piece,
    but no steeper than that whole half of the curve.

    Where a column ends abruptly the last piece is steep, and a new value just beyond it would be
    sent far away.
    """
    middle = knots.shape[1] // 2
    half = (values[:, end] - values[:, middle]) / (knots[:, end] - knots[:, middle])
    return library_of(knots).minimum(secant[:, end], half)[:, None]


def _pad(scale: Scale[Any], width: int) -> dict[str, Either]:
    """The same spline with `width` knots: the tail is a straight line,
    so knots on it change nothing.
    """
    xp = library_of(scale.knots)
    columns, count = scale.knots.shape
    step = xp.arange(1, width - count + 1, dtype=scale.knots.dtype)
    last_slope = scale.slopes[:, -1:]
    tensors = scale.tensors()
    tensors["knots"] = xp.concat([scale.knots, scale.knots[:, -1:] + step / last_slope], 1)
    tensors["values"] = xp.concat([scale.values, scale.values[:, -1:] + step], 1)
    tensors["slopes"] = xp.concat(
        [scale.slopes, xp.broadcast_to(last_slope, (columns, width - count))], 1
    )
    return tensors


def _apply_base(x: Either, base: Either, floor: Either) -> tuple[Either, Either]:
    """The base map and its log-derivative; log(eˣ - 1) is the inverse of softplus."""
    xp = library_of(x)
    if not base.any():
        return x, xp.zeros_like(x)
    positive = xp.maximum(x, floor)
    log_x = xp.log(positive)
    softplus = positive + xp.log(-xp.expm1(-positive))
    curved = xp.where(base == BASES.index("log"), log_x, softplus)
    log_slope = xp.where(base == BASES.index("log"), -log_x, positive - softplus)
    curved = curved + (x - positive) * xp.exp(log_slope)
    return xp.where(base == 0, x, curved), xp.where(base == 0, 0.0, log_slope)


def _invert_base(based: Either, base: Either, floor: Either) -> Either:
    xp = library_of(based)
    if not base.any():
        return based
    at_floor, log_slope = _apply_base(floor, base, floor)
    curved = xp.maximum(based, at_floor)
    most = 0.99 * math.log(xp.finfo(based.dtype).max)
    log_inverse = xp.exp(xp.clip(curved, None, most))
    positive = xp.where(base == BASES.index("log"), log_inverse, softplus(curved))
    return xp.where(base == 0, based, positive + (based - curved) / xp.exp(log_slope))


def _spline(x: Either, knots: Either, values: Either, slopes: Either) -> tuple[Either, Either]:
    xp = library_of(x)
    if (knots == values).all() and (slopes == 1).all():  # the identity needs no search
        return x, xp.zeros_like(x)
    points = columns_first(x)
    k = find_interval(knots, points)
    (x0, y0, d0), (x1, y1, d1) = (
        [pick(t, end) for t in (knots, values, slopes)] for end in (k, k + 1)
    )
    width, height = x1 - x0, y1 - y0
    secant = height / width
    t = xp.clip((points - x0) / width, 0, 1)
    curve = secant + (d0 + d1 - 2 * secant) * t * (1 - t)
    y = y0 + height * (secant * xp.square(t) + d0 * t * (1 - t)) / curve
    slope = xp.square(secant) * (
        d1 * xp.square(t) + 2 * secant * t * (1 - t) + d0 * xp.square(1 - t)
    )
    log_slope = xp.log(slope) - 2 * xp.log(curve)
    beyond = points - xp.clip(points, knots[:, :1], knots[:, -1:])
    tail_slope = xp.where(beyond > 0, slopes[:, -1:], slopes[:, :1])
    y = xp.where(
        beyond == 0, y, xp.where(beyond > 0, values[:, -1:], values[:, :1]) + tail_slope * beyond
    )
    return y.T, xp.where(beyond == 0, log_slope, xp.log(tail_slope)).T


def _inverse_spline(y: Either, knots: Either, values: Either, slopes: Either) -> Either:
    xp = library_of(y)
    if (knots == values).all() and (slopes == 1).all():
        return y
    points = columns_first(y)
    k = find_interval(values, points)
    (x0, y0, d0), (x1, y1, d1) = (
        [pick(t, end) for t in (knots, values, slopes)] for end in (k, k + 1)
    )
    width, height = x1 - x0, y1 - y0
    secant = height / width
    rise = xp.minimum(xp.clip(points - y0, 0, None), height)
    bend = d0 + d1 - 2 * secant
    a = height * (secant - d0) + rise * bend
    b = height * d0 - rise * bend
    c = -secant * rise
    t = 2 * c / (-b - xp.sqrt(xp.clip(xp.square(b) - 4 * a * c, 0, None)))
    x = x0 + t * width
    beyond = points - xp.clip(points, values[:, :1], values[:, -1:])
    edge = xp.where(beyond > 0, knots[:, -1:], knots[:, :1])
    tail_slope = xp.where(beyond > 0, slopes[:, -1:], slopes[:, :1])
    return xp.where(beyond == 0, x, edge + beyond / tail_slope).T


Arrays = dict[str, NDArray[Any]]


def scale_arrays(scale: Scale[Any]) -> Arrays:
    """Return the arrays of a scale under the names of a model file."""
    return {f"scale.{name}": np.asarray(part) for name, part in scale.tensors().items()}


def restore_scale(arrays: Arrays, columns: int) -> Scale[NDArray[Any]]:
    """Make the scale that `scale_arrays` wrote;
    raises a ValueError for maps that do not increase.
    """
    base = take_array(arrays, "scale.base", (columns,), "i")
    # -inf where there is no bound
    lowest = take_array(arrays, "scale.lowest", (columns,), finite=False)
    vectors = {name: take_array(arrays, f"scale.{name}", (columns,)) for name in _VECTORS}
    knots = take_array(arrays, "scale.knots", (columns, None))
    curves = {
        name: take_array(arrays, f"scale.{name}", knots.shape) for name in ("values", "slopes")
    }
    increasing = (np.diff(knots) > 0).all() and (np.diff(curves["values"]) > 0).all()
    positive = all(
        (values > 0).all() for values in (vectors["unit"], vectors["spread"], curves["slopes"])
    )
    known = (
        np.isin(base, range(len(BASES))).all() and not (np.isnan(lowest) | (lowest == np.inf)).any()
    )
    if not (increasing and positive and known and knots.shape[1] > 1):
        raise ValueError("the arrays of the scale do not describe increasing maps")
    return Scale(base=base, lowest=lowest, knots=knots, **vectors, **curves)


_VECTORS = ("unit", "floor", "centre", "spread")
