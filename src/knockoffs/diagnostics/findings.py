"""The figures of a check, before anything is concluded from them."""

from __future__ import annotations

import math
from typing import NamedTuple

from knockoffs.arrays import Array, Flags
from knockoffs.diagnostics.divergence import Divergence
from knockoffs.diagnostics.dry_run import Rate
from knockoffs.diagnostics.features import PerFeature
from knockoffs.diagnostics.joint import SwapTest


class Findings(NamedTuple):
    """What was found about knockoffs of some rows.

    names, copied, per_feature : one entry per feature of the table; copies are valid, but cannot be selected.
    tests : rows against swapped rows.
    covariance_error, cross_covariance_error : root mean squares of the errors of cov(x̃) and of cov(x, x̃) between
        features, of normal scores; they hold what chance gives, about 1 / √rows.
    near_duplicates : pairs of features that hardly differ.
    divergence : by the generator's own densities, where it has any.
    expected : false discoveries and power to expect at the level asked for, by quick statistics of `simulated`
        responses.
    judged : the same at the level that is judged, which is higher where that one seldom selects anything; None
        where there is no such level.
    of_exact : the false discovery proportion that exact knockoffs would give at the level that is judged.
    null_wins : per feature, how often it beats its knockoff in responses that do not depend on it, and the number
        of these.
    alternatives : what is expected otherwise: how to ask for it, and the rate.
    dry_run : false discoveries and power on simulated responses with the statistic itself, where asked for.
    rows, feature_rows, swap_rows : how many were passed, and how many of them (a random part) the tests of each
        feature and the tests of swaps used.
    subject : what was checked, and on which rows.
    learned : whether the knockoffs came from a generator, which could be another or be fitted again.
    share_of_fit : share of the rows that the generator was fitted on, as far as is known; nan where it is not.
    several_columns : numbers of the features that are compared by several columns: indicators of levels, or values
        and an indicator of missing cells.
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
