"""Boxes for levels without an order: a tree of splits into levels that are alike in the other columns.

Each split is one internal column: the levels on its one side lie above a threshold, those on the other side below,
and all levels that an earlier split has put elsewhere may lie anywhere. A Gaussian then describes well how splits
depend on other columns, which it could not for numbers given to the levels.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import linkage, to_tree

from knockoffs.arrays import Array, Flags
from knockoffs.generators.feature_units import FARTHEST, Boxes, scores

MOST_SPLITS = 7  # of one feature; levels that they leave together share one more internal column
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
    boxes = _tree_boxes(counts, _split_order(means, counts))
    low, high = (
        np.where(np.isnan(ends), sign * FARTHEST, ends) for ends, sign in zip(boxes, (-1, 1), strict=True)
    )
    if not missing.any():
        return Boxes(levels, low, high)
    threshold = float(scores(np.array(1 - missing.mean())))
    anywhere = np.full((1, low.shape[1]), FARTHEST)
    return Boxes(
        np.append(levels, np.nan),
        np.column_stack([np.vstack([low, -anywhere]), np.append(np.full(len(levels), -FARTHEST), threshold)]),
        np.column_stack([np.vstack([high, anywhere]), np.append(np.full(len(levels), threshold), FARTHEST)]),
    )


def _split_order(means: Array, counts: Array) -> list[tuple[Flags, Flags]]:
    """The splits of a tree of levels, from the top down: which levels lie on each side."""
    if len(means) < 2:
        return []
    if means.shape[1] == 0:
        means = np.arange(len(means), dtype=np.float64)[:, None]
    root = to_tree(linkage(means * np.sqrt(counts / counts.sum())[:, None], "ward"))
    splits, waiting = [], [root]
    while waiting and len(splits) < MOST_SPLITS:
        node = max(waiting, key=lambda node: counts[node.pre_order()].sum())
        waiting.remove(node)
        if node.is_leaf():
            continue
        sides = [np.isin(np.arange(len(means)), child.pre_order()) for child in (node.left, node.right)]
        splits.append((sides[0], sides[1]))
        waiting += [node.left, node.right]
    return splits


def _tree_boxes(counts: Array, splits: list[tuple[Flags, Flags]]) -> tuple[Array, Array]:
    """Corners of the boxes, nan where there is no bound."""
    levels = len(counts)
    low, high = (np.full((levels, len(splits)), np.nan) for _ in range(2))
    together = np.zeros(levels, dtype=np.intp)  # the leaf that each level lies in
    for k, (below, above) in enumerate(splits):
        threshold = scores(counts[below].sum() / counts[below | above].sum())
        high[below, k] = threshold
        low[above, k] = threshold
        together[above] = k + 1
    crowded = [leaf for leaf in np.unique(together) if np.count_nonzero(together == leaf) > 1]
    if not crowded:
        return low, high
    place_low, place_high = np.full(levels, np.nan), np.full(levels, np.nan)
    for leaf in crowded:
        members = np.flatnonzero(together == leaf)
        upper = np.cumsum(counts[members]) / counts[members].sum()
        place_low[members[1:]] = scores(upper[:-1])
        place_high[members[:-1]] = scores(upper[:-1])
    return np.column_stack([low, place_low]), np.column_stack([high, place_high])
