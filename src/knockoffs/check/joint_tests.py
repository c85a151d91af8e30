"""All features at once: can rows be told from the same rows with some columns swapped?

By tests, and by the generator's own densities (the swap divergence), also for each feature alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.ensemble import HistGradientBoostingClassifier

from knockoffs.check.exact import Signs, draw_signs, p_value, quadratic_p_value
from knockoffs.check.pairs import Pairs, inverse_root
from knockoffs.generators.swap_pairs import EncodedPairs
from knockoffs.runtime.arrays import Array, Flags, Indices
from knockoffs.schema.schema import Units

HALF_SWAPS = 3
MOST_COLUMNS = 200
# with fewer, the leaves of the trees hold too few rows for a difference to be significant
CLASSIFIER_ROWS = 80
# of the kernel's exponent: a few rows that are almost alike must not outweigh all others
HIGHEST = 4.0
SCALE_ROWS = 500  # whose distances say what is far


class SwapTest(NamedTuple):
    """One test of exact knockoffs against one swap.

    Attributes
    ----------
    test, swap : str
        The names of the test and of the swap.
    told_apart : float
        How well rows and swapped rows are distinguished, 0.5 if not at all: the AUC of the
        classifier, or the share of rows that all others put on the right side (covariance and
        kernel).
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
    """Covariance, kernel and classifier for the full swap and some random swaps of half the
    features.
    """
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
    """All features, and halves by the digits of random numbers:
    one of them parts any two of few features.
    """
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
    """Rows and swapped rows on whitened columns, by a kernel narrow enough to weigh moments of all
    orders.
    """
    kept, turned = np.hstack([pairs.x, pairs.x_tilde]), np.hstack(pairs.swapped(columns))
    n, d = pairs.x.shape
    z = np.concatenate([kept, turned]).reshape(-1, d) @ whitener * pairs.weight
    z, z_swapped = np.split(z.reshape(2 * n, 2 * d).astype(np.float32), 2)
    some = np.concatenate([z[:SCALE_ROWS], z_swapped[:SCALE_ROWS]])
    others = _distances(some, some)[~np.eye(len(some), dtype=bool)]
    centre, deviation = np.median(others), max(others.std(), 1e-6)

    def similarity(a: Array, b: Array) -> Array:
        exponent = (_distances(a, b) - centre) / (-4 * deviation)
        wide = np.exp(np.minimum(exponent, HIGHEST, out=exponent), out=exponent)
        narrow = (wide * wide) ** 2
        return wide + np.minimum(narrow, np.exp(HIGHEST), out=narrow)

    across = similarity(z, z_swapped)
    return similarity(z, z) + similarity(z_swapped, z_swapped) - across - across.T


def _distances(a: Array, b: Array) -> Array:
    """Squared distances of the rows of a and b."""
    return -2 * (a @ b.T) + (a**2).sum(1)[:, None] + (b**2).sum(1)


