"""Boxes for levels without an order, placed by how levels differ in the other columns.

Levels are laid out along the two directions in which their means of the other columns differ most. The first
internal column says the group of levels along the first direction, the second one the level within it, along
the second direction. So levels that are alike lie close to each other, and a Gaussian describes how both columns
depend on others, which it could not for numbers given to the levels. One column for each split of the levels would
describe a little more, but columns that a level leaves open tell of the other features instead, and knockoffs then
have to stay closer to these.
"""

from __future__ import annotations

import numpy as np

from knockoffs.kinds.units import FARTHEST, Boxes, gap_threshold, scores
from knockoffs.runtime.arrays import Array, Indices

PRIOR_ROWS = 10.0  # by which the means of rare levels are pulled to the mean of all rows


def nominal_boxes(codes: Array, others: Array) -> Boxes:
    """Give each level of a column, and its missing cells, a box.

    Parameters
    ----------
    codes : array of shape (rows,)
        Numbers of levels, nan for missing cells.
    others : array of shape (rows, columns)
        The other features as standardised columns, by which levels are found to be alike.
    """
    missing = np.isnan(codes)
    levels, position = np.unique(codes[~missing], return_inverse=True)
    counts = np.bincount(position, minlength=len(levels)).astype(np.float64)
    means = np.zeros((len(levels), others.shape[1]))
    np.add.at(means, position, others[~missing])
    means /= (counts + PRIOR_ROWS)[:, None]
    place = _places(means, counts)
    group = _groups(place[:, 0], counts, max(2, round(len(levels) ** 0.5)))
    low, high = _corners(group, place, counts)
    if not missing.any():
        return Boxes(levels, low, high)
    threshold = gap_threshold(missing.mean())
    anywhere = np.full((1, low.shape[1]), FARTHEST)
    return Boxes(
        np.append(levels, np.nan),
        np.column_stack([np.vstack([low, -anywhere]), np.append(np.full(len(levels), -FARTHEST), threshold)]),
        np.column_stack([np.vstack([high, anywhere]), np.append(np.full(len(levels), threshold), FARTHEST)]),
    )


def _places(means: Array, counts: Array) -> Array:
    """Coordinates of the levels in the two directions in which their means differ most, `[levels, 2]`."""
    weight = np.sqrt(counts / counts.sum())[:, None]
    centred = means - (weight**2 * means).sum(0)
    if centred.shape[1] < 2:
        centred = np.column_stack([centred, np.arange(len(means)), np.zeros(len(means))])
    _, _, directions = np.linalg.svd(weight * centred, full_matrices=False)
    place = centred @ directions[:2].T
    return place if place.shape[1] == 2 else np.column_stack([place, np.zeros(len(place))])


def _groups(place: Array, counts: Array, groups: int) -> Indices:
    """Levels in so many groups of about equal share, neighbours together."""
    order = np.argsort(place, kind="stable")
    middle = (np.cumsum(counts[order]) - counts[order] / 2) / counts.sum()
    group = np.empty(len(place), dtype=np.intp)
    group[order] = np.minimum((middle * groups).astype(np.intp), groups - 1)
    return np.unique(group, return_inverse=True)[1]


def _line(place: Array, counts: Array) -> tuple[Array, Array]:
    """Neighbouring intervals of one column, as large as the shares of their levels."""
    order = np.argsort(place, kind="stable")
    ends = scores(np.concatenate([[0.0], np.cumsum(counts[order]) / counts.sum()]))
    low, high = np.empty((len(place), 1)), np.empty((len(place), 1))
    low[order, 0], high[order, 0] = ends[:-1], ends[1:]
    return low, high


def _corners(group: Indices, place: Array, counts: Array) -> tuple[Array, Array]:
    """Corners of the boxes: an interval for the group, and within it one for the level."""
    shares = np.bincount(group, weights=counts).astype(np.float64)
    low, high = _line(np.arange(len(shares), dtype=np.float64), shares)
    low, high = (np.column_stack([ends[group, 0], np.empty(len(group))]) for ends in (low, high))
    for k in range(len(shares)):
        members = np.flatnonzero(group == k)
        inner = _line(place[members, 1], counts[members])
        low[members, 1], high[members, 1] = inner[0][:, 0], inner[1][:, 0]
    return low, high
