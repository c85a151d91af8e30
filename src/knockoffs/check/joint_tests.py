"""All features at once: can rows be told from the same rows with some columns swapped?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.ensemble import HistGradientBoostingClassifier

from knockoffs.check.exact import Signs, draw_signs, p_value, quadratic_p_value
from knockoffs.check.pairs import Pairs, inverse_root
from knockoffs.runtime.arrays import Array, Flags

HALF_SWAPS = 3
MOST_COLUMNS = 200
CLASSIFIER_ROWS = 80  # with fewer, the leaves of the trees hold too few rows for a difference to be significant
HIGHEST = 4.0  # of the kernel's exponent: a few rows that are almost alike must not outweigh all others
SCALE_ROWS = 500  # whose distances say what is far


class SwapTest(NamedTuple):
    """One test of exact knockoffs against one swap.

    Attributes
    ----------
    test, swap : str
        The names of the test and of the swap.
    told_apart : float
        How well rows and swapped rows are distinguished, 0.5 if not at all: the AUC of the classifier, or the
        share of rows that all others put on the right side (covariance and kernel).
    low, high : float
        The limits of the 95 % confidence interval of the AUC; nan for the other tests.
    p_value : float
        The probability of as much where knockoffs are exact.
    """

    test: str
    swap: str
    told_apart: float
    low: float
    high: float
    p_value: float


def compare_swaps(pairs: Pairs, signs: Signs, rng: np.random.Generator) -> Iterator[SwapTest]:
    """Covariance, kernel and classifier for the full swap and some random swaps of half the features."""
    middle = pairs.middle @ inverse_root(pairs.middle_covariance) * pairs.weight
    half = pairs.half / np.sqrt(pairs.half_variance) * pairs.weight
    whitener = inverse_root(pairs.covariance)
    for name, features in _swaps(pairs.features, rng):
        columns = features[pairs.feature]
        yield _by_the_others("covariance", name, _covariance_kernel(middle, half, columns), signs)
        yield _by_the_others("kernel", name, _exponential_kernel(pairs, whitener, columns), signs)
        if pairs.rows >= CLASSIFIER_ROWS:
            yield _classifier(name, pairs, columns, rng, draws=signs.shape[1])


def _swaps(features: int, rng: np.random.Generator) -> Iterator[tuple[str, Flags]]:
    """All features, and halves by the digits of random numbers: one of them parts any two of few features."""
    yield "full", np.ones(features, dtype=bool)
    order = rng.permutation(features)
    for number in range(HALF_SWAPS):
        half = (order >> number & 1).astype(bool)
        yield f"half {number + 1}", half if half.any() else order == 0


def _by_the_others(test: str, swap: str, kernel: Array, signs: Signs) -> SwapTest:
    """A paired kernel test: K holds inner products of what the swap changes in rows i and k."""
    apart = kernel.sum(1) - np.diag(kernel)
    right = float(np.mean(apart > 0) + np.mean(apart == 0) / 2)
    return SwapTest(test, swap, right, np.nan, np.nan, quadratic_p_value(kernel, signs))


def _covariance_kernel(middle: Array, half: Array, columns: Flags) -> Array:
    """Add up all products that the swap turns: of swapped h with m, and with the h that stay."""
    turned, kept = half[:, columns], half[:, ~columns]
    return (turned @ turned.T) * (middle @ middle.T + kept @ kept.T)


def _exponential_kernel(pairs: Pairs, whitener: Array, columns: Flags) -> Array:
    """Rows and swapped rows on whitened columns, by a kernel narrow enough to weigh moments of all orders."""
    kept, turned = np.hstack([pairs.x, pairs.x_tilde]), np.hstack(pairs.swapped(columns))
    n, d = pairs.x.shape
    z = np.concatenate([kept, turned]).reshape(-1, d) @ whitener * pairs.weight
    z, z_swapped = np.split(z.reshape(2 * n, 2 * d).astype(np.float32), 2)
    some = np.concatenate([z[:SCALE_ROWS], z_swapped[:SCALE_ROWS]])
    others = _distances(some, some)[~np.eye(len(some), dtype=bool)]
    centre, deviation = np.median(others), max(others.std(), 1e-6)

    def similarity(a: Array, b: Array) -> Array:
        exponent = _distances(a, b)
        exponent -= centre
        exponent /= -4 * deviation
        wide = np.exp(np.minimum(exponent, HIGHEST, out=exponent), out=exponent)
        narrow = wide * wide
        narrow *= narrow
        wide += np.minimum(narrow, np.exp(HIGHEST), out=narrow)
        return wide

    across = similarity(z, z_swapped)
    kernel = similarity(z, z)
    kernel += similarity(z_swapped, z_swapped)
    kernel -= across
    kernel -= across.T
    return kernel


def _distances(a: Array, b: Array) -> Array:
    """Squared distances of the rows of a and b."""
    found = a @ b.T
    found *= -2
    found += (a**2).sum(1)[:, None]
    found += (b**2).sum(1)
    return found


def _classifier(swap: str, pairs: Pairs, columns: Flags, rng: np.random.Generator, draws: int) -> SwapTest:
    """Boosted trees learn the difference on half of the rows and are judged on the other half."""
    order = rng.permutation(pairs.rows)
    learn, judge = order[: len(order) // 2], order[len(order) // 2 :]
    kept, turned = np.hstack([pairs.x, pairs.x_tilde]), np.hstack(pairs.swapped(columns))
    trees = HistGradientBoostingClassifier(
        max_iter=100,
        max_leaf_nodes=15,
        max_bins=63,
        max_features=min(1.0, MOST_COLUMNS / kept.shape[1]),  # of many columns a part at each split, for time
        early_stopping=False,
        random_state=int(rng.integers(2**31)),
    )
    trees.fit(np.concatenate([kept[learn], turned[learn]]), np.repeat([0, 1], len(learn)))
    scores = np.concatenate([trees.decision_function(kept[judge]), trees.decision_function(turned[judge])])
    area, error, exchanged = _paired_area(*np.split(scores, 2))
    chance = p_value(exchanged @ draw_signs(rng, draws, len(judge)).astype(np.float64))
    return SwapTest("classifier", swap, area, max(0.0, area - error), min(1.0, area + error), chance)


def _paired_area(kept: Array, turned: Array) -> tuple[float, float, Array]:
    """AUC, half the width of its confidence interval, and what an exchange of each row's two ranks changes."""
    n = len(kept)
    kept_ranks, turned_ranks = np.split(rankdata(np.concatenate([kept, turned])), 2)
    above = (turned_ranks - rankdata(turned)) / n  # share of kept rows below each turned one
    below = 1 - (kept_ranks - rankdata(kept)) / n  # share of turned rows above each kept one
    error = norm.ppf(0.975) * np.std(above + below) / np.sqrt(n)
    return float(above.mean()), float(error), turned_ranks - kept_ranks


def covariance_errors(pairs: Pairs) -> tuple[float, float]:
    """Root mean squares over columns of different features of cov(x̃) - cov(x) and of cov(x, x̃) - cov(x).

    Of normal scores. Both hold what chance gives; compare with 1 / √rows.
    """
    if pairs.features < 2:
        return 0.0, 0.0
    main = pairs.main_columns
    x, x_tilde, feature = pairs.x[:, main], pairs.x_tilde[:, main], pairs.feature[main]
    z, z_tilde = x - x.mean(0), x_tilde - x_tilde.mean(0)
    covariance = z.T @ z / len(z)
    others = feature[:, None] != feature

    def size(error: Array) -> float:
        return float(np.sqrt(np.mean(error[others] ** 2)))

    return size(z_tilde.T @ z_tilde / len(z) - covariance), size(z.T @ z_tilde / len(z) - covariance)
