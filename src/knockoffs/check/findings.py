"""The figures of a check, before anything is concluded from them."""

from __future__ import annotations

import math
from typing import NamedTuple

from knockoffs.check.divergence import Divergence
from knockoffs.check.dry_run import Rate
from knockoffs.check.feature_tests import PerFeature
from knockoffs.check.joint_tests import SwapTest
from knockoffs.runtime.arrays import Array, Flags


class Findings(NamedTuple):
    """What was found about knockoffs of some rows.

    Attributes
    ----------
    names : tuple of str
        The features of the table.
    copied : array of bool of shape (features,)
        Which knockoffs are copies of their features: these are valid, but cannot be selected.
    per_feature : PerFeature
        How each feature differs from its knockoff.
    tests : tuple of SwapTest
        Rows against swapped rows.
    covariance_error, cross_covariance_error : float
        Root mean squares of the errors of cov(x̃) and of cov(x, x̃) between features, of normal scores; they hold
        what chance gives, about 1 / √rows.
    near_duplicates : tuple of pairs of int
        Features that hardly differ from each other.
    divergence : Divergence or None
        The swap divergence by the generator's own densities, where it has any.
    dry_run : tuple of Rate
        False discoveries and power on simulated responses with the statistic itself, where asked for.
    rows, feature_rows, swap_rows : int
        How many rows were passed, and how many of them (a random part) the tests of each feature and the tests of
        swaps used.
    subject : str
        What was checked, and on which rows.
    learned : bool
        Whether the knockoffs came from a generator, which could be another or be fitted again.
    share_of_fit : float
        The share of the rows that the generator was fitted on, as far as is known; nan where it is not.
    several_columns : tuple of int
        The features that are compared by several columns: indicators of levels, or values and an indicator of
        missing cells.
    expected : Rate or None
        False discoveries and power to expect at the level asked for, by quick statistics of `simulated` responses.
    judged : Rate or None
        The same at the level that is judged, which is higher where that one seldom selects anything; None where
        there is no such level.
    of_exact : float
        The false discovery proportion that exact knockoffs would give at the level that is judged.
    simulated : int
        The number of simulated responses.
    null_wins : pair of arrays or None
        Per feature, how often it beats its knockoff in responses that do not depend on it, and the number of
        these.
    alternatives : tuple of pairs of str and Rate
        What else could be done: how to ask for it, and the rate to expect.
    """

    names: tuple[str, ...]
    copied: Flags
    per_feature: PerFeature
    tests: tuple[SwapTest, ...]
    covariance_error: float
    cross_covariance_error: float
    near_duplicates: tuple[tuple[int, int], ...]
    divergence: Divergence | None
    dry_run: tuple[Rate, ...]
    rows: int
    feature_rows: int
    swap_rows: int
    subject: str
    learned: bool
    share_of_fit: float = math.nan
    several_columns: tuple[int, ...] = ()
    expected: Rate | None = None
    judged: Rate | None = None
    of_exact: float = math.nan
    simulated: int = 0
    null_wins: tuple[Array, Array] | None = None
    alternatives: tuple[tuple[str, Rate], ...] = ()