def _classifier(
    swap: str, pairs: Pairs, columns: Flags, rng: np.random.Generator, draws: int
) -> SwapTest:
    """Boosted trees learn the difference on half of the rows and are judged on the other half."""
    order = rng.permutation(pairs.rows)
    learn, judge = order[: len(order) // 2], order[len(order) // 2 :]
    kept, turned = np.hstack([pairs.x, pairs.x_tilde]), np.hstack(pairs.swapped(columns))
    trees = HistGradientBoostingClassifier(
        max_iter=100,
        max_leaf_nodes=15,
        max_bins=63,
        # of many columns a part at each split, for time
        max_features=min(1.0, MOST_COLUMNS / kept.shape[1]),
        early_stopping=False,
        random_state=int(rng.integers(2**31)),
    )
    trees.fit(np.concatenate([kept[learn], turned[learn]]), np.repeat([0, 1], len(learn)))
    scores = np.concatenate(
        [trees.decision_function(kept[judge]), trees.decision_function(turned[judge])]
    )
    area, error, exchanged = _paired_area(*np.split(scores, 2))
    chance = p_value(exchanged @ draw_signs(rng, draws, len(judge)).astype(np.float64))
    return SwapTest(
        "classifier", swap, area, max(0.0, area - error), min(1.0, area + error), chance
    )


def _paired_area(kept: Array, turned: Array) -> tuple[float, float, Array]:
    """AUC, half the width of its confidence interval,
    and what an exchange of each row's two ranks changes.
    """
    n = len(kept)
    kept_ranks, turned_ranks = np.split(rankdata(np.concatenate([kept, turned])), 2)
    above = (turned_ranks - rankdata(turned)) / n  # share of kept rows below each turned one
    below = 1 - (kept_ranks - rankdata(kept)) / n  # share of turned rows above each kept one
    error = norm.ppf(0.975) * np.std(above + below) / np.sqrt(n)
    return float(above.mean()), float(error), turned_ranks - kept_ranks


def covariance_errors(pairs: Pairs) -> tuple[float, float]:
    """Root mean squares over columns of different features of cov(x̃) - cov(x) and of cov(x, x̃)
    - cov(x).

    Of normal scores. Both hold what chance gives; compare with 1 / √rows.
    """
    if pairs.features < 2:
        return 0.0, 0.0
    main = pairs.main_columns
    x, x_tilde, feature = pairs.x[:, main], pairs.x_tilde[:, main], pairs.feature[main]
    z, z_tilde = x - x.mean(0), x_tilde - x_tilde.mean(0)
    covariance = z.T @ z / len(z)
    others = feature[:, None] != feature
    errors = (own.T @ z_tilde / len(z) - covariance for own in (z_tilde, z))
    of_knockoffs, across = (float(np.sqrt(np.mean(error[others] ** 2))) for error in errors)
    return of_knockoffs, across


SINGLE_ROWS = 500  # for d single swaps, each as expensive as one swap of all
ALL_SWAPS = 4
LEAST_ERROR = 0.5  # nats; no larger error hides anything


class Divergence(NamedTuple):
    """In nats per row, by the generator's own densities: it cannot see where these are wrong.

    Attributes
    ----------
    total, total_error : float
        The mean over random swaps of all features by coins, with its standard error.
    single, single_error : array of shape (features,)
        The mean for the swap of each feature alone, with its standard error.
    worst : array of shape (features,)
        The probability that the worst-case swap learned in the fit takes each feature; nan where
        none was learned.
    """

    total: float
    total_error: float
    single: Array
    single_error: Array
    worst: Array

    @property
    def telling(self) -> bool:
        """Return whether the total says something: not where its error is large,
        or where it is far below zero.

        A few rows to which the model gives hardly any density decide on it then.
        """
        return (
            self.total_error <= max(LEAST_ERROR, abs(self.total) / 3)
            and self.total > -3 * self.total_error
        )


def swap_divergence(
    pairs: EncodedPairs,
    units: Units,
    rng: np.random.Generator,
    *,
    swap_probability: Array | None = None,
) -> Divergence:
    """Compute the swap divergence of encoded rows and their knockoffs.

    Parameters
    ----------
    pairs : EncodedPairs
        Rows, knockoffs and densities.
    units : Units
        What is swapped as a whole, in each row by a coin of its own: features, or groups of these.
        One without internal columns (a constant) has divergence 0.
    rng : Generator
        Throws the coins and chooses the rows for single swaps.
    swap_probability : array of shape (features,), default=None
        Probability with which the worst-case swap of the fit takes each feature, nan for features
        that are copied: the generator's `swap_probability_`.

    Returns
    -------
    Divergence
    """
    unit = np.where(pairs.unit >= 0, units.of[pairs.unit], -1)
    coins = (rng.random((len(pairs.z), len(units))) < 0.5 for _ in range(ALL_SWAPS))
    swapped = [pairs.swapped_log_density(heads[:, unit] & (unit >= 0)) for heads in coins]
    total = pairs.log_density - np.mean(swapped, axis=0)
    some = rng.permutation(len(total))[:SINGLE_ROWS]
    singles = _single_losses(
        replace(pairs, z=pairs.z[some], z_tilde=pairs.z_tilde[some]), unit, len(units)
    )
    return Divergence(
        total=float(total.mean()),
        total_error=float(total.std() / np.sqrt(len(total))),
        single=singles.mean(0),
        single_error=singles.std(0) / np.sqrt(len(singles)),
        worst=np.full(len(units), np.nan)
        if swap_probability is None
        else units.largest(swap_probability),
    )


def _single_losses(pairs: EncodedPairs, unit: Indices, units: int) -> Array:
    found = np.zeros((len(pairs.z), units))
    differs = (pairs.z != pairs.z_tilde).any(0)
    for j in np.unique(unit[differs & (unit >= 0)]):  # a copy changes nothing
        found[:, j] = pairs.log_density - pairs.swapped_log_density(unit == j)
    return found
